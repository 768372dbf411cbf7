//! `shell`: a command line of the model's. What it prints is what the model reads, with the status
//! behind it when it did not end well.

use super::{Job, Outcome, number, text};
use crate::protocol::{ToolOutput, ToolStatus};
use crate::tools::clean::clean;
use crate::tools::exec::{self, Command, End, Finished, Program};
use std::time::Duration;

/// No command may run longer, whatever the call says.
const LONGEST: Duration = Duration::from_secs(3600);

pub(in crate::tools) async fn run(job: &Job<'_>) -> Outcome {
    let line = text(job.args, "command")?;
    let asked = number(job.args, "timeout_s").filter(|n| *n > 0).map(Duration::from_secs);
    let timeout = asked.unwrap_or(job.cx.settings.timeout).min(LONGEST);
    run_line(job, line.to_owned(), timeout).await
}

/// Runs a shell line at the root and tells what came of it.
pub(super) async fn run_line(job: &Job<'_>, line: String, timeout: Duration) -> Outcome {
    let settings = &job.cx.settings;
    let command = Command {
        program: Program::Shell(line),
        dir: job.cx.workspace.root().to_owned(),
        env: Vec::new(),
        timeout,
        keep: settings.output * 2,
        split: false,
        log_dir: settings.log_dir(),
    };
    let finished = exec::run(command, &job.cancel, Some(job.progress.clone()))
        .await
        .map_err(|error| error.to_string())?;
    Ok(report(finished, settings.output, timeout))
}

fn report(finished: Finished, most: usize, timeout: Duration) -> ToolOutput {
    let shown = finished.output.shortened(most);
    let mut parts = Vec::new();
    if finished.output.is_binary() {
        parts.push(format!("[binary output, {} bytes]", finished.output.total()));
    } else {
        let body = clean(&shown.text());
        let body = body.trim_end();
        parts.extend((!body.is_empty()).then(|| body.to_owned()));
    }
    let cut = shown.omitted > 0 && !finished.output.is_binary();
    match finished.log {
        Some(log) if cut => parts.push(format!("[more of the output: {}]", log.display())),
        Some(log) => drop(std::fs::remove_file(log)),
        None => {}
    }
    if finished.left_behind > 0 {
        let count = finished.left_behind;
        parts.push(format!("[{count} background process(es) were still running and were ended]"));
    }
    let (status, word) = ended(finished.end, timeout);
    if let Some(word) = &word {
        parts.push(format!("[{word}]"));
    }
    if parts.is_empty() {
        parts.push("(no output)".to_owned());
    }
    let summary = word.unwrap_or_else(|| "ok".to_owned());
    ToolOutput { status, text: parts.join("\n"), summary }
}

/// How a command ended, in words; nothing to say when it ended well.
pub(super) fn ended(end: End, timeout: Duration) -> (ToolStatus, Option<String>) {
    match end {
        End::Exit(0) => (ToolStatus::Done, None),
        End::Exit(127) => (ToolStatus::Failed, Some("exit status 127: command not found".into())),
        End::Exit(code) => (ToolStatus::Failed, Some(format!("exit status {code}"))),
        End::Signal(signal) => (ToolStatus::Failed, Some(format!("killed by {}", name(signal)))),
        End::TimedOut => {
            let seconds = timeout.as_secs_f32();
            (ToolStatus::Stopped, Some(format!("stopped: it took longer than {seconds} s")))
        }
        End::Cancelled => (ToolStatus::Stopped, Some("stopped by the user".into())),
    }
}

fn name(signal: i32) -> String {
    let known = [
        (2, "SIGINT"),
        (4, "SIGILL"),
        (6, "SIGABRT"),
        (8, "SIGFPE"),
        (9, "SIGKILL"),
        (11, "SIGSEGV"),
        (13, "SIGPIPE"),
        (15, "SIGTERM"),
    ];
    match known.iter().find(|(number, _)| *number == signal) {
        Some((_, name)) => (*name).to_owned(),
        None => format!("signal {signal}"),
    }
}
