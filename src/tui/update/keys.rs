//! Keys and pastes while no layer is open: the composer, its completion list, the program.

use super::{close, command, layers};
use crate::protocol::Op;
use crate::tui::commands::{Completion, Line, complete, read};
use crate::tui::composer::Editor;
use crate::tui::keymap::{COMPOSE, Compose, EDIT, Edit, GLOBAL, Global, PICK, Pick, lookup, typed};
use crate::tui::overlay::Layer;
use crate::tui::{Cmd, Model};
use crossterm::event::KeyEvent;

/// A key, offered to the top layer first.
pub fn key(model: &mut Model, event: KeyEvent) -> Vec<Cmd> {
    if let Some(layer) = model.layers.last().copied() {
        return layers::key(model, layer, event);
    }
    if !popup(model).is_empty()
        && let Some(action) = lookup(PICK, event)
    {
        return in_popup(model, action);
    }
    let typed = typed(event);
    if typed == Some('?') && model.composer.editor.is_empty() {
        return global(model, Global::OpenHelp);
    }
    if let Some(action) = lookup(COMPOSE, event) {
        return in_composer(model, action);
    }
    if let Some(action) = lookup(EDIT, event) {
        if action == Edit::LineEnd && !model.transcript.follows() {
            return global(model, Global::Follow);
        }
        edit(&mut model.composer.editor, action);
        model.composer.touched();
        return Vec::new();
    }
    if let Some(action) = lookup(GLOBAL, event) {
        return global(model, action);
    }
    if let Some(c) = typed {
        type_into(model, c);
    }
    Vec::new()
}

/// Types into the composer.
pub fn type_into(model: &mut Model, c: char) {
    model.composer.editor.insert(c.encode_utf8(&mut [0; 4]));
    model.composer.touched();
    model.armed = None;
}

/// A paste, into the text field on top.
pub fn paste(model: &mut Model, text: &str) {
    if let Some(field) = layers::field(model) {
        field.insert(&text.replace(['\r', '\n'], " "));
    } else if model.layers.is_empty() {
        model.composer.editor.paste(text);
        model.composer.touched();
    } else {
        model.say("paste left out: close this first");
    }
}

/// What the completion list shows; empty when it is closed.
pub fn popup(model: &Model) -> Vec<Completion> {
    let editor = &model.composer.editor;
    if model.composer.dismissed || editor.cursor() != editor.text().len() {
        return Vec::new();
    }
    let themes: Vec<&str> = model.themes.iter().map(|theme| theme.name.as_str()).collect();
    let mut list = complete(editor.text(), &themes);
    // A finished command needs no completion.
    if list.len() == 1 && list[0].text == editor.text() && editor.text().contains(' ') {
        list.clear();
    }
    list
}

fn in_popup(model: &mut Model, action: Pick) -> Vec<Cmd> {
    let list = popup(model);
    let last = list.len().saturating_sub(1);
    let selected = model.composer.selected.min(last);
    match action {
        Pick::Up => model.composer.selected = selected.checked_sub(1).unwrap_or(last),
        Pick::Down => {
            model.composer.selected = if selected == last { 0 } else { selected + 1 };
        }
        Pick::Close => model.composer.dismissed = true,
        Pick::Accept | Pick::Run => {
            let Some(choice) = list.get(selected) else {
                return Vec::new();
            };
            let whole = 0..model.composer.editor.text().len();
            model.composer.editor.replace(whole, &choice.text);
            model.composer.touched();
            if action == Pick::Run && choice.complete {
                return send(model);
            }
        }
    }
    Vec::new()
}

fn in_composer(model: &mut Model, action: Compose) -> Vec<Cmd> {
    match action {
        Compose::Send => return send(model),
        Compose::Newline => {
            model.composer.editor.insert("\n");
            model.composer.touched();
        }
        Compose::Up | Compose::Down => {
            let down = action == Compose::Down;
            let columns = crate::tui::view::composer_columns(model);
            if !model.composer.editor.vertical(down, columns) {
                if down {
                    model.composer.newer();
                } else {
                    model.composer.older();
                }
            }
        }
    }
    Vec::new()
}

/// Applies an editing action; used by every text field.
pub fn edit(editor: &mut Editor, action: Edit) {
    match action {
        Edit::Left => editor.left(),
        Edit::Right => editor.right(),
        Edit::WordLeft => editor.word_left(),
        Edit::WordRight => editor.word_right(),
        Edit::LineStart => editor.home(),
        Edit::LineEnd => editor.end(),
        Edit::Backspace => editor.backspace(),
        Edit::Delete => editor.delete(),
        Edit::KillWordLeft => editor.kill_word_left(),
        Edit::KillWordRight => editor.kill_word_right(),
        Edit::KillToStart => editor.kill_to_start(),
        Edit::KillToEnd => editor.kill_to_end(),
        Edit::Yank => editor.yank(),
    }
}

fn send(model: &mut Model) -> Vec<Cmd> {
    if model.closing.is_some() {
        return Vec::new();
    }
    let text = model.composer.editor.expanded();
    if text.trim().is_empty() {
        model.composer.editor.clear();
        return global(model, Global::OpenWaiting);
    }
    match read(&text) {
        Line::Message => {
            let text = model.composer.take();
            model.transcript.follow();
            vec![Cmd::Send(Op::UserTurn { text })]
        }
        Line::Command(what, args) => {
            let args = args.to_owned();
            model.composer.take();
            command::run(model, what, &args)
        }
        Line::Unknown(name) => {
            let text = format!("there is no command /{name}; / alone lists them");
            model.say(text);
            Vec::new()
        }
    }
}

/// Actions that work from everywhere.
pub fn global(model: &mut Model, action: Global) -> Vec<Cmd> {
    match action {
        Global::Cancel => return cancel(model),
        Global::Escape => return escape(model),
        Global::QuitOrDelete if model.composer.editor.is_empty() => return close(model),
        Global::QuitOrDelete => model.composer.editor.delete(),
        Global::Suspend => return vec![Cmd::Suspend],
        Global::Repaint => return vec![Cmd::Repaint],
        Global::OpenHelp => {
            model.help_top = 0;
            model.layers.push(Layer::Help);
        }
        Global::OpenWaiting => layers::open_waiting(model),
        Global::ToggleThinking => model.transcript.toggle_thinking(model.thinking),
        Global::ToggleOutput => model.transcript.toggle_output(),
        Global::ToggleFocused => {
            model.with_look(|transcript, look| transcript.toggle_focused(look));
        }
        Global::FocusUp => model.transcript.move_focus(false),
        Global::FocusDown => model.transcript.move_focus(true),
        Global::PageUp => model.transcript.scroll_page(false),
        Global::PageDown => model.transcript.scroll_page(true),
        Global::Top => model.transcript.scroll_to(0),
        Global::Follow => model.transcript.follow(),
    }
    Vec::new()
}

/// Esc: the nearest thing that can be left, else the turn.
fn escape(model: &mut Model) -> Vec<Cmd> {
    if model.transcript.unfocus() {
        return Vec::new();
    }
    if model.review.is_some() || model.question.is_some() {
        // One Esc too many must not throw decisions away.
        model.say("Enter opens what waits for you · Ctrl+C stops the turn");
    } else if model.turn.is_some() {
        return interrupt(model);
    }
    model.transcript.follow();
    Vec::new()
}

/// Ctrl+C: the turn, else the draft, else (twice) the program.
fn cancel(model: &mut Model) -> Vec<Cmd> {
    if model.closing.is_some() {
        return close(model);
    }
    if let Some(turn) = &model.turn {
        return if turn.interrupts < 2 { interrupt(model) } else { close(model) };
    }
    if !model.composer.editor.is_empty() {
        model.composer.take();
        model.composer.touched();
        model.say("draft cleared · ↑ brings it back");
        return Vec::new();
    }
    if model.armed.take().is_some_and(|until| model.now < until) {
        return close(model);
    }
    model.say("press Ctrl+C again to quit");
    model.armed = Some(model.now + 4_000);
    Vec::new()
}

/// Asks the runtime to stop the turn; asking again says what a third time does.
pub fn interrupt(model: &mut Model) -> Vec<Cmd> {
    let Some(turn) = &mut model.turn else {
        return Vec::new();
    };
    turn.interrupts += 1;
    if turn.interrupts > 1 {
        model.say("still stopping · Ctrl+C again quits");
    } else {
        model.say("stopping…");
    }
    vec![Cmd::Send(Op::Interrupt)]
}
