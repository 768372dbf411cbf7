//! Settings: `defaults.toml` -> the user's file -> environment -> flags.
//!
//! Loading gives (settings, warnings): an unknown key or a bad value is reported with the place it
//! came from and the default stays. Only a file that cannot be read or is not TOML stops the program.
//! Nothing from the opened repository is read here.

mod layers;
#[cfg(test)]
mod tests;

pub use layers::{ConfigError, Layer, load};

use crate::protocol::{Effort, Policy, SamplingOverrides};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The text of the defaults, which is also their documentation.
pub const DEFAULTS: &str = include_str!("defaults.toml");

/// All settings after merging.
#[derive(Clone, Debug, Deserialize)]
pub struct Config {
    /// GGUF file; empty when none was named.
    pub model: String,
    /// Approval policy at the start.
    pub policy: Policy,
    /// Thinking effort at the start.
    pub effort: Effort,
    /// Theme file without its ending.
    pub theme: String,
    /// How thinking blocks are shown.
    pub thinking: Thinking,
    /// Name of the profile in use.
    pub profile: String,
    /// What may happen without asking.
    pub approval: ApprovalConfig,
    /// Bounds of a turn.
    pub limits: LimitsConfig,
    /// Bounds of tools.
    pub tools: ToolsConfig,
    /// The engine.
    pub engine: EngineConfig,
    /// Sampling settings named by the user; the model's own stand elsewhere.
    pub sampling: SamplingOverrides,
    /// Prompts and tool sets by name.
    pub profiles: BTreeMap<String, Profile>,
}

/// How thinking blocks are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Thinking {
    /// A live tail while it streams, one line when done.
    Tail,
    /// One line, also while it streams.
    Folded,
    /// All of it.
    Full,
    /// Not at all; still kept and counted.
    Off,
}

/// What may happen without asking.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct ApprovalConfig {
    /// The project's own test, lint and type-check commands.
    pub verify: Ask,
}

/// Ask or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ask {
    /// Ask, once a session.
    Ask,
    /// Go ahead.
    Allow,
}

/// Bounds of a turn.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct LimitsConfig {
    /// Model calls.
    pub steps: usize,
    /// Generated tokens a step.
    pub max_tokens: usize,
    /// Thinking tokens a step.
    pub max_thinking: usize,
}

/// Bounds of tools.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct ToolsConfig {
    /// Seconds a command may run.
    pub timeout: u64,
    /// Bytes of output that reach the model.
    pub output: usize,
}

/// The engine.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct EngineConfig {
    /// Longest conversation in tokens; 0 takes the model's own.
    pub context: usize,
    /// Prompt tokens computed at a time at most.
    pub prefill_chunk: usize,
    /// How activations are rounded.
    pub numerics: Numerics,
}

/// How activations are rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Numerics {
    /// f32 activations.
    Exact,
    /// Kernels may round activations to 8 bits.
    Fast,
}

/// A system prompt and a set of tools.
#[derive(Clone, Debug, Deserialize)]
pub struct Profile {
    /// A file of `prompts/`, without `.md`.
    pub prompt: String,
    /// Tools offered, in this order; empty offers all.
    #[serde(default)]
    pub tools: Vec<String>,
}

impl Config {
    /// The profile in use, or the names there are.
    pub fn profile(&self) -> Result<&Profile, ConfigError> {
        self.profiles.get(&self.profile).ok_or_else(|| ConfigError::UnknownProfile {
            name: self.profile.clone(),
            known: self.profiles.keys().cloned().collect::<Vec<_>>().join(", "),
        })
    }
}
