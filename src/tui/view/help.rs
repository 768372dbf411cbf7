//! Keys and commands, made of the tables that drive them.

use crate::tui::Model;
use crate::tui::commands::COMMANDS;
use crate::tui::flow::{Run, flow};
use crate::tui::keymap::{ANSWER, COMPOSE, EDIT, GLOBAL, JUDGE, PICK, rows};
use crate::tui::theme::{Scope, Theme};
use crate::tui::wrap::width;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Block, Borders, Clear};

/// Draws the help over the screen.
pub fn draw(frame: &mut Frame<'_>, model: &Model, area: Rect) {
    let theme = model.theme();
    let framed = area.width >= 30 && area.height >= 8;
    let area = if framed {
        let wide = area.width.saturating_sub(4).min(84);
        let tall = area.height.saturating_sub(2);
        let x = area.x + (area.width - wide) / 2;
        Rect { x, y: area.y + 1, width: wide, height: tall }
    } else {
        area
    };
    frame.render_widget(Clear, area);
    let mut inner = area;
    if framed {
        let block = Block::new()
            .borders(Borders::ALL)
            .border_style(theme.style(Scope::BorderActive))
            .title(" Help ")
            .title_bottom(" ↑↓ scroll · Esc closes ");
        inner = block.inner(area);
        frame.render_widget(block, area);
        inner.x += 1;
        inner.width = inner.width.saturating_sub(2);
    }
    let page = page(theme, usize::from(inner.width));
    let most = page.len().saturating_sub(usize::from(inner.height));
    super::lines(frame, inner, page.into_iter().skip(model.help_top.min(most)));
}

fn page(theme: &Theme, columns: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let commands = COMMANDS.iter().map(|entry| {
        let name = format!("/{} {}", entry.name, entry.args);
        (name.trim_end().to_owned(), entry.help)
    });
    section(theme, columns, "Writing", rows(COMPOSE), &mut lines);
    section(theme, columns, "Anywhere", rows(GLOBAL), &mut lines);
    section(theme, columns, "Commands", commands.collect(), &mut lines);
    section(theme, columns, "Command list", rows(PICK), &mut lines);
    section(theme, columns, "Review", rows(JUDGE), &mut lines);
    section(theme, columns, "May it run?", rows(ANSWER), &mut lines);
    section(theme, columns, "Editing", rows(EDIT), &mut lines);
    lines.push(Line::default());
    let text = "Shift with the mouse selects text in most terminals; /mouse off always does.";
    lines.extend(flow(&[(text.into(), theme.style(Scope::Dim))], columns, &[], &[]));
    lines
}

fn section(
    theme: &Theme,
    columns: usize,
    title: &str,
    rows: Vec<(String, &'static str)>,
    lines: &mut Vec<Line<'static>>,
) {
    if !lines.is_empty() {
        lines.push(Line::default());
    }
    lines.push(Line::styled(title.to_owned(), theme.style(Scope::Heading)));
    let widest = rows.iter().map(|(keys, _)| width(keys)).max().unwrap_or(0);
    // On narrow screens what a key does stands below it.
    let below = columns < 50;
    let column = if below { 2 } else { (widest + 2).min(columns / 2) };
    for (keys, help) in rows {
        if below {
            lines.push(Line::styled(keys, theme.style(Scope::Key)));
            let lead: [Run; 1] = [("  ".into(), theme.style(Scope::Text))];
            let runs = [(help.to_owned(), theme.style(Scope::Text))];
            lines.extend(flow(&runs, columns, &lead, &lead));
            continue;
        }
        let pad = " ".repeat(column.saturating_sub(width(&keys)).max(1));
        let first: [Run; 1] = [(format!("{keys}{pad}"), theme.style(Scope::Key))];
        let rest: [Run; 1] = [(" ".repeat(column), theme.style(Scope::Text))];
        let runs = [(help.to_owned(), theme.style(Scope::Text))];
        lines.extend(flow(&runs, columns, &first, &rest));
    }
}
