//! How much the agent may do without asking.

use serde::{Deserialize, Serialize};

/// The approval policy of a session. Nothing from the opened repository can lower it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Look only: edits and commands are refused.
    Plan,
    /// Every edit is reviewed hunk by hunk, every command of the model's is asked for.
    #[default]
    Review,
    /// Edits are written at once (and can be undone); commands are asked for.
    AutoEdit,
    /// Edits and commands go ahead without asking.
    Auto,
}

impl Policy {
    /// The name used in configuration, on the command line and on screen.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Review => "review",
            Self::AutoEdit => "auto-edit",
            Self::Auto => "auto",
        }
    }
}

/// The answer to "may this command run?".
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "answer")]
pub enum Approval {
    /// This once.
    Once,
    /// This, and in this session the same again: the same command, or any run of a verification tool.
    Session,
    /// No; the model reads the reason.
    Deny {
        /// May be empty.
        reason: String,
    },
}
