//! Properties that hold for every input.

use super::*;
use crate::protocol::{CallId, HunkId};
use proptest::prelude::*;
use std::sync::Arc;

/// Bytes made of few different lines, so that two of them share some: all endings, invalid UTF-8, an
/// end without a newline.
fn file() -> impl Strategy<Value = Vec<u8>> {
    let line = prop::sample::select(vec![
        &b"a\n"[..],
        b"b\n",
        b"c\r\n",
        b"\n",
        b"\r\n",
        b"\xff\xfe\n",
        b"\xe9t\xe9\n",
        b"}\n",
        b"x",
        b"\r",
        b"\xe5\x90\n",
        b"  a\n",
        b"long line of text\n",
        "名称\n".as_bytes(),
    ]);
    prop::collection::vec(line, 0..14).prop_map(|lines| lines.concat())
}

/// Text of LF lines.
fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(vec!["a", "b", "c", "", "}", "  a", "d e"]), 0..12)
        .prop_map(|lines| lines.iter().map(|line| format!("{line}\n")).collect())
}

fn change(before: &[u8], after: &[u8]) -> FileChange {
    FileChange::modify("f", Some(before.into()), after)
}

fn diff(change: &FileChange) -> crate::protocol::FileDiff {
    file_diff(change, Vec::new(), &mut HunkId(1))
}

/// The lines of `old` with the chosen hunks, worked out from the shown hunks alone.
fn by_hand(old: &str, diff: &crate::protocol::FileDiff, chosen: &dyn Fn(HunkId) -> bool) -> String {
    let mut lines: Vec<String> = old.lines().map(str::to_owned).collect();
    for hunk in diff.hunks.iter().rev().filter(|hunk| chosen(hunk.id)) {
        let at = hunk.old_start - 1;
        let removed: Vec<String> =
            lines.splice(at..at + hunk.old.len(), hunk.new.clone()).collect();
        assert_eq!(removed, hunk.old);
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

proptest! {
    // A failure is printed; nothing is written beside the sources.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn all_hunks_give_the_new_bytes_and_none_the_old(a in file(), b in file()) {
        let change = change(&a, &b);
        let diff = diff(&change);
        prop_assert_eq!(select(&change, &|_| true, &diff), Some(change.clone()));
        prop_assert_eq!(select(&change, &|_| false, &diff), None);
        // The other half goes on top of the first, unless the lines can be matched in another way.
        let count = diff.hunks.len() as u64;
        if count > 1 {
            let half = select(&change, &|id| id.0 <= count / 2, &diff).unwrap();
            match super::merge::rebase(&change, half.after.as_ref().unwrap()) {
                Ok(rest) => prop_assert_eq!(rest.after, change.after),
                Err(error) => prop_assert_eq!(error.code, ErrorCode::Stale),
            }
        }
    }

    #[test]
    fn any_choice_of_hunks_is_the_choice_of_their_lines(a in text(), b in text(), mask: u64) {
        let change = change(a.as_bytes(), b.as_bytes());
        let diff = diff(&change);
        let chosen = |id: HunkId| mask >> (id.0 % 64) & 1 == 1;
        let expected = by_hand(&a, &diff, &chosen);
        let got = select(&change, &chosen, &diff).map_or(a.clone().into_bytes(), |change| change.after.unwrap().to_vec());
        prop_assert_eq!(String::from_utf8(got).unwrap(), expected);
        for pair in diff.hunks.windows(2) {
            prop_assert!(pair[0].old_start + pair[0].old.len() < pair[1].old_start);
        }
    }

    #[test]
    fn the_unified_text_of_a_diff_is_a_patch_that_makes_it(a in text(), b in text(), mask: u64) {
        prop_assume!(a != b);
        let change = change(a.as_bytes(), b.as_bytes());
        let diff = diff(&change);
        let chosen = |id: HunkId| mask >> (id.0 % 64) & 1 == 1;
        let Some(selected) = select(&change, &chosen, &diff) else { return Ok(()) };
        let mut tree = MemoryTree::default();
        tree.write("f", a.as_bytes());
        let patch = unified(&diff, &chosen);
        // Into an empty file no context leads: the patch needs none there.
        let outcome = apply(&EditRequest::Patch { patch }, &tree);
        prop_assert_eq!(&outcome.unwrap().changes[0].after, &selected.after);
    }

    #[test]
    fn an_edit_changes_nothing_outside_the_old_text(
        a in file(), from in 0usize..40, len in 1usize..20, new in "[ab\n ]{0,6}",
    ) {
        let Ok(text) = std::str::from_utf8(&a) else { return Ok(()) };
        let Some(old) = text.get(from.min(text.len())..(from + len).min(text.len())) else { return Ok(()) };
        let cut = |at: usize| at > 0 && text[..at].ends_with('\r') && text[at..].starts_with('\n');
        prop_assume!(!old.is_empty() && !cut(from) && !cut(from + old.len()));
        let mut tree = MemoryTree::default();
        tree.write("f", a.clone());
        let request = EditRequest::Edit { path: "f".into(), old: old.into(), new: new.clone(), all: false };
        match apply(&request, &tree) {
            Ok(outcome) => {
                let after = outcome.changes[0].after.clone().unwrap();
                let (head, tail) = (&a[..from], &a[from + old.len()..]);
                prop_assert!(after.starts_with(head) && after.ends_with(tail));
                let middle = &after[head.len()..after.len() - tail.len()];
                let plain = String::from_utf8(middle.to_vec()).unwrap().replace("\r\n", "\n");
                prop_assert_eq!(plain.replace('\r', "\n"), new.replace("\r\n", "\n").replace('\r', "\n"));
            }
            Err(error) => {
                let codes = [ErrorCode::NotUnique, ErrorCode::SameText, ErrorCode::EmptyOld, ErrorCode::NotFound];
                prop_assert!(codes.contains(&error.code), "{}", error);
            }
        }
    }

    #[test]
    fn lines_are_found_in_a_crlf_file_and_stay_crlf(a in text(), at in 0usize..8, count in 1usize..4) {
        let lines: Vec<&str> = a.lines().collect();
        let Some(window) = lines.get(at..at + count) else { return Ok(()) };
        let old = window.join("\n") + "\n";
        let new = format!("{old}added\n");
        let mut plain = MemoryTree::default();
        plain.write("f", a.as_bytes());
        let mut crlf = MemoryTree::default();
        crlf.write("f", a.replace('\n', "\r\n").into_bytes());
        let request = EditRequest::Edit { path: "f".into(), old, new, all: false };
        match (apply(&request, &plain), apply(&request, &crlf)) {
            (Ok(plain), Ok(crlf)) => {
                let text = String::from_utf8(plain.changes[0].after.clone().unwrap().to_vec()).unwrap();
                let expected = text.replace('\n', "\r\n").into_bytes();
                prop_assert_eq!(crlf.changes[0].after.as_deref(), Some(expected.as_slice()));
                prop_assert_eq!(crlf.soft, vec![Tolerance::LineEndings]);
            }
            (Err(plain), Err(crlf)) => prop_assert_eq!(plain.code, crlf.code),
            (plain, crlf) => prop_assert!(false, "{:?} {:?}", plain, crlf),
        }
    }

    #[test]
    fn two_changes_of_one_file_merge_the_same_in_either_order(a in text(), b in text(), c in text()) {
        let (mine, theirs) = (change(a.as_bytes(), b.as_bytes()), change(a.as_bytes(), c.as_bytes()));
        let one = super::merge::rebase(&mine, c.as_bytes());
        let other = super::merge::rebase(&theirs, b.as_bytes());
        match (one, other) {
            (Ok(one), Ok(other)) => prop_assert_eq!(one.after, other.after),
            (Err(one), Err(other)) => prop_assert_eq!(one.code, other.code),
            (one, other) => prop_assert!(b == a || c == a, "{:?} {:?}", one, other),
        }
    }

    #[test]
    fn no_request_makes_it_panic(
        a in prop::collection::vec(any::<u8>(), 0..60), old in "\\PC{0,6}|[ \t\r\n]{0,4}|.{0,3}", new in ".{0,4}", patch in "((---|\\+\\+\\+|@@ -1 \\+1 @@|[-+ \\\\]| a/f|b/f|\n|x){0,20})",
    ) {
        let mut tree = MemoryTree::default();
        tree.write("f", a.clone());
        tree.read_all();
        for request in [
            EditRequest::Edit { path: "f".into(), old: old.clone(), new: new.clone(), all: a.len() % 2 == 0 },
            EditRequest::Edits { path: "f".into(), edits: vec![(old.clone(), new.clone()), (new.clone(), old.clone())] },
            EditRequest::Write { path: "f".into(), content: new.clone() },
            EditRequest::Patch { patch: patch.clone() },
            EditRequest::Patch { patch: format!("--- a/f\n+++ b/f\n@@ -1 +1 @@\n{patch}") },
        ] {
            if let Ok(outcome) = apply(&request, &tree) {
                for change in &outcome.changes {
                    let diff = diff(change);
                    let chosen = select(change, &|_| true, &diff);
                    prop_assert_eq!(chosen.as_ref(), Some(change));
                }
            }
        }
        let _ = decode(&a);
    }

    #[test]
    fn pending_changes_are_what_the_requests_do_one_after_the_other(steps in prop::collection::vec((0usize..5, 0usize..4, 0usize..4, 0usize..3), 1..12)) {
        let names = ["a", "b", "d/c", "d/e"];
        let mut disk = MemoryTree::default();
        disk.write("a", *b"one\n");
        disk.write("b", *b"two\n");
        disk.read_all();
        let mut now = disk.clone();
        let mut pending = Pending::default();
        for (index, (kind, from, to, word)) in steps.into_iter().enumerate() {
            let path = names[from].to_owned();
            let content = ["one\n", "two\n", "three\n"][word].to_owned();
            let request = match kind {
                0 => EditRequest::Write { path, content },
                1 => EditRequest::Edit { path, old: content, new: "x\n".into(), all: false },
                2 => EditRequest::Delete { path },
                3 => EditRequest::Rename { from: path, to: names[to].into() },
                _ => EditRequest::Edit { path, old: String::new(), new: content, all: false },
            };
            // The tree that is written at once knows what the model wrote.
            now.read_all();
            let direct = apply(&request, &now);
            let layered = apply(&request, &pending.view(&disk));
            match (direct, layered) {
                (Ok(direct), Ok(layered)) => {
                    prop_assert_eq!(&direct, &layered);
                    direct.changes.iter().for_each(|change| now.commit(change));
                    pending.push(CallId(index as u64), layered);
                }
                (Err(direct), Err(layered)) => prop_assert_eq!(direct.code, layered.code),
                (direct, layered) => prop_assert!(false, "{:?} {:?}", direct, layered),
            }
        }
        let written: Vec<(String, Option<Arc<[u8]>>)> = names.map(|name| (name.to_owned(), now.bytes(name))).to_vec();
        let changes = pending.changes();
        for change in &changes {
            prop_assert_eq!(disk.bytes(change.from.as_ref().unwrap_or(&change.path)), change.before.clone());
        }
        for change in changes.iter().rev() {
            if change.from.is_some() {
                prop_assert_eq!(disk.bytes(&change.path), None);
            }
            disk.commit(change);
        }
        let rewritten: Vec<(String, Option<Arc<[u8]>>)> = names.map(|name| (name.to_owned(), disk.bytes(name))).to_vec();
        prop_assert_eq!(rewritten, written);
    }
}
