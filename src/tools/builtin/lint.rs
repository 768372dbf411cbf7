//! `lint`: the project's linters.

use super::{Job, Outcome, findings};
use crate::tools::Context;
use crate::tools::detect::{self, FindingRun};

pub(in crate::tools) fn title(cx: &Context) -> String {
    findings::title(&runs(cx), "lint")
}

pub(in crate::tools) async fn run(job: &Job<'_>) -> Outcome {
    let runs = runs(job.cx);
    if runs.is_empty() {
        return Err("No linter found: neither cargo clippy, nor ruff, nor eslint is set up here. \
            Use shell to run another one."
            .to_owned());
    }
    findings::run(job, runs).await
}

fn runs(cx: &Context) -> Vec<FindingRun> {
    match &cx.settings.lint_command {
        Some(line) => findings::chosen(line),
        None => detect::lints(&cx.workspace),
    }
}
