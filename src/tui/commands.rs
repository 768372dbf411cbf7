//! The slash commands: their table, how a line is read as one, and what completes it.
//!
//! What a command does is in `update/command.rs`. Invariant: every command is in [`COMMANDS`], which
//! the help and the completion list are made of.

use super::ThinkingView;
use crate::protocol::{Effort, Policy};

/// A command by what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Show the help.
    Help,
    /// Open the waiting review or question.
    Review,
    /// Take back the last file changes.
    Undo,
    /// Start a new session.
    New,
    /// Set the approval policy.
    Policy,
    /// Set the thinking effort.
    Effort,
    /// Set the default look of thinking.
    Thinking,
    /// Change the theme.
    Theme,
    /// Copy the last answer.
    Copy,
    /// Take mouse reports or leave the mouse to the terminal.
    Mouse,
    /// End the program.
    Quit,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Typed after the slash.
    pub name: &'static str,
    /// Shown after the name; empty when it takes nothing.
    pub args: &'static str,
    /// What the list says about it.
    pub help: &'static str,
    /// What it does.
    pub command: Command,
}

const fn entry(
    name: &'static str,
    args: &'static str,
    help: &'static str,
    command: Command,
) -> Entry {
    Entry { name, args, help, command }
}

/// All commands, in the order of the list.
pub const COMMANDS: &[Entry] = &[
    entry("help", "", "keys and commands", Command::Help),
    entry("review", "", "open the review or question that waits", Command::Review),
    entry("undo", "", "take back the file changes of the last turn", Command::Undo),
    entry("new", "", "forget the conversation and start anew", Command::New),
    entry("policy", "<policy>", "what may be done without asking", Command::Policy),
    entry("effort", "<effort>", "how hard to think, from the next turn on", Command::Effort),
    entry("thinking", "<view>", "how thinking is shown", Command::Thinking),
    entry("theme", "<name>", "change the colours", Command::Theme),
    entry("copy", "", "copy the last answer to the clipboard", Command::Copy),
    entry("mouse", "on|off", "off: select text as in any terminal", Command::Mouse),
    entry("quit", "", "end the program", Command::Quit),
];

/// All policies, in the order offered.
pub const POLICIES: [Policy; 4] = [Policy::Plan, Policy::Review, Policy::AutoEdit, Policy::Auto];
/// All efforts, in the order offered.
pub const EFFORTS: [Effort; 4] = [Effort::Off, Effort::Low, Effort::Medium, Effort::Xhigh];

/// The name of an effort in configuration and on screen.
pub fn effort_name(effort: Effort) -> &'static str {
    match effort {
        Effort::Off => "off",
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::Xhigh => "xhigh",
    }
}

fn policy_help(policy: Policy) -> &'static str {
    match policy {
        Policy::Plan => "look only",
        Policy::Review => "every edit is reviewed, every command asked for",
        Policy::AutoEdit => "edits are written at once, commands asked for",
        Policy::Auto => "nothing is asked",
    }
}

fn view_help(view: ThinkingView) -> &'static str {
    match view {
        ThinkingView::Tail => "last lines while it runs, one line when done",
        ThinkingView::Folded => "one line",
        ThinkingView::Full => "everything",
        ThinkingView::Off => "nothing",
    }
}

/// What a typed line is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// Text for the model.
    Message,
    /// A command and the rest of the line, trimmed.
    Command(Command, &'a str),
    /// Looks like a command, but there is none of that name.
    Unknown(&'a str),
}

/// Reads a typed text. A path (`/usr/bin`) is not a command.
pub fn read(text: &str) -> Line<'_> {
    let Some(rest) = text.trim().strip_prefix('/') else {
        return Line::Message;
    };
    let (name, args) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphabetic()) {
        return Line::Message;
    }
    match COMMANDS.iter().find(|entry| entry.name == name) {
        Some(entry) => Line::Command(entry.command, args.trim()),
        None => Line::Unknown(name),
    }
}

/// One line of the completion list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Shown first.
    pub label: String,
    /// Shown after it.
    pub help: String,
    /// What the text becomes.
    pub text: String,
    /// Whether `text` is a whole command that can run.
    pub complete: bool,
}

/// What can complete `text`; empty when it is not the beginning of a command.
pub fn complete(text: &str, themes: &[&str]) -> Vec<Completion> {
    let Some(rest) = text.strip_prefix('/') else {
        return Vec::new();
    };
    if rest.contains('\n') {
        return Vec::new();
    }
    match rest.split_once(' ') {
        None => names(rest),
        Some((name, typed)) => COMMANDS
            .iter()
            .find(|entry| entry.name == name)
            .map_or_else(Vec::new, |entry| arguments(entry, typed.trim(), themes)),
    }
}

fn names(typed: &str) -> Vec<Completion> {
    let hits = COMMANDS.iter().filter(|entry| entry.name.starts_with(typed));
    hits.map(|entry| {
        let complete = entry.args.is_empty();
        let space = if complete { "" } else { " " };
        Completion {
            label: format!("/{} {}", entry.name, entry.args).trim_end().to_owned(),
            help: entry.help.into(),
            text: format!("/{}{space}", entry.name),
            complete,
        }
    })
    .collect()
}

fn arguments(entry: &Entry, typed: &str, themes: &[&str]) -> Vec<Completion> {
    let values: Vec<(&str, &str)> = match entry.command {
        Command::Policy => POLICIES.iter().map(|p| (p.name(), policy_help(*p))).collect(),
        Command::Effort => EFFORTS.iter().map(|e| (effort_name(*e), "")).collect(),
        Command::Thinking => ThinkingView::ALL.iter().map(|v| (v.name(), view_help(*v))).collect(),
        Command::Theme => themes.iter().map(|name| (*name, "")).collect(),
        Command::Mouse => vec![("on", "wheel and clicks"), ("off", "the terminal's own selection")],
        Command::Help
        | Command::Review
        | Command::Undo
        | Command::New
        | Command::Copy
        | Command::Quit => Vec::new(),
    };
    let mut hits: Vec<_> =
        values.into_iter().filter(|(value, _)| value.starts_with(typed)).collect();
    // What was typed in full comes before what merely begins so.
    hits.sort_by_key(|(value, _)| *value != typed);
    let hits = hits.into_iter();
    hits.map(|(value, help)| Completion {
        label: value.to_owned(),
        help: help.to_owned(),
        text: format!("/{} {value}", entry.name),
        complete: true,
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_commands_only_when_they_look_like_one() {
        for (text, want) in [
            ("hello", Line::Message),
            ("/usr/bin is full", Line::Message),
            ("/", Line::Message),
            ("/undo", Line::Command(Command::Undo, "")),
            (" /policy  auto ", Line::Command(Command::Policy, "auto")),
            ("/unod", Line::Unknown("unod")),
        ] {
            assert_eq!(read(text), want, "{text}");
        }
    }

    #[test]
    fn names_and_arguments_complete() {
        let labels = |text: &str| -> Vec<String> {
            complete(text, &["dark", "light"]).into_iter().map(|c| c.text).collect()
        };
        assert_eq!(labels("/").len(), COMMANDS.len());
        assert_eq!(labels("/th"), ["/thinking ", "/theme "]);
        assert_eq!(labels("/theme l"), ["/theme light"]);
        assert_eq!(labels("/policy a"), ["/policy auto-edit", "/policy auto"]);
        assert_eq!(labels("/policy auto")[0], "/policy auto");
        assert_eq!(labels("x /"), Vec::<String>::new());
    }
}
