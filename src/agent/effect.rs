//! Everything the agent can ask for. Plain data; the runtime carries it out and answers with inputs.

use crate::protocol::{CallId, Decision, Event, Message, Request, ToolCall};

/// One thing to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Ask the engine to continue the conversation. Answered by `Input::Engine` until `Finished` or `Failed`.
    Generate(Request),
    /// Stop the generation; `Finished` still comes.
    CancelGeneration,
    /// Try an edit on the virtual tree. Answered by `Input::Proposed`.
    Propose(ToolCall),
    /// Show the pending hunks of these calls. Answered by `Input::Reviewed`.
    ShowReview {
        /// Calls that became hunks, in order.
        calls: Vec<CallId>,
    },
    /// Write the pending changes of these calls. Answered by `Input::Written`.
    Write {
        /// Calls to settle, in order.
        calls: Vec<CallId>,
        /// What the person decided; `None` accepts every hunk.
        decisions: Option<Vec<Decision>>,
    },
    /// Forget the pending changes.
    Discard,
    /// Ask the person. Answered by `Input::Approved`.
    AskApproval(ToolCall),
    /// Run a tool. Answered by `Input::ToolDone`, also after `CancelTool`.
    RunTool(ToolCall),
    /// Stop the running tool.
    CancelTool,
    /// Restore the files of the last turn that changed some. Answered by `Input::Undone`.
    Restore,
    /// Append a message to the session log.
    Record(Message),
    /// Close the session log and begin a new one.
    StartSession,
    /// Tell the front end.
    Emit(Event),
}
