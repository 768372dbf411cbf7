//! Which words inside two versions of a line differ.
//!
//! Pure. Invariant: the marked ranges lie on character boundaries and inside their line.

use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

/// Lines longer than this are compared by their common beginning and end only.
const LONG: usize = 2_000;
/// Below this share of equal text two lines are not versions of each other.
const ALIKE: f32 = 0.35;

/// Changed byte ranges of `old` and of `new`; empty when the lines have little in common.
pub fn marks(old: &str, new: &str) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    if old.len().max(new.len()) > LONG {
        return ends(old, new);
    }
    let a: Vec<&str> = old.split_word_bounds().collect();
    let b: Vec<&str> = new.split_word_bounds().collect();
    let ops = capture_diff_slices(Algorithm::Myers, &a, &b);
    let (mut left, mut right) = (Vec::new(), Vec::new());
    let mut equal = 0;
    for op in ops {
        let (from, to) = (op.old_range(), op.new_range());
        if let DiffOp::Equal { .. } = op {
            equal += a[from].iter().map(|word| word.trim().len()).sum::<usize>();
            continue;
        }
        add(&mut left, &a, from);
        add(&mut right, &b, to);
    }
    let solid = old.trim().len().max(new.trim().len()).max(1);
    let blanks = old.split_whitespace().eq(new.split_whitespace());
    if !blanks && (equal as f32) < ALIKE * solid as f32 {
        return (Vec::new(), Vec::new());
    }
    (left, right)
}

fn add(marks: &mut Vec<Range<usize>>, words: &[&str], range: Range<usize>) {
    let start: usize = words[..range.start].iter().map(|word| word.len()).sum();
    let length: usize = words[range].iter().map(|word| word.len()).sum();
    if length == 0 {
        return;
    }
    match marks.last_mut() {
        Some(last) if last.end == start => last.end = start + length,
        Some(_) | None => marks.push(start..start + length),
    }
}

fn ends(old: &str, new: &str) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    let same = |(a, b): &(char, char)| a == b;
    let head: usize =
        old.chars().zip(new.chars()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
    let (a, b) = (&old[head..], &new[head..]);
    let tail: usize =
        a.chars().rev().zip(b.chars().rev()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
    let range = |length: usize| {
        let range = head..length - tail;
        if range.is_empty() { Vec::new() } else { vec![range] }
    };
    (range(old.len()), range(new.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(old: &str, new: &str) -> (Vec<String>, Vec<String>) {
        let (a, b) = marks(old, new);
        let cut = |text: &str, ranges: Vec<Range<usize>>| {
            ranges.into_iter().map(|range| text[range].to_owned()).collect()
        };
        (cut(old, a), cut(new, b))
    }

    #[test]
    fn changed_words_are_marked() {
        let s = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
        for (old, new, left, right) in [
            ("let a = 1;", "let b = 1;", vec!["a"], vec!["b"]),
            ("f(x)", "f(x, y)", vec![], vec![", y"]),
            ("名前 = 太郎", "名前 = 次郎", vec!["太"], vec!["次"]),
            ("alpha beta", "completely else", vec![], vec![]),
            ("\tx", "    x", vec!["\t"], vec!["    "]),
            ("x", "x  ", vec![], vec!["  "]),
        ] {
            assert_eq!(marked(old, new), (s(&left), s(&right)), "{old:?} {new:?}");
        }
    }

    #[test]
    fn very_long_lines_are_compared_by_their_ends() {
        let old = format!("{}世{}", "a".repeat(500_000), "b".repeat(500_000));
        let new = old.replace('世', "界");
        assert_eq!(marked(&old, &new), (vec!["世".into()], vec!["界".into()]));
    }
}
