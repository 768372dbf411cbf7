//! The tables of keys, one for each context. They drive both what keys do and what the help says.
//!
//! A context is who receives a key; what has no entry there is offered to the next one, which
//! `update/` decides. Invariant: a key has at most one action in a table.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

macro_rules! actions {
    ($(#[$doc:meta])* $name:ident: $($variant:ident,)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $(#[doc = concat!("`", stringify!($variant), "`")] $variant,)*
        }
    };
}

actions! {
    /// In every place where text is written.
    Edit: Left, Right, WordLeft, WordRight, LineStart, LineEnd, Backspace, Delete, KillWordLeft,
    KillWordRight, KillToStart, KillToEnd, Yank,
}
actions! {
    /// In the composer alone.
    Compose: Send, Newline, Up, Down,
}
actions! {
    /// In the completion list.
    Pick: Up, Down, Accept, Run, Close,
}
actions! {
    /// The transcript and the program.
    Global: Cancel, Escape, QuitOrDelete, Suspend, Repaint, OpenHelp, OpenWaiting, ToggleThinking,
    ToggleOutput, ToggleFocused, FocusUp, FocusDown, PageUp, PageDown, Top, Follow,
}
actions! {
    /// In the review overlay.
    Judge: Accept, Reject, AcceptAll, RejectAll, AcceptFile, RejectFile, Undecide, Comment,
    NextHunk, PreviousHunk, FirstHunk, LastHunk, ScrollUp, ScrollDown, Apply, Help, Leave,
}
actions! {
    /// In the approval prompt.
    Answer: Once, Session, Deny, DenyBecause, Help, Leave, ScrollUp, ScrollDown,
}
actions! {
    /// In a text field of an overlay.
    Field: Done, Leave,
}
actions! {
    /// In the help overlay.
    Scroll: Close, Up, Down,
}

/// One row of a table.
#[derive(Clone, Copy, Debug)]
pub struct Binding<A> {
    code: KeyCode,
    modifiers: KeyModifiers,
    /// What it does.
    pub action: A,
    /// What the help says; empty when it is another way to an action with a row of its own, or too
    /// plain to be told.
    pub help: &'static str,
}

const fn key<A>(code: KeyCode, action: A, help: &'static str) -> Binding<A> {
    with(KeyModifiers::NONE, code, action, help)
}

const fn ctrl<A>(letter: char, action: A, help: &'static str) -> Binding<A> {
    with(KeyModifiers::CONTROL, KeyCode::Char(letter), action, help)
}

const fn with<A>(
    modifiers: KeyModifiers,
    code: KeyCode,
    action: A,
    help: &'static str,
) -> Binding<A> {
    Binding { code, modifiers, action, help }
}

use KeyCode::{
    Backspace, Char, Delete, Down, End, Enter, Esc, Home, Left, PageDown, PageUp, Right, Tab, Up,
};

const ALT: KeyModifiers = KeyModifiers::ALT;
const CTRL: KeyModifiers = KeyModifiers::CONTROL;
const SHIFT: KeyModifiers = KeyModifiers::SHIFT;

/// Keys in the composer alone.
pub const COMPOSE: &[Binding<Compose>] = &[
    key(Enter, Compose::Send, "send; opens what waits when empty"),
    with(ALT, Enter, Compose::Newline, "new line"),
    ctrl('j', Compose::Newline, ""),
    with(SHIFT, Enter, Compose::Newline, ""),
    key(Up, Compose::Up, "line up, then older messages"),
    key(Down, Compose::Down, "line down, then newer messages"),
    ctrl('p', Compose::Up, ""),
    ctrl('n', Compose::Down, ""),
];

/// Keys in every place where text is written.
pub const EDIT: &[Binding<Edit>] = &[
    key(Left, Edit::Left, ""),
    key(Right, Edit::Right, ""),
    ctrl('b', Edit::Left, ""),
    ctrl('f', Edit::Right, ""),
    with(ALT, Left, Edit::WordLeft, "word left"),
    with(CTRL, Left, Edit::WordLeft, ""),
    with(ALT, Char('b'), Edit::WordLeft, ""),
    with(ALT, Right, Edit::WordRight, "word right"),
    with(CTRL, Right, Edit::WordRight, ""),
    with(ALT, Char('f'), Edit::WordRight, ""),
    ctrl('a', Edit::LineStart, "start of line"),
    key(Home, Edit::LineStart, ""),
    ctrl('e', Edit::LineEnd, "end of line"),
    key(End, Edit::LineEnd, ""),
    key(Backspace, Edit::Backspace, ""),
    with(SHIFT, Backspace, Edit::Backspace, ""),
    ctrl('h', Edit::Backspace, ""),
    key(Delete, Edit::Delete, ""),
    ctrl('w', Edit::KillWordLeft, "cut word left"),
    with(ALT, Backspace, Edit::KillWordLeft, ""),
    with(CTRL, Backspace, Edit::KillWordLeft, ""),
    with(ALT, Char('d'), Edit::KillWordRight, "cut word right"),
    ctrl('u', Edit::KillToStart, "cut to start of line"),
    ctrl('k', Edit::KillToEnd, "cut to end of line"),
    ctrl('y', Edit::Yank, "put back what was cut"),
];

/// Keys in the completion list.
pub const PICK: &[Binding<Pick>] = &[
    key(Up, Pick::Up, "choose a command"),
    key(Down, Pick::Down, ""),
    ctrl('p', Pick::Up, ""),
    ctrl('n', Pick::Down, ""),
    key(Tab, Pick::Accept, "complete it"),
    key(Enter, Pick::Run, "run it"),
    key(Esc, Pick::Close, "close the list"),
];

/// Keys of the transcript and the program.
pub const GLOBAL: &[Binding<Global>] = &[
    ctrl('t', Global::ToggleThinking, "all thinking: one line / everything"),
    ctrl('o', Global::ToggleOutput, "all tool output: short / everything"),
    key(Tab, Global::ToggleFocused, "open or fold the marked block (or click)"),
    key(KeyCode::BackTab, Global::FocusUp, "mark the block above"),
    with(ALT, Up, Global::FocusUp, ""),
    with(ALT, Down, Global::FocusDown, "mark the block below"),
    key(PageUp, Global::PageUp, "scroll up"),
    key(PageDown, Global::PageDown, "scroll down"),
    with(CTRL, Home, Global::Top, "first line"),
    with(CTRL, End, Global::Follow, "last line (End too, when scrolled up)"),
    ctrl('r', Global::OpenWaiting, "open the review or question that waits"),
    key(Esc, Global::Escape, "stop the turn"),
    ctrl('c', Global::Cancel, "stop the turn; clear the draft; twice: quit"),
    ctrl('d', Global::QuitOrDelete, "quit, when nothing is written"),
    ctrl('l', Global::Repaint, "draw the screen anew"),
    ctrl('z', Global::Suspend, "suspend (fg brings it back)"),
    key(KeyCode::F(1), Global::OpenHelp, "help (? too, when nothing is written)"),
];

/// Keys in the review overlay.
pub const JUDGE: &[Binding<Judge>] = &[
    key(Char('a'), Judge::Accept, "accept this hunk"),
    key(Char('y'), Judge::Accept, ""),
    key(Char('r'), Judge::Reject, "reject this hunk"),
    key(Char('n'), Judge::Reject, ""),
    key(Char('f'), Judge::AcceptFile, "accept the rest of this file"),
    key(Char('F'), Judge::RejectFile, "reject the rest of this file"),
    key(Char('A'), Judge::AcceptAll, "accept all the rest"),
    key(Char('R'), Judge::RejectAll, "reject all the rest"),
    key(Char('u'), Judge::Undecide, "take the decision back"),
    key(Char('c'), Judge::Comment, "comment on this hunk; the model reads it"),
    key(Char('j'), Judge::NextHunk, "next hunk"),
    key(Down, Judge::NextHunk, ""),
    key(Char('k'), Judge::PreviousHunk, "previous hunk"),
    key(Up, Judge::PreviousHunk, ""),
    key(Char('g'), Judge::FirstHunk, "first hunk"),
    key(Home, Judge::FirstHunk, ""),
    key(Char('G'), Judge::LastHunk, "last hunk"),
    key(End, Judge::LastHunk, ""),
    key(PageDown, Judge::ScrollDown, "scroll down"),
    key(Char(' '), Judge::ScrollDown, ""),
    key(PageUp, Judge::ScrollUp, "scroll up"),
    key(Enter, Judge::Apply, "apply, when every hunk is decided"),
    key(Char('?'), Judge::Help, "help"),
    key(Esc, Judge::Leave, "back to the transcript, nothing decided"),
];

/// Keys in the approval prompt.
pub const ANSWER: &[Binding<Answer>] = &[
    key(Char('y'), Answer::Once, "yes, once"),
    key(Char('a'), Answer::Session, "yes, and this very command again in this session"),
    key(Char('n'), Answer::Deny, "no"),
    key(Char('d'), Answer::DenyBecause, "no, and say why"),
    key(Down, Answer::ScrollDown, "more of a long command"),
    key(PageDown, Answer::ScrollDown, ""),
    key(Up, Answer::ScrollUp, ""),
    key(PageUp, Answer::ScrollUp, ""),
    key(Char('?'), Answer::Help, ""),
    key(Esc, Answer::Leave, "back to the transcript, nothing decided"),
];

/// Keys in a text field of an overlay.
pub const FIELD: &[Binding<Field>] =
    &[key(Enter, Field::Done, "done"), key(Esc, Field::Leave, "leave it")];

/// Keys in the help overlay.
pub const SCROLL: &[Binding<Scroll>] = &[
    key(Esc, Scroll::Close, "close"),
    key(Char('q'), Scroll::Close, ""),
    key(Char('?'), Scroll::Close, ""),
    key(KeyCode::F(1), Scroll::Close, ""),
    key(Enter, Scroll::Close, ""),
    key(Up, Scroll::Up, "scroll"),
    key(Char('k'), Scroll::Up, ""),
    key(Down, Scroll::Down, ""),
    key(Char('j'), Scroll::Down, ""),
    key(PageUp, Scroll::Up, ""),
    key(PageDown, Scroll::Down, ""),
];

/// The action of a key in a table.
pub fn lookup<A: Copy>(table: &[Binding<A>], event: KeyEvent) -> Option<A> {
    let (code, modifiers) = normal(event);
    let hit = |b: &&Binding<A>| b.code == code && b.modifiers == modifiers;
    table.iter().find(hit).map(|binding| binding.action)
}

/// The character a key types, if it types one.
pub fn typed(event: KeyEvent) -> Option<char> {
    match event.code {
        Char(c) if !event.modifiers.intersects(CTRL | ALT | KeyModifiers::SUPER) => Some(c),
        _ => None,
    }
}

/// Terminals differ on whether Shift is reported with a character that already shows it.
fn normal(event: KeyEvent) -> (KeyCode, KeyModifiers) {
    let modifiers = event.modifiers & (CTRL | ALT | SHIFT);
    match event.code {
        Char(c) if modifiers.contains(CTRL) => (Char(c.to_ascii_lowercase()), modifiers - SHIFT),
        Char(_) | KeyCode::BackTab => (event.code, modifiers - SHIFT),
        other => (other, modifiers),
    }
}

impl<A> Binding<A> {
    /// The key as people write it: `Ctrl+T`, `Alt+Enter`, `A`.
    pub fn label(&self) -> String {
        let mut out = String::new();
        for (flag, name) in [(CTRL, "Ctrl+"), (ALT, "Alt+"), (SHIFT, "Shift+")] {
            if self.modifiers.contains(flag) {
                out.push_str(name);
            }
        }
        match self.code {
            Char(' ') => out.push_str("Space"),
            Char(c) if self.modifiers.is_empty() => out.push(c),
            Char(c) => out.push(c.to_ascii_uppercase()),
            KeyCode::BackTab => out.push_str("Shift+Tab"),
            Up => out.push('↑'),
            Down => out.push('↓'),
            Left => out.push('←'),
            Right => out.push('→'),
            PageUp => out.push_str("PgUp"),
            PageDown => out.push_str("PgDn"),
            code => out.push_str(&code.to_string()),
        }
        out
    }
}

/// All keys of an action, joined: `a/y`.
pub fn labels<A: PartialEq>(table: &[Binding<A>], action: A) -> String {
    let own = table.iter().filter(|b| b.action == action);
    own.map(Binding::label).collect::<Vec<_>>().join("/")
}

/// Rows of the help for one table: the first two keys of an action, and what it does.
pub fn rows<A: PartialEq + Copy>(table: &[Binding<A>]) -> Vec<(String, &'static str)> {
    let listed = table.iter().filter(|b| !b.help.is_empty());
    let two = |action| {
        let own = table.iter().filter(|b| b.action == action).take(2);
        own.map(Binding::label).collect::<Vec<_>>().join(" ")
    };
    listed.map(|b| (two(b.action), b.help)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<A>(table: &[Binding<A>]) {
        for (index, a) in table.iter().enumerate() {
            for b in &table[index + 1..] {
                assert!(a.code != b.code || a.modifiers != b.modifiers, "{}", a.label());
            }
        }
    }

    #[test]
    fn no_key_has_two_actions_in_one_table() {
        check(EDIT);
        check(COMPOSE);
        check(PICK);
        check(GLOBAL);
        check(JUDGE);
        check(ANSWER);
        check(FIELD);
        check(SCROLL);
    }

    #[test]
    fn shift_on_a_letter_is_the_letter() {
        let shifted = KeyEvent::new(Char('A'), SHIFT);
        assert_eq!(lookup(JUDGE, shifted), Some(Judge::AcceptAll));
        let plain = KeyEvent::new(Char('a'), KeyModifiers::NONE);
        assert_eq!(lookup(JUDGE, plain), Some(Judge::Accept));
        assert_eq!(labels(JUDGE, Judge::Accept), "a/y");
        assert_eq!(typed(shifted), Some('A'));
        assert_eq!(typed(KeyEvent::new(Char('a'), CTRL)), None);
    }
}
