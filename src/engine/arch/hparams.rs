//! Hyper-parameters of a `qwen35` file, read from its metadata and checked for consistency.
//!
//! Nothing is assumed about sizes: every sibling model differs. Invariant: after `read`, every
//! division the layers do is exact and no size is zero. Source of the keys: llama.cpp's converter.

use crate::engine::error::EngineError;
use crate::engine::gguf::{GgufFile, Metadata};

const PREFIX: &str = "qwen35.";
/// Most f32 elements of one layer's recurrent state (1 GiB); the 27B model has 0.8 million.
const MAX_STATE: usize = 1 << 28;
/// Longest context accepted; guards against nonsense in the file.
const MAX_CONTEXT: usize = 1 << 24;

/// Sizes of a model; names follow the metadata keys.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Hparams {
    /// Longest context in tokens.
    pub(super) context: usize,
    /// Width of the residual stream.
    pub(super) embedding: usize,
    /// Width of the feed-forward hidden layer.
    pub(super) feed_forward: usize,
    /// Rows of the embedding.
    pub(super) vocab: usize,
    /// Epsilon of every norm.
    pub(super) eps: f32,
    /// Per trunk layer: Gated DeltaNet (true) or attention (false).
    pub(super) recurrent: Vec<bool>,
    /// Attention sizes.
    pub(super) attention: AttentionDims,
    /// Gated DeltaNet sizes.
    pub(super) delta: DeltaDims,
}

/// Sizes of a gated attention layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct AttentionDims {
    pub(super) heads: usize,
    pub(super) kv_heads: usize,
    pub(super) head_dim: usize,
    /// Leading dimensions of a head that are rotated.
    pub(super) rotary: usize,
    pub(super) rope_base: f32,
}

/// Sizes of a Gated DeltaNet layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct DeltaDims {
    pub(super) key_heads: usize,
    pub(super) value_heads: usize,
    pub(super) key_dim: usize,
    pub(super) value_dim: usize,
    /// Taps of the causal convolution.
    pub(super) taps: usize,
}

impl DeltaDims {
    /// All value heads side by side.
    pub(super) fn inner(&self) -> usize {
        self.value_heads * self.value_dim
    }

    /// All key heads side by side.
    pub(super) fn keys(&self) -> usize {
        self.key_heads * self.key_dim
    }

    /// Channels of the convolution: q, k and v.
    pub(super) fn channels(&self) -> usize {
        2 * self.keys() + self.inner()
    }
}

impl Hparams {
    /// Reads and checks all of them. Errors: missing or wrong keys, a missing embedding.
    pub(super) fn read(file: &GgufFile) -> Result<Self, EngineError> {
        let keys = Keys(file.metadata());
        keys.refuse_scaling()?;
        let embedding = keys.positive("embedding_length")?;
        let table = file.tensor("token_embd.weight").ok_or_else(|| EngineError::MissingTensor {
            tensor: "token_embd.weight".to_string(),
        })?;
        Ok(Self {
            context: keys.positive("context_length")?.min(MAX_CONTEXT),
            embedding,
            feed_forward: keys.positive("feed_forward_length")?,
            vocab: table.shape.first().copied().unwrap_or(0),
            eps: keys.0.f32(&format!("{PREFIX}attention.layer_norm_rms_epsilon"))?,
            recurrent: keys.layer_kinds()?,
            attention: keys.attention()?,
            delta: keys.delta()?,
        })
    }
}

struct Keys<'a>(&'a Metadata);

impl Keys<'_> {
    fn positive(&self, name: &str) -> Result<usize, EngineError> {
        let n = self.0.usize(&format!("{PREFIX}{name}"))?;
        // No size of a real model comes near 2^31; with this bound no product of two overflows.
        if n == 0 || n >= 1 << 31 { Err(wrong(name, format!("{n}"))) } else { Ok(n) }
    }

    /// Context extension by scaled rotation changes the function; running without would be wrong.
    fn refuse_scaling(&self) -> Result<(), EngineError> {
        let kind = self.0.opt_str(&format!("{PREFIX}rope.scaling.type"))?;
        match kind {
            None | Some("none") => Ok(()),
            Some(kind) => Err(wrong(
                "rope.scaling.type",
                format!("'{kind}' scaling is not supported; use the file without it"),
            )),
        }
    }

    fn layer_kinds(&self) -> Result<Vec<bool>, EngineError> {
        let blocks = self.positive("block_count")?;
        // The extra blocks are a draft head; they are not part of the trunk.
        let extra = self.0.opt_usize(&format!("{PREFIX}nextn_predict_layers"))?.unwrap_or(0);
        let layers = blocks.checked_sub(extra).filter(|&n| n > 0 && n <= 1 << 16);
        let layers = layers.ok_or_else(|| wrong("block_count", format!("{blocks} - {extra}")))?;
        let name = "attention.recurrent_layers";
        if let Some(kinds) = self.0.opt_bools(&format!("{PREFIX}{name}"))? {
            let trunk = kinds.get(..layers);
            return trunk
                .map(<[bool]>::to_vec)
                .ok_or_else(|| wrong(name, format!("{} entries for {layers}", kinds.len())));
        }
        let interval = self.0.opt_usize(&format!("{PREFIX}full_attention_interval"))?.unwrap_or(4);
        if interval == 0 {
            return Err(wrong("full_attention_interval", "0".to_string()));
        }
        Ok((0..layers).map(|i| !(i + 1).is_multiple_of(interval)).collect())
    }

    fn attention(&self) -> Result<AttentionDims, EngineError> {
        let dims = AttentionDims {
            heads: self.positive("attention.head_count")?,
            kv_heads: self.positive("attention.head_count_kv")?,
            head_dim: self.positive("attention.key_length")?,
            rotary: self.positive("rope.dimension_count")?,
            rope_base: self.0.f32(&format!("{PREFIX}rope.freq_base"))?,
        };
        if !dims.heads.is_multiple_of(dims.kv_heads) {
            return Err(wrong("attention.head_count_kv", format!("{}", dims.kv_heads)));
        }
        if self.positive("attention.value_length")? != dims.head_dim {
            return Err(wrong("attention.value_length", "differs from key_length".to_string()));
        }
        if dims.rotary > dims.head_dim || !dims.rotary.is_multiple_of(2) {
            return Err(wrong("rope.dimension_count", format!("{}", dims.rotary)));
        }
        if dims.rope_base.is_nan() || dims.rope_base <= 0.0 {
            return Err(wrong("rope.freq_base", format!("{}", dims.rope_base)));
        }
        Ok(dims)
    }

    fn delta(&self) -> Result<DeltaDims, EngineError> {
        let inner = self.positive("ssm.inner_size")?;
        let dims = DeltaDims {
            key_heads: self.positive("ssm.group_count")?,
            value_heads: self.positive("ssm.time_step_rank")?,
            key_dim: self.positive("ssm.state_size")?,
            value_dim: 0,
            taps: self.positive("ssm.conv_kernel")?,
        };
        if !dims.value_heads.is_multiple_of(dims.key_heads) {
            return Err(wrong("ssm.group_count", format!("{}", dims.key_heads)));
        }
        if !inner.is_multiple_of(dims.value_heads) {
            return Err(wrong("ssm.inner_size", format!("{inner}")));
        }
        let state = inner.checked_mul(dims.key_dim);
        if state.is_none_or(|n| n > MAX_STATE) {
            return Err(wrong("ssm.state_size", format!("{}", dims.key_dim)));
        }
        if !(2..=64).contains(&dims.taps) {
            return Err(wrong("ssm.conv_kernel", format!("{}", dims.taps)));
        }
        Ok(DeltaDims { value_dim: inner / dims.value_heads, ..dims })
    }
}

fn wrong(name: &str, what: String) -> EngineError {
    EngineError::BadKey { key: format!("{PREFIX}{name}"), what }
}
