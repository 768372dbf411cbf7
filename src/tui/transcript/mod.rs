//! Everything said and done so far: cells in order, their layout, the scroll position, the marked block.
//!
//! Cells are only ever added; each keeps its laid-out lines until its content, the width or the look
//! changes. Invariant: [`Transcript::lay_out`] runs before a frame, and drawing then only reads.

mod answer;
mod cell;
mod scroll;
mod thinking;
mod tool;

pub use answer::Answer;
pub use cell::{Body, Cell, Fold, Look};
pub use thinking::Thinking;
pub use tool::{Tool, ToolState};

use super::ThinkingView;
use crate::protocol::CallId;
use scroll::Scroll;

/// The cells and how they are looked at.
#[derive(Debug, Default)]
pub struct Transcript {
    cells: Vec<Cell>,
    /// First row of each cell; one more entry than cells, the last is the number of rows.
    starts: Vec<usize>,
    columns: usize,
    /// Rows of the screen that show the transcript.
    height: usize,
    scroll: Scroll,
    /// Marked with Shift+Tab; `None` means the last block that can be folded.
    focus: Option<usize>,
    /// Set by the key that opens or folds all thinking.
    thinking: Option<Fold>,
    /// All tool output is shown whole.
    output: bool,
}

impl Transcript {
    /// Adds a cell.
    pub fn push(&mut self, body: Body) {
        self.cells.push(Cell::new(body));
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Self { columns: self.columns, height: self.height, ..Self::default() };
    }

    /// All cells, oldest first.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// First row of a cell.
    pub fn start(&self, index: usize) -> usize {
        self.starts.get(index).copied().unwrap_or(0)
    }

    fn last_mut(&mut self) -> Option<&mut Body> {
        self.cells.last_mut().map(Cell::change)
    }

    /// The answer that streams now, if one does.
    pub fn live_answer(&mut self) -> Option<&mut Answer> {
        let live = self.cells.last()?.body().answer().is_some_and(|answer| !answer.done());
        if live { self.last_mut()?.answer_mut() } else { None }
    }

    /// The block of thinking that streams now, if one does.
    pub fn live_thinking(&mut self) -> Option<&mut Thinking> {
        let live = self.cells.last()?.body().thinking().is_some_and(Thinking::live);
        if live { self.last_mut()?.thinking_mut() } else { None }
    }

    /// The newest tool cell for which `test` holds.
    pub fn tool_mut(&mut self, test: impl Fn(&Tool) -> bool) -> Option<&mut Tool> {
        let mut cells = self.cells.iter_mut().rev();
        let cell = cells.find(|cell| cell.body().tool().is_some_and(&test))?;
        cell.change().tool_mut()
    }

    /// The oldest tool cell since the last message of the person for which `test` holds.
    pub fn oldest_tool_mut(&mut self, test: impl Fn(&Tool) -> bool) -> Option<&mut Tool> {
        let from = self.cells.iter().rposition(|cell| matches!(cell.body(), Body::User(_)));
        let mut cells = self.cells.iter_mut().skip(from.unwrap_or(0));
        let cell = cells.find(|cell| cell.body().tool().is_some_and(&test))?;
        cell.change().tool_mut()
    }

    /// The newest cell of the call `id`.
    pub fn call_mut(&mut self, id: CallId) -> Option<&mut Tool> {
        self.tool_mut(|tool| tool.call == Some(id))
    }

    /// The newest block of thinking whose step has not reported yet.
    pub fn uncounted_mut(&mut self) -> Option<&mut Thinking> {
        let mut cells = self.cells.iter_mut().rev();
        let cell = cells.find(|cell| cell.body().thinking().is_some_and(Thinking::uncounted))?;
        cell.change().thinking_mut()
    }

    /// Blocks whose step never reported keep the count they have.
    pub fn leave_uncounted(&mut self) {
        while let Some(block) = self.uncounted_mut() {
            block.leave_uncounted();
        }
    }

    /// Closes what is still open: called when a turn ends, however it ends.
    pub fn settle(&mut self, now: u64) {
        for cell in self.cells.iter_mut().rev() {
            match cell.body() {
                Body::User(_) => break,
                Body::Tool(tool) if tool.open() => {}
                Body::Thinking(block) if block.live() => {}
                Body::Answer(answer) if !answer.done() => {}
                Body::Tool(_)
                | Body::Thinking(_)
                | Body::Answer(_)
                | Body::Changes { .. }
                | Body::Summary(_)
                | Body::Notice { .. } => continue,
            }
            match cell.change() {
                Body::Tool(tool) => tool.stop(now),
                Body::Thinking(block) => block.finish(now),
                Body::Answer(answer) => answer.finish(),
                Body::User(_) | Body::Changes { .. } | Body::Summary(_) | Body::Notice { .. } => {}
            }
        }
    }

    /// Raw text of the newest answer.
    pub fn last_answer(&self) -> Option<&str> {
        self.cells.iter().rev().find_map(|cell| cell.body().answer()).map(Answer::text)
    }

    /// Brings the layout up to date for a window of `columns` x `height` cells.
    pub fn lay_out(&mut self, look: &Look<'_>, height: usize) {
        let look = Look { thinking: self.effective(look.thinking), output: self.output, ..*look };
        let resized = self.columns != look.columns;
        self.columns = look.columns;
        self.height = height;
        let mut start = 0;
        let mut before: Option<usize> = None;
        self.starts.clear();
        for index in 0..self.cells.len() {
            let (done, rest) = self.cells.split_at_mut(index);
            let previous = before.and_then(|at| done.get(at)).map(Cell::body);
            let Some(cell) = rest.first_mut() else { break };
            cell.lay_out(&look, previous);
            self.starts.push(start);
            if cell.height() > 0 {
                before = Some(index);
            }
            start += cell.height();
        }
        self.starts.push(start);
        self.scroll.settle(&self.starts, height, resized);
    }

    /// Lays everything out anew at the next frame: the theme or the default look changed.
    pub fn restyle(&mut self) {
        for cell in &mut self.cells {
            cell.forget();
        }
    }

    fn effective(&self, default: ThinkingView) -> ThinkingView {
        match self.thinking {
            Some(Fold::Open) => ThinkingView::Full,
            Some(Fold::Folded) => ThinkingView::Tail,
            None => default,
        }
    }

    /// Opens all thinking, or folds it when it is open.
    pub fn toggle_thinking(&mut self, default: ThinkingView) {
        let open = self.effective(default) == ThinkingView::Full;
        self.thinking = match (open, default) {
            (true, ThinkingView::Full) => Some(Fold::Folded),
            (true, ThinkingView::Tail | ThinkingView::Folded | ThinkingView::Off) => None,
            (false, _) => Some(Fold::Open),
        };
        self.unfold_marks(|body| matches!(body, Body::Thinking(_)));
    }

    /// The default look was set: it counts for every block.
    pub fn reset_thinking(&mut self) {
        self.thinking = None;
        self.unfold_marks(|body| matches!(body, Body::Thinking(_)));
    }

    /// Shows all tool output whole, or short again.
    pub fn toggle_output(&mut self) {
        self.output = !self.output;
        self.unfold_marks(|body| matches!(body, Body::Tool(_)));
    }

    fn unfold_marks(&mut self, which: impl Fn(&Body) -> bool) {
        for cell in self.cells.iter_mut().filter(|cell| which(cell.body())) {
            cell.fold = None;
            cell.forget();
        }
    }

    /// Index of the marked block.
    pub fn focused(&self) -> Option<usize> {
        let last = || self.cells.iter().rposition(|cell| cell.foldable() && cell.height() > 0);
        self.focus.or_else(last)
    }

    /// Whether the mark was set by hand and so is shown.
    pub fn marked(&self, index: usize) -> bool {
        self.focus == Some(index)
    }

    /// Moves the mark to the block above or below.
    pub fn move_focus(&mut self, down: bool) {
        let able = |index: &usize| {
            let cell = self.cells.get(*index);
            cell.is_some_and(|cell| cell.foldable() && cell.height() > 0)
        };
        let target = match (self.focus, down) {
            (None, false) => self.focused(),
            (None, true) => None,
            (Some(at), false) => (0..at).rev().find(able).or(Some(at)),
            (Some(at), true) => (at + 1..self.cells.len()).find(able),
        };
        self.focus = target;
        if let Some(index) = target {
            self.reveal(index);
        }
    }

    /// Takes the mark away.
    pub fn unfocus(&mut self) -> bool {
        self.focus.take().is_some()
    }

    /// Opens or folds the marked block.
    pub fn toggle_focused(&mut self, look: &Look<'_>) {
        if let Some(index) = self.focused() {
            self.toggle(index, look);
        }
    }

    /// Opens or folds the block under row `row` of the window.
    pub fn click(&mut self, row: usize, look: &Look<'_>) {
        let line = self.top() + row;
        let index = self.starts.partition_point(|start| *start <= line);
        let Some(index) = index.checked_sub(1).filter(|index| *index < self.cells.len()) else {
            return;
        };
        let cell = &self.cells[index];
        let head = line == self.starts[index] + cell.gap();
        if cell.foldable() && (head || !cell.is_open(&self.effective_look(look))) {
            self.toggle(index, look);
        }
    }

    fn effective_look<'a>(&self, look: &Look<'a>) -> Look<'a> {
        Look { thinking: self.effective(look.thinking), output: self.output, ..*look }
    }

    fn toggle(&mut self, index: usize, look: &Look<'_>) {
        let look_now = self.effective_look(look);
        let Some(cell) = self.cells.get_mut(index) else {
            return;
        };
        let open = cell.is_open(&look_now);
        cell.fold = Some(if open { Fold::Folded } else { Fold::Open });
        cell.forget();
        self.lay_out(look, self.height);
        self.reveal(index);
    }
}

#[cfg(test)]
mod tests;
