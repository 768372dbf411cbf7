//! What the agent is told once, at its start.

use crate::protocol::{Effort, Message, Policy, SamplingOverrides, ToolSpec};

/// Everything that stays the same for a session.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Instructions; the first message of every conversation.
    pub system: String,
    /// Tools offered, in a fixed order.
    pub tools: Vec<ToolSpec>,
    /// Policy at the start.
    pub policy: Policy,
    /// Effort at the start.
    pub effort: Effort,
    /// Sampling settings the user named; the model's own stand elsewhere.
    pub sampling: SamplingOverrides,
    /// Bounds.
    pub limits: Limits,
    /// Whether the project's own test, lint and type-check commands may run without asking.
    pub verify_allowed: bool,
    /// Words for the model, from `prompts/`.
    pub texts: Texts,
    /// Earlier messages of a resumed session, without the system message.
    pub history: Vec<Message>,
}

/// Bounds of a turn; each ends it in a clear state instead of a hang.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Model calls a turn.
    pub steps: usize,
    /// Generated tokens a step, thinking included.
    pub max_tokens: usize,
    /// Thinking tokens a step.
    pub max_thinking: usize,
    /// Steps in a row that fail the same way (bad calls, empty answers, loops) before the turn ends.
    pub strikes: usize,
    /// Times the very same call may be made in a row.
    pub repeats: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { steps: 60, max_tokens: 32_768, max_thinking: 16_384, strikes: 3, repeats: 3 }
    }
}

/// Words for the model in situations the agent recognises.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    /// The answer was empty.
    pub empty_answer: String,
    /// The text repeated itself and was cut.
    pub looped: String,
    /// The same call was made too often in a row.
    pub repeated_call: String,
    /// An edit or command was refused because the policy is `plan`.
    pub plan_only: String,
    /// The person refused a call without giving a reason.
    pub denied: String,
    /// A call was stopped or never reached because the person interrupted.
    pub interrupted: String,
}
