//! Reads what test runners, linters and type checkers print: text in, findings out.
//!
//! Pure: running the commands and finding out which ones a project has is done in `tools`. Invariant:
//! a run without a recognised summary is `None`, never a success.

mod baseline;
mod cargo;
mod eslint;
mod javascript;
mod jest;
mod lines;
mod mocha;
mod mypy;
mod place;
mod pyright;
mod pytest;
mod report;
mod ruff;
mod spec;
mod tap;
#[cfg(test)]
mod tests;
mod unittest;
mod vitest;

pub use baseline::{Comparison, compare_findings, compare_tests};
pub use report::{
    Counts, Finding, Severity, TestOutcome, TestReport, TestState, findings_text, sort_findings,
};

/// Which runner's output a test run is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestFormat {
    /// `python3 -m unittest -v`, standard error.
    Unittest,
    /// `pytest --tb=short -rfE`.
    Pytest,
    /// `cargo test`: text of libtest, or of the compiler when it does not build.
    Cargo,
    /// `jest --json` or `vitest run --reporter=json`, standard output.
    Jest,
    /// Not known beforehand, as behind `npm test`: the first format that is recognised.
    Any,
}

/// Which tool's output a lint or type check is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingFormat {
    /// `cargo check|clippy --message-format=json`, standard output.
    Cargo,
    /// `ruff check --output-format=json`, standard output.
    Ruff,
    /// `eslint --format json`, standard output.
    Eslint,
    /// `mypy --show-column-numbers`, standard output.
    Mypy,
    /// `pyright --outputjson`, standard output.
    Pyright,
    /// Lines of `path:line:column: message` or `path(line,column): message`, as `tsc` and most
    /// compilers write.
    Lines,
}

/// Reads the output of a test run. `root` is the absolute root of the project: places are given
/// relative to it, and only places inside it count.
///
/// `None` when there is no summary: the run died before its end, or it is not that format.
pub fn read_tests(format: TestFormat, text: &str, root: &str) -> Option<TestReport> {
    match format {
        TestFormat::Unittest => unittest::read(text, root),
        TestFormat::Pytest => pytest::read(text, root),
        TestFormat::Cargo => cargo::read_tests(text, root),
        TestFormat::Jest => jest::read(text, root),
        TestFormat::Any => jest::read(text, root)
            .or_else(|| tap::read(text, root))
            .or_else(|| spec::read(text, root))
            .or_else(|| jest::read_text(text, root))
            .or_else(|| vitest::read(text, root))
            .or_else(|| mocha::read(text, root))
            .or_else(|| pytest::read(text, root))
            .or_else(|| cargo::read_tests(text, root))
            .or_else(|| unittest::read(text, root)),
    }
}

/// Reads the output of a lint or type check; places as in [`read_tests`].
///
/// `None` when the output is not what the tool writes when it works (it crashed, it is misconfigured).
pub fn read_findings(format: FindingFormat, text: &str, root: &str) -> Option<Vec<Finding>> {
    let mut findings = match format {
        FindingFormat::Cargo => cargo::read_findings(text, root),
        FindingFormat::Ruff => ruff::read(text, root),
        FindingFormat::Eslint => eslint::read(text, root),
        FindingFormat::Mypy => mypy::read(text, root),
        FindingFormat::Pyright => pyright::read(text, root),
        FindingFormat::Lines => lines::read(text, root),
    }?;
    sort_findings(&mut findings);
    Some(findings)
}

/// Compiler errors in the text of a `cargo` run that did not build.
pub fn read_build_errors(text: &str, root: &str) -> Vec<Finding> {
    cargo::read_build_errors(text, root)
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
