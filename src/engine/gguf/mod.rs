//! The GGUF container: header, metadata and tensor table over a memory map.
//!
//! What lives here: reading and checking a file of unknown honesty. What does not: turning bytes
//! into weights (`weights.rs` here builds them, `arch` decides which). Invariant: after
//! [`GgufFile::open`] succeeds, [`GgufFile::bytes`] of any tensor of the table is in bounds, and no
//! length taken from the file was trusted before it was compared with the file's size.

mod half_dot;
mod metadata;
mod read;
mod types;
pub mod weights;

pub use metadata::{Metadata, Value};
pub use types::GgmlType;

use super::error::EngineError;
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};

/// One row of the tensor table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorInfo {
    /// Name, such as `blk.0.attn_q.weight`.
    pub name: String,
    /// Dimensions slowest first (candle's order): a matrix is `[out, in]`.
    pub shape: Vec<usize>,
    /// Element type.
    pub dtype: GgmlType,
    /// First byte of the data, counted from the start of the file.
    pub offset: usize,
    /// Bytes of the data.
    pub size: usize,
}

impl TensorInfo {
    /// Number of elements.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }
}

/// An open, checked GGUF file. The weights stay in the page cache; cloning is not possible, sharing is.
pub struct GgufFile {
    path: PathBuf,
    map: memmap2::Mmap,
    metadata: Metadata,
    tensors: Vec<TensorInfo>,
    index: HashMap<String, usize>,
}

impl GgufFile {
    /// Opens and checks `path`.
    ///
    /// Errors: not found, unreadable, bad magic, version, truncated, damaged, tensor outside.
    /// Tensors of unknown type are refused only when a loader asks for them.
    pub fn open(path: &Path) -> Result<Self, EngineError> {
        let file = File::open(path).map_err(|e| EngineError::from_io(path, e))?;
        // SAFETY: the map is read only. Another process may still shorten the file while it is
        // mapped (a read then raises SIGBUS); every engine that maps weights accepts that.
        let map =
            unsafe { memmap2::Mmap::map(&file) }.map_err(|e| EngineError::from_io(path, e))?;
        let parsed = read::parse(&map, path)?;
        let index = parsed.tensors.iter().enumerate().map(|(i, t)| (t.name.clone(), i)).collect();
        Ok(Self {
            path: path.to_path_buf(),
            map,
            metadata: parsed.metadata,
            tensors: parsed.tensors,
            index,
        })
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Size of the file in bytes.
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// Never true for an opened file; here because `len` is.
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// The whole file.
    pub(crate) fn raw(&self) -> &[u8] {
        &self.map
    }

    /// All metadata.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The architecture's name (`general.architecture`). Errors: missing key.
    pub fn architecture(&self) -> Result<&str, EngineError> {
        self.metadata.str("general.architecture")
    }

    /// The tensor table in file order.
    pub fn tensors(&self) -> &[TensorInfo] {
        &self.tensors
    }

    /// One tensor by name.
    pub fn tensor(&self, name: &str) -> Option<&TensorInfo> {
        self.index.get(name).and_then(|&i| self.tensors.get(i))
    }

    /// The data of a tensor of this file; empty for one that is not of this file's table.
    pub fn bytes(&self, tensor: &TensorInfo) -> &[u8] {
        let end = tensor.offset.saturating_add(tensor.size);
        self.map.get(tensor.offset..end).unwrap_or(&[])
    }
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
