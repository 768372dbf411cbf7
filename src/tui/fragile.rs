//! Mends the places where terminals and we may not agree on the width of a grapheme.
//!
//! Flags, joined emoji and variation selectors are drawn as two cells here; a terminal may use one,
//! three or four. Cells are placed absolutely, so only what such a grapheme covered, or uncovers when
//! it goes, can be wrong. Invariant: those cells are sent again in the same frame, and only then.

use ratatui::buffer::{Buffer, CellDiffOption};
use std::collections::HashSet;

/// Cells that a misjudged grapheme may reach, its own included.
const REACH: u16 = 5;

/// The graphemes of the last frame whose width is open to dispute.
#[derive(Debug, Default)]
pub struct Fragile {
    last: HashSet<(u16, u16, String)>,
}

impl Fragile {
    /// Marks what must be sent again in this frame.
    pub fn mend(&mut self, buffer: &mut Buffer) {
        let area = buffer.area;
        let mut now = HashSet::new();
        for y in area.top()..area.bottom() {
            for x in area.left()..area.right() {
                let symbol = buffer[(x, y)].symbol();
                if symbol.len() > 4 && disputed(symbol) {
                    now.insert((x, y, symbol.to_owned()));
                }
            }
        }
        for (x, y, _) in self.last.symmetric_difference(&now) {
            for x in *x..x.saturating_add(REACH) {
                if let Some(cell) = buffer.cell_mut((x, *y)) {
                    cell.set_diff_option(CellDiffOption::AlwaysUpdate);
                }
            }
        }
        self.last = now;
    }

    /// Nothing is on screen any more.
    pub fn forget(&mut self) {
        self.last.clear();
    }
}

fn disputed(symbol: &str) -> bool {
    symbol.chars().any(|c| {
        matches!(c, '\u{200d}' | '\u{fe0f}' | '\u{1f1e6}'..='\u{1f1ff}' | '\u{1f3fb}'..='\u{1f3ff}')
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::layout::Rect;

    fn buffer(text: &str) -> Buffer {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 12, 1));
        buffer.set_string(0, 0, text, ratatui::style::Style::new());
        buffer
    }

    #[test]
    fn cells_around_a_flag_are_sent_again_when_it_comes_and_goes() {
        let mut fragile = Fragile::default();
        let marked = |buffer: &Buffer| {
            let always = |x: &u16| buffer[(*x, 0)].diff_option == CellDiffOption::AlwaysUpdate;
            (0..12).filter(always).collect::<Vec<u16>>()
        };
        for (text, want) in [
            ("ab 世", vec![]),
            ("a 🇯🇵| x", vec![2, 3, 4, 5, 6]),
            ("a 🇯🇵| y", vec![]),
            ("", vec![2, 3, 4, 5, 6]),
            ("", vec![]),
        ] {
            let mut buffer = buffer(text);
            fragile.mend(&mut buffer);
            assert_eq!(marked(&buffer), want, "{text}");
        }
    }
}
