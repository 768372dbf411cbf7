//! Proposed changes and what the user decided about them.
//!
//! Lines are shown text (invalid bytes replaced); the bytes that get written never pass through here.

use super::{CallId, HunkId};
use serde::{Deserialize, Serialize};

/// What happens to a file as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// The file does not exist yet.
    Create,
    /// The content changes.
    Modify,
    /// The file goes away.
    Delete,
    /// The file moves; the content may change too.
    Rename {
        /// Path before, relative to the root.
        from: String,
    },
}

/// One run of changed lines that is decided as a unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hunk {
    /// Unique inside the review.
    pub id: HunkId,
    /// 1-based line of the first old line, or of the line the new ones go before.
    pub old_start: usize,
    /// 1-based line of the first new line, or of the line after the removed ones.
    pub new_start: usize,
    /// Unchanged lines just before, without line ends.
    pub before: Vec<String>,
    /// Lines that go away.
    pub old: Vec<String>,
    /// Lines that come.
    pub new: Vec<String>,
    /// Unchanged lines just after.
    pub after: Vec<String>,
}

/// All hunks of one file. A change without lines (empty file, pure rename, deletion) has one hunk
/// with no lines, so that every change can be refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDiff {
    /// Path relative to the root, `/` between parts.
    pub path: String,
    /// What happens to the file as a whole.
    pub change: Change,
    /// In the order of the file.
    pub hunks: Vec<Hunk>,
    /// Tolerances used and other things to know before deciding; one short line each.
    pub notes: Vec<String>,
}

/// Everything one step wants to change, in one list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    /// The edit calls this review settles, in order.
    pub calls: Vec<CallId>,
    /// One entry a file, in the order first touched.
    pub files: Vec<FileDiff>,
}

impl Review {
    /// Hunks over all files, in order.
    pub fn hunks(&self) -> impl Iterator<Item = &Hunk> {
        self.files.iter().flat_map(|file| &file.hunks)
    }
}

/// Yes or no to one hunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Write it.
    Accept,
    /// Leave the file as it is there.
    Reject,
}

/// What the user decided about one hunk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// The hunk meant.
    pub hunk: HunkId,
    /// Yes or no.
    pub verdict: Verdict,
    /// What the model should know about it, if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}
