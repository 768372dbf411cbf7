//! From a place in the file to the bytes that change there.
//!
//! What old and new text share at their start and end keeps the file's own bytes; only the part
//! between is replaced, and its line endings follow the file.

use super::fold::Folded;
use super::lines;
use super::text::Splice;
use super::tolerance::{Tolerance, report};
use std::ops::Range;

/// A place where the old text fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// All of the matched text.
    pub(super) range: Range<usize>,
    /// What changes there.
    pub(super) splice: Splice,
    /// Tolerances used.
    pub(super) soft: Vec<Tolerance>,
}

/// Lengths of the longest common start and end of `old` and `new`, which do not overlap in either
/// and cut neither a character nor a CRLF.
pub(super) fn common(old: &str, new: &str) -> (usize, usize) {
    let same = |(a, b): &(char, char)| a == b;
    let mut prefix: usize =
        old.chars().zip(new.chars()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
    let cuts = |text: &str| text[..prefix].ends_with('\r') && text[prefix..].starts_with('\n');
    if cuts(old) || cuts(new) {
        prefix -= 1;
    }
    let (old, new) = (&old[prefix..], &new[prefix..]);
    let mut suffix: usize =
        old.chars().rev().zip(new.chars().rev()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
    let cuts = |text: &str| {
        let (head, tail) = text.split_at(text.len() - suffix);
        head.ends_with('\r') && tail.starts_with('\n')
    };
    if cuts(old) || cuts(new) {
        suffix -= 1;
    }
    (prefix, suffix)
}

/// The replacement at `range`, where the file holds `old` exactly.
pub(super) fn exact(text: &str, range: Range<usize>, old: &str, new: &str, cr: bool) -> Found {
    let (prefix, suffix) = common(old, new);
    let middle = range.start + prefix..range.end - suffix;
    let fresh = &new[prefix..new.len() - suffix];
    let mut converted = lines::to_ending(fresh, lines::ending_at(text, &range, cr));
    if converted == text[middle.clone()] {
        // The request is about the line endings themselves.
        converted = fresh.to_owned();
    }
    let mut soft = Vec::new();
    if converted != fresh {
        report(&mut soft, Tolerance::LineEndings);
    }
    Found { range, splice: Splice { range: middle, text: converted }, soft }
}

/// The replacement where the folded `old` begins at `at` of the folded file; `None` if a boundary
/// of the match lies within a unit of the file.
pub(super) fn folded(
    text: &str,
    file: &Folded,
    at: usize,
    (old, folded_old): (&str, &Folded),
    new: &str,
    cr: bool,
) -> Option<Found> {
    let range = file.origin(at)?..file.origin(at + folded_old.text.len())?;
    let (prefix, suffix) = common(old, new);
    let known = |(key, origin): (usize, usize)| Some((file.origin(at + key)?, origin));
    let (start, kept) =
        folded_old.boundaries().rev().filter(|(_, o)| *o <= prefix).find_map(known)?;
    let rest = (old.len() - suffix).max(kept);
    let tail = folded_old.boundaries().filter(|(_, o)| *o >= rest).find_map(known);
    // Blanks at the end of `old` that `new` does not have: those of the file go, too.
    let (end, tail) =
        tail.unwrap_or_else(|| (range.end + super::fold::blanks(&text[range.end..]), old.len()));
    let fresh = new.get(kept..new.len() - (old.len() - tail))?;
    let mut soft = Vec::new();
    let ending = lines::ending_at(text, &range, cr);
    let kinds = |text, cr| lines::endings(text, cr).map(|(_, ending)| ending);
    if !kinds(old, false).eq(kinds(&text[range.clone()], cr))
        || kinds(new, false).any(|kind| Some(kind) != ending)
    {
        report(&mut soft, Tolerance::LineEndings);
    }
    let splice = Splice { range: start..end, text: lines::to_ending(fresh, ending) };
    Some(Found { range, splice, soft })
}
