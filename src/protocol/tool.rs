//! Tools as the model sees them, calls to them, and what comes back.

use super::CallId;
use serde::{Deserialize, Serialize};

/// Arguments of a call, in the order written.
pub type Args = serde_json::Map<String, serde_json::Value>;

/// What a tool can do; decides the approval it needs and how its calls are carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// Looks at the working tree and changes nothing.
    Read,
    /// Proposes a change of files; nothing is written before the review.
    Edit,
    /// Runs a command of the model's choice.
    Execute,
    /// Runs a command of the project's own: tests, lint, type check.
    Verify,
}

/// A tool as offered to the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The name the model writes.
    pub name: String,
    /// What a call does and needs.
    pub kind: ToolKind,
    /// The text the model reads.
    pub description: String,
    /// JSON Schema of the arguments: an object with `properties` and `required`.
    pub parameters: serde_json::Value,
}

/// A complete, well-formed call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Given by the agent; engines leave it at 0.
    #[serde(default)]
    pub id: CallId,
    /// The tool's name.
    pub name: String,
    /// Arguments, typed by the tool's schema.
    pub args: Args,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// Did what was asked.
    Done,
    /// Ran and found fault: failing tests, a missed edit, a bad path.
    Failed,
    /// The user or the policy said no.
    Refused,
    /// Stopped by the user or by a time limit.
    Stopped,
}

/// The result of a call. A failure is a value that the model reads, never an error of the program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolOutput {
    /// How the call ended.
    pub status: ToolStatus,
    /// What the model reads: says what happened and, after a failure, what to do next.
    pub text: String,
    /// One line for the person, without control characters.
    pub summary: String,
}

impl ToolOutput {
    /// A call that did what was asked.
    pub fn done(text: impl Into<String>, summary: impl Into<String>) -> Self {
        Self { status: ToolStatus::Done, text: text.into(), summary: summary.into() }
    }

    /// A call that ran and found fault.
    pub fn failed(text: impl Into<String>, summary: impl Into<String>) -> Self {
        Self { status: ToolStatus::Failed, text: text.into(), summary: summary.into() }
    }

    /// A call that the user or the policy refused.
    pub fn refused(text: impl Into<String>) -> Self {
        Self { status: ToolStatus::Refused, text: text.into(), summary: "refused".into() }
    }

    /// A call that was stopped before its end.
    pub fn stopped(text: impl Into<String>) -> Self {
        Self { status: ToolStatus::Stopped, text: text.into(), summary: "stopped".into() }
    }
}
