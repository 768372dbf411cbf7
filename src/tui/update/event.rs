//! What the runtime tells, taken into the model: sessions, turns, questions.
//!
//! Text of the model is in `stream.rs`, tool calls in `tools.rs`. Invariant: every event has its own
//! arm, so that a new one cannot be forgotten.

use super::{stream, tools};
use crate::protocol::{Effort, Event, Level, Outcome, Phase, Policy, Review, ToolCall};
use crate::tui::commands::effort_name;
use crate::tui::model::{EngineLine, SessionLine, Tokens, Turn};
use crate::tui::overlay::Layer;
use crate::tui::overlay::approval::Question;
use crate::tui::overlay::review::Sheet;
use crate::tui::text::{duration, grouped, plural};
use crate::tui::transcript::Body;
use crate::tui::{Cmd, Model};

/// Takes one event in.
pub fn event(model: &mut Model, event: Event) -> Vec<Cmd> {
    match event {
        Event::Session { .. } => session(model, event),
        Event::Loading { stage, done, total } => {
            model.engine = EngineLine::Loading { stage, done, total };
        }
        Event::Ready { model: info } => model.engine = EngineLine::Ready(info),
        Event::EngineFailed { message } => engine_failed(model, message),
        Event::Phase { phase } => set_phase(model, phase),
        Event::TurnStarted { text, .. } => turn_started(model, text),
        Event::Queued { text } => model.queued.push(text),
        Event::StepStarted { .. } => stream::step_started(model),
        Event::Prefill { .. } => stream::prefill(model, &event),
        Event::ThinkingDelta { text } => stream::thinking(model, &text),
        Event::ThinkingDone => stream::thinking_done(model),
        Event::TextDelta { text } => stream::answer(model, &text),
        Event::CallStarted { name } => tools::begun(model, &name),
        Event::CallDelta { text } => tools::written(model, &text),
        Event::StepFinished { usage, .. } => stream::step_finished(model, usage),
        Event::ToolRequested { call, repairs } => tools::requested(model, &call, &repairs),
        Event::ToolRejected { problem } => tools::rejected(model, &problem),
        Event::ToolStarted { call, title } => tools::started(model, call, &title),
        Event::ToolProgress { call, text } => tools::progress(model, call, &text),
        Event::ToolFinished { call, output } => tools::finished(model, call, output),
        Event::FilesChanged { .. } => files_changed(model, event),
        Event::PolicyChanged { policy } => policy_changed(model, policy),
        Event::EffortChanged { effort } => effort_changed(model, effort),
        Event::Notice { level, text } => notice(model, level, text),
        Event::ReviewRequested { review } => return ask_review(model, review),
        Event::ApprovalRequested { call, title } => return ask_approval(model, call, title),
        Event::TurnFinished { outcome, .. } => return turn_finished(model, outcome),
        Event::Closed => return vec![Cmd::Quit(super::ended(model))],
    }
    Vec::new()
}

fn session(model: &mut Model, event: Event) {
    let Event::Session { id, root, branch, policy, effort } = event else {
        return;
    };
    if !model.session.id.is_empty() && model.session.id != id.0 {
        model.transcript.clear();
        model.queued.clear();
        model.tokens = Tokens::default();
    }
    model.policy = policy;
    model.effort = effort;
    model.session = SessionLine { id: id.0, root, branch };
}

fn engine_failed(model: &mut Model, message: String) {
    model.engine = EngineLine::Failed;
    notice(model, Level::Error, message);
    take_back_queue(model);
}

fn files_changed(model: &mut Model, event: Event) {
    if let Event::FilesChanged { paths, added, removed } = event {
        model.transcript.push(Body::Changes { paths, added, removed });
    }
}

fn policy_changed(model: &mut Model, policy: Policy) {
    model.policy = policy;
    model.say(format!("policy: {}", policy.name()));
}

fn effort_changed(model: &mut Model, effort: Effort) {
    model.effort = effort;
    model.say(format!("effort: {}, from the next turn on", effort_name(effort)));
}

fn ask_review(model: &mut Model, review: Review) -> Vec<Cmd> {
    model.review = Some(Sheet::new(review, model.now));
    ask(model, Layer::Review)
}

fn ask_approval(model: &mut Model, call: ToolCall, title: String) -> Vec<Cmd> {
    model.question = Some(Question::new(call, title, model.now));
    ask(model, Layer::Approval)
}

fn set_phase(model: &mut Model, phase: Phase) {
    if model.phase != phase {
        model.phase = phase;
        model.phase_since = model.now;
    }
}

fn turn_started(model: &mut Model, text: String) {
    // Messages that waited begin a turn joined; they are no longer waiting then.
    if model.queued.join("\n\n") == text {
        model.queued.clear();
    }
    model.transcript.settle(model.now);
    model.transcript.push(Body::User(text));
    model.transcript.follow();
    model.tokens.thinking = 0;
    model.tokens.answer = 0;
    model.turn = Some(Turn { since: model.now, steps: 0, interrupts: 0 });
}

fn notice(model: &mut Model, level: Level, text: String) {
    model.transcript.push(Body::Notice { level, text });
}

/// Messages that will never be read go back to where they were written.
fn take_back_queue(model: &mut Model) {
    let texts = std::mem::take(&mut model.queued);
    let editor = &mut model.composer.editor;
    if !texts.is_empty() && !editor.is_empty() {
        editor.end_of_text();
        editor.insert("\n\n");
    }
    editor.paste(&texts.join("\n\n"));
}

/// The person is wanted.
fn ask(model: &mut Model, layer: Layer) -> Vec<Cmd> {
    model.layers.clear();
    model.layers.push(layer);
    if model.focused { Vec::new() } else { vec![Cmd::Bell] }
}

fn turn_finished(model: &mut Model, outcome: Outcome) -> Vec<Cmd> {
    model.transcript.settle(model.now);
    model.review = None;
    model.question = None;
    model.layers.retain(|layer| *layer == Layer::Help);
    model.running.clear();
    model.prefill = None;
    model.hint = None;
    set_phase(model, Phase::Idle);
    let turn = model.turn.take();
    match outcome {
        Outcome::Done => {}
        Outcome::Interrupted => {
            let waiting = match model.queued.len() {
                0 => String::new(),
                count => format!(" {} kept for your next one.", plural(count, "message")),
            };
            notice(model, Level::Warning, format!("Stopped by you.{waiting}"));
        }
        Outcome::Failed { message } => notice(model, Level::Error, message),
    }
    if let Some(turn) = turn {
        summary(model, turn);
    }
    let away = !model.focused && model.closing.is_none();
    if away { vec![Cmd::Bell] } else { Vec::new() }
}

fn summary(model: &mut Model, turn: Turn) {
    let time = match model.now.saturating_sub(turn.since) {
        0..1_000 => String::new(),
        time => format!("{} · ", duration(time)),
    };
    let text = format!(
        "{time}{} · thinking {} · answer {} tok",
        plural(turn.steps, "step"),
        grouped(model.tokens.thinking),
        grouped(model.tokens.answer),
    );
    model.transcript.push(Body::Summary(text));
}
