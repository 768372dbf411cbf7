//! What the JavaScript runners have in common: error text and stack frames.

use super::place::{own, split};
use super::{TestOutcome, TestState};

/// A failed test with the place and message found in its error text.
pub(super) fn failed(id: impl Into<String>, lines: &[&str], root: &str) -> TestOutcome {
    let (file, line) = place(lines, root).unzip();
    let message = message(lines);
    TestOutcome { id: id.into(), state: TestState::Failed, file, line, message }
}

/// The first own place in stack frames such as `at f (file:///p/a.mjs:3:5)`, `at /p/a.js:3:5` or
/// vitest's `❯ a.test.mjs:3:38`.
fn place(lines: &[&str], root: &str) -> Option<(String, u32)> {
    lines.iter().find_map(|line| {
        let place = line
            .rsplit_once('(')
            .map(|(_, rest)| rest)
            .or_else(|| line.trim().rsplit_once(' ').map(|(_, rest)| rest))
            .unwrap_or(line.trim());
        let (path, line, column) = split(place.trim_end_matches([')', '{', ' ']).trim())?;
        let path = own(path, root).filter(|_| column > 0)?;
        Some((path.to_owned(), line))
    })
}

/// The first line with text, without the name of an assertion error; when it only announces what
/// follows, that as well.
fn message(lines: &[&str]) -> String {
    let mut texts = lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty());
    let first = texts.next().unwrap_or("");
    let first = ["AssertionError [ERR_ASSERTION]: ", "AssertionError: ", "Error: "]
        .iter()
        .find_map(|name| first.strip_prefix(name))
        .unwrap_or(first);
    let first = first.strip_suffix(" // Object.is equality").unwrap_or(first);
    if first.ends_with(':') {
        return format!("{first} {}", texts.next().unwrap_or("")).trim_end().to_owned();
    }
    let side = |name: &str| {
        lines.iter().take(8).map(|line| line.trim()).find(|line| line.starts_with(name))
    };
    match (side("Expected: "), side("Received: ")) {
        (Some(expected), Some(received)) => format!("{first} ({expected}, {received})"),
        _ => first.to_owned(),
    }
}
