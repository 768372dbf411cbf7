//! Architectures: from a GGUF file to logits.
//!
//! What lives here: the [`Model`] trait every architecture implements and [`load`], which picks one
//! by `general.architecture`. What does not: tokens to text, sampling, caching policy. Invariant: a
//! model only appends; going back is `restore` of a snapshot or `reset`, never a partial edit.
//! Adding an architecture is one file here and one line in [`load`].

mod attention;
mod delta_host;
mod delta_rule;
mod delta_tensor;
mod ffn;
mod gated_delta;
mod hparams;
mod llama;
mod loader;
mod quantized;
mod qwen2;
mod qwen3;
mod qwen35;
#[cfg(test)]
mod tests;

use super::error::EngineError;
use super::gguf::GgufFile;
use candle_core::{Device, Tensor};
use gated_delta::Backend;
use loader::Loader;
use std::any::Any;

pub use super::gguf::weights::Numerics;

/// Names of the architectures [`load`] accepts.
pub const SUPPORTED: &[&str] = &["qwen35", "llama", "qwen2", "qwen3"];

/// Which positions' logits a forward pass returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// The last token only.
    Last,
    /// Every token of the call.
    All,
}

/// How the recurrent layers go through a run of tokens; the result is the same to rounding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scan {
    /// Recurrent for a few tokens, chunked for more.
    #[default]
    Auto,
    /// Token by token.
    Recurrent,
    /// In chunks with dense algebra inside a chunk.
    Chunked,
}

/// The state of a model at one moment, for [`Model::restore`] on the same model.
///
/// Holds a copy of what cannot be truncated (the recurrent state) and the length of what can.
pub struct Snapshot {
    /// Tokens in the state.
    pub(crate) len: usize,
    /// Bytes held, for cache budgets.
    pub(crate) bytes: usize,
    /// Of the architecture's own type.
    pub(crate) state: Box<dyn Any + Send>,
}

impl Snapshot {
    /// Tokens in the state when it was taken.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it is the empty state.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Memory it holds, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

/// A loaded model with one sequence's state.
pub trait Model: Send {
    /// Appends tokens to the state and returns logits.
    ///
    /// Row-major f32: `[1, vocab]` for [`Rows::Last`], `[tokens.len(), vocab]` for [`Rows::All`];
    /// empty for no tokens. Errors: context overflow and a token outside the vocabulary (state
    /// unchanged), non-finite logits and computation failures (state unusable until `reset` or
    /// `restore`).
    fn forward(&mut self, tokens: &[u32], rows: Rows) -> Result<Vec<f32>, EngineError>;

    /// Tokens in the state.
    fn len(&self) -> usize;

    /// Whether the state is empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Back to the empty state.
    fn reset(&mut self);

    /// Logits per row.
    fn vocab(&self) -> usize;

    /// Most tokens the state can hold.
    fn context(&self) -> usize;

    /// Lowers or raises the context, at most to what the file says; never below `len`.
    fn set_context(&mut self, tokens: usize) {
        let _ = tokens;
    }

    /// Chooses how recurrent layers scan; no effect where there are none.
    fn set_scan(&mut self, scan: Scan);

    /// Whether `snapshot` and `restore` work.
    fn can_rewind(&self) -> bool {
        true
    }

    /// Copies what is needed to come back to this moment. Errors: not supported.
    fn snapshot(&self) -> Result<Snapshot, EngineError>;

    /// Back to the moment of the snapshot, which must lie on this model's present history: tokens
    /// may have been appended since, but none replaced before it.
    ///
    /// Errors: a snapshot of another model, of a longer history than the present, not supported.
    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), EngineError>;
}

/// Builds the model in `file` on `device`.
///
/// `progress` is told bytes done and bytes in all, after each tensor; `cancelled` is asked as often.
/// Errors: unsupported architecture or tensor type, missing or wrong keys and tensors, cancelled.
pub fn load(
    file: &GgufFile,
    device: &Device,
    numerics: Numerics,
    progress: &mut dyn FnMut(u64, u64),
    cancelled: &dyn Fn() -> bool,
) -> Result<Box<dyn Model>, EngineError> {
    let backend = if device.is_cpu() { Backend::Host } else { Backend::Tensors };
    let mut loader = Loader::new(file, device, numerics, progress, cancelled);
    match file.architecture()? {
        "qwen35" => Ok(Box::new(qwen35::Qwen35::load(&mut loader, backend)?)),
        "llama" => llama::load(&mut loader),
        "qwen2" => qwen2::load(&mut loader),
        "qwen3" => qwen3::load(&mut loader),
        other => Err(EngineError::Architecture {
            found: other.to_string(),
            supported: SUPPORTED.join(", "),
        }),
    }
}

/// Refuses tokens that do not fit the context or the vocabulary.
fn check_tokens(
    tokens: &[u32],
    len: usize,
    context: usize,
    vocab: usize,
) -> Result<(), EngineError> {
    let needed = len + tokens.len();
    if needed > context {
        return Err(EngineError::ContextOverflow { needed, context });
    }
    match tokens.iter().find(|&&id| id as usize >= vocab) {
        Some(&id) => Err(EngineError::TokenOutside { id, vocab }),
        None => Ok(()),
    }
}

/// Logits as one vector; `first` is the position of the first row, for the error.
fn logits_of(logits: &Tensor, first: usize) -> Result<Vec<f32>, EngineError> {
    let vocab = logits.dim(candle_core::D::Minus1)?.max(1);
    let values = logits.flatten_all()?.to_vec1::<f32>()?;
    match values.iter().position(|x| !x.is_finite()) {
        Some(bad) => Err(EngineError::NonFinite { position: first + bad / vocab }),
        None => Ok(values),
    }
}
