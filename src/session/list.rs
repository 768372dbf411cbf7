//! The sessions there are, newest first.

use super::{Entry, Header};
use crate::protocol::{Role, SessionId};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Longest part of a log that is looked at for its title.
const HEAD: u64 = 1 << 20;

/// One session, as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Its name.
    pub id: SessionId,
    /// When it began.
    pub time: String,
    /// First line of the first message.
    pub title: String,
    /// Its log.
    pub path: PathBuf,
}

/// Sessions of the workspace `root`, newest first. Files that are no session logs are left out.
pub fn list(folder: &Path, root: &Path) -> Vec<Summary> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut found: Vec<Summary> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
        .filter_map(|path| summary(&path, root))
        .collect();
    found.sort_by(|a, b| b.id.cmp(&a.id));
    found
}

/// The session named `wanted` (its name or the start of it), or the latest.
pub fn find(folder: &Path, root: &Path, wanted: Option<&str>) -> Option<Summary> {
    list(folder, root)
        .into_iter()
        .find(|summary| wanted.is_none_or(|wanted| summary.id.0.starts_with(wanted)))
}

fn summary(path: &Path, root: &Path) -> Option<Summary> {
    let mut lines = BufReader::new(std::fs::File::open(path).ok()?.take(HEAD)).lines();
    let header: Header = serde_json::from_str(&lines.next()?.ok()?).ok()?;
    if header.root != root {
        return None;
    }
    let title = lines
        .map_while(Result::ok)
        .filter_map(|line| serde_json::from_str::<Entry>(&line).ok())
        .find_map(|entry| match entry {
            Entry::Message { message } if message.role == Role::User => {
                Some(message.text.lines().next().unwrap_or_default().to_owned())
            }
            Entry::Message { .. }
            | Entry::Model { .. }
            | Entry::Decisions { .. }
            | Entry::Undone { .. } => None,
        })
        .unwrap_or_default();
    Some(Summary { id: header.id, time: header.time, title, path: path.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::super::SessionLog;
    use super::*;
    use crate::protocol::Message;

    #[test]
    fn sessions_of_this_root_are_listed_and_found_by_the_start_of_their_name() {
        let dir = tempfile::tempdir().unwrap();
        for (root, text) in [("/a", "first\nmore"), ("/b", "other")] {
            let mut log = SessionLog::create(dir.path(), Path::new(root));
            log.append(&Entry::Message { message: Message::user(text) }).unwrap();
        }
        std::fs::write(dir.path().join("junk.jsonl"), "junk").unwrap();
        let found = list(dir.path(), Path::new("/a"));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].title, "first");
        let start = &found[0].id.0[..8];
        assert!(find(dir.path(), Path::new("/a"), Some(start)).is_some());
        assert!(find(dir.path(), Path::new("/a"), Some("x")).is_none());
        assert!(find(dir.path(), Path::new("/a"), None).is_some());
    }
}
