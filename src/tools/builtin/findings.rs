//! What lint and type check share: running each tool and telling what it found.

use super::{Job, Outcome, verification};
use crate::protocol::{ToolOutput, ToolStatus};
use crate::tools::detect::FindingRun;
use crate::tools::exec::{End, Finished, Program};
use crate::tools::{Context, clean};
use crate::verify::{self, FindingFormat, Severity};

/// The command of the user's instead of what detection finds.
pub(super) fn chosen(line: &str) -> Vec<FindingRun> {
    vec![FindingRun {
        program: Program::Shell(line.to_owned()),
        shown: line.to_owned(),
        format: FindingFormat::Lines,
    }]
}

pub(super) fn title(runs: &[FindingRun], none: &str) -> String {
    let shown: Vec<&str> = runs.iter().map(|run| run.shown.as_str()).collect();
    if shown.is_empty() { none.to_owned() } else { shown.join("; ") }
}

pub(super) async fn run(job: &Job<'_>, runs: Vec<FindingRun>) -> Outcome {
    let mut outputs = Vec::new();
    for run in runs {
        // Everything but plain lines is parsed from standard output alone.
        let split = run.format != FindingFormat::Lines;
        let finished = verification::start(job, run.program.clone(), split).await?;
        outputs.push(judge(&run, finished, job.cx));
        if job.cancel.is_cancelled() {
            break;
        }
    }
    Ok(verification::join(outputs))
}

fn judge(run: &FindingRun, finished: Finished, cx: &Context) -> ToolOutput {
    if let Some(stopped) = verification::stopped(&run.shown, &finished, cx) {
        return stopped;
    }
    let root = cx.workspace.root().to_string_lossy();
    let text = clean::clean(&finished.output.text());
    let findings = verify::read_findings(run.format, &text, &root);
    // A tool that fails and finds nothing has not worked.
    let worked = |found: &Vec<_>| finished.end == End::Exit(0) || !found.is_empty();
    let Some(findings) = findings.filter(worked) else {
        return verification::unreadable(&run.shown, "finding", &text, &finished, cx);
    };
    let told = verify::findings_text(&findings, &run.shown, cx.settings.findings);
    let summary = told.lines().next().unwrap_or_default().to_owned();
    let bad = finished.end != End::Exit(0)
        || findings.iter().any(|finding| finding.severity == Severity::Error);
    let status = if bad { ToolStatus::Failed } else { ToolStatus::Done };
    if let Some(log) = finished.log {
        let _ = std::fs::remove_file(log);
    }
    ToolOutput { status, text: told, summary }
}
