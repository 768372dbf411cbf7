//! `run_tests`: the project's own tests, told in a few lines.
//!
//! Invariant: only a recognised summary together with a good exit status counts as passed.

use super::{Job, Outcome, optional_text, verification};
use crate::protocol::{Args, ToolOutput, ToolStatus};
use crate::tools::detect::{self, TestRun};
use crate::tools::exec::{End, Finished, Program};
use crate::tools::{Context, clean};
use crate::verify::{self, TestFormat};
use std::fmt::Write;

pub(in crate::tools) fn title(args: &Args, cx: &Context) -> String {
    let runs = runs(cx, filter(args).ok().flatten().as_deref());
    let shown: Vec<&str> = runs.iter().map(|run| run.shown.as_str()).collect();
    if shown.is_empty() { "run the tests".to_owned() } else { shown.join("; ") }
}

pub(in crate::tools) async fn run(job: &Job<'_>) -> Outcome {
    let filter = filter(job.args)?;
    let runs = runs(job.cx, filter.as_deref());
    if runs.is_empty() {
        return Err("No test command found: there is no Cargo.toml, no Python test file and no \
            test script in package.json. Use shell to run the tests."
            .to_owned());
    }
    let mut outputs = Vec::new();
    for run in runs {
        let split = run.format == TestFormat::Jest;
        let finished = verification::start(job, run.program.clone(), split).await?;
        outputs.push(judge(&run, finished, job.cx));
        if job.cancel.is_cancelled() {
            break;
        }
    }
    Ok(verification::join(outputs))
}

/// A name to limit the run to. It must not pass for an option of the runner.
fn filter(args: &Args) -> Result<Option<String>, String> {
    match optional_text(args, "filter") {
        Some(name) if name.starts_with('-') => Err(format!("{name} is an option, not a test name")),
        name => Ok(name.map(str::to_owned)),
    }
}

fn runs(cx: &Context, filter: Option<&str>) -> Vec<TestRun> {
    match &cx.settings.test_command {
        Some(line) => vec![TestRun {
            program: Program::Shell(line.clone()),
            shown: line.clone(),
            format: TestFormat::Any,
        }],
        None => detect::tests(&cx.workspace, filter),
    }
}

fn judge(run: &TestRun, finished: Finished, cx: &Context) -> ToolOutput {
    let root = cx.workspace.root().to_string_lossy();
    let most = cx.settings.findings;
    if let Some(stopped) = verification::stopped(&run.shown, &finished, cx) {
        return stopped;
    }
    let text = clean::clean(&finished.output.text());
    let Some(report) = verify::read_tests(run.format, &text, &root) else {
        return unread(run, &text, &finished, cx);
    };
    let mut told = report.text(&run.shown, most);
    let mut summary = report.totals();
    let passed = report.is_green() && finished.end == End::Exit(0);
    if report.is_green() && !passed {
        let how = verification::how(finished.end, cx);
        let _ = write!(told, "\n[but the command ended with {how}]\n{}", verification::tail(&text));
        summary.push_str(", but the command failed");
    }
    let status = if passed { ToolStatus::Done } else { ToolStatus::Failed };
    if let Some(log) = finished.log.filter(|_| passed) {
        let _ = std::fs::remove_file(log);
    }
    ToolOutput { status, text: told, summary }
}

/// No summary: it did not build, the runner is missing, or it died.
fn unread(run: &TestRun, text: &str, finished: &Finished, cx: &Context) -> ToolOutput {
    let root = cx.workspace.root().to_string_lossy();
    let errors = verify::read_build_errors(text, &root);
    if run.format == TestFormat::Cargo && !errors.is_empty() {
        let told = verify::findings_text(&errors, &run.shown, cx.settings.findings);
        return ToolOutput::failed(format!("it does not build: {told}"), "it does not build");
    }
    if text.contains("No module named pytest") {
        let told = format!("pytest is not installed for this project's Python ({})", run.shown);
        return ToolOutput::failed(told, "pytest is not installed");
    }
    verification::unreadable(&run.shown, "test result", text, finished, cx)
}
