//! jest: its JSON (which vitest writes too) and its text.

use super::javascript::failed;
use super::place::{count_before, shorten};
use super::{Counts, TestOutcome, TestReport, TestState};
use serde_json::Value;

/// The object of `--json`; whatever a script printed before it is skipped.
pub(super) fn read(text: &str, root: &str) -> Option<TestReport> {
    let start = text.find("{\"numFailedTestSuites\"").or_else(|| text.find("{\"numTotalTest"))?;
    let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
    let report = values.next()?.ok()?;
    let mut outcomes = Vec::new();
    let mut counts = Counts::default();
    for suite in report["testResults"].as_array()? {
        let file = shorten(suite["name"].as_str().unwrap_or_default(), root);
        let tests = suite["assertionResults"].as_array().map(Vec::as_slice).unwrap_or_default();
        if tests.is_empty() && suite["status"] == "failed" {
            // The file could not be loaded: no test of it ran.
            let message = suite["message"].as_str().unwrap_or_default();
            let mut outcome = fault(&file, &file, message, root);
            outcome.state = TestState::Error;
            counts.errors += 1;
            outcomes.push(outcome);
        }
        for test in tests {
            let id = test["fullName"].as_str().unwrap_or_default();
            match test["status"].as_str().unwrap_or_default() {
                "passed" => counts.passed += 1,
                "failed" => {
                    counts.failed += 1;
                    let message = test["failureMessages"][0].as_str().unwrap_or_default();
                    outcomes.push(fault(id, &file, message, root));
                }
                _ => counts.skipped += 1,
            }
        }
    }
    Some(TestReport { counts, outcomes })
}

fn fault(id: &str, file: &str, message: &str, root: &str) -> TestOutcome {
    let lines: Vec<&str> = message
        .lines()
        .filter(|line| !line.trim_start().starts_with("● Test suite failed"))
        .collect();
    let outcome = failed(id, &lines, root);
    TestOutcome { file: outcome.file.clone().or_else(|| Some(file.to_owned())), ..outcome }
}

/// The text: `●` sections and `Tests:       1 failed, 2 passed, 3 total`.
pub(super) fn read_text(text: &str, root: &str) -> Option<TestReport> {
    let lines: Vec<&str> = text.lines().collect();
    let totals = lines.iter().rev().find_map(|line| line.strip_prefix("Tests: "))?;
    let count = |word: &str| count_before(totals, word).unwrap_or(0);
    let heads: Vec<usize> =
        (0..lines.len()).filter(|&at| lines[at].trim_start().starts_with("● ")).collect();
    let mut outcomes: Vec<TestOutcome> = Vec::new();
    for (n, &at) in heads.iter().enumerate() {
        let id = lines[at].trim_start().trim_start_matches("● ").replace(" › ", " ");
        if id == "Console" || outcomes.iter().any(|outcome| outcome.id == id) {
            // Printed text, or the repetition at the end of a long run.
            continue;
        }
        let end = heads.get(n + 1).copied().unwrap_or(lines.len());
        let mut outcome = failed(id.as_str(), &lines[at + 1..end], root);
        if id == "Test suite failed to run" {
            outcome.state = TestState::Error;
        }
        outcomes.push(outcome);
    }
    let errors = outcomes.iter().filter(|o| o.state == TestState::Error).count();
    let skipped = count("skipped") + count("todo");
    let counts = Counts { failed: count("failed"), errors, passed: count("passed"), skipped };
    Some(TestReport { counts, outcomes })
}
