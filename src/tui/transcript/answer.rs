//! What the model says, as markdown, drawn while it streams.
//!
//! Blocks that are complete are laid out once; only the unfinished end is done again for a frame.
//! Invariant: the lines are those of the whole text, wherever it was cut.

use super::Look;
use crate::tui::flow::Run;
use crate::tui::markdown::{render, settled};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

/// Everything in the transcript stands two cells in, next to the marks.
const INDENT: &str = "  ";

/// One answer.
#[derive(Debug, Default)]
pub struct Answer {
    text: String,
    done: bool,
    fixed: Vec<Line<'static>>,
    fixed_bytes: usize,
    fixed_columns: usize,
}

impl Answer {
    /// An answer that begins with `text`.
    pub fn new(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    /// More of it.
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Raw markdown.
    pub fn text(&self) -> &str {
        self.text.trim()
    }

    /// Whether nothing more comes.
    pub fn done(&self) -> bool {
        self.done
    }

    /// Nothing more comes.
    pub fn finish(&mut self) {
        self.done = true;
    }

    pub(super) fn forget(&mut self) {
        self.fixed_columns = 0;
    }

    pub(super) fn lines(&mut self, look: &Look<'_>) -> Vec<Line<'static>> {
        if self.fixed_columns != look.columns {
            self.fixed_columns = look.columns;
            self.fixed_bytes = 0;
            self.fixed.clear();
        }
        let end = boundary(&self.text, self.fixed_bytes);
        if end > self.fixed_bytes {
            let lines = lay(&self.text[self.fixed_bytes..end], look);
            join(&mut self.fixed, lines);
            self.fixed_bytes = end;
        }
        let rest = &self.text[self.fixed_bytes..];
        let mut lines = self.fixed.clone();
        join(&mut lines, lay(if self.done { rest } else { settled(rest) }, look));
        lines
    }
}

fn lay(text: &str, look: &Look<'_>) -> Vec<Line<'static>> {
    let columns = look.columns.saturating_sub(INDENT.len()).max(1);
    let mut lines = render(text, columns, look.theme);
    for line in &mut lines {
        line.spans.insert(0, Span::styled(INDENT, Style::new()));
    }
    lines
}

fn join(lines: &mut Vec<Line<'static>>, more: Vec<Line<'static>>) {
    if !lines.is_empty() && !more.is_empty() {
        let blank: Run = (String::new(), Style::new());
        lines.push(Line::styled(blank.0, blank.1));
    }
    lines.extend(more);
}

/// The last place after `from` where one top-level block ends and another has begun.
///
/// Lists and indented text are left whole, since what follows a blank line may belong to them; so
/// are code blocks.
fn boundary(text: &str, from: usize) -> usize {
    let mut at = from;
    let mut found = from;
    let mut fence: Option<&str> = None;
    let mut blank = false;
    for line in text[from..].split_inclusive('\n') {
        let bare = line.trim_start_matches(' ');
        let mark = ["```", "~~~"].into_iter().find(|mark| bare.starts_with(mark));
        if blank && fence.is_none() && line.ends_with('\n') && begins_block(line) {
            found = at;
        }
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_) | None, _) => {}
        }
        blank = line.trim().is_empty();
        at += line.len();
    }
    found
}

fn begins_block(line: &str) -> bool {
    let first = line.chars().next();
    first.is_some_and(|c| !c.is_whitespace() && !c.is_ascii_digit() && !"-*+".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::ThinkingView;
    use crate::tui::theme::Theme;

    const TEXT: &str = "# T\n\npara *one*\ntwo\n\n- a\n\n- b\n\n  c\n\n```rust\nfn a() {\n\n}\n```\n\nend of it\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nlast `x`\n";

    #[test]
    fn streaming_in_pieces_ends_in_the_lines_of_the_whole() {
        let theme = Theme::plain();
        let look = Look {
            theme: &theme,
            columns: 24,
            thinking: ThinkingView::Tail,
            output: false,
            now: 0,
        };
        let whole = lay(TEXT, &look);
        for size in [1, 3, 7] {
            let mut answer = Answer::default();
            for piece in TEXT.as_bytes().chunks(size) {
                answer.push(std::str::from_utf8(piece).unwrap());
                answer.lines(&look);
            }
            answer.finish();
            let texts = |lines: &[Line<'_>]| -> Vec<String> {
                lines.iter().map(|line| line.to_string().trim_end().to_owned()).collect()
            };
            assert_eq!(texts(&answer.lines(&look)), texts(&whole));
            assert!(answer.fixed_bytes > 0);
        }
    }
}
