//! What `tessera debug` prints about the engine: tokens, templates, logits, greedy continuations.
//!
//! Here: the work, written to a given writer. Not here: arguments and exit codes (`cli.rs`), the
//! parser's cases (`parser.rs`). Invariant: these go through the same code as a request; nothing is
//! computed here that the engine computes otherwise.

use super::arch::{Model, Rows, Scan};
use super::error::EngineError;
use super::gguf::GgufFile;
use super::load::{self, EngineOptions};
use super::marked::MarkedText;
use super::template::Template;
use super::tokenizer::Tokenizer;
use serde::Serialize;
use serde_json::{Map, Value as Json};
use std::io::Write;
use std::path::Path;

/// The tokenizer of a model file. Errors: as in loading.
pub fn tokenizer(path: &Path) -> Result<Tokenizer, EngineError> {
    load::tokenizer(&GgufFile::open(path)?)
}

/// The model of a file, without its tokenizer. Errors: as in loading.
pub fn model(path: &Path, options: &EngineOptions) -> Result<Box<dyn Model>, EngineError> {
    let file = GgufFile::open(path)?;
    let device = load::device(&options.device)?;
    let mut model = super::arch::load(&file, &device, options.numerics, &mut |_, _| (), &|| false)?;
    if let Some(context) = options.context {
        model.set_context(context);
    }
    Ok(model)
}

/// A rendered prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rendered {
    /// The text.
    pub text: String,
    /// Its tokens; every spelling of a special counts as the special.
    pub ids: Vec<u32>,
}

/// Renders template variables (`messages`, `tools`, `enable_thinking` and so on) as they are.
///
/// Errors: the template refuses, or the text cannot be encoded.
pub fn render(
    template: &Template,
    tokenizer: &Tokenizer,
    variables: Map<String, Json>,
) -> Result<Rendered, EngineError> {
    let text = template.render_values(variables)?;
    let ids = tokenizer.encode_trusted(&text)?;
    Ok(Rendered { text, ids })
}

/// The chat template of a model file with its tokenizer, for [`render`]. Errors: as in loading.
pub fn template(
    path: &Path,
    replacement: Option<&str>,
) -> Result<(Template, Tokenizer), EngineError> {
    let file = GgufFile::open(path)?;
    let tokenizer = load::tokenizer(&file)?;
    let template = load::template(&file, &tokenizer, replacement)?;
    Ok((template, tokenizer))
}

/// Ids of `text`: with specials where it spells them, or all of it as plain text.
pub fn ids(tokenizer: &Tokenizer, text: &str, plain: bool) -> Result<Vec<u32>, EngineError> {
    if plain {
        tokenizer.encode_plain(text)
    } else {
        tokenizer.encode(&MarkedText(text.to_string()))
    }
}

/// How logits are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogitOptions {
    /// Tokens per forward pass; 0 is all at once.
    pub chunk: usize,
    /// Recurrent layers go token by token.
    pub recurrent: bool,
    /// Rows of all positions, not only of the last.
    pub all: bool,
}

/// Logits for `ids` from the empty state, row-major `[rows, vocab]`.
///
/// Errors: no tokens, an id outside the vocabulary, the context, the model.
pub fn logits(
    model: &mut dyn Model,
    ids: &[u32],
    options: LogitOptions,
) -> Result<Vec<f32>, EngineError> {
    model.reset();
    model.set_scan(if options.recurrent { Scan::Recurrent } else { Scan::Auto });
    let chunk = if options.chunk == 0 { ids.len().max(1) } else { options.chunk };
    let rows = if options.all { Rows::All } else { Rows::Last };
    let mut out = Vec::new();
    for part in ids.chunks(chunk) {
        let logits = model.forward(part, rows)?;
        if options.all {
            out.extend(logits);
        } else {
            out = logits;
        }
    }
    Ok(out)
}

/// Writes `[rows, columns]` f32 in NumPy's `.npy` format, version 1.0.
///
/// Source: `numpy.lib.format`: magic, version, header length, a Python dict padded with spaces so
/// that the data begins at a multiple of 64, little-endian data in row order.
pub fn write_npy(out: &mut dyn Write, columns: usize, data: &[f32]) -> std::io::Result<()> {
    let rows = data.len().checked_div(columns).unwrap_or(0);
    let dict =
        format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    // Ten bytes come before the header and a newline ends it.
    let padding = (64 - (10 + dict.len() + 1) % 64) % 64;
    let header = format!("{dict}{}\n", " ".repeat(padding));
    let length = u16::try_from(header.len()).map_err(std::io::Error::other)?;
    out.write_all(b"\x93NUMPY\x01\x00")?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(header.as_bytes())?;
    for value in data {
        out.write_all(&value.to_le_bytes())?;
    }
    Ok(())
}

/// The `count` likeliest tokens, one after the other, after `ids`; ends nowhere earlier.
///
/// Errors: as [`logits`].
pub fn greedy(
    model: &mut dyn Model,
    ids: &[u32],
    count: usize,
    options: LogitOptions,
) -> Result<Vec<u32>, EngineError> {
    let mut row = logits(model, ids, LogitOptions { all: false, ..options })?;
    let mut out = Vec::new();
    while out.len() < count {
        let token = argmax(&row);
        out.push(token);
        if out.len() < count {
            row = model.forward(&[token], Rows::Last)?;
        }
    }
    Ok(out)
}

/// The index of the greatest value, the first of equals.
pub fn argmax(row: &[f32]) -> u32 {
    let best = (0_u32..).zip(row).fold((0, f32::NEG_INFINITY), |best, (id, &logit)| {
        if logit > best.1 { (id, logit) } else { best }
    });
    best.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_npy_file_begins_its_data_at_a_multiple_of_64() {
        let mut out = Vec::new();
        write_npy(&mut out, 3, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        assert_eq!(&out[..8], b"\x93NUMPY\x01\x00");
        let length = usize::from(u16::from_le_bytes([out[8], out[9]]));
        assert_eq!((10 + length) % 64, 0);
        let header = std::str::from_utf8(&out[10..10 + length]).unwrap();
        assert!(header.contains("'shape': (2, 3)") && header.ends_with('\n'), "{header:?}");
        assert_eq!(out.len(), 10 + length + 24);
        assert_eq!(&out[out.len() - 4..], &6.0_f32.to_le_bytes());
    }

    #[test]
    fn argmax_takes_the_first_of_equals() {
        assert_eq!(argmax(&[1.0, 5.0, 5.0, -1.0]), 1);
    }
}
