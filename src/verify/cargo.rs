//! Rust: libtest's text, rustc's JSON and rustc's text.
//!
//! Formats: libtest `formatters/pretty.rs`; "JSON Output" in the rustc book; the human-readable
//! diagnostics of rustc.

use super::place::{count_before, own, shorten, split};
use super::{Counts, Finding, Severity, TestOutcome, TestReport, TestState};
use serde_json::Value;

pub(super) fn read_tests(text: &str, root: &str) -> Option<TestReport> {
    let mut report = TestReport::default();
    let (mut in_block, mut seen) = (false, false);
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(totals) = line.strip_prefix("test result: ") {
            let count = |word: &str| count_before(totals, word).unwrap_or(0);
            report.counts.add(count("passed"), count("failed"), count("ignored"));
            (in_block, seen) = (false, true);
        } else if line.starts_with("running ") && line.contains(" test") {
            in_block = true;
        } else if line == "failures:" {
            in_block = false;
        } else if in_block && let Some(outcome) = outcome(line) {
            report.outcomes.push(outcome);
        } else if let Some(id) = section(line) {
            let mut body = Vec::new();
            while let Some(line) = lines.next_if(|l| section(l).is_none() && *l != "failures:") {
                body.push(line);
            }
            explain(&mut report.outcomes, id, &body, root);
        }
    }
    seen.then_some(report)
}

impl Counts {
    fn add(&mut self, passed: usize, failed: usize, skipped: usize) {
        self.passed += passed;
        self.failed += failed;
        self.skipped += skipped;
    }
}

/// `test tests::adds ... FAILED`
fn outcome(line: &str) -> Option<TestOutcome> {
    let (id, result) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let state = match result {
        "ok" => TestState::Passed,
        "FAILED" => TestState::Failed,
        other if other.starts_with("ignored") => TestState::Skipped,
        _ => return None,
    };
    let id = id.strip_suffix(" - should panic").unwrap_or(id).to_owned();
    Some(TestOutcome { id, state, file: None, line: None, message: String::new() })
}

/// `---- tests::adds stdout ----`
fn section(line: &str) -> Option<&str> {
    line.strip_prefix("---- ")?.strip_suffix(" stdout ----")
}

/// Adds place and message to the failed test `id`, the last of that name: an earlier test binary may
/// have one of the same name.
fn explain(outcomes: &mut [TestOutcome], id: &str, body: &[&str], root: &str) {
    let Some(outcome) =
        outcomes.iter_mut().rev().find(|o| o.id == id && o.state == TestState::Failed)
    else {
        return;
    };
    let panic =
        body.iter().position(|line| line.starts_with("thread '") && panicked(line).is_some());
    let Some((at, place)) = panic.and_then(|at| Some((at, panicked(body[at])?))) else {
        let said = body.iter().find(|line| !line.trim().is_empty()).copied().unwrap_or("");
        outcome.message = said.strip_prefix("Error: ").unwrap_or(said).to_owned();
        return;
    };
    outcome.message = message(&body[at + 1..]);
    let frames = body.iter().filter_map(|line| line.trim_start().strip_prefix("at "));
    // The panic may come from a library; then the first own frame of the backtrace is the place.
    let places = std::iter::once(place).chain(frames);
    if let Some((file, line)) = places.filter_map(|p| own_place(p, root)).next() {
        (outcome.file, outcome.line) = (Some(file), Some(line));
    }
}

fn panicked(line: &str) -> Option<&str> {
    Some(line.split_once(" panicked at ")?.1.trim_end_matches(':'))
}

fn own_place(place: &str, root: &str) -> Option<(String, u32)> {
    let (path, line, _) = split(place)?;
    Some((own(path, root)?.to_owned(), line))
}

/// The first line; for `assert_eq!` the two sides as well, they are what matters.
fn message(lines: &[&str]) -> String {
    let first = lines.first().copied().unwrap_or("").to_owned();
    let side = |name: &str| {
        let mut sides = lines.iter().take(6).map(|line| line.trim_start());
        sides.find_map(|line| line.strip_prefix(name)).map(str::to_owned)
    };
    match (side("left: "), side("right: ")) {
        (Some(left), Some(right)) => format!("{first} (left: {left}, right: {right})"),
        _ => first,
    }
}

/// One JSON object a line; lines of other programs (build scripts) are skipped.
pub(super) fn read_findings(text: &str, root: &str) -> Option<Vec<Finding>> {
    let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let (mut seen, mut findings) = (false, Vec::new());
    for message in messages {
        seen |= message.get("reason").is_some();
        if message["reason"] == "compiler-message" {
            findings.extend(finding(&message["message"], root));
        }
    }
    seen.then_some(findings)
}

fn finding(message: &Value, root: &str) -> Option<Finding> {
    let spans = message["spans"].as_array()?;
    let span = spans.iter().find(|span| span["is_primary"] == true).or(spans.first())?;
    let number = |key: &str| span[key].as_u64().and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
    Some(Finding {
        file: shorten(span["file_name"].as_str()?, root),
        line: number("line_start"),
        column: number("column_start"),
        id: message["code"]["code"].as_str().unwrap_or_default().to_owned(),
        severity: severity(message["level"].as_str()?),
        message: message["message"].as_str()?.lines().next().unwrap_or_default().to_owned(),
    })
}

fn severity(level: &str) -> Severity {
    match level {
        "warning" => Severity::Warning,
        "note" | "help" => Severity::Note,
        _ => Severity::Error,
    }
}

/// `error[E0277]: text` followed by ` --> src/lib.rs:7:19`.
pub(super) fn read_build_errors(text: &str, root: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut head: Option<(&str, &str)> = None;
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("error") {
            head =
                rest.split_once(": ").filter(|(code, _)| code.is_empty() || code.starts_with('['));
        } else if let Some(place) = line.trim_start().strip_prefix("--> ")
            && let (Some((code, message)), Some((path, line, column))) = (head.take(), split(place))
        {
            findings.push(Finding {
                file: shorten(path, root),
                line,
                column,
                id: code.trim_matches(['[', ']']).to_owned(),
                severity: Severity::Error,
                message: message.to_owned(),
            });
        } else if line.trim().is_empty() {
            head = None;
        }
    }
    super::sort_findings(&mut findings);
    findings
}
