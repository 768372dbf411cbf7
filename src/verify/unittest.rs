//! Python's `unittest`, verbose text of 3.8 and later.
//!
//! Format: one `====` section for each fault, then `Ran N tests in ...` and `OK` or `FAILED (...)`
//! (CPython, Lib/unittest/runner.py).

use super::place::{number, own};
use super::{Counts, TestOutcome, TestReport, TestState};

const RULE: &str = "======================================================================";
const LINE: &str = "----------------------------------------------------------------------";
/// Faults of a whole class or module; these are not among the tests that ran.
const FIXTURES: &[&str] = &["setUpClass", "tearDownClass", "setUpModule", "tearDownModule"];

pub(super) fn read(text: &str, root: &str) -> Option<TestReport> {
    let lines: Vec<&str> = text.lines().collect();
    // The last such line counts: tests may print anything before.
    let at = lines.iter().rposition(|line| line.starts_with("Ran ") && line.contains(" test"))?;
    let ran = number(lines[at].strip_prefix("Ran ")?)? as usize;
    let verdict =
        lines[at + 1..].iter().find(|line| !line.trim().is_empty()).copied().unwrap_or("");
    let whole = verdict.ends_with(')');
    let known = (verdict.starts_with("FAILED (") && whole)
        || verdict == "OK"
        || (verdict.starts_with("OK (") && whole)
        || verdict.starts_with("NO TESTS RAN");
    if !known {
        return None;
    }
    let mut outcomes: Vec<TestOutcome> =
        sections(&lines[..at]).into_iter().filter_map(|section| fault(section, root)).collect();
    outcomes.extend(unexpected(verdict, &lines[..at]));
    Some(TestReport { counts: counts(ran, verdict, &outcomes), outcomes })
}

/// The lines of each fault: title, maybe a doc line, rule, text.
fn sections<'t, 'a>(lines: &'t [&'a str]) -> Vec<&'t [&'a str]> {
    let is_title = |at: usize| {
        lines[at] == RULE
            && lines
                .get(at + 1)
                .is_some_and(|l| l.starts_with("FAIL: ") || l.starts_with("ERROR: "))
    };
    let starts: Vec<usize> = (0..lines.len()).filter(|&at| is_title(at)).collect();
    starts
        .iter()
        .enumerate()
        .map(|(n, &start)| &lines[start + 1..starts.get(n + 1).copied().unwrap_or(lines.len())])
        .collect()
}

fn fault(section: &[&str], root: &str) -> Option<TestOutcome> {
    let (word, title) = section.first()?.split_once(": ")?;
    let state = if word == "FAIL" { TestState::Failed } else { TestState::Error };
    let body_at = section.iter().position(|line| *line == LINE)? + 1;
    let (place, message) = traceback(&section[body_at..], root);
    let (file, line) = place.unzip();
    Some(TestOutcome { id: id(title), state, file, line, message })
}

/// `test_a (mod.C.test_a) (i=1)` and the older `test_a (mod.C)` both become `mod.C.test_a`, with the
/// parameters of a subtest behind.
fn id(title: &str) -> String {
    let Some((name, rest)) = title.split_once(" (") else {
        return title.to_owned();
    };
    let Some((dotted, rest)) = rest.split_once(')') else {
        return title.to_owned();
    };
    if FIXTURES.contains(&name) {
        return format!("{name} ({dotted})");
    }
    let whole = if dotted.ends_with(&format!(".{name}")) {
        dotted.to_owned()
    } else {
        format!("{dotted}.{name}")
    };
    format!("{}{rest}", whole.strip_prefix("unittest.loader._FailedTest.").unwrap_or(&whole))
}

/// Innermost own frame and first line of the exception, of the last traceback in a chain.
fn traceback(lines: &[&str], root: &str) -> (Option<(String, u32)>, String) {
    let start = lines.iter().rposition(|line| line.starts_with("Traceback (most recent"));
    let lines = &lines[start.unwrap_or(0)..];
    let place = lines
        .iter()
        .filter_map(|line| {
            let (path, rest) = line.strip_prefix("  File \"")?.split_once("\", line ")?;
            Some((own(path, root)?.to_owned(), number(rest)?))
        })
        .next_back();
    let last = lines.iter().rposition(|line| line.starts_with("  File \"")).unwrap_or(0);
    let message = lines[last..]
        .iter()
        .skip(1)
        .find(|line| !line.is_empty() && !line.starts_with(' '))
        .or(lines.first().filter(|_| start.is_none()))
        .map_or("", |line| line.strip_prefix("AssertionError: ").unwrap_or(line));
    (place, message.to_owned())
}

/// Tests that passed though they were marked as failing have no section of their own.
fn unexpected(verdict: &str, lines: &[&str]) -> Vec<TestOutcome> {
    if !verdict.contains("unexpected success") {
        return Vec::new();
    }
    lines
        .iter()
        .filter_map(|line| line.strip_suffix(" ... unexpected success"))
        .map(|title| TestOutcome {
            id: id(title),
            state: TestState::Failed,
            file: None,
            line: None,
            message: "unexpected success".to_owned(),
        })
        .collect()
}

fn counts(ran: usize, verdict: &str, outcomes: &[TestOutcome]) -> Counts {
    let number_of = |key: &str| {
        let inner = verdict.split_once('(').map_or("", |(_, inner)| inner.trim_end_matches(')'));
        let pairs = inner.split(", ").filter_map(|pair| pair.split_once('='));
        pairs.filter(|(k, _)| *k == key).find_map(|(_, v)| v.parse().ok()).unwrap_or(0)
    };
    let (failures, errors, skipped): (usize, usize, usize) =
        (number_of("failures"), number_of("errors"), number_of("skipped"));
    // Several subtests may fail in one test, and fixtures fail outside of any.
    let mut faulty: Vec<&str> = outcomes
        .iter()
        .filter(|o| !FIXTURES.iter().any(|f| o.id.starts_with(&format!("{f} ("))))
        .map(|o| o.id.split([' ', '[']).next().unwrap_or(&o.id))
        .collect();
    faulty.sort_unstable();
    faulty.dedup();
    Counts {
        failed: failures + number_of("unexpected successes"),
        errors,
        passed: ran.saturating_sub(faulty.len() + skipped),
        skipped,
    }
}
