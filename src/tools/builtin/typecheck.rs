//! `typecheck`: the project's type checkers; for compiled languages the compiler's check.

use super::{Job, Outcome, findings};
use crate::tools::Context;
use crate::tools::detect::{self, FindingRun};

pub(in crate::tools) fn title(cx: &Context) -> String {
    findings::title(&runs(cx), "check types")
}

pub(in crate::tools) async fn run(job: &Job<'_>) -> Outcome {
    let runs = runs(job.cx);
    if runs.is_empty() {
        return Err(
            "No type checker found: neither cargo, nor mypy, nor pyright, nor tsc is set up \
            here. Use shell to run another one."
                .to_owned(),
        );
    }
    findings::run(job, runs).await
}

fn runs(cx: &Context) -> Vec<FindingRun> {
    match &cx.settings.typecheck_command {
        Some(line) => findings::chosen(line),
        None => detect::typechecks(&cx.workspace),
    }
}
