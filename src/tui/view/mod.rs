//! Drawing. Pure: everything comes from `&Model`, nothing is remembered.
//!
//! Invariant: any size works, down to a single cell; what does not fit is left out in a fixed order.

mod approval;
mod composer;
mod help;
mod review;
mod screen;
mod status;
mod transcript;

pub use approval::rows as approval_rows;
pub use screen::{composer_columns, regions};

use super::Model;
use super::flow::{Run, cells};
use super::keymap::{Binding, labels};
use super::overlay::Layer;
use super::theme::{Scope, Theme};
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;

/// Draws the whole screen and puts the terminal's cursor at the caret.
pub fn draw(frame: &mut Frame<'_>, model: &Model) {
    let area = frame.area();
    if area.width == 0 || area.height == 0 {
        return;
    }
    let regions = screen::regions_in(model, area);
    let top = model.layers.last().copied();
    status::draw(frame, model, &regions);
    let caret = match top {
        Some(Layer::Review) => review::draw(frame, model, &regions),
        Some(Layer::Approval) | Some(Layer::Help) | None => {
            transcript::draw(frame, model, &regions);
            match top {
                Some(Layer::Approval) => approval::draw(frame, model, &regions),
                Some(Layer::Help | Layer::Review) | None => composer::draw(frame, model, &regions),
            }
        }
    };
    if top == Some(Layer::Help) {
        help::draw(frame, model, area);
    } else if let Some(caret) = caret
        && area.contains(caret)
    {
        frame.set_cursor_position(caret);
    }
}

/// Draws lines from the top of `area`.
fn lines<'a>(frame: &mut Frame<'_>, area: Rect, lines: impl IntoIterator<Item = Line<'a>>) {
    for (row, line) in (area.top()..area.bottom()).zip(lines) {
        frame.render_widget(line, Rect { y: row, height: 1, ..area });
    }
}

/// One line of keys and what they do, in short words when the long ones do not fit.
fn key_row<A: Copy + PartialEq>(
    theme: &Theme,
    table: &[Binding<A>],
    keys: &[(A, &str, &str)],
    columns: usize,
) -> Vec<Run> {
    let row = |short: bool| -> Vec<Run> {
        let one = |(action, long, word): &(A, &str, &str)| {
            let labels = labels(table, *action);
            let key = labels.split('/').next().unwrap_or_default().to_owned();
            let what = if short { word } else { long };
            let dim = theme.style(Scope::Dim);
            [(format!(" {key}"), theme.style(Scope::Key)), (format!(" {what} "), dim)]
        };
        keys.iter().flat_map(one).collect()
    };
    let long = row(false);
    if cells(&long) <= columns { long } else { row(true) }
}

fn at(area: Rect, column: usize, row: usize) -> Position {
    let clamp = |value: usize, most: u16| u16::try_from(value).unwrap_or(most).min(most);
    Position::new(
        area.x + clamp(column, area.width.saturating_sub(1)),
        area.y + clamp(row, area.height.saturating_sub(1)),
    )
}

#[cfg(test)]
mod tests;
