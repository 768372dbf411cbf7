//! The agent: a pure state machine. Inputs in, effects out; no async, no IO, no clock, no randomness.
//!
//! A turn is: user message -> step (model call) -> its tool calls, one after the other -> next step,
//! until the model ends its turn. Runs of edit calls in one step are proposed together and reviewed
//! together. Invariant: every call the conversation holds is followed by exactly one output, also after an
//! interrupt, so that the next request is always well formed.

mod calls;
mod effect;
mod generation;
mod guard;
mod input;
mod setup;
mod step;
#[cfg(test)]
mod tests;

pub use effect::Effect;
pub use input::Input;
pub use setup::{Limits, Setup, Texts};

use crate::protocol::{
    CallId, Event, Level, Message, Outcome, Phase, Policy, Sampling, StepId, ToolOutput, TurnId,
};
use guard::Guard;
use std::collections::BTreeSet;
use step::{State, Work};

/// The agent of one session.
#[derive(Debug)]
pub struct Agent {
    setup: Setup,
    conversation: Vec<Message>,
    state: State,
    turn: TurnId,
    step: StepId,
    call: CallId,
    guard: Guard,
    /// Messages typed while a turn ran or the weights loaded.
    queued: Vec<String>,
    /// Told to the model in front of the next user message.
    notes: Vec<String>,
    /// What the person allowed for the rest of the session; see `calls::grant`.
    allowed: BTreeSet<String>,
    engine: EngineState,
    /// The model's own sampling settings with the user's in place.
    sampling: Sampling,
    phase: Phase,
}

#[derive(Debug, PartialEq, Eq)]
enum EngineState {
    Loading,
    Ready,
    Failed(String),
}

/// Effects of one input, in order.
type Effects = Vec<Effect>;

impl Agent {
    /// An idle agent whose engine is still loading.
    pub fn new(setup: Setup) -> Self {
        let mut conversation = vec![Message::system(setup.system.clone())];
        conversation.extend(setup.history.iter().cloned());
        let last_call = setup.history.iter().filter_map(|message| message.call).max();
        let turns = setup.history.iter().filter(|m| m.role == crate::protocol::Role::User).count();
        Self {
            conversation,
            state: State::Idle,
            turn: TurnId(turns as u64),
            step: StepId::default(),
            call: last_call.unwrap_or_default(),
            guard: Guard::default(),
            queued: Vec::new(),
            notes: Vec::new(),
            allowed: BTreeSet::new(),
            engine: EngineState::Loading,
            sampling: Sampling::default(),
            phase: Phase::Loading,
            setup,
        }
    }

    /// Whether nothing is going on that an interrupt could stop.
    pub fn is_idle(&self) -> bool {
        matches!(self.state, State::Idle)
    }

    /// The approval policy in force.
    pub fn policy(&self) -> Policy {
        self.setup.policy
    }

    /// Takes one input and says what to do. Total: an input that makes no sense now is ignored.
    pub fn handle(&mut self, input: Input) -> Vec<Effect> {
        let mut out = Effects::new();
        match input {
            Input::UserTurn { text } => self.user_turn(text, &mut out),
            Input::Interrupt => self.interrupt(&mut out),
            Input::Engine(event) => self.engine_event(event, &mut out),
            Input::Proposed { call, refused } => self.proposed(call, refused, &mut out),
            Input::Reviewed { decisions } => self.reviewed(decisions, &mut out),
            Input::Written { outputs } => self.written(outputs, &mut out),
            Input::Approved { call, approval } => self.approved(call, approval, &mut out),
            Input::ToolDone { call, output } => self.tool_done(call, output, &mut out),
            Input::Undo => self.undo(&mut out),
            Input::Undone { note } => self.undone(note, &mut out),
            Input::SetPolicy { policy } => {
                self.setup.policy = policy;
                out.push(Effect::Emit(Event::PolicyChanged { policy }));
            }
            Input::SetEffort { effort } => {
                self.setup.effort = effort;
                out.push(Effect::Emit(Event::EffortChanged { effort }));
            }
            Input::NewSession => self.new_session(&mut out),
        }
        out
    }

    fn user_turn(&mut self, text: String, out: &mut Effects) {
        match &self.engine {
            EngineState::Failed(message) => {
                out.push(notice(Level::Error, message.clone()));
            }
            EngineState::Ready if self.is_idle() => self.begin_turn(text, out),
            EngineState::Loading | EngineState::Ready => {
                out.push(Effect::Emit(Event::Queued { text: text.clone() }));
                self.queued.push(text);
            }
        }
    }

    fn begin_turn(&mut self, text: String, out: &mut Effects) {
        self.turn = self.turn.next();
        self.guard = Guard::default();
        out.push(Effect::Emit(Event::TurnStarted { turn: self.turn, text: text.clone() }));
        self.say(text, out);
        self.generate(out);
    }

    /// Adds a user message, with what happened since the last one in front of it.
    fn say(&mut self, text: String, out: &mut Effects) {
        let mut parts = std::mem::take(&mut self.notes);
        parts.push(text);
        self.remember(Message::user(parts.join("\n\n")), out);
    }

    fn remember(&mut self, message: Message, out: &mut Effects) {
        out.push(Effect::Record(message.clone()));
        self.conversation.push(message);
    }

    fn set_phase(&mut self, phase: Phase, out: &mut Effects) {
        if self.phase != phase {
            self.phase = phase;
            out.push(Effect::Emit(Event::Phase { phase }));
        }
    }

    /// Ends the turn and, when messages wait, begins the next one with them.
    fn end_turn(&mut self, outcome: Outcome, out: &mut Effects) {
        let go_on = outcome == Outcome::Done && self.engine == EngineState::Ready;
        self.state = State::Idle;
        self.set_phase(Phase::Idle, out);
        out.push(Effect::Emit(Event::TurnFinished { turn: self.turn, outcome }));
        if go_on && !self.queued.is_empty() {
            let text = std::mem::take(&mut self.queued).join("\n\n");
            self.begin_turn(text, out);
        }
    }

    fn fail(&mut self, message: impl Into<String>, out: &mut Effects) {
        self.end_turn(Outcome::Failed { message: message.into() }, out);
    }

    fn interrupt(&mut self, out: &mut Effects) {
        match std::mem::take(&mut self.state) {
            State::Idle => {}
            State::Restoring => self.state = State::Restoring,
            State::Generating(mut stream) => {
                stream.interrupted = true;
                self.state = State::Generating(stream);
                out.push(Effect::CancelGeneration);
            }
            State::Running(call, mut work) => {
                work.interrupted = true;
                self.state = State::Running(call, work);
                out.push(Effect::CancelTool);
            }
            State::Writing(mut work) => {
                work.interrupted = true;
                self.state = State::Writing(work);
            }
            State::Reviewing(work) => {
                out.push(Effect::Discard);
                self.stop_work(work, out);
            }
            State::Proposing(call, mut work) | State::Asking(call, mut work) => {
                out.push(Effect::Discard);
                work.queue.push_front(call);
                self.stop_work(work, out);
            }
        }
    }

    /// Answers every call that will not run any more and ends the turn.
    fn stop_work(&mut self, mut work: Work, out: &mut Effects) {
        let output = ToolOutput::stopped(self.setup.texts.interrupted.clone());
        let proposed = std::mem::take(&mut work.proposed);
        let waiting = std::mem::take(&mut work.queue).into_iter().map(|call| call.id);
        for call in proposed.into_iter().chain(waiting) {
            self.finish_call(&mut work, call, output.clone(), out);
        }
        for message in work.messages() {
            self.remember(message, out);
        }
        self.end_turn(Outcome::Interrupted, out);
    }

    fn undo(&mut self, out: &mut Effects) {
        if self.is_idle() {
            self.state = State::Restoring;
            out.push(Effect::Restore);
        } else {
            let text = "Stop the turn first (Esc), then undo.".to_owned();
            out.push(notice(Level::Warning, text));
        }
    }

    fn undone(&mut self, note: Option<String>, out: &mut Effects) {
        self.notes.extend(note);
        if matches!(self.state, State::Restoring) {
            self.state = State::Idle;
        }
        if self.is_idle() && self.engine == EngineState::Ready && !self.queued.is_empty() {
            let text = std::mem::take(&mut self.queued).join("\n\n");
            self.begin_turn(text, out);
        }
    }

    fn new_session(&mut self, out: &mut Effects) {
        if !self.is_idle() {
            let text = "Stop the turn first (Esc), then start a new session.".to_owned();
            out.push(notice(Level::Warning, text));
            return;
        }
        self.conversation = vec![Message::system(self.setup.system.clone())];
        self.turn = TurnId::default();
        self.notes.clear();
        self.queued.clear();
        self.allowed.clear();
        out.push(Effect::StartSession);
    }
}

fn notice(level: Level, text: String) -> Effect {
    Effect::Emit(Event::Notice { level, text })
}
