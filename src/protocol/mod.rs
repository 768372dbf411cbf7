//! The shared vocabulary of the whole program: plain data, no IO, no async.
//!
//! Three closed languages meet here: [`Op`]/[`Event`] between a front end and the runtime, and
//! [`Request`]/[`EngineEvent`] between the runtime and an engine. Every other module may import
//! this one; it imports none of them.

mod approval;
mod diff;
mod engine;
mod event;
mod id;
mod message;
mod op;
mod text;
mod tool;

pub use approval::{Approval, Policy};
pub use diff::{Change, Decision, FileDiff, Hunk, Review, Verdict};
pub use engine::{
    CallProblem, Effort, EngineEvent, FinishReason, LoadStage, ModelInfo, Request, Sampling,
    SamplingOverrides, Usage,
};
pub use event::{Event, Level, Outcome, Phase};
pub use id::{CallId, HunkId, SessionId, StepId, TurnId};
pub use message::{Message, Role};
pub use op::Op;
pub use text::visible;
pub use tool::{Args, ToolCall, ToolKind, ToolOutput, ToolSpec, ToolStatus};
