//! The product of a few f32 activation rows with an f16 or bf16 matrix, on the CPU.
//!
//! Weights are widened a row at a time into a scratch row and never rounded further; activations
//! stay f32. Other devices and many rows go through `Linear`'s blocks instead.

use candle_core::{CpuStorage, CustomOp2, Layout, Result, Shape, bail};
use half::slice::HalfFloatSliceExt;
use rayon::prelude::*;

/// Weight rows a task works on; below this many in all, one thread does the work.
const ROWS_PER_TASK: usize = 64;

/// `x [n, in]`, `w [out, in]` to `[n, out]`.
pub(super) struct HalfDot;

impl CustomOp2 for HalfDot {
    fn name(&self) -> &'static str {
        "half-dot"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        x_layout: &Layout,
        w: &CpuStorage,
        w_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (n, k) = x_layout.shape().dims2()?;
        let (m, k_w) = w_layout.shape().dims2()?;
        let (Some((x0, x1)), Some((w0, w1))) =
            (x_layout.contiguous_offsets(), w_layout.contiguous_offsets())
        else {
            bail!("half-dot needs contiguous operands")
        };
        if k != k_w {
            bail!("half-dot: {n}x{k} with {m}x{k_w}")
        }
        let x = &x.as_slice::<f32>()?[x0..x1];
        let out = match w {
            CpuStorage::BF16(w) => rows(x, &w[w0..w1], n, k, m),
            CpuStorage::F16(w) => rows(x, &w[w0..w1], n, k, m),
            _ => bail!("half-dot: weights are neither f16 nor bf16"),
        };
        Ok((CpuStorage::F32(out), Shape::from((n, m))))
    }
}

fn rows<T>(x: &[f32], w: &[T], n: usize, k: usize, m: usize) -> Vec<f32>
where
    T: Sync,
    [T]: HalfFloatSliceExt,
{
    // Columns of the result are computed together because they share a weight row.
    let mut by_row = vec![0f32; m * n];
    by_row.par_chunks_mut(ROWS_PER_TASK * n).zip(w.par_chunks(ROWS_PER_TASK * k)).for_each(
        |(out, weights)| {
            let mut wide = vec![0f32; k];
            for (out, row) in out.chunks_exact_mut(n).zip(weights.chunks_exact(k)) {
                row.convert_to_f32_slice(&mut wide);
                for (out, x) in out.iter_mut().zip(x.chunks_exact(k)) {
                    *out = dot(x, &wide);
                }
            }
        },
    );
    if n == 1 {
        return by_row;
    }
    let mut out = vec![0f32; n * m];
    for (row, values) in by_row.chunks_exact(n).enumerate() {
        for (i, value) in values.iter().enumerate() {
            out[i * m + row] = *value;
        }
    }
    out
}

/// Dot product with 16 partial sums, which the compiler can keep in vector registers.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    const LANES: usize = 16;
    let mut sums = [0f32; LANES];
    let (a_chunks, b_chunks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let tail: f32 = a_chunks.remainder().iter().zip(b_chunks.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a_chunks.zip(b_chunks) {
        for i in 0..LANES {
            sums[i] += a[i] * b[i];
        }
    }
    sums.iter().sum::<f32>() + tail
}
