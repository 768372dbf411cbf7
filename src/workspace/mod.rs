//! The working tree in front of us: which folder it is, what may be touched in it, reading and
//! writing its files, git's view of it, and the copies that undo needs.
//!
//! Not here: what an edit means (`edit`), who may decide (`agent`), running commands (`tools`).
//! Invariants: nothing outside the root and nothing of git's own is ever read or written; no program
//! is run; git's index, refs and objects are never changed.

mod checkpoint;
mod confine;
mod folder;
mod git;
mod view;
mod write;

pub use checkpoint::{CheckpointError, Checkpoints, Undone};
pub use confine::{Kind, Place, Refusal};
pub use git::{GitError, Head};
pub use write::{FileWrite, WriteError};

use confine::Fence;
use folder::{Folder, split};
use git2::{ErrorCode, Repository, RepositoryOpenFlags};
use ignore::WalkBuilder;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Larger files are neither read nor edited.
pub const MAX_FILE: u64 = 64 * 1024 * 1024;

/// The folder a session works in.
#[derive(Debug)]
pub struct Workspace {
    fence: Fence,
    git: bool,
    warnings: Vec<String>,
    /// Contents as the model has read them, by place.
    reads: Mutex<HashMap<String, Arc<[u8]>>>,
}

/// The folder cannot be worked in.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// No such folder, or it cannot be looked at.
    #[error("cannot open {path}: {source}")]
    Folder {
        /// The folder meant.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The start folder is the inside of a bare repository.
    #[error(
        "{0} is a bare git repository without files to work on; start in a clone or worktree of it"
    )]
    Bare(PathBuf),
}

/// A file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The path may not be read.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Nothing is there.
    #[error("{0}: no such file")]
    Missing(String),
    /// A folder is there.
    #[error("{0} is a folder")]
    Folder(String),
    /// A pipe, device or socket is there.
    #[error("{0} is not a regular file")]
    Special(String),
    /// Larger than [`MAX_FILE`].
    #[error("{0} is too large ({1} bytes)")]
    TooLarge(String, u64),
    /// Anything else the system said.
    #[error("{path}: {source}")]
    Io {
        /// The place meant.
        path: String,
        /// What the system said.
        source: io::Error,
    },
}

impl Workspace {
    /// Opens the working tree around `start`: the top of its git worktree, or `start` itself outside
    /// of git. A repository that git would distrust (another owner) counts as no git.
    ///
    /// # Errors
    /// [`WorkspaceError`] when there is no such folder or it is a bare repository.
    pub fn open(start: &Path) -> Result<Self, WorkspaceError> {
        let fail = |source| WorkspaceError::Folder { path: start.to_owned(), source };
        let canonical = start.canonicalize().map_err(fail)?;
        if !canonical.is_dir() {
            return Err(fail(io::ErrorKind::NotADirectory.into()));
        }
        let none: &[&OsStr] = &[];
        let mut warnings = Vec::new();
        let found = match Repository::open_ext(&canonical, RepositoryOpenFlags::empty(), none) {
            Ok(repository) => Some(repository),
            Err(error) if error.code() == ErrorCode::NotFound => None,
            Err(error) => {
                warnings.push(format!("git is not used here: {}", error.message()));
                None
            }
        };
        let Some(repository) = found else {
            return Ok(Self::with(start, canonical, Vec::new(), false, warnings));
        };
        let Some(top) = repository.workdir() else {
            return Err(WorkspaceError::Bare(canonical));
        };
        let root = top.canonicalize().map_err(fail)?;
        let protected = [repository.path(), repository.commondir()]
            .iter()
            .filter_map(|folder| folder.canonicalize().ok())
            .collect();
        Ok(Self::with(start, root, protected, true, warnings))
    }

    fn with(
        start: &Path,
        root: PathBuf,
        protected: Vec<PathBuf>,
        git: bool,
        warnings: Vec<String>,
    ) -> Self {
        let alias =
            (start.is_absolute() && start != root && start.canonicalize().is_ok_and(|c| c == root))
                .then(|| start.to_owned());
        let fence = Fence { root, alias, protected };
        Self { fence, git, warnings, reads: Mutex::default() }
    }

    /// Absolute, canonical path of the root.
    pub fn root(&self) -> &Path {
        &self.fence.root
    }

    /// True when the root is a git worktree.
    pub fn has_git(&self) -> bool {
        self.git
    }

    /// Things the user should know about how the folder was opened.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Where `path` really leads. Relative paths start at the root.
    ///
    /// # Errors
    /// [`Refusal`] when that is outside, protected or cannot be told.
    pub fn locate(&self, path: &str) -> Result<Place, Refusal> {
        self.fence.locate(path)
    }

    /// Absolute path of a place, for commands and walks.
    pub fn absolute(&self, place: &Place) -> PathBuf {
        self.fence.absolute(&place.path)
    }

    /// The content of a file, with the place it was found at.
    ///
    /// # Errors
    /// [`ReadError`], also for folders, pipes and files above [`MAX_FILE`].
    pub fn read(&self, path: &str) -> Result<(Place, Vec<u8>), ReadError> {
        let place = self.locate(path)?;
        match place.kind {
            Kind::File => {}
            Kind::Folder => return Err(ReadError::Folder(shown(&place))),
            Kind::Special => return Err(ReadError::Special(place.path)),
            Kind::Missing => return Err(ReadError::Missing(place.path)),
        }
        let bytes = self.read_place(&place.path)?;
        Ok((place, bytes))
    }

    pub(crate) fn read_place(&self, place: &str) -> Result<Vec<u8>, ReadError> {
        let fail = |source| ReadError::Io { path: place.to_owned(), source };
        let (folder, name) = split(place);
        let folder = self.folder(folder).map_err(fail)?;
        let size = folder.open_file(name).and_then(|f| f.metadata()).map_err(fail)?.len();
        if size > MAX_FILE {
            return Err(ReadError::TooLarge(place.to_owned(), size));
        }
        folder.read(name).map_err(fail)
    }

    /// Remembers what the model has read of a place: the whole file as it was then.
    pub fn remember(&self, place: &str, bytes: &[u8]) {
        self.reads().insert(place.to_owned(), bytes.into());
    }

    /// What the model last read or wrote at a place.
    pub fn remembered(&self, place: &str) -> Option<Arc<[u8]>> {
        self.reads().get(place).cloned()
    }

    /// Forgets everything read, as for a new session.
    pub fn forget_reads(&self) {
        self.reads().clear();
    }

    /// Permission bits of a place; `None` when nothing is there.
    pub fn mode(&self, place: &str) -> Option<u32> {
        let (folder, name) = split(place);
        let stat = self.folder(folder).ok()?.stat(name).ok()??;
        Some(stat.st_mode & 0o7777)
    }

    /// Files below an absolute folder, relative to the root, sorted within each folder. Files that
    /// git ignores, hidden folders of tools and git's own are left out; links are not followed.
    pub fn walk_files(&self, below: &Path) -> impl Iterator<Item = String> + use<> {
        let root = self.root().to_owned();
        self.walker(below, false).build().flatten().filter_map(move |entry| {
            let file = entry.file_type().is_some_and(|kind| kind.is_file());
            let path = entry.path().strip_prefix(&root).ok()?;
            file.then(|| path.to_string_lossy().into_owned())
        })
    }

    /// A walk below an absolute folder by the rules of [`Workspace::walk_files`]; with `ignored` it
    /// goes through ignored files too.
    pub fn walker(&self, below: &Path, ignored: bool) -> WalkBuilder {
        let protected = self.fence.protected.clone();
        let mut walk = WalkBuilder::new(below);
        walk.standard_filters(!ignored)
            // Dot files are part of a project; ignore rules count outside of git too.
            .hidden(false)
            .require_git(false)
            .follow_links(false)
            .sort_by_file_name(std::ffi::OsStr::cmp)
            .filter_entry(move |entry| {
                entry.file_name() != ".git" && !protected.iter().any(|p| entry.path() == p)
            });
        walk
    }

    fn folder(&self, place: &str) -> io::Result<Folder> {
        Folder::root(&self.fence.root)?.open(place)
    }

    fn reads(&self) -> MutexGuard<'_, HashMap<String, Arc<[u8]>>> {
        self.reads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn repository(&self) -> Result<Repository, GitError> {
        if !self.git {
            return Err(GitError::None);
        }
        Ok(Repository::open(&self.fence.root)?)
    }
}

fn shown(place: &Place) -> String {
    if place.path.is_empty() { ".".to_owned() } else { place.path.clone() }
}

#[cfg(test)]
mod tests;
