//! Findings one a line, as most compilers and linters write them: `a.ts(1,7): error TS2322: text`
//! and `a.c:3:5: warning: text`. Lines of another form are skipped.

use super::place::{shorten, split};
use super::{Finding, Severity};

pub(super) fn read(text: &str, root: &str) -> Option<Vec<Finding>> {
    Some(text.lines().filter_map(|line| finding(line, root)).collect())
}

fn finding(line: &str, root: &str) -> Option<Finding> {
    let (path, line_number, column, rest) = parenthesised(line).or_else(|| colons(line))?;
    let (severity, id, message) = headline(rest);
    Some(Finding {
        file: shorten(path, root),
        line: line_number,
        column,
        id: id.to_owned(),
        severity,
        message: message.to_owned(),
    })
}

fn parenthesised(line: &str) -> Option<(&str, u32, u32, &str)> {
    let (front, rest) = line.split_once("): ")?;
    let (path, numbers) = front.rsplit_once('(')?;
    let (line, column) = numbers.split_once(',')?;
    Some((path, line.parse().ok()?, column.parse().ok()?, rest))
}

fn colons(line: &str) -> Option<(&str, u32, u32, &str)> {
    let (place, rest) = line.split_once(": ")?;
    let (path, line, column) = split(place)?;
    let plausible = !path.is_empty() && !path.starts_with(char::is_whitespace);
    plausible.then_some((path, line, column, rest))
}

/// `error TS2322: text`, `warning: text`, `E501 text`, or only text.
fn headline(rest: &str) -> (Severity, &str, &str) {
    let words = [
        ("error", Severity::Error),
        ("fatal error", Severity::Error),
        ("warning", Severity::Warning),
        ("note", Severity::Note),
        ("info", Severity::Note),
    ];
    for (word, severity) in words {
        let Some(after) = rest.strip_prefix(word) else {
            continue;
        };
        if let Some(message) = after.strip_prefix(": ") {
            return (severity, "", message);
        }
        if let Some((id, message)) = after.strip_prefix(' ').and_then(|a| a.split_once(": ")) {
            return (severity, id, message);
        }
    }
    (Severity::Error, "", rest)
}
