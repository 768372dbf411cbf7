//! A tree of files in memory: what cases and tests edit instead of a disk. Knows links, hard links,
//! modes and pipes.

use super::{EditError, ErrorCode, FileChange, FileView, Node, resolve_path};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The absolute path at which the tree pretends to be.
const ROOT: &str = "/workspace";

#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    /// Number of the content: hard links share one.
    File {
        inode: usize,
    },
    Link {
        target: String,
    },
    Pipe,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inode {
    bytes: Arc<[u8]>,
    mode: u32,
}

/// A tree of files in memory. Paths are relative to its root.
#[derive(Clone, Debug, Default)]
pub struct MemoryTree {
    entries: BTreeMap<String, Entry>,
    inodes: Vec<Inode>,
    read: BTreeMap<String, Arc<[u8]>>,
}

/// Mode of a file of which nothing else is said.
const DEFAULT_MODE: u32 = 0o644;

impl MemoryTree {
    /// Creates or replaces a file; a file that is there keeps its hard links and its mode.
    pub fn write(&mut self, path: &str, bytes: impl Into<Arc<[u8]>>) {
        let bytes = bytes.into();
        match self.inode(path) {
            Some(inode) => self.inodes[inode].bytes = bytes,
            None => {
                self.inodes.push(Inode { bytes, mode: DEFAULT_MODE });
                let inode = self.inodes.len() - 1;
                self.entries.insert(path.to_owned(), Entry::File { inode });
            }
        }
    }

    /// Sets the permission bits of a file.
    pub fn chmod(&mut self, path: &str, mode: u32) {
        if let Some(inode) = self.inode(path) {
            self.inodes[inode].mode = mode;
        }
    }

    /// Makes a symbolic link.
    pub fn symlink(&mut self, path: &str, target: &str) {
        self.entries.insert(path.to_owned(), Entry::Link { target: target.to_owned() });
    }

    /// Makes a second name for a file.
    pub fn hard_link(&mut self, path: &str, other: &str) {
        if let Some(inode) = self.inode(other) {
            self.entries.insert(path.to_owned(), Entry::File { inode });
        }
    }

    /// Makes a named pipe.
    pub fn pipe(&mut self, path: &str) {
        self.entries.insert(path.to_owned(), Entry::Pipe);
    }

    /// Takes a name away.
    pub fn remove(&mut self, path: &str) {
        self.entries.remove(path);
    }

    /// The model reads every file there is, and learns which are gone.
    pub fn read_all(&mut self) {
        self.read.clear();
        for (path, entry) in &self.entries {
            if let Entry::File { inode } = entry {
                self.read.insert(path.clone(), self.inodes[*inode].bytes.clone());
            }
        }
    }

    /// Carries out a change.
    pub fn commit(&mut self, change: &FileChange) {
        if let Some(from) = &change.from
            && let Some(entry) = self.entries.remove(from)
        {
            self.entries.insert(change.path.clone(), entry);
        }
        match &change.after {
            Some(bytes) => self.write(&change.path, bytes.clone()),
            None => self.remove(&change.path),
        }
        if let Some(executable) = change.executable {
            self.chmod(&change.path, if executable { 0o755 } else { DEFAULT_MODE });
        }
    }

    /// The bytes of a regular file.
    pub fn bytes(&self, path: &str) -> Option<Arc<[u8]>> {
        Some(self.inodes[self.inode(path)?].bytes.clone())
    }

    /// The permission bits of a regular file.
    pub fn mode(&self, path: &str) -> Option<u32> {
        Some(self.inodes[self.inode(path)?].mode)
    }

    /// All names of the file at `path`, itself included.
    pub fn names(&self, path: &str) -> Vec<String> {
        let Some(inode) = self.inode(path) else {
            return vec![path.to_owned()];
        };
        let same = |(_, entry): &(&String, &Entry)| **entry == Entry::File { inode };
        self.entries.iter().filter(same).map(|(name, _)| name.clone()).collect()
    }

    fn inode(&self, path: &str) -> Option<usize> {
        match self.entries.get(path)? {
            Entry::File { inode } => Some(*inode),
            Entry::Link { .. } | Entry::Pipe => None,
        }
    }

    fn target(&self, path: &str) -> Option<String> {
        match self.entries.get(path)? {
            Entry::Link { target } => Some(target.clone()),
            Entry::File { .. } | Entry::Pipe => None,
        }
    }
}

impl FileView for MemoryTree {
    fn resolve(&self, path: &str) -> Result<String, EditError> {
        let resolved = resolve_path(path, ROOT, &|at| self.target(at))?;
        if self.link(path).is_some() && self.node(&resolved) == Node::Missing {
            let message = format!("{path}: a link to {resolved}, which does not exist");
            return Err(EditError::new(ErrorCode::NoSuchFile, message));
        }
        Ok(resolved)
    }

    fn node(&self, path: &str) -> Node {
        match self.entries.get(path) {
            Some(Entry::File { inode }) => {
                let Inode { bytes, mode } = &self.inodes[*inode];
                Node::File { bytes: bytes.clone(), read_only: mode & 0o222 == 0 }
            }
            Some(Entry::Pipe) => Node::Special,
            Some(Entry::Link { .. }) | None => {
                let below = format!("{path}/");
                let mut names = self.entries.range(below.clone()..).map(|(name, _)| name);
                match path.is_empty() || names.next().is_some_and(|name| name.starts_with(&below)) {
                    true => Node::Directory,
                    false => Node::Missing,
                }
            }
        }
    }

    fn last_read(&self, path: &str) -> Option<Arc<[u8]>> {
        self.read.get(path).cloned()
    }

    fn link(&self, path: &str) -> Option<String> {
        // Only the last part may be the link: the parts before it are resolved.
        let (parent, name) = path.trim_end_matches('/').rsplit_once('/').unwrap_or((".", path));
        let parent = resolve_path(parent, ROOT, &|at| self.target(at)).ok()?;
        let at = if parent.is_empty() { name.to_owned() } else { format!("{parent}/{name}") };
        self.target(&at)
    }

    fn paths(&self) -> Vec<String> {
        self.entries.keys().cloned().collect()
    }
}
