//! One cell: what it holds, how it is folded, and its lines on screen.
//!
//! The bodies with a life of their own are in `thinking.rs`, `answer.rs` and `tool.rs`. Invariant:
//! lines are laid out again only after [`Cell::change`], [`Cell::forget`], a new width, or while the
//! body is live.

use super::{Answer, Thinking, Tool};
use crate::protocol::Level;
use crate::tui::ThinkingView;
use crate::tui::flow::{Run, flow};
use crate::tui::text::{clean, clean_line, grouped, plural};
use crate::tui::theme::{Scope, Theme};
use ratatui::text::Line;

/// Rows of a long message shown before it is opened.
const MESSAGE_ROWS: usize = 12;

/// What a cell needs to know to lay itself out.
#[derive(Clone, Copy, Debug)]
pub struct Look<'a> {
    /// Styles.
    pub theme: &'a Theme,
    /// Cells in a row.
    pub columns: usize,
    /// Look of thinking blocks that were not opened or folded by hand.
    pub thinking: ThinkingView,
    /// Tool output is whole unless folded by hand.
    pub output: bool,
    /// Milliseconds since the start.
    pub now: u64,
}

/// Open or folded by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    /// One line, or the beginning.
    Folded,
    /// Everything.
    Open,
}

/// What a cell is.
#[derive(Debug)]
pub enum Body {
    /// What the person wrote.
    User(String),
    /// A block of reasoning.
    Thinking(Thinking),
    /// What the model said.
    Answer(Answer),
    /// A tool call and what came of it.
    Tool(Tool),
    /// Files were written or restored.
    Changes {
        /// Relative paths.
        paths: Vec<String>,
        /// Lines that came.
        added: usize,
        /// Lines that went.
        removed: usize,
    },
    /// One dim line about the turn that ended.
    Summary(String),
    /// Something to tell the person.
    Notice {
        /// How loud.
        level: Level,
        /// What.
        text: String,
    },
}

impl Body {
    /// The block of reasoning, if it is one.
    pub fn thinking(&self) -> Option<&Thinking> {
        if let Self::Thinking(block) = self { Some(block) } else { None }
    }

    /// The block of reasoning, to be changed.
    pub fn thinking_mut(&mut self) -> Option<&mut Thinking> {
        if let Self::Thinking(block) = self { Some(block) } else { None }
    }

    /// The answer, if it is one.
    pub fn answer(&self) -> Option<&Answer> {
        if let Self::Answer(answer) = self { Some(answer) } else { None }
    }

    /// The answer, to be changed.
    pub fn answer_mut(&mut self) -> Option<&mut Answer> {
        if let Self::Answer(answer) = self { Some(answer) } else { None }
    }

    /// The call, if it is one.
    pub fn tool(&self) -> Option<&Tool> {
        if let Self::Tool(tool) = self { Some(tool) } else { None }
    }

    /// The call, to be changed.
    pub fn tool_mut(&mut self) -> Option<&mut Tool> {
        if let Self::Tool(tool) = self { Some(tool) } else { None }
    }
}

/// A body with its lines.
#[derive(Debug)]
pub struct Cell {
    body: Body,
    /// Set by hand; `None` leaves it to the look.
    pub(super) fold: Option<Fold>,
    lines: Vec<Line<'static>>,
    gap: usize,
    columns: usize,
    fresh: bool,
}

impl Cell {
    pub(super) fn new(body: Body) -> Self {
        Self { body, fold: None, lines: Vec::new(), gap: 0, columns: 0, fresh: false }
    }

    /// What it holds.
    pub fn body(&self) -> &Body {
        &self.body
    }

    /// What it holds, to be changed.
    pub(super) fn change(&mut self) -> &mut Body {
        self.fresh = false;
        &mut self.body
    }

    /// Lays it out anew at the next frame.
    pub(super) fn forget(&mut self) {
        self.fresh = false;
        if let Body::Thinking(block) = &mut self.body {
            block.forget();
        }
        if let Body::Answer(answer) = &mut self.body {
            answer.forget();
        }
    }

    /// Whether its lines are those of its content.
    #[cfg(test)]
    pub(super) fn fresh(&self) -> bool {
        self.fresh
    }

    /// Rows on screen, the blank ones before it included; 0 when it is hidden.
    pub fn height(&self) -> usize {
        if self.lines.is_empty() { 0 } else { self.gap + self.lines.len() }
    }

    /// Blank rows before it.
    pub fn gap(&self) -> usize {
        self.gap
    }

    /// Row `row` of it; `None` for the blank ones before it.
    pub fn line(&self, row: usize) -> Option<&Line<'static>> {
        self.lines.get(row.checked_sub(self.gap)?)
    }

    /// Whether it has more to show than it may show.
    pub fn foldable(&self) -> bool {
        match &self.body {
            Body::Thinking(_) => true,
            Body::Tool(tool) => tool.has_more(),
            Body::User(text) => text.lines().nth(MESSAGE_ROWS).is_some() || text.len() > 2_000,
            Body::Answer(_) | Body::Changes { .. } | Body::Summary(_) | Body::Notice { .. } => {
                false
            }
        }
    }

    /// Whether everything is shown under this look.
    pub fn is_open(&self, look: &Look<'_>) -> bool {
        match (self.fold, &self.body) {
            (Some(fold), _) => fold == Fold::Open,
            (None, Body::Thinking(_)) => look.thinking == ThinkingView::Full,
            (None, Body::Tool(_)) => look.output,
            (None, _) => false,
        }
    }

    pub(super) fn lay_out(&mut self, look: &Look<'_>, previous: Option<&Body>) {
        self.gap = usize::from(previous.is_some_and(|previous| set_off(previous, &self.body)));
        let live = match &self.body {
            Body::Thinking(block) => block.live(),
            Body::Tool(tool) => tool.open(),
            Body::User(_)
            | Body::Answer(_)
            | Body::Changes { .. }
            | Body::Summary(_)
            | Body::Notice { .. } => false,
        };
        if self.fresh && !live && self.columns == look.columns {
            return;
        }
        let open = self.is_open(look);
        self.lines = match &mut self.body {
            Body::User(text) => user(text, open, look),
            Body::Thinking(block) => block.lines(self.fold, look),
            Body::Answer(answer) => answer.lines(look),
            Body::Tool(tool) => tool.lines(open, look),
            Body::Changes { paths, added, removed } => changes(paths, *added, *removed, look),
            Body::Summary(text) => {
                let runs = [(format!("  {}", clean_line(text)), look.theme.style(Scope::Dim))];
                vec![crate::tui::flow::fit(&runs, look.columns)]
            }
            Body::Notice { level, text } => notice(*level, text, look),
        };
        self.columns = look.columns;
        self.fresh = true;
    }
}

/// Whether a blank row parts two cells: runs of one-line cells stand close together.
fn set_off(previous: &Body, body: &Body) -> bool {
    let line = |body: &Body| match body {
        Body::Tool(_) | Body::Changes { .. } | Body::Notice { .. } => true,
        Body::User(_) | Body::Thinking(_) | Body::Answer(_) | Body::Summary(_) => false,
    };
    !matches!(body, Body::Summary(_)) && (!line(previous) || !line(body))
}

fn user(text: &str, open: bool, look: &Look<'_>) -> Vec<Line<'static>> {
    let style = look.theme.style(Scope::User);
    let bar = [("▌ ".to_owned(), look.theme.style(Scope::UserBar))];
    let cap = if open { usize::MAX } else { MESSAGE_ROWS };
    let shown: Vec<&str> = text.lines().take(cap.saturating_add(1)).collect();
    let text_shown = if open { text.to_owned() } else { cut(&shown.join("\n"), 4_000) };
    let mut lines = flow(&[(clean(&text_shown), style)], look.columns, &bar, &bar);
    if lines.len() > cap || text_shown.len() < text.trim_end().len() {
        lines.truncate(cap);
        let more = text.lines().count().saturating_sub(cap);
        let label = format!("… {} more lines (Tab)", grouped(more));
        let dim = look.theme.style(Scope::Dim);
        lines.extend(flow(&[(label, dim)], look.columns, &bar, &bar));
    }
    lines
}

fn cut(text: &str, most: usize) -> String {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}

fn changes(paths: &[String], added: usize, removed: usize, look: &Look<'_>) -> Vec<Line<'static>> {
    let style = |scope| look.theme.style(scope);
    let names: Vec<String> = paths.iter().map(|path| clean_line(path)).collect();
    let runs: Vec<Run> = vec![
        (plural(paths.len(), "file"), style(Scope::Strong)),
        (" changed ".into(), style(Scope::Text)),
        (format!("+{added}"), style(Scope::Accepted)),
        (" ".into(), style(Scope::Text)),
        (format!("−{removed}"), style(Scope::Rejected)),
        (format!("  {}", names.join(", ")), style(Scope::Dim)),
    ];
    let first = [("± ".to_owned(), style(Scope::Accent))];
    let rest = [("  ".to_owned(), style(Scope::Text))];
    flow(&runs, look.columns, &first, &rest)
}

fn notice(level: Level, text: &str, look: &Look<'_>) -> Vec<Line<'static>> {
    let (mark, scope) = match level {
        Level::Info => ("i ", Scope::Info),
        Level::Warning => ("! ", Scope::Warning),
        Level::Error => ("✗ ", Scope::Error),
    };
    let style = look.theme.style(scope);
    let first = [(mark.to_owned(), style)];
    let rest = [("  ".to_owned(), style)];
    let body = look.theme.style(if level == Level::Error { Scope::Error } else { Scope::Text });
    flow(&[(clean(text.trim_end()), body)], look.columns, &first, &rest)
}
