//! The edit engine: turns a request of the model's into the exact bytes of files, or says why not.
//!
//! Pure: no IO, no async, no clock. It looks at the disk only through [`FileView`] and hands back
//! [`FileChange`]s; whoever owns the disk writes them. Finding the place, patches, encodings, hunks,
//! the pending changes of a step and merging live here; reading, writing and confinement of real
//! files do not. Invariant: a request is applied as a whole or not at all, and bytes outside the
//! replaced part never change.

mod apply;
mod cases;
mod elided;
mod encoding;
mod error;
mod explain;
mod find;
mod fold;
mod hunks;
mod indent;
mod lines;
mod memory;
mod merge;
mod near;
mod patch;
mod path;
mod pending;
#[cfg(test)]
mod props;
mod replace;
mod request;
mod suggest;
#[cfg(test)]
mod tests;
mod text;
mod tolerance;
mod tree;
mod view;
mod write;

pub use apply::apply;
pub use cases::run_case;
pub use encoding::{Decoded, decode};
pub use error::{EditError, ErrorCode};
pub use hunks::{file_diff, select, unified};
pub use memory::MemoryTree;
pub use merge::rebase;
pub use path::resolve_path;
pub use pending::{Pending, PendingView};
pub use request::EditRequest;
pub use tolerance::Tolerance;
pub use tree::{FileChange, Outcome};
pub use view::{FileView, Node};
