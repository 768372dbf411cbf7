//! An engine that plays a script: for tests, demonstrations and work on the screen.
//!
//! A script is a TOML or JSON file:
//!
//! ```toml
//! name = "greeting"          # optional, like all fields but `steps`
//! context = 32768
//! delay_ms = 20              # between pieces, unless a step says otherwise
//!
//! [[steps]]                  # one per request, in order
//! text = "先看。\n</think>\n\nHello."   # what a model would write, tags and calls included
//! chunk = 12                 # characters per piece
//! delay_ms = 0
//! prefill_ms = 300
//! thinking = true            # begins inside thinking; by default if the text has `</think>`
//! finish = "length"          # or "stop", "loop"
//! fail = "out of memory"     # fails with this after the text
//! ```
//!
//! Here: playing. Not here: reading what a model writes; the text goes through the real parser.
//! Invariant: without delays all events are there when `generate` returns.

use super::decode::engine_event;
use super::dialect::Dialect;
use super::parser::{End, Parser, ParserEvent, ParserOptions, Piece, Tags};
use super::{Cancel, Engine, EventStream};
use crate::protocol::{EngineEvent, FinishReason, ModelInfo, Request, Usage};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use thiserror::Error;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

/// Longest sleep between two looks at the cancel flag.
const NAP: Duration = Duration::from_millis(10);

/// What is played.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// Shown as the model's name.
    #[serde(default = "default_name")]
    pub name: String,
    /// Shown as the context, in tokens.
    #[serde(default = "default_context")]
    pub context: usize,
    /// Milliseconds between pieces where a step does not say.
    #[serde(default)]
    pub delay_ms: u64,
    /// One per request, in order.
    pub steps: Vec<ScriptStep>,
}

/// What is played for one request.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptStep {
    /// What a model would write, tags included.
    #[serde(default)]
    pub text: String,
    /// Whether it begins inside thinking; by default if the text has a `</think>` without `<think>`.
    #[serde(default)]
    pub thinking: Option<bool>,
    /// Characters per piece.
    #[serde(default = "default_chunk")]
    pub chunk: usize,
    /// Milliseconds between pieces.
    #[serde(default)]
    pub delay_ms: Option<u64>,
    /// Milliseconds that reading the prompt takes.
    #[serde(default)]
    pub prefill_ms: u64,
    /// How the step ends.
    #[serde(default)]
    pub finish: Option<FinishReason>,
    /// Fails with this message after the text.
    #[serde(default)]
    pub fail: Option<String>,
}

fn default_name() -> String {
    "script".to_string()
}

fn default_context() -> usize {
    32_768
}

fn default_chunk() -> usize {
    12
}

/// A script that cannot be played.
#[derive(Debug, Error)]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("cannot read the script {}: {source}", .path.display())]
    Unreadable {
        /// The path as given.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is no script.
    #[error("the script {} is wrong: {what}; see src/engine/scripted.rs for the format", .path.display())]
    Malformed {
        /// The path as given.
        path: PathBuf,
        /// What the reader said.
        what: String,
    },
}

impl Script {
    /// Reads a script; `.json` is JSON, everything else TOML.
    pub fn read(path: &Path) -> Result<Self, ScriptError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ScriptError::Unreadable { path: path.to_path_buf(), source })?;
        let parsed = if path.extension().is_some_and(|extension| extension == "json") {
            serde_json::from_str(&text).map_err(|error| error.to_string())
        } else {
            toml::from_str(&text).map_err(|error| error.to_string())
        };
        parsed.map_err(|what| ScriptError::Malformed { path: path.to_path_buf(), what })
    }
}

/// Plays a script, one step per request.
#[derive(Debug)]
pub struct ScriptedEngine {
    script: Script,
    requests: Mutex<Vec<Request>>,
}

impl ScriptedEngine {
    /// An engine at the first step.
    pub fn new(script: Script) -> Self {
        Self { script, requests: Mutex::new(Vec::new()) }
    }

    /// The stream a loading model would give: `Ready` at once.
    pub fn loading(&self) -> EventStream {
        let (events, stream) = unbounded_channel();
        let _ = events.send(EngineEvent::Ready(self.info()));
        stream
    }

    /// What is shown as the model.
    pub fn info(&self) -> ModelInfo {
        ModelInfo {
            name: self.script.name.clone(),
            architecture: "script".to_string(),
            context: self.script.context,
            device: "scripted".to_string(),
            ..ModelInfo::default()
        }
    }

    /// All requests so far, for tests.
    pub fn requests(&self) -> Vec<Request> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Request>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the request; returns its number and the length of the one before.
    fn note(&self, request: &Request) -> (usize, usize) {
        let mut requests = self.lock();
        let before = requests.last().map_or(0, tokens);
        requests.push(request.clone());
        (requests.len() - 1, before)
    }
}

impl Engine for ScriptedEngine {
    fn generate(&self, request: Request, cancel: Cancel) -> EventStream {
        let (events, stream) = unbounded_channel();
        let (number, cached) = self.note(&request);
        let Some(step) = self.script.steps.get(number).cloned() else {
            let message = format!("the script has no step {}; add one", number + 1);
            let _ = events.send(EngineEvent::Failed { message });
            return stream;
        };
        let delay = Duration::from_millis(step.delay_ms.unwrap_or(self.script.delay_ms));
        let waits = !delay.is_zero() || step.prefill_ms > 0;
        let player = Player { step, delay, request, cancel, events, usage: Usage::default() };
        let play = move || player.play(cached);
        if waits {
            std::thread::spawn(play);
        } else {
            play();
        }
        stream
    }
}

/// A rough count: four characters to a token.
fn tokens(request: &Request) -> usize {
    let chars = |m: &crate::protocol::Message| m.text.chars().count() + m.thinking.chars().count();
    request.messages.iter().map(chars).sum::<usize>() / 4 + 1
}

struct Player {
    step: ScriptStep,
    delay: Duration,
    request: Request,
    cancel: Cancel,
    events: UnboundedSender<EngineEvent>,
    usage: Usage,
}

impl Player {
    fn play(mut self, before: usize) {
        let all = tokens(&self.request);
        let cached = before.min(all - 1);
        let total = all - cached;
        self.send(EngineEvent::Prefill { done: 0, total, cached });
        self.pause(Duration::from_millis(self.step.prefill_ms));
        self.send(EngineEvent::Prefill { done: total, total, cached });
        self.usage = Usage {
            prefilled: total,
            cached,
            prefill_ms: self.step.prefill_ms,
            ..Usage::default()
        };
        let began = Instant::now();
        let reason = self.speak();
        self.usage.decode_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.usage.context = all + self.usage.thinking + self.usage.answer;
        let last = match self.step.fail.take() {
            Some(message) if reason != FinishReason::Cancelled => EngineEvent::Failed { message },
            Some(_) | None => EngineEvent::Finished { reason, usage: self.usage },
        };
        self.send(last);
    }

    /// Streams the text piece by piece through the parser. Each piece counts as one token.
    fn speak(&mut self) -> FinishReason {
        let text = std::mem::take(&mut self.step.text);
        let closes = text.contains("</think>") && !text.trim_start().starts_with("<think>");
        let mut parser = Parser::new(ParserOptions {
            dialect: Dialect::QwenXml,
            tools: self.request.tools.clone(),
            thinking_open: self.step.thinking.unwrap_or(closes),
            tags: Tags::ByText,
        });
        let mut thinking = self.step.thinking.unwrap_or(closes);
        let mut reason = self.step.finish.unwrap_or(FinishReason::Stop);
        let chars: Vec<char> = text.chars().collect();
        for piece in chars.chunks(self.step.chunk.max(1)) {
            self.pause(self.delay);
            if self.cancel.is_cancelled() {
                reason = FinishReason::Cancelled;
                break;
            }
            if self.usage.thinking + self.usage.answer >= self.request.max_tokens {
                reason = FinishReason::Length;
                break;
            }
            *(if thinking { &mut self.usage.thinking } else { &mut self.usage.answer }) += 1;
            let piece: String = piece.iter().collect();
            let found = parser.push(Piece::Text(&piece));
            thinking &= !found.contains(&ParserEvent::ThinkingDone);
            self.emit(found);
        }
        let end = match reason {
            FinishReason::Stop => End::Stop,
            FinishReason::Length => End::Length,
            FinishReason::Cancelled | FinishReason::Loop => End::Cut,
        };
        self.emit(parser.finish(end));
        reason
    }

    fn emit(&self, found: Vec<ParserEvent>) {
        found.into_iter().filter_map(engine_event).for_each(|event| self.send(event));
    }

    fn send(&self, event: EngineEvent) {
        let _ = self.events.send(event);
    }

    /// Sleeps, but not longer than the user wants to wait.
    fn pause(&self, time: Duration) {
        let began = Instant::now();
        while !self.cancel.is_cancelled() {
            let left = time.saturating_sub(began.elapsed());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(NAP));
        }
    }
}

#[cfg(test)]
mod tests;
