//! What an engine is asked for and what it streams back.

use super::{Message, ToolCall, ToolSpec};
use serde::{Deserialize, Serialize};

/// How hard the model should think; the chat template turns it into text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// Thinking is closed before it begins.
    Off,
    /// Short.
    Low,
    /// As trained.
    Medium,
    /// Long; what the model is made for.
    #[default]
    Xhigh,
}

/// Sampling settings. `temperature` 0 is greedy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sampling {
    /// >= 0; 0 takes the likeliest token.
    pub temperature: f32,
    /// 0 keeps all.
    pub top_k: usize,
    /// In (0, 1]; 1 keeps all.
    pub top_p: f32,
    /// In [0, 1); 0 keeps all.
    pub min_p: f32,
    /// Subtracted from the logit of every token already generated; 0 is off.
    pub presence_penalty: f32,
    /// Divides (multiplies) positive (negative) logits of tokens seen in the last 64; 1 is off.
    pub repetition_penalty: f32,
    /// Same seed, same text.
    pub seed: u64,
}

impl Default for Sampling {
    fn default() -> Self {
        Self {
            temperature: 1.0,
            top_k: 20,
            top_p: 0.95,
            min_p: 0.0,
            presence_penalty: 0.0,
            repetition_penalty: 1.0,
            seed: 0,
        }
    }
}

/// Sampling settings named by the user; the others are left to the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SamplingOverrides {
    /// See [`Sampling::temperature`].
    pub temperature: Option<f32>,
    /// See [`Sampling::top_k`].
    pub top_k: Option<usize>,
    /// See [`Sampling::top_p`].
    pub top_p: Option<f32>,
    /// See [`Sampling::min_p`].
    pub min_p: Option<f32>,
    /// See [`Sampling::presence_penalty`].
    pub presence_penalty: Option<f32>,
    /// See [`Sampling::repetition_penalty`].
    pub repetition_penalty: Option<f32>,
    /// See [`Sampling::seed`].
    pub seed: Option<u64>,
}

impl SamplingOverrides {
    /// `base` (what the model recommends) with the user's values in place.
    #[must_use]
    pub fn over(&self, base: &Sampling) -> Sampling {
        Sampling {
            temperature: self.temperature.unwrap_or(base.temperature),
            top_k: self.top_k.unwrap_or(base.top_k),
            top_p: self.top_p.unwrap_or(base.top_p),
            min_p: self.min_p.unwrap_or(base.min_p),
            presence_penalty: self.presence_penalty.unwrap_or(base.presence_penalty),
            repetition_penalty: self.repetition_penalty.unwrap_or(base.repetition_penalty),
            seed: self.seed.unwrap_or(base.seed),
        }
    }
}

/// One step: continue this conversation.
///
/// `messages` is the whole conversation, append-only between the requests of a session; an engine
/// that recognises its own earlier messages prefills only what is new.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The whole conversation, system message first.
    pub messages: Vec<Message>,
    /// Tools offered, in a fixed order.
    pub tools: Vec<ToolSpec>,
    /// How hard to think.
    pub effort: Effort,
    /// Sampling settings.
    pub sampling: Sampling,
    /// Upper bound on generated tokens, thinking included.
    pub max_tokens: usize,
    /// Upper bound on thinking tokens; the block is closed there.
    pub max_thinking: usize,
}

/// What is loaded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// `general.name` of the file, or its stem.
    pub name: String,
    /// GGUF architecture.
    pub architecture: String,
    /// Commonest tensor type of the matrices, such as `Q8_0`.
    pub quantization: String,
    /// Longest conversation in tokens.
    pub context: usize,
    /// Parameters.
    pub parameters: u64,
    /// `cpu`, `cuda:0`, `remote`, `scripted`.
    pub device: String,
    /// What the file recommends (`general.sampling.*`); the defaults where it is silent.
    pub sampling: Sampling,
}

/// Stages of loading, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadStage {
    /// Header, metadata and tensor table.
    Reading,
    /// Tokenizer and chat template.
    Tokenizer,
    /// Weights; `done` and `total` are bytes.
    Weights,
}

/// Why a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The model ended its turn.
    Stop,
    /// `max_tokens` or the context was reached.
    Length,
    /// Cancelled by the user.
    Cancelled,
    /// The text repeated itself and was cut.
    Loop,
}

/// Token counts and times of one step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Prompt tokens computed in this step.
    pub prefilled: usize,
    /// Prompt tokens that were already in the state.
    pub cached: usize,
    /// Tokens generated inside the thinking block, tags not counted.
    pub thinking: usize,
    /// All other generated tokens: answer, calls, tags.
    pub answer: usize,
    /// Milliseconds from request to the end of prefill.
    pub prefill_ms: u64,
    /// Milliseconds from the first to the last generated token.
    pub decode_ms: u64,
    /// Tokens in the context after the step.
    pub context: usize,
}

/// Something wrong with a call the model wrote. The call is not run; the model reads this.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallProblem {
    /// Machine-readable code, such as `missing:edit.old`.
    pub code: String,
    /// One sentence that says what to write instead.
    pub message: String,
}

/// What an engine streams, in order: `Prefill`*, deltas and calls, then exactly one `Finished` or `Failed`.
#[derive(Clone, Debug, PartialEq)]
pub enum EngineEvent {
    /// Weights are coming in. Only before the first `Ready`.
    Loading {
        /// What is being read.
        stage: LoadStage,
        /// Part done, in the stage's unit.
        done: u64,
        /// All of it; 0 when unknown.
        total: u64,
    },
    /// The model can take requests.
    Ready(ModelInfo),
    /// Prompt tokens computed so far, of those that had to be.
    Prefill {
        /// Computed so far in this step.
        done: usize,
        /// To compute in this step.
        total: usize,
        /// Reused from the state.
        cached: usize,
    },
    /// More raw reasoning.
    Thinking(String),
    /// The thinking block was closed.
    ThinkingDone,
    /// More of the answer.
    Text(String),
    /// A call has begun; `name` is known as soon as it was written.
    CallStarted {
        /// The tool's name.
        name: String,
    },
    /// Raw text of the call being written, for the live view only.
    CallDelta(String),
    /// A complete, valid call. `repairs` names tolerances used.
    Call {
        /// The call, id 0.
        call: ToolCall,
        /// Tolerances used to read it.
        repairs: Vec<String>,
    },
    /// A call that cannot be run.
    BadCall(CallProblem),
    /// The step is over.
    Finished {
        /// Why.
        reason: FinishReason,
        /// What it cost.
        usage: Usage,
    },
    /// The engine cannot go on with this request (or, before `Ready`, at all).
    Failed {
        /// One message that names the remedy.
        message: String,
    },
}
