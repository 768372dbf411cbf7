//! Tables of markdown: aligned when they fit, else one field a line.
//!
//! Plain text inside the cells; no alignment marks, no spans.

use crate::tui::flow::Run;
use crate::tui::theme::{Scope, Theme};
use crate::tui::wrap::width;

/// The first row is the head.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Begins a row.
    pub fn row(&mut self) {
        self.rows.push(Vec::new());
    }

    /// Begins a cell.
    pub fn cell(&mut self) {
        if let Some(row) = self.rows.last_mut() {
            row.push(String::new());
        }
    }

    /// Adds to the cell.
    pub fn text(&mut self, text: &str) {
        if let Some(cell) = self.rows.last_mut().and_then(|row| row.last_mut()) {
            cell.push_str(&text.replace('\n', " "));
        }
    }

    /// Lines of the table in `columns` cells.
    pub fn rows(&self, columns: usize, theme: &Theme) -> Vec<Vec<Run>> {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widest = |index: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(index));
            cells.map(|cell| width(cell)).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..count).map(widest).collect();
        let total: usize = widths.iter().sum::<usize>() + 3 * count.saturating_sub(1);
        if total <= columns { self.aligned(&widths, theme) } else { self.listed(theme) }
    }

    fn aligned(&self, widths: &[usize], theme: &Theme) -> Vec<Vec<Run>> {
        let rule = theme.style(Scope::Rule);
        let mut lines = Vec::new();
        for (index, row) in self.rows.iter().enumerate() {
            let style = theme.style(if index == 0 { Scope::Strong } else { Scope::Text });
            let mut line: Vec<Run> = Vec::new();
            for (column, wide) in widths.iter().enumerate() {
                let cell = row.get(column).map_or("", String::as_str);
                if column > 0 {
                    line.push((" │ ".into(), rule));
                }
                let pad = " ".repeat(wide - width(cell));
                line.push((format!("{cell}{pad}"), style));
            }
            lines.push(line);
            if index == 0 {
                let dashes: Vec<String> = widths.iter().map(|wide| "─".repeat(*wide)).collect();
                lines.push(vec![(dashes.join("─┼─"), rule)]);
            }
        }
        lines
    }

    fn listed(&self, theme: &Theme) -> Vec<Vec<Run>> {
        let mut rows = self.rows.iter();
        let head = rows.next().cloned().unwrap_or_default();
        let mut lines = Vec::new();
        for row in rows {
            for (index, cell) in row.iter().enumerate() {
                let name = head.get(index).map_or("", String::as_str);
                let mark = if index == 0 { "• " } else { "  " };
                lines.push(vec![
                    (mark.into(), theme.style(Scope::Marker)),
                    (format!("{name}: "), theme.style(Scope::Strong)),
                    (cell.clone(), theme.style(Scope::Text)),
                ]);
            }
        }
        lines
    }
}
