//! A Gated DeltaNet layer between its projections, in tensor operations for any device.
//!
//! The same function as `delta_host.rs`, which is faster on a CPU and is tested against this. Also
//! the path for devices without a kernel of their own. Invariant: tensors of a state are replaced,
//! never written to, so a snapshot may share them.

use super::Scan;
use super::hparams::DeltaDims;
use crate::engine::error::EngineError;
use candle_core::{D, Device, Tensor};
use candle_nn::ops::{rms_norm, sigmoid};

/// Tokens of a chunk; the substitution inside it is one small product per token.
const CHUNK: usize = 32;
/// From this many tokens on, `Scan::Auto` works in chunks.
const CHUNKED_FROM: usize = 8;

/// What a layer remembers.
#[derive(Clone)]
pub(super) struct TensorState {
    /// Newest inputs of the convolution, oldest first, `[taps - 1, channels]`.
    pub(super) context: Tensor,
    /// `[value_heads, key_dim, value_dim]`.
    pub(super) memory: Tensor,
}

impl TensorState {
    /// The state before the first token.
    pub(super) fn new(dims: &DeltaDims, device: &Device) -> Result<Self, EngineError> {
        let f32 = candle_core::DType::F32;
        let memory = (dims.value_heads, dims.key_dim, dims.value_dim);
        Ok(Self {
            context: Tensor::zeros((dims.taps - 1, dims.channels()), f32, device)?,
            memory: Tensor::zeros(memory, f32, device)?,
        })
    }
}

/// Small weights of a layer; shapes as in `HostWeights`.
pub(super) struct TensorWeights {
    pub(super) taps: Tensor,
    pub(super) decay: Tensor,
    pub(super) bias: Tensor,
    pub(super) norm: Tensor,
    pub(super) eps: f32,
}

/// Projections of the new tokens; shapes as in `Inputs` of the host path.
pub(super) struct TensorInputs {
    pub(super) qkv: Tensor,
    pub(super) gate: Tensor,
    pub(super) alpha: Tensor,
    pub(super) beta: Tensor,
}

/// Per head: `[heads, n, dim]`, gates `[heads, n]`.
struct Heads {
    q: Tensor,
    k: Tensor,
    v: Tensor,
    log_decay: Tensor,
    beta: Tensor,
}

impl Heads {
    fn narrow(&self, first: usize, n: usize) -> Result<Self, EngineError> {
        let cut = |x: &Tensor| x.narrow(1, first, n)?.contiguous();
        Ok(Self {
            q: cut(&self.q)?,
            k: cut(&self.k)?,
            v: cut(&self.v)?,
            log_decay: cut(&self.log_decay)?,
            beta: cut(&self.beta)?,
        })
    }
}

/// Advances the state over all tokens; returns `[n, inner]`, ready for the projection.
pub(super) fn advance(
    dims: &DeltaDims,
    weights: &TensorWeights,
    inputs: &TensorInputs,
    state: &mut TensorState,
    scan: Scan,
) -> Result<Tensor, EngineError> {
    let n = inputs.qkv.dim(0)?;
    let heads = prepare(dims, weights, inputs, state)?;
    let step = match scan {
        Scan::Auto if n < CHUNKED_FROM => 1,
        Scan::Recurrent => 1,
        Scan::Auto | Scan::Chunked => CHUNK,
    };
    let mut parts = Vec::with_capacity(n.div_ceil(step));
    for first in (0..n).step_by(step) {
        let part = heads.narrow(first, step.min(n - first))?;
        parts.push(if step == 1 { token(&part, state)? } else { chunk(&part, state)? });
    }
    let mixed = Tensor::cat(&parts, 1)?.transpose(0, 1)?.contiguous()?;
    let gate = inputs.gate.reshape(mixed.shape())?.silu()?;
    let normed = (rms_norm(&mixed, &weights.norm, weights.eps)? * gate)?;
    Ok(normed.reshape((n, dims.inner()))?)
}

/// Convolution, activations and the split into heads.
fn prepare(
    dims: &DeltaDims,
    weights: &TensorWeights,
    inputs: &TensorInputs,
    state: &mut TensorState,
) -> Result<Heads, EngineError> {
    let n = inputs.qkv.dim(0)?;
    let history = Tensor::cat(&[&state.context, &inputs.qkv], 0)?;
    let mut mixed = history.narrow(0, 0, n)?.broadcast_mul(&weights.taps.narrow(0, 0, 1)?)?;
    for tap in 1..dims.taps {
        let rows = history.narrow(0, tap, n)?;
        mixed = (mixed + rows.broadcast_mul(&weights.taps.narrow(0, tap, 1)?)?)?;
    }
    state.context = history.narrow(0, n, dims.taps - 1)?.contiguous()?;
    let mixed = mixed.silu()?;
    let keys = dims.keys();
    // Value head h reads key head h mod key_heads: whole-tensor tiling.
    let tile = |at: usize, scale: f64| -> Result<Tensor, EngineError> {
        let x = mixed.narrow(1, at, keys)?.reshape((n, dims.key_heads, dims.key_dim))?;
        let norm = (x.sqr()?.sum_keepdim(D::Minus1)? + f64::from(weights.eps))?.sqrt()?;
        let unit = (x.broadcast_div(&norm)? * scale)?;
        let tiled = unit.repeat((1, dims.value_heads / dims.key_heads, 1))?;
        Ok(tiled.transpose(0, 1)?.contiguous()?)
    };
    let v = mixed.narrow(1, 2 * keys, dims.inner())?;
    let v = v.reshape((n, dims.value_heads, dims.value_dim))?.transpose(0, 1)?.contiguous()?;
    let pre = inputs.alpha.broadcast_add(&weights.bias)?;
    let log_decay = softplus(&pre)?.broadcast_mul(&weights.decay)?;
    Ok(Heads {
        q: tile(0, (dims.key_dim as f64).powf(-0.5))?,
        k: tile(keys, 1.0)?,
        v,
        log_decay: log_decay.t()?.contiguous()?,
        beta: sigmoid(&inputs.beta)?.t()?.contiguous()?,
    })
}

/// One token; `[heads, 1, value_dim]`.
fn token(head: &Heads, state: &mut TensorState) -> Result<Tensor, EngineError> {
    let decay = head.log_decay.exp()?.unsqueeze(D::Minus1)?;
    let memory = state.memory.broadcast_mul(&decay)?;
    let read = head.k.matmul(&memory)?;
    let delta = (&head.v - read)?.broadcast_mul(&head.beta.unsqueeze(D::Minus1)?)?;
    state.memory = (memory + head.k.transpose(1, 2)?.contiguous()?.matmul(&delta)?)?;
    Ok(head.q.matmul(&state.memory)?)
}

/// One chunk; `[heads, n, value_dim]`. Formula: see `delta_rule::chunked`.
fn chunk(head: &Heads, state: &mut TensorState) -> Result<Tensor, EngineError> {
    let n = head.q.dim(1)?;
    let total = head.log_decay.cumsum(1)?;
    let column = total.unsqueeze(2)?;
    let beta = head.beta.unsqueeze(2)?;
    // Masked before the exponential: above the diagonal the difference is positive and large.
    let gaps = column.broadcast_sub(&total.unsqueeze(1)?)?;
    let gaps = gaps.broadcast_add(&mask(n, head.q.device())?)?.exp()?;
    let k_t = head.k.transpose(1, 2)?.contiguous()?;
    let decay = column.exp()?;
    let seen = head.k.matmul(&state.memory)?.broadcast_mul(&decay)?;
    let target = (&head.v - seen)?.broadcast_mul(&beta)?;
    let coupling = (head.k.matmul(&k_t)? * &gaps)?.broadcast_mul(&beta)?;
    let solved = substitute(&coupling, &target)?;
    let within = (head.q.matmul(&k_t)? * &gaps)?.matmul(&solved)?;
    let out = (head.q.matmul(&state.memory)?.broadcast_mul(&decay)? + within)?;
    let last = column.narrow(1, n - 1, 1)?;
    let weighted = solved.broadcast_mul(&last.broadcast_sub(&column)?.exp()?)?;
    let kept = state.memory.broadcast_mul(&last.exp()?)?;
    state.memory = (kept + k_t.matmul(&weighted)?)?;
    Ok(out)
}

/// Solves `(I + strictly_lower(a)) x = b` row by row; the power series is unstable in f32.
fn substitute(a: &Tensor, b: &Tensor) -> Result<Tensor, EngineError> {
    let n = b.dim(1)?;
    let mut solved = b.narrow(1, 0, 1)?.contiguous()?;
    for i in 1..n {
        let weights = a.narrow(1, i, 1)?.narrow(2, 0, i)?.contiguous()?;
        let row = (b.narrow(1, i, 1)? - weights.matmul(&solved)?)?;
        solved = Tensor::cat(&[&solved, &row], 1)?;
    }
    Ok(solved)
}

/// `[1, n, n]`: 0 at column j ≤ row i, minus infinity elsewhere.
fn mask(n: usize, device: &Device) -> Result<Tensor, EngineError> {
    let at = |i: usize, j: usize| if j > i { f32::NEG_INFINITY } else { 0.0 };
    let values: Vec<f32> = (0..n).flat_map(|i| (0..n).map(move |j| at(i, j))).collect();
    Ok(Tensor::from_vec(values, (1, n, n), device)?)
}

/// `ln(1 + eˣ)` as `max(x, 0) + ln(1 + e^−|x|)`, which cannot overflow.
fn softplus(x: &Tensor) -> Result<Tensor, EngineError> {
    Ok((x.relu()? + (x.abs()?.neg()?.exp()? + 1.0)?.log()?)?)
}
