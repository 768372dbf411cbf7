//! A block of reasoning: live tail of fixed height, one line when done, everything on request.
//!
//! The raw text is always kept, whatever is shown. Invariant: while it streams in the tail view the
//! block takes the same number of rows from its first token to its last.

use super::{Fold, Look};
use crate::tui::ThinkingView;
use crate::tui::flow::{Run, fit, flow};
use crate::tui::text::{clean, clean_line, duration, grouped};
use crate::tui::theme::Scope;
use crate::tui::wrap::wrap;
use ratatui::text::Line;

/// Rows of the live tail.
const TAIL_ROWS: usize = 4;
/// Bytes of one line of reasoning that the tail looks back at.
const TAIL_BYTES: usize = 16_384;
/// Times shorter than this, in milliseconds, come from a replay and mean nothing.
const REPLAY_MS: u64 = 500;

/// One block.
#[derive(Debug)]
pub struct Thinking {
    text: String,
    started: u64,
    ended: Option<u64>,
    /// Exact once the step is over; until then the number of pieces received.
    tokens: usize,
    exact: bool,
    /// The step that it belongs to has not reported yet.
    pending: bool,
    estimate_ms: u64,
    /// Lines of the completed part of the text, for the full view.
    done_lines: Vec<Line<'static>>,
    done_bytes: usize,
    done_columns: usize,
}

impl Thinking {
    /// A block that begins now.
    pub fn new(now: u64) -> Self {
        Self {
            text: String::new(),
            started: now,
            ended: None,
            tokens: 0,
            exact: false,
            pending: true,
            estimate_ms: 0,
            done_lines: Vec::new(),
            done_bytes: 0,
            done_columns: 0,
        }
    }

    /// Whether it still streams.
    pub fn live(&self) -> bool {
        self.ended.is_none()
    }

    /// More of it.
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.tokens += 1;
    }

    /// It is over.
    pub fn finish(&mut self, now: u64) {
        self.ended.get_or_insert(now);
    }

    /// Whether the step that it belongs to has not reported yet.
    pub fn uncounted(&self) -> bool {
        self.pending
    }

    /// Its step will not report any more.
    pub fn leave_uncounted(&mut self) {
        self.pending = false;
    }

    /// What the step reported: tokens, and the time they took as far as the step can tell.
    pub fn count(&mut self, tokens: usize, milliseconds: u64) {
        self.tokens = tokens;
        self.exact = true;
        self.pending = false;
        self.estimate_ms = milliseconds;
    }

    pub(super) fn forget(&mut self) {
        self.done_columns = 0;
    }

    fn time(&self, now: u64) -> u64 {
        let own = self.ended.unwrap_or(now).saturating_sub(self.started);
        if own < REPLAY_MS && !self.live() { own.max(self.estimate_ms) } else { own }
    }

    pub(super) fn lines(&mut self, fold: Option<Fold>, look: &Look<'_>) -> Vec<Line<'static>> {
        match (fold, look.thinking, self.live()) {
            (Some(Fold::Open), _, _) | (None, ThinkingView::Full, _) => self.full(look),
            (None, ThinkingView::Off, _) => Vec::new(),
            (None, ThinkingView::Tail, true) => self.tail(look),
            (Some(Fold::Folded), _, _)
            | (None, ThinkingView::Folded, _)
            | (None, ThinkingView::Tail, false) => vec![self.head("▸", true, look)],
        }
    }

    /// `▸ 思 12s · 143 tok · first words…`
    fn head(&self, mark: &str, words: bool, look: &Look<'_>) -> Line<'static> {
        let head = look.theme.style(Scope::ThinkingHead);
        let about = if self.exact { "" } else { "~" };
        let tokens = grouped(self.tokens);
        let time = duration(self.time(look.now));
        let mut runs: Vec<Run> = vec![
            (format!("{mark} 思 "), head),
            (format!("{time} · {about}{tokens} tok"), look.theme.style(Scope::Dim)),
        ];
        if words {
            let start: String = self.text.trim_start().chars().take(look.columns).collect();
            let style = look.theme.style(Scope::Thinking);
            runs.push((format!(" · {}…", clean_line(start.trim_end())), style));
        }
        fit(&runs, look.columns)
    }

    fn tail(&self, look: &Look<'_>) -> Vec<Line<'static>> {
        let style = look.theme.style(Scope::Thinking);
        let columns = look.columns.saturating_sub(2).max(1);
        let mut rows: Vec<String> = Vec::new();
        let text = self.text.trim_end_matches('\n');
        for line in text.rsplit('\n') {
            let line = clean(recent(line));
            let ranges = wrap(&line, columns);
            rows.extend(ranges.into_iter().rev().map(|range| line[range].trim_end().to_owned()));
            if rows.len() >= TAIL_ROWS {
                break;
            }
        }
        rows.truncate(TAIL_ROWS);
        rows.reverse();
        rows.resize(TAIL_ROWS, String::new());
        let mut lines = vec![self.head("▾", false, look)];
        lines.extend(rows.into_iter().map(|row| fit(&[(format!("│ {row}"), style)], look.columns)));
        lines
    }

    /// Completed lines of the text are laid out once; only the last one is done again.
    fn full(&mut self, look: &Look<'_>) -> Vec<Line<'static>> {
        let style = look.theme.style(Scope::Thinking);
        let lead = [("│ ".to_owned(), style)];
        let lay = |text: &str| flow(&[(clean(text), style)], look.columns, &lead, &lead);
        if self.done_columns != look.columns {
            self.done_columns = look.columns;
            self.done_bytes = 0;
            self.done_lines.clear();
        }
        if let Some(end) = self.text.rfind('\n').filter(|end| *end >= self.done_bytes) {
            self.done_lines.extend(lay(&self.text[self.done_bytes..end]));
            self.done_bytes = end + 1;
        }
        let mut lines = vec![self.head("▾", false, look)];
        lines.extend(self.done_lines.iter().cloned());
        let rest = &self.text[self.done_bytes..];
        if !rest.is_empty() {
            lines.extend(lay(rest));
        }
        lines
    }
}

/// The end of a very long line, cut at places that do not move while it grows.
fn recent(line: &str) -> &str {
    if line.len() <= TAIL_BYTES {
        return line;
    }
    let mut start = (line.len() - TAIL_BYTES / 2) / (TAIL_BYTES / 2) * (TAIL_BYTES / 2);
    while !line.is_char_boundary(start) {
        start += 1;
    }
    &line[start..]
}
