//! Inference: a conversation in, a stream of [`EngineEvent`]s out.
//!
//! | file | what |
//! | --- | --- |
//! | `worker.rs` | the thread that owns model and state: loading, requests, cancellation |
//! | `load.rs` | from a path to everything a request needs |
//! | `step.rs`, `decode.rs` | one request: prefill; token by token |
//! | `prompt.rs` | the append-only token log |
//! | `prefix.rs` | which state a token sequence can continue from |
//! | `template.rs`, `marked.rs` | chat template; literals of special tokens stay literals |
//! | `tokenizer.rs`, `vocabulary.rs`, `detokenizer.rs` | text to tokens and back |
//! | `sampler.rs`, `loops.rs` | the next token; endless repetition |
//! | `parser.rs`, `dialect/` | text to thinking, answer and calls |
//! | `sse.rs`, `cases.rs` | a server's event stream; recorded parser cases |
//! | `gguf/`, `arch/` | model file; architectures |
//! | `scripted.rs` | an engine that plays a script |
//! | `debug.rs` | what `tessera debug` prints |
//!
//! Invariant: knows messages and tokens, nothing of tools' meaning, files or screens; whatever goes
//! wrong ends in exactly one `Failed` event, never in silence.

use crate::protocol::{EngineEvent, Request};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::mpsc::UnboundedReceiver;

pub mod arch;
pub mod cases;
pub mod debug;
mod decode;
pub mod detokenizer;
pub mod dialect;
pub mod error;
pub mod gguf;
pub mod load;
pub mod loops;
pub mod marked;
pub mod parser;
pub mod prefix;
pub mod prompt;
pub mod sampler;
pub mod scripted;
pub mod sse;
mod step;
pub mod template;
#[cfg(test)]
pub(crate) mod testing;
pub mod tokenizer;
pub mod vocabulary;
pub mod worker;

pub use error::EngineError;
pub use load::EngineOptions;
pub use scripted::ScriptedEngine;
pub use worker::{LocalEngine, spawn};

/// The stream of one request, or of loading.
pub type EventStream = UnboundedReceiver<EngineEvent>;

/// Something that continues conversations: a model in this process, a server, a script.
pub trait Engine: Send + Sync {
    /// Begins one step and returns its events at once: `Prefill`*, deltas and calls, then exactly
    /// one `Finished` or `Failed`.
    ///
    /// Requests are served one after the other. After `cancel` the stream ends with
    /// `Finished { reason: Cancelled }` within a fraction of a second.
    fn generate(&self, request: Request, cancel: Cancel) -> EventStream;
}

/// A flag that asks for an end. Clones share it; it cannot be taken back.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// A flag not yet raised.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks for an end.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether an end was asked for.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests;
