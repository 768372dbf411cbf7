//! The composer, its caret, and the completion list above it.

use super::screen::{Regions, composer_columns};
use super::{at, lines};
use crate::tui::Model;
use crate::tui::composer::{Editor, Layout};
use crate::tui::flow::{Run, cells, fit};
use crate::tui::theme::{Scope, Theme};
use crate::tui::update::popup;
use crate::tui::wrap::width;
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Clear;

/// Draws the composer and returns where the caret is.
pub fn draw(frame: &mut Frame<'_>, model: &Model, regions: &Regions) -> Option<Position> {
    let theme = model.theme();
    let area = regions.composer;
    rule(frame, theme, regions.rule, Scope::Border);
    let mark = Line::styled("› ", theme.style(Scope::Prompt));
    frame.render_widget(mark, area);
    let text = Rect {
        x: area.x + super::screen::PROMPT.min(area.width),
        width: area.width.saturating_sub(super::screen::PROMPT),
        ..area
    };
    if model.composer.editor.is_empty() {
        let words = placeholder(model);
        let runs = [(words.to_owned(), theme.style(Scope::Placeholder))];
        lines(frame, text, [fit(&runs, usize::from(text.width))]);
        return Some(at(text, 0, 0));
    }
    let layout = Layout::new(&model.composer.editor, composer_columns(model));
    let caret = editor(frame, theme, text, &layout);
    completions(frame, model, regions);
    Some(caret)
}

fn placeholder(model: &Model) -> &'static str {
    if model.closing.is_some() {
        "closing…"
    } else if model.review.is_some() || model.question.is_some() {
        "Enter opens what waits for you"
    } else if model.turn.is_some() {
        "write on: it is read before the next step"
    } else {
        "write a message, / for commands"
    }
}

/// Draws the rows around the caret and returns where the caret is.
fn editor(frame: &mut Frame<'_>, theme: &Theme, area: Rect, layout: &Layout) -> Position {
    let height = usize::from(area.height);
    let (row, column) = layout.caret;
    let top = (row + 1).saturating_sub(height.max(1));
    let shown = layout.rows.iter().skip(top).map(|row| {
        let runs = row.runs().into_iter().map(|(text, stands_in)| {
            let scope = if stands_in { Scope::Paste } else { Scope::Text };
            Span::styled(text, theme.style(scope))
        });
        Line::from(runs.collect::<Vec<_>>())
    });
    lines(frame, area, shown);
    at(area, column, row - top)
}

/// A one-line text field with its label; returns where the caret is. The text scrolls sideways.
pub fn field(
    frame: &mut Frame<'_>,
    theme: &Theme,
    area: Rect,
    label: &str,
    editor: &Editor,
) -> Position {
    let label_cells = width(label).min(usize::from(area.width) / 2);
    let columns = usize::from(area.width).saturating_sub(label_cells).max(2);
    let layout = Layout::new(editor, columns - 1);
    let (row, column) = layout.caret;
    let text = layout.rows.get(row).map(|row| row.runs()).unwrap_or_default();
    let mut runs: Vec<Run> = fit_label(theme, label, label_cells);
    runs.extend(text.into_iter().map(|(text, _)| (text, theme.style(Scope::Text))));
    lines(frame, area, [fit(&runs, usize::from(area.width))]);
    at(area, label_cells + column, 0)
}

fn fit_label(theme: &Theme, label: &str, cells: usize) -> Vec<Run> {
    vec![(crate::tui::wrap::truncate(label, cells), theme.style(Scope::Key))]
}

/// The line that parts the composer from what is above.
pub fn rule(frame: &mut Frame<'_>, theme: &Theme, area: Rect, scope: Scope) {
    let text = "─".repeat(usize::from(area.width));
    lines(frame, area, [Line::styled(text, theme.style(scope))]);
}

fn completions(frame: &mut Frame<'_>, model: &Model, regions: &Regions) {
    let list = popup(model);
    let below = [regions.activity, regions.rule, regions.composer];
    let below = below.into_iter().find(|region| region.height > 0);
    let above = below.map_or(0, |region| region.y);
    let height = u16::try_from(list.len()).unwrap_or(8).min(8).min(above);
    if height == 0 {
        return;
    }
    let theme = model.theme();
    let selected = model.composer.selected.min(list.len() - 1);
    let skip = (selected + 1).saturating_sub(usize::from(height));
    let label = list.iter().map(|entry| width(&entry.label)).max().unwrap_or(0);
    let help = list.iter().map(|entry| width(&entry.help)).max().unwrap_or(0);
    let wide = u16::try_from(label + help + 5).unwrap_or(u16::MAX);
    let area = Rect {
        x: regions.composer.x,
        y: above - height,
        width: wide.min(regions.composer.width),
        height,
    };
    frame.render_widget(Clear, area);
    let shown = list.iter().enumerate().skip(skip).map(|(index, entry)| {
        let chosen = index == selected;
        let base = theme.style(if chosen { Scope::PopupSelected } else { Scope::Popup });
        let pad = " ".repeat(label - width(&entry.label));
        let help = if chosen { base } else { base.patch(theme.style(Scope::Dim)) };
        let mut runs =
            vec![(format!(" {}{pad}  ", entry.label), base), (format!("{} ", entry.help), help)];
        let rest = usize::from(area.width).saturating_sub(cells(&runs));
        runs.push((" ".repeat(rest), base));
        fit(&runs, usize::from(area.width))
    });
    lines(frame, area, shown);
}
