//! What a run found, and how it is told to the model in few tokens.

use std::fmt::Write;

/// Characters of a message in a report; the rest is in the log.
const MESSAGE: usize = 240;

/// How one test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestState {
    /// As it should.
    Passed,
    /// Its check failed.
    Failed,
    /// It was not run on purpose.
    Skipped,
    /// It could not run to its check.
    Error,
}

/// One test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestOutcome {
    /// The runner's own name of it.
    pub id: String,
    /// How it ended.
    pub state: TestState,
    /// File of the innermost frame inside the project, relative to the root.
    pub file: Option<String>,
    /// 1-based line in it.
    pub line: Option<u32>,
    /// First line of what went wrong; empty when it passed.
    pub message: String,
}

/// How many tests ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Checks that failed.
    pub failed: usize,
    /// Tests that could not run to their check.
    pub errors: usize,
    /// As they should.
    pub passed: usize,
    /// Not run on purpose.
    pub skipped: usize,
}

/// A whole test run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestReport {
    /// Totals as the runner counts them.
    pub counts: Counts,
    /// At least every test that failed; runners that name the others give them too.
    pub outcomes: Vec<TestOutcome>,
}

impl TestReport {
    /// True when something ran and nothing failed.
    pub fn is_green(&self) -> bool {
        let Counts { failed, errors, passed, .. } = self.counts;
        failed == 0 && errors == 0 && passed > 0 && self.faults().next().is_none()
    }

    /// Tests that failed or could not run, in the order of the output.
    pub fn faults(&self) -> impl Iterator<Item = &TestOutcome> {
        self.outcomes
            .iter()
            .filter(|outcome| matches!(outcome.state, TestState::Failed | TestState::Error))
    }

    /// `1 failed, 2 passed`: only what is not zero; `no tests ran` when all is.
    pub fn totals(&self) -> String {
        let Counts { failed, errors, passed, skipped } = self.counts;
        let error_word = if errors == 1 { "error" } else { "errors" };
        let parts: Vec<String> =
            [(failed, "failed"), (errors, error_word), (passed, "passed"), (skipped, "skipped")]
                .iter()
                .filter(|(count, _)| *count > 0)
                .map(|(count, word)| format!("{count} {word}"))
                .collect();
        if parts.is_empty() { "no tests ran".to_owned() } else { parts.join(", ") }
    }

    /// What the model reads: the totals with the command, then one line for each fault, `most` at
    /// most.
    pub fn text(&self, command: &str, most: usize) -> String {
        let mut text = format!("{} ({command})", self.totals());
        for fault in self.faults().take(most) {
            let word = if fault.state == TestState::Error { "ERROR" } else { "FAILED" };
            let place = match (&fault.file, fault.line) {
                (Some(file), Some(line)) => format!("{file}:{line} "),
                (Some(file), None) => format!("{file} "),
                (None, _) => String::new(),
            };
            let _ = write!(text, "\n{word} {place}{}", fault.id);
            if !fault.message.is_empty() {
                let _ = write!(text, ": {}", cut(&fault.message));
            }
        }
        let more = self.faults().count().saturating_sub(most);
        if more > 0 {
            let _ = write!(text, "\n[{more} more]");
        }
        text
    }
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Must be mended.
    Error,
    /// Should be.
    Warning,
    /// Good to know.
    Note,
}

impl Severity {
    /// The word used in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// One complaint of a linter, type checker or compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Relative to the root.
    pub file: String,
    /// 1-based; 0 when unknown.
    pub line: u32,
    /// 1-based; 0 when unknown.
    pub column: u32,
    /// The rule's name, if it has one.
    pub id: String,
    /// How bad.
    pub severity: Severity,
    /// First line of the message.
    pub message: String,
}

/// Errors first, then by place; the same finding twice (two build targets) becomes one.
pub fn sort_findings(findings: &mut Vec<Finding>) {
    findings.sort_by(|a, b| {
        let key = |f: &Finding| (f.severity, f.file.clone(), f.line, f.column, f.id.clone());
        key(a).cmp(&key(b))
    });
    findings.dedup();
}

/// What the model reads: totals with the command, then one line for each finding, `most` at most.
pub fn findings_text(findings: &[Finding], command: &str, most: usize) -> String {
    let count = |severity| findings.iter().filter(|f| f.severity == severity).count();
    let parts: Vec<String> = [Severity::Error, Severity::Warning, Severity::Note]
        .into_iter()
        .map(|severity| (count(severity), severity.word()))
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}{}", if count == 1 { "" } else { "s" }))
        .collect();
    let totals = if parts.is_empty() { "no findings".to_owned() } else { parts.join(", ") };
    let mut text = format!("{totals} ({command})");
    for finding in findings.iter().take(most) {
        let Finding { file, line, column, id, severity, message } = finding;
        let _ = write!(text, "\n{file}");
        for number in [line, column].into_iter().take_while(|number| **number > 0) {
            let _ = write!(text, ":{number}");
        }
        let blank = if id.is_empty() { "" } else { " " };
        let _ = write!(text, " {}{blank}{id}: {}", severity.word(), cut(message));
    }
    let more = findings.len().saturating_sub(most);
    if more > 0 {
        let _ = write!(text, "\n[{more} more]");
    }
    text
}

fn cut(message: &str) -> String {
    match message.char_indices().nth(MESSAGE) {
        Some((at, _)) => format!("{}...", &message[..at]),
        None => message.to_owned(),
    }
}
