//! Notices that a model has begun to repeat itself.
//!
//! Long reasoning sometimes ends in a sentence written thousands of times. The text's tail is
//! checked for exact repetition with a short period; nothing here judges meaning.

use std::collections::VecDeque;

/// Repeated characters that make a loop in prose.
pub const PROSE: usize = 2048;
/// The same inside a tool call, where a file may rightly hold a long regular table.
pub const CALL: usize = 8192;
/// Longest period looked for, in characters.
const PERIOD: usize = 256;
/// New characters between two checks.
const STRIDE: usize = 64;

/// The tail of what was written.
#[derive(Clone, Debug, Default)]
pub struct LoopDetector {
    tail: VecDeque<char>,
    unchecked: usize,
}

impl LoopDetector {
    /// Adds text; true when the last `span` characters repeat with a period of at most 256.
    pub fn push(&mut self, text: &str, span: usize) -> bool {
        for c in text.chars() {
            self.tail.push_back(c);
            self.unchecked += 1;
        }
        let surplus = self.tail.len().saturating_sub(CALL);
        self.tail.drain(..surplus);
        if self.unchecked < STRIDE || self.tail.len() < span {
            return false;
        }
        self.unchecked = 0;
        let tail: Vec<char> = self.tail.iter().rev().take(span).copied().collect();
        smallest_period(&tail) <= PERIOD
    }
}

/// The smallest `p` with `text[i] == text[i + p]` for all `i`, by the Knuth-Morris-Pratt border
/// table; the length itself when nothing repeats.
fn smallest_period(text: &[char]) -> usize {
    let mut border = vec![0_usize; text.len()];
    for i in 1..text.len() {
        let mut length = border[i - 1];
        while length > 0 && text[i] != text[length] {
            length = border[length - 1];
        }
        border[i] = length + usize::from(text[i] == text[length]);
    }
    text.len() - border.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loops_after(text: &str, piece: usize, span: usize) -> Option<usize> {
        let mut detector = LoopDetector::default();
        let chars: Vec<char> = text.chars().collect();
        chars
            .chunks(piece)
            .position(|chunk| detector.push(&chunk.iter().collect::<String>(), span))
            .map(|n| (n + 1) * piece)
    }

    #[test]
    fn a_repeated_sentence_is_caught_soon_after_the_span() {
        let text = format!("先读文件。{}", "等等，再看一遍。".repeat(1000));
        for piece in [1, 7, 64] {
            let at = loops_after(&text, piece, PROSE).unwrap();
            assert!((PROSE..PROSE + 200).contains(&at), "{piece}: {at}");
        }
        assert!(loops_after(&"!".repeat(3000), 1, PROSE).is_some());
    }

    #[test]
    fn lively_text_and_long_periods_are_left_alone() {
        let counting: String = (0..4000).map(|n| format!("{n}, ")).collect();
        assert_eq!(loops_after(&counting, 5, PROSE), None);
        let long: String = (0..70).map(|n| format!("line {n}\n")).collect();
        assert_eq!(loops_after(&long.repeat(20), 5, PROSE), None);
    }

    #[test]
    fn a_call_may_repeat_longer_than_prose() {
        let table = "0, 0, 0, 0,\n".repeat(400);
        assert!(loops_after(&table, 5, PROSE).is_some());
        assert_eq!(loops_after(&table, 5, CALL), None);
        assert!(loops_after(&table.repeat(3), 5, CALL).is_some());
    }
}
