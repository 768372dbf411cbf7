//! Which part of the screen shows what.
//!
//! Used by drawing and by the mouse alike. Invariant: the regions tile the screen from top to bottom
//! and never exceed it.

use crate::tui::Model;
use crate::tui::composer::Layout;
use crate::tui::overlay::Layer;
use ratatui::layout::Rect;

/// Cells of the mark before the composer's text.
pub const PROMPT: u16 = 2;
/// From this width on the review has a list of hunks at its side.
const SIDE_FROM: u16 = 96;
const SIDE: u16 = 32;

/// The parts of the screen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Regions {
    /// The transcript.
    pub transcript: Rect,
    /// What is queued or waits for a decision.
    pub waiting: Rect,
    /// What the agent does now.
    pub activity: Rect,
    /// The line above the composer.
    pub rule: Rect,
    /// The text being written, its mark included; or the approval prompt.
    pub composer: Rect,
    /// The last line.
    pub status: Rect,
    /// Head of the review.
    pub head: Rect,
    /// The list beside the diff; empty on narrow screens.
    pub side: Rect,
    /// The diff.
    pub sheet: Rect,
    /// Keys of the review, or its text field.
    pub foot: Rect,
}

/// The regions for the size the model knows.
pub fn regions(model: &Model) -> Regions {
    regions_in(model, Rect::new(0, 0, model.size.0, model.size.1))
}

/// The regions of `area`.
pub fn regions_in(model: &Model, area: Rect) -> Regions {
    let mut left = area;
    let status = take(&mut left, 1);
    let mut regions = Regions { status, ..Regions::default() };
    review(&mut regions, left);
    let composer = composer_rows(model, left);
    regions.composer = take(&mut left, composer);
    if area.height >= 8 {
        regions.rule = take(&mut left, 1);
    }
    if area.height >= 4 {
        regions.activity = take(&mut left, 1);
    }
    let waiting = waiting_rows(model).min(left.height / 3);
    regions.waiting = take(&mut left, waiting);
    regions.transcript = left;
    regions
}

/// Takes `rows` off the bottom.
fn take(left: &mut Rect, rows: u16) -> Rect {
    let rows = rows.min(left.height);
    left.height -= rows;
    Rect { y: left.y + left.height, height: rows, ..*left }
}

fn review(regions: &mut Regions, mut area: Rect) {
    let tall = if area.height >= 10 { 2 } else { 1 };
    regions.foot = take(&mut area, tall);
    let head = 1.min(area.height);
    regions.head = Rect { height: head, ..area };
    area.y += head;
    area.height -= head;
    if area.width >= SIDE_FROM {
        regions.side = Rect { width: SIDE, ..area };
        area.x += SIDE;
        area.width -= SIDE;
    }
    regions.sheet = area;
}

/// Cells for the composer's text.
pub fn composer_columns(model: &Model) -> usize {
    usize::from(model.size.0.saturating_sub(PROMPT).max(1))
}

fn composer_rows(model: &Model, left: Rect) -> u16 {
    let most = (left.height / 3).clamp(1, 12);
    if model.layers.last() == Some(&Layer::Approval) {
        let wanted = u16::try_from(super::approval::rows(model, left.width)).unwrap_or(u16::MAX);
        return wanted.min(left.height.saturating_sub(2)).max(1);
    }
    let rows = Layout::new(&model.composer.editor, composer_columns(model)).rows.len();
    u16::try_from(rows).unwrap_or(most).clamp(1, most)
}

fn waiting_rows(model: &Model) -> u16 {
    let asked = (model.review.is_some() || model.question.is_some()) && model.layers.is_empty();
    let queued = model.queued.len().min(4);
    u16::try_from(queued).unwrap_or(0) + u16::from(asked)
}
