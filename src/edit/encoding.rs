//! Which encodings a file's bytes may be in, and where its characters begin.
//!
//! Text is UTF-8 unless the bytes say otherwise: a UTF-16 byte order mark, else one of four two-byte
//! legacy encodings, else ASCII with unknown bytes in between. Invariant: every byte belongs to
//! exactly one character of the decoded text, so that untouched bytes are copied and never encoded anew.

use encoding_rs::{BIG5, EUC_KR, Encoding, GBK, SHIFT_JIS};

/// How the bytes of a file are read as text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Codec {
    /// Valid UTF-8, with or without a byte order mark.
    Utf8,
    /// UTF-8 with some invalid bytes, which stay as they are.
    BrokenUtf8,
    /// Little-endian, by its byte order mark.
    Utf16Le,
    /// Big-endian, by its byte order mark.
    Utf16Be,
    /// ASCII; all other bytes, and second bytes of what may be a two-byte character, are opaque.
    Opaque,
    /// One of the four legacy encodings.
    Legacy(&'static Encoding),
}

impl Codec {
    /// For messages and reports.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::BrokenUtf8 => "UTF-8 with invalid bytes",
            Self::Utf16Le => "UTF-16LE",
            Self::Utf16Be => "UTF-16BE",
            Self::Opaque => "an unknown encoding",
            Self::Legacy(encoding) => encoding.name(),
        }
    }
}

/// What the first look at the bytes tells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// One codec, for certain.
    Certain(Codec),
    /// Not UTF-8 and no byte order mark.
    Unknown,
    /// NUL bytes.
    Binary,
}

pub(super) const UTF8_BOM: &[u8] = b"\xef\xbb\xbf";
const UTF16LE_BOM: &[u8] = b"\xff\xfe";
const UTF16BE_BOM: &[u8] = b"\xfe\xff";
/// UTF-32 begins like UTF-16LE and goes on with NULs; it is not supported.
const UTF32LE_BOM: &[u8] = b"\xff\xfe\0\0";

/// First look at the bytes of a file.
pub(super) fn kind(bytes: &[u8]) -> Kind {
    if bytes.starts_with(UTF16LE_BOM) && !bytes.starts_with(UTF32LE_BOM) {
        return Kind::Certain(Codec::Utf16Le);
    }
    if bytes.starts_with(UTF16BE_BOM) {
        return Kind::Certain(Codec::Utf16Be);
    }
    match std::str::from_utf8(bytes) {
        _ if bytes.contains(&0) => Kind::Binary,
        Ok(_) => Kind::Certain(Codec::Utf8),
        Err(_) => Kind::Unknown,
    }
}

/// Length of the byte order mark that `bytes` begin with, which is not part of the text.
pub(super) fn bom_len(bytes: &[u8], codec: Codec) -> usize {
    let mark: &[u8] = match codec {
        Codec::Utf16Le => UTF16LE_BOM,
        Codec::Utf16Be => UTF16BE_BOM,
        Codec::Utf8 | Codec::BrokenUtf8 => UTF8_BOM,
        Codec::Opaque | Codec::Legacy(_) => return 0,
    };
    if bytes.starts_with(mark) { mark.len() } else { 0 }
}

/// The legacy encodings in which the whole file decodes without an error.
pub(super) fn candidates(bytes: &[u8]) -> Vec<&'static Encoding> {
    let decodes = |encoding: &&'static Encoding| {
        encoding.decode_without_bom_handling_and_without_replacement(bytes).is_some()
    };
    [GBK, SHIFT_JIS, EUC_KR, BIG5].into_iter().filter(decodes).collect()
}

/// True for a file that is UTF-8 but for a few bytes: more valid multi-byte characters than bad bytes.
pub(super) fn is_mostly_utf8(bytes: &[u8]) -> bool {
    let (mut good, mut bad) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        good += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        bad += chunk.invalid().len();
    }
    good > bad
}

/// A character that stands for a byte without meaning; plane 16 private use, so that no text has it.
pub(super) fn opaque(byte: u8) -> char {
    char::from_u32(OPAQUE_FIRST + u32::from(byte)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// True for what [`opaque`] gives.
pub(super) fn is_opaque(c: char) -> bool {
    (c as u32) >= OPAQUE_FIRST
}

const OPAQUE_FIRST: u32 = 0x0010_ff00;

/// Length of the character that begins at `at`, in a text known to decode.
fn legacy_len(encoding: &'static Encoding, bytes: &[u8], at: usize) -> usize {
    let lead = bytes[at];
    let next = bytes.get(at + 1).copied().unwrap_or(0);
    let len = if encoding == SHIFT_JIS {
        if matches!(lead, 0..=0x80 | 0xa0..=0xdf | 0xfd..=0xff) { 1 } else { 2 }
    } else if lead <= 0x80 || lead == 0xff {
        1
    } else if encoding == GBK && next.is_ascii_digit() {
        4 // GB 18030, which decodes as a superset of GBK
    } else {
        2
    };
    len.min(bytes.len() - at)
}

/// The characters of `bytes` (without byte order mark) and the number of bytes each takes.
pub(super) fn characters(bytes: &[u8], codec: Codec) -> Vec<(char, usize)> {
    match codec {
        Codec::Utf8 | Codec::BrokenUtf8 => utf8_characters(bytes),
        Codec::Utf16Le => utf16_characters(bytes, u16::from_le_bytes),
        Codec::Utf16Be => utf16_characters(bytes, u16::from_be_bytes),
        Codec::Opaque => opaque_characters(bytes),
        Codec::Legacy(encoding) => legacy_characters(bytes, encoding),
    }
}

fn utf8_characters(bytes: &[u8]) -> Vec<(char, usize)> {
    let mut out = Vec::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.extend(chunk.valid().chars().map(|c| (c, c.len_utf8())));
        out.extend(chunk.invalid().iter().map(|&byte| (opaque(byte), 1)));
    }
    out
}

fn utf16_characters(bytes: &[u8], read: fn([u8; 2]) -> u16) -> Vec<(char, usize)> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let mut out: Vec<(char, usize)> = char::decode_utf16(pairs.iter().map(|pair| read(*pair)))
        .map(|unit| match unit {
            Ok(c) => (c, 2 * c.len_utf16()),
            // A lone surrogate (0xd800..=0xdfff): opaque, told apart by its high byte only.
            Err(lone) => (opaque((lone.unpaired_surrogate() >> 8) as u8), 2),
        })
        .collect();
    out.extend(rest.iter().map(|&byte| (opaque(byte), 1)));
    out
}

fn opaque_characters(bytes: &[u8]) -> Vec<(char, usize)> {
    let mut second = vec![false; bytes.len()];
    for encoding in candidates(bytes) {
        let mut at = 0;
        while at < bytes.len() {
            let len = legacy_len(encoding, bytes, at);
            second[at + 1..at + len].fill(true);
            at += len;
        }
    }
    let character = |(&byte, second): (&u8, bool)| match byte.is_ascii() && !second {
        true => (char::from(byte), 1),
        false => (opaque(byte), 1),
    };
    bytes.iter().zip(second).map(character).collect()
}

fn legacy_characters(bytes: &[u8], encoding: &'static Encoding) -> Vec<(char, usize)> {
    let (text, _) = encoding.decode_without_bom_handling(bytes);
    let mut chars = text.chars().peekable();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let len = legacy_len(encoding, bytes, at);
        let Some(c) = chars.next() else { break };
        // Four Big5 codes stand for a letter and a combining mark: 0x8862 0x8864 0x88a3 0x88a5.
        let mark = match &bytes[at..at + len] {
            [0x88, 0x62 | 0x64 | 0xa3 | 0xa5] if encoding == BIG5 => chars.next(),
            _ => None,
        };
        out.push((c, len));
        out.extend(mark.map(|mark| (mark, 0)));
        at += len;
    }
    out
}

/// Bytes of a file as text, for showing it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// Without byte order mark; U+FFFD for bytes without meaning.
    pub text: String,
    /// Name of the encoding, the likeliest where several fit.
    pub encoding: &'static str,
    /// True if the text can be written back as it is only in part: bytes without meaning or an
    /// encoding that is a guess.
    pub uncertain: bool,
}

/// Reads a file's bytes as text for showing it to the model or the person; `None` for binary.
pub fn decode(bytes: &[u8]) -> Option<Decoded> {
    let codec = display_codec(bytes)?;
    let fits = matches!(kind(bytes), Kind::Certain(_)) || candidates(bytes).len() == 1;
    let mut uncertain = !fits;
    let body = &bytes[bom_len(bytes, codec)..];
    let text = match codec {
        Codec::Utf8 => String::from_utf8_lossy(body).into_owned(),
        _ => characters(body, codec)
            .into_iter()
            .map(|(c, _)| {
                uncertain |= is_opaque(c);
                if is_opaque(c) { char::REPLACEMENT_CHARACTER } else { c }
            })
            .collect(),
    };
    Some(Decoded { text, encoding: codec.name(), uncertain })
}

/// The codec in which a file is shown; `None` for binary.
pub(super) fn display_codec(bytes: &[u8]) -> Option<Codec> {
    match kind(bytes) {
        Kind::Certain(codec) => Some(codec),
        Kind::Binary => None,
        Kind::Unknown if is_mostly_utf8(bytes) => Some(Codec::BrokenUtf8),
        Kind::Unknown => {
            let best = candidates(bytes).into_iter().max_by_key(|c| plausibility(bytes, c));
            Some(best.map_or(Codec::BrokenUtf8, Codec::Legacy))
        }
    }
}

/// How much the text looks like one written in `encoding`: everyday characters less rare ones.
/// The ranges are the first levels of GB 2312, JIS X 0208, KS X 1001 and Big5.
fn plausibility(bytes: &[u8], encoding: &'static Encoding) -> i64 {
    let (mut at, mut score) = (0, 0);
    while at < bytes.len() {
        let len = legacy_len(encoding, bytes, at);
        let lead = bytes[at];
        let second = bytes.get(at + 1).copied().unwrap_or(0);
        let common = if encoding == GBK {
            matches!((lead, second), (0xa1..=0xa3 | 0xb0..=0xd7, 0xa1..))
        } else if encoding == SHIFT_JIS {
            matches!(lead, 0x81..=0x83 | 0x88..=0x97)
        } else if encoding == EUC_KR {
            matches!((lead, second), (0xa1..=0xa3 | 0xb0..=0xc8, 0xa1..))
        } else {
            matches!(lead, 0xa1..=0xa3)
                || matches!((lead, second), (0xa4..=0xc6, 0x40..=0x7e | 0xa1..))
        };
        score += match (lead.is_ascii(), common && len == 2) {
            (true, _) => 0,
            (false, true) => 1,
            (false, false) => -2,
        };
        at += len;
    }
    score
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_belongs_to_one_character() {
        for (encoding, text) in [
            (GBK, "名称：测试 abc\n数量"),
            (SHIFT_JIS, "表示する\nファイル名 ｶﾅ"),
            (EUC_KR, "이름: 시험"),
            (BIG5, "測試 檔案"),
        ] {
            let (bytes, _, _) = encoding.encode(text);
            let chars = legacy_characters(&bytes, encoding);
            assert_eq!(chars.iter().map(|(c, _)| c).collect::<String>(), text);
            assert_eq!(chars.iter().map(|(_, len)| len).sum::<usize>(), bytes.len());
            assert_eq!(decode(&bytes).unwrap().text, text, "{}", encoding.name());
        }
    }

    #[test]
    fn second_bytes_that_look_like_ascii_are_opaque() {
        let chars = opaque_characters(b"x = \"\x95\\\";\n");
        assert!(is_opaque(chars[5].0) && is_opaque(chars[6].0));
        assert_eq!(chars[7].0, '"');
    }

    #[test]
    fn nul_is_binary_but_for_utf16() {
        assert_eq!(kind(b"a\0b"), Kind::Binary);
        assert_eq!(kind(b"\xff\xfea\0"), Kind::Certain(Codec::Utf16Le));
        assert_eq!(kind(b"\xff\xfe\0\0a\0\0\0"), Kind::Binary);
        assert_eq!(decode(b"\0"), None);
    }
}
