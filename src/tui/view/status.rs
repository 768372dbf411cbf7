//! What the agent does now, in words, and the numbers of the session.
//!
//! Two lines: the activity above the composer, the status at the bottom. On narrow screens what
//! matters least is left out first.

use super::lines;
use super::screen::Regions;
use crate::protocol::{LoadStage, Phase};
use crate::tui::Model;
use crate::tui::commands::effort_name;
use crate::tui::flow::{Run, cells, fit};
use crate::tui::model::{EngineLine, Prefill, SPIN_MS};
use crate::tui::overlay::Layer;
use crate::tui::text::{bytes, clean_line, duration, grouped, percent, short};
use crate::tui::theme::Scope;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;

const SPINNER: [&str; 8] = ["⠋", "⠙", "⠸", "⠴", "⠦", "⠇", "⠏", "⠛"];

/// Draws both lines.
pub fn draw(frame: &mut Frame<'_>, model: &Model, regions: &Regions) {
    if model.layers.last() != Some(&Layer::Review) {
        lines(frame, regions.activity, [activity(model, usize::from(regions.activity.width))]);
    }
    lines(frame, regions.status, [status(model, regions.status)]);
}

/// The spinner, or a blank of the same width.
fn spinner(model: &Model) -> &'static str {
    if !model.spinning() {
        return " ";
    }
    let index = model.now / SPIN_MS % SPINNER.len() as u64;
    SPINNER[usize::try_from(index).unwrap_or(0)]
}

fn activity(model: &Model, columns: usize) -> Line<'static> {
    let style = |scope| model.theme().style(scope);
    let words = words(model);
    let mut runs: Vec<Run> = Vec::new();
    if !words.is_empty() {
        let scope = match model.phase {
            Phase::Review => Scope::StatusWaiting,
            Phase::Idle
            | Phase::Loading
            | Phase::Prefill
            | Phase::Thinking
            | Phase::Answering
            | Phase::Calling
            | Phase::Tool => Scope::StatusPhase,
        };
        runs.push((format!("{} ", spinner(model)), style(Scope::StatusPhase)));
        runs.push((words, style(scope)));
    }
    let told = match (&model.hint, model.turn) {
        (Some(hint), _) => hint.text.clone(),
        (None, Some(turn)) => {
            let time = duration(model.now.saturating_sub(turn.since));
            let asked = model.review.is_some() || model.question.is_some();
            let key = if asked { "Ctrl+C" } else { "Esc" };
            format!("{time} · {key} stops")
        }
        (None, None) => String::new(),
    };
    if !told.is_empty() {
        let gap = if runs.is_empty() { "  " } else { " · " };
        let scope = if model.hint.is_some() { Scope::Accent } else { Scope::Dim };
        runs.push((gap.to_owned(), style(Scope::Dim)));
        runs.push((told, style(scope)));
    }
    fit(&runs, columns)
}

/// The phase in words; empty when there is nothing to tell.
pub fn words(model: &Model) -> String {
    if model.closing.is_some() {
        return "closing".into();
    }
    let time = duration(model.now.saturating_sub(model.phase_since));
    let live = &model.tokens;
    match model.phase {
        Phase::Idle | Phase::Loading => loading(model),
        Phase::Prefill => match model.prefill {
            Some(prefill) => reading(prefill, model.now),
            None => "reading prompt".into(),
        },
        Phase::Thinking => format!("thinking {time} · {} tok", grouped(live.live_thinking)),
        Phase::Answering => format!("answering {time} · {} tok", grouped(live.live_answer)),
        Phase::Calling => "writing a tool call".into(),
        Phase::Tool if model.running.is_empty() => format!("running a tool {time}"),
        Phase::Tool => format!("running {} {time}", model.running),
        Phase::Review => " waiting for you ".into(),
    }
}

fn loading(model: &Model) -> String {
    match &model.engine {
        EngineLine::Loading { stage, done, total } => {
            let what = match stage {
                LoadStage::Reading => "reading the model file",
                LoadStage::Tokenizer => "loading the tokenizer",
                LoadStage::Weights => "loading weights",
            };
            match total {
                0 => what.to_owned(),
                total => {
                    let part = percent(*done, *total);
                    format!("{what} {part}% of {} · write meanwhile", bytes(*total))
                }
            }
        }
        EngineLine::Failed => "no model: see above".into(),
        EngineLine::Starting if model.phase == Phase::Loading => "loading".into(),
        EngineLine::Starting | EngineLine::Ready(_) => String::new(),
    }
}

/// `reading prompt 3,072/9,800 31% · 4s left`
fn reading(prefill: Prefill, now: u64) -> String {
    let Prefill { done, total, cached, first: (from, since) } = prefill;
    let part = percent(done as u64, total as u64);
    let mut text = format!("reading prompt {}/{} {part}%", grouped(done), grouped(total));
    let (read, time) = (done.saturating_sub(from) as u64, now.saturating_sub(since));
    if read > 0 && time > 500 && done < total {
        let left = (total - done) as u64 * time / read;
        text.push_str(&format!(" · {} left", duration(left.max(1_000))));
    }
    if cached > 0 {
        text.push_str(&format!(" · {} reused", short(cached)));
    }
    text
}

/// Left: what is in force. Right: numbers. The last of the left goes first when room is short.
fn status(model: &Model, area: Rect) -> Line<'static> {
    let style = model.theme().style(Scope::Status);
    let columns = usize::from(area.width);
    let right = numbers(model);
    let mut left = vec![model.policy.name().to_owned(), effort_name(model.effort).to_owned()];
    if let EngineLine::Ready(info) = &model.engine {
        left.push(clean_line(&info.name));
    }
    left.extend(model.session.branch.as_deref().map(clean_line));
    let join = |left: &[String]| format!(" {}", left.join(" · "));
    let room = columns.saturating_sub(crate::tui::wrap::width(&right) + 2);
    while left.len() > 1 && crate::tui::wrap::width(&join(&left)) > room {
        left.pop();
    }
    let mut runs: Vec<Run> = vec![(join(&left), style)];
    let gap = columns.saturating_sub(cells(&runs) + crate::tui::wrap::width(&right));
    if gap > 0 {
        runs.push((" ".repeat(gap), style));
        runs.push((right, style));
    }
    fit(&runs, columns)
}

/// `think 143 · ans 20 · ctx 12% `
fn numbers(model: &Model) -> String {
    let tokens = &model.tokens;
    let mut parts = Vec::new();
    let thinking = tokens.thinking + tokens.live_thinking;
    let answer = tokens.answer + tokens.live_answer;
    if thinking + answer > 0 {
        parts.push(format!("think {}", short(thinking)));
        parts.push(format!("ans {}", short(answer)));
    }
    if let EngineLine::Ready(info) = &model.engine
        && info.context > 0
    {
        let used = tokens.context + tokens.live_thinking + tokens.live_answer;
        parts.push(format!("ctx {}%", percent(used as u64, info.context as u64)));
    }
    if parts.is_empty() {
        return String::new();
    }
    format!("{} ", parts.join(" · "))
}
