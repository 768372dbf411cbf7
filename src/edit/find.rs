//! Finds the one place an old text means: exactly, else with one tolerance after the other.
//!
//! No similarity of any kind: every rung is an equality. Invariant: the first rung that fits
//! anywhere decides, and it must fit in one place only.

use super::fold::{Folded, Folds, is_blank, plain};
use super::indent;
use super::lines;
use super::near;
use super::replace::{self, Found};
use super::text::Text;
use super::tolerance::{Tolerance, report};
use super::{EditError, ErrorCode};
use unicode_normalization::{IsNormalized, is_nfc_quick};

/// Places beyond this many are not counted.
const MAX_PLACES: usize = 1000;
/// Line numbers named in a message.
const MAX_NAMED: usize = 8;

/// What is looked for and what comes in its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'r> {
    pub(super) old: &'r str,
    pub(super) new: &'r str,
    pub(super) all: bool,
}

/// The places to replace: one, or with `all` at least one.
///
/// # Errors
/// `not_found` with the nearest place, `not_unique` with the count and the lines.
pub(super) fn locate(file: &Text, wanted: Wanted) -> Result<Vec<Found>, EditError> {
    let text: &str = &file.text;
    let cr = lines::is_cr_file(text);
    let exact = occurrences(text, wanted.old, !wanted.all)
        .filter(|at| !cuts_crlf(text, *at) && !cuts_crlf(text, at + wanted.old.len()));
    let exact: Vec<usize> = exact.take(limit(wanted.all)).collect();
    if !exact.is_empty() {
        if exact.len() > 1 && !wanted.all {
            return Err(not_unique(text, &exact));
        }
        let found = |at: &usize| {
            replace::exact(text, *at..at + wanted.old.len(), wanted.old, wanted.new, cr)
        };
        return Ok(exact.iter().map(found).collect());
    }
    for rung in rungs(text, wanted.old, cr) {
        let places = rung.places(text, wanted);
        let lenient =
            wanted.all && rung.folds == (Folds { cr, ..Folds::default() }) && !rung.indent;
        match places.as_slice() {
            [] => continue,
            [_] => return Ok(places),
            _ if lenient => return Ok(places),
            _ => {
                let starts: Vec<usize> = places.iter().map(|found| found.range.start).collect();
                return Err(not_unique(text, &starts));
            }
        }
    }
    Err(near::miss(text, wanted.old, wanted.new))
}

fn limit(all: bool) -> usize {
    if all { usize::MAX } else { MAX_PLACES }
}

/// Where `needle` begins in `text`; with `overlapping`, also inside an earlier occurrence.
pub(super) fn occurrences<'t>(
    text: &'t str,
    needle: &'t str,
    overlapping: bool,
) -> impl Iterator<Item = usize> + 't {
    let step = match overlapping {
        true => needle.chars().next().map_or(1, char::len_utf8),
        false => needle.len().max(1),
    };
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = from + text.get(from..)?.find(needle)?;
        from = at + step;
        Some(at)
    })
}

fn cuts_crlf(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    at > 0 && bytes[at - 1] == b'\r' && bytes.get(at) == Some(&b'\n')
}

fn not_unique(text: &str, starts: &[usize]) -> EditError {
    let more = if starts.len() == MAX_PLACES { "at least " } else { "" };
    let lines: Vec<String> =
        starts.iter().take(MAX_NAMED).map(|at| lines::line_of(text, *at).to_string()).collect();
    let dots = if starts.len() > MAX_NAMED { ", …" } else { "" };
    let message = format!(
        "the old text fits in {more}{} places (lines {}{dots}); quote more of the surrounding \
         lines, so that it fits in one",
        starts.len(),
        lines.join(", ")
    );
    EditError::new(ErrorCode::NotUnique, message)
}

/// One way to compare.
#[derive(Clone, Copy, Debug)]
struct Rung {
    folds: Folds,
    /// Match the end of a file that lacks the final newline.
    at_end: bool,
    /// Compare whole lines but for one common indentation.
    indent: bool,
}

/// The tolerances in their order, each alone; then those that can matter here together.
fn rungs(text: &str, old: &str, cr: bool) -> Vec<Rung> {
    let can = possible(text, old, cr);
    let plain = Rung { folds: Folds { cr, ..Folds::default() }, at_end: false, indent: false };
    let sets = sets(can);
    let mut out = Vec::new();
    // Without any CR this would be the exact match again.
    out.extend([old, text].iter().any(|t| t.contains('\r')).then_some(plain));
    out.push(Rung { at_end: true, ..plain });
    let with =
        |folds: &Folds| [false, true].map(|at_end| Rung { folds: *folds, at_end, indent: false });
    let is_single = |folds: &Folds| {
        let used = [folds.trailing_space, folds.normal_form, folds.lookalikes];
        used.iter().filter(|used| **used).count() == 1
    };
    let (single, several): (Vec<Folds>, Vec<Folds>) = sets.iter().partition(|f| is_single(f));
    out.extend(single.iter().flat_map(with));
    out.push(Rung { indent: true, ..plain });
    out.extend(several.iter().flat_map(with));
    out.extend(sets.iter().map(|folds| Rung { folds: *folds, at_end: false, indent: true }));
    out
}

/// The folds that can make a difference for these texts.
fn possible(text: &str, old: &str, cr: bool) -> Folds {
    let normal = |text: &str| text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes;
    let lookalike = |text: &str| !text.is_ascii() && text.chars().any(|c| plain(c) != c);
    Folds {
        trailing_space: !old.trim().is_empty() && (has_trailing(old) || has_trailing(text)),
        normal_form: !(old.is_ascii() || normal(old) && normal(text)),
        lookalikes: lookalike(old) || lookalike(text),
        cr,
    }
}

/// All non-empty choices of the folds that `can` matter, the smaller ones first.
fn sets(can: Folds) -> Vec<Folds> {
    let choices = [1, 2, 4, 3, 5, 6, 7].map(|bits: u8| Folds {
        trailing_space: bits & 1 != 0,
        normal_form: bits & 2 != 0,
        lookalikes: bits & 4 != 0,
        cr: can.cr,
    });
    let possible = |folds: &Folds| {
        (can.trailing_space || !folds.trailing_space)
            && (can.normal_form || !folds.normal_form)
            && (can.lookalikes || !folds.lookalikes)
    };
    choices.into_iter().filter(possible).collect()
}

fn has_trailing(text: &str) -> bool {
    text.ends_with(is_blank)
        || [" \n", "\t\n", " \r", "\t\r"].iter().any(|pattern| text.contains(pattern))
}

/// `text` without one final LF or CRLF.
pub(super) fn without_final_newline(text: &str) -> Option<&str> {
    let rest = text.strip_suffix('\n')?;
    Some(rest.strip_suffix('\r').unwrap_or(rest))
}

impl Rung {
    fn places(self, text: &str, wanted: Wanted) -> Vec<Found> {
        let mut places = match (self.indent, self.at_end) {
            (true, _) => indent::places(text, wanted.old, wanted.new, self.folds),
            (false, false) => self.folded_places(text, wanted),
            (false, true) => self.place_at_end(text, wanted).into_iter().collect(),
        };
        for found in &mut places {
            for (used, tolerance) in [
                (self.folds.trailing_space, Tolerance::TrailingSpace),
                (self.folds.normal_form, Tolerance::Normalisation),
                (self.folds.lookalikes, Tolerance::Lookalike),
                (self.at_end, Tolerance::FinalNewline),
            ] {
                if used {
                    report(&mut found.soft, tolerance);
                }
            }
        }
        places
    }

    fn folded_places(self, text: &str, wanted: Wanted) -> Vec<Found> {
        let old = Folded::new(wanted.old, self.folds);
        if old.text.is_empty() {
            return Vec::new();
        }
        let file = Folded::new(text, self.folds);
        let whole_line = |at: &usize| {
            let rest = &file.text[at + old.text.len()..];
            old.dropped.is_none() || rest.is_empty() || rest.starts_with('\n')
        };
        let found =
            |at| replace::folded(text, &file, at, (wanted.old, &old), wanted.new, self.folds.cr);
        occurrences(&file.text, &old.text, !wanted.all)
            .filter(whole_line)
            .filter_map(found)
            .take(limit(wanted.all))
            .collect()
    }

    fn place_at_end(self, text: &str, wanted: Wanted) -> Option<Found> {
        let old = without_final_newline(wanted.old)?;
        if text.ends_with('\n') || (self.folds.cr && text.ends_with('\r')) || old.is_empty() {
            return None;
        }
        let new = without_final_newline(wanted.new).unwrap_or(wanted.new);
        let folded_old = Folded::new(old, self.folds);
        let file = Folded::new(text, self.folds);
        let at = file.text.strip_suffix(&folded_old.text)?.len();
        replace::folded(text, &file, at, (old, &folded_old), new, self.folds.cr)
    }
}
