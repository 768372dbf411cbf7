//! What the engine needs to know of the disk. Implemented by the workspace, by the pending changes
//! of a step and by trees in memory.

use super::EditError;
use std::sync::Arc;

/// What is at a path, links followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// A regular file.
    File {
        /// All of it.
        bytes: Arc<[u8]>,
        /// Nobody may write it (no write permission).
        read_only: bool,
    },
    /// A directory.
    Directory,
    /// A pipe, socket or device; never opened.
    Special,
    /// Nothing.
    Missing,
}

/// A tree of files as it is now, and what the model knows of it.
pub trait FileView {
    /// Normalised path relative to the root after following links inside it (see
    /// [`resolve_path`](super::resolve_path)).
    ///
    /// # Errors
    /// `outside_root`, `protected`, and `no_such_file` for a link that leads nowhere.
    fn resolve(&self, path: &str) -> Result<String, EditError>;

    /// What is at a resolved path.
    fn node(&self, path: &str) -> Node;

    /// The bytes of a resolved path as the model last read or wrote them; `None`: never.
    fn last_read(&self, path: &str) -> Option<Arc<[u8]>>;

    /// Where the link at `path` (as given, not resolved) itself points, if it is a link.
    fn link(&self, path: &str) -> Option<String> {
        let _ = path;
        None
    }

    /// Paths that can be suggested for a misspelt one; may be cut short.
    fn paths(&self) -> Vec<String> {
        Vec::new()
    }
}
