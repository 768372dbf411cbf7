//! Metadata values and getters that name the key when they fail.
//!
//! Integers are widened to 64 bits and floats to `f64` while reading; the original width is not
//! kept because no consumer needs it. Parsing bytes is in `read.rs`.

use crate::engine::error::EngineError;
use std::collections::BTreeMap;

/// One metadata value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// u8, u16, u32, u64.
    Unsigned(u64),
    /// i8, i16, i32, i64.
    Signed(i64),
    /// f32, f64.
    Float(f64),
    /// bool.
    Bool(bool),
    /// String; invalid UTF-8 was replaced.
    Str(String),
    /// An array.
    Array(Array),
}

/// A metadata array, typed so that a long one costs about what it costs in the file.
#[derive(Clone, Debug, PartialEq)]
pub enum Array {
    /// u8, u16, u32, u64.
    Unsigned(Vec<u64>),
    /// i8, i16, i32, i64.
    Signed(Vec<i64>),
    /// f32, f64.
    Float(Vec<f64>),
    /// bool.
    Bool(Vec<bool>),
    /// Strings.
    Str(Vec<String>),
    /// Arrays of arrays.
    Nested(Vec<Array>),
}

impl Array {
    /// Number of elements.
    pub fn len(&self) -> usize {
        match self {
            Self::Unsigned(v) => v.len(),
            Self::Signed(v) => v.len(),
            Self::Float(v) => v.len(),
            Self::Bool(v) => v.len(),
            Self::Str(v) => v.len(),
            Self::Nested(v) => v.len(),
        }
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Value {
    /// The kind in words, for messages.
    fn kind(&self) -> &'static str {
        match self {
            Self::Unsigned(_) | Self::Signed(_) => "an integer",
            Self::Float(_) => "a float",
            Self::Bool(_) => "a bool",
            Self::Str(_) => "a string",
            Self::Array(_) => "an array",
        }
    }
}

/// All metadata of a file, sorted by key.
///
/// `x(key)` getters fail with a missing-key error; `opt_x(key)` getters return `None` for an absent
/// key. Both fail with a bad-key error when the value has another type.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metadata {
    pub(super) values: BTreeMap<String, Value>,
}

impl Metadata {
    /// The raw value.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.values.get(key)
    }

    /// All pairs in key order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.values.iter().map(|(k, v)| (k.as_str(), v))
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// A string.
    pub fn str(&self, key: &str) -> Result<&str, EngineError> {
        self.opt_str(key)?.ok_or_else(|| missing(key))
    }

    /// A string, if there.
    pub fn opt_str(&self, key: &str) -> Result<Option<&str>, EngineError> {
        self.pick(key, "a string", |v| match v {
            Value::Str(s) => Some(s.as_str()),
            _ => None,
        })
    }

    /// A non-negative integer.
    pub fn usize(&self, key: &str) -> Result<usize, EngineError> {
        self.opt_usize(key)?.ok_or_else(|| missing(key))
    }

    /// A non-negative integer, if there.
    pub fn opt_usize(&self, key: &str) -> Result<Option<usize>, EngineError> {
        self.pick(key, "a non-negative integer", |v| match v {
            Value::Unsigned(n) => usize::try_from(*n).ok(),
            Value::Signed(n) => usize::try_from(*n).ok(),
            _ => None,
        })
    }

    /// A finite number; integers count.
    pub fn f32(&self, key: &str) -> Result<f32, EngineError> {
        self.opt_f32(key)?.ok_or_else(|| missing(key))
    }

    /// A finite number, if there; integers count.
    pub fn opt_f32(&self, key: &str) -> Result<Option<f32>, EngineError> {
        self.pick(key, "a finite number", |v| match v {
            Value::Float(x) => Some(*x as f32).filter(|x| x.is_finite()),
            Value::Unsigned(n) => Some(*n as f32),
            Value::Signed(n) => Some(*n as f32),
            _ => None,
        })
    }

    /// A bool, if there.
    pub fn opt_bool(&self, key: &str) -> Result<Option<bool>, EngineError> {
        self.pick(key, "a bool", |v| match v {
            Value::Bool(b) => Some(*b),
            _ => None,
        })
    }

    /// An array of strings.
    pub fn strings(&self, key: &str) -> Result<&[String], EngineError> {
        self.opt_strings(key)?.ok_or_else(|| missing(key))
    }

    /// An array of strings, if there.
    pub fn opt_strings(&self, key: &str) -> Result<Option<&[String]>, EngineError> {
        self.pick(key, "an array of strings", |v| match v {
            Value::Array(Array::Str(s)) => Some(s.as_slice()),
            Value::Array(other) if other.is_empty() => Some(&[]),
            _ => None,
        })
    }

    /// An array of integers, if there; bools count as 0 and 1.
    pub fn opt_integers(&self, key: &str) -> Result<Option<Vec<i64>>, EngineError> {
        self.pick(key, "an array of integers", |v| match v {
            Value::Array(Array::Unsigned(n)) => n.iter().map(|&n| i64::try_from(n).ok()).collect(),
            Value::Array(Array::Signed(n)) => Some(n.clone()),
            Value::Array(Array::Bool(b)) => Some(b.iter().map(|&b| i64::from(b)).collect()),
            _ => None,
        })
    }

    /// An array of bools, if there; integers count by being non-zero.
    pub fn opt_bools(&self, key: &str) -> Result<Option<Vec<bool>>, EngineError> {
        Ok(self.opt_integers(key)?.map(|v| v.into_iter().map(|n| n != 0).collect()))
    }

    /// An array of numbers, if there.
    pub fn opt_floats(&self, key: &str) -> Result<Option<Vec<f64>>, EngineError> {
        self.pick(key, "an array of numbers", |v| match v {
            Value::Array(Array::Float(x)) => Some(x.clone()),
            Value::Array(Array::Unsigned(n)) => Some(n.iter().map(|&n| n as f64).collect()),
            Value::Array(Array::Signed(n)) => Some(n.iter().map(|&n| n as f64).collect()),
            _ => None,
        })
    }

    fn pick<'a, T>(
        &'a self,
        key: &str,
        wanted: &str,
        convert: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, EngineError> {
        let Some(value) = self.values.get(key) else {
            return Ok(None);
        };
        convert(value).map(Some).ok_or_else(|| EngineError::BadKey {
            key: key.to_string(),
            what: format!("expected {wanted}, found {}", value.kind()),
        })
    }
}

fn missing(key: &str) -> EngineError {
    EngineError::MissingKey { key: key.to_string() }
}
