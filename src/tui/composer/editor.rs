//! A multi-line text editor whose unit is the grapheme.
//!
//! It knows nothing of keys and drawing. Large pastes stand in the text as one reserved character
//! each (see `paste.rs`). Invariant: `cursor` is a byte offset on a character boundary, and moves and
//! deletions go by whole graphemes.

use super::paste::{self, Paste};
use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

/// Text with a caret.
#[derive(Clone, Debug, Default)]
pub struct Editor {
    pub(super) text: String,
    pub(super) cursor: usize,
    pub(super) pastes: Vec<Paste>,
    /// Column kept while moving up and down.
    pub(super) goal: Option<usize>,
    killed: String,
}

impl Editor {
    /// An editor holding `text`, caret at the end.
    pub fn with(text: &str) -> Self {
        let mut editor = Self::default();
        editor.insert(text);
        editor
    }

    /// The text with stand-ins in place; what commands are recognised in.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Byte offset of the caret in [`text`](Self::text).
    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// Whether there is no text at all.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The text with every stand-in replaced, once, by what was pasted.
    pub fn expanded(&self) -> String {
        paste::expand(&self.text, &self.pastes)
    }

    /// Empties the editor.
    pub fn clear(&mut self) {
        let killed = std::mem::take(&mut self.killed);
        *self = Self { killed, ..Self::default() };
    }

    /// Types `text` at the caret. Line ends become `\n`, other controls become visible.
    pub fn insert(&mut self, text: &str) {
        self.put(&paste::tidy(text).replace(paste::is_mark, "\u{fffd}"));
    }

    /// Pastes `text` at the caret; a large one becomes a stand-in.
    pub fn paste(&mut self, text: &str) {
        let text = paste::tidy(text);
        if paste::is_large(&text) && self.pastes.len() < paste::MOST {
            let mark = paste::mark(self.pastes.len());
            self.pastes.push(Paste::new(text));
            self.put(mark.encode_utf8(&mut [0; 4]));
        } else {
            self.put(&text.replace(paste::is_mark, "\u{fffd}"));
        }
    }

    fn put(&mut self, text: &str) {
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
        self.goal = None;
    }

    /// Replaces the bytes `range` by `text` and puts the caret behind it.
    pub fn replace(&mut self, range: std::ops::Range<usize>, text: &str) {
        self.text.replace_range(range.clone(), text);
        self.cursor = range.start + text.len();
        self.goal = None;
    }

    /// Moves one grapheme to the left.
    pub fn left(&mut self) {
        self.go(self.previous());
    }

    /// Moves one grapheme to the right.
    pub fn right(&mut self) {
        self.go(self.next());
    }

    /// Moves to the start of the word before the caret.
    pub fn word_left(&mut self) {
        self.go(self.word_start());
    }

    /// Moves behind the next word.
    pub fn word_right(&mut self) {
        self.go(self.word_end());
    }

    /// Moves to the start of the line.
    pub fn home(&mut self) {
        self.go(self.line_start());
    }

    /// Moves to the end of the line.
    pub fn end(&mut self) {
        self.go(self.line_end());
    }

    /// Moves to the end of the text.
    pub fn end_of_text(&mut self) {
        self.go(self.text.len());
    }

    /// Moves to the byte `at` of the text.
    pub(super) fn go(&mut self, at: usize) {
        self.cursor = at.min(self.text.len());
        self.goal = None;
    }

    /// Deletes the grapheme before the caret.
    pub fn backspace(&mut self) {
        self.remove(self.previous(), self.cursor);
    }

    /// Deletes the grapheme after the caret.
    pub fn delete(&mut self) {
        self.remove(self.cursor, self.next());
    }

    /// Cuts to the start of the word.
    pub fn kill_word_left(&mut self) {
        self.kill(self.word_start(), self.cursor);
    }

    /// Cuts to the end of the word.
    pub fn kill_word_right(&mut self) {
        self.kill(self.cursor, self.word_end());
    }

    /// Cuts to the start of the line; at the start, joins it with the line above.
    pub fn kill_to_start(&mut self) {
        let start = self.line_start();
        let from = if start == self.cursor { self.previous() } else { start };
        self.kill(from, self.cursor);
    }

    /// Cuts to the end of the line; at the end, joins it with the line below.
    pub fn kill_to_end(&mut self) {
        let end = self.line_end();
        let to = if end == self.cursor { self.next() } else { end };
        self.kill(self.cursor, to);
    }

    /// Puts what was cut last at the caret.
    pub fn yank(&mut self) {
        let killed = self.killed.clone();
        self.put(&killed);
    }

    fn remove(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.cursor = from;
        self.goal = None;
    }

    fn kill(&mut self, from: usize, to: usize) {
        if from < to {
            self.killed = self.text[from..to].to_owned();
            self.remove(from, to);
        }
    }

    fn previous(&self) -> usize {
        let before = &self.text[..self.cursor];
        if before.chars().next_back().is_some_and(paste::is_mark) {
            return self.cursor - paste::MARK_BYTES;
        }
        let mut walk = GraphemeCursor::new(self.cursor, self.text.len(), true);
        let at = walk.prev_boundary(&self.text, 0).ok().flatten().unwrap_or(0);
        // A mark takes combining characters behind it into its grapheme; it is still its own unit.
        match self.text[at..self.cursor].rfind(paste::is_mark) {
            Some(mark) => at + mark + paste::MARK_BYTES,
            None => at,
        }
    }

    fn next(&self) -> usize {
        let after = &self.text[self.cursor..];
        if after.chars().next().is_some_and(paste::is_mark) {
            return self.cursor + paste::MARK_BYTES;
        }
        let mut walk = GraphemeCursor::new(self.cursor, self.text.len(), true);
        let next = walk.next_boundary(&self.text, 0).ok().flatten();
        next.unwrap_or(self.text.len())
    }

    fn line_start(&self) -> usize {
        self.text[..self.cursor].rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        let after = &self.text[self.cursor..];
        after.find('\n').map_or(self.text.len(), |at| self.cursor + at)
    }

    fn word_start(&self) -> usize {
        let words = self.text[..self.cursor].split_word_bound_indices();
        words.rev().find(|(_, word)| is_word(word)).map_or(0, |(at, _)| at)
    }

    fn word_end(&self) -> usize {
        let words = self.text[self.cursor..].split_word_bound_indices();
        let mut found = words.filter(|(_, word)| is_word(word));
        found.next().map_or(self.text.len(), |(at, word)| self.cursor + at + word.len())
    }
}

fn is_word(text: &str) -> bool {
    text.chars().any(|c| c.is_alphanumeric() || c == '_' || paste::is_mark(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_backspace_removes_one_visible_character() {
        for text in ["e\u{301}", "ก็", "👩‍💻", "🇯🇵", "⚠️", "世"] {
            let mut editor = Editor::with(text);
            editor.backspace();
            assert_eq!(editor.text(), "", "{text:?}");
        }
    }

    #[test]
    fn moves_go_by_graphemes_and_words() {
        let mut editor = Editor::with("你好，世界 abc");
        for _ in 0..3 {
            editor.left();
        }
        assert_eq!(&editor.text()[editor.cursor()..], "abc");
        editor.left();
        editor.left();
        assert_eq!(&editor.text()[editor.cursor()..], "界 abc");
        editor.end();
        editor.word_left();
        assert_eq!(&editor.text()[editor.cursor()..], "abc");
        editor.home();
        editor.word_right();
        assert_eq!(&editor.text()[..editor.cursor()], "你");
    }

    #[test]
    fn cuts_can_be_put_back() {
        let mut editor = Editor::with("one two\nthree");
        editor.kill_to_start();
        assert_eq!(editor.text(), "one two\n");
        editor.kill_to_start();
        assert_eq!(editor.text(), "one two");
        editor.kill_word_left();
        editor.yank();
        editor.yank();
        assert_eq!(editor.text(), "one twotwo");
    }

    #[test]
    fn a_large_paste_stands_in_and_expands_exactly_once() {
        let body = format!("{}[pasted 1 line, 3.0 KB]\u{10f000}\n", "x".repeat(3_000));
        let mut editor = Editor::with("see ");
        editor.paste(&body);
        editor.insert(" and fix it");
        assert!(editor.text().len() < 30);
        assert_eq!(editor.expanded(), format!("see {body} and fix it"));
        editor.home();
        editor.word_right();
        editor.right();
        editor.delete();
        assert_eq!(editor.expanded(), "see  and fix it");
    }

    #[test]
    fn small_pastes_stand_in_the_text_with_controls_made_visible() {
        let mut editor = Editor::default();
        editor.paste("l1\r\nl2\rl3\u{1b}[2J");
        assert_eq!(editor.text(), "l1\nl2\nl3␛[2J");
    }

    #[test]
    fn typed_reserved_characters_are_not_stand_ins() {
        let mut editor = Editor::default();
        editor.paste(&"y".repeat(5_000));
        editor.insert("\u{10f000}");
        assert_eq!(editor.expanded(), format!("{}\u{fffd}", "y".repeat(5_000)));
    }
}
