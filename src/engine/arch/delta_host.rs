//! A Gated DeltaNet layer between its projections, on plain slices for the CPU.
//!
//! What lives here: convolution, normalisation, gates, the rule per head, the gated output norm.
//! Projections are in `gated_delta.rs`, the rule in `delta_rule.rs`. Written as loops because the
//! same in tensor operations costs forty times as much per token. Invariant: `HostState` holds the
//! newest `taps − 1` inputs of the convolution, unactivated, and one f32 matrix per value head.

use super::Scan;
use super::delta_rule::{Head, chunked, dot, recurrent};
use super::hparams::DeltaDims;
use rayon::prelude::*;

/// From this many state elements times tokens on, heads are shared among threads.
const PARALLEL_WORK: usize = 1 << 17;
/// From this many tokens on, `Scan::Auto` works in chunks.
const CHUNKED_FROM: usize = 16;

/// What a layer remembers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct HostState {
    /// Newest inputs of the convolution, oldest first, `[taps - 1, channels]`.
    pub(super) context: Vec<f32>,
    /// Per value head `[key_dim, value_dim]`.
    pub(super) memory: Vec<f32>,
}

impl HostState {
    /// The state before the first token.
    pub(super) fn new(dims: &DeltaDims) -> Self {
        Self {
            context: vec![0.0; (dims.taps - 1) * dims.channels()],
            memory: vec![0.0; dims.inner() * dims.key_dim],
        }
    }
}

/// Small weights of a layer.
pub(super) struct HostWeights {
    /// Taps first: `[taps, channels]`, the last row for the newest input.
    pub(super) taps: Vec<f32>,
    /// `−exp(A)` per value head.
    pub(super) decay: Vec<f32>,
    /// Per value head, added before softplus.
    pub(super) bias: Vec<f32>,
    /// `[value_dim]`, shared by the heads.
    pub(super) norm: Vec<f32>,
    pub(super) eps: f32,
}

/// Projections of the new tokens, token rows one after another.
pub(super) struct Inputs {
    /// `[n, channels]`: q, k, v before the convolution.
    pub(super) qkv: Vec<f32>,
    /// `[n, inner]`: output gate.
    pub(super) gate: Vec<f32>,
    /// `[n, value_heads]`: decay before its activation.
    pub(super) alpha: Vec<f32>,
    /// `[n, value_heads]`: write strength before its activation.
    pub(super) beta: Vec<f32>,
}

/// Advances the state over all tokens of `inputs`; returns `[n, inner]`, ready for the projection.
pub(super) fn advance(
    dims: &DeltaDims,
    weights: &HostWeights,
    mut inputs: Inputs,
    state: &mut HostState,
    scan: Scan,
) -> Vec<f32> {
    let n = inputs.beta.len() / dims.value_heads;
    let rows = convolve(dims, weights, &inputs.qkv, &mut state.context);
    activate_gates(dims, weights, &mut inputs);
    let chunks = match scan {
        Scan::Auto => n >= CHUNKED_FROM,
        Scan::Recurrent => false,
        Scan::Chunked => true,
    };
    let mut mixed = vec![0f32; n * dims.inner()];
    let size = dims.key_dim * dims.value_dim;
    let one_head = |(h, (memory, out)): (usize, (&mut [f32], &mut [f32]))| {
        let kh = h % dims.key_heads;
        let head = Head {
            rows: &rows,
            stride: dims.channels(),
            q_at: kh * dims.key_dim,
            k_at: dims.keys() + kh * dims.key_dim,
            v_at: 2 * dims.keys() + h * dims.value_dim,
            key_dim: dims.key_dim,
            value_dim: dims.value_dim,
            log_decay: &inputs.alpha,
            beta: &inputs.beta,
            heads: dims.value_heads,
            head: h,
        };
        if chunks { chunked(&head, memory, out) } else { recurrent(&head, memory, out) }
    };
    let per_head = n * dims.value_dim;
    if size * dims.value_heads * n >= PARALLEL_WORK {
        let outs = mixed.par_chunks_mut(per_head);
        state.memory.par_chunks_mut(size).zip(outs).enumerate().for_each(one_head);
    } else {
        let outs = mixed.chunks_mut(per_head);
        state.memory.chunks_mut(size).zip(outs).enumerate().for_each(one_head);
    }
    normalise_output(dims, weights, &mixed, &inputs.gate)
}

/// Causal depthwise convolution, SiLU, then q and k to unit length (q also over `√key_dim`).
fn convolve(
    dims: &DeltaDims,
    weights: &HostWeights,
    qkv: &[f32],
    context: &mut Vec<f32>,
) -> Vec<f32> {
    let width = dims.channels();
    let history: Vec<f32> = context.iter().chain(qkv).copied().collect();
    let mut out = vec![0f32; qkv.len()];
    out.par_chunks_mut(width).enumerate().for_each(|(t, out)| {
        let window = &history[t * width..(t + dims.taps) * width];
        for (row, taps) in window.chunks_exact(width).zip(weights.taps.chunks_exact(width)) {
            for ((o, x), w) in out.iter_mut().zip(row).zip(taps) {
                *o += x * w;
            }
        }
        out.iter_mut().for_each(|x| *x = silu(*x));
        let (q, rest) = out.split_at_mut(dims.keys());
        let k = &mut rest[..dims.keys()];
        let scale = (dims.key_dim as f32).sqrt().recip();
        q.chunks_exact_mut(dims.key_dim).for_each(|q| to_length(q, scale, weights.eps));
        k.chunks_exact_mut(dims.key_dim).for_each(|k| to_length(k, 1.0, weights.eps));
    });
    *context = history[qkv.len()..].to_vec();
    out
}

/// In place: alpha becomes the log decay `softplus(alpha + bias) · decay`, beta its sigmoid.
fn activate_gates(dims: &DeltaDims, weights: &HostWeights, inputs: &mut Inputs) {
    for row in inputs.alpha.chunks_exact_mut(dims.value_heads) {
        for ((a, bias), decay) in row.iter_mut().zip(&weights.bias).zip(&weights.decay) {
            *a = softplus(*a + bias) * decay;
        }
    }
    inputs.beta.iter_mut().for_each(|b| *b = sigmoid(*b));
}

/// `[heads, n, value_dim]` to `[n, heads · value_dim]`, each head RMS-normalised and gated.
fn normalise_output(
    dims: &DeltaDims,
    weights: &HostWeights,
    mixed: &[f32],
    gate: &[f32],
) -> Vec<f32> {
    let width = dims.value_dim;
    let n = mixed.len() / dims.inner();
    let mut out = vec![0f32; mixed.len()];
    let tokens = out.par_chunks_mut(dims.inner()).zip(gate.par_chunks(dims.inner()));
    tokens.enumerate().for_each(|(t, (out, gate))| {
        let heads = out.chunks_exact_mut(width).zip(gate.chunks_exact(width));
        for (h, (out, gate)) in heads.enumerate() {
            let start = (h * n + t) * width;
            let o = &mixed[start..start + width];
            let scale = (dot(o, o) / width as f32 + weights.eps).sqrt().recip();
            for (((y, o), z), w) in out.iter_mut().zip(o).zip(gate).zip(&weights.norm) {
                *y = o * scale * w * silu(*z);
            }
        }
    });
    out
}

fn to_length(x: &mut [f32], length: f32, eps: f32) {
    let scale = length * (dot(x, x) + eps).sqrt().recip();
    x.iter_mut().for_each(|x| *x *= scale);
}

fn sigmoid(x: f32) -> f32 {
    (1.0 + (-x).exp()).recip()
}

fn silu(x: f32) -> f32 {
    x * sigmoid(x)
}

/// `ln(1 + eˣ)` without overflow; above 20 it is x to f32 precision.
fn softplus(x: f32) -> f32 {
    if x > 20.0 { x } else { x.exp().ln_1p() }
}
