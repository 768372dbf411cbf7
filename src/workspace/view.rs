//! The real disk as the edit engine sees it, and the engine's changes as files to write.

use super::{FileWrite, Kind, ReadError, Refusal, Workspace};
use crate::edit::{EditError, ErrorCode, FileChange, FileView, Node};
use std::sync::Arc;

/// Paths offered as suggestions for a misspelt one.
const SUGGESTED: usize = 2000;

impl FileView for Workspace {
    fn resolve(&self, path: &str) -> Result<String, EditError> {
        let place = self.locate(path).map_err(|refusal| as_edit_error(path, &refusal))?;
        if place.dangling {
            let message = format!("{path} is a link that leads nowhere");
            return Err(EditError::new(ErrorCode::NoSuchFile, message));
        }
        Ok(place.path)
    }

    fn node(&self, path: &str) -> Node {
        let Ok(place) = self.locate(path) else {
            return Node::Special;
        };
        match place.kind {
            Kind::Folder => Node::Directory,
            Kind::Special => Node::Special,
            Kind::Missing => Node::Missing,
            Kind::File => match self.read_place(&place.path) {
                Ok(bytes) => Node::File {
                    bytes: bytes.into(),
                    read_only: self.mode(&place.path).is_some_and(|mode| mode & 0o222 == 0),
                },
                Err(ReadError::Missing(_)) => Node::Missing,
                // Too large, no permission, gone bad: nothing that can be edited.
                Err(_) => Node::Special,
            },
        }
    }

    fn last_read(&self, path: &str) -> Option<Arc<[u8]>> {
        self.remembered(path)
    }

    fn link(&self, path: &str) -> Option<String> {
        let (folder, name) = path.rsplit_once('/').unwrap_or((".", path));
        let folder = self.locate(folder).ok()?;
        let target = std::fs::read_link(self.absolute(&folder).join(name)).ok()?;
        target.to_str().map(str::to_owned)
    }

    fn paths(&self) -> Vec<String> {
        self.walk_files(self.root()).take(SUGGESTED).collect()
    }
}

fn as_edit_error(path: &str, refusal: &Refusal) -> EditError {
    let code = match refusal {
        Refusal::BadText => ErrorCode::BadText,
        Refusal::OutsideRoot { .. } => ErrorCode::OutsideRoot,
        Refusal::Protected { .. } => ErrorCode::Protected,
        Refusal::NotAFolder { .. } => ErrorCode::NotRegular,
        Refusal::Unresolvable { .. } => ErrorCode::NoSuchFile,
    };
    let message = match refusal {
        Refusal::BadText => format!("path {path:?}: {refusal}"),
        Refusal::OutsideRoot { .. }
        | Refusal::Protected { .. }
        | Refusal::NotAFolder { .. }
        | Refusal::Unresolvable { .. } => refusal.to_string(),
    };
    EditError::new(code, message)
}

impl Workspace {
    /// The writes that carry out accepted changes; a move is a new file and a removal.
    pub fn writes(&self, changes: &[FileChange]) -> Vec<FileWrite> {
        let mut writes = Vec::new();
        for change in changes.iter().filter(|change| !change.is_empty()) {
            let before = change.before.as_deref().map(<[u8]>::to_vec);
            let after = change.after.as_deref().map(<[u8]>::to_vec);
            let old = change.from.as_deref().unwrap_or(&change.path);
            let mode = self.mode(old);
            let mode = match change.executable {
                Some(true) => Some(mode.unwrap_or(0o644) | 0o111),
                Some(false) => Some(mode.unwrap_or(0o644) & !0o111),
                None => mode,
            };
            match &change.from {
                Some(from) if *from != change.path => {
                    let path = change.path.clone();
                    writes.push(FileWrite { path, before: None, after, mode });
                    let path = from.clone();
                    writes.push(FileWrite { path, before, after: None, mode: None });
                }
                Some(_) | None => {
                    writes.push(FileWrite { path: change.path.clone(), before, after, mode });
                }
            }
        }
        writes
    }
}
