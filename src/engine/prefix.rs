//! Which state a token sequence can continue from.
//!
//! Attention caches can be cut anywhere, a recurrent state cannot run backwards. So snapshots are
//! kept at step boundaries and going back means restoring one. Here: the model with the tokens in
//! its state, and the snapshots. Not here: what the tokens should be (`prompt.rs`). Invariant:
//! `tokens` is exactly what the model has processed, and every snapshot lies on that history.

use super::arch::{Model, Rows, Snapshot};
use super::error::EngineError;

/// Most snapshots kept, however small they are.
const MOST_SNAPSHOTS: usize = 32;

/// A model and what is in its state.
pub struct State {
    model: Box<dyn Model>,
    tokens: Vec<u32>,
    /// Shortest first.
    snapshots: Vec<Snapshot>,
    budget: usize,
}

impl State {
    /// An empty state. `budget` is the memory snapshots may take, in bytes.
    pub fn new(model: Box<dyn Model>, budget: usize) -> Self {
        Self { model, tokens: Vec::new(), snapshots: Vec::new(), budget }
    }

    /// Tokens processed.
    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// Most tokens the state can hold.
    pub fn context(&self) -> usize {
        self.model.context()
    }

    /// Goes back to the longest state from which `target` can be continued with at least one token;
    /// returns its length.
    pub fn rewind_to(&mut self, target: &[u32]) -> usize {
        let same = self.tokens.iter().zip(target).take_while(|(a, b)| a == b).count();
        let usable = same.min(target.len().saturating_sub(1));
        if self.tokens.len() <= usable {
            return self.tokens.len();
        }
        self.snapshots.retain(|snapshot| snapshot.len() <= usable);
        let Some(snapshot) = self.snapshots.last() else {
            self.clear();
            return 0;
        };
        let len = snapshot.len();
        if let Err(error) = self.model.restore(snapshot) {
            // Reading everything again is slow but right.
            tracing::warn!("a snapshot could not be restored: {error}");
            self.clear();
            return 0;
        }
        self.tokens.truncate(len);
        len
    }

    /// Processes tokens and returns the logits after the last one. After an error the state is empty.
    pub fn advance(&mut self, tokens: &[u32]) -> Result<Vec<f32>, EngineError> {
        let logits = self.model.forward(tokens, Rows::Last);
        match logits {
            Ok(_) => self.tokens.extend_from_slice(tokens),
            Err(_) => self.clear(),
        }
        logits
    }

    /// Keeps this moment to come back to, if the model can and the budget allows.
    pub fn keep(&mut self) -> Result<(), EngineError> {
        let kept = self.snapshots.last().is_some_and(|last| last.len() == self.tokens.len());
        if kept || self.tokens.is_empty() || self.budget == 0 || !self.model.can_rewind() {
            return Ok(());
        }
        self.snapshots.push(self.model.snapshot()?);
        self.thin();
        Ok(())
    }

    /// Back to the empty state.
    pub fn clear(&mut self) {
        self.model.reset();
        self.tokens.clear();
        self.snapshots.clear();
    }

    /// Drops snapshots until they fit. The one whose loss costs the fewest tokens goes first; the
    /// first (the system block) and the last stay longest.
    fn thin(&mut self) {
        let over = |snapshots: &[Snapshot], budget: usize| {
            let bytes: usize = snapshots.iter().map(Snapshot::bytes).sum();
            bytes > budget || snapshots.len() > MOST_SNAPSHOTS
        };
        while over(&self.snapshots, self.budget) && !self.snapshots.is_empty() {
            let gap = |i: usize| {
                let len = |i: usize| self.snapshots.get(i).map_or(0, Snapshot::len);
                len(i) - len(i - 1)
            };
            let inner = (1..self.snapshots.len().saturating_sub(1)).min_by_key(|&i| gap(i));
            self.snapshots.remove(inner.unwrap_or(0));
        }
    }
}

#[cfg(test)]
mod tests;
