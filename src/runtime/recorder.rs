//! The session log and the checkpoints of one session.
//!
//! A log that cannot be written never stops the work: it is said once and the session goes on.

use crate::paths::Paths;
use crate::protocol::{Decision, Level, Message, SessionId, TurnId};
use crate::session::{self, Entry, SessionError, SessionLog};
use crate::workspace::{Checkpoints, FileWrite, Workspace};
use std::path::{Path, PathBuf};

/// Keeps what happened and what files held before.
#[derive(Debug)]
pub struct Recorder {
    sessions: PathBuf,
    checkpoint_root: PathBuf,
    root: PathBuf,
    log: SessionLog,
    checkpoints: Option<Checkpoints>,
    turn: TurnId,
}

/// What an undo did.
pub(super) struct Restored {
    /// How loud to say it.
    pub level: Level,
    /// For the person.
    pub text: String,
    /// For the model, when something was restored.
    pub note: Option<String>,
}

/// An earlier session cannot be gone on with.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// There is none, or none of that name.
    #[error("no such conversation in this folder; `tessera sessions` lists them")]
    None,
    /// Its log cannot be used.
    #[error(transparent)]
    Log(#[from] SessionError),
}

impl Recorder {
    /// A new session for the workspace `root`.
    pub fn create(paths: &Paths, root: &Path) -> Self {
        Self::with(paths, root, SessionLog::create(&paths.sessions(), root))
    }

    /// Goes on with a session (the latest when none is named): the recorder, its messages, and what
    /// was wrong with its log.
    ///
    /// # Errors
    /// [`ResumeError`]
    pub fn resume(
        paths: &Paths,
        root: &Path,
        wanted: Option<&str>,
    ) -> Result<(Self, Vec<Message>, Vec<String>), ResumeError> {
        let found = session::find(&paths.sessions(), root, wanted).ok_or(ResumeError::None)?;
        let (log, entries, warnings) = SessionLog::open(&found.path)?;
        let messages = entries
            .into_iter()
            .filter_map(|entry| match entry {
                Entry::Message { message } => Some(message),
                Entry::Model { .. } | Entry::Decisions { .. } | Entry::Undone { .. } => None,
            })
            .collect();
        Ok((Self::with(paths, root, log), messages, warnings))
    }

    fn with(paths: &Paths, root: &Path, log: SessionLog) -> Self {
        Self {
            sessions: paths.sessions(),
            checkpoint_root: paths.checkpoints(),
            root: root.to_owned(),
            log,
            checkpoints: None,
            turn: TurnId::default(),
        }
    }

    /// Name of the session.
    pub fn id(&self) -> &SessionId {
        &self.log.header().id
    }

    /// Closes this session and begins another one.
    pub fn restart(&mut self) {
        self.log = SessionLog::create(&self.sessions, &self.root);
        self.checkpoints = None;
    }

    /// A turn begins; changes from here on belong to it.
    pub fn turn(&mut self, turn: TurnId) {
        self.turn = turn;
    }

    /// A message joined the conversation.
    pub fn message(&mut self, message: &Message) {
        self.append(&Entry::Message { message: message.clone() });
    }

    /// The model in use.
    pub fn model(&mut self, name: &str) {
        // Before the first message there is nothing to resume, and no file should be made.
        tracing::info!("model {name}");
    }

    /// What the person decided.
    pub fn decisions(&mut self, decisions: &[Decision]) {
        self.append(&Entry::Decisions { decisions: decisions.to_vec() });
    }

    fn append(&mut self, entry: &Entry) {
        if let Err(error) = self.log.append(entry) {
            tracing::error!("{error}");
        }
    }

    fn checkpoints(&mut self) -> Result<&mut Checkpoints, String> {
        if self.checkpoints.is_none() {
            let folder = self.checkpoint_root.join(&self.log.header().id.0);
            let opened = Checkpoints::open(&folder).map_err(|error| error.to_string())?;
            self.checkpoints = Some(opened);
        }
        self.checkpoints.as_mut().ok_or_else(|| "no checkpoints".to_owned())
    }

    /// Writes all files or none, after keeping what they hold now.
    ///
    /// # Errors
    /// One sentence; nothing was written then.
    pub fn write(&mut self, workspace: &Workspace, writes: &[FileWrite]) -> Result<(), String> {
        let turn = self.turn;
        self.checkpoints()?.write(workspace, turn, writes).map_err(|error| error.to_string())
    }

    /// Takes back the last turn's changes.
    pub(super) fn undo(&mut self, workspace: &Workspace) -> Restored {
        let undone = match self.checkpoints() {
            Ok(checkpoints) => checkpoints.undo(workspace).map_err(|error| error.to_string()),
            Err(error) => Err(error),
        };
        match undone {
            Err(error) => Restored {
                level: Level::Error,
                text: format!("Nothing was restored: {error}"),
                note: None,
            },
            Ok(None) => Restored {
                level: Level::Info,
                text: "There is nothing to undo.".into(),
                note: None,
            },
            Ok(Some(undone)) => {
                let mut text = format!("Restored: {}.", list(&undone.restored));
                let mut level = Level::Info;
                if !undone.left.is_empty() {
                    level = Level::Warning;
                    text.push_str(&format!(" Left alone, changed since: {}.", list(&undone.left)));
                }
                self.append(&Entry::Undone { paths: undone.restored.clone() });
                let note = (!undone.restored.is_empty()).then(|| {
                    let paths = list(&undone.restored);
                    format!(
                        "(The user took back your last changes; as before them again: {paths}.)"
                    )
                });
                workspace.forget_reads();
                Restored { level, text, note }
            }
        }
    }
}

fn list(paths: &[String]) -> String {
    if paths.is_empty() { "nothing".into() } else { paths.join(", ") }
}
