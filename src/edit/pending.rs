//! The changes of a step that wait for review, layered over the disk: a later edit of the same step
//! sees the earlier ones.
//!
//! Invariant: [`Pending::changes`] is what writing all outcomes one after the other would change,
//! one entry a file.

use super::{EditError, FileChange, FileView, Node, Outcome};
use crate::protocol::CallId;
use std::sync::Arc;

/// Net state of one file.
#[derive(Clone, Debug)]
struct Entry {
    /// Path once everything is written.
    path: String,
    /// Path on disk; `None` for a file that is new.
    origin: Option<String>,
    before: Option<Arc<[u8]>>,
    after: Option<Arc<[u8]>>,
    executable: Option<bool>,
    calls: Vec<CallId>,
    notes: Vec<String>,
}

/// Changes that wait, in the order in which files were first touched.
#[derive(Clone, Debug, Default)]
pub struct Pending {
    entries: Vec<Entry>,
}

impl Pending {
    /// True if nothing waits.
    pub fn is_empty(&self) -> bool {
        self.changes().is_empty()
    }

    /// Adds what `call` does; it must have been worked out on [`Pending::view`].
    pub fn push(&mut self, call: CallId, outcome: Outcome) {
        let notes = outcome.notes();
        for change in outcome.changes {
            let entry = self.entry(&change);
            entry.path = change.path;
            entry.after = change.after;
            entry.executable = change.executable.or(entry.executable);
            if !entry.calls.contains(&call) {
                entry.calls.push(call);
            }
            for note in &notes {
                if !entry.notes.contains(note) {
                    entry.notes.push(note.clone());
                }
            }
        }
    }

    /// The entry that `change` goes on from.
    fn entry(&mut self, change: &FileChange) -> &mut Entry {
        let now = change.from.as_ref().unwrap_or(&change.path);
        // A file made where another one was deleted in this step replaces that one.
        let continues = |entry: &Entry| match change.before {
            Some(_) => entry.path == *now && entry.after.is_some(),
            None => entry.path == *now && entry.after.is_none(),
        };
        let at = self.entries.iter().position(continues).unwrap_or_else(|| {
            self.entries.push(Entry {
                path: change.path.clone(),
                origin: change.before.as_ref().map(|_| now.clone()),
                before: change.before.clone(),
                after: None,
                executable: None,
                calls: Vec::new(),
                notes: Vec::new(),
            });
            self.entries.len() - 1
        });
        &mut self.entries[at]
    }

    /// What would be written: the net change of every file, in the order first touched. A file that
    /// was changed back, or made and removed again, is left out. `before` is always what the disk
    /// holds at that path; a move whose old or new name is used by another file is told as two
    /// changes, so that the order of writing does not matter.
    pub fn changes(&self) -> Vec<FileChange> {
        let all = self.entries.iter().flat_map(|entry| self.net(entry));
        all.filter(|change| !change.is_empty()).collect()
    }

    fn net(&self, entry: &Entry) -> Vec<FileChange> {
        let live = |path: &str| {
            self.entries.iter().any(|other| other.path == path && other.after.is_some())
        };
        let gone = entry.origin.as_ref().filter(|from| !live(from)).map(|from| FileChange {
            path: from.clone(),
            from: None,
            before: entry.before.clone(),
            after: None,
            executable: None,
        });
        let Some(after) = &entry.after else {
            return gone.into_iter().collect();
        };
        let on_disk = self.entries.iter().find(|other| other.origin.as_ref() == Some(&entry.path));
        let mut change = FileChange {
            path: entry.path.clone(),
            from: None,
            before: on_disk.and_then(|other| other.before.clone()),
            after: Some(after.clone()),
            executable: entry.executable,
        };
        match (gone, on_disk) {
            (Some(gone), None) => {
                (change.from, change.before) = (Some(gone.path), gone.before);
                vec![change]
            }
            (gone, _) => gone.into_iter().chain([change]).collect(),
        }
    }

    fn about(&self, path: &str) -> impl Iterator<Item = &Entry> {
        let is = move |entry: &&Entry| entry.path == path || entry.origin.as_deref() == Some(path);
        self.entries.iter().filter(is)
    }

    /// The calls that changed the file at `path` (its name now or on disk), in order.
    pub fn calls(&self, path: &str) -> Vec<CallId> {
        let mut calls: Vec<CallId> =
            self.about(path).flat_map(|entry| &entry.calls).copied().collect();
        calls.sort_unstable();
        calls.dedup();
        calls
    }

    /// What a reviewer should know about the change of the file at `path` (its name now or on disk),
    /// one line each.
    pub fn notes(&self, path: &str) -> Vec<String> {
        self.about(path).flat_map(|entry| &entry.notes).cloned().collect()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// The tree as it would be with everything written.
    pub fn view<'v>(&'v self, base: &'v dyn FileView) -> PendingView<'v> {
        PendingView { pending: self, base }
    }
}

/// A tree with pending changes on top.
pub struct PendingView<'v> {
    pending: &'v Pending,
    base: &'v dyn FileView,
}

impl PendingView<'_> {
    fn at(&self, path: &str) -> Option<&Entry> {
        self.pending.entries.iter().find(|entry| entry.path == path && entry.after.is_some())
    }

    /// A file of the disk that was moved or removed.
    fn gone(&self, path: &str) -> bool {
        self.pending.entries.iter().any(|entry| entry.origin.as_deref() == Some(path))
    }
}

impl FileView for PendingView<'_> {
    fn resolve(&self, path: &str) -> Result<String, EditError> {
        self.base.resolve(path)
    }

    fn node(&self, path: &str) -> Node {
        if let Some(entry) = self.at(path) {
            let on_disk = entry.origin.as_deref().map(|origin| self.base.node(origin));
            let read_only = matches!(on_disk, Some(Node::File { read_only: true, .. }));
            let bytes = entry.after.clone().unwrap_or_default();
            return Node::File { bytes, read_only };
        }
        if self.gone(path) {
            return Node::Missing;
        }
        let below = |entry: &&Entry| {
            entry.after.is_some()
                && entry.path.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'))
        };
        match self.base.node(path) {
            Node::Missing if self.pending.entries.iter().any(|entry| below(&entry)) => {
                Node::Directory
            }
            node => node,
        }
    }

    fn last_read(&self, path: &str) -> Option<Arc<[u8]>> {
        if let Some(entry) = self.at(path) {
            // The model knows a pending file as a whole if it wrote it or had read it before.
            let known = match entry.origin.as_deref() {
                Some(origin) => self.base.last_read(origin).is_some(),
                None => true,
            };
            return entry.after.clone().filter(|_| known);
        }
        self.base.last_read(path).filter(|_| !self.gone(path))
    }

    fn link(&self, path: &str) -> Option<String> {
        self.base.link(path)
    }

    fn paths(&self) -> Vec<String> {
        let mut paths = self.base.paths();
        paths.retain(|path| !self.gone(path));
        let made = self.pending.entries.iter().filter(|entry| entry.after.is_some());
        paths.extend(made.map(|entry| entry.path.clone()));
        paths
    }
}
