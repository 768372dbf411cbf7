//! Copies of what files held before each turn changed them, and the way back.
//!
//! One folder a session: `journal.jsonl` says what happened in order, `blobs/` holds contents by
//! their git blob id. Works without git and never touches git's index, stash or objects. Invariants:
//! a change is journalled before it is made; undo only restores files that still are what we wrote.

use super::{FileWrite, Kind, ReadError, Workspace, WriteError};
use crate::protocol::TurnId;
use git2::{ObjectType, Oid};
use serde::{Deserialize, Serialize};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The checkpoints of one session.
#[derive(Debug)]
pub struct Checkpoints {
    dir: PathBuf,
    journal: File,
    entries: Vec<Entry>,
}

/// What an undo did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undone {
    /// The turn whose changes were taken back.
    pub turn: TurnId,
    /// Places that hold again what they held before the turn.
    pub restored: Vec<String>,
    /// Places left alone because they changed after we wrote them.
    pub left: Vec<String>,
}

/// A checkpoint could not be made or used.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The copies cannot be kept or read, so nothing is written either.
    #[error("cannot keep copies for undo in {dir}: {source}")]
    Store {
        /// The session's checkpoint folder.
        dir: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The change itself failed; nothing was written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A file could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "entry")]
enum Entry {
    /// A change about to be made. Ids are `None` where there is no file.
    Change {
        turn: TurnId,
        path: String,
        before: Option<String>,
        mode: Option<u32>,
        after: Option<String>,
    },
    /// Folders made for the change.
    Made { turn: TurnId, folders: Vec<String> },
    /// The last `count` changes did not happen.
    Failed { count: usize },
    /// The turn was taken back.
    Undone { turn: TurnId },
}

/// First content and last id of a place within one turn.
struct Span {
    path: String,
    before: Option<String>,
    mode: Option<u32>,
    after: Option<String>,
}

impl Checkpoints {
    /// Opens the folder of a session, made if missing (mode 0700). Damaged journal lines are skipped.
    ///
    /// # Errors
    /// [`CheckpointError::Store`]
    pub fn open(dir: &Path) -> Result<Self, CheckpointError> {
        let fail = |source| CheckpointError::Store { dir: dir.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(dir.join("blobs")).map_err(fail)?;
        let path = dir.join("journal.jsonl");
        let text = match std::fs::read(&path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(fail(error)),
        };
        let mut journal =
            OpenOptions::new().append(true).create(true).mode(0o600).open(&path).map_err(fail)?;
        if !text.is_empty() && !text.ends_with('\n') {
            journal.write_all(b"\n").map_err(fail)?;
        }
        let mut entries = Vec::new();
        for entry in text.lines().filter_map(|line| serde_json::from_str(line).ok()) {
            apply(&mut entries, entry);
        }
        Ok(Self { dir: dir.to_owned(), journal, entries })
    }

    /// Makes all changes or none, after keeping what the files hold now.
    ///
    /// # Errors
    /// [`CheckpointError`]; nothing has been written then.
    pub fn write(
        &mut self,
        workspace: &Workspace,
        turn: TurnId,
        writes: &[FileWrite],
    ) -> Result<(), CheckpointError> {
        for write in writes {
            let entry = self.keep(workspace, turn, write)?;
            self.record(entry)?;
        }
        self.sync()?;
        match workspace.write_all(writes) {
            Ok(made) if made.is_empty() => Ok(()),
            Ok(folders) => self.record(Entry::Made { turn, folders }),
            Err(error @ WriteError::Torn { .. }) => Err(error.into()),
            Err(error) => {
                self.record(Entry::Failed { count: writes.len() })?;
                Err(error.into())
            }
        }
    }

    /// Takes back the changes of the last turn that has some. Files that no longer are what we wrote
    /// are left alone and named. `None` when there is nothing to take back.
    ///
    /// # Errors
    /// [`CheckpointError`]; nothing has been restored then.
    pub fn undo(&mut self, workspace: &Workspace) -> Result<Option<Undone>, CheckpointError> {
        let Some(turn) = self.last_turn() else {
            return Ok(None);
        };
        let (mut writes, mut restored, mut left) = (Vec::new(), Vec::new(), Vec::new());
        for span in self.spans(turn) {
            let now = current(workspace, &span.path)?;
            let id = now.as_deref().map(Self::id).transpose()?;
            if id == span.before {
                continue;
            }
            if id != span.after {
                left.push(span.path);
                continue;
            }
            let after = span.before.as_deref().map(|id| self.load(id)).transpose()?;
            restored.push(span.path.clone());
            writes.push(FileWrite { path: span.path, before: now, after, mode: span.mode });
        }
        workspace.write_all(&writes)?;
        let folders: Vec<String> = self.folders(turn);
        workspace.remove_empty(&folders);
        self.record(Entry::Undone { turn })?;
        self.sync()?;
        Ok(Some(Undone { turn, restored, left }))
    }

    /// True when [`Checkpoints::undo`] has something to take back.
    pub fn can_undo(&self) -> bool {
        self.last_turn().is_some()
    }

    fn last_turn(&self) -> Option<TurnId> {
        self.entries.iter().rev().find_map(|entry| match entry {
            Entry::Change { turn, .. } => Some(*turn),
            Entry::Made { .. } | Entry::Failed { .. } | Entry::Undone { .. } => None,
        })
    }

    fn spans(&self, wanted: TurnId) -> Vec<Span> {
        let mut spans: Vec<Span> = Vec::new();
        for entry in &self.entries {
            let Entry::Change { turn, path, before, mode, after } = entry else {
                continue;
            };
            if *turn != wanted {
                continue;
            }
            match spans.iter_mut().find(|span| span.path == *path) {
                Some(span) => span.after.clone_from(after),
                None => spans.push(Span {
                    path: path.clone(),
                    before: before.clone(),
                    mode: *mode,
                    after: after.clone(),
                }),
            }
        }
        spans
    }

    fn folders(&self, wanted: TurnId) -> Vec<String> {
        let made = self.entries.iter().filter_map(|entry| match entry {
            Entry::Made { turn, folders } if *turn == wanted => Some(folders),
            Entry::Made { .. } | Entry::Change { .. } => None,
            Entry::Failed { .. } | Entry::Undone { .. } => None,
        });
        made.flatten().cloned().collect()
    }

    /// The journal entry for a change whose present content is now in the store.
    fn keep(
        &self,
        workspace: &Workspace,
        turn: TurnId,
        write: &FileWrite,
    ) -> Result<Entry, CheckpointError> {
        let before = write.before.as_deref().map(|bytes| self.store(bytes)).transpose()?;
        let after = write.after.as_deref().map(Self::id).transpose()?;
        let mode = workspace.mode(&write.path);
        Ok(Entry::Change { turn, path: write.path.clone(), before, mode, after })
    }

    fn id(bytes: &[u8]) -> Result<String, CheckpointError> {
        Oid::hash_object(ObjectType::Blob, bytes).map(|id| id.to_string()).map_err(|error| {
            let source = io::Error::other(error.message().to_owned());
            CheckpointError::Store { dir: PathBuf::new(), source }
        })
    }

    fn store(&self, bytes: &[u8]) -> Result<String, CheckpointError> {
        let id = Self::id(bytes)?;
        let blobs = self.dir.join("blobs");
        let target = blobs.join(&id);
        if !target.exists() {
            let mut temp = tempfile::NamedTempFile::new_in(&blobs).map_err(|e| self.fail(e))?;
            temp.write_all(bytes).map_err(|e| self.fail(e))?;
            temp.as_file().sync_all().map_err(|e| self.fail(e))?;
            temp.persist(&target).map_err(|e| self.fail(e.error))?;
        }
        Ok(id)
    }

    /// A stored content, checked against its id.
    fn load(&self, id: &str) -> Result<Vec<u8>, CheckpointError> {
        let bytes = std::fs::read(self.dir.join("blobs").join(id)).map_err(|e| self.fail(e))?;
        if Self::id(&bytes)? != id {
            return Err(self.fail(io::Error::other(format!("the copy {id} is damaged"))));
        }
        Ok(bytes)
    }

    fn record(&mut self, entry: Entry) -> Result<(), CheckpointError> {
        let mut line = serde_json::to_vec(&entry).map_err(|e| self.fail(e.into()))?;
        line.push(b'\n');
        self.journal.write_all(&line).map_err(|e| self.fail(e))?;
        apply(&mut self.entries, entry);
        Ok(())
    }

    fn sync(&self) -> Result<(), CheckpointError> {
        self.journal.sync_data().map_err(|e| self.fail(e))
    }

    fn fail(&self, source: io::Error) -> CheckpointError {
        CheckpointError::Store { dir: self.dir.clone(), source }
    }
}

/// Keeps only what can still be undone.
fn apply(entries: &mut Vec<Entry>, entry: Entry) {
    match entry {
        Entry::Change { .. } | Entry::Made { .. } => entries.push(entry),
        Entry::Failed { count } => entries.truncate(entries.len().saturating_sub(count)),
        Entry::Undone { turn: gone } => entries.retain(|entry| match entry {
            Entry::Change { turn, .. } | Entry::Made { turn, .. } => *turn != gone,
            Entry::Failed { .. } | Entry::Undone { .. } => false,
        }),
    }
}

/// What a place holds now; `None` when there is no regular file.
fn current(workspace: &Workspace, path: &str) -> Result<Option<Vec<u8>>, CheckpointError> {
    match workspace.locate(path) {
        Ok(place) if place.path == path && place.kind == Kind::File => {
            Ok(Some(workspace.read_place(path)?))
        }
        Ok(_) | Err(_) => Ok(None),
    }
}
