//! What tests, lint and type check share: running the command, and telling when it did not work.

use super::{Job, shell};
use crate::protocol::{ToolOutput, ToolStatus};
use crate::tools::Context;
use crate::tools::exec::{self, Command, End, Finished, Program};

/// Bytes of output that are parsed; a larger one is cut in its middle.
const PARSED: usize = 8 * 1024 * 1024;
/// Lines shown of output that could not be read.
const TAIL: usize = 30;

/// Runs a command of the project's at the root.
pub(super) async fn start(
    job: &Job<'_>,
    program: Program,
    split: bool,
) -> Result<Finished, String> {
    let settings = &job.cx.settings;
    let command = Command {
        program,
        dir: job.cx.workspace.root().to_owned(),
        // Backtraces of panics are long and add nothing to the place they happened at.
        env: vec![("RUST_BACKTRACE".to_owned(), "0".to_owned())],
        timeout: settings.timeout,
        keep: PARSED,
        split,
        log_dir: settings.log_dir(),
    };
    exec::run(command, &job.cancel, Some(job.progress.clone())).await.map_err(|e| e.to_string())
}

/// The output for a run that was stopped before its end.
pub(super) fn stopped(shown: &str, finished: &Finished, cx: &Context) -> Option<ToolOutput> {
    let (status, word) = shell::ended(finished.end, cx.settings.timeout);
    if status != ToolStatus::Stopped {
        return None;
    }
    let word = word.unwrap_or_default();
    let text = format!("{shown}: {word}\n{}", tail(&finished.output.text()));
    Some(ToolOutput { status, text: text.trim_end().to_owned(), summary: word })
}

/// The output for a run whose output is not what it should be.
pub(super) fn unreadable(
    shown: &str,
    wanted: &str,
    text: &str,
    finished: &Finished,
    cx: &Context,
) -> ToolOutput {
    let how = how(finished.end, cx);
    let mut told = format!("{shown} ended with {how} and no {wanted} could be read");
    let end = if text.trim().is_empty() { finished.errors.text() } else { text.to_owned() };
    let end = tail(&end);
    if !end.is_empty() {
        told.push_str(":\n");
        told.push_str(&end);
    }
    if let Some(log) = &finished.log {
        told.push_str(&format!("\n[whole output: {}]", log.display()));
    }
    ToolOutput::failed(told, format!("no {wanted}: {how}"))
}

/// `exit status 1`, in words.
pub(super) fn how(end: End, cx: &Context) -> String {
    shell::ended(end, cx.settings.timeout).1.unwrap_or_else(|| "exit status 0".to_owned())
}

/// The last lines of a text.
pub(super) fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let start = lines.len().saturating_sub(TAIL);
    lines[start..].iter().map(|line| super::cut(line, 400)).collect::<Vec<_>>().join("\n")
}

/// Several runs as one output: the texts one after the other, the worst status.
pub(super) fn join(outputs: Vec<ToolOutput>) -> ToolOutput {
    let rank = |status: ToolStatus| match status {
        ToolStatus::Done => 0,
        ToolStatus::Failed => 1,
        ToolStatus::Refused => 2,
        ToolStatus::Stopped => 3,
    };
    let status = outputs.iter().map(|o| o.status).max_by_key(|s| rank(*s));
    let texts: Vec<&str> = outputs.iter().map(|output| output.text.as_str()).collect();
    let summaries: Vec<&str> = outputs.iter().map(|output| output.summary.as_str()).collect();
    ToolOutput {
        status: status.unwrap_or(ToolStatus::Done),
        text: texts.join("\n"),
        summary: summaries.join("; "),
    }
}
