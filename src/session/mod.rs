//! The log of a conversation: one JSON object a line, only ever appended.
//!
//! The first line is a [`Header`]; every other an [`Entry`]. Invariants: a line is written whole or
//! not at all; a torn or damaged line costs that line only; nothing but the user can read the file
//! (mode 0600).

mod list;

pub use list::{Summary, find, list};

use crate::paths::private_dir;
use crate::protocol::{Decision, Message, SessionId};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Version of the format; a higher one is refused.
pub const VERSION: u32 = 1;

/// What a session is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the format.
    pub version: u32,
    /// Name of the session.
    pub id: SessionId,
    /// Root of its workspace, absolute.
    pub root: PathBuf,
    /// When it began, RFC 3339 with offset.
    pub time: String,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "entry")]
pub enum Entry {
    /// A message joined the conversation.
    Message {
        /// The message.
        message: Message,
    },
    /// The model in use from here on.
    Model {
        /// Its name.
        name: String,
    },
    /// What the person decided on hunks.
    Decisions {
        /// One for each hunk.
        decisions: Vec<Decision>,
    },
    /// Files were taken back.
    Undone {
        /// Paths restored.
        paths: Vec<String>,
    },
}

/// A log cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The file system says no.
    #[error("cannot use the session log {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is no session log.
    #[error("{0} is not a session log of this program")]
    Foreign(PathBuf),
    /// Written by a newer version.
    #[error("{path} was written by a newer version of the program (format {version})")]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        version: u32,
    },
}

/// An open log.
#[derive(Debug)]
pub struct SessionLog {
    header: Header,
    path: PathBuf,
    /// Opened with the first entry, so that a session without a message leaves no file.
    file: Option<File>,
}

impl SessionLog {
    /// A new session in `folder` for the workspace `root`. Nothing is written yet.
    pub fn create(folder: &Path, root: &Path) -> Self {
        let now = jiff::ZonedDateTime::now();
        let tag = RandomState::new().hash_one(now.timestamp().as_nanosecond()) & 0xffff;
        let id = SessionId(format!("{}-{tag:04x}", now.strftime("%Y%m%d-%H%M%S")));
        let path = folder.join(format!("{id}.jsonl"));
        let time = now.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string();
        let header = Header { version: VERSION, id, root: root.to_owned(), time };
        Self { header, path, file: None }
    }

    /// Opens a log to go on with it: the log, its entries, and what was wrong with some lines.
    ///
    /// # Errors
    /// [`SessionError`]
    pub fn open(path: &Path) -> Result<(Self, Vec<Entry>, Vec<String>), SessionError> {
        let fail = |source| SessionError::Io { path: path.to_owned(), source };
        let bytes = std::fs::read(path).map_err(fail)?;
        let text = String::from_utf8_lossy(&bytes);
        let mut lines = text.lines();
        let header: Header = lines
            .next()
            .and_then(|line| serde_json::from_str(line).ok())
            .ok_or_else(|| SessionError::Foreign(path.to_owned()))?;
        if header.version > VERSION {
            let version = header.version;
            return Err(SessionError::Newer { path: path.to_owned(), version });
        }
        let mut entries = Vec::new();
        let mut warnings = Vec::new();
        for (number, line) in lines.enumerate() {
            match serde_json::from_str(line) {
                Ok(entry) => entries.push(entry),
                Err(_) => warnings.push(format!(
                    "{}: line {} is damaged and was left out",
                    path.display(),
                    number + 2
                )),
            }
        }
        let mut file = OpenOptions::new().append(true).open(path).map_err(fail)?;
        if !text.ends_with('\n') {
            file.write_all(b"\n").map_err(fail)?;
        }
        Ok((Self { header, path: path.to_owned(), file: Some(file) }, entries, warnings))
    }

    /// Name, root and start.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends one line.
    ///
    /// # Errors
    /// [`SessionError::Io`]
    pub fn append(&mut self, entry: &Entry) -> Result<(), SessionError> {
        self.write(entry).map_err(|source| SessionError::Io { path: self.path.clone(), source })
    }

    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        let mut lines = Vec::new();
        if self.file.is_none() {
            let parent = self.path.parent().unwrap_or(Path::new("."));
            private_dir(parent)?;
            let file =
                OpenOptions::new().create_new(true).append(true).mode(0o600).open(&self.path)?;
            self.file = Some(file);
            serde_json::to_writer(&mut lines, &self.header)?;
            lines.push(b'\n');
        }
        serde_json::to_writer(&mut lines, entry)?;
        lines.push(b'\n');
        // One write call a line: another reader never sees half of one.
        self.file.as_mut().map_or(Ok(()), |file| file.write_all(&lines))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Entry {
        Entry::Message { message: Message::user(text) }
    }

    #[test]
    fn what_was_appended_is_read_back_and_gone_on_with() {
        let dir = tempfile::tempdir().unwrap();
        let mut log = SessionLog::create(dir.path(), Path::new("/repo"));
        assert!(!log.path().exists(), "nothing is written before the first entry");
        log.append(&said("one")).unwrap();
        let (mut again, entries, warnings) = SessionLog::open(log.path()).unwrap();
        assert_eq!((entries, warnings), (vec![said("one")], Vec::new()));
        again.append(&said("two")).unwrap();
        let (again, entries, _) = SessionLog::open(log.path()).unwrap();
        assert_eq!(entries, [said("one"), said("two")]);
        assert_eq!(again.header(), log.header());
    }

    #[test]
    fn only_the_user_can_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let mut log = SessionLog::create(&dir.path().join("new"), Path::new("/repo"));
        log.append(&said("one")).unwrap();
        let mode = std::fs::metadata(log.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_torn_line_costs_that_line_only() {
        let dir = tempfile::tempdir().unwrap();
        let mut log = SessionLog::create(dir.path(), Path::new("/repo"));
        log.append(&said("one")).unwrap();
        log.append(&said("two")).unwrap();
        let bytes = std::fs::read(log.path()).unwrap();
        std::fs::write(log.path(), &bytes[..bytes.len() - 9]).unwrap();
        let (mut log, entries, warnings) = SessionLog::open(log.path()).unwrap();
        assert_eq!((entries, warnings.len()), (vec![said("one")], 1));
        log.append(&said("three")).unwrap();
        let (_, entries, _) = SessionLog::open(log.path()).unwrap();
        assert_eq!(entries, [said("one"), said("three")]);
    }

    #[test]
    fn foreign_and_newer_files_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.jsonl");
        std::fs::write(&path, "hello\n").unwrap();
        assert!(matches!(SessionLog::open(&path), Err(SessionError::Foreign(_))));
        let newer = r#"{"version":99,"id":"x","root":"/","time":"t"}"#;
        std::fs::write(&path, newer).unwrap();
        assert!(matches!(SessionLog::open(&path), Err(SessionError::Newer { version: 99, .. })));
    }
}
