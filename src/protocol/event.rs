//! What the runtime tells a front end. Enough to draw everything; nothing is asked back but by an [`Op`](super::Op).

use super::{
    CallId, CallProblem, Effort, LoadStage, ModelInfo, Policy, Review, SessionId, StepId, ToolCall,
    ToolOutput, TurnId, Usage,
};
use serde::{Deserialize, Serialize};

/// What the agent is doing now; always on screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Waiting for the person to write.
    #[default]
    Idle,
    /// Weights are coming in.
    Loading,
    /// The model reads the prompt.
    Prefill,
    /// The model thinks.
    Thinking,
    /// The model answers.
    Answering,
    /// The model writes a tool call.
    Calling,
    /// A tool runs.
    Tool,
    /// Waiting for a decision of the person's.
    Review,
}

/// How loud a notice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Good to know.
    Info,
    /// Something was given up or left out.
    Warning,
    /// Something asked for could not be done.
    Error,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum Outcome {
    /// The model ended its turn.
    Done,
    /// The person stopped it.
    Interrupted,
    /// It could not go on.
    Failed {
        /// Why, and what to do.
        message: String,
    },
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum Event {
    /// A session is open. Sent first, and again after `NewSession`.
    Session {
        /// Its name.
        id: SessionId,
        /// Root of the workspace, absolute.
        root: String,
        /// Branch or short commit; `None` outside a repository.
        branch: Option<String>,
        /// Policy in force.
        policy: Policy,
        /// Effort in force.
        effort: Effort,
    },
    /// Weights are coming in.
    Loading {
        /// What is being read.
        stage: LoadStage,
        /// Part done.
        done: u64,
        /// All of it; 0 when unknown.
        total: u64,
    },
    /// The model can take requests.
    Ready {
        /// What is loaded.
        model: ModelInfo,
    },
    /// The engine could not be started; no turn can run.
    EngineFailed {
        /// One message that names the remedy.
        message: String,
    },
    /// What the agent does now changed.
    Phase {
        /// The new phase.
        phase: Phase,
    },
    /// A turn began (also replayed when a session is resumed).
    TurnStarted {
        /// The turn.
        turn: TurnId,
        /// What the person wrote.
        text: String,
    },
    /// A message was queued while a turn runs.
    Queued {
        /// What the person wrote.
        text: String,
    },
    /// A model call began.
    StepStarted {
        /// The step.
        step: StepId,
    },
    /// Progress of reading the prompt.
    Prefill {
        /// Computed so far in this step.
        done: usize,
        /// To compute in this step.
        total: usize,
        /// Reused from the state.
        cached: usize,
    },
    /// More raw reasoning.
    ThinkingDelta {
        /// Raw text.
        text: String,
    },
    /// The thinking block was closed.
    ThinkingDone,
    /// More of the answer.
    TextDelta {
        /// Markdown.
        text: String,
    },
    /// A call is being written.
    CallStarted {
        /// The tool's name.
        name: String,
    },
    /// Raw text of that call.
    CallDelta {
        /// Raw text.
        text: String,
    },
    /// The model call is over.
    StepFinished {
        /// The step.
        step: StepId,
        /// What it cost.
        usage: Usage,
    },
    /// A call was complete and is about to be previewed, asked for or run.
    ToolRequested {
        /// The call.
        call: ToolCall,
        /// Tolerances used to read it; empty when it was well formed.
        repairs: Vec<String>,
    },
    /// A call that cannot be run; the model was told.
    ToolRejected {
        /// What is wrong with it.
        problem: CallProblem,
    },
    /// A tool runs.
    ToolStarted {
        /// The call.
        call: CallId,
        /// What is being run, in one line.
        title: String,
    },
    /// Live output of a running tool.
    ToolProgress {
        /// The call.
        call: CallId,
        /// Raw text.
        text: String,
    },
    /// A call is over.
    ToolFinished {
        /// The call.
        call: CallId,
        /// What came of it.
        output: ToolOutput,
    },
    /// Please decide on these hunks (`Op::Review`).
    ReviewRequested {
        /// What would change.
        review: Review,
    },
    /// Please say whether this call may run (`Op::Approve`).
    ApprovalRequested {
        /// The call.
        call: ToolCall,
        /// What would be run, in one line.
        title: String,
    },
    /// Files were written or restored.
    FilesChanged {
        /// Paths relative to the root.
        paths: Vec<String>,
        /// Lines that came.
        added: usize,
        /// Lines that went.
        removed: usize,
    },
    /// The policy in force changed.
    PolicyChanged {
        /// The new policy.
        policy: Policy,
    },
    /// The effort in force changed.
    EffortChanged {
        /// The new effort.
        effort: Effort,
    },
    /// Something to tell the person.
    Notice {
        /// How loud.
        level: Level,
        /// One or a few lines.
        text: String,
    },
    /// The agent is idle again.
    TurnFinished {
        /// The turn.
        turn: TurnId,
        /// How it ended.
        outcome: Outcome,
    },
    /// The runtime has ended; nothing follows.
    Closed,
}
