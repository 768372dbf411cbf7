//! One request: the prompt is planned, computed in chunks, and handed to the decoder.
//!
//! Here: planning, prefill with progress, the pace of chunks, usage. Not here: the decode loop
//! (`decode.rs`), the queue (`worker.rs`). Invariant: the log is changed only after generation, so a
//! step that fails or is cancelled before leaves the conversation as it was.

use super::decode::{Decoder, RESERVE};
use super::error::EngineError;
use super::load::Loaded;
use super::prefix::State;
use super::prompt::{Log, Plan};
use super::tokenizer::Tokenizer;
use super::worker::Stop;
use crate::protocol::{EngineEvent, FinishReason, Request, Usage};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedSender;

/// How long one prefill chunk should take: a cancel waits for it.
const CHUNK_TIME: Duration = Duration::from_millis(150);
/// Chunks adapt between these sizes, in powers of two. Below 16 tokens the weights are read too
/// often for too little work, and prefill would become as slow as decoding.
const CHUNKS: std::ops::RangeInclusive<usize> = 16..=256;

/// One request with all it needs.
pub(super) struct Step<'a> {
    /// Model, token log, chunk size: what lives from request to request.
    pub parts: (&'a mut Loaded, &'a mut Log, &'a mut Pace),
    pub request: &'a Request,
    pub stop: &'a Stop,
    pub events: &'a UnboundedSender<EngineEvent>,
}

impl Step<'_> {
    /// Runs the step; the caller sends the last event.
    ///
    /// Errors: the template refuses, the context is too small (both leave everything as it was), the
    /// model fails.
    pub fn run(self) -> Result<(FinishReason, Usage), EngineError> {
        let Self { parts: (loaded, log, pace), request, stop, events } = self;
        let Loaded { state, tokenizer, template, dialect, .. } = loaded;
        let began = Instant::now();
        let plan = log.plan(request, template, tokenizer)?;
        let needed = plan.tokens.len() + RESERVE;
        if needed > state.context() {
            return Err(EngineError::ContextOverflow { needed, context: state.context() });
        }
        let cached = state.rewind_to(&plan.tokens);
        let mut prefill = Prefill { state, pace, stop, events, cached };
        let logits = prefill.run(&plan.tokens, &moments_to_keep(&plan, tokenizer))?;
        let usage = Usage {
            prefilled: state.tokens().len() - cached,
            cached,
            prefill_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            context: state.tokens().len(),
            ..Usage::default()
        };
        let Some(logits) = logits else {
            return Ok((FinishReason::Cancelled, usage));
        };
        let room = state.context() - needed;
        let outcome = Decoder::new(tokenizer, *dialect, request, &plan, events).run(
            &plan.tokens,
            logits,
            room,
            stop,
            |tokens| state.advance(tokens),
        )?;
        log.commit(request, &plan, &outcome.answer, outcome.message);
        let Usage { thinking, answer, decode_ms, .. } = outcome.usage;
        let usage = Usage { thinking, answer, decode_ms, context: log.len(), ..usage };
        Ok((outcome.reason, usage))
    }
}

/// Lengths at which a snapshot is worth its memory: after the first turn (the system turn, in which
/// the tools are) and where the new part of the prompt begins.
fn moments_to_keep(plan: &Plan, tokenizer: &Tokenizer) -> [usize; 2] {
    let first = plan.tokens.iter().position(|&token| tokenizer.is_end(token));
    [first.map_or(0, |at| at + 1), plan.logged]
}

struct Prefill<'a> {
    state: &'a mut State,
    pace: &'a mut Pace,
    stop: &'a Stop,
    events: &'a UnboundedSender<EngineEvent>,
    cached: usize,
}

impl Prefill<'_> {
    /// Computes what of `prompt` is not in the state; `None` when cancelled.
    fn run(&mut self, prompt: &[u32], keep: &[usize]) -> Result<Option<Vec<f32>>, EngineError> {
        let mut logits = None;
        self.report(prompt.len());
        loop {
            let done = self.state.tokens().len();
            if keep.contains(&done) {
                self.state.keep()?;
            }
            if done == prompt.len() {
                return Ok(logits);
            }
            if self.stop.is_asked() {
                return Ok(None);
            }
            let border = keep.iter().copied().filter(|at| *at > done).min().unwrap_or(prompt.len());
            let end = (done + self.pace.chunk()).min(border).min(prompt.len());
            let began = Instant::now();
            logits = Some(self.state.advance(prompt.get(done..end).unwrap_or(&[]))?);
            self.pace.measured(end - done, began.elapsed());
            self.report(prompt.len());
        }
    }

    fn report(&self, all: usize) {
        let (cached, done) = (self.cached, self.state.tokens().len() - self.cached);
        let _ = self.events.send(EngineEvent::Prefill { done, total: all - cached, cached });
    }
}

/// How many prompt tokens are computed at a time, so that a cancel is noticed soon.
pub(super) struct Pace {
    chunk: usize,
    adapts: bool,
}

impl Pace {
    /// A fixed chunk, or one that adapts to the machine, beginning small.
    pub fn new(fixed: Option<usize>) -> Self {
        let chunk = fixed.map_or(CHUNKS.start() * 2, |chunk| chunk.max(1));
        Self { chunk, adapts: fixed.is_none() }
    }

    pub fn chunk(&self) -> usize {
        self.chunk
    }

    /// Learns from one chunk. Short ones say little: their time is mostly fixed cost.
    pub fn measured(&mut self, tokens: usize, took: Duration) {
        if !self.adapts || tokens < *CHUNKS.start() {
            return;
        }
        let share = CHUNK_TIME.as_secs_f64() / took.as_secs_f64().max(1e-6);
        let affordable = (tokens as f64 * share) as usize;
        // At most double, so that one lucky measurement does not make a long chunk.
        let wanted = affordable.min(self.chunk * 2).clamp(*CHUNKS.start(), *CHUNKS.end());
        self.chunk = 1 << wanted.ilog2();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_grow_on_a_fast_machine_and_shrink_on_a_slow_one() {
        let mut pace = Pace::new(None);
        let mut sizes = Vec::new();
        for per_token in [0.1, 0.1, 0.1, 0.1, 0.1, 2.0, 20.0, 5.0] {
            sizes.push(pace.chunk());
            let took = Duration::from_secs_f64(per_token / 1000.0 * pace.chunk() as f64);
            pace.measured(pace.chunk(), took);
        }
        assert_eq!(sizes, [32, 64, 128, 256, 256, 256, 64, 16]);
    }

    #[test]
    fn a_fixed_chunk_stays_and_short_chunks_teach_nothing() {
        let mut fixed = Pace::new(Some(7));
        fixed.measured(7, Duration::from_secs(9));
        assert_eq!(fixed.chunk(), 7);
        let mut pace = Pace::new(None);
        pace.measured(3, Duration::from_secs(9));
        assert_eq!(pace.chunk(), 32);
    }
}
