//! Tools: what the model can ask for (`spec`, `registry`), and carrying a call out (`builtin`), with
//! the commands of the project (`detect`) and the one place that starts processes (`exec`).
//!
//! Not here: whether a call may run (agent), and edits, which are proposals (`edit`, runtime).
//! Invariant: a call always ends in a [`ToolOutput`]; nothing that goes wrong in a tool is an error
//! of the program.

mod builtin;
mod clean;
mod detect;
pub mod exec;
mod registry;
mod spec;
#[cfg(test)]
mod tests;

pub use detect::{FindingRun, TestRun};
pub use registry::Registry;
pub use spec::{Example, ToolDef};

use crate::protocol::{ToolCall, ToolOutput};
use crate::workspace::Workspace;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

/// Limits and choices of the user's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Time limit of a command, where the call gives none.
    pub timeout: Duration,
    /// Bytes of a command's output that the model reads.
    pub output: usize,
    /// Folder for whole outputs of commands, made when needed; empty: they are not kept.
    pub logs: PathBuf,
    /// Bytes of a file that one `read` gives.
    pub read_bytes: usize,
    /// Lines of a file that one `read` gives where the call says nothing.
    pub read_lines: usize,
    /// Lines that `search` and `find` give.
    pub matches: usize,
    /// Failed tests and findings that are named.
    pub findings: usize,
    /// Used instead of the test command that would be found; a shell line.
    pub test_command: Option<String>,
    /// Used instead of the linters that would be found; a shell line.
    pub lint_command: Option<String>,
    /// Used instead of the type checkers that would be found; a shell line.
    pub typecheck_command: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(600),
            output: 16 * 1024,
            logs: PathBuf::new(),
            read_bytes: 40 * 1024,
            read_lines: 1000,
            matches: 100,
            findings: 20,
            test_command: None,
            lint_command: None,
            typecheck_command: None,
        }
    }
}

impl Settings {
    fn log_dir(&self) -> Option<PathBuf> {
        Some(self.logs.clone()).filter(|dir| !dir.as_os_str().is_empty())
    }
}

/// What tools work with.
#[derive(Clone, Debug)]
pub struct Context {
    /// The working tree.
    pub workspace: Arc<Workspace>,
    /// Limits and choices.
    pub settings: Settings,
    /// Where tools with a command are found; `None`: only built-in tools can run.
    pub registry: Option<Arc<Registry>>,
}

impl Context {
    /// A context for the built-in tools.
    pub fn new(workspace: Arc<Workspace>, settings: Settings) -> Self {
        Self { workspace, settings, registry: None }
    }

    /// Adds the tools of the user's that are commands.
    #[must_use]
    pub fn with_registry(self, registry: Arc<Registry>) -> Self {
        Self { registry: Some(registry), ..self }
    }

    fn command(&self, name: &str) -> Option<&str> {
        self.registry.as_ref()?.get(name)?.command.as_deref()
    }
}

/// Carries out a call of any kind but edit. `cancel` stops it; what it started is gone when this
/// returns or is dropped. `progress` gets live output of commands.
pub async fn run(
    call: &ToolCall,
    cx: &Context,
    cancel: CancellationToken,
    progress: UnboundedSender<String>,
) -> ToolOutput {
    let job = builtin::Job { args: &call.args, cx, cancel, progress };
    let result = match call.name.as_str() {
        "read" => builtin::read::run(&job),
        "search" => builtin::search::run(&job).await,
        "find" => builtin::find::run(&job).await,
        "shell" => builtin::shell::run(&job).await,
        "run_tests" => builtin::run_tests::run(&job).await,
        "lint" => builtin::lint::run(&job).await,
        "typecheck" => builtin::typecheck::run(&job).await,
        "git" => builtin::git::run(&job).await,
        "edit" | "write" => Err("edits are proposed and reviewed, not run".to_owned()),
        name => match cx.command(name) {
            Some(template) => builtin::command::run(&job, template).await,
            None => Err(format!("there is no tool {name}")),
        },
    };
    result.unwrap_or_else(|reason| {
        let summary = crate::protocol::visible(reason.lines().next().unwrap_or_default());
        ToolOutput::failed(reason.clone(), summary.into_owned())
    })
}

/// What a call would do, in one line without control characters; for approval and for the transcript.
/// Never cut: what is approved must be what is seen.
pub fn title(call: &ToolCall, cx: &Context) -> String {
    let job = |key: &str| call.args.get(key).and_then(|value| value.as_str()).unwrap_or_default();
    let title = match call.name.as_str() {
        "read" => builtin::read::title(&call.args),
        "search" => builtin::search::title(&call.args),
        "find" => format!("find {}", job("pattern")),
        "shell" => job("command").to_owned(),
        "run_tests" => builtin::run_tests::title(&call.args, cx),
        "lint" => builtin::lint::title(cx),
        "typecheck" => builtin::typecheck::title(cx),
        "git" => builtin::git::title(&call.args),
        "edit" | "write" => format!("{} {}", call.name, job("path")),
        name => match cx.command(name) {
            Some(template) => builtin::command::line(template, &call.args),
            None => name.to_owned(),
        },
    };
    one_line(&title)
}

/// Control characters made visible, line ends too.
fn one_line(text: &str) -> String {
    crate::protocol::visible(text).replace('\n', "␊").replace('\t', " ")
}
