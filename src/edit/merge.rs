//! Carries a change over to a file that moved on between proposal and write.
//!
//! Lines decide: a hunk goes along where nothing that moved overlaps or touches it.

use super::hunks::Sides;
use super::{EditError, ErrorCode, FileChange};
use std::sync::Arc;

/// The same change for a file that now holds `now`.
///
/// # Errors
/// `stale` if a hunk overlaps or touches what changed meanwhile, if the change is a deletion, or if
/// the file was to be created.
pub fn rebase(change: &FileChange, now: &[u8]) -> Result<FileChange, EditError> {
    if change.before.as_deref() == Some(now) {
        return Ok(change.clone());
    }
    let (Some(before), Some(after)) = (&change.before, &change.after) else {
        return Err(stale(change, None));
    };
    let mine = Sides::new(before, after);
    let theirs = Sides::new(before, now);
    let mut bytes = Vec::with_capacity(now.len() + after.len());
    // Lines of `now` that are copied already.
    let mut done = 0;
    for run in &mine.runs {
        let same = |other: &&super::hunks::Run| {
            other.old == run.old && theirs.new[other.new.clone()] == mine.new[run.new.clone()]
        };
        if theirs.runs.iter().any(|other| same(&other)) {
            continue;
        }
        let touches = |other: &&super::hunks::Run| {
            run.old.start <= other.old.end && other.old.start <= run.old.end
        };
        if theirs.runs.iter().any(|other| touches(&other)) {
            return Err(stale(change, Some(run.old.start + 1)));
        }
        let earlier = theirs.runs.iter().rev().find(|other| other.old.end < run.old.start);
        let at = match earlier {
            Some(other) => other.new.end + (run.old.start - other.old.end),
            None => run.old.start,
        };
        bytes.extend(theirs.new[done..at].concat());
        bytes.extend(mine.new[run.new.clone()].concat());
        done = at + run.old.len();
    }
    bytes.extend(theirs.new[done..].concat());
    Ok(FileChange { before: Some(Arc::from(now)), after: Some(bytes.into()), ..change.clone() })
}

fn stale(change: &FileChange, line: Option<usize>) -> EditError {
    let place = line.map(|line| format!(" near line {line}")).unwrap_or_default();
    let message = format!(
        "{}: the file changed on disk{place} while the change was waiting; read it again",
        change.path
    );
    EditError { code: ErrorCode::Stale, message, near_line: line }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rebased(before: &str, after: &str, now: &str) -> Result<String, ErrorCode> {
        let change = FileChange::modify("f", Some(before.as_bytes().into()), after.as_bytes());
        let merged = rebase(&change, now.as_bytes()).map_err(|error| error.code)?;
        assert_eq!(merged.before.as_deref(), Some(now.as_bytes()));
        Ok(String::from_utf8(merged.after.unwrap().to_vec()).unwrap())
    }

    #[test]
    fn hunks_go_along_where_nothing_touches_them() {
        let stale = Err(ErrorCode::Stale);
        for (before, after, now, expected) in [
            ("a\nb\nc\nd\n", "a\nb\nC\nd\n", "0\na\nb\nc\nd\n", Ok("0\na\nb\nC\nd\n")),
            ("a\nb\nc\nd\n", "A\nb\nc\nD\n", "a\nb\nx\nc\nd\n", Ok("A\nb\nx\nc\nD\n")),
            ("a\nb\nc\nd\n", "a\nB\nc\nd\n", "a\nB\nc\nd\ne\n", Ok("a\nB\nc\nd\ne\n")),
            ("a\nb\nc\n", "a\nB\nc\n", "a\nX\nc\n", stale),
            ("a\nb\nc\n", "a\nB\nc\n", "a\nb\nC\n", stale),
            ("a\nb\nc", "a\nb\nc\n", "0\na\nb\nc", Ok("0\na\nb\nc\n")),
        ] {
            assert_eq!(rebased(before, after, now), expected.map(str::to_owned), "{now:?}");
        }
    }

    #[test]
    fn a_deletion_is_never_carried_over() {
        let mut change = FileChange::modify("f", Some(b"a".as_slice().into()), b"".as_slice());
        change.after = None;
        assert_eq!(rebase(&change, b"b").unwrap_err().code, ErrorCode::Stale);
        assert_eq!(rebase(&change, b"a"), Ok(change));
    }
}
