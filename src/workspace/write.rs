//! Writing files: all of them or none.
//!
//! Every new content is first written and synced to a temporary file beside its target; then each is
//! swapped in, and what was swapped out is compared with what the change was based on. The first
//! surprise puts everything back. Invariant: at any moment each file is whole, the old or the new.

use super::folder::{Folder, split};
use super::{Kind, Refusal, Workspace};
use rustix::fs::Stat;
use std::hash::{BuildHasher, RandomState};
use std::io;

/// One file to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileWrite {
    /// A [`Place`](super::Place): relative to the root, links resolved.
    pub path: String,
    /// The content the change is based on; `None` when nothing was there.
    pub before: Option<Vec<u8>>,
    /// The content to write; `None` removes the file.
    pub after: Option<Vec<u8>>,
    /// Permission bits; `None` keeps those of the file, or takes the default for a new one.
    pub mode: Option<u32>,
}

/// Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// A path may not be written.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The file is not what the change was based on.
    #[error("{0} has changed on disk in the meantime; read it again")]
    Stale(String),
    /// Not a regular file.
    #[error("{0} is not a regular file")]
    NotRegular(String),
    /// Its permissions forbid writing.
    #[error("{0} is read-only")]
    ReadOnly(String),
    /// Anything else the system said.
    #[error("cannot write {path}: {source}")]
    Io {
        /// The place meant.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// Some files were written and could not be put back; the remedy is the user's.
    #[error("cannot write {path}: {source}; these could not be put back: {}", .stuck.join(", "))]
    Torn {
        /// The place where it failed.
        path: String,
        /// What the system said.
        source: io::Error,
        /// Places left in their new state.
        stuck: Vec<String>,
    },
}

/// A change whose content waits in a temporary file.
struct Staged<'a> {
    write: &'a FileWrite,
    folder: Folder,
    name: String,
    /// Beside the target: the new content before the commit, the old one after it.
    temp: String,
    had: Option<Stat>,
    done: Done,
}

/// What has happened to the target so far.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Done {
    Nothing,
    /// The new file is in place; `temp` is gone.
    Created,
    /// The new file is in place and the old one is `temp`.
    Swapped,
    /// The new file is in place; the old one is only in `before`.
    Replaced,
    /// The content was overwritten in place (a file with several names).
    Overwritten,
    /// The old file is `temp`; nothing is in place.
    Removed,
}

impl Workspace {
    /// Carries out all changes or none. Returns the folders that were made, outermost first.
    ///
    /// # Errors
    /// [`WriteError`]; the tree is then as it was, but for [`WriteError::Torn`].
    pub fn write_all(&self, writes: &[FileWrite]) -> Result<Vec<String>, WriteError> {
        let mut made = Vec::new();
        let mut staged = Vec::new();
        let result = self.stage(writes, &mut staged, &mut made).and_then(|()| commit(&mut staged));
        match result {
            Ok(()) => {
                for change in &staged {
                    change.finish();
                    match &change.write.after {
                        Some(bytes) => self.remember(&change.write.path, bytes),
                        None => drop(self.reads().remove(&change.write.path)),
                    }
                }
                Ok(made)
            }
            Err(error) => Err(self.roll_back(staged, &made, error)),
        }
    }

    fn stage<'a>(
        &self,
        writes: &'a [FileWrite],
        staged: &mut Vec<Staged<'a>>,
        made: &mut Vec<String>,
    ) -> Result<(), WriteError> {
        for write in writes {
            self.check(write)?;
            let fail = |source| WriteError::Io { path: write.path.clone(), source };
            let (folder, name) = split(&write.path);
            let root = Folder::root(self.root()).map_err(fail)?;
            let folder = match write.after {
                Some(_) => root.open_or_make(folder, made).map_err(fail)?,
                None => root.open(folder).map_err(fail)?,
            };
            let had = folder.stat(name).map_err(fail)?;
            let temp = temp_name();
            if let Some(bytes) = &write.after {
                let mode = write.mode.or(had.map(|stat| stat.st_mode));
                if let Err(source) = folder.create(&temp, bytes, mode) {
                    let _ = folder.remove(&temp);
                    return Err(fail(source));
                }
            }
            let (name, done) = (name.to_owned(), Done::Nothing);
            staged.push(Staged { write, folder, name, temp, had, done });
        }
        Ok(())
    }

    /// The path is still the same place, of the right kind, writable, with the content expected.
    fn check(&self, write: &FileWrite) -> Result<(), WriteError> {
        let place = self.locate(&write.path)?;
        if place.path != write.path {
            // A folder on the way has become a link since the change was made.
            return Err(WriteError::Stale(write.path.clone()));
        }
        match (place.kind, &write.before) {
            (Kind::Missing, None) => Ok(()),
            (Kind::Folder | Kind::Special, _) => Err(WriteError::NotRegular(place.path)),
            (Kind::Missing, Some(_)) | (Kind::File, None) => Err(WriteError::Stale(place.path)),
            (Kind::File, Some(before)) => {
                let now = self.read_place(&place.path).map_err(|error| WriteError::Io {
                    path: place.path.clone(),
                    source: io::Error::other(error.to_string()),
                })?;
                if now != *before {
                    return Err(WriteError::Stale(place.path));
                }
                self.check_mode(&place.path)
            }
        }
    }

    fn check_mode(&self, place: &str) -> Result<(), WriteError> {
        let (folder, name) = split(place);
        let stat = self
            .folder(folder)
            .and_then(|folder| folder.stat(name))
            .map_err(|source| WriteError::Io { path: place.to_owned(), source })?;
        match stat {
            Some(stat) if stat.st_mode & 0o222 == 0 => Err(WriteError::ReadOnly(place.to_owned())),
            Some(_) | None => Ok(()),
        }
    }

    fn roll_back(&self, staged: Vec<Staged>, made: &[String], error: WriteError) -> WriteError {
        let mut stuck = Vec::new();
        for change in staged.iter().rev() {
            if change.put_back().is_err() {
                stuck.push(change.write.path.clone());
            }
        }
        self.remove_empty(made);
        match error {
            error if stuck.is_empty() => error,
            WriteError::Io { path, source } => WriteError::Torn { path, source, stuck },
            other @ (WriteError::Refused(_)
            | WriteError::Stale(_)
            | WriteError::NotRegular(_)
            | WriteError::ReadOnly(_)
            | WriteError::Torn { .. }) => WriteError::Torn {
                path: staged.last().map(|change| change.write.path.clone()).unwrap_or_default(),
                source: io::Error::other(other.to_string()),
                stuck,
            },
        }
    }

    /// Removes those of these folders that are empty, innermost first.
    pub(super) fn remove_empty(&self, folders: &[String]) {
        for place in folders.iter().rev() {
            let (folder, name) = split(place);
            if let Ok(folder) = self.folder(folder) {
                let _ = folder.remove_folder(name);
            }
        }
    }
}

fn commit(staged: &mut [Staged]) -> Result<(), WriteError> {
    for change in staged.iter_mut() {
        change.commit()?;
    }
    Ok(())
}

fn temp_name() -> String {
    let random = RandomState::new().hash_one(std::process::id());
    format!(".tessera-{random:016x}.tmp")
}

impl Staged<'_> {
    fn commit(&mut self) -> Result<(), WriteError> {
        if self.write.after.is_some() && self.had.is_some_and(|stat| stat.st_nlink > 1) {
            // Marked before it is tried: half an overwrite must be put back too.
            self.done = Done::Overwritten;
        }
        let done = self.swap_in().map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => WriteError::Stale(self.write.path.clone()),
            _ => WriteError::Io { path: self.write.path.clone(), source },
        })?;
        self.done = done;
        // What came out must be what the change was based on, or someone wrote just now.
        let out = matches!(done, Done::Swapped | Done::Removed);
        if out && self.folder.read(&self.temp).ok() != self.write.before {
            return Err(WriteError::Stale(self.write.path.clone()));
        }
        Ok(())
    }

    fn swap_in(&self) -> io::Result<Done> {
        let (name, temp) = (self.name.as_str(), self.temp.as_str());
        match (&self.write.after, self.had) {
            (None, _) => self.folder.place(name, temp).map(|()| Done::Removed),
            (Some(_), None) => self.folder.place(temp, name).map(|()| Done::Created),
            (Some(bytes), Some(stat)) if stat.st_nlink > 1 => {
                self.folder.overwrite(name, bytes).map(|()| Done::Overwritten)
            }
            (Some(_), Some(_)) => {
                if self.folder.swap(temp, name)? {
                    return Ok(Done::Swapped);
                }
                self.folder.replace(temp, name).map(|()| Done::Replaced)
            }
        }
    }

    /// Undoes [`Staged::commit`] and removes the temporary file.
    fn put_back(&self) -> io::Result<()> {
        let (name, temp) = (self.name.as_str(), self.temp.as_str());
        let before = self.write.before.as_deref().unwrap_or_default();
        match self.done {
            Done::Nothing => {}
            Done::Created => return self.folder.remove(name),
            Done::Removed => return self.folder.place(temp, name),
            Done::Swapped => {
                // The old file itself goes back, with whatever someone may have written to it.
                return self.folder.replace(temp, name);
            }
            Done::Replaced => {
                self.folder.create(temp, before, self.had.map(|stat| stat.st_mode))?;
                return self.folder.replace(temp, name);
            }
            Done::Overwritten => self.folder.overwrite(name, before)?,
        }
        match self.folder.remove(temp) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// The change is final: the old file goes.
    fn finish(&self) {
        if matches!(self.done, Done::Swapped | Done::Removed | Done::Overwritten) {
            let _ = self.folder.remove(&self.temp);
        }
        self.folder.sync();
    }
}
