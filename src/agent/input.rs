//! Everything that can happen to the agent. Closed: adding a case makes every match say what it means there.

use crate::protocol::{Approval, CallId, Decision, Effort, EngineEvent, Policy, ToolOutput};

/// One thing that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// The person sent a message.
    UserTurn {
        /// As typed.
        text: String,
    },
    /// The person wants everything to stop.
    Interrupt,
    /// The engine says something.
    Engine(EngineEvent),
    /// An edit call was tried on the virtual tree.
    Proposed {
        /// The call.
        call: CallId,
        /// `None`: it became hunks. Otherwise why it could not.
        refused: Option<ToolOutput>,
    },
    /// The person decided on the hunks under review.
    Reviewed {
        /// One for each hunk.
        decisions: Vec<Decision>,
    },
    /// Proposals were written (or could not be); one output for each call that was settled.
    Written {
        /// Outputs in call order.
        outputs: Vec<(CallId, ToolOutput)>,
    },
    /// The person answered whether a call may run.
    Approved {
        /// The call asked about.
        call: CallId,
        /// The answer.
        approval: Approval,
    },
    /// A tool is over.
    ToolDone {
        /// The call.
        call: CallId,
        /// What came of it.
        output: ToolOutput,
    },
    /// The person wants the last changes back.
    Undo,
    /// The files were restored, or not.
    Undone {
        /// Told to the model with the next message; `None` when nothing changed.
        note: Option<String>,
    },
    /// Another policy from now on.
    SetPolicy {
        /// The new policy.
        policy: Policy,
    },
    /// Another effort from the next turn on.
    SetEffort {
        /// The new effort.
        effort: Effort,
    },
    /// Forget the conversation.
    NewSession,
}
