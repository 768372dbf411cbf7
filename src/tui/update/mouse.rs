//! The wheel scrolls what is under the pointer; a click opens or folds a block, or chooses a hunk.

use crate::tui::Model;
use crate::tui::overlay::Layer;
use crate::tui::view::regions;
use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

/// Rows for one notch of the wheel.
const WHEEL_ROWS: isize = 3;

/// Takes in a mouse event.
pub fn mouse(model: &mut Model, event: MouseEvent) {
    match event.kind {
        MouseEventKind::ScrollUp => wheel(model, -WHEEL_ROWS),
        MouseEventKind::ScrollDown => wheel(model, WHEEL_ROWS),
        MouseEventKind::Down(MouseButton::Left) => click(model, event.column, event.row),
        MouseEventKind::Down(_)
        | MouseEventKind::Up(_)
        | MouseEventKind::Drag(_)
        | MouseEventKind::Moved
        | MouseEventKind::ScrollLeft
        | MouseEventKind::ScrollRight => {}
    }
}

fn wheel(model: &mut Model, rows: isize) {
    model.dirty = true;
    match model.layers.last() {
        Some(Layer::Review) => {
            if let Some(review) = &mut model.review {
                review.scroll(rows);
            }
        }
        Some(Layer::Help) => model.help_top = model.help_top.saturating_add_signed(rows),
        Some(Layer::Approval) | None => model.transcript.scroll_by(rows),
    }
}

fn click(model: &mut Model, column: u16, row: u16) {
    let regions = regions(model);
    let at = Position::new(column, row);
    model.dirty = true;
    match model.layers.last() {
        Some(Layer::Review) => {
            if let Some(review) = &mut model.review
                && regions.sheet.contains(at)
            {
                review.click(usize::from(row - regions.sheet.y));
            }
        }
        Some(Layer::Help) => {}
        Some(Layer::Approval) | None => {
            if regions.transcript.contains(at) {
                let row = usize::from(row - regions.transcript.y);
                model.with_look(|transcript, look| transcript.click(row, look));
            }
        }
    }
}
