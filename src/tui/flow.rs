//! Styled text broken into lines for the screen.
//!
//! Sits between `wrap.rs` (places) and ratatui's `Line` (drawing). The text must be clean already.

use super::wrap::{width, wrap_with};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

/// A run of text in one style.
pub type Run = (String, Style);

/// Breaks `runs` into lines of `columns` cells. `first` stands before the first line, `rest` before
/// the others; both count against the width. A `\n` in a run begins a new line.
pub fn flow(runs: &[Run], columns: usize, first: &[Run], rest: &[Run]) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for part in split_lines(runs) {
        let lead = if lines.is_empty() { first } else { rest };
        let text: String = part.iter().map(|(text, _)| text.as_str()).collect();
        let room = |lead: &[Run]| columns.saturating_sub(cells(lead)).max(1);
        for (index, range) in wrap_with(&text, room(lead), room(rest)).into_iter().enumerate() {
            let lead = if index == 0 { lead } else { rest };
            let end = range.start + text[range.clone()].trim_end_matches(' ').len();
            let mut spans: Vec<Span<'static>> = lead.iter().map(span).collect();
            spans.extend(cut(&part, range.start, end));
            lines.push(Line::from(spans));
        }
    }
    lines
}

/// One run broken into lines, without anything before them.
pub fn plain(text: &str, style: Style, columns: usize) -> Vec<Line<'static>> {
    flow(&[(text.to_owned(), style)], columns, &[], &[])
}

/// One line of runs, cut to `columns` cells with `…`.
pub fn fit(runs: &[Run], columns: usize) -> Line<'static> {
    let mut left = columns;
    let mut spans = Vec::new();
    for (text, style) in runs {
        if left == 0 {
            break;
        }
        let text = super::wrap::truncate(text, left);
        left -= width(&text);
        spans.push(Span::styled(text, *style));
    }
    Line::from(spans)
}

/// Cells that `runs` take.
pub fn cells(runs: &[Run]) -> usize {
    runs.iter().map(|(text, _)| width(text)).sum()
}

fn span((text, style): &Run) -> Span<'static> {
    Span::styled(text.clone(), *style)
}

fn split_lines(runs: &[Run]) -> Vec<Vec<Run>> {
    let mut lines = vec![Vec::new()];
    for (text, style) in runs {
        for (index, part) in text.split('\n').enumerate() {
            if index > 0 {
                lines.push(Vec::new());
            }
            if let (false, Some(line)) = (part.is_empty(), lines.last_mut()) {
                line.push((part.to_owned(), *style));
            }
        }
    }
    lines
}

/// The bytes `from..to` of the joined text, in their styles.
fn cut(runs: &[Run], from: usize, to: usize) -> Vec<Span<'static>> {
    let mut spans = Vec::new();
    let mut start = 0;
    for (text, style) in runs {
        let end = start + text.len();
        let (low, high) = (from.max(start), to.min(end));
        if low < high {
            spans.push(Span::styled(text[low - start..high - start].to_owned(), *style));
        }
        start = end;
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_keep_their_style_over_a_break() {
        let bold = Style::new().bold();
        let runs = [("aa b".to_owned(), Style::new()), ("b cc\ndd".to_owned(), bold)];
        let first = [("- ".to_owned(), Style::new())];
        let rest = [("  ".to_owned(), Style::new())];
        let lines = flow(&runs, 7, &first, &rest);
        let texts: Vec<String> = lines.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["- aa bb", "  cc", "  dd"]);
        assert_eq!(lines[0].spans.last().unwrap().style, bold);
    }
}
