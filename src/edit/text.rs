//! A file as text with the way back to its bytes, and the choice of the encoding to edit it in.
//!
//! Invariant: a splice replaces exactly the bytes of its range; everything else is copied.

use super::encoding::{self, Codec, Kind};
use super::{EditError, ErrorCode};
use std::borrow::Cow;
use std::ops::Range;

/// Decoded text, without byte order mark.
pub(super) struct Text<'b> {
    bytes: &'b [u8],
    pub(super) codec: Codec,
    /// Length of the byte order mark.
    pub(super) bom: usize,
    pub(super) text: Cow<'b, str>,
    /// Byte offset of every byte of `text` and of its end; `None` where they differ by `bom` only.
    offsets: Option<Vec<usize>>,
}

/// One replacement in decoded text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Splice {
    pub(super) range: Range<usize>,
    pub(super) text: String,
}

impl<'b> Text<'b> {
    pub(super) fn decode(bytes: &'b [u8], codec: Codec) -> Self {
        let bom = encoding::bom_len(bytes, codec);
        if codec == Codec::Utf8 {
            let text = String::from_utf8_lossy(&bytes[bom..]);
            return Self { bytes, codec, bom, text, offsets: None };
        }
        let mut text = String::with_capacity(bytes.len());
        let mut offsets = Vec::with_capacity(bytes.len() + 1);
        let mut at = bom;
        for (c, len) in encoding::characters(&bytes[bom..], codec) {
            text.push(c);
            offsets.resize(text.len(), at);
            at += len;
        }
        offsets.push(bytes.len());
        Self { bytes, codec, bom, text: Cow::Owned(text), offsets: Some(offsets) }
    }

    fn offset(&self, at: usize) -> usize {
        match &self.offsets {
            Some(offsets) => offsets[at],
            None => at + self.bom,
        }
    }

    /// The file's bytes with `splices` (sorted, not overlapping) carried out.
    ///
    /// # Errors
    /// `encoding` if a replacement cannot be written in the file's encoding.
    pub(super) fn splice(&self, splices: &[Splice]) -> Result<Vec<u8>, EditError> {
        let mut out = Vec::with_capacity(self.bytes.len());
        let mut done = 0;
        for splice in splices {
            out.extend_from_slice(&self.bytes[done..self.offset(splice.range.start)]);
            self.encode(&splice.text, &mut out)?;
            done = self.offset(splice.range.end);
        }
        out.extend_from_slice(&self.bytes[done..]);
        Ok(out)
    }

    /// A whole new text in the file's encoding, with its byte order mark.
    ///
    /// # Errors
    /// `encoding` if it cannot be written in the file's encoding.
    pub(super) fn replace_all(&self, text: &str) -> Result<Vec<u8>, EditError> {
        let mut out = self.bytes[..self.bom].to_vec();
        self.encode(text, &mut out)?;
        Ok(out)
    }

    fn encode(&self, text: &str, out: &mut Vec<u8>) -> Result<(), EditError> {
        match self.codec {
            Codec::Utf8 | Codec::BrokenUtf8 => out.extend_from_slice(text.as_bytes()),
            Codec::Utf16Le => out.extend(text.encode_utf16().flat_map(u16::to_le_bytes)),
            Codec::Utf16Be => out.extend(text.encode_utf16().flat_map(u16::to_be_bytes)),
            Codec::Opaque if text.is_ascii() => out.extend_from_slice(text.as_bytes()),
            Codec::Opaque => return Err(unknown_encoding()),
            Codec::Legacy(encoding) => {
                let (bytes, _, failed) = encoding.encode(text);
                if failed {
                    let message = format!(
                        "the file is {}, which has no {}; use other characters",
                        encoding.name(),
                        first_unwritable(encoding, text)
                    );
                    return Err(EditError::new(ErrorCode::Encoding, message));
                }
                out.extend_from_slice(&bytes);
            }
        }
        Ok(())
    }
}

fn first_unwritable(encoding: &'static encoding_rs::Encoding, text: &str) -> String {
    let mut buffer = [0; 4];
    let fails = |c: &char| encoding.encode(c.encode_utf8(&mut buffer)).2;
    match text.chars().find(fails) {
        Some(c) => format!("`{c}` (U+{:04X})", c as u32),
        None => "such character".to_owned(),
    }
}

fn unknown_encoding() -> EditError {
    EditError::new(
        ErrorCode::Encoding,
        "the file is not UTF-8 and its encoding is not certain: only ASCII text can be found and \
         written in it",
    )
}

/// Runs `attempt` on the file read in the encoding that fits: the only one, or, for `ascii` requests
/// on files of unknown encoding, with all other bytes opaque, or else in the one legacy encoding in
/// which the attempt succeeds.
///
/// # Errors
/// `binary`; `encoding` where no encoding or more than one fits; what `attempt` gives.
pub(super) fn in_encoding<T>(
    bytes: &[u8],
    ascii: bool,
    attempt: &dyn Fn(&Text) -> Result<T, EditError>,
) -> Result<T, EditError> {
    match encoding::kind(bytes) {
        Kind::Certain(codec) => attempt(&Text::decode(bytes, codec)),
        Kind::Binary => Err(EditError::new(
            ErrorCode::Binary,
            "the file is binary (it holds NUL bytes); text edits cannot change it",
        )),
        Kind::Unknown if ascii => attempt(&Text::decode(bytes, Codec::Opaque)),
        Kind::Unknown => in_legacy(bytes, attempt),
    }
}

fn in_legacy<T>(
    bytes: &[u8],
    attempt: &dyn Fn(&Text) -> Result<T, EditError>,
) -> Result<T, EditError> {
    let mut missed = None;
    let mut found = Vec::new();
    for encoding in encoding::candidates(bytes) {
        match attempt(&Text::decode(bytes, Codec::Legacy(encoding))) {
            Err(error) if error.code == ErrorCode::NotFound => missed = missed.or(Some(error)),
            // Found, even if something else is wrong with the request.
            result => found.push((encoding.name(), result)),
        }
    }
    let alike = found.windows(2).all(|pair| match pair {
        [(_, Err(a)), (_, Err(b))] => a.code == b.code,
        _ => false,
    });
    if found.len() > 1 && !alike {
        let names: Vec<&str> = found.iter().map(|(name, _)| *name).collect();
        let message = format!(
            "the file is not UTF-8 and may be {}; quote more of the non-ASCII text, so that only \
             one of them fits",
            names.join(" or ")
        );
        return Err(EditError::new(ErrorCode::Encoding, message));
    }
    match (found.pop(), missed) {
        (Some((_, result)), _) => result,
        (None, Some(missed)) => Err(missed),
        (None, None) if encoding::is_mostly_utf8(bytes) => {
            attempt(&Text::decode(bytes, Codec::BrokenUtf8))
        }
        (None, None) => {
            // Other faults of the request come first; what is not ASCII cannot be found at all.
            match attempt(&Text::decode(bytes, Codec::Opaque)) {
                Err(error) if error.code != ErrorCode::NotFound => Err(error),
                Ok(_) | Err(_) => Err(unknown_encoding()),
            }
        }
    }
}
