//! A Gated DeltaNet layer: projections, and the choice between the CPU and the tensor path.
//!
//! What lives here: weights and state of the recurrent half of a `qwen35` block. The mathematics
//! between the projections is in `delta_host.rs` and `delta_tensor.rs`. Invariant: a state is always
//! of the kind the layer was loaded for.

use super::Scan;
use super::delta_host::{self, HostState, HostWeights, Inputs};
use super::delta_tensor::{self, TensorInputs, TensorState, TensorWeights};
use super::hparams::{DeltaDims, Hparams};
use super::loader::Loader;
use crate::engine::error::EngineError;
use crate::engine::gguf::weights::Linear;
use candle_core::Tensor;

/// Which implementation runs between the projections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Backend {
    /// Loops over slices; the CPU only.
    Host,
    /// Tensor operations; any device.
    Tensors,
}

/// One layer's memory of the past; fixed size.
#[derive(Clone)]
pub(super) enum DeltaState {
    Host(HostState),
    Tensors(TensorState),
}

impl DeltaState {
    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Host(s) => 4 * (s.context.len() + s.memory.len()),
            Self::Tensors(s) => 4 * (s.context.elem_count() + s.memory.elem_count()),
        }
    }

    /// Copies of the convolution context and the memory, for tests and inspection.
    #[cfg(test)]
    pub(super) fn values(&self) -> Result<(Vec<f32>, Vec<f32>), EngineError> {
        match self {
            Self::Host(s) => Ok((s.context.clone(), s.memory.clone())),
            Self::Tensors(s) => {
                Ok((s.context.flatten_all()?.to_vec1()?, s.memory.flatten_all()?.to_vec1()?))
            }
        }
    }
}

enum Small {
    Host(HostWeights),
    Tensors(TensorWeights),
}

/// One block's recurrent weights.
pub(super) struct GatedDelta {
    qkv: Linear,
    gate: Linear,
    alpha: Linear,
    beta: Linear,
    out: Linear,
    small: Small,
    dims: DeltaDims,
}

impl GatedDelta {
    /// Reads `{prefix}attn_qkv`, `attn_gate` and `ssm_*`.
    pub(super) fn load(
        loader: &mut Loader<'_>,
        prefix: &str,
        params: &Hparams,
        backend: Backend,
    ) -> Result<Self, EngineError> {
        let (dims, width) = (params.delta, params.embedding);
        let name = |s: &str| format!("{prefix}{s}");
        let taps = loader.small(&name("ssm_conv1d.weight"), &[dims.channels(), dims.taps])?;
        let taps = taps.t()?.contiguous()?;
        let decay = loader.small(&name("ssm_a"), &[dims.value_heads])?;
        let bias = loader.small(&name("ssm_dt.bias"), &[dims.value_heads])?;
        let norm = loader.small(&name("ssm_norm.weight"), &[dims.value_dim])?;
        let eps = params.eps;
        let small = match backend {
            Backend::Host => Small::Host(HostWeights {
                taps: taps.flatten_all()?.to_vec1()?,
                decay: decay.to_vec1()?,
                bias: bias.to_vec1()?,
                norm: norm.to_vec1()?,
                eps,
            }),
            Backend::Tensors => Small::Tensors(TensorWeights { taps, decay, bias, norm, eps }),
        };
        Ok(Self {
            qkv: loader.linear(&name("attn_qkv.weight"), dims.channels(), width)?,
            gate: loader.linear(&name("attn_gate.weight"), dims.inner(), width)?,
            alpha: loader.linear(&name("ssm_alpha.weight"), dims.value_heads, width)?,
            beta: loader.linear(&name("ssm_beta.weight"), dims.value_heads, width)?,
            out: loader.linear(&name("ssm_out.weight"), width, dims.inner())?,
            small,
            dims,
        })
    }

    /// The state before the first token.
    pub(super) fn new_state(&self) -> Result<DeltaState, EngineError> {
        Ok(match &self.small {
            Small::Host(_) => DeltaState::Host(HostState::new(&self.dims)),
            Small::Tensors(w) => {
                DeltaState::Tensors(TensorState::new(&self.dims, w.norm.device())?)
            }
        })
    }

    /// `[n, embedding]` to the same; advances the state by n tokens.
    pub(super) fn forward(
        &self,
        x: &Tensor,
        state: &mut DeltaState,
        scan: Scan,
    ) -> Result<Tensor, EngineError> {
        let inputs = TensorInputs {
            qkv: self.qkv.forward(x)?,
            gate: self.gate.forward(x)?,
            alpha: self.alpha.forward(x)?,
            beta: self.beta.forward(x)?,
        };
        let mixed = match (&self.small, state) {
            (Small::Host(weights), DeltaState::Host(state)) => {
                let values = |x: &Tensor| x.flatten_all()?.to_vec1::<f32>();
                let inputs = Inputs {
                    qkv: values(&inputs.qkv)?,
                    gate: values(&inputs.gate)?,
                    alpha: values(&inputs.alpha)?,
                    beta: values(&inputs.beta)?,
                };
                let mixed = delta_host::advance(&self.dims, weights, inputs, state, scan);
                Tensor::from_vec(mixed, (x.dim(0)?, self.dims.inner()), x.device())?
            }
            (Small::Tensors(weights), DeltaState::Tensors(state)) => {
                delta_tensor::advance(&self.dims, weights, &inputs, state, scan)?
            }
            (Small::Host(_), DeltaState::Tensors(_)) | (Small::Tensors(_), DeltaState::Host(_)) => {
                return Err(EngineError::Snapshot { what: "it is of another model".to_string() });
            }
        };
        self.out.forward(&mixed)
    }
}
