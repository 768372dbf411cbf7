//! The gated delta rule on plain slices, for the CPU: one head, token by token or in chunks.
//!
//! What lives here: the recurrence alone. Convolution, norms and gates around it are in
//! `delta_host.rs`; the same rule in tensor operations is `delta_tensor.rs`. Invariant: both paths
//! compute the same function; the state is f32 and only ever updated in place.
//!
//! With state S `[key_dim, value_dim]`, per token: `S ← S·exp(g)`, `d = β(v − Sᵀk)`,
//! `S ← S + k dᵀ`, `o = Sᵀq`. Source: "Gated Delta Networks" (Yang et al., 2024).

/// Tokens of a chunk: long enough to reuse the state in cache, short enough that the work inside a
/// chunk, which grows with its square, stays small beside it.
pub(super) const CHUNK: usize = 32;

/// One head's inputs; strided, because heads lie side by side in a token's row.
pub(super) struct Head<'a> {
    /// Rows of q, k and v of all heads, `[tokens, stride]`.
    pub(super) rows: &'a [f32],
    pub(super) stride: usize,
    pub(super) q_at: usize,
    pub(super) k_at: usize,
    pub(super) v_at: usize,
    pub(super) key_dim: usize,
    pub(super) value_dim: usize,
    /// Log decay and write strength, `[tokens, heads]`, and this head's column.
    pub(super) log_decay: &'a [f32],
    pub(super) beta: &'a [f32],
    pub(super) heads: usize,
    pub(super) head: usize,
}

impl<'a> Head<'a> {
    fn part(&self, t: usize, at: usize, len: usize) -> &'a [f32] {
        let start = t * self.stride + at;
        &self.rows[start..start + len]
    }

    fn q(&self, t: usize) -> &'a [f32] {
        self.part(t, self.q_at, self.key_dim)
    }

    fn k(&self, t: usize) -> &'a [f32] {
        self.part(t, self.k_at, self.key_dim)
    }

    fn v(&self, t: usize) -> &'a [f32] {
        self.part(t, self.v_at, self.value_dim)
    }

    fn log_decay(&self, t: usize) -> f32 {
        self.log_decay[t * self.heads + self.head]
    }

    fn beta(&self, t: usize) -> f32 {
        self.beta[t * self.heads + self.head]
    }
}

/// Token by token: two passes over the state each. `out` is `[tokens, value_dim]`.
pub(super) fn recurrent(head: &Head<'_>, state: &mut [f32], out: &mut [f32]) {
    let width = head.value_dim;
    let mut delta = vec![0f32; width];
    for (t, out) in out.chunks_exact_mut(width).enumerate() {
        let (q, k, v) = (head.q(t), head.k(t), head.v(t));
        let (decay, beta) = (head.log_decay(t).exp(), head.beta(t));
        delta.fill(0.0);
        for (row, &k) in state.chunks_exact(width).zip(k) {
            add_scaled(&mut delta, row, k);
        }
        for (d, &v) in delta.iter_mut().zip(v) {
            *d = beta * (v - decay * *d);
        }
        out.fill(0.0);
        for ((row, &k), &q) in state.chunks_exact_mut(width).zip(k).zip(q) {
            for ((s, &d), o) in row.iter_mut().zip(&delta).zip(out.iter_mut()) {
                *s = *s * decay + k * d;
                *o += *s * q;
            }
        }
    }
}

/// In chunks of [`CHUNK`]: the state is read and written once a chunk. `out` as in [`recurrent`].
///
/// Inside a chunk, with G the running sum of g: `V' = (I + A)⁻¹ (β (V − e^G K S))` by forward
/// substitution, where `A_ij = β_i e^(G_i − G_j) k_i·k_j` below the diagonal; then
/// `O = e^G Q S + lower(e^(G_i − G_j) q_i·k_j) V'` and `S ← e^G_last S + Σ e^(G_last − G_i) k_i v'_iᵀ`.
/// Differences are taken before the exponential, so nothing overflows.
pub(super) fn chunked(head: &Head<'_>, state: &mut [f32], out: &mut [f32]) {
    let tokens = out.len() / head.value_dim;
    let mut solved = vec![0f32; CHUNK * head.value_dim];
    for first in (0..tokens).step_by(CHUNK) {
        let n = CHUNK.min(tokens - first);
        let out = &mut out[first * head.value_dim..(first + n) * head.value_dim];
        chunk(head, first, state, &mut solved[..n * head.value_dim], out);
    }
}

fn chunk(head: &Head<'_>, first: usize, state: &mut [f32], solved: &mut [f32], out: &mut [f32]) {
    let width = head.value_dim;
    let n = out.len() / width;
    let mut total = [0f32; CHUNK];
    let mut sum = 0.0;
    for (i, total) in total[..n].iter_mut().enumerate() {
        sum += head.log_decay(first + i);
        *total = sum;
    }
    read_state(head, first, state, solved, out);
    for i in 0..n {
        let t = first + i;
        let (decay, beta) = (total[i].exp(), head.beta(t));
        let (before, rest) = solved.split_at_mut(i * width);
        let row = &mut rest[..width];
        for (r, &v) in row.iter_mut().zip(head.v(t)) {
            *r = beta * (v - decay * *r);
        }
        for (j, earlier) in before.chunks_exact(width).enumerate() {
            let weight = beta * (total[i] - total[j]).exp() * dot(head.k(t), head.k(first + j));
            add_scaled(row, earlier, -weight);
        }
        let o = &mut out[i * width..(i + 1) * width];
        o.iter_mut().for_each(|o| *o *= decay);
        for (j, row) in solved[..(i + 1) * width].chunks_exact(width).enumerate() {
            let weight = (total[i] - total[j]).exp() * dot(head.q(t), head.k(first + j));
            add_scaled(o, row, weight);
        }
    }
    let weights: Vec<f32> = total[..n].iter().map(|g| (sum - g).exp()).collect();
    write_state(head, first, state, solved, &weights, sum.exp());
}

/// `keys[i] = Sᵀ k_i` and `queries[i] = Sᵀ q_i`: each state row is read once for the whole chunk.
fn read_state(head: &Head<'_>, first: usize, state: &[f32], keys: &mut [f32], queries: &mut [f32]) {
    let width = head.value_dim;
    keys.fill(0.0);
    queries.fill(0.0);
    for (r, rows) in state.chunks(4 * width).enumerate() {
        let (at, count) = (4 * r, rows.len() / width);
        for (i, (ko, qo)) in
            keys.chunks_exact_mut(width).zip(queries.chunks_exact_mut(width)).enumerate()
        {
            let (k, q) = (&head.k(first + i)[at..], &head.q(first + i)[at..]);
            add_rows(ko, rows, &k[..count]);
            add_rows(qo, rows, &q[..count]);
        }
    }
}

/// `S ← decay S + Σ_i weights[i] k_i solved_iᵀ`.
fn write_state(
    head: &Head<'_>,
    first: usize,
    state: &mut [f32],
    solved: &[f32],
    weights: &[f32],
    decay: f32,
) {
    let width = head.value_dim;
    let mut factors = [0f32; 4];
    for (r, row) in state.chunks_exact_mut(width).enumerate() {
        row.iter_mut().for_each(|s| *s *= decay);
        for (c, rows) in solved.chunks(4 * width).enumerate() {
            let count = rows.len() / width;
            for (f, factor) in factors[..count].iter_mut().enumerate() {
                let i = 4 * c + f;
                *factor = weights[i] * head.k(first + i)[r];
            }
            add_rows(row, rows, &factors[..count]);
        }
    }
}

/// `out += Σ_i factors[i] · rows[i]`; four rows a pass, so that `out` is loaded a quarter as often.
fn add_rows(out: &mut [f32], rows: &[f32], factors: &[f32]) {
    let width = out.len();
    if let (&[a, b, c, d], true) = (factors, rows.len() == 4 * width) {
        let (r0, rest) = rows.split_at(width);
        let (r1, rest) = rest.split_at(width);
        let (r2, r3) = rest.split_at(width);
        for ((((o, r0), r1), r2), r3) in out.iter_mut().zip(r0).zip(r1).zip(r2).zip(r3) {
            *o += a * r0 + b * r1 + c * r2 + d * r3;
        }
        return;
    }
    for (row, &factor) in rows.chunks_exact(width).zip(factors) {
        add_scaled(out, row, factor);
    }
}

fn add_scaled(out: &mut [f32], row: &[f32], factor: f32) {
    for (o, r) in out.iter_mut().zip(row) {
        *o += factor * r;
    }
}

/// Dot product with 8 partial sums, which the compiler can keep in vector registers.
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    const LANES: usize = 8;
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
