//! One model call: what it has streamed so far and the calls it asked for.

use crate::protocol::{CallId, Message, StepId, ToolCall, ToolKind, ToolOutput};
use std::collections::{BTreeMap, VecDeque};

/// What a step has streamed so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Stream {
    pub step: StepId,
    pub thinking: String,
    pub text: String,
    pub calls: Vec<ToolCall>,
    /// Outputs that are known before anything ran: calls that cannot be run.
    pub outputs: BTreeMap<CallId, String>,
    /// The person asked to stop; no call of this step runs.
    pub interrupted: bool,
}

impl Stream {
    /// Nothing but thinking came.
    pub fn is_empty_answer(&self) -> bool {
        self.text.trim().is_empty() && self.calls.is_empty() && self.outputs.is_empty()
    }

    /// The message this step adds to the conversation.
    pub fn message(&self) -> Message {
        Message::assistant(self.thinking.clone(), self.text.clone(), self.calls.clone())
    }
}

/// The calls of a finished step on their way to outputs.
#[derive(Clone, Debug, Default)]
pub(super) struct Work {
    /// Not begun yet, in order.
    pub queue: VecDeque<ToolCall>,
    /// Edits of the current run that became hunks, in order.
    pub proposed: Vec<CallId>,
    /// What came of the others; the model reads them in call order.
    pub outputs: BTreeMap<CallId, String>,
    /// The person asked to stop.
    pub interrupted: bool,
}

impl Work {
    pub fn new(stream: &mut Stream) -> Self {
        Self {
            queue: std::mem::take(&mut stream.calls).into(),
            outputs: std::mem::take(&mut stream.outputs),
            ..Self::default()
        }
    }

    pub fn settle(&mut self, call: CallId, output: &ToolOutput) {
        self.outputs.insert(call, output.text.clone());
    }

    /// The outputs as messages, in call order.
    pub fn messages(&mut self) -> impl Iterator<Item = Message> + use<> {
        std::mem::take(&mut self.outputs).into_iter().map(|(call, text)| Message::tool(call, text))
    }
}

/// Where the agent stands.
#[derive(Clone, Debug, Default)]
pub(super) enum State {
    #[default]
    Idle,
    /// The model writes.
    Generating(Stream),
    /// An edit is being tried on the virtual tree.
    Proposing(ToolCall, Work),
    /// The person looks at hunks.
    Reviewing(Work),
    /// Accepted hunks are being written.
    Writing(Work),
    /// The person is asked about the call.
    Asking(ToolCall, Work),
    /// The call runs.
    Running(ToolCall, Work),
    /// Files are being restored.
    Restoring,
}

/// What the agent waits for: the one answer that fits now, any other comes too late and is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Awaited {
    Nothing,
    Stream,
    Proposal(CallId),
    Decisions,
    Write,
    Approval(CallId),
    Tool(CallId),
    Restore,
}

impl State {
    pub fn awaits(&self) -> Awaited {
        match self {
            Self::Idle => Awaited::Nothing,
            Self::Generating(_) => Awaited::Stream,
            Self::Proposing(call, _) => Awaited::Proposal(call.id),
            Self::Reviewing(_) => Awaited::Decisions,
            Self::Writing(_) => Awaited::Write,
            Self::Asking(call, _) => Awaited::Approval(call.id),
            Self::Running(call, _) => Awaited::Tool(call.id),
            Self::Restoring => Awaited::Restore,
        }
    }

    /// The state out of its place, when it is the one that waits for this.
    pub fn take_if(&mut self, awaited: Awaited) -> Option<Self> {
        (self.awaits() == awaited).then(|| std::mem::take(self))
    }
}

/// The kind of a call, by the tools offered; an unknown tool never gets here (the parser refuses it).
pub(super) fn kind_of(tools: &[crate::protocol::ToolSpec], call: &ToolCall) -> Option<ToolKind> {
    tools.iter().find(|tool| tool.name == call.name).map(|tool| tool.kind)
}
