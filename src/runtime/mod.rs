//! The edge: one select loop that feeds the agent and carries out its effects.
//!
//! Here meet the engine, the tools, the workspace, the session log and a front end; nothing here
//! decides anything the agent could decide. Invariants: exactly one generation and one tool at a time;
//! whatever was started reports its end to the agent; when the loop ends, no child process is left.

mod effects;
mod proposals;
mod recorder;
#[cfg(test)]
mod tests;

pub use recorder::{Recorder, ResumeError};

use crate::agent::{Agent, Input, Setup};
use crate::engine::{Cancel, Engine, EventStream};
use crate::protocol::{CallId, EngineEvent, Event, Op, ToolOutput};
use crate::tools::Context;
use crate::workspace::Workspace;
use proposals::Proposals;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Everything a runtime is made of.
pub struct Parts {
    /// What continues conversations.
    pub engine: Box<dyn Engine>,
    /// Events of loading, up to `Ready` or `Failed`.
    pub loading: EventStream,
    /// What the agent is told at its start.
    pub setup: Setup,
    /// The working tree.
    pub workspace: Arc<Workspace>,
    /// What tools run with.
    pub context: Arc<Context>,
    /// The session log and its checkpoints.
    pub recorder: Recorder,
}

/// A running session.
pub struct Runtime {
    agent: Agent,
    engine: Box<dyn Engine>,
    loading: Option<EventStream>,
    generation: Option<Generation>,
    tool: Option<RunningTool>,
    proposals: Proposals,
    workspace: Arc<Workspace>,
    context: Arc<Context>,
    recorder: Recorder,
    events: UnboundedSender<Event>,
    /// Told to the front end with the session.
    effort: crate::protocol::Effort,
}

struct Generation {
    stream: EventStream,
    cancel: Cancel,
}

struct RunningTool {
    call: CallId,
    cancel: CancellationToken,
    task: JoinHandle<ToolOutput>,
    progress: UnboundedReceiver<String>,
}

/// What wakes the loop.
enum Wake {
    Op(Op),
    Engine(EngineEvent),
    /// The stream of a generation ended without saying so.
    EngineLost,
    Progress(CallId, String),
    ToolDone(CallId, ToolOutput),
    End,
}

impl Runtime {
    /// Ready to run; says nothing before [`Runtime::run`].
    pub fn new(parts: Parts, events: UnboundedSender<Event>) -> Self {
        let effort = parts.setup.effort;
        Self {
            agent: Agent::new(parts.setup),
            engine: parts.engine,
            loading: Some(parts.loading),
            generation: None,
            tool: None,
            proposals: Proposals::default(),
            workspace: parts.workspace,
            context: parts.context,
            recorder: parts.recorder,
            events,
            effort,
        }
    }

    /// Serves a front end until `Op::Shutdown` or until it goes away. Ends with `Event::Closed`.
    pub async fn run(mut self, mut ops: UnboundedReceiver<Op>) {
        self.announce();
        loop {
            let wake = self.wake(&mut ops).await;
            match wake {
                Wake::Op(Op::Shutdown) | Wake::End => break,
                Wake::Op(op) => self.feed(input(op)),
                Wake::Engine(event) => self.engine_event(event),
                Wake::EngineLost => {
                    let message = "The engine stopped without a word; see the log.".to_owned();
                    self.engine_event(EngineEvent::Failed { message });
                }
                Wake::Progress(call, text) => self.emit(Event::ToolProgress { call, text }),
                Wake::ToolDone(call, output) => {
                    self.tool = None;
                    self.feed(Input::ToolDone { call, output });
                }
            }
        }
        self.close().await;
    }

    async fn wake(&mut self, ops: &mut UnboundedReceiver<Op>) -> Wake {
        tokio::select! {
            biased;
            op = ops.recv() => op.map_or(Wake::End, Wake::Op),
            event = next(self.loading.as_mut()) => match event {
                Some(event) => Wake::Engine(event),
                None => { self.loading = None; Wake::Engine(EngineEvent::Failed {
                    message: "The engine stopped while loading; see the log.".to_owned(),
                }) }
            },
            event = next(self.generation.as_mut().map(|running| &mut running.stream)) => {
                event.map_or(Wake::EngineLost, Wake::Engine)
            }
            wake = next_of_tool(self.tool.as_mut()) => wake,
        }
    }

    fn engine_event(&mut self, event: EngineEvent) {
        match &event {
            EngineEvent::Ready(model) => {
                self.recorder.model(&model.name);
                self.loading = None;
            }
            EngineEvent::Failed { .. } if self.loading.is_some() => self.loading = None,
            EngineEvent::Finished { .. } | EngineEvent::Failed { .. } => self.generation = None,
            EngineEvent::Loading { .. }
            | EngineEvent::Prefill { .. }
            | EngineEvent::Thinking(_)
            | EngineEvent::ThinkingDone
            | EngineEvent::Text(_)
            | EngineEvent::CallStarted { .. }
            | EngineEvent::CallDelta(_)
            | EngineEvent::Call { .. }
            | EngineEvent::BadCall(_) => {}
        }
        self.feed(Input::Engine(event));
    }

    /// Gives the agent an input and carries out what follows from it.
    fn feed(&mut self, input: Input) {
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            for effect in self.agent.handle(input) {
                inputs.extend(self.carry_out(effect));
            }
        }
    }

    /// A front end that has gone away ends the loop through its closed op channel.
    fn emit(&self, event: Event) {
        let _ = self.events.send(event);
    }

    fn announce(&self) {
        self.emit(Event::Session {
            id: self.recorder.id().clone(),
            root: self.workspace.root().display().to_string(),
            branch: self.workspace.head().map(|head| head.label().to_owned()),
            policy: self.agent.policy(),
            effort: self.effort,
        });
        for text in self.workspace.warnings() {
            let level = crate::protocol::Level::Warning;
            self.emit(Event::Notice { level, text: text.clone() });
        }
    }

    async fn close(mut self) {
        if let Some(running) = &self.generation {
            running.cancel.cancel();
        }
        if let Some(running) = self.tool.take() {
            running.cancel.cancel();
            // The task kills its process group and waits for it.
            let _ = running.task.await;
        }
        self.emit(Event::Closed);
    }
}

fn input(op: Op) -> Input {
    match op {
        Op::UserTurn { text } => Input::UserTurn { text },
        Op::Interrupt | Op::Shutdown => Input::Interrupt,
        Op::Review { decisions } => Input::Reviewed { decisions },
        Op::Approve { call, approval } => Input::Approved { call, approval },
        Op::Undo => Input::Undo,
        Op::SetPolicy { policy } => Input::SetPolicy { policy },
        Op::SetEffort { effort } => Input::SetEffort { effort },
        Op::NewSession => Input::NewSession,
    }
}

async fn next(stream: Option<&mut EventStream>) -> Option<EngineEvent> {
    match stream {
        Some(stream) => stream.recv().await,
        None => std::future::pending().await,
    }
}

/// Progress first, so that a tool's output is complete before its end is told.
async fn next_of_tool(tool: Option<&mut RunningTool>) -> Wake {
    let Some(tool) = tool else {
        return std::future::pending().await;
    };
    tokio::select! {
        biased;
        Some(text) = tool.progress.recv() => Wake::Progress(tool.call, text),
        done = &mut tool.task => Wake::ToolDone(tool.call, done.unwrap_or_else(|error| {
            tracing::error!("tool task: {error}");
            ToolOutput::failed("The tool crashed; nothing is known of its result.", "crashed")
        })),
    }
}
