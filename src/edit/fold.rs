//! Texts made alike for one or more tolerances, with the way back to the original positions.
//!
//! Invariant: units (a character, a normal-form cluster, a line end with the blanks before it) are
//! never cut: only unit boundaries have an original position.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{canonical_combining_class, compose};

/// Which differences are folded away. Line endings always are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Folds {
    pub(super) trailing_space: bool,
    pub(super) normal_form: bool,
    pub(super) lookalikes: bool,
    /// Lone CRs end lines.
    pub(super) cr: bool,
}

/// A folded text.
pub(super) struct Folded {
    pub(super) text: String,
    /// Original position of every byte of `text` and of its end; `INSIDE` within a unit.
    map: Vec<u32>,
    /// Where dropped blanks at the very end begin, if there are any.
    pub(super) dropped: Option<usize>,
}

const INSIDE: u32 = u32::MAX;

impl Folded {
    /// Folds `source` (shorter than 4 GiB).
    pub(super) fn new(source: &str, folds: Folds) -> Self {
        let mut folded =
            Self { text: String::with_capacity(source.len()), map: Vec::new(), dropped: None };
        folded.map.reserve(source.len() + 1);
        let mut at = 0;
        while at < source.len() {
            let rest = &source[at..];
            // A run of blanks is looked at once, so that long runs cost no more than their length.
            let run = if folds.trailing_space { blanks(rest) } else { 0 };
            match line_end(&rest[run..], folds.cr) {
                Some(len) => {
                    folded.unit("\n", at);
                    at += run + len;
                }
                None if run == rest.len() => {
                    folded.dropped = Some(at);
                    break;
                }
                None => {
                    let inner = run.saturating_sub(1);
                    folded.text.push_str(&rest[..inner]);
                    folded.map.extend((at..at + inner).map(|at| at as u32));
                    at += inner;
                    at += folded.cluster(&source[at..], at, folds);
                }
            }
        }
        folded.map.push(folded.dropped.unwrap_or(source.len()) as u32);
        folded
    }

    fn unit(&mut self, key: &str, at: usize) {
        self.text.push_str(key);
        self.map.push(at as u32);
        self.map.resize(self.text.len(), INSIDE);
    }

    /// Adds one character, or one cluster if normal forms are folded; gives its length.
    fn cluster(&mut self, rest: &str, at: usize, folds: Folds) -> usize {
        let Some(first) = rest.chars().next() else {
            return 0;
        };
        let len = if folds.normal_form { cluster_len(rest) } else { first.len_utf8() };
        let mut buffer = [0; 4];
        if len == first.len_utf8() && (first.is_ascii() || !folds.normal_form) {
            let key = if folds.lookalikes { plain(first) } else { first };
            self.unit(key.encode_utf8(&mut buffer), at);
        } else {
            let key = rest[..len].nfc().map(|c| if folds.lookalikes { plain(c) } else { c });
            self.unit(&key.collect::<String>(), at);
        }
        len
    }

    /// Original position of folded position `at`, if that is a unit boundary.
    pub(super) fn origin(&self, at: usize) -> Option<usize> {
        self.map.get(at).copied().filter(|at| *at != INSIDE).map(|at| at as usize)
    }

    /// Folded positions of the unit boundaries and where each is in the original.
    pub(super) fn boundaries(&self) -> impl DoubleEndedIterator<Item = (usize, usize)> + '_ {
        let known =
            |(at, origin): (usize, &u32)| (*origin != INSIDE).then_some((at, *origin as usize));
        self.map.iter().enumerate().filter_map(known)
    }
}

/// Space and tab: what the tolerance for blanks at line ends ignores.
pub(super) fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t')
}

/// Number of blanks `text` begins with.
pub(super) fn blanks(text: &str) -> usize {
    text.bytes().take_while(|byte| is_blank(char::from(*byte))).count()
}

/// Length of the line end that `rest` begins with.
fn line_end(rest: &str, cr: bool) -> Option<usize> {
    match rest.as_bytes() {
        [b'\n', ..] => Some(1),
        [b'\r', b'\n', ..] => Some(2),
        [b'\r', ..] if cr => Some(1),
        _ => None,
    }
}

/// Length of the first character and all that may combine with it.
fn cluster_len(rest: &str) -> usize {
    let mut chars = rest.char_indices();
    let Some((_, first)) = chars.next() else {
        return 0;
    };
    // Composition looks back to the last starter; composing into it step by step is exact for what
    // matters here: whether the next character can still join.
    let mut last = first;
    for (at, c) in chars {
        let joined = compose(last, c);
        if c.is_ascii() || (canonical_combining_class(c) == 0 && joined.is_none()) {
            return at;
        }
        last = joined.unwrap_or(last);
    }
    rest.len()
}

/// The plain form of a look-alike; itself for every other character.
pub(super) fn plain(c: char) -> char {
    match c {
        '\u{a0}' | '\u{2007}' | '\u{202f}' => ' ',
        '\u{2018}'..='\u{201b}' => '\'',
        '\u{201c}'..='\u{201f}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_and_line_ends_map_back_to_their_start() {
        let folds = Folds { trailing_space: true, normal_form: true, lookalikes: true, cr: false };
        let folded = Folded::new("cafe\u{301}\u{a0}x \t\r\ny  ", folds);
        assert_eq!(folded.text, "caf\u{e9} x\ny");
        let origins: Vec<_> = folded.boundaries().collect();
        assert_eq!(
            origins,
            [(0, 0), (1, 1), (2, 2), (3, 3), (5, 6), (6, 8), (7, 9), (8, 13), (9, 14)]
        );
        assert_eq!(folded.dropped, Some(14));
    }

    #[test]
    fn conjoining_jamo_fold_to_syllables() {
        let folds = Folds { normal_form: true, ..Folds::default() };
        assert_eq!(Folded::new("\u{1112}\u{1161}\u{11ab}\u{1100}\u{116e}", folds).text, "한구");
    }
}
