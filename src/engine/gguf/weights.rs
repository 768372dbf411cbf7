//! Matrices of a file in the form they are multiplied in.
//!
//! What lives here: [`Linear`], which keeps a weight in the type it has in the file and multiplies
//! f32 activations with it. What does not: which tensors a model needs (`arch`). Invariant: no
//! matrix is ever expanded to f32 as a whole; at most `BLOCK_ELEMENTS` of it are at a time.

use super::half_dot::HalfDot;
use super::{GgmlType, GgufFile, TensorInfo};
use crate::engine::error::EngineError;
use candle_core::quantized::{GgmlDType, QStorage, QTensor};
use candle_core::{DType, Device, Storage, Tensor};
use std::borrow::Cow;
use std::sync::Arc;

/// Elements of a weight that are decoded to f32 at a time (4 MiB).
const BLOCK_ELEMENTS: usize = 1 << 20;
/// Up to this many activation rows the fused half-precision dot beats decoding and a matrix product.
const FEW_ROWS: usize = 4;

/// How quantised matrices are multiplied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Numerics {
    /// Weights are decoded to f32 a block of rows at a time; activations stay f32. Matches a
    /// reference computed on the decoded weights; slow.
    Exact,
    /// The tensor library's kernels, which round activations to 8 bits. For use.
    #[default]
    Fast,
}

/// A weight matrix `[out, in]` that maps `[n, in]` to `[n, out]`, without bias.
pub struct Linear {
    name: String,
    weight: Weight,
    rows: usize,
    columns: usize,
}

enum Weight {
    /// f32, f16 or bf16, `[out, in]`.
    Dense(Tensor),
    Quantized(Arc<QTensor>, Numerics),
}

impl Linear {
    /// Builds the matrix from a tensor's bytes.
    ///
    /// Errors: not a matrix, a type that cannot be multiplied with, a failed copy to the device.
    pub fn load(
        file: &GgufFile,
        info: &TensorInfo,
        device: &Device,
        numerics: Numerics,
    ) -> Result<Self, EngineError> {
        let &[rows, columns] = info.shape.as_slice() else {
            return Err(EngineError::Shape {
                tensor: info.name.clone(),
                expected: vec![0, 0],
                found: info.shape.clone(),
            });
        };
        let bytes = file.bytes(info);
        let weight = match dense_type(info.dtype) {
            Some(dtype) => {
                Weight::Dense(Tensor::from_raw_buffer(bytes, dtype, &[rows, columns], device)?)
            }
            None => {
                let dtype = quantized_type(info)?;
                let storage = QStorage::from_data(Cow::Borrowed(bytes), device, dtype)?;
                Weight::Quantized(Arc::new(QTensor::new(storage, (rows, columns))?), numerics)
            }
        };
        Ok(Self { name: info.name.clone(), weight, rows, columns })
    }

    /// Outputs.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Inputs.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// `x · Wᵀ`: f32 `[n, in]` to f32 `[n, out]`.
    pub fn forward(&self, x: &Tensor) -> Result<Tensor, EngineError> {
        let x = x.contiguous()?;
        match &self.weight {
            Weight::Dense(w) if w.dtype() == DType::F32 => Ok(x.matmul(&w.t()?)?),
            Weight::Dense(w) if x.dim(0)? <= FEW_ROWS && w.device().is_cpu() => {
                Ok(x.apply_op2_no_bwd(w, &HalfDot)?)
            }
            Weight::Quantized(q, Numerics::Fast) => {
                self.check_finite(&x)?;
                Ok(x.apply_op1_no_bwd(q.as_ref())?)
            }
            Weight::Dense(_) | Weight::Quantized(_, Numerics::Exact) => self.by_blocks(&x),
        }
    }

    /// Rows `ids` as f32 `[ids.len(), in]`; ids must be below [`Linear::rows`].
    pub fn embed(&self, ids: &[u32]) -> Result<Tensor, EngineError> {
        Ok(match &self.weight {
            Weight::Dense(w) => {
                let ids = Tensor::new(ids, w.device())?;
                w.index_select(&ids, 0)?.to_dtype(DType::F32)?
            }
            Weight::Quantized(q, _) => q.embedding(&Tensor::new(ids, &q.device())?)?,
        })
    }

    /// Rounding activations to integers turns NaN into an ordinary number, so it must be seen
    /// before. On other devices reading the values back would cost more than the product.
    fn check_finite(&self, x: &Tensor) -> Result<(), EngineError> {
        let (storage, layout) = x.storage_and_layout();
        let (Storage::Cpu(cpu), Some((from, to))) = (&*storage, layout.contiguous_offsets()) else {
            return Ok(());
        };
        let values = cpu.as_slice::<f32>()?.get(from..to).unwrap_or(&[]);
        if values.iter().all(|x| x.is_finite()) {
            return Ok(());
        }
        Err(EngineError::NonFiniteInput { tensor: self.name.clone() })
    }

    fn by_blocks(&self, x: &Tensor) -> Result<Tensor, EngineError> {
        let step = (BLOCK_ELEMENTS / self.columns.max(1)).max(1);
        let mut parts = Vec::with_capacity(self.rows.div_ceil(step));
        for start in (0..self.rows).step_by(step) {
            let n = step.min(self.rows - start);
            let block = match &self.weight {
                Weight::Dense(w) => w.narrow(0, start, n)?.to_dtype(DType::F32)?,
                Weight::Quantized(q, _) => {
                    let ids = Tensor::arange(start as u32, (start + n) as u32, &q.device())?;
                    q.embedding(&ids)?
                }
            };
            parts.push(x.matmul(&block.t()?)?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Tensor::cat(&parts, 1)? })
    }
}

/// A small tensor (norm weights, biases, taps) as f32 in its own shape.
///
/// Errors: a quantised type, a failed copy to the device.
pub fn load_f32(
    file: &GgufFile,
    info: &TensorInfo,
    device: &Device,
) -> Result<Tensor, EngineError> {
    let dtype = dense_type(info.dtype).ok_or_else(|| refuse(info))?;
    let raw = Tensor::from_raw_buffer(file.bytes(info), dtype, &info.shape, device)?;
    Ok(raw.to_dtype(DType::F32)?)
}

/// Refuses a tensor whose type cannot be computed with. Errors: tensor type.
pub fn check_type(info: &TensorInfo) -> Result<(), EngineError> {
    if dense_type(info.dtype).is_some() { Ok(()) } else { quantized_type(info).map(|_| ()) }
}

fn refuse(info: &TensorInfo) -> EngineError {
    EngineError::TensorType { tensor: info.name.clone(), dtype: info.dtype.to_string() }
}

fn dense_type(dtype: GgmlType) -> Option<DType> {
    if dtype == GgmlType::F32 {
        Some(DType::F32)
    } else if dtype == GgmlType::F16 {
        Some(DType::F16)
    } else if dtype == GgmlType::Bf16 {
        Some(DType::BF16)
    } else {
        None
    }
}

fn quantized_type(info: &TensorInfo) -> Result<GgmlDType, EngineError> {
    use GgmlType as T;
    Ok(match info.dtype {
        T::Q4_0 => GgmlDType::Q4_0,
        T::Q4_1 => GgmlDType::Q4_1,
        T::Q5_0 => GgmlDType::Q5_0,
        T::Q5_1 => GgmlDType::Q5_1,
        T::Q8_0 => GgmlDType::Q8_0,
        T::Q2K => GgmlDType::Q2K,
        T::Q3K => GgmlDType::Q3K,
        T::Q4K => GgmlDType::Q4K,
        T::Q5K => GgmlDType::Q5K,
        T::Q6K => GgmlDType::Q6K,
        T::F32 | T::F16 | T::Bf16 | T::Q8_1 | T::Q8K => return Err(refuse(info)),
        T::Iq2Xxs | T::Iq2Xs | T::Iq2S | T::Iq3Xxs | T::Iq3S | T::Iq4Nl | T::Iq4Xs => {
            return Err(refuse(info));
        }
        T::Iq1S | T::Iq1M | T::Tq1_0 | T::Tq2_0 | T::Mxfp4 | T::Nvfp4 | T::Q1_0 | T::Q2_0 => {
            return Err(refuse(info));
        }
        T::I8 | T::I16 | T::I32 | T::I64 | T::F64 | T::Unknown(_) => return Err(refuse(info)),
    })
}
