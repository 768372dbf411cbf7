//! What the model reads, thinks and says, as it streams.
//!
//! Invariant: raw text of the model is never lost here.

use crate::protocol::{Event, Usage};
use crate::tui::Model;
use crate::tui::model::Prefill;
use crate::tui::transcript::{Answer, Body, Thinking};

/// A model call began. Messages that waited are part of it.
pub fn step_started(model: &mut Model) {
    if let Some(turn) = &mut model.turn {
        turn.steps += 1;
    }
    for text in std::mem::take(&mut model.queued) {
        model.transcript.push(Body::User(text));
    }
    close_text(model);
    model.transcript.leave_uncounted();
    model.prefill = None;
    model.tokens.live_thinking = 0;
    model.tokens.live_answer = 0;
}

/// Progress of reading the prompt.
pub fn prefill(model: &mut Model, event: &Event) {
    let Event::Prefill { done, total, cached } = *event else {
        return;
    };
    let first = model.prefill.map_or((done, model.now), |prefill| prefill.first);
    model.prefill = Some(Prefill { done, total, cached, first });
    model.tokens.context = cached + done;
}

/// More reasoning.
pub fn thinking(model: &mut Model, text: &str) {
    model.tokens.live_thinking += 1;
    if let Some(block) = model.transcript.live_thinking() {
        return block.push(text);
    }
    close_text(model);
    let mut block = Thinking::new(model.now);
    block.push(text);
    model.transcript.push(Body::Thinking(block));
}

/// The block of reasoning is over.
pub fn thinking_done(model: &mut Model) {
    let now = model.now;
    if let Some(block) = model.transcript.live_thinking() {
        block.finish(now);
    }
}

/// More of the answer.
pub fn answer(model: &mut Model, text: &str) {
    model.tokens.live_answer += 1;
    thinking_done(model);
    if let Some(answer) = model.transcript.live_answer() {
        return answer.push(text);
    }
    let text = text.trim_start_matches(['\n', ' ']);
    if !text.is_empty() {
        model.transcript.push(Body::Answer(Answer::new(text)));
    }
}

/// Whatever text was open is complete.
pub fn close_text(model: &mut Model) {
    thinking_done(model);
    if let Some(answer) = model.transcript.live_answer() {
        answer.finish();
    }
}

/// The model call is over, and what it cost is known.
pub fn step_finished(model: &mut Model, usage: Usage) {
    close_text(model);
    let tokens = &mut model.tokens;
    tokens.thinking += usage.thinking;
    tokens.answer += usage.answer;
    tokens.live_thinking = 0;
    tokens.live_answer = 0;
    tokens.context = usage.context;
    let all = (usage.thinking + usage.answer).max(1) as u64;
    let time = usage.decode_ms * usage.thinking as u64 / all;
    if let Some(block) = model.transcript.uncounted_mut() {
        block.count(usage.thinking, time);
    }
}
