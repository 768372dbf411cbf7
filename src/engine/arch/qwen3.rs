//! `qwen3`: Qwen3 dense models.
//!
//! Only the adapter to `candle_transformers::models::quantized_qwen3`; the rest is in `quantized.rs`.

use super::Model;
use super::loader::Loader;
use super::quantized::{self, Weights};
use crate::engine::error::EngineError;
use candle_core::quantized::gguf_file::Content;
use candle_core::{Device, Result, Tensor};
use candle_transformers::models::quantized_qwen3::ModelWeights;
use std::io::{Read, Seek};

/// Reads the model. Errors as [`super::load`].
pub(super) fn load(loader: &mut Loader<'_>) -> std::result::Result<Box<dyn Model>, EngineError> {
    quantized::load::<ModelWeights>(loader)
}

impl Weights for ModelWeights {
    const NAME: &'static str = "qwen3";
    const LIMIT: usize = usize::MAX;
    // On the CPU it keeps one cache for passes of several tokens and another for single ones, and
    // only the former fill both: several tokens after a single one would not see it (0.11.1).
    const SEVERAL_AFTER_ONE: bool = false;

    fn from_gguf(
        content: Content,
        reader: &mut (impl Read + Seek),
        device: &Device,
    ) -> Result<Self> {
        Self::from_gguf(content, reader, device)
    }

    fn step(&mut self, ids: &Tensor, start: usize) -> Result<Tensor> {
        self.forward(ids, start)
    }

    fn clear(&mut self) {
        self.clear_kv_cache();
    }
}
