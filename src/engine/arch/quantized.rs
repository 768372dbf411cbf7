//! Wraps the quantised models of `candle_transformers` as [`Model`]s.
//!
//! What lives here: everything `llama.rs`, `qwen2.rs` and `qwen3.rs` share. Those models keep their
//! own key/value cache, which can only grow or be cleared, and return the last row only; so there is
//! no rewinding, and all rows cost a pass per token. Invariant: `len` tokens are in their cache.

use super::loader::Loader;
use super::{Model, Rows, Scan, Snapshot, check_tokens, logits_of};
use crate::engine::error::EngineError;
use crate::engine::gguf::weights::check_type;
use candle_core::quantized::gguf_file::Content;
use candle_core::{DType, Device, Tensor};
use std::io::{Cursor, Error, Read, Seek, SeekFrom};

/// Longest context accepted; those models compute rotations for all of it while loading.
const MAX_CONTEXT: usize = 1 << 21;

/// What a wrapped model must do.
pub(super) trait Weights: Send + Sized {
    /// `general.architecture`, also the prefix of the metadata keys.
    const NAME: &'static str;
    /// Longest context the implementation can compute, whatever the file says.
    const LIMIT: usize;
    /// Whether on the CPU several tokens may follow a single one. Where not, they go one by one.
    const SEVERAL_AFTER_ONE: bool = true;

    fn from_gguf(
        content: Content,
        reader: &mut (impl Read + Seek),
        device: &Device,
    ) -> candle_core::Result<Self>;

    /// Logits of the last of `ids [1, n]`, which are at positions from `start`.
    fn step(&mut self, ids: &Tensor, start: usize) -> candle_core::Result<Tensor>;

    fn clear(&mut self);
}

/// A wrapped model and its position.
struct Wrapped<W> {
    weights: W,
    device: Device,
    len: usize,
    vocab: usize,
    limit: usize,
    context: usize,
    /// Whether a pass of one token has happened since the state was empty.
    stepped: bool,
    broken: bool,
}

/// Reads a model of type `W`. Errors as [`super::load`].
pub(super) fn load<W: Weights + 'static>(
    loader: &mut Loader<'_>,
) -> Result<Box<dyn Model>, EngineError> {
    let (vocab, limit) = check::<W>(loader)?;
    let mut reader = Watched { inner: Cursor::new(loader.file.raw()), loader };
    let content = Content::read(&mut reader)?;
    let device = reader.loader.device.clone();
    let weights = W::from_gguf(content, &mut reader, &device);
    if reader.loader.is_cancelled() {
        return Err(EngineError::Cancelled);
    }
    let weights = weights?;
    loader.finish();
    Ok(Box::new(Wrapped {
        weights,
        device,
        len: 0,
        vocab,
        limit,
        context: limit,
        stepped: false,
        broken: false,
    }))
}

/// What the wrapped loaders take for granted. Returns vocabulary and context.
fn check<W: Weights>(loader: &Loader<'_>) -> Result<(usize, usize), EngineError> {
    let metadata = loader.file.metadata();
    let key = |name: &str| format!("{}.{name}", W::NAME);
    let bad = |name: &str, n: usize| EngineError::BadKey { key: key(name), what: format!("{n}") };
    let width = metadata.usize(&key("embedding_length"))?;
    let heads = metadata.usize(&key("attention.head_count"))?;
    let kv_heads = metadata.usize(&key("attention.head_count_kv"))?;
    if heads == 0 || !width.is_multiple_of(heads) {
        return Err(bad("attention.head_count", heads));
    }
    if kv_heads == 0 || !heads.is_multiple_of(kv_heads) {
        return Err(bad("attention.head_count_kv", kv_heads));
    }
    let context = metadata.usize(&key("context_length"))?;
    if context == 0 || context > MAX_CONTEXT {
        return Err(bad("context_length", context));
    }
    let blocks = metadata.usize(&key("block_count"))?;
    if blocks > loader.file.tensors().len() {
        return Err(bad("block_count", blocks));
    }
    loader.file.tensors().iter().try_for_each(check_type)?;
    let name = "token_embd.weight";
    let missing = || EngineError::MissingTensor { tensor: name.to_string() };
    let table = loader.file.tensor(name).ok_or_else(missing)?;
    match table.shape.as_slice() {
        &[vocab, columns] if vocab > 0 && columns == width => Ok((vocab, context.min(W::LIMIT))),
        _ => Err(EngineError::Shape {
            tensor: name.to_string(),
            expected: vec![0, width],
            found: table.shape.clone(),
        }),
    }
}

/// A reader that counts bytes for the progress display and stops when cancelled.
struct Watched<'a, 'l> {
    inner: Cursor<&'a [u8]>,
    loader: &'a mut Loader<'l>,
}

impl Read for Watched<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.loader.add(n as u64).map_err(|_| Error::other("cancelled"))?;
        Ok(n)
    }
}

impl Seek for Watched<'_, '_> {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.inner.seek(to)
    }
}

impl<W: Weights> Wrapped<W> {
    fn step(&mut self, tokens: &[u32]) -> Result<Vec<f32>, EngineError> {
        let ids = Tensor::new(tokens, &self.device)?.unsqueeze(0)?;
        let logits = self.weights.step(&ids, self.len)?.to_dtype(DType::F32)?;
        self.len += tokens.len();
        self.stepped |= tokens.len() == 1;
        logits_of(&logits, self.len - 1)
    }

    fn must_go_one_by_one(&self) -> bool {
        !W::SEVERAL_AFTER_ONE && self.stepped && self.device.is_cpu()
    }

    fn last_row(&mut self, tokens: &[u32]) -> Result<Vec<f32>, EngineError> {
        if !self.must_go_one_by_one() {
            return self.step(tokens);
        }
        let mut row = Vec::new();
        for token in tokens {
            row = self.step(std::slice::from_ref(token))?;
        }
        Ok(row)
    }

    fn not_supported(what: &str) -> EngineError {
        EngineError::NotSupported { what: what.to_string(), architecture: W::NAME.to_string() }
    }
}

impl<W: Weights> Model for Wrapped<W> {
    fn forward(&mut self, tokens: &[u32], rows: Rows) -> Result<Vec<f32>, EngineError> {
        check_tokens(tokens, self.len, self.context, self.vocab)?;
        if self.broken {
            return Err(EngineError::Broken);
        }
        if tokens.is_empty() {
            return Ok(Vec::new());
        }
        self.broken = true;
        let logits = match rows {
            Rows::Last => self.last_row(tokens)?,
            Rows::All => {
                let mut all = Vec::with_capacity(tokens.len() * self.vocab);
                for token in tokens {
                    all.extend(self.step(std::slice::from_ref(token))?);
                }
                all
            }
        };
        self.broken = false;
        Ok(logits)
    }

    fn len(&self) -> usize {
        self.len
    }

    fn reset(&mut self) {
        self.weights.clear();
        self.len = 0;
        self.stepped = false;
        self.broken = false;
    }

    fn vocab(&self) -> usize {
        self.vocab
    }

    fn context(&self) -> usize {
        self.context
    }

    fn set_context(&mut self, tokens: usize) {
        self.context = tokens.clamp(self.len.max(1), self.limit);
    }

    fn set_scan(&mut self, _scan: Scan) {}

    fn can_rewind(&self) -> bool {
        false
    }

    fn snapshot(&self) -> Result<Snapshot, EngineError> {
        Err(Self::not_supported("a snapshot"))
    }

    fn restore(&mut self, _snapshot: &Snapshot) -> Result<(), EngineError> {
        Err(Self::not_supported("restoring a snapshot"))
    }
}
