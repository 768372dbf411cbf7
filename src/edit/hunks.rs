//! Changes as hunks for review, and changes reduced to the accepted hunks.
//!
//! Each run of changed lines between two unchanged ones is one hunk. Invariant: with all hunks
//! accepted the bytes are exactly `after`, with none exactly `before`.

use super::FileChange;
use super::encoding::{self, Codec};
use crate::protocol::{Change, FileDiff, Hunk, HunkId};
use similar::{Algorithm, DiffTag, capture_diff_slices};
use std::fmt::Write;
use std::ops::Range;

/// Unchanged lines shown around a hunk.
const CONTEXT: usize = 3;

/// Lines that differ: a range of old lines and the new lines in their place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) old: Range<usize>,
    pub(super) new: Range<usize>,
}

/// Both sides of a change as lines, endings included, and where they differ.
pub(super) struct Sides<'b> {
    old_codec: Codec,
    new_codec: Codec,
    cr: bool,
    pub(super) old: Vec<&'b [u8]>,
    pub(super) new: Vec<&'b [u8]>,
    pub(super) runs: Vec<Run>,
}

impl<'b> Sides<'b> {
    pub(super) fn new(old: &'b [u8], new: &'b [u8]) -> Self {
        let codec = |bytes| encoding::display_codec(bytes).unwrap_or(Codec::BrokenUtf8);
        let (old_codec, new_codec) = (codec(old), codec(new));
        let cr = !old.contains(&b'\n') && !new.contains(&b'\n');
        let (old, new) = (split(old, old_codec, cr), split(new, new_codec, cr));
        let mut runs: Vec<Run> = Vec::new();
        for op in capture_diff_slices(Algorithm::Histogram, &old, &new) {
            let (tag, old, new) = op.as_tag_tuple();
            match (tag, runs.last_mut()) {
                (DiffTag::Equal, _) => {}
                (_, Some(last)) if last.old.end == old.start && last.new.end == new.start => {
                    (last.old.end, last.new.end) = (old.end, new.end);
                }
                (DiffTag::Delete | DiffTag::Insert | DiffTag::Replace, _) => {
                    runs.push(Run { old, new });
                }
            }
        }
        Self { old_codec, new_codec, cr, old, new, runs }
    }

    fn old_shown(&self, lines: Range<usize>) -> Vec<String> {
        self.old[lines].iter().map(|line| shown(line, self.old_codec, self.cr)).collect()
    }

    fn new_shown(&self, lines: Range<usize>) -> Vec<String> {
        self.new[lines].iter().map(|line| shown(line, self.new_codec, self.cr)).collect()
    }

    fn hunk(&self, run: &Run, id: HunkId) -> Hunk {
        let before = run.old.start.saturating_sub(CONTEXT)..run.old.start;
        let after = run.old.end..self.old.len().min(run.old.end + CONTEXT);
        Hunk {
            id,
            old_start: run.old.start + 1,
            new_start: run.new.start + 1,
            before: self.old_shown(before),
            old: self.old_shown(run.old.clone()),
            new: self.new_shown(run.new.clone()),
            after: self.old_shown(after),
        }
    }
}

/// Lines with their endings. In UTF-16 a line ends at a whole code unit.
fn split(bytes: &[u8], codec: Codec, cr: bool) -> Vec<&[u8]> {
    let end = if cr { b'\r' } else { b'\n' };
    let wide = match codec {
        Codec::Utf16Le => [end, 0],
        Codec::Utf16Be => [0, end],
        Codec::Utf8 | Codec::BrokenUtf8 | Codec::Opaque | Codec::Legacy(_) => {
            return bytes.split_inclusive(|byte| *byte == end).collect();
        }
    };
    let mut out = Vec::new();
    let mut start = 0;
    for (at, unit) in bytes.as_chunks::<2>().0.iter().enumerate() {
        if *unit == wide {
            out.push(&bytes[start..2 * at + 2]);
            start = 2 * at + 2;
        }
    }
    if start < bytes.len() {
        out.push(&bytes[start..]);
    }
    out
}

/// A line as text without its ending; U+FFFD for bytes without meaning.
fn shown(line: &[u8], codec: Codec, cr: bool) -> String {
    let body = &line[encoding::bom_len(line, codec)..];
    let replace = |(c, _)| {
        if encoding::is_opaque(c) { char::REPLACEMENT_CHARACTER } else { c }
    };
    let mut text: String = encoding::characters(body, codec).into_iter().map(replace).collect();
    if text.ends_with('\n') {
        text.pop();
    }
    if (cr || text.len() < line.len()) && text.ends_with('\r') {
        text.pop();
    }
    text
}

/// The hunks of a change. `first_id` is the id of the first one and becomes the next free one.
/// A change without lines (empty file, pure rename, change of mode, deletion) has one empty hunk.
pub fn file_diff(change: &FileChange, notes: Vec<String>, first_id: &mut HunkId) -> FileDiff {
    let kind = match (&change.from, &change.before, &change.after) {
        (Some(from), _, _) => Change::Rename { from: from.clone() },
        (None, None, _) => Change::Create,
        (None, Some(_), None) => Change::Delete,
        (None, Some(_), Some(_)) => Change::Modify,
    };
    let mut id = || {
        let id = *first_id;
        *first_id = id.next();
        id
    };
    let (before, after) = (change.before.as_deref().unwrap_or(&[]), change.after.as_deref());
    let mut notes = notes;
    let mut hunks = Vec::new();
    if let Some(after) = after {
        let sides = Sides::new(before, after);
        hunks.extend(sides.runs.iter().map(|run| sides.hunk(run, id())));
        notes.extend(change.before.as_ref().and_then(|before| newline_note(before, after)));
    }
    notes.extend(change.executable.map(|set| match set {
        true => "becomes executable".to_owned(),
        false => "is no longer executable".to_owned(),
    }));
    if hunks.is_empty() {
        hunks.push(Hunk {
            id: id(),
            old_start: 1,
            new_start: 1,
            before: Vec::new(),
            old: Vec::new(),
            new: Vec::new(),
            after: Vec::new(),
        });
    }
    FileDiff { path: change.path.clone(), change: kind, hunks, notes }
}

/// Says what the lines cannot show.
fn newline_note(before: &[u8], after: &[u8]) -> Option<String> {
    let ends = |bytes: &[u8]| matches!(bytes, [.., b'\n'] | [.., b'\n', 0]) || bytes.is_empty();
    match (ends(before), ends(after)) {
        (false, true) if !after.is_empty() => Some("adds a newline at the end of the file".into()),
        (true, false) => Some("no newline at the end of the file any more".into()),
        (false, true | false) | (true, true) => None,
    }
}

/// The change with only the accepted hunks of `diff` (made from it by [`file_diff`]); `None` if
/// nothing is left. A file moves if any of its hunks is accepted.
pub fn select(
    change: &FileChange,
    accepted: &dyn Fn(HunkId) -> bool,
    diff: &FileDiff,
) -> Option<FileChange> {
    let verdicts: Vec<bool> = diff.hunks.iter().map(|hunk| accepted(hunk.id)).collect();
    if verdicts.iter().all(|yes| !yes) {
        return None;
    }
    let (Some(after), false) = (&change.after, verdicts.iter().all(|yes| *yes)) else {
        return Some(change.clone());
    };
    let sides = Sides::new(change.before.as_deref().unwrap_or(&[]), after);
    let mut bytes = Vec::with_capacity(after.len());
    let mut done = 0;
    for (run, yes) in sides.runs.iter().zip(verdicts) {
        bytes.extend(sides.old[done..run.old.start].concat());
        bytes.extend(match yes {
            true => sides.new[run.new.clone()].concat(),
            false => sides.old[run.old.clone()].concat(),
        });
        done = run.old.end;
    }
    bytes.extend(sides.old[done..].concat());
    Some(FileChange { after: Some(bytes.into()), ..change.clone() })
}

/// Some hunks of a diff as unified text, so that the model can be told which were refused. Empty if
/// none is chosen.
pub fn unified(diff: &FileDiff, only: &dyn Fn(HunkId) -> bool) -> String {
    let mut out = String::new();
    let chosen = diff.hunks.iter().filter(|hunk| only(hunk.id));
    for (index, hunk) in chosen.enumerate() {
        if index == 0 {
            let (old, new) = match &diff.change {
                Change::Create => ("/dev/null".to_owned(), format!("b/{}", diff.path)),
                Change::Modify => (format!("a/{}", diff.path), format!("b/{}", diff.path)),
                Change::Delete => (format!("a/{}", diff.path), "/dev/null".to_owned()),
                Change::Rename { from } => (format!("a/{from}"), format!("b/{}", diff.path)),
            };
            // Writing to a String never fails.
            let _ = writeln!(out, "--- {old}\n+++ {new}");
        }
        if hunk.old.is_empty() && hunk.new.is_empty() {
            continue;
        }
        let around = hunk.before.len() + hunk.after.len();
        let _ = writeln!(
            out,
            "@@ -{} +{} @@",
            range(hunk.old_start, hunk.before.len(), around + hunk.old.len()),
            range(hunk.new_start, hunk.before.len(), around + hunk.new.len()),
        );
        for (mark, lines) in
            [(' ', &hunk.before), ('-', &hunk.old), ('+', &hunk.new), (' ', &hunk.after)]
        {
            for line in lines {
                let _ = writeln!(out, "{mark}{line}");
            }
        }
    }
    out
}

/// `line,count` of a hunk header; an empty range names the line before it.
fn range(start: usize, before: usize, count: usize) -> String {
    let line = start.saturating_sub(before);
    match count {
        0 => format!("{},0", line.saturating_sub(1)),
        _ => format!("{line},{count}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff(before: Option<&[u8]>, after: Option<&[u8]>) -> FileDiff {
        let change = FileChange {
            path: "f".into(),
            from: None,
            before: before.map(Into::into),
            after: after.map(Into::into),
            executable: None,
        };
        file_diff(&change, Vec::new(), &mut HunkId(1))
    }

    #[test]
    fn an_unchanged_line_parts_two_hunks() {
        let diff = diff(Some(b"1\n2\n3\n4\n5\n6\n"), Some(b"1\nb\n3\nd\n5\n6\n7\n"));
        let places: Vec<_> =
            diff.hunks.iter().map(|h| (h.id.0, h.old_start, h.new_start)).collect();
        assert_eq!(places, [(1, 2, 2), (2, 4, 4), (3, 7, 7)]);
        assert_eq!(diff.hunks[1].before, ["1", "2", "3"]);
        assert_eq!(
            (&diff.hunks[1].old[..], &diff.hunks[1].new[..]),
            (&["4".into()][..], &["d".into()][..])
        );
        assert_eq!(diff.hunks[1].after, ["5", "6"]);
        let refused = unified(&diff, &|id| id.0 == 2);
        assert_eq!(refused, "--- a/f\n+++ b/f\n@@ -1,6 +1,6 @@\n 1\n 2\n 3\n-4\n+d\n 5\n 6\n");
    }

    #[test]
    fn lines_are_shown_in_the_encoding_of_the_file() {
        let wide =
            |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
        let diff =
            diff(Some(&wide("\u{feff}a\r\nb\u{a00}\r\n")), Some(&wide("\u{feff}a\r\nc\r\n")));
        assert_eq!(diff.hunks.len(), 1);
        assert_eq!(
            (&diff.hunks[0].before[0], &diff.hunks[0].old[0]),
            (&"a".into(), &"b\u{a00}".into())
        );
        let (old, new) =
            (encoding_rs::GBK.encode("名称\n测试\n"), encoding_rs::GBK.encode("名称\n正式\n"));
        let diff = self::diff(Some(&old.0), Some(&new.0));
        assert_eq!(
            (&diff.hunks[0].old[0], &diff.hunks[0].new[0]),
            (&"测试".into(), &"正式".into())
        );
    }

    #[test]
    fn a_change_without_lines_has_one_empty_hunk_that_can_be_refused() {
        for (before, after) in [(None, Some(&b""[..])), (Some(&b"a\n"[..]), None)] {
            let diff = diff(before, after);
            assert_eq!(diff.hunks.len(), 1);
            assert!(diff.hunks[0].old.is_empty() && diff.hunks[0].new.is_empty());
        }
        let diff = diff(Some(b"a"), Some(b"a\n"));
        assert_eq!(diff.hunks.len(), 1);
        assert_eq!(diff.notes, ["adds a newline at the end of the file"]);
    }
}
