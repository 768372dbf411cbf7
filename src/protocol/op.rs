//! What a front end asks of the runtime.

use super::{Approval, CallId, Decision, Effort, Policy};
use serde::{Deserialize, Serialize};

/// A request of the front end. Every op is answered by events; none blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "op")]
pub enum Op {
    /// The person sent a message. While a turn runs it is queued for the next step.
    UserTurn {
        /// As typed.
        text: String,
    },
    /// Stop what is going on and become idle.
    Interrupt,
    /// The answer to `Event::ReviewRequested`. Hunks not named are rejected.
    Review {
        /// One for each hunk.
        decisions: Vec<Decision>,
    },
    /// The answer to `Event::ApprovalRequested`.
    Approve {
        /// The call asked about.
        call: CallId,
        /// The answer.
        approval: Approval,
    },
    /// Take back the file changes of the last turn that made some.
    Undo,
    /// Change the approval policy from the next call on.
    SetPolicy {
        /// The new policy.
        policy: Policy,
    },
    /// Change the thinking effort from the next turn on.
    SetEffort {
        /// The new effort.
        effort: Effort,
    },
    /// Forget the conversation and start a new session.
    NewSession,
    /// Stop everything and end.
    Shutdown,
}
