//! Changes the model by one message and says what is to be done.
//!
//! Pure but for the model: no IO, no clock. Invariant: whatever the person sent, the runtime is told
//! at most once for it, and nothing is decided that the person did not decide.

mod command;
mod event;
mod keys;
mod layers;
mod mouse;
mod stream;
mod tools;

pub use keys::popup;

use super::view::regions;
use super::{Cmd, Exit, Model, Msg};
use crate::protocol::Op;

/// Milliseconds after which the end no longer waits for the runtime.
pub const CLOSE_MS: u64 = 3_000;

/// Takes in one message.
pub fn update(model: &mut Model, msg: Msg) -> Vec<Cmd> {
    match msg {
        Msg::Tick(now) => tick(model, now),
        Msg::Frame => {
            prepare(model);
            Vec::new()
        }
        Msg::Resize(columns, rows) => {
            model.size = (columns, rows);
            model.dirty = true;
            // Sizes in between may have been skipped, and with them what they cut off the screen.
            vec![Cmd::Repaint]
        }
        Msg::Key(key) => {
            model.dirty = true;
            keys::key(model, key)
        }
        Msg::Paste(text) => {
            model.dirty = true;
            keys::paste(model, &text);
            Vec::new()
        }
        Msg::Mouse(event) => {
            mouse::mouse(model, event);
            Vec::new()
        }
        Msg::Focus(focused) => {
            model.focused = focused;
            Vec::new()
        }
        Msg::Event(event) => {
            model.dirty = true;
            event::event(model, *event)
        }
        Msg::Disconnected => {
            model.disconnected = true;
            vec![Cmd::Quit(ended(model))]
        }
        Msg::Signal(number) => vec![Cmd::Send(Op::Shutdown), Cmd::Quit(Exit::Signal(number))],
    }
}

fn ended(model: &Model) -> Exit {
    if model.closing.is_some() { Exit::Quit } else { Exit::Closed }
}

fn tick(model: &mut Model, now: u64) -> Vec<Cmd> {
    let before = model.now / super::model::SPIN_MS;
    model.now = now;
    model.dirty |= model.spinning() && before != now / super::model::SPIN_MS;
    if model.hint.as_ref().is_some_and(|hint| hint.until <= now) {
        model.hint = None;
        model.dirty = true;
    }
    if model.closing.is_some_and(|since| now >= since + CLOSE_MS) {
        return vec![Cmd::Quit(Exit::Quit)];
    }
    Vec::new()
}

/// Lays out what the next frame shows.
fn prepare(model: &mut Model) {
    let regions = regions(model);
    let height = usize::from(regions.transcript.height);
    model.with_look(|transcript, look| transcript.lay_out(look, height));
    let sheet = regions.sheet;
    let theme = &model.themes[model.theme];
    if let Some(review) = &mut model.review {
        let columns = usize::from(sheet.width).saturating_sub(2).max(1);
        review.lay_out(columns, usize::from(sheet.height), theme);
    }
}

/// Begins the end: the runtime is asked to stop, then waited for.
fn close(model: &mut Model) -> Vec<Cmd> {
    if model.closing.is_some() || model.disconnected {
        return vec![Cmd::Quit(Exit::Quit)];
    }
    model.closing = Some(model.now);
    vec![Cmd::Send(Op::Shutdown)]
}

#[cfg(test)]
mod tests;
