//! Carrying out the agent's effects, one function each. What can answer at once returns inputs.

use super::proposals::Settled;
use super::recorder::Restored;
use super::{Generation, RunningTool, Runtime};
use crate::agent::{Effect, Input};
use crate::engine::Cancel;
use crate::protocol::{CallId, Decision, Event, ToolCall};
use tokio::sync::mpsc::unbounded_channel;
use tokio_util::sync::CancellationToken;

impl Runtime {
    pub(super) fn carry_out(&mut self, effect: Effect) -> Option<Input> {
        match effect {
            Effect::Generate(request) => {
                let cancel = Cancel::new();
                let stream = self.engine.generate(request, cancel.clone());
                self.generation = Some(Generation { stream, cancel });
                None
            }
            Effect::CancelGeneration => {
                if let Some(running) = &self.generation {
                    running.cancel.cancel();
                }
                None
            }
            Effect::Propose(call) => Some(self.propose(&call)),
            Effect::ShowReview { calls } => {
                let review = self.proposals.review(calls);
                self.emit(Event::ReviewRequested { review });
                None
            }
            Effect::Write { calls, decisions } => Some(self.write(&calls, decisions)),
            Effect::Discard => {
                self.proposals.clear();
                None
            }
            Effect::AskApproval(call) => {
                let title = crate::tools::title(&call, &self.context);
                self.emit(Event::ApprovalRequested { call, title });
                None
            }
            Effect::RunTool(call) => {
                self.run_tool(call);
                None
            }
            Effect::CancelTool => {
                if let Some(running) = &self.tool {
                    running.cancel.cancel();
                }
                None
            }
            Effect::Restore => Some(self.restore()),
            Effect::Record(message) => {
                self.recorder.message(&message);
                None
            }
            Effect::StartSession => {
                self.start_session();
                None
            }
            Effect::Emit(event) => {
                if let Event::TurnStarted { turn, .. } = &event {
                    self.recorder.turn(*turn);
                }
                self.emit(event);
                None
            }
        }
    }

    fn propose(&mut self, call: &ToolCall) -> Input {
        let refused = self.proposals.try_call(call, &*self.workspace).err();
        Input::Proposed { call: call.id, refused }
    }

    fn write(&mut self, calls: &[CallId], decisions: Option<Vec<Decision>>) -> Input {
        if let Some(decisions) = &decisions {
            self.recorder.decisions(decisions);
        }
        let Settled { outputs, changed } =
            self.proposals.settle(calls, decisions.as_deref(), &self.workspace, &mut self.recorder);
        if let Some((paths, added, removed)) = changed {
            self.emit(Event::FilesChanged { paths, added, removed });
        }
        self.proposals.clear();
        Input::Written { outputs }
    }

    fn run_tool(&mut self, call: ToolCall) {
        let title = crate::tools::title(&call, &self.context);
        self.emit(Event::ToolStarted { call: call.id, title });
        let cancel = CancellationToken::new();
        let (sender, progress) = unbounded_channel();
        let (context, token, id) = (self.context.clone(), cancel.clone(), call.id);
        let task =
            tokio::spawn(async move { crate::tools::run(&call, &context, token, sender).await });
        self.tool = Some(RunningTool { call: id, cancel, task, progress });
    }

    fn restore(&mut self) -> Input {
        let Restored { level, text, note } = self.recorder.undo(&self.workspace);
        self.emit(Event::Notice { level, text });
        Input::Undone { note }
    }

    fn start_session(&mut self) {
        self.workspace.forget_reads();
        self.recorder.restart();
        self.announce();
    }
}
