//! One hunk as styled lines: numbers, signs, words that changed, tabs to their stops.
//!
//! Pure. Text is made safe here; columns are counted from the text, not from the sign.

use super::words::marks;
use crate::protocol::{Hunk, visible};
use crate::tui::flow::{Run, flow};
use crate::tui::text::grouped;
use crate::tui::theme::{Scope, Theme};
use crate::tui::wrap::grapheme_width;
use ratatui::style::Style;
use ratatui::text::Line;
use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

/// Bytes of a line shown whole.
const SHOWN: usize = 1_200;
/// Bytes shown around a change in a longer line.
const AROUND: usize = 300;

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Context,
    Removed,
    Added,
}

/// Everything needed to draw lines of one file.
pub struct Pen<'a> {
    theme: &'a Theme,
    columns: usize,
    digits: usize,
    /// Both line numbers; else only the one that counts.
    both: bool,
}

impl<'a> Pen<'a> {
    /// A pen for lines numbered up to `last` in `columns` cells.
    pub fn new(theme: &'a Theme, columns: usize, last: usize) -> Self {
        Self { theme, columns, digits: last.max(1).to_string().len(), both: columns >= 60 }
    }

    /// The lines of `hunk`.
    pub fn hunk(&self, hunk: &Hunk) -> Vec<Line<'static>> {
        let mut old_line = hunk.old_start.saturating_sub(hunk.before.len());
        let mut new_line = hunk.new_start.saturating_sub(hunk.before.len());
        let mut lines = Vec::new();
        let context = |lines: &mut Vec<_>, texts: &[String], old: &mut usize, new: &mut usize| {
            for text in texts {
                lines.extend(self.line(Kind::Context, (*old, *new), text, &[]));
                (*old, *new) = (*old + 1, *new + 1);
            }
        };
        context(&mut lines, &hunk.before, &mut old_line, &mut new_line);
        let pairs = hunk.old.iter().zip(&hunk.new);
        let pairs: Vec<_> = pairs.map(|(old, new)| marks(old, new)).collect();
        for (index, text) in hunk.old.iter().enumerate() {
            let words = pairs.get(index).map_or(&[][..], |pair| &pair.0);
            lines.extend(self.line(Kind::Removed, (old_line, 0), text, words));
            old_line += 1;
        }
        for (index, text) in hunk.new.iter().enumerate() {
            let words = pairs.get(index).map_or(&[][..], |pair| &pair.1);
            lines.extend(self.line(Kind::Added, (0, new_line), text, words));
            new_line += 1;
        }
        context(&mut lines, &hunk.after, &mut old_line, &mut new_line);
        lines
    }

    fn line(
        &self,
        kind: Kind,
        (old, new): (usize, usize),
        text: &str,
        words: &[Range<usize>],
    ) -> Vec<Line<'static>> {
        let style = |scope| self.theme.style(scope);
        let (sign, base, word) = match kind {
            Kind::Context => (" ", style(Scope::DiffContext), style(Scope::DiffContext)),
            Kind::Removed => ("-", style(Scope::DiffRemoved), style(Scope::DiffRemovedWord)),
            Kind::Added => ("+", style(Scope::DiffAdded), style(Scope::DiffAddedWord)),
        };
        let number = |n: usize| match n {
            0 => " ".repeat(self.digits),
            n => format!("{n:>width$}", width = self.digits),
        };
        let numbers = match (self.both, kind) {
            (true, _) => format!("{} {} ", number(old), number(new)),
            (false, Kind::Removed) => format!("{} ", number(old)),
            (false, Kind::Context | Kind::Added) => format!("{} ", number(new)),
        };
        let blank = " ".repeat(numbers.len() + 1);
        let first = [(numbers, style(Scope::DiffNumber)), (sign.to_owned(), base)];
        let rest = [(blank, base)];
        let runs = pieces(text, words, base, word);
        let mut lines = flow(&runs, self.columns, &first, &rest);
        for line in &mut lines {
            line.style = base;
        }
        lines
    }
}

/// The parts of a line that are shown, in their styles; of a very long line what is around changes.
fn pieces(text: &str, words: &[Range<usize>], base: Style, word: Style) -> Vec<Run> {
    if text.len() <= SHOWN {
        return styled(text, 0..text.len(), words, base, word);
    }
    let mut windows: Vec<Range<usize>> = Vec::new();
    let around = |mark: &Range<usize>| {
        let end = mark.end.min(mark.start + SHOWN);
        floor(text, mark.start.saturating_sub(AROUND))..floor(text, end + AROUND)
    };
    for window in words.iter().map(around) {
        match windows.last_mut() {
            Some(last) if last.end >= window.start => last.end = last.end.max(window.end),
            Some(_) | None => windows.push(window),
        }
    }
    if windows.is_empty() {
        windows.push(0..floor(text, SHOWN));
    }
    windows.truncate(5);
    let mut runs = Vec::new();
    let mut at = 0;
    let left_out = |runs: &mut Vec<Run>, from: usize, to: usize| {
        if from < to {
            let count = grouped(text[from..to].chars().count());
            runs.push((format!(" …{count} characters… "), word));
        }
    };
    for window in windows {
        left_out(&mut runs, at, window.start);
        at = window.end;
        runs.extend(styled(text, window, words, base, word));
    }
    left_out(&mut runs, at, text.len());
    runs
}

fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn styled(
    text: &str,
    part: Range<usize>,
    words: &[Range<usize>],
    base: Style,
    word: Style,
) -> Vec<Run> {
    let blank = |range: &Range<usize>| text[range.clone()].trim().is_empty();
    let trailing = text.trim_end().len();
    let mut runs: Vec<Run> = Vec::new();
    let mut column = 0;
    for (at, grapheme) in text[part.clone()].grapheme_indices(true) {
        let at = part.start + at;
        let mark = words.iter().find(|range| range.contains(&at));
        let show_blank = mark.is_some_and(blank) || (mark.is_some() && at >= trailing);
        let shown = match grapheme {
            "\t" => {
                let gap = 4 - column % 4;
                let arrow = if show_blank { "→" } else { " " };
                format!("{arrow}{}", " ".repeat(gap - 1))
            }
            " " if show_blank => "·".to_owned(),
            other => visible(other).replace('\n', "␊"),
        };
        column += shown.graphemes(true).map(grapheme_width).sum::<usize>();
        let style = if mark.is_some() { word } else { base };
        match runs.last_mut() {
            Some((text, last)) if *last == style => text.push_str(&shown),
            Some(_) | None => runs.push((shown, style)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::HunkId;

    fn drawn(old: &[&str], new: &[&str], columns: usize) -> Vec<String> {
        let own = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect();
        let hunk = Hunk {
            id: HunkId(1),
            old_start: 9,
            new_start: 10,
            before: vec!["before".into()],
            old: own(old),
            new: own(new),
            after: vec!["after".into()],
        };
        let theme = Theme::plain();
        let lines = Pen::new(&theme, columns, 12).hunk(&hunk);
        lines.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn numbers_follow_both_sides() {
        assert_eq!(
            drawn(&["a"], &["b", "c"], 60),
            [" 8  9  before", " 9    -a", "   10 +b", "   11 +c", "10 12  after"]
        );
        assert_eq!(drawn(&["a"], &[], 20), [" 9  before", " 9 -a", "10  after"]);
    }

    #[test]
    fn tabs_stop_by_the_text_and_changed_blanks_show() {
        assert_eq!(drawn(&["\tx"], &["a\tx"], 20)[1..3], [" 9 -    x", "10 +a   x"]);
        assert_eq!(drawn(&["\tx"], &["    x"], 20)[1..3], [" 9 -→   x", "10 +····x"]);
    }

    #[test]
    fn of_a_minified_line_the_change_is_shown() {
        let old = format!("{}OLD{}", "a".repeat(500_000), "b".repeat(500_000));
        let new = old.replace("OLD", "NEW");
        let lines = drawn(&[&old], &[&new], 100);
        assert!(lines.len() < 30);
        assert!(lines.iter().any(|line| line.contains("OLD")));
        assert!(lines.iter().any(|line| line.contains("…499,700 characters…")));
    }
}
