//! From the calls of a finished step to their outputs: propose, review, write, ask, run.

use super::guard::Repeat;
use super::step::{Awaited, State, Work, kind_of};
use super::{Agent, Effect, Effects};
use crate::protocol::{
    Approval, CallId, Decision, Event, Phase, Policy, ToolCall, ToolKind, ToolOutput,
};

/// What a yes for the session covers: a tool that runs the project's own command, but only this very
/// command of the model's.
fn grant(kind: ToolKind, call: &ToolCall) -> String {
    match kind {
        ToolKind::Read | ToolKind::Edit | ToolKind::Verify => call.name.clone(),
        ToolKind::Execute => {
            format!("{} {}", call.name, serde_json::Value::Object(call.args.clone()))
        }
    }
}

/// What happens to a call before anything else.
enum Gate {
    /// The policy forbids it.
    Refuse,
    /// It becomes hunks.
    Propose,
    /// The person is asked.
    Ask,
    /// It goes ahead.
    Run,
}

impl Agent {
    /// Goes on with the next call, or with the next step when none is left.
    pub(super) fn advance(&mut self, mut work: Work, out: &mut Effects) {
        if work.interrupted {
            return self.stop_work(work, out);
        }
        let next_is_edit = work
            .queue
            .front()
            .is_some_and(|call| kind_of(&self.setup.tools, call) == Some(ToolKind::Edit));
        if !next_is_edit && !work.proposed.is_empty() {
            return self.settle_proposals(work, out);
        }
        let Some(call) = work.queue.pop_front() else {
            for message in work.messages() {
                self.remember(message, out);
            }
            return self.generate(out);
        };
        match self.guard.call(&call, &self.setup.limits) {
            Repeat::Fresh => self.start(call, work, out),
            Repeat::Refuse => {
                let output = ToolOutput::failed(
                    self.setup.texts.repeated_call.clone(),
                    "the same call again: not run",
                );
                self.finish_call(&mut work, call.id, output, out);
                self.advance(work, out);
            }
            Repeat::GiveUp => {
                work.queue.push_front(call);
                self.give_up(work, "The model makes the same call over and over.", out);
            }
        }
    }

    fn start(&mut self, call: ToolCall, mut work: Work, out: &mut Effects) {
        let Some(kind) = kind_of(&self.setup.tools, &call) else {
            // The parser refuses unknown tools; a call that gets here all the same is not run.
            let text = format!("There is no tool named {}.", call.name);
            self.finish_call(&mut work, call.id, ToolOutput::failed(&text, &text), out);
            return self.advance(work, out);
        };
        match self.gate(kind, &call) {
            Gate::Refuse => {
                let output = ToolOutput::refused(self.setup.texts.plan_only.clone());
                self.finish_call(&mut work, call.id, output, out);
                self.advance(work, out);
            }
            Gate::Propose => {
                out.push(Effect::Propose(call.clone()));
                self.state = State::Proposing(call, work);
            }
            Gate::Ask => {
                self.set_phase(Phase::Review, out);
                out.push(Effect::AskApproval(call.clone()));
                self.state = State::Asking(call, work);
            }
            Gate::Run => self.run(call, work, out),
        }
    }

    /// What the policy says about a call. What the person allowed for the session is not asked again.
    fn gate(&self, kind: ToolKind, call: &ToolCall) -> Gate {
        let unless = |allowed: bool| {
            if allowed || self.allowed.contains(&grant(kind, call)) { Gate::Run } else { Gate::Ask }
        };
        match (kind, self.setup.policy) {
            (ToolKind::Edit | ToolKind::Execute, Policy::Plan) => Gate::Refuse,
            (ToolKind::Edit, Policy::Review | Policy::AutoEdit | Policy::Auto) => Gate::Propose,
            (ToolKind::Execute, Policy::Review | Policy::AutoEdit) => unless(false),
            (ToolKind::Verify, Policy::Plan | Policy::Review | Policy::AutoEdit) => {
                unless(self.setup.verify_allowed)
            }
            (ToolKind::Execute | ToolKind::Verify, Policy::Auto) => Gate::Run,
            (ToolKind::Read, Policy::Plan | Policy::Review | Policy::AutoEdit | Policy::Auto) => {
                Gate::Run
            }
        }
    }

    fn run(&mut self, call: ToolCall, work: Work, out: &mut Effects) {
        self.set_phase(Phase::Tool, out);
        out.push(Effect::RunTool(call.clone()));
        self.state = State::Running(call, work);
    }

    pub(super) fn finish_call(
        &mut self,
        work: &mut Work,
        call: CallId,
        output: ToolOutput,
        out: &mut Effects,
    ) {
        work.settle(call, &output);
        out.push(Effect::Emit(Event::ToolFinished { call, output }));
    }

    pub(super) fn proposed(
        &mut self,
        call: CallId,
        refused: Option<ToolOutput>,
        out: &mut Effects,
    ) {
        let awaited = Awaited::Proposal(call);
        let Some(State::Proposing(_, mut work)) = self.state.take_if(awaited) else { return };
        match refused {
            None => work.proposed.push(call),
            Some(output) => self.finish_call(&mut work, call, output, out),
        }
        self.advance(work, out);
    }

    /// The run of edits is complete: show it, or write it at once.
    fn settle_proposals(&mut self, work: Work, out: &mut Effects) {
        let calls = work.proposed.clone();
        match self.setup.policy {
            Policy::Review | Policy::Plan => {
                self.set_phase(Phase::Review, out);
                out.push(Effect::ShowReview { calls });
                self.state = State::Reviewing(work);
            }
            Policy::AutoEdit | Policy::Auto => {
                out.push(Effect::Write { calls, decisions: None });
                self.state = State::Writing(work);
            }
        }
    }

    pub(super) fn reviewed(&mut self, decisions: Vec<Decision>, out: &mut Effects) {
        let Some(State::Reviewing(work)) = self.state.take_if(Awaited::Decisions) else { return };
        let calls = work.proposed.clone();
        out.push(Effect::Write { calls, decisions: Some(decisions) });
        self.state = State::Writing(work);
    }

    pub(super) fn written(&mut self, outputs: Vec<(CallId, ToolOutput)>, out: &mut Effects) {
        let Some(State::Writing(mut work)) = self.state.take_if(Awaited::Write) else { return };
        work.proposed.clear();
        for (call, output) in outputs {
            self.finish_call(&mut work, call, output, out);
        }
        self.advance(work, out);
    }

    pub(super) fn approved(&mut self, id: CallId, approval: Approval, out: &mut Effects) {
        let awaited = Awaited::Approval(id);
        let Some(State::Asking(call, mut work)) = self.state.take_if(awaited) else { return };
        match approval {
            Approval::Once => self.run(call, work, out),
            Approval::Session => {
                let grant = kind_of(&self.setup.tools, &call).map(|kind| grant(kind, &call));
                self.allowed.extend(grant);
                self.run(call, work, out);
            }
            Approval::Deny { reason } => {
                let texts = &self.setup.texts;
                let text = if reason.trim().is_empty() { texts.denied.clone() } else { reason };
                self.finish_call(&mut work, call.id, ToolOutput::refused(text), out);
                self.advance(work, out);
            }
        }
    }

    pub(super) fn tool_done(&mut self, id: CallId, output: ToolOutput, out: &mut Effects) {
        let Some(State::Running(_, mut work)) = self.state.take_if(Awaited::Tool(id)) else {
            return;
        };
        self.finish_call(&mut work, id, output, out);
        self.advance(work, out);
    }
}
