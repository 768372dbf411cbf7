//! The review overlay: counts on top, the diff, a list beside it on wide screens, keys below.

use super::composer::field;
use super::screen::Regions;
use super::{key_row, lines};
use crate::protocol::{Hunk, Verdict};
use crate::tui::Model;
use crate::tui::flow::{Run, cells, fit};
use crate::tui::keymap::{JUDGE, Judge};
use crate::tui::overlay::review::{Row, Sheet, change_words, counts};
use crate::tui::text::{clean_line, plural};
use crate::tui::theme::{Scope, Theme};
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

/// Draws the review; returns the caret of its text field, if that is open.
pub fn draw(frame: &mut Frame<'_>, model: &Model, regions: &Regions) -> Option<Position> {
    let sheet = model.review.as_ref()?;
    let theme = model.theme();
    lines(frame, regions.head, [head(sheet, theme, regions.head)]);
    let hunks: Vec<(usize, &Hunk)> = sheet.hunks().collect();
    let body = sheet.window().iter().map(|row| draw_row(sheet, &hunks, theme, row, regions.sheet));
    lines(frame, regions.sheet, body);
    if regions.side.width > 0 {
        side(frame, sheet, &hunks, theme, regions.side);
    }
    foot(frame, sheet, theme, regions.foot)
}

fn head(sheet: &Sheet, theme: &Theme, area: Rect) -> Line<'static> {
    let style = |scope| theme.style(scope);
    let (yes, no, open) = sheet.tally(None);
    let (files, hunks) = (sheet.review.files.len(), sheet.count());
    let current = (sheet.current() + 1).min(hunks);
    let mut runs: Vec<Run> = vec![
        (" Review ".into(), style(Scope::StatusWaiting)),
        (format!(" hunk {current}/{hunks}"), style(Scope::Strong)),
        (format!(" · {}", plural(files, "file")), style(Scope::Dim)),
        (format!(" · {yes} accepted"), style(Scope::Accepted)),
        (format!(" · {no} rejected"), style(Scope::Rejected)),
        (format!(" · {open} undecided"), style(Scope::Undecided)),
    ];
    let narrow: Vec<Run> = vec![
        (format!(" {current}/{hunks} "), style(Scope::StatusWaiting)),
        (format!(" ✓{yes}"), style(Scope::Accepted)),
        (format!(" ✗{no}"), style(Scope::Rejected)),
        (format!(" ?{open}"), style(Scope::Undecided)),
    ];
    let columns = usize::from(area.width);
    if cells(&runs) > columns {
        runs = narrow;
    }
    let (above, below) = sheet.hidden();
    let place = match (above > 0, below > 0) {
        (true, true) => "↑↓ ",
        (true, false) => "↑ ",
        (false, true) => "↓ ",
        (false, false) => "",
    };
    let gap = columns.saturating_sub(cells(&runs) + place.chars().count());
    runs.push((" ".repeat(gap), style(Scope::Text)));
    runs.push((place.into(), style(Scope::Dim)));
    fit(&runs, columns)
}

fn draw_row(
    sheet: &Sheet,
    hunks: &[(usize, &Hunk)],
    theme: &Theme,
    row: &Row,
    area: Rect,
) -> Line<'static> {
    let columns = usize::from(area.width);
    let bar = |hunk: usize| {
        let current = hunk == sheet.current();
        let text = if current { "▌ " } else { "  " };
        (text.to_owned(), theme.style(Scope::DiffCurrent))
    };
    match row {
        Row::Blank => Line::default(),
        Row::Note(text) => fit(&[(format!("  ! {text}"), theme.style(Scope::Warning))], columns),
        Row::File(index) => fit(&file_runs(sheet, theme, *index), columns),
        Row::Head(number) => {
            let mut runs = vec![bar(*number)];
            if let Some((_, hunk)) = hunks.get(*number) {
                runs.extend(hunk_runs(sheet, theme, *number, hunk));
            }
            fit(&runs, columns)
        }
        Row::Comment(number) => {
            let id = hunks.get(*number).map(|(_, hunk)| hunk.id);
            let text = id.and_then(|id| sheet.comment(id)).unwrap_or_default();
            let comment = (format!("» {}", clean_line(text)), theme.style(Scope::Accent));
            fit(&[bar(*number), comment], columns)
        }
        Row::Body(number, line) => {
            let (text, style) = bar(*number);
            let mut line = line.clone();
            line.spans.insert(0, Span::styled(text, style.patch(background(line.style))));
            line
        }
    }
}

/// The bar of the current hunk stands before the colours of its lines, not on them.
fn background(line: ratatui::style::Style) -> ratatui::style::Style {
    line.bg.map_or(ratatui::style::Style::new(), |bg| ratatui::style::Style::new().bg(bg))
}

fn file_runs(sheet: &Sheet, theme: &Theme, index: usize) -> Vec<Run> {
    let style = |scope| theme.style(scope);
    let Some(file) = sheet.review.files.get(index) else {
        return Vec::new();
    };
    let (added, removed) = counts(&file.hunks);
    let open = sheet.tally(Some(index)).2;
    vec![
        (clean_line(&file.path), style(Scope::DiffFile)),
        (
            format!("  {} · {}", change_words(file), plural(file.hunks.len(), "hunk")),
            style(Scope::Dim),
        ),
        (format!("  +{added}"), style(Scope::Accepted)),
        (format!(" −{removed}"), style(Scope::Rejected)),
        (
            if open > 0 { format!("  {open} undecided") } else { String::new() },
            style(Scope::Undecided),
        ),
    ]
}

fn verdict_run(theme: &Theme, verdict: Option<Verdict>, long: bool) -> Run {
    let (mark, word, scope) = match verdict {
        Some(Verdict::Accept) => ("✓", " accepted", Scope::Accepted),
        Some(Verdict::Reject) => ("✗", " rejected", Scope::Rejected),
        None => ("?", " undecided", Scope::Undecided),
    };
    (format!("{mark}{}", if long { word } else { "" }), theme.style(scope))
}

fn hunk_runs(sheet: &Sheet, theme: &Theme, number: usize, hunk: &Hunk) -> Vec<Run> {
    let empty = hunk.old.is_empty() && hunk.new.is_empty();
    let place = if empty {
        "the whole file".to_owned()
    } else {
        format!("@@ −{},{} +{},{}", hunk.old_start, hunk.old.len(), hunk.new_start, hunk.new.len())
    };
    vec![
        verdict_run(theme, sheet.verdict(hunk.id), true),
        (format!("  {}/{}  {place}", number + 1, sheet.count()), theme.style(Scope::DiffHunk)),
    ]
}

/// Files and hunks in one list, the current one in the middle when it is long.
fn side(frame: &mut Frame<'_>, sheet: &Sheet, hunks: &[(usize, &Hunk)], theme: &Theme, area: Rect) {
    let columns = usize::from(area.width).saturating_sub(2);
    let mut rows: Vec<Line<'static>> = Vec::new();
    let mut current_row = 0;
    let mut last_file = None;
    for (number, (file, hunk)) in hunks.iter().enumerate() {
        if last_file != Some(file) {
            last_file = Some(file);
            let path = sheet.review.files.get(*file).map_or("", |file| &file.path);
            let name = tail(&clean_line(path), columns);
            rows.push(Line::styled(name, theme.style(Scope::DiffFile)));
        }
        let current = number == sheet.current();
        if current {
            current_row = rows.len();
        }
        let (added, removed) = (hunk.new.len(), hunk.old.len());
        let mark = if current { "▌ " } else { "  " };
        let note = if sheet.comment(hunk.id).is_some() { " »" } else { "" };
        let runs = [
            (mark.to_owned(), theme.style(Scope::DiffCurrent)),
            verdict_run(theme, sheet.verdict(hunk.id), false),
            (
                format!(" line {}  +{added} −{removed}{note}", hunk.new_start),
                theme.style(Scope::Text),
            ),
        ];
        rows.push(fit(&runs, columns));
    }
    let height = usize::from(area.height);
    let top = current_row.saturating_sub(height / 2).min(rows.len().saturating_sub(height));
    lines(frame, area, rows.into_iter().skip(top));
    let edge = Rect { x: area.right().saturating_sub(2), width: 1, ..area };
    let bar = (0..area.height).map(|_| Line::styled("│", theme.style(Scope::Border)));
    lines(frame, edge, bar);
}

/// The end of a path: its name matters most.
fn tail(path: &str, columns: usize) -> String {
    let mut out = path.to_owned();
    while crate::tui::wrap::width(&out) > columns {
        out = out.chars().skip(2).collect();
        out.insert(0, '…');
    }
    out
}

fn foot(frame: &mut Frame<'_>, sheet: &Sheet, theme: &Theme, area: Rect) -> Option<Position> {
    let style = |scope| theme.style(scope);
    let first = Rect { height: area.height.min(1), ..area };
    let second = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    if let Some(editor) = &sheet.field {
        let caret = field(frame, theme, first, " comment: ", editor);
        let keys = [("Enter keeps it · Esc leaves it".to_owned(), style(Scope::Dim))];
        lines(frame, second, [fit(&keys, usize::from(area.width))]);
        return Some(caret);
    }
    let mut top: Vec<Run> = Vec::new();
    if let Some(hint) = &sheet.hint {
        top.push((format!(" {hint} "), style(Scope::Warning)));
    } else if sheet.decided() {
        top.push((" Enter to apply ".into(), style(Scope::StatusWaiting)));
    }
    let columns = usize::from(area.width);
    let room = columns.saturating_sub(cells(&top));
    top.extend(key_row(theme, JUDGE, FIRST_KEYS, room));
    lines(frame, first, [fit(&top, columns)]);
    lines(frame, second, [fit(&key_row(theme, JUDGE, SECOND_KEYS, columns), columns)]);
    None
}

/// Actions of the footer, with their words for wide and for narrow screens.
const FIRST_KEYS: &[(Judge, &str, &str)] = &[
    (Judge::Accept, "accept", "yes"),
    (Judge::Reject, "reject", "no"),
    (Judge::Comment, "comment", "note"),
    (Judge::Undecide, "undecide", "undo"),
    (Judge::NextHunk, "next", "↓"),
    (Judge::PreviousHunk, "back", "↑"),
];
const SECOND_KEYS: &[(Judge, &str, &str)] = &[
    (Judge::AcceptAll, "accept rest", "all"),
    (Judge::RejectAll, "reject rest", "none"),
    (Judge::AcceptFile, "accept file", "file"),
    (Judge::RejectFile, "reject file", "no file"),
    (Judge::Apply, "apply", "apply"),
    (Judge::Leave, "later", "later"),
    (Judge::Help, "help", "help"),
];
