//! Where the window stands over the rows of the transcript.
//!
//! The place is kept as a cell and a row in it, so that nothing above or below can move what the
//! person reads. Invariant: while following, the last row is in the window.

use super::Transcript;

/// The position of the window.
#[derive(Clone, Copy, Debug, Default)]
pub enum Scroll {
    /// At the end, whatever comes.
    #[default]
    Follow,
    /// This row is on top.
    At {
        /// The cell.
        cell: usize,
        /// The row in it.
        row: usize,
        /// Rows there were when the window left the end.
        seen: usize,
    },
}

impl Scroll {
    /// After a layout: a window that reaches the end follows again.
    pub fn settle(&mut self, starts: &[usize], height: usize, resized: bool) {
        let total = starts.last().copied().unwrap_or(0);
        if let Self::At { seen, .. } = self
            && resized
        {
            *seen = total;
        }
        if top_of(*self, starts, height) + height >= total {
            *self = Self::Follow;
        }
    }
}

fn top_of(scroll: Scroll, starts: &[usize], height: usize) -> usize {
    let total = starts.last().copied().unwrap_or(0);
    let last = total.saturating_sub(height);
    match scroll {
        Scroll::Follow => last,
        Scroll::At { cell, row, .. } => {
            let start = starts.get(cell).copied().unwrap_or(total);
            let end = starts.get(cell + 1).copied().unwrap_or(total);
            (start + row).min(end.saturating_sub(1).max(start)).min(last)
        }
    }
}

impl Transcript {
    /// The first row in the window.
    pub fn top(&self) -> usize {
        top_of(self.scroll, &self.starts, self.height)
    }

    /// Rows of the whole transcript.
    pub fn rows(&self) -> usize {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Whether the window follows the end.
    pub fn follows(&self) -> bool {
        matches!(self.scroll, Scroll::Follow)
    }

    /// Rows that came since the window left the end, and rows below the window.
    pub fn below(&self) -> (usize, usize) {
        let hidden = self.rows().saturating_sub(self.top() + self.height);
        match self.scroll {
            Scroll::Follow => (0, hidden),
            Scroll::At { seen, .. } => (self.rows().saturating_sub(seen).min(hidden), hidden),
        }
    }

    /// Moves the window by `rows`, down when positive.
    pub fn scroll_by(&mut self, rows: isize) {
        let last = self.rows().saturating_sub(self.height);
        let top = self.top().saturating_add_signed(rows).min(last);
        self.scroll_to(top);
    }

    /// Moves the window by a page, keeping two rows.
    pub fn scroll_page(&mut self, down: bool) {
        let page = isize::try_from(self.height.saturating_sub(2).max(1)).unwrap_or(1);
        self.scroll_by(if down { page } else { -page });
    }

    /// Puts row `top` on top; at the end the window follows again.
    pub fn scroll_to(&mut self, top: usize) {
        if top + self.height >= self.rows() {
            self.follow();
            return;
        }
        let seen = match self.scroll {
            Scroll::Follow => self.rows(),
            Scroll::At { seen, .. } => seen,
        };
        let cell = self.starts.partition_point(|start| *start <= top).saturating_sub(1);
        let row = top - self.starts.get(cell).copied().unwrap_or(0);
        self.scroll = Scroll::At { cell, row, seen };
    }

    /// Goes to the end and stays there.
    pub fn follow(&mut self) {
        self.scroll = Scroll::Follow;
    }

    /// Moves the window as little as needed to show the beginning of a cell.
    pub(super) fn reveal(&mut self, index: usize) {
        let Some(start) = self.starts.get(index).copied() else {
            return;
        };
        let end = self.starts.get(index + 1).copied().unwrap_or(start);
        let top = self.top();
        if start < top {
            self.scroll_to(start);
        } else if end > top + self.height {
            self.scroll_to(end.saturating_sub(self.height).min(start));
        }
    }
}
