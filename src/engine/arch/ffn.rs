//! The gated feed-forward layer: `down · (silu(gate · x) ⊙ (up · x))`.

use super::hparams::Hparams;
use super::loader::Loader;
use crate::engine::error::EngineError;
use crate::engine::gguf::weights::Linear;
use candle_core::Tensor;

/// One block's feed-forward weights.
pub(super) struct FeedForward {
    gate: Linear,
    up: Linear,
    down: Linear,
}

impl FeedForward {
    /// Reads `{prefix}ffn_{gate,up,down}.weight`.
    pub(super) fn load(
        loader: &mut Loader<'_>,
        prefix: &str,
        params: &Hparams,
    ) -> Result<Self, EngineError> {
        let (wide, narrow) = (params.feed_forward, params.embedding);
        Ok(Self {
            gate: loader.linear(&format!("{prefix}ffn_gate.weight"), wide, narrow)?,
            up: loader.linear(&format!("{prefix}ffn_up.weight"), wide, narrow)?,
            down: loader.linear(&format!("{prefix}ffn_down.weight"), narrow, wide)?,
        })
    }

    /// `[n, embedding]` to the same.
    pub(super) fn forward(&self, x: &Tensor) -> Result<Tensor, EngineError> {
        let hidden = (self.gate.forward(x)?.silu()? * self.up.forward(x)?)?;
        self.down.forward(&hidden)
    }
}
