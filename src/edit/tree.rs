//! What an accepted request does to files. Bytes only; how they are shown lives in `hunks`.

use super::Tolerance;
use std::sync::Arc;

/// What happens to one file. Paths are relative to the root, `/` between parts, links resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// Path after the change.
    pub path: String,
    /// Path before, if the file moves.
    pub from: Option<String>,
    /// Content before; `None`: the file does not exist yet.
    pub before: Option<Arc<[u8]>>,
    /// Content after; `None`: the file goes away.
    pub after: Option<Arc<[u8]>>,
    /// Set (or cleared) execute permission, where a patch asks for it.
    pub executable: Option<bool>,
}

impl FileChange {
    /// New content for a file that stays where it is (or is new).
    pub fn modify(
        path: impl Into<String>,
        before: Option<Arc<[u8]>>,
        after: impl Into<Arc<[u8]>>,
    ) -> Self {
        Self { path: path.into(), from: None, before, after: Some(after.into()), executable: None }
    }

    /// True if applying it would leave the disk as it is.
    pub fn is_empty(&self) -> bool {
        self.from.is_none() && self.before == self.after && self.executable.is_none()
    }
}

/// A request that can be carried out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// One entry a file, in the order of the request.
    pub changes: Vec<FileChange>,
    /// Tolerances used, each once.
    pub soft: Vec<Tolerance>,
}

impl Outcome {
    /// The lines a reviewer reads about the tolerances used.
    pub fn notes(&self) -> Vec<String> {
        self.soft.iter().map(|used| used.note().to_owned()).collect()
    }
}
