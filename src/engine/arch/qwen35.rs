//! `qwen35`: Qwen3.5, 3.6 and 3.8 dense models, a hybrid of Gated DeltaNet and gated attention.
//!
//! What lives here: the trunk, its state, snapshots. Layers are in their own files. The draft head
//! some files carry (extra blocks at the end) is not loaded. Invariant: `state.len` tokens have gone
//! through every layer, or `state.broken` says that a pass was left half done.

use super::attention::{Attention, KvCache, Positions, rotation};
use super::ffn::FeedForward;
use super::gated_delta::{Backend, DeltaState, GatedDelta};
use super::hparams::Hparams;
use super::loader::Loader;
use super::{Model, Rows, Scan, Snapshot, check_tokens, logits_of};
use crate::engine::error::EngineError;
use crate::engine::gguf::weights::Linear;
use candle_core::{Device, Tensor};
use candle_nn::ops::rms_norm;
use std::sync::Arc;

enum Mixer {
    Attention(Box<Attention>),
    Delta(Box<GatedDelta>),
}

struct Block {
    mixer_norm: Tensor,
    mixer: Mixer,
    ffn_norm: Tensor,
    ffn: FeedForward,
}

enum Memory {
    Attention(KvCache),
    Delta(DeltaState),
}

/// One sequence's state.
struct State {
    len: usize,
    memory: Vec<Memory>,
    /// Lengths the history was cut to, in order; a snapshot is valid while no later cut is below it.
    cuts: Vec<usize>,
    broken: bool,
}

/// What a snapshot of this architecture holds: the part that cannot be truncated.
struct Saved {
    owner: Arc<()>,
    cuts: usize,
    delta: Vec<DeltaState>,
}

/// Sees the residual stream `[n, embedding]` after each layer.
pub(super) type Trace<'a> = &'a mut dyn FnMut(usize, &Tensor);

/// A loaded `qwen35` model and the state of one sequence.
pub(super) struct Qwen35 {
    params: Hparams,
    embedding: Arc<Linear>,
    blocks: Vec<Block>,
    output_norm: Tensor,
    output: Arc<Linear>,
    device: Device,
    state: State,
    context: usize,
    scan: Scan,
    owner: Arc<()>,
}

impl Qwen35 {
    /// Reads all weights of the trunk.
    pub(super) fn load(loader: &mut Loader<'_>, backend: Backend) -> Result<Self, EngineError> {
        let params = Hparams::read(loader.file)?;
        let (vocab, width) = (params.vocab, params.embedding);
        let embedding = Arc::new(loader.linear("token_embd.weight", vocab, width)?);
        let blocks = (0..params.recurrent.len())
            .map(|i| Block::load(loader, i, &params, backend))
            .collect::<Result<Vec<_>, _>>()?;
        let output_norm = loader.small("output_norm.weight", &[width])?;
        let output = if loader.file.tensor("output.weight").is_some() {
            Arc::new(loader.linear("output.weight", vocab, width)?)
        } else {
            Arc::clone(&embedding)
        };
        loader.finish();
        let memory = blocks.iter().map(Block::new_memory).collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            context: params.context,
            device: loader.device.clone(),
            state: State { len: 0, memory, cuts: Vec::new(), broken: false },
            scan: Scan::Auto,
            owner: Arc::new(()),
            params,
            embedding,
            blocks,
            output_norm,
            output,
        })
    }

    /// [`Model::forward`], showing the stream after each layer to `trace`.
    pub(super) fn forward_traced(
        &mut self,
        tokens: &[u32],
        rows: Rows,
        trace: Trace<'_>,
    ) -> Result<Vec<f32>, EngineError> {
        check_tokens(tokens, self.state.len, self.context, self.params.vocab)?;
        if self.state.broken {
            return Err(EngineError::Broken);
        }
        if tokens.is_empty() {
            return Ok(Vec::new());
        }
        self.state.broken = true;
        let logits = self.pass(tokens, rows, trace)?;
        self.state.len += tokens.len();
        self.state.broken = false;
        Ok(logits)
    }

    fn pass(
        &mut self,
        tokens: &[u32],
        rows: Rows,
        trace: Trace<'_>,
    ) -> Result<Vec<f32>, EngineError> {
        let (start, n) = (self.state.len, tokens.len());
        let rotation = rotation(&self.params.attention, start, n, &self.device)?;
        let at = Positions { start, limit: self.context, rotation: &rotation };
        let eps = self.params.eps;
        let mut x = self.embedding.embed(tokens)?;
        for (i, (block, memory)) in self.blocks.iter().zip(&mut self.state.memory).enumerate() {
            x = block.forward(&x, memory, &at, self.scan, eps)?;
            trace(i, &x);
        }
        let (x, first) = match rows {
            Rows::Last => (x.narrow(0, n - 1, 1)?.contiguous()?, start + n - 1),
            Rows::All => (x, start),
        };
        let hidden = rms_norm(&x, &self.output_norm, eps)?;
        logits_of(&self.output.forward(&hidden)?, first)
    }

    /// Copies of a layer's recurrent state: convolution context and memory.
    #[cfg(test)]
    pub(super) fn delta_values(&self, layer: usize) -> Option<(Vec<f32>, Vec<f32>)> {
        match self.state.memory.get(layer)? {
            Memory::Delta(state) => state.values().ok(),
            Memory::Attention(_) => None,
        }
    }

    /// Bytes of all layers' states.
    #[cfg(test)]
    pub(super) fn state_bytes(&self) -> usize {
        let one = |memory: &Memory| match memory {
            Memory::Attention(cache) => cache.bytes(),
            Memory::Delta(state) => state.bytes(),
        };
        self.state.memory.iter().map(one).sum()
    }
}

impl Block {
    fn load(
        loader: &mut Loader<'_>,
        index: usize,
        params: &Hparams,
        backend: Backend,
    ) -> Result<Self, EngineError> {
        let prefix = format!("blk.{index}.");
        let width = [params.embedding];
        let recurrent = params.recurrent.get(index).copied().unwrap_or(false);
        Ok(Self {
            mixer_norm: loader.small(&format!("{prefix}attn_norm.weight"), &width)?,
            mixer: if recurrent {
                Mixer::Delta(Box::new(GatedDelta::load(loader, &prefix, params, backend)?))
            } else {
                Mixer::Attention(Box::new(Attention::load(loader, &prefix, params)?))
            },
            // Named after its place, used before the feed-forward layer.
            ffn_norm: loader.small(&format!("{prefix}post_attention_norm.weight"), &width)?,
            ffn: FeedForward::load(loader, &prefix, params)?,
        })
    }

    fn new_memory(&self) -> Result<Memory, EngineError> {
        Ok(match &self.mixer {
            Mixer::Attention(_) => Memory::Attention(KvCache::default()),
            Mixer::Delta(delta) => Memory::Delta(delta.new_state()?),
        })
    }

    fn forward(
        &self,
        x: &Tensor,
        memory: &mut Memory,
        at: &Positions<'_>,
        scan: Scan,
        eps: f32,
    ) -> Result<Tensor, EngineError> {
        let h = rms_norm(x, &self.mixer_norm, eps)?;
        let mixed = match (&self.mixer, memory) {
            (Mixer::Attention(layer), Memory::Attention(cache)) => layer.forward(&h, cache, at)?,
            (Mixer::Delta(layer), Memory::Delta(state)) => layer.forward(&h, state, scan)?,
            (Mixer::Attention(_), Memory::Delta(_)) | (Mixer::Delta(_), Memory::Attention(_)) => {
                return Err(other_model());
            }
        };
        let x = (x + mixed)?;
        let h = rms_norm(&x, &self.ffn_norm, eps)?;
        Ok((&x + self.ffn.forward(&h)?)?)
    }
}

fn other_model() -> EngineError {
    EngineError::Snapshot { what: "it is of another model".to_string() }
}

impl Model for Qwen35 {
    fn forward(&mut self, tokens: &[u32], rows: Rows) -> Result<Vec<f32>, EngineError> {
        self.forward_traced(tokens, rows, &mut |_, _| {})
    }

    fn len(&self) -> usize {
        self.state.len
    }

    fn reset(&mut self) {
        let mut whole = true;
        for (block, memory) in self.blocks.iter().zip(&mut self.state.memory) {
            match (memory, &block.mixer) {
                (Memory::Attention(cache), _) => cache.clear(),
                (Memory::Delta(state), Mixer::Delta(layer)) => match layer.new_state() {
                    Ok(new) => *state = new,
                    Err(_) => whole = false,
                },
                (Memory::Delta(_), Mixer::Attention(_)) => whole = false,
            }
        }
        self.state.len = 0;
        self.state.cuts.push(0);
        self.state.broken = !whole;
    }

    fn vocab(&self) -> usize {
        self.params.vocab
    }

    fn context(&self) -> usize {
        self.context
    }

    fn set_context(&mut self, tokens: usize) {
        self.context = tokens.clamp(self.state.len.max(1), self.params.context);
    }

    fn set_scan(&mut self, scan: Scan) {
        self.scan = scan;
    }

    fn can_rewind(&self) -> bool {
        true
    }

    fn snapshot(&self) -> Result<Snapshot, EngineError> {
        if self.state.broken {
            return Err(EngineError::Broken);
        }
        let delta: Vec<DeltaState> = self
            .state
            .memory
            .iter()
            .filter_map(|memory| match memory {
                Memory::Delta(state) => Some(state.clone()),
                Memory::Attention(_) => None,
            })
            .collect();
        let bytes = delta.iter().map(DeltaState::bytes).sum();
        let saved = Saved { owner: Arc::clone(&self.owner), cuts: self.state.cuts.len(), delta };
        Ok(Snapshot { len: self.state.len, bytes, state: Box::new(saved) })
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), EngineError> {
        let saved = snapshot.state.downcast_ref::<Saved>().ok_or_else(other_model)?;
        if !Arc::ptr_eq(&saved.owner, &self.owner) {
            return Err(other_model());
        }
        let later = self.state.cuts.get(saved.cuts..).unwrap_or(&[]);
        if later.iter().any(|&cut| cut < snapshot.len) {
            let what = "the conversation was rewound to before it and went on differently";
            return Err(EngineError::Snapshot { what: what.to_string() });
        }
        let states = self.state.memory.iter_mut().filter_map(|memory| match memory {
            Memory::Delta(state) => Some(state),
            Memory::Attention(_) => None,
        });
        for (state, old) in states.zip(&saved.delta) {
            state.clone_from(old);
        }
        self.state.len = snapshot.len;
        self.state.cuts.push(snapshot.len);
        self.state.broken = false;
        Ok(())
    }
}
