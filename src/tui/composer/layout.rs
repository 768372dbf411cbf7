//! Where the text of an editor stands on screen, to the cell.
//!
//! Pure arithmetic on an editor and a width. Invariant: the caret is where the terminal would have
//! put the next character; it never stands in the second half of a wide one.

use super::editor::Editor;
use super::paste;
use crate::protocol::visible;
use crate::tui::wrap::{grapheme_width, wrap};
use std::collections::VecDeque;
use unicode_segmentation::UnicodeSegmentation;

/// One grapheme on screen and where it comes from.
#[derive(Clone, Debug)]
struct Glyph {
    text: String,
    /// Byte offset in the editor's text; all parts of a stand-in's label share one.
    source: usize,
    column: usize,
    stands_in: bool,
}

/// One row on screen.
#[derive(Clone, Debug)]
pub struct Row {
    glyphs: Vec<Glyph>,
    /// Byte offset behind the last glyph.
    end: usize,
    /// Whether the next row continues the same line.
    soft: bool,
}

impl Row {
    /// Runs of text; true for the label of a stand-in.
    pub fn runs(&self) -> Vec<(String, bool)> {
        let mut runs: Vec<(String, bool)> = Vec::new();
        for glyph in &self.glyphs {
            match runs.last_mut() {
                Some((text, kind)) if *kind == glyph.stands_in => text.push_str(&glyph.text),
                Some(_) | None => runs.push((glyph.text.clone(), glyph.stands_in)),
            }
        }
        runs
    }

    fn cells(&self) -> usize {
        let last = self.glyphs.last();
        last.map_or(0, |glyph| glyph.column + grapheme_width(&glyph.text))
    }

    /// The source offset of the place nearest to `column`.
    fn source_at(&self, column: usize) -> usize {
        let hit =
            self.glyphs.iter().find(|glyph| glyph.column + grapheme_width(&glyph.text) > column);
        match hit {
            Some(glyph) => glyph.source,
            // The end of a soft row is the start of the next one; stay on this row.
            None if self.soft => self.glyphs.last().map_or(self.end, |glyph| glyph.source),
            None => self.end,
        }
    }
}

/// An editor's text broken into rows.
#[derive(Clone, Debug)]
pub struct Layout {
    /// At least one.
    pub rows: Vec<Row>,
    /// Row and column of the caret.
    pub caret: (usize, usize),
}

impl Layout {
    /// Lays `editor` out in `columns` cells (at least 1).
    pub fn new(editor: &Editor, columns: usize) -> Self {
        let columns = columns.max(1);
        let mut rows = Vec::new();
        let mut start = 0;
        for line in editor.text.split('\n') {
            lay_line(editor, start, line, columns, &mut rows);
            start += line.len() + 1;
        }
        let caret = find_caret(&mut rows, editor.cursor, columns);
        Self { rows, caret }
    }
}

fn lay_line(editor: &Editor, start: usize, line: &str, columns: usize, rows: &mut Vec<Row>) {
    let (shown, mut glyphs) = glyphs_of(editor, start, line);
    let ranges = wrap(&shown, columns);
    let last = ranges.len() - 1;
    let mut at = 0;
    for (index, range) in ranges.into_iter().enumerate() {
        let mut row = Row { glyphs: Vec::new(), end: start + line.len(), soft: index < last };
        let mut column = 0;
        while at < range.end {
            let Some(mut glyph) = glyphs.pop_front() else {
                break;
            };
            at += glyph.text.len();
            glyph.column = column;
            column += grapheme_width(&glyph.text);
            row.glyphs.push(glyph);
        }
        if let Some(next) = glyphs.front() {
            row.end = next.source;
        }
        rows.push(row);
    }
}

/// The line as shown, and its graphemes in order.
fn glyphs_of(editor: &Editor, start: usize, line: &str) -> (String, VecDeque<Glyph>) {
    let mut shown = String::new();
    let mut glyphs = VecDeque::new();
    let mut add = |text: &str, source: usize, stands_in: bool| {
        for grapheme in text.graphemes(true) {
            shown.push_str(grapheme);
            glyphs.push_back(Glyph { text: grapheme.to_owned(), source, column: 0, stands_in });
        }
    };
    for (at, grapheme) in line.grapheme_indices(true) {
        let source = start + at;
        match grapheme.chars().next() {
            Some(c) if paste::is_mark(c) => {
                add(paste::label(c, &editor.pastes), source, true);
                let rest = &grapheme[c.len_utf8()..];
                add(&visible(rest), source + c.len_utf8(), false);
            }
            Some('\t') => add("    ", source, false),
            Some(_) | None => add(&visible(grapheme), source, false),
        }
    }
    (shown, glyphs)
}

fn find_caret(rows: &mut Vec<Row>, cursor: usize, columns: usize) -> (usize, usize) {
    for (index, row) in rows.iter().enumerate() {
        if let Some(glyph) = row.glyphs.iter().find(|glyph| glyph.source >= cursor) {
            // Blanks hang over the edge; the caret does not.
            return (index, glyph.column.min(columns - 1));
        }
        if row.end >= cursor && !row.soft {
            let column = row.cells();
            if column < columns {
                return (index, column);
            }
            let end = row.end;
            rows.insert(index + 1, Row { glyphs: Vec::new(), end, soft: false });
            return (index + 1, 0);
        }
    }
    (rows.len() - 1, 0)
}

impl Editor {
    /// Moves the caret `down` or up by one row of a layout in `columns` cells.
    ///
    /// Returns false, and moves nothing, at the first or last row.
    pub fn vertical(&mut self, down: bool, columns: usize) -> bool {
        let layout = Layout::new(self, columns);
        let (row, column) = layout.caret;
        let goal = self.goal.unwrap_or(column);
        let target = if down { Some(row + 1) } else { row.checked_sub(1) };
        let Some(row) = target.and_then(|target| layout.rows.get(target)) else {
            return false;
        };
        self.go(row.source_at(goal));
        self.goal = Some(goal);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caret(text: &str, columns: usize) -> (usize, usize) {
        Layout::new(&Editor::with(text), columns).caret
    }

    #[test]
    fn the_caret_counts_cells() {
        assert_eq!(caret("你好，世界 abc", 40), (0, 14));
        assert_eq!(caret("e\u{301}", 40), (0, 1));
        assert_eq!(caret("👩‍💻|", 40), (0, 3));
        assert_eq!(caret("ab\n", 40), (1, 0));
        assert_eq!(caret("abcd", 4), (1, 0));
        assert_eq!(caret("世界世", 5), (1, 2));
    }

    #[test]
    fn up_and_down_keep_the_column_over_short_lines() {
        let mut editor = Editor::with("abcdef\nx\n世界世界");
        editor.left();
        assert!(editor.vertical(false, 20));
        assert!(editor.vertical(false, 20));
        assert_eq!(editor.cursor(), 6);
        assert!(!editor.vertical(false, 20));
        assert!(editor.vertical(true, 20) && editor.vertical(true, 20));
        assert_eq!(&editor.text()[editor.cursor()..], "界");
        assert!(!editor.vertical(true, 20));
    }

    #[test]
    fn soft_rows_are_rows_too() {
        let mut editor = Editor::with("hello world again");
        assert_eq!(Layout::new(&editor, 6).rows.len(), 3);
        assert!(editor.vertical(false, 6));
        assert_eq!(&editor.text()[editor.cursor()..], " again");
    }
}
