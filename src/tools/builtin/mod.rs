//! The tools that have code of their own, one file each, and what they share.

pub(super) mod command;
pub(super) mod find;
mod findings;
pub(super) mod git;
pub(super) mod lint;
pub(super) mod read;
pub(super) mod run_tests;
pub(super) mod search;
pub(super) mod shell;
pub(super) mod typecheck;
mod verification;

use super::Context;
use crate::protocol::{Args, ToolOutput};
use crate::workspace::{Kind, Place};
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

/// One call with all it needs.
pub(super) struct Job<'a> {
    pub(super) args: &'a Args,
    pub(super) cx: &'a Context,
    pub(super) cancel: CancellationToken,
    pub(super) progress: UnboundedSender<String>,
}

/// The output, or one text for the model that says why there is none.
pub(super) type Outcome = Result<ToolOutput, String>;

/// A required text.
fn text<'a>(args: &'a Args, name: &str) -> Result<&'a str, String> {
    optional_text(args, name).ok_or_else(|| format!("the argument {name} is missing"))
}

fn optional_text<'a>(args: &'a Args, name: &str) -> Option<&'a str> {
    args.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}

fn number(args: &Args, name: &str) -> Option<u64> {
    args.get(name).and_then(Value::as_u64)
}

fn flag(args: &Args, name: &str) -> bool {
    args.get(name).and_then(Value::as_bool).unwrap_or(false)
}

/// The folder or file that the argument `path` names; the root without one.
fn start(job: &Job) -> Result<Place, String> {
    let path = optional_text(job.args, "path").unwrap_or(".");
    let place = job.cx.workspace.locate(path).map_err(|refusal| refusal.to_string())?;
    match place.kind {
        Kind::File | Kind::Folder => Ok(place),
        Kind::Special => Err(format!("{path} is not a regular file")),
        Kind::Missing => Err(format!("{path}: no such file or folder")),
    }
}

/// Runs work that blocks on a thread of its own, so that it can be cancelled.
async fn blocking(
    job: &Job<'_>,
    work: impl FnOnce(CancellationToken) -> Outcome + Send + 'static,
) -> Outcome {
    // Stops the thread when this future is dropped as well.
    let token = job.cancel.child_token();
    let _guard = token.clone().drop_guard();
    let running = tokio::task::spawn_blocking({
        let token = token.clone();
        move || work(token)
    });
    tokio::select! {
        biased;
        () = job.cancel.cancelled() => Ok(ToolOutput::stopped("stopped by the user")),
        result = running => match result {
            Ok(output) => output,
            Err(error) => Err(format!("the tool itself failed: {error}")),
        },
    }
}

/// `n thing` or `n things`.
fn plural(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// At most `most` characters, with a mark where text was left out.
fn cut(line: &str, most: usize) -> std::borrow::Cow<'_, str> {
    match line.char_indices().nth(most) {
        Some((at, _)) => format!("{}[...]", &line[..at]).into(),
        None => line.into(),
    }
}
