//! The question whether a call may run, drawn where the composer is: no text of the model can get there.

use super::composer::{field, rule};
use super::screen::Regions;
use super::{key_row, lines};
use crate::tui::Model;
use crate::tui::flow::{Run, fit, flow};
use crate::tui::keymap::{ANSWER, Answer};
use crate::tui::text::clean_line;
use crate::tui::theme::Scope;
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::Line;

/// Rows beside the command: the question and the keys.
const AROUND: usize = 2;
/// Blanks in a row above which their number is shown instead, so that nothing hides behind them.
const BLANKS: usize = 8;

/// Rows wanted at `columns`: all of the command is to be seen.
pub fn rows(model: &Model, columns: u16) -> usize {
    let lines = model.question.as_ref().map_or(0, |q| body(&q.title, columns, Style::new()).len());
    AROUND + lines.max(2)
}

/// The command, line by line.
fn body(title: &str, columns: u16, style: Style) -> Vec<Line<'static>> {
    let wide = usize::from(columns).saturating_sub(2).max(1);
    let indent = [("  ".to_owned(), style)];
    let lines = title.split('␊').map(|line| plain(&clean_line(line)));
    lines.flat_map(|line| flow(&[(line, style)], wide, &indent, &indent)).collect()
}

/// Long runs of blanks as their number.
fn plain(line: &str) -> String {
    let mut shown = String::new();
    let mut blanks = 0;
    for c in line.chars().chain(['\n']) {
        if c == ' ' {
            blanks += 1;
            continue;
        }
        match std::mem::take(&mut blanks) {
            few @ 0..=BLANKS => shown.extend(std::iter::repeat_n(' ', few)),
            many => shown.push_str(&format!(" ⟨{many} blanks⟩ ")),
        }
        if c != '\n' {
            shown.push(c);
        }
    }
    shown
}

/// Actions of the last row, with their words for wide and for narrow screens.
const KEYS: &[(Answer, &str, &str)] = &[
    (Answer::Once, "yes, once", "yes"),
    (Answer::Session, "yes, and again", "always"),
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
    let mut ask: Vec<Run> = vec![
        (" May this run? ".into(), style(Scope::StatusWaiting)),
        (format!(" {}", clean_line(&question.call.name)), style(Scope::ToolName)),
    ];
    let mut body = body(&question.title, area.width, style(Scope::Strong));
    let room = usize::from(area.height).saturating_sub(AROUND).max(1);
    if body.len() > room {
        let top = question.top.min(body.len() - room);
        let below = body.len() - room - top;
        let more = format!(" · {top} lines above, {below} below: ↑ ↓");
        ask.push((more, style(Scope::StatusWaiting)));
        body = body.split_off(top);
        body.truncate(room);
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
