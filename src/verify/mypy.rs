//! mypy's text: `a.py:6:18: error: message  [code]`, then `Found ...` or `Success: ...`.

use super::place::{shorten, split};
use super::{Finding, Severity};

pub(super) fn read(text: &str, root: &str) -> Option<Vec<Finding>> {
    let finished = |line: &str| line.starts_with("Success: ") || line.starts_with("Found ");
    if !text.lines().any(finished) {
        return None;
    }
    Some(text.lines().filter_map(|line| finding(line, root)).collect())
}

fn finding(line: &str, root: &str) -> Option<Finding> {
    let words = [
        (": error: ", Severity::Error),
        (": warning: ", Severity::Warning),
        (": note: ", Severity::Note),
    ];
    let (place, severity, rest) = words.into_iter().find_map(|(word, severity)| {
        line.split_once(word).map(|(place, rest)| (place, severity, rest))
    })?;
    let (path, line, column) = split(place)?;
    let (message, id) = match rest.rsplit_once("  [") {
        Some((message, id)) => (message, id.trim_end_matches(']')),
        None => (rest, ""),
    };
    Some(Finding {
        file: shorten(path, root),
        line,
        column,
        id: id.to_owned(),
        severity,
        message: message.to_owned(),
    })
}
