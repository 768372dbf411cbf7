//! The agent's dealings with the engine: asking for a step, following its stream, judging its end.

use super::step::{Awaited, State, Stream, Work};
use super::{Agent, Effect, Effects, EngineState, notice};
use crate::protocol::{
    CallProblem, EngineEvent, Event, FinishReason, Level, Outcome, Phase, Request, ToolCall, Usage,
};

impl Agent {
    /// Asks for the next step of the turn.
    pub(super) fn generate(&mut self, out: &mut Effects) {
        for text in std::mem::take(&mut self.queued) {
            self.say(text, out);
        }
        if self.guard.steps >= self.setup.limits.steps {
            let message = format!(
                "Stopped after {} steps without an end. Say \"go on\" to continue.",
                self.guard.steps
            );
            return self.fail(message, out);
        }
        self.guard.steps += 1;
        self.step = self.step.next();
        self.state = State::Generating(Stream { step: self.step, ..Stream::default() });
        out.push(Effect::Emit(Event::StepStarted { step: self.step }));
        self.set_phase(Phase::Prefill, out);
        out.push(Effect::Generate(Request {
            messages: self.conversation.clone(),
            tools: self.setup.tools.clone(),
            effort: self.setup.effort,
            sampling: self.sampling.clone(),
            max_tokens: self.setup.limits.max_tokens,
            max_thinking: self.setup.limits.max_thinking,
        }));
    }

    pub(super) fn engine_event(&mut self, event: EngineEvent, out: &mut Effects) {
        match event {
            EngineEvent::Loading { stage, done, total } => {
                out.push(Effect::Emit(Event::Loading { stage, done, total }));
            }
            EngineEvent::Ready(model) => {
                self.engine = EngineState::Ready;
                self.sampling = self.setup.sampling.over(&model.sampling);
                out.push(Effect::Emit(Event::Ready { model }));
                self.set_phase(Phase::Idle, out);
                if self.is_idle() && !self.queued.is_empty() {
                    let text = std::mem::take(&mut self.queued).join("\n\n");
                    self.begin_turn(text, out);
                }
            }
            EngineEvent::Prefill { done, total, cached } => {
                out.push(Effect::Emit(Event::Prefill { done, total, cached }));
            }
            EngineEvent::Thinking(text) => self.thinking(text, out),
            EngineEvent::ThinkingDone => out.push(Effect::Emit(Event::ThinkingDone)),
            EngineEvent::Text(text) => self.text(text, out),
            EngineEvent::CallStarted { name } => {
                self.set_phase(Phase::Calling, out);
                out.push(Effect::Emit(Event::CallStarted { name }));
            }
            EngineEvent::CallDelta(text) => out.push(Effect::Emit(Event::CallDelta { text })),
            EngineEvent::Call { call, repairs } => self.call(call, repairs, out),
            EngineEvent::BadCall(problem) => self.bad_call(problem, out),
            EngineEvent::Finished { reason, usage } => self.finished(reason, usage, out),
            EngineEvent::Failed { message } => self.engine_failed(message, out),
        }
    }

    fn thinking(&mut self, text: String, out: &mut Effects) {
        if let State::Generating(stream) = &mut self.state {
            stream.thinking.push_str(&text);
            self.set_phase(Phase::Thinking, out);
            out.push(Effect::Emit(Event::ThinkingDelta { text }));
        }
    }

    fn text(&mut self, text: String, out: &mut Effects) {
        if let State::Generating(stream) = &mut self.state {
            stream.text.push_str(&text);
            self.set_phase(Phase::Answering, out);
            out.push(Effect::Emit(Event::TextDelta { text }));
        }
    }

    fn call(&mut self, mut call: ToolCall, repairs: Vec<String>, out: &mut Effects) {
        if let State::Generating(stream) = &mut self.state {
            self.call = self.call.next();
            call.id = self.call;
            stream.calls.push(call.clone());
            out.push(Effect::Emit(Event::ToolRequested { call, repairs }));
        }
    }

    fn bad_call(&mut self, problem: CallProblem, out: &mut Effects) {
        if let State::Generating(stream) = &mut self.state {
            self.call = self.call.next();
            stream.outputs.insert(self.call, problem.message.clone());
            out.push(Effect::Emit(Event::ToolRejected { problem }));
        }
    }

    fn finished(&mut self, reason: FinishReason, usage: Usage, out: &mut Effects) {
        let awaited = Awaited::Stream;
        let Some(State::Generating(mut stream)) = self.state.take_if(awaited) else { return };
        out.push(Effect::Emit(Event::StepFinished { step: stream.step, usage }));
        self.remember(stream.message(), out);
        let empty = stream.is_empty_answer();
        let only_bad = stream.calls.is_empty() && !stream.outputs.is_empty();
        let has_calls = !stream.calls.is_empty() || !stream.outputs.is_empty();
        let interrupted = stream.interrupted;
        let work = Work::new(&mut stream);
        if interrupted || reason == FinishReason::Cancelled {
            return self.stop_work(work, out);
        }
        match reason {
            FinishReason::Loop => self.retry(work, self.setup.texts.looped.clone(), out),
            FinishReason::Length if !has_calls => {
                let message = "The answer reached the token limit and was cut. \
                               Say \"go on\", or raise `limits.max_tokens`.";
                self.fail(message, out);
            }
            FinishReason::Stop if empty => {
                self.retry(work, self.setup.texts.empty_answer.clone(), out);
            }
            FinishReason::Stop | FinishReason::Length | FinishReason::Cancelled if has_calls => {
                if only_bad && self.guard.strike(&self.setup.limits) {
                    return self.give_up(
                        work,
                        "The model keeps writing calls that cannot be run.",
                        out,
                    );
                }
                if !only_bad {
                    self.guard.good_step();
                }
                self.advance(work, out);
            }
            FinishReason::Stop | FinishReason::Length | FinishReason::Cancelled => {
                self.end_turn(Outcome::Done, out);
            }
        }
    }

    /// Tells the model what was wrong with its last step and asks again, a bounded number of times.
    fn retry(&mut self, mut work: Work, nudge: String, out: &mut Effects) {
        if self.guard.strike(&self.setup.limits) {
            return self.give_up(work, "The model repeats itself or answers nothing.", out);
        }
        self.answer_unrun(&mut work, out);
        self.say(nudge, out);
        self.generate(out);
    }

    /// Ends the turn because the model does not get anywhere.
    pub(super) fn give_up(&mut self, mut work: Work, why: &str, out: &mut Effects) {
        self.answer_unrun(&mut work, out);
        self.fail(format!("{why} Rephrase the request, or start anew with /new."), out);
    }

    /// Answers every call of a step none of which will run.
    fn answer_unrun(&mut self, work: &mut Work, out: &mut Effects) {
        let output = crate::protocol::ToolOutput::stopped(self.setup.texts.interrupted.clone());
        for call in std::mem::take(&mut work.queue) {
            self.finish_call(work, call.id, output.clone(), out);
        }
        for message in work.messages() {
            self.remember(message, out);
        }
    }

    fn engine_failed(&mut self, message: String, out: &mut Effects) {
        if self.engine == EngineState::Loading {
            self.engine = EngineState::Failed(message.clone());
            self.queued.clear();
            self.set_phase(Phase::Idle, out);
            out.push(Effect::Emit(Event::EngineFailed { message }));
        } else if let State::Generating(_) = self.state {
            self.fail(message, out);
        } else {
            out.push(notice(Level::Error, message));
        }
    }
}
