//! The tolerance for one common indentation: a constant offset, or tabs for a fixed number of blanks
//! and the other way. Compares whole lines; lines of blanks only match each other.

use super::find::without_final_newline;
use super::fold::{Folded, Folds, blanks, is_blank};
use super::lines;
use super::replace::{Found, common};
use super::text::Splice;
use super::tolerance::{Tolerance, report};
use std::borrow::Cow;
use std::ops::Range;

/// How the file's indentation follows from that of the request.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Shift {
    /// The file has this in front.
    Add(String),
    /// The request has this in front.
    Remove(String),
    /// The file has one tab for so many blanks of the request.
    Tabs(usize),
    /// The file has so many blanks for one tab of the request.
    Blanks(usize),
}

/// Blanks that one tab may stand for.
const TAB_WIDTHS: std::ops::RangeInclusive<usize> = 2..=8;

/// Byte ranges of a line without its ending and of its ending.
type Span = (Range<usize>, Range<usize>);

/// All places where `old` fits but for one common indentation.
pub(super) fn places(text: &str, old: &str, new: &str, folds: Folds) -> Vec<Found> {
    let (old_lf, new_lf) = (lines::to_lf(old), lines::to_lf(new));
    let file = lines::spans(text, folds.cr);
    let wanted: Vec<&str> = old_lf.lines().collect();
    let keys: Vec<Cow<str>> = wanted.iter().map(|line| key(line, folds)).collect();
    // The longest line is the rarest one, most likely.
    let Some(anchor) = (0..keys.len()).max_by_key(|at| keys[*at].len()) else {
        return Vec::new();
    };
    if keys[anchor].is_empty() {
        return Vec::new();
    }
    let fits = |first: usize| {
        let window = file.get(first..first + wanted.len())?;
        let mut pairs = Vec::new();
        for ((span, line), wanted_key) in window.iter().zip(&wanted).zip(&keys) {
            let file_line = &text[span.0.clone()];
            if key(file_line, folds) != *wanted_key {
                return None;
            }
            if !wanted_key.is_empty() {
                pairs.push((&file_line[..blanks(file_line)], &line[..blanks(line)]));
            }
        }
        found(text, window, (old, &old_lf), (new, &new_lf), &shift(&pairs)?, folds.cr)
    };
    let is_anchor = |at: &usize| key(&text[file[*at].0.clone()], folds) == keys[anchor];
    (anchor..file.len()).filter(is_anchor).filter_map(|at| fits(at - anchor)).collect()
}

/// A line without its indentation, folded.
fn key(line: &str, folds: Folds) -> Cow<'_, str> {
    let body = &line[blanks(line)..];
    let body = if folds.trailing_space { body.trim_end_matches(is_blank) } else { body };
    match (folds.normal_form || folds.lookalikes) && !body.is_ascii() {
        true => Cow::Owned(Folded::new(body, folds).text),
        false => Cow::Borrowed(body),
    }
}

/// The one shift that turns every request indentation (second) into that of the file (first).
fn shift(pairs: &[(&str, &str)]) -> Option<Shift> {
    let (file, request) = pairs.first()?;
    let tabs = |text: &str| text.bytes().take_while(|byte| *byte == b'\t').count();
    let width = |tabbed: &str, blank: &str| {
        let count = tabs(tabbed);
        let rest = blank.len().checked_sub(tabbed.len() - count)?;
        (count > 0 && rest % count == 0).then(|| rest / count).filter(|n| TAB_WIDTHS.contains(n))
    };
    let mut candidates = Vec::new();
    candidates.extend(file.strip_suffix(request).map(|more| Shift::Add(more.to_owned())));
    candidates.extend(request.strip_suffix(file).map(|more| Shift::Remove(more.to_owned())));
    candidates
        .extend(pairs.iter().find_map(|(file, request)| width(file, request)).map(Shift::Tabs));
    candidates
        .extend(pairs.iter().find_map(|(file, request)| width(request, file)).map(Shift::Blanks));
    candidates.into_iter().filter(|shift| shift.changes()).find(|shift| {
        pairs.iter().all(|(file, request)| shift.fits(file, request))
            && pairs.iter().any(|(file, request)| file != request)
    })
}

impl Shift {
    fn changes(&self) -> bool {
        match self {
            Self::Add(more) | Self::Remove(more) => !more.is_empty(),
            Self::Tabs(_) | Self::Blanks(_) => true,
        }
    }

    fn fits(&self, file: &str, request: &str) -> bool {
        match self {
            Self::Add(more) => file.strip_prefix(more.as_str()) == Some(request),
            Self::Remove(more) => request.strip_prefix(more.as_str()) == Some(file),
            Self::Tabs(width) => !request.contains('\t') && expand(file, *width) == request,
            Self::Blanks(width) => !file.contains('\t') && expand(request, *width) == file,
        }
    }

    /// A new line with the file's indentation; `None` if it has less than must be taken away.
    fn apply(&self, line: &str) -> Option<String> {
        let (indent, body) = line.split_at(blanks(line));
        if body.is_empty() {
            return Some(line.to_owned());
        }
        Some(match self {
            Self::Add(more) => format!("{more}{line}"),
            Self::Remove(more) => line.strip_prefix(more.as_str())?.to_owned(),
            Self::Tabs(width) => {
                let columns = expand(indent, *width).len();
                let (tabs, rest) = (columns / width, columns % width);
                format!("{}{}{body}", "\t".repeat(tabs), " ".repeat(rest))
            }
            Self::Blanks(width) => format!("{}{body}", expand(indent, *width)),
        })
    }
}

fn expand(indent: &str, width: usize) -> String {
    indent.replace('\t', &" ".repeat(width))
}

/// The replacement in the matched lines `window`: whole lines from the first to the last that differ.
fn found(
    text: &str,
    window: &[Span],
    (old, old_lf): (&str, &str),
    (new, new_lf): (&str, &str),
    shift: &Shift,
    cr: bool,
) -> Option<Found> {
    let mut soft = vec![Tolerance::Indent];
    let (first, last) = (window.first()?, window.last()?);
    let (mut old_lf, mut new_lf) = (old_lf, new_lf);
    if old_lf.ends_with('\n') && last.1.is_empty() {
        report(&mut soft, Tolerance::FinalNewline);
        old_lf = without_final_newline(old_lf).unwrap_or(old_lf);
        new_lf = without_final_newline(new_lf).unwrap_or(new_lf);
    }
    let ends = old_lf.ends_with('\n');
    let range = first.0.start..if ends { last.1.end } else { last.0.end };
    let (prefix, suffix) = common(old_lf, new_lf);
    let prefix = old_lf[..prefix].rfind('\n').map_or(0, |at| at + 1);
    let rest = old_lf.len() - suffix;
    let tail = old_lf[rest..].find('\n').map_or(old_lf.len(), |at| rest + at);
    let count = |text: &str| text.matches('\n').count();
    let start = window.get(count(&old_lf[..prefix])).map_or(range.end, |span| span.0.start);
    let end = match window.len().checked_sub(count(&old_lf[tail..]) + usize::from(!ends)) {
        Some(line) if tail < old_lf.len() => window.get(line)?.0.end,
        _ => range.end,
    };
    let fresh = &new_lf[prefix..new_lf.len() - (old_lf.len() - tail)];
    let fresh: Option<Vec<String>> = fresh.split('\n').map(|line| shift.apply(line)).collect();
    let ending = lines::ending_at(text, &range, cr);
    let kinds = |text, cr| lines::endings(text, cr).map(|(_, ending)| ending);
    if kinds(old, false).zip(kinds(&text[range.clone()], cr)).any(|(a, b)| a != b)
        || kinds(new, false).any(|kind| Some(kind) != ending)
    {
        report(&mut soft, Tolerance::LineEndings);
    }
    let splice = Splice { range: start..end, text: lines::to_ending(&fresh?.join("\n"), ending) };
    Some(Found { range, splice, soft })
}
