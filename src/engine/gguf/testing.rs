//! For tests only: where the fixture files are, and a writer for small GGUF files.

use std::path::{Path, PathBuf};

/// A file under `tests/fixtures/mini-qwen35`.
pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/mini-qwen35").join(name)
}

/// A file of the larger fixture set beside the repository, `None` (and a note) where it is absent.
pub(crate) fn shared_fixture(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("TESSERA_MODEL_FIXTURES").map(PathBuf::from);
    let root =
        root.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/model"));
    let path = root.join(name);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: {} is absent (set TESSERA_MODEL_FIXTURES)", path.display());
    None
}

/// Writes GGUF v3 with whatever it is told, valid or not.
#[derive(Default)]
pub(crate) struct Writer {
    pairs: Vec<u8>,
    pair_count: u64,
    rows: Vec<u8>,
    row_count: u64,
    data: Vec<u8>,
}

impl Writer {
    /// A key with a raw value of type `kind`.
    pub(crate) fn raw(mut self, key: &str, kind: u32, value: &[u8]) -> Self {
        put_text(&mut self.pairs, key);
        self.pairs.extend(kind.to_le_bytes());
        self.pairs.extend(value);
        self.pair_count += 1;
        self
    }

    /// A string.
    pub(crate) fn text(self, key: &str, value: &str) -> Self {
        let mut raw = Vec::new();
        put_text(&mut raw, value);
        self.raw(key, 8, &raw)
    }

    /// A u32.
    pub(crate) fn u32(self, key: &str, value: u32) -> Self {
        self.raw(key, 4, &value.to_le_bytes())
    }

    /// An f32.
    pub(crate) fn f32(self, key: &str, value: f32) -> Self {
        self.raw(key, 6, &value.to_le_bytes())
    }

    /// A tensor in ggml order (fastest dimension first) with `data`, aligned to 32 bytes.
    pub(crate) fn tensor(mut self, name: &str, ne: &[u64], kind: u32, data: &[u8]) -> Self {
        self.data.resize(self.data.len().next_multiple_of(32), 0);
        let offset = self.data.len() as u64;
        self.data.extend(data);
        self.row(name, ne, kind, offset)
    }

    /// A table row only.
    pub(crate) fn row(mut self, name: &str, ne: &[u64], kind: u32, offset: u64) -> Self {
        put_text(&mut self.rows, name);
        self.rows.extend((ne.len() as u32).to_le_bytes());
        ne.iter().for_each(|n| self.rows.extend(n.to_le_bytes()));
        self.rows.extend(kind.to_le_bytes());
        self.rows.extend(offset.to_le_bytes());
        self.row_count += 1;
        self
    }

    /// The file.
    pub(crate) fn finish(self) -> Vec<u8> {
        let mut out = b"GGUF".to_vec();
        out.extend(3u32.to_le_bytes());
        out.extend(self.row_count.to_le_bytes());
        out.extend(self.pair_count.to_le_bytes());
        out.extend(self.pairs);
        out.extend(self.rows);
        out.resize(out.len().next_multiple_of(32), 0);
        out.extend(self.data);
        out
    }
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u64).to_le_bytes());
    out.extend(text.as_bytes());
}

/// The same numbers on every run; splitmix64.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    /// The next 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// Evenly in [-1, 1).
    pub(crate) fn signed(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }
}
