//! Gated grouped-query attention with partial rotation, and its key/value cache.
//!
//! What lives here: the attention half of a `qwen35` block. Query rows of one key/value head are
//! stacked, so a head's keys are multiplied once for its whole group and never copied. Invariant:
//! rows of the cache below `len` are final; rows above may hold anything.
//! Formula: `out · (softmax(q kᵀ / √d) v ⊙ sigmoid(gate))`, q and k RMS-normalised, then rotated.

use super::hparams::{AttentionDims, Hparams};
use super::loader::Loader;
use crate::engine::error::EngineError;
use crate::engine::gguf::weights::Linear;
use candle_core::{D, DType, Device, Tensor};
use candle_nn::ops::{rms_norm, sigmoid, softmax_last_dim};
use candle_nn::rotary_emb::rope_thd;

/// Cache rows are added in multiples of this.
const CACHE_STEP: usize = 256;
/// Most attention scores held at once; longer prompts are attended in slices (64 MiB of f32).
const MAX_SCORES: usize = 1 << 24;

/// One block's attention weights.
pub(super) struct Attention {
    q: Linear,
    k: Linear,
    v: Linear,
    out: Linear,
    q_norm: Tensor,
    k_norm: Tensor,
    dims: AttentionDims,
    eps: f32,
}

/// Keys (rotated) and values of one layer, each `[kv_heads, capacity, head_dim]` f32.
#[derive(Default)]
pub(super) struct KvCache {
    rows: Option<(Tensor, Tensor)>,
}

impl KvCache {
    /// Frees the memory.
    pub(super) fn clear(&mut self) {
        self.rows = None;
    }

    /// Bytes held.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.rows.as_ref().map_or(0, |(k, v)| 4 * (k.elem_count() + v.elem_count()))
    }

    /// Writes `k` and `v` (`[kv_heads, n, head_dim]`) at row `at`; returns views of all rows so far.
    fn append(
        &mut self,
        k: &Tensor,
        v: &Tensor,
        at: usize,
        limit: usize,
    ) -> Result<(Tensor, Tensor), EngineError> {
        let len = at + k.dim(1)?;
        self.reserve(k, at, len, limit)?;
        let Some((keys, values)) = &self.rows else {
            return Err(candle_core::Error::Msg("the cache has no rows".to_string()).into());
        };
        keys.slice_set(k, 1, at)?;
        values.slice_set(v, 1, at)?;
        Ok((keys.narrow(1, 0, len)?, values.narrow(1, 0, len)?))
    }

    /// Makes room for `len` rows, keeping the first `used`. Growth is geometric, so that the total
    /// copied stays linear, and ends at `limit`, so that nothing beyond the context is held.
    fn reserve(
        &mut self,
        like: &Tensor,
        used: usize,
        len: usize,
        limit: usize,
    ) -> Result<(), EngineError> {
        let capacity = match &self.rows {
            Some((keys, _)) => keys.dim(1)?,
            None => 0,
        };
        if len <= capacity {
            return Ok(());
        }
        let wanted = (capacity + capacity / 2).max(len).next_multiple_of(CACHE_STEP);
        let shape = (like.dim(0)?, wanted.min(limit.max(len)), like.dim(2)?);
        let grow = |old: Option<&Tensor>| -> Result<Tensor, EngineError> {
            let new = Tensor::zeros(shape, DType::F32, like.device())?;
            if let Some(old) = old.filter(|_| used > 0) {
                new.slice_set(&old.narrow(1, 0, used)?.contiguous()?, 1, 0)?;
            }
            Ok(new)
        };
        let old = self.rows.as_ref();
        self.rows = Some((grow(old.map(|(k, _)| k))?, grow(old.map(|(_, v)| v))?));
        Ok(())
    }
}

/// Where new tokens go.
pub(super) struct Positions<'a> {
    /// Position of the first new token.
    pub(super) start: usize,
    /// Most rows the cache may have.
    pub(super) limit: usize,
    /// Cosines and sines for the new tokens, `[n, rotary / 2]`.
    pub(super) rotation: &'a (Tensor, Tensor),
}

/// Cosines and sines of `n` positions from `start`, `[n, rotary / 2]` each.
///
/// Angles are computed in f64: at position 100 000 an f32 angle is off by a hundredth of a radian.
pub(super) fn rotation(
    dims: &AttentionDims,
    start: usize,
    n: usize,
    device: &Device,
) -> Result<(Tensor, Tensor), EngineError> {
    let half = dims.rotary / 2;
    let step = |i: usize| f64::from(dims.rope_base).powf(-2.0 * i as f64 / dims.rotary as f64);
    let steps: Vec<f64> = (0..half).map(step).collect();
    let angles = (start..start + n).flat_map(|pos| steps.iter().map(move |s| pos as f64 * s));
    let (cos, sin): (Vec<f32>, Vec<f32>) =
        angles.map(|angle| (angle.cos() as f32, angle.sin() as f32)).unzip();
    Ok((Tensor::from_vec(cos, (n, half), device)?, Tensor::from_vec(sin, (n, half), device)?))
}

impl Attention {
    /// Reads `{prefix}attn_*`.
    pub(super) fn load(
        loader: &mut Loader<'_>,
        prefix: &str,
        params: &Hparams,
    ) -> Result<Self, EngineError> {
        let dims = params.attention;
        let (width, d) = (params.embedding, dims.head_dim);
        let name = |s: &str| format!("{prefix}attn_{s}.weight");
        Ok(Self {
            // Per head: the query rows, then the gate rows.
            q: loader.linear(&name("q"), dims.heads * 2 * d, width)?,
            k: loader.linear(&name("k"), dims.kv_heads * d, width)?,
            v: loader.linear(&name("v"), dims.kv_heads * d, width)?,
            out: loader.linear(&name("output"), width, dims.heads * d)?,
            q_norm: loader.small(&name("q_norm"), &[d])?,
            k_norm: loader.small(&name("k_norm"), &[d])?,
            dims,
            eps: params.eps,
        })
    }

    /// `[n, embedding]` to the same; appends n rows to the cache.
    pub(super) fn forward(
        &self,
        x: &Tensor,
        cache: &mut KvCache,
        at: &Positions<'_>,
    ) -> Result<Tensor, EngineError> {
        let AttentionDims { heads, kv_heads, head_dim, .. } = self.dims;
        let n = x.dim(0)?;
        let q_gate = self.q.forward(x)?.reshape((n, heads, 2 * head_dim))?;
        let q = q_gate.narrow(2, 0, head_dim)?.contiguous()?;
        let gate = q_gate.narrow(2, head_dim, head_dim)?.contiguous()?;
        let k = self.k.forward(x)?.reshape((n, kv_heads, head_dim))?;
        let v = self.v.forward(x)?.reshape((n, kv_heads, head_dim))?;
        let q = self.rotate(&rms_norm(&q, &self.q_norm, self.eps)?, at.rotation)?;
        let k = self.rotate(&rms_norm(&k, &self.k_norm, self.eps)?, at.rotation)?;
        let k = k.transpose(0, 1)?.contiguous()?;
        let v = v.transpose(0, 1)?.contiguous()?;
        let (keys, values) = cache.append(&k, &v, at.start, at.limit)?;
        let mixed = self.attend(&q, &keys, &values, at.start)?;
        let gate = sigmoid(&gate.reshape((n, heads * head_dim))?)?;
        self.out.forward(&(mixed * gate)?)
    }

    /// Rotates the first dimensions of each head; pairs are (i, i + rotary / 2).
    fn rotate(&self, x: &Tensor, (cos, sin): &(Tensor, Tensor)) -> Result<Tensor, EngineError> {
        let AttentionDims { head_dim, rotary, .. } = self.dims;
        let turned = x.narrow(D::Minus1, 0, rotary)?.contiguous()?.unsqueeze(0)?;
        let turned = rope_thd(&turned, cos, sin)?.squeeze(0)?;
        if rotary == head_dim {
            return Ok(turned);
        }
        let rest = x.narrow(D::Minus1, rotary, head_dim - rotary)?;
        Ok(Tensor::cat(&[&turned, &rest.contiguous()?], D::Minus1)?)
    }

    /// Causal attention of `q [n, heads, d]`, the newest n positions, over all cached rows.
    fn attend(
        &self,
        q: &Tensor,
        keys: &Tensor,
        values: &Tensor,
        start: usize,
    ) -> Result<Tensor, EngineError> {
        let AttentionDims { heads, kv_heads, head_dim, .. } = self.dims;
        let (n, len) = (q.dim(0)?, keys.dim(1)?);
        let step = (MAX_SCORES / (heads * len)).max(1);
        let mut parts = Vec::with_capacity(n.div_ceil(step));
        for first in (0..n).step_by(step) {
            let rows = step.min(n - first);
            // Later keys than the slice's last query cannot be seen by any of its rows.
            let seen = start + first + rows;
            let (keys, values) = (keys.narrow(1, 0, seen)?, values.narrow(1, 0, seen)?);
            let group = heads / kv_heads;
            let stacked = q
                .narrow(0, first, rows)?
                .reshape((rows, kv_heads, group, head_dim))?
                .permute((1, 2, 0, 3))?
                .reshape((kv_heads, group * rows, head_dim))?
                .contiguous()?;
            let scores = (stacked.matmul(&keys.t()?)? * (head_dim as f64).powf(-0.5))?;
            let scores = if rows == 1 {
                scores
            } else {
                let mask = causal_mask(rows, seen, q.device())?;
                let scores = scores.reshape((kv_heads, group, rows, seen))?;
                scores.broadcast_add(&mask)?.reshape((kv_heads, group * rows, seen))?
            };
            let mixed = softmax_last_dim(&scores)?.matmul(&values)?;
            let mixed = mixed.reshape((kv_heads, group, rows, head_dim))?.permute((2, 0, 1, 3))?;
            parts.push(mixed.reshape((rows, heads * head_dim))?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Tensor::cat(&parts, 0)? })
    }
}

/// 0 where the query of row i (position `len - rows + i`) may look, minus infinity elsewhere.
fn causal_mask(rows: usize, len: usize, device: &Device) -> Result<Tensor, EngineError> {
    let hidden = |i: usize, j: usize| {
        if j > len - rows + i { f32::NEG_INFINITY } else { 0.0 }
    };
    let mask: Vec<f32> = (0..rows).flat_map(|i| (0..len).map(move |j| hidden(i, j))).collect();
    Ok(Tensor::from_vec(mask, (rows, len), device)?)
}
