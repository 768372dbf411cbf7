//! Takes the tensors a model asks for out of a file, checks their shapes and reports progress.
//!
//! No architecture knowledge here. Invariant: a tensor handed out has exactly the shape asked for.

use super::Numerics;
use crate::engine::error::EngineError;
use crate::engine::gguf::weights::{Linear, load_f32};
use crate::engine::gguf::{GgufFile, TensorInfo};
use candle_core::{Device, Tensor};

/// Reads tensors for one model.
pub(super) struct Loader<'a> {
    pub(super) file: &'a GgufFile,
    pub(super) device: &'a Device,
    numerics: Numerics,
    progress: &'a mut dyn FnMut(u64, u64),
    cancelled: &'a dyn Fn() -> bool,
    done: u64,
    total: u64,
}

impl<'a> Loader<'a> {
    pub(super) fn new(
        file: &'a GgufFile,
        device: &'a Device,
        numerics: Numerics,
        progress: &'a mut dyn FnMut(u64, u64),
        cancelled: &'a dyn Fn() -> bool,
    ) -> Self {
        let total = file.tensors().iter().map(|t| t.size as u64).sum();
        Self { file, device, numerics, progress, cancelled, done: 0, total }
    }

    /// The matrix `name` of `rows` outputs and `columns` inputs.
    pub(super) fn linear(
        &mut self,
        name: &str,
        rows: usize,
        columns: usize,
    ) -> Result<Linear, EngineError> {
        let info = self.find(name, &[rows, columns])?;
        let linear = Linear::load(self.file, info, self.device, self.numerics)?;
        self.advance(info)?;
        Ok(linear)
    }

    /// The small tensor `name` in f32. Errors besides those of its shape: a value not finite.
    pub(super) fn small(&mut self, name: &str, shape: &[usize]) -> Result<Tensor, EngineError> {
        let info = self.find(name, shape)?;
        let tensor = load_f32(self.file, info, self.device)?;
        // A product with zero is zero for every finite number; one value is read back, not all.
        let zero = (&tensor * 0.0)?.sum_all()?.to_scalar::<f32>()?;
        if zero != 0.0 {
            let what = format!("tensor {name} holds a value that is not finite");
            return Err(EngineError::Damaged { what });
        }
        self.advance(info)?;
        Ok(tensor)
    }

    /// Tells that everything this model uses is loaded.
    pub(super) fn finish(&mut self) {
        (self.progress)(self.total, self.total);
    }

    fn find(&self, name: &str, shape: &[usize]) -> Result<&'a TensorInfo, EngineError> {
        let missing = || EngineError::MissingTensor { tensor: name.to_string() };
        let info = self.file.tensor(name).ok_or_else(missing)?;
        if info.shape != shape || shape.contains(&0) {
            return Err(EngineError::Shape {
                tensor: name.to_string(),
                expected: shape.to_vec(),
                found: info.shape.clone(),
            });
        }
        Ok(info)
    }

    fn advance(&mut self, info: &TensorInfo) -> Result<(), EngineError> {
        self.add(info.size as u64)
    }

    /// Counts bytes read; the error is that loading was cancelled.
    pub(super) fn add(&mut self, bytes: u64) -> Result<(), EngineError> {
        self.done = self.total.min(self.done + bytes);
        (self.progress)(self.done, self.total);
        if self.is_cancelled() { Err(EngineError::Cancelled) } else { Ok(()) }
    }

    /// Whether loading should stop.
    pub(super) fn is_cancelled(&self) -> bool {
        (self.cancelled)()
    }
}
