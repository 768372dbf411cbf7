//! A tool call: being written, asked for, running with its latest output, done with its result.
//!
//! Output is folded to its summary (a failure also shows its last lines). Invariant: what is kept of
//! live output is bounded, however much comes.

use super::Look;
use crate::protocol::{Args, CallId, ToolOutput, ToolStatus};
use crate::tui::flow::{Run, fit, flow, plain};
use crate::tui::text::{bytes, clean_line, clean_output, duration, plural};
use crate::tui::theme::Scope;
use crate::tui::wrap::truncate;
use ratatui::text::Line;

/// Rows of live output, and of a failure's end.
const PREVIEW_ROWS: usize = 4;
/// Bytes of live text kept.
const LIVE_BYTES: usize = 8_192;
/// Rows shown of an opened output.
const MOST_ROWS: usize = 2_000;
/// Cells of one argument on the head line.
const ARGUMENT_CELLS: usize = 60;

/// How far a call is.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolState {
    /// The model is writing it.
    Writing,
    /// Complete; a preview, a decision or its turn is awaited.
    Waiting,
    /// It runs since this time.
    Running(u64),
    /// It is over.
    Over(ToolOutput),
}

/// One call.
#[derive(Debug)]
pub struct Tool {
    /// Given once the call is complete.
    pub call: Option<CallId>,
    /// The tool's name.
    pub name: String,
    /// How far it is.
    pub state: ToolState,
    title: String,
    live: String,
    received: usize,
    took: u64,
    notes: Vec<String>,
}

impl Tool {
    /// A call whose name was just written.
    pub fn writing(name: &str) -> Self {
        Self {
            call: None,
            name: name.to_owned(),
            state: ToolState::Writing,
            title: String::new(),
            live: String::new(),
            received: 0,
            took: 0,
            notes: Vec::new(),
        }
    }

    /// The call is complete.
    pub fn requested(&mut self, call: CallId, args: &Args, repairs: &[String]) {
        self.call = Some(call);
        self.state = ToolState::Waiting;
        self.title = describe(args);
        self.notes = repairs.iter().map(|note| clean_line(note)).collect();
        self.live.clear();
    }

    /// It runs.
    pub fn started(&mut self, title: &str, now: u64) {
        self.state = ToolState::Running(now);
        self.live.clear();
        if !title.is_empty() {
            // A title may begin with the tool's name, which stands before it already.
            let line = clean_line(title);
            let rest = line.strip_prefix(&self.name).filter(|rest| rest.starts_with(' '));
            self.title = rest.map_or(line.as_str(), str::trim_start).to_owned();
        }
    }

    /// Raw text of the call, or output of the tool.
    pub fn push(&mut self, text: &str) {
        self.received += text.len();
        self.live.push_str(text);
        if self.live.len() > 2 * LIVE_BYTES {
            let mut from = self.live.len() - LIVE_BYTES;
            while !self.live.is_char_boundary(from) {
                from += 1;
            }
            self.live.drain(..from);
        }
    }

    /// It is over.
    pub fn finish(&mut self, output: ToolOutput, now: u64) {
        if let ToolState::Running(since) = self.state {
            self.took = now.saturating_sub(since);
        }
        self.live = String::new();
        self.state = ToolState::Over(output);
    }

    /// The turn ended and nobody will tell what came of it.
    pub fn stop(&mut self, now: u64) {
        self.finish(ToolOutput::stopped(String::new()), now);
    }

    /// Bytes of live text kept.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.live.len()
    }

    /// Whether it is not over.
    pub fn open(&self) -> bool {
        !matches!(self.state, ToolState::Over(_))
    }

    /// Whether opening it would show anything.
    pub fn has_more(&self) -> bool {
        match &self.state {
            ToolState::Over(output) => !output.text.trim().is_empty(),
            ToolState::Writing | ToolState::Running(_) => !self.live.is_empty(),
            ToolState::Waiting => false,
        }
    }

    pub(super) fn lines(&self, open: bool, look: &Look<'_>) -> Vec<Line<'static>> {
        let mut lines = self.head(open, look);
        match &self.state {
            ToolState::Writing | ToolState::Running(_) => lines.extend(self.latest(look)),
            ToolState::Waiting => {}
            ToolState::Over(output) => lines.extend(output_lines(output, open, look)),
        }
        lines
    }

    fn head(&self, open: bool, look: &Look<'_>) -> Vec<Line<'static>> {
        let style = |scope| look.theme.style(scope);
        let (mark, scope) = match &self.state {
            ToolState::Writing | ToolState::Waiting => ("…", Scope::ToolRunning),
            ToolState::Running(_) => ("▸", Scope::ToolRunning),
            ToolState::Over(output) => match output.status {
                ToolStatus::Done => ("✓", Scope::ToolDone),
                ToolStatus::Failed => ("✗", Scope::ToolFailed),
                ToolStatus::Refused => ("⊘", Scope::ToolStopped),
                ToolStatus::Stopped => ("■", Scope::ToolStopped),
            },
        };
        let mut runs: Vec<Run> = vec![
            (format!("{mark} "), style(scope)),
            (clean_line(&self.name), style(Scope::ToolName)),
        ];
        if !self.title.is_empty() {
            runs.push((format!(" {}", self.title), style(Scope::Text)));
        }
        let tail = self.tail(look.now);
        if !tail.is_empty() {
            runs.push((format!(" · {tail}"), style(scope)));
        }
        if !open {
            return vec![fit(&runs, look.columns)];
        }
        for note in &self.notes {
            runs.push((format!("\nread with tolerance: {note}"), style(Scope::Dim)));
        }
        let indent = [("  ".to_owned(), style(Scope::Text))];
        flow(&runs, look.columns, &[], &indent)
    }

    /// What stands at the end of the head line.
    fn tail(&self, now: u64) -> String {
        match &self.state {
            ToolState::Writing if self.received > 0 => bytes(self.received as u64),
            ToolState::Writing | ToolState::Waiting => String::new(),
            ToolState::Running(since) => duration(now.saturating_sub(*since)),
            ToolState::Over(output) => {
                let summary = clean_line(&output.summary);
                match (self.took >= 1_000, summary.is_empty()) {
                    (true, true) => duration(self.took),
                    (true, false) => format!("{summary} · {}", duration(self.took)),
                    (false, _) => summary,
                }
            }
        }
    }

    /// Fixed height, so that nothing below moves while output comes.
    fn latest(&self, look: &Look<'_>) -> Vec<Line<'static>> {
        if self.live.is_empty() {
            return Vec::new();
        }
        let style = look.theme.style(Scope::ToolOutput);
        let text = clean_output(&self.live);
        let mut rows: Vec<&str> = text.trim_end().lines().rev().take(PREVIEW_ROWS).collect();
        rows.reverse();
        rows.resize(PREVIEW_ROWS, "");
        let row = |row: &str| fit(&[(format!("  {row}"), style)], look.columns);
        rows.into_iter().map(row).collect()
    }
}

fn output_lines(output: &ToolOutput, open: bool, look: &Look<'_>) -> Vec<Line<'static>> {
    let style = look.theme.style(Scope::ToolOutput);
    let columns = look.columns.saturating_sub(2).max(1);
    let text = clean_output(output.text.trim_end());
    let indent = |line: Line<'static>| {
        let mut line = line;
        line.spans.insert(0, "  ".into());
        line
    };
    let count = text.lines().count();
    if open {
        let mut lines: Vec<Line<'static>> = text
            .lines()
            .take(MOST_ROWS)
            .flat_map(|line| plain(line, style, columns))
            .map(indent)
            .collect();
        if count > MOST_ROWS {
            let rest = format!("… {} more", plural(count - MOST_ROWS, "line"));
            lines.extend(
                plain(&rest, look.theme.style(Scope::Dim), columns).into_iter().map(indent),
            );
        }
        return lines;
    }
    if output.status != ToolStatus::Failed {
        return Vec::new();
    }
    let skip = count.saturating_sub(PREVIEW_ROWS);
    let mut lines = Vec::new();
    if skip > 0 {
        let more = format!("… {} above (Tab)", plural(skip, "line"));
        lines.push(indent(fit(&[(more, look.theme.style(Scope::Dim))], columns)));
    }
    let last = text.lines().skip(skip);
    lines.extend(last.map(|line| indent(fit(&[(line.to_owned(), style)], columns))));
    lines
}

/// Arguments in one line: `src/a.rs · old "…" · new "…"`.
fn describe(args: &Args) -> String {
    let show = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let parts = args.iter().enumerate().map(|(index, (key, value))| {
        let text = truncate(&clean_line(&head_of(&show(value))), ARGUMENT_CELLS);
        if index == 0 { text } else { format!("{}: {text}", clean_line(key)) }
    });
    parts.collect::<Vec<_>>().join(" · ")
}

/// Enough of a long argument for one line.
fn head_of(text: &str) -> String {
    text.chars().take(2 * ARGUMENT_CELLS).collect()
}
