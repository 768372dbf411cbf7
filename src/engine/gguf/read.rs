//! From bytes to metadata and tensor table.
//!
//! The file may be hostile: every length is compared with what is left of the file before anything
//! is allocated, nesting and element counts are bounded, arithmetic is checked. Format: GGUF v2 and
//! v3 little endian (ggml `docs/gguf.md`).

use super::metadata::{Array, Metadata, Value};
use super::{GgmlType, TensorInfo};
use crate::engine::error::EngineError;
use std::collections::HashSet;
use std::path::Path;

/// Longest key or tensor name, in bytes; the format's own limit is 65535.
const MAX_NAME: u64 = 65_535;
/// Deepest nesting of metadata arrays.
const MAX_DEPTH: usize = 8;
/// Most array elements in all metadata; real files stay below two million.
const MAX_ELEMENTS: u64 = 1 << 24;
/// Most tensor dimensions (ggml's limit).
const MAX_DIMS: u32 = 4;
/// Fewest bytes a metadata pair takes: key length, type, one byte.
const MIN_PAIR: u64 = 13;
/// Fewest bytes a tensor row takes: name length, dimension count, type, offset.
const MIN_TENSOR: u64 = 24;

/// What [`parse`] found.
pub(super) struct Parsed {
    pub(super) metadata: Metadata,
    pub(super) tensors: Vec<TensorInfo>,
}

/// Reads everything but the tensor data. `path` is for messages only.
pub(super) fn parse(bytes: &[u8], path: &Path) -> Result<Parsed, EngineError> {
    let mut cursor = Cursor { bytes, at: 0, elements: 0 };
    check_magic(&mut cursor, path)?;
    let tensor_count = cursor.u64("header")?;
    let pair_count = cursor.u64("header")?;
    cursor.check_count(pair_count, MIN_PAIR, "metadata")?;
    let metadata = read_metadata(&mut cursor, pair_count)?;
    cursor.check_count(tensor_count, MIN_TENSOR, "tensor table")?;
    let rows = read_rows(&mut cursor, tensor_count)?;
    let tensors = place(rows, alignment(&metadata)?, cursor.at as u64, bytes.len() as u64)?;
    Ok(Parsed { metadata, tensors })
}

fn check_magic(cursor: &mut Cursor<'_>, path: &Path) -> Result<(), EngineError> {
    let head = cursor.bytes.get(..4).unwrap_or(cursor.bytes);
    if head != b"GGUF" {
        let found = match head {
            [] => "the file is empty".to_string(),
            b"<!DO" | b"<htm" | b"<HTM" => "it is a web page".to_string(),
            b"vers" => "it is a Git LFS pointer: run git lfs pull".to_string(),
            other => format!("it begins with bytes {other:02x?}"),
        };
        return Err(EngineError::BadMagic { path: path.to_path_buf(), found });
    }
    cursor.at = 4;
    match cursor.u32("header")? {
        2 | 3 => Ok(()),
        v if (1..=0xffff).contains(&v.swap_bytes()) => Err(EngineError::BigEndian),
        version => Err(EngineError::Version { version }),
    }
}

fn read_metadata(cursor: &mut Cursor<'_>, count: u64) -> Result<Metadata, EngineError> {
    let mut metadata = Metadata::default();
    for _ in 0..count {
        let key = cursor.name("metadata key")?;
        let kind = cursor.u32("metadata type")?;
        let value = cursor.value(kind, &key)?;
        if metadata.values.insert(key.clone(), value).is_some() {
            return Err(damaged(format!("metadata key '{key}' appears twice")));
        }
    }
    Ok(metadata)
}

/// A table row whose offset is still relative to the data section.
struct Row {
    name: String,
    shape: Vec<usize>,
    dtype: GgmlType,
    offset: u64,
}

fn read_rows(cursor: &mut Cursor<'_>, count: u64) -> Result<Vec<Row>, EngineError> {
    let mut rows = Vec::with_capacity(count as usize);
    let mut seen = HashSet::with_capacity(count as usize);
    for _ in 0..count {
        let name = cursor.name("tensor name")?;
        let dims = cursor.u32("tensor table")?;
        if dims > MAX_DIMS {
            return Err(damaged(format!("tensor {name} has {dims} dimensions")));
        }
        let mut shape = Vec::with_capacity(dims as usize);
        for _ in 0..dims {
            let n = cursor.u64("tensor table")?;
            shape
                .push(usize::try_from(n).map_err(|_| damaged(format!("tensor {name}: size {n}")))?);
        }
        shape.reverse();
        let dtype = GgmlType::from_id(cursor.u32("tensor table")?);
        let offset = cursor.u64("tensor table")?;
        if !seen.insert(name.clone()) {
            return Err(damaged(format!("tensor {name} appears twice")));
        }
        rows.push(Row { name, shape, dtype, offset });
    }
    Ok(rows)
}

fn alignment(metadata: &Metadata) -> Result<u64, EngineError> {
    let n = metadata.opt_usize("general.alignment")?.unwrap_or(32);
    if !n.is_power_of_two() || !(8..=1 << 20).contains(&n) {
        return Err(damaged(format!("general.alignment is {n}")));
    }
    Ok(n as u64)
}

fn place(rows: Vec<Row>, align: u64, end: u64, file: u64) -> Result<Vec<TensorInfo>, EngineError> {
    let base = end.next_multiple_of(align);
    let mut needed = (base, String::new());
    let mut tensors = Vec::with_capacity(rows.len());
    for row in rows {
        let outside =
            |detail: String| EngineError::TensorOutside { tensor: row.name.clone(), detail };
        if !row.offset.is_multiple_of(align) {
            return Err(outside(format!("offset {} is not aligned to {align}", row.offset)));
        }
        let size = byte_size(&row)?;
        let start = base.checked_add(row.offset);
        let stop = start.and_then(|s| s.checked_add(size)).filter(|&s| s < i64::MAX as u64);
        let (Some(start), Some(stop)) = (start, stop) else {
            return Err(outside(format!("offset {}, {size} bytes", row.offset)));
        };
        if stop > needed.0 {
            needed = (stop, row.name.clone());
        }
        tensors.push(TensorInfo {
            name: row.name,
            shape: row.shape,
            dtype: row.dtype,
            offset: start as usize,
            size: size as usize,
        });
    }
    if needed.0 > file && !tensors.is_empty() {
        let what = if needed.1.is_empty() { "data".into() } else { format!("tensor {}", needed.1) };
        return Err(EngineError::Truncated { what, expected: needed.0, actual: file });
    }
    Ok(tensors)
}

/// Bytes of a tensor's data; 0 for an unknown type, which no loader accepts.
fn byte_size(row: &Row) -> Result<u64, EngineError> {
    let bad = |what: &str| damaged(format!("tensor {} {what}", row.name));
    let elements = row.shape.iter().try_fold(1u64, |n, &d| n.checked_mul(d as u64));
    let elements = elements.ok_or_else(|| bad("is too large"))?;
    let Some((block, bytes)) = row.dtype.block() else {
        return Ok(0);
    };
    let width = row.shape.last().copied().unwrap_or(1);
    if !width.is_multiple_of(block) {
        return Err(bad(&format!("has rows of {width}, which {} cannot hold", row.dtype)));
    }
    (elements / block as u64).checked_mul(bytes as u64).ok_or_else(|| bad("is too large"))
}

fn damaged(what: String) -> EngineError {
    EngineError::Damaged { what }
}

/// A position in the file that never passes its end.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    elements: u64,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, n: u64, what: &str) -> Result<&'a [u8], EngineError> {
        let end = usize::try_from(n).ok().and_then(|n| self.at.checked_add(n));
        match end.and_then(|end| self.bytes.get(self.at..end)) {
            Some(slice) => {
                self.at += slice.len();
                Ok(slice)
            }
            None => Err(EngineError::Truncated {
                what: what.to_string(),
                expected: (self.at as u64).saturating_add(n),
                actual: self.bytes.len() as u64,
            }),
        }
    }

    fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N], EngineError> {
        let slice = self.take(N as u64, what)?;
        slice.try_into().map_err(|_| damaged(what.to_string()))
    }

    fn u32(&mut self, what: &str) -> Result<u32, EngineError> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    fn u64(&mut self, what: &str) -> Result<u64, EngineError> {
        Ok(u64::from_le_bytes(self.array(what)?))
    }

    /// Refuses a count that cannot be true because even the smallest items would not fit.
    fn check_count(&self, count: u64, min_bytes: u64, what: &str) -> Result<(), EngineError> {
        let needed = count.saturating_mul(min_bytes).saturating_add(self.at as u64);
        if needed > self.bytes.len() as u64 {
            return Err(EngineError::Truncated {
                what: format!("{what} of {count} entries"),
                expected: needed,
                actual: self.bytes.len() as u64,
            });
        }
        Ok(())
    }

    fn text(&mut self, what: &str) -> Result<String, EngineError> {
        let len = self.u64(what)?;
        Ok(String::from_utf8_lossy(self.take(len, what)?).into_owned())
    }

    fn name(&mut self, what: &str) -> Result<String, EngineError> {
        let len = self.u64(what)?;
        if len > MAX_NAME {
            return Err(damaged(format!("{what} of {len} bytes")));
        }
        Ok(String::from_utf8_lossy(self.take(len, what)?).into_owned())
    }

    fn value(&mut self, kind: u32, key: &str) -> Result<Value, EngineError> {
        Ok(match Kind::from_id(kind, key)? {
            Kind::Array => Value::Array(self.values(key, 0)?),
            Kind::Str => Value::Str(self.text(key)?),
            Kind::Bool => Value::Bool(self.array::<1>(key)? != [0]),
            Kind::Unsigned(n) => Value::Unsigned(self.unsigned(n, key)?),
            Kind::Signed(n) => Value::Signed(self.signed(n, key)?),
            Kind::Float(n) => Value::Float(self.float(n, key)?),
        })
    }

    fn values(&mut self, key: &str, depth: usize) -> Result<Array, EngineError> {
        if depth >= MAX_DEPTH {
            return Err(damaged(format!("metadata key '{key}' nests too deeply")));
        }
        let kind = Kind::from_id(self.u32(key)?, key)?;
        let count = self.u64(key)?;
        self.elements = self.elements.saturating_add(count);
        if self.elements > MAX_ELEMENTS {
            return Err(damaged(format!("metadata key '{key}' has {count} elements")));
        }
        self.check_count(count, kind.min_bytes(), key)?;
        let n = 0..count;
        Ok(match kind {
            Kind::Array => {
                Array::Nested(n.map(|_| self.values(key, depth + 1)).collect::<Result<_, _>>()?)
            }
            Kind::Str => Array::Str(n.map(|_| self.text(key)).collect::<Result<_, _>>()?),
            Kind::Bool => Array::Bool(
                n.map(|_| Ok(self.array::<1>(key)? != [0])).collect::<Result<_, EngineError>>()?,
            ),
            Kind::Unsigned(w) => {
                Array::Unsigned(n.map(|_| self.unsigned(w, key)).collect::<Result<_, _>>()?)
            }
            Kind::Signed(w) => {
                Array::Signed(n.map(|_| self.signed(w, key)).collect::<Result<_, _>>()?)
            }
            Kind::Float(w) => {
                Array::Float(n.map(|_| self.float(w, key)).collect::<Result<_, _>>()?)
            }
        })
    }

    /// A little-endian integer of `width` (1, 2, 4 or 8) bytes.
    fn unsigned(&mut self, width: u64, what: &str) -> Result<u64, EngineError> {
        let slice = self.take(width, what)?;
        Ok(slice.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b)))
    }

    fn signed(&mut self, width: u64, what: &str) -> Result<i64, EngineError> {
        let unused = 64 - 8 * width as u32;
        Ok(((self.unsigned(width, what)? << unused) as i64) >> unused)
    }

    fn float(&mut self, width: u64, what: &str) -> Result<f64, EngineError> {
        let bits = self.unsigned(width, what)?;
        Ok(if width == 4 { f64::from(f32::from_bits(bits as u32)) } else { f64::from_bits(bits) })
    }
}

/// Metadata value types; numbers carry their width in bytes.
#[derive(Clone, Copy)]
enum Kind {
    Unsigned(u64),
    Signed(u64),
    Float(u64),
    Bool,
    Str,
    Array,
}

impl Kind {
    fn from_id(id: u32, key: &str) -> Result<Self, EngineError> {
        Ok(match id {
            0 => Self::Unsigned(1),
            1 => Self::Signed(1),
            2 => Self::Unsigned(2),
            3 => Self::Signed(2),
            4 => Self::Unsigned(4),
            5 => Self::Signed(4),
            6 => Self::Float(4),
            7 => Self::Bool,
            8 => Self::Str,
            9 => Self::Array,
            10 => Self::Unsigned(8),
            11 => Self::Signed(8),
            12 => Self::Float(8),
            other => {
                return Err(damaged(format!("metadata key '{key}' has value type {other}")));
            }
        })
    }

    /// Fewest bytes one element takes in the file.
    fn min_bytes(self) -> u64 {
        match self {
            Self::Unsigned(n) | Self::Signed(n) | Self::Float(n) => n,
            Self::Bool => 1,
            Self::Str => 8,
            Self::Array => 12,
        }
    }
}
