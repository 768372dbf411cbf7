//! An earlier conversation as the events that would have drawn it.

use crate::protocol::{CallId, Event, Message, Outcome, Role, ToolOutput, TurnId};
use std::collections::BTreeSet;

/// Events for the front end, in order; tool outputs are shown as done.
pub(super) fn events(history: &[Message]) -> Vec<Event> {
    let mut events = Vec::new();
    let mut turn = TurnId(0);
    let known: BTreeSet<CallId> =
        history.iter().flat_map(|message| &message.calls).map(|call| call.id).collect();
    for message in history {
        match message.role {
            Role::System => {}
            Role::User => {
                finish(turn, &mut events);
                turn = turn.next();
                events.push(Event::TurnStarted { turn, text: message.text.clone() });
            }
            Role::Assistant => assistant(message, &mut events),
            Role::Tool => {
                if let Some(call) = message.call.filter(|call| known.contains(call)) {
                    let summary = message.text.lines().next().unwrap_or_default();
                    let output = ToolOutput::done(&message.text, summary);
                    events.push(Event::ToolFinished { call, output });
                }
            }
        }
    }
    finish(turn, &mut events);
    events
}

fn finish(turn: TurnId, events: &mut Vec<Event>) {
    if turn.0 > 0 {
        events.push(Event::TurnFinished { turn, outcome: Outcome::Done });
    }
}

fn assistant(message: &Message, events: &mut Vec<Event>) {
    if !message.thinking.is_empty() {
        events.push(Event::ThinkingDelta { text: message.thinking.clone() });
        events.push(Event::ThinkingDone);
    }
    if !message.text.is_empty() {
        events.push(Event::TextDelta { text: message.text.clone() });
    }
    for call in &message.calls {
        events.push(Event::ToolRequested { call: call.clone(), repairs: Vec::new() });
    }
}
