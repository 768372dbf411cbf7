//! Widths and line breaking in terminal cells.
//!
//! Everything on screen is measured and broken here: graphemes are the unit, widths are cells, and
//! break places follow UAX #14 plus kinsoku (no closing punctuation at the start of a line, no
//! opening punctuation at its end). Invariant: the pieces of a broken text, put together, are the text.

use std::ops::Range;
use unicode_linebreak::{BreakOpportunity, linebreaks};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Characters that must not begin a line.
const CLOSING: &str = "、。，．・：；？！゛゜ヽヾゝゞ々ー’”）〕］｝〉》」』】〙〗〟»›…‥‼⁇⁈⁉ぁぃぅぇぉっゃゅょゎゕゖァィゥェォッャュョヮヵヶ～〜％℃｡､･｣ｰ)]}";
/// Characters that must not end a line.
const OPENING: &str = "（〔［｛〈《「『【〘〖〝‘“«‹｢([{";

/// Cells that `text` takes on screen.
pub fn width(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    text.graphemes(true).map(grapheme_width).sum()
}

/// Cells that one grapheme takes; 0, 1 or 2.
pub fn grapheme_width(grapheme: &str) -> usize {
    grapheme.width().min(2)
}

/// Breaks one line (no `\n` in it) into rows of at most `columns` cells.
///
/// Returns byte ranges that tile `text`. Blanks that do not fit stay at the end of their row, so a
/// row without its trailing blanks never exceeds `columns`; a grapheme wider than `columns` gets a
/// row of its own. An empty text has one empty row.
pub fn wrap(text: &str, columns: usize) -> Vec<Range<usize>> {
    wrap_with(text, columns, columns)
}

/// Like [`wrap`], with `first` cells for the first row and `rest` for the others.
pub fn wrap_with(text: &str, first: usize, rest: usize) -> Vec<Range<usize>> {
    let mut rows =
        Rows { text, first: first.max(1), rest: rest.max(1), done: Vec::new(), start: 0, used: 0 };
    let mut from = 0;
    for to in break_places(text) {
        rows.take(from..to);
        from = to;
    }
    rows.finish()
}

/// Byte offsets after which a line may be broken, the end of the text last.
fn break_places(text: &str) -> impl Iterator<Item = usize> {
    linebreaks(text).filter_map(move |(at, kind)| {
        if at == text.len() || kind == BreakOpportunity::Mandatory {
            return Some(at);
        }
        let after = text[at..].chars().next();
        let before = text[..at].chars().next_back();
        let kept = after.is_some_and(|c| CLOSING.contains(c))
            || before.is_some_and(|c| OPENING.contains(c));
        (!kept).then_some(at)
    })
}

struct Rows<'a> {
    text: &'a str,
    first: usize,
    rest: usize,
    done: Vec<Range<usize>>,
    start: usize,
    used: usize,
}

impl Rows<'_> {
    fn limit(&self) -> usize {
        if self.done.is_empty() { self.first } else { self.rest }
    }

    fn close(&mut self, at: usize) {
        self.done.push(self.start..at);
        self.start = at;
        self.used = 0;
    }

    /// Adds one unbreakable piece with the blanks behind it.
    fn take(&mut self, piece: Range<usize>) {
        let text = &self.text[piece.clone()];
        let solid = width(text.trim_end_matches(' '));
        if self.used > 0 && self.used + solid > self.limit() {
            self.close(piece.start);
        }
        if solid > self.limit() {
            self.split(piece);
        } else {
            self.used += width(text);
        }
    }

    /// Breaks a piece that is longer than a row, between graphemes.
    fn split(&mut self, piece: Range<usize>) {
        let text = &self.text[piece.clone()];
        let solid = text.trim_end_matches(' ').len();
        for (at, grapheme) in text.grapheme_indices(true) {
            let cells = grapheme_width(grapheme);
            while at < solid && self.used > 0 && self.used + cells > self.limit() {
                let place = self.back_off(piece.start + at);
                self.close(place);
                self.used = width(&self.text[place..piece.start + at]);
            }
            self.used += cells;
        }
    }

    /// Moves a forced break to the left while it would part punctuation from its word.
    fn back_off(&self, at: usize) -> usize {
        let mut place = at;
        for (index, grapheme) in self.text[self.start..at].grapheme_indices(true).rev().take(3) {
            let begins_badly =
                self.text[place..].chars().next().is_some_and(|c| CLOSING.contains(c));
            let ends_badly = grapheme.chars().any(|c| OPENING.contains(c));
            if !begins_badly && !ends_badly {
                return place;
            }
            place = self.start + index;
        }
        let tidy = place > self.start
            && !self.text[place..].chars().next().is_some_and(|c| CLOSING.contains(c));
        if tidy { place } else { at }
    }

    fn finish(mut self) -> Vec<Range<usize>> {
        if self.start < self.text.len() || self.done.is_empty() {
            self.close(self.text.len());
        }
        self.done
    }
}

/// Cuts `text` to `columns` cells; what is cut is replaced by `…`.
pub fn truncate(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for grapheme in text.graphemes(true) {
        let cells = grapheme_width(grapheme);
        if used + cells + 1 > columns {
            break;
        }
        used += cells;
        out.push_str(grapheme);
    }
    if columns > 0 {
        out.push('…');
    }
    out
}

/// Replaces tabs by blanks up to the next multiple of 4 cells, counted from `column`.
pub fn expand_tabs(text: &str, column: usize) -> String {
    if !text.contains('\t') {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut at = column;
    for grapheme in text.graphemes(true) {
        match grapheme {
            "\t" => {
                let gap = 4 - at % 4;
                out.extend(std::iter::repeat_n(' ', gap));
                at += gap;
            }
            "\n" => {
                out.push('\n');
                at = column;
            }
            other => {
                out.push_str(other);
                at += grapheme_width(other);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rows(text: &str, columns: usize) -> Vec<&str> {
        wrap(text, columns).into_iter().map(|r| &text[r]).collect()
    }

    #[test]
    fn breaks_at_words_and_ideographs_without_orphan_punctuation() {
        for (text, columns, want) in [
            ("", 5, vec![""]),
            ("hello world", 7, vec!["hello ", "world"]),
            ("aa  ", 2, vec!["aa  "]),
            ("你好，世界", 6, vec!["你好，", "世界"]),
            ("你好，世界", 5, vec!["你", "好，", "世界"]),
            ("見て「世界」だ", 6, vec!["見て", "「世", "界」だ"]),
            ("abcdefgh", 3, vec!["abc", "def", "gh"]),
            ("你好", 3, vec!["你", "好"]),
            ("a(、」", 4, vec!["a", "(、", "」"]),
            ("👩‍💻👩‍💻", 3, vec!["👩‍💻", "👩‍💻"]),
        ] {
            assert_eq!(rows(text, columns), want, "{text:?} at {columns}");
        }
    }

    #[test]
    fn truncation_counts_cells() {
        assert_eq!(truncate("世界地図", 5), "世界…");
        assert_eq!(truncate("abc", 3), "abc");
        assert_eq!(width("⚠️|"), 3);
    }

    #[test]
    fn tabs_stop_at_multiples_of_four() {
        assert_eq!(expand_tabs("a\tb\n\tc", 0), "a   b\n    c");
        assert_eq!(expand_tabs("世\tb", 0), "世  b");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn rows_tile_the_text_and_keep_the_width(
            text in "[ a-z(){}.,、。「」世界한글ー👍🏽é\u{301}\u{200d}💻]{0,60}",
            columns in 2usize..20,
        ) {
            let rows = rows(&text, columns);
            prop_assert_eq!(rows.concat(), text.clone());
            for row in rows {
                prop_assert!(width(row.trim_end_matches(' ')) <= columns, "{:?}", row);
            }
        }
    }
}
