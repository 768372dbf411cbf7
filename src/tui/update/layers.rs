//! Keys while a layer is open: review, approval prompt, help.
//!
//! Invariant: a decision is sent once, and only for what is asked now.

use super::keys::{edit, global, interrupt, type_into};
use crate::protocol::{Approval, Op, Verdict};
use crate::tui::composer::Editor;
use crate::tui::keymap::{
    ANSWER, Answer, EDIT, FIELD, Field, GLOBAL, Global, JUDGE, Judge, SCROLL, Scroll, lookup, typed,
};
use crate::tui::overlay::Layer;
use crate::tui::text::plural;
use crate::tui::{Cmd, Model};
use crossterm::event::KeyEvent;

/// A key for the top layer.
pub fn key(model: &mut Model, layer: Layer, event: KeyEvent) -> Vec<Cmd> {
    if field(model).is_some() {
        return in_field(model, layer, event);
    }
    match layer {
        Layer::Help => {
            match lookup(SCROLL, event) {
                Some(Scroll::Up) => model.help_top = model.help_top.saturating_sub(3),
                Some(Scroll::Down) => model.help_top += 3,
                Some(Scroll::Close) => _ = model.layers.pop(),
                None => return program(model, event),
            }
            Vec::new()
        }
        Layer::Review => match lookup(JUDGE, event) {
            // A key that types nothing cannot be a stray letter; only Enter then decides.
            Some(action) if typed(event).is_none() && action != Judge::Apply => {
                in_review(model, action)
            }
            Some(_) if early(model, layer, event) => Vec::new(),
            Some(action) => in_review(model, action),
            None => program(model, event),
        },
        Layer::Approval => match lookup(ANSWER, event) {
            Some(Answer::Leave) => in_question(model, Answer::Leave),
            Some(_) if early(model, layer, event) => Vec::new(),
            Some(action) => in_question(model, action),
            None => program(model, event),
        },
    }
}

/// The text field of the top layer, when one is open.
pub fn field(model: &mut Model) -> Option<&mut Editor> {
    match model.layers.last()? {
        Layer::Review => model.review.as_mut()?.field.as_mut(),
        Layer::Approval => model.question.as_mut()?.field.as_mut(),
        Layer::Help => None,
    }
}

/// Shows what waits for a decision, if anything does.
pub fn open_waiting(model: &mut Model) {
    if model.review.is_some() {
        model.layers.push(Layer::Review);
    } else if model.question.is_some() {
        model.layers.push(Layer::Approval);
    }
}

/// Keys of the program that hold in every layer. Other letters may belong to a message.
fn program(model: &mut Model, event: KeyEvent) -> Vec<Cmd> {
    match lookup(GLOBAL, event) {
        Some(Global::Cancel) if model.turn.is_some() => interrupt(model),
        Some(
            action @ (Global::Cancel
            | Global::Suspend
            | Global::Repaint
            | Global::ToggleThinking
            | Global::ToggleOutput
            | Global::OpenHelp
            | Global::PageUp
            | Global::PageDown),
        ) => global(model, action),
        Some(
            Global::Escape
            | Global::QuitOrDelete
            | Global::OpenWaiting
            | Global::ToggleFocused
            | Global::FocusUp
            | Global::FocusDown
            | Global::Top
            | Global::Follow,
        ) => Vec::new(),
        None => {
            if let (Some(layer), Some(_)) = (model.layers.last().copied(), typed(event)) {
                early(model, layer, event);
            }
            Vec::new()
        }
    }
}

/// Whether a key came so soon after opening that it was meant for the composer. It then goes there,
/// if something was being written.
fn early(model: &mut Model, layer: Layer, event: KeyEvent) -> bool {
    let typing = !model.composer.editor.is_empty();
    let now = model.now;
    let grace = match layer {
        Layer::Review => model.review.as_mut().map(|review| &mut review.grace),
        Layer::Approval => model.question.as_mut().map(|question| &mut question.grace),
        Layer::Help => None,
    };
    let early = grace.is_some_and(|grace| grace.holds(now, typing));
    if let (true, true, Some(c)) = (early, typing, typed(event)) {
        type_into(model, c);
    }
    early
}

fn in_field(model: &mut Model, layer: Layer, event: KeyEvent) -> Vec<Cmd> {
    match lookup(FIELD, event) {
        Some(Field::Done) => return field_done(model, layer),
        Some(Field::Leave) => {
            if let Some(review) = &mut model.review {
                review.field = None;
            }
            if let Some(question) = &mut model.question {
                question.field = None;
            }
            return Vec::new();
        }
        None => {}
    }
    let Some(field) = field(model) else {
        return Vec::new();
    };
    if let Some(action) = lookup(EDIT, event) {
        edit(field, action);
    } else if let Some(c) = typed(event) {
        field.insert(c.encode_utf8(&mut [0; 4]));
    } else {
        return program(model, event);
    }
    Vec::new()
}

fn field_done(model: &mut Model, layer: Layer) -> Vec<Cmd> {
    match layer {
        Layer::Review => {
            if let Some(review) = &mut model.review {
                review.close_field();
            }
            Vec::new()
        }
        Layer::Approval => {
            let field = model.question.as_mut().and_then(|question| question.field.take());
            let reason = field.map(|field| field.expanded().trim().to_owned()).unwrap_or_default();
            answer(model, Approval::Deny { reason })
        }
        Layer::Help => Vec::new(),
    }
}

fn in_review(model: &mut Model, action: Judge) -> Vec<Cmd> {
    let Some(review) = &mut model.review else {
        model.layers.pop();
        return Vec::new();
    };
    review.hint = None;
    match action {
        Judge::Accept => review.decide(Verdict::Accept),
        Judge::Reject => review.decide(Verdict::Reject),
        Judge::AcceptFile => review.decide_rest(Verdict::Accept, false),
        Judge::RejectFile => review.decide_rest(Verdict::Reject, false),
        Judge::AcceptAll => review.decide_rest(Verdict::Accept, true),
        Judge::RejectAll => review.decide_rest(Verdict::Reject, true),
        Judge::Undecide => review.undecide(),
        Judge::Comment => review.open_field(),
        Judge::NextHunk => review.step(true),
        Judge::PreviousHunk => review.step(false),
        Judge::FirstHunk => review.select(0),
        Judge::LastHunk => review.select(usize::MAX),
        Judge::ScrollUp => review.scroll_page(false),
        Judge::ScrollDown => review.scroll_page(true),
        Judge::Apply => return apply(model),
        Judge::Help => return global(model, Global::OpenHelp),
        Judge::Leave => _ = model.layers.pop(),
    }
    Vec::new()
}

/// Sends the decisions, once every hunk has one.
fn apply(model: &mut Model) -> Vec<Cmd> {
    let Some(review) = &mut model.review else {
        return Vec::new();
    };
    if !review.decided() {
        let open = review.tally(None).2;
        review.hint = Some(format!("{} not decided yet", plural(open, "hunk")));
        review.advance();
        return Vec::new();
    }
    let decisions = review.decisions();
    model.review = None;
    model.layers.pop();
    vec![Cmd::Send(Op::Review { decisions })]
}

fn in_question(model: &mut Model, action: Answer) -> Vec<Cmd> {
    match action {
        Answer::Once => return answer(model, Approval::Once),
        Answer::Session => return answer(model, Approval::Session),
        Answer::Deny => {
            return answer(model, Approval::Deny { reason: String::new() });
        }
        Answer::DenyBecause => {
            if let Some(question) = &mut model.question {
                question.field = Some(Editor::default());
            }
        }
        Answer::Help => return global(model, Global::OpenHelp),
        Answer::Leave => _ = model.layers.pop(),
        Answer::ScrollDown | Answer::ScrollUp => scroll_question(model, action),
    }
    Vec::new()
}

fn scroll_question(model: &mut Model, action: Answer) {
    let rows = crate::tui::view::approval_rows(model, model.size.0);
    if let Some(question) = &mut model.question {
        question.top = if action == Answer::ScrollDown {
            (question.top + 5).min(rows)
        } else {
            question.top.saturating_sub(5)
        };
    }
}

fn answer(model: &mut Model, approval: Approval) -> Vec<Cmd> {
    model.layers.pop();
    let Some(question) = model.question.take() else {
        return Vec::new();
    };
    let call = question.call.id;
    vec![Cmd::Send(Op::Approve { call, approval })]
}
