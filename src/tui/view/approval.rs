//! The question whether a call may run, drawn where the composer is: no text of the model can get there.

use super::composer::{field, rule};
use super::screen::Regions;
use super::{key_row, lines};
use crate::tui::Model;
use crate::tui::flow::{Run, fit};
use crate::tui::keymap::{ANSWER, Answer};
use crate::tui::text::clean_line;
use crate::tui::theme::Scope;
use ratatui::Frame;
use ratatui::layout::{Position, Rect};

/// Rows of the prompt.
pub const ROWS: u16 = 4;

/// Actions of the last row, with their words for wide and for narrow screens.
const KEYS: &[(Answer, &str, &str)] = &[
    (Answer::Once, "yes, once", "yes"),
    (Answer::Session, "yes, this session", "always"),
    (Answer::Deny, "no", "no"),
    (Answer::DenyBecause, "no, because…", "why"),
    (Answer::Leave, "later", "later"),
];

/// Draws the question; returns the caret of its text field, if that is open.
pub fn draw(frame: &mut Frame<'_>, model: &Model, regions: &Regions) -> Option<Position> {
    let question = model.question.as_ref()?;
    let theme = model.theme();
    let style = |scope| theme.style(scope);
    rule(frame, theme, regions.rule, Scope::BorderActive);
    let area = regions.composer;
    let columns = usize::from(area.width);
    let title = clean_line(&question.title);
    let ask: Vec<Run> = vec![
        (" May this run? ".into(), style(Scope::StatusWaiting)),
        (format!(" {}", clean_line(&question.call.name)), style(Scope::ToolName)),
    ];
    let wide = columns.saturating_sub(2).max(1);
    let indent = [("  ".to_owned(), style(Scope::Text))];
    let command = [(title, style(Scope::Strong))];
    let mut body = crate::tui::flow::flow(&command, wide, &indent, &indent);
    let room = usize::from(area.height).saturating_sub(2).max(1);
    if body.len() > room {
        body.truncate(room);
        if let Some(last) = body.last_mut() {
            last.push_span(" …");
        }
    }
    let mut shown = Vec::new();
    if area.height >= 3 {
        shown.push(fit(&ask, columns));
    }
    if area.height >= 2 {
        shown.extend(body);
    }
    shown.truncate(usize::from(area.height).saturating_sub(1));
    lines(frame, area, shown);
    let foot = Rect { y: area.bottom().saturating_sub(1), height: area.height.min(1), ..area };
    if let Some(editor) = &question.field {
        return Some(field(frame, theme, foot, " no, because: ", editor));
    }
    let runs = key_row(theme, ANSWER, KEYS, columns);
    lines(frame, foot, [fit(&runs, columns)]);
    None
}
