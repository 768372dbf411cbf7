//! What the slash commands do.

use super::close;
use crate::protocol::Op;
use crate::tui::commands::{Command, EFFORTS, POLICIES, effort_name};
use crate::tui::keymap::Global;
use crate::tui::{Cmd, Model, ThinkingView};

/// Runs a command with the rest of its line.
pub fn run(model: &mut Model, command: Command, args: &str) -> Vec<Cmd> {
    match command {
        Command::Help => super::keys::global(model, Global::OpenHelp),
        Command::Review => {
            if model.review.is_none() && model.question.is_none() {
                model.say("nothing waits for a decision");
            }
            super::keys::global(model, Global::OpenWaiting)
        }
        Command::Undo => vec![Cmd::Send(Op::Undo)],
        Command::New => vec![Cmd::Send(Op::NewSession)],
        Command::Policy => match POLICIES.into_iter().find(|policy| policy.name() == args) {
            Some(policy) => vec![Cmd::Send(Op::SetPolicy { policy })],
            None => usage(model, "policy", &POLICIES.map(|policy| policy.name())),
        },
        Command::Effort => match EFFORTS.into_iter().find(|effort| effort_name(*effort) == args) {
            Some(effort) => vec![Cmd::Send(Op::SetEffort { effort })],
            None => usage(model, "effort", &EFFORTS.map(effort_name)),
        },
        Command::Thinking => match ThinkingView::from_name(args) {
            Some(view) => {
                model.thinking = view;
                model.transcript.reset_thinking();
                model.say(format!("thinking: {}", view.name()));
                Vec::new()
            }
            None => usage(model, "thinking", &ThinkingView::ALL.map(ThinkingView::name)),
        },
        Command::Theme => theme(model, args),
        Command::Copy => copy(model),
        Command::Mouse => match args {
            "on" | "off" => {
                model.mouse = args == "on";
                vec![Cmd::Mouse(model.mouse)]
            }
            _ => usage(model, "mouse", &["on", "off"]),
        },
        Command::Quit => close(model),
    }
}

fn usage(model: &mut Model, name: &str, values: &[&str]) -> Vec<Cmd> {
    model.say(format!("/{name} takes one of: {}", values.join(", ")));
    Vec::new()
}

fn theme(model: &mut Model, name: &str) -> Vec<Cmd> {
    match model.themes.iter().position(|theme| theme.name == name) {
        Some(index) => {
            model.theme = index;
            model.transcript.restyle();
            if let Some(review) = &mut model.review {
                review.restyle();
            }
            Vec::new()
        }
        None => {
            let names: Vec<String> = model.themes.iter().map(|theme| theme.name.clone()).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            usage(model, "theme", &names)
        }
    }
}

fn copy(model: &mut Model) -> Vec<Cmd> {
    match model.transcript.last_answer().map(str::to_owned) {
        Some(text) => {
            model.say("handed to the terminal's clipboard; not every terminal takes it");
            vec![Cmd::Copy(text)]
        }
        None => {
            model.say("there is no answer to copy yet");
            Vec::new()
        }
    }
}
