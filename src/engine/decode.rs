//! The decode loop: logits to tokens to events, until the model, a limit or the user ends it.
//!
//! Here: what a token means for the turn. The rules come from what goes wrong with thinking models:
//! an end-of-turn inside the thinking block closes the block instead; so does the thinking budget; a
//! call leaves the block by itself; endless repetition is cut. Not here: prefill (`step.rs`), picking
//! a token (`sampler.rs`), reading calls (`parser.rs`). Invariant: `answer` holds exactly the tokens
//! the parser has seen, in order.

use super::detokenizer::Detokenizer;
use super::dialect::Dialect;
use super::error::EngineError;
use super::loops::{self, LoopDetector};
use super::parser::{End, Parser, ParserEvent, ParserOptions, Piece, Tag, Tags};
use super::prompt::Plan;
use super::sampler::Sampler;
use super::tokenizer::Tokenizer;
use super::worker::Stop;
use crate::protocol::{EngineEvent, FinishReason, Message, Request, Usage};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedSender;

/// Tokens of the context kept free for closing a cut answer.
pub(super) const RESERVE: usize = 16;

/// Closes a thinking block that the model or the user did not.
const CLOSE_THINKING: &str = "\n</think>\n\n";
/// Closes a call that was cut; it is not run, but what follows must not be read as part of it.
const CLOSE_CALL: &str = "\n</tool_call>";

/// Generation of one answer.
pub(super) struct Decoder<'a> {
    tokenizer: &'a Tokenizer,
    request: &'a Request,
    events: &'a UnboundedSender<EngineEvent>,
    parser: Parser,
    detokenizer: Detokenizer,
    sampler: Sampler,
    loops: LoopDetector,
    looping: bool,
    thinking: bool,
    /// The thinking block was closed for the model; it counts as closed from then on.
    forced: bool,
    in_call: bool,
    answer: Vec<u32>,
    message: Message,
    usage: Usage,
    /// When the first and the last token came.
    span: Option<(Instant, Instant)>,
}

/// What came of it.
pub(super) struct Outcome {
    /// Why it ended.
    pub reason: FinishReason,
    /// Generated tokens, closed where generation was cut, without the end-of-turn token.
    pub answer: Vec<u32>,
    /// What was streamed.
    pub message: Message,
    /// `thinking`, `answer` and `decode_ms` are filled.
    pub usage: Usage,
}

impl<'a> Decoder<'a> {
    pub fn new(
        tokenizer: &'a Tokenizer,
        dialect: Dialect,
        request: &'a Request,
        plan: &Plan,
        events: &'a UnboundedSender<EngineEvent>,
    ) -> Self {
        let tags = if tokenizer.has_call_tags() { Tags::ByToken } else { Tags::ByText };
        let options = ParserOptions {
            dialect,
            tools: request.tools.clone(),
            thinking_open: plan.thinking_open,
            tags,
        };
        Self {
            tokenizer,
            request,
            events,
            parser: Parser::new(options),
            detokenizer: Detokenizer::default(),
            sampler: Sampler::new(&request.sampling, plan.tokens.len()),
            loops: LoopDetector::default(),
            looping: false,
            thinking: plan.thinking_open,
            forced: false,
            in_call: false,
            answer: Vec::new(),
            message: Message::assistant("", "", Vec::new()),
            usage: Usage::default(),
            span: None,
        }
    }

    /// Generates until the end. `logits` are those after the prompt; `advance` appends tokens to the
    /// state and gives the next ones; `room` is how many tokens the context can still take.
    pub fn run(
        mut self,
        prompt: &[u32],
        mut logits: Vec<f32>,
        room: usize,
        stop: &Stop,
        mut advance: impl FnMut(&[u32]) -> Result<Vec<f32>, EngineError>,
    ) -> Result<Outcome, EngineError> {
        let limit = self.request.max_tokens.min(room);
        let mut history = prompt.to_vec();
        let reason = loop {
            if stop.is_asked() {
                break FinishReason::Cancelled;
            }
            if self.looping {
                break FinishReason::Loop;
            }
            if self.answer.len() >= limit {
                break FinishReason::Length;
            }
            let new = match self.next(&mut logits, &history)? {
                Some(tokens) => tokens,
                None => break FinishReason::Stop,
            };
            history.extend_from_slice(&new);
            for token in &new {
                self.accept(*token);
            }
            self.thinking &= !self.forced;
            // The last token of a cut answer is computed with the next prompt.
            if !self.looping && self.answer.len() < limit && !stop.is_asked() {
                logits = advance(&new)?;
            }
        };
        self.finish(reason)
    }

    /// The tokens to go on with: one sampled, or several that close the thinking block; `None` at
    /// the end of the turn.
    fn next(
        &mut self,
        logits: &mut [f32],
        history: &[u32],
    ) -> Result<Option<Vec<u32>>, EngineError> {
        if self.thinking && self.usage.thinking >= self.request.max_thinking {
            return self.close_thinking().map(Some);
        }
        let tokenizer = self.tokenizer;
        let token = self.sampler.sample(logits, history, |id| tokenizer.is_padding(id))?;
        if !self.tokenizer.is_end(token) {
            return Ok(Some(vec![token]));
        }
        // Ending the turn inside the block would leave the user without an answer.
        if self.thinking {
            return self.close_thinking().map(Some);
        }
        Ok(None)
    }

    fn close_thinking(&mut self) -> Result<Vec<u32>, EngineError> {
        // Whatever the parser makes of the tag: it must not be forced a second time.
        self.forced = true;
        self.tokenizer.encode_trusted(CLOSE_THINKING)
    }

    fn accept(&mut self, token: u32) {
        let now = Instant::now();
        self.span = Some((self.span.map_or(now, |(first, _)| first), now));
        self.sampler.accept(token);
        self.answer.push(token);
        let tag = self.tokenizer.tag(token);
        if self.thinking && tag.is_none() {
            self.usage.thinking += 1;
        } else {
            self.usage.answer += 1;
        }
        match tag {
            Some(tag) => {
                self.flush();
                self.track(tag);
                let found = self.parser.push(Piece::Tag(tag));
                self.emit(found);
            }
            // Control tokens are no text; a model that writes one has lost its way for a moment.
            None if self.tokenizer.is_control(token) => {}
            None => {
                let text = self.detokenizer.push(self.tokenizer.bytes(token));
                self.text(&text);
            }
        }
    }

    fn track(&mut self, tag: Tag) {
        match tag {
            Tag::CallOpen => self.in_call = true,
            Tag::CallClose => self.in_call = false,
            Tag::ThinkOpen | Tag::ThinkClose | Tag::ResponseOpen | Tag::ResponseClose => {}
        }
    }

    fn flush(&mut self) {
        let rest = self.detokenizer.finish();
        self.text(&rest);
    }

    fn text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let span = if self.in_call { loops::CALL } else { loops::PROSE };
        self.looping |= self.loops.push(text, span);
        let found = self.parser.push(Piece::Text(text));
        self.emit(found);
    }

    /// Remembers what the parser found as the answer's message, and sends it.
    fn emit(&mut self, found: Vec<ParserEvent>) {
        for event in found {
            self.note(&event);
            if let Some(event) = engine_event(event) {
                let _ = self.events.send(event);
            }
        }
    }

    fn note(&mut self, event: &ParserEvent) {
        match event {
            ParserEvent::Thinking(text) => {
                self.thinking = true;
                self.message.thinking.push_str(text);
            }
            ParserEvent::ThinkingDone => self.thinking = false,
            ParserEvent::Text(text) => self.message.text.push_str(text),
            // Where calls have tags of their own, only those open and close them.
            ParserEvent::CallStarted { .. } => self.in_call |= !self.tokenizer.has_call_tags(),
            ParserEvent::Call { call, .. } => {
                self.in_call &= self.tokenizer.has_call_tags();
                self.message.calls.push(call.clone());
            }
            ParserEvent::Bad(_) => self.in_call &= self.tokenizer.has_call_tags(),
            ParserEvent::CallDelta(_) | ParserEvent::Repair(_) => {}
        }
    }

    fn finish(mut self, reason: FinishReason) -> Result<Outcome, EngineError> {
        self.flush();
        let closing = match reason {
            FinishReason::Stop => "",
            FinishReason::Length | FinishReason::Cancelled | FinishReason::Loop => {
                if self.in_call {
                    CLOSE_CALL
                } else if self.thinking {
                    CLOSE_THINKING
                } else {
                    ""
                }
            }
        };
        let end = match reason {
            FinishReason::Stop => End::Stop,
            FinishReason::Length => End::Length,
            FinishReason::Cancelled | FinishReason::Loop => End::Cut,
        };
        let mut found = self.parser.finish(end);
        if end == End::Cut {
            // Nobody is to hear of a lost connection: the reason of the step says what happened.
            found.retain(|event| !matches!(event, ParserEvent::Bad(_)));
        }
        self.emit(found);
        let mut answer = self.answer;
        answer.extend(self.tokenizer.encode_trusted(closing)?);
        let decode = self.span.map_or(Duration::ZERO, |(first, last)| last - first);
        let decode_ms = u64::try_from(decode.as_millis()).unwrap_or(u64::MAX);
        let usage = Usage { decode_ms, ..self.usage };
        Ok(Outcome { reason, answer, message: self.message, usage })
    }
}

/// The event of the engine that a finding of the parser is, if it is one.
pub(super) fn engine_event(found: ParserEvent) -> Option<EngineEvent> {
    Some(match found {
        ParserEvent::Thinking(text) => EngineEvent::Thinking(text),
        ParserEvent::ThinkingDone => EngineEvent::ThinkingDone,
        ParserEvent::Text(text) => EngineEvent::Text(text),
        ParserEvent::CallStarted { name } => EngineEvent::CallStarted { name },
        ParserEvent::CallDelta(text) => EngineEvent::CallDelta(text),
        ParserEvent::Call { call, repairs } => EngineEvent::Call { call, repairs },
        ParserEvent::Bad(problem) => EngineEvent::BadCall(problem),
        ParserEvent::Repair(what) => {
            tracing::debug!("tolerated in the answer: {what}");
            return None;
        }
    })
}
