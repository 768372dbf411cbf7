//! The transcript, what is queued, and the welcome of an empty session.

use super::screen::Regions;
use crate::tui::Model;
use crate::tui::flow::{fit, flow};
use crate::tui::text::{clean_line, grouped, plural};
use crate::tui::theme::Scope;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;

/// Draws the transcript and what waits below it.
pub fn draw(frame: &mut Frame<'_>, model: &Model, regions: &Regions) {
    let area = regions.transcript;
    if model.transcript.cells().is_empty() {
        welcome(frame, model, area);
    } else {
        rows(frame, model, area);
        below(frame, model, area);
    }
    waiting(frame, model, regions.waiting);
}

fn rows(frame: &mut Frame<'_>, model: &Model, area: Rect) {
    let top = model.transcript.top();
    let bottom = top + usize::from(area.height);
    for (index, cell) in model.transcript.cells().iter().enumerate() {
        let start = model.transcript.start(index);
        if start >= bottom {
            break;
        }
        for row in top.max(start)..bottom.min(start + cell.height()) {
            let Some(line) = cell.line(row - start) else {
                continue;
            };
            let y = area.y + u16::try_from(row - top).unwrap_or(0);
            let place = Rect { y, height: 1, ..area };
            frame.render_widget(line, place);
            if row == start + cell.gap() && model.transcript.marked(index) {
                frame.buffer_mut().set_style(place, model.theme().style(Scope::Focus));
            }
        }
    }
}

/// Tells what is below the window while it does not follow.
fn below(frame: &mut Frame<'_>, model: &Model, area: Rect) {
    if model.transcript.follows() || area.height == 0 {
        return;
    }
    let (new, hidden) = model.transcript.below();
    let text = match new {
        0 => format!(" ↓ {} below · End ", plural(hidden, "line")),
        new => format!(" ↓ {} new · End ", grouped(new)),
    };
    let line = Line::styled(text, model.theme().style(Scope::StatusWaiting));
    let width = u16::try_from(line.width()).unwrap_or(0).min(area.width);
    let place = Rect { x: area.right() - width, y: area.bottom() - 1, width, height: 1 };
    frame.render_widget(line, place);
}

fn welcome(frame: &mut Frame<'_>, model: &Model, area: Rect) {
    let style = |scope| model.theme().style(scope);
    let columns = usize::from(area.width);
    let indent = [("  ".to_owned(), style(Scope::Text))];
    let mut lines = vec![Line::styled("  Tessera", style(Scope::Accent))];
    if !model.session.root.is_empty() {
        let branch = model.session.branch.as_ref();
        let branch = branch.map(|name| format!(" · {name}")).unwrap_or_default();
        let text = clean_line(&format!("{}{branch}", model.session.root));
        lines.extend(flow(&[(text, style(Scope::Dim))], columns, &indent, &indent));
    }
    for text in [
        "\nSay what you want to know or changed in this project.",
        "Nothing is written before you have seen it.",
    ] {
        lines.extend(flow(&[(text.into(), style(Scope::Text))], columns, &indent, &indent));
    }
    let mut keys = vec![("\n".to_owned(), style(Scope::Text))];
    for (key, what) in [("/", "commands"), ("?", "help"), ("Ctrl+C", "stop, quit")] {
        keys.push((key.to_owned(), style(Scope::Key)));
        keys.push((format!(" {what}   "), style(Scope::Dim)));
    }
    lines.extend(flow(&keys, columns, &indent, &indent));
    let skip = u16::from(area.height > 10);
    let area = Rect { y: area.y + skip, height: area.height - skip, ..area };
    super::lines(frame, area, lines);
}

/// Queued messages, and what was left without a decision.
fn waiting(frame: &mut Frame<'_>, model: &Model, area: Rect) {
    let style = |scope| model.theme().style(scope);
    let columns = usize::from(area.width);
    let mut lines = Vec::new();
    if model.layers.is_empty() {
        if let Some(review) = &model.review {
            let hunks = plural(review.tally(None).2, "hunk");
            let text = format!(" {hunks} to review · Ctrl+R or Enter opens ");
            lines.push(fit(&[(text, style(Scope::StatusWaiting))], columns));
        } else if model.question.is_some() {
            let text = " a command waits for your yes or no · Ctrl+R or Enter opens ";
            lines.push(fit(&[(text.into(), style(Scope::StatusWaiting))], columns));
        }
    }
    let shown = usize::from(area.height).saturating_sub(lines.len());
    let skip = model.queued.len().saturating_sub(shown);
    for (index, text) in model.queued.iter().skip(skip).enumerate() {
        let more = if index == 0 && skip > 0 { format!("(+{skip}) ") } else { String::new() };
        let text = format!("▌ queued: {more}{}", clean_line(text.trim()));
        lines.push(fit(&[(text, style(Scope::Queued))], columns));
    }
    super::lines(frame, area, lines);
}
