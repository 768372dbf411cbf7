//! What a GGUF file says about its tokenizer, checked, before anything is built from it.
//!
//! Here: the `tokenizer.ggml.*` keys, the kinds of tokens, the byte alphabet, the pre-tokenizer
//! expressions. Not here: encoding and decoding (`tokenizer.rs`). Invariant: `tokens` and `kinds`
//! have the same length, and an id is an index into both.

use super::error::EngineError;
use super::gguf::Metadata;
use std::collections::HashMap;

/// The two expressions of one pre-tokenizer family: how text is cut before merging.
///
/// Source: the `tokenizer.json` of each family and llama.cpp's `llm_tokenizer_bpe`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PreTokenizer {
    /// Applied one after the other, matches isolated.
    pub patterns: &'static [&'static str],
    /// Whether text is brought to NFC first.
    pub nfc: bool,
    /// Whether a whole piece that is a token is taken without merging.
    pub whole_words: bool,
}

const QWEN35: PreTokenizer = PreTokenizer {
    patterns: &[concat!(
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}|",
        r" ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    )],
    nfc: true,
    whole_words: false,
};

const QWEN2: PreTokenizer = PreTokenizer {
    patterns: &[concat!(
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|",
        r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    )],
    nfc: true,
    whole_words: false,
};

const LLAMA3: PreTokenizer = PreTokenizer {
    patterns: &[concat!(
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|",
        r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    )],
    nfc: false,
    whole_words: true,
};

const GPT2_PATTERN: &str =
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";

const SMOLLM: PreTokenizer =
    PreTokenizer { patterns: &[r"\p{N}", GPT2_PATTERN], nfc: false, whole_words: false };

const GPT2: PreTokenizer =
    PreTokenizer { patterns: &[GPT2_PATTERN], nfc: false, whole_words: false };

impl PreTokenizer {
    /// The family `tokenizer.ggml.pre` names, if it is known.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "qwen35" => Some(QWEN35),
            "qwen2" | "qwen3" | "deepseek-r1-qwen" | "megrez" => Some(QWEN2),
            "llama-bpe" | "llama3" | "llama-v3" => Some(LLAMA3),
            "smollm" | "starcoder" | "codeshell" => Some(SMOLLM),
            "gpt-2" | "gpt2" => Some(GPT2),
            _ => None,
        }
    }

    /// What a file of this architecture most likely uses when it does not say.
    fn of_architecture(architecture: &str) -> Self {
        match architecture {
            "qwen35" => QWEN35,
            "qwen2" | "qwen3" => QWEN2,
            _ => GPT2,
        }
    }
}

/// What a token is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A piece of text.
    Normal,
    /// A control token such as `<|im_end|>`; never part of visible text.
    Control,
    /// Written by the model as part of its text, but one token: `<think>`, `<tool_call>`.
    UserDefined,
    /// A padding row of the embedding; must never be sampled.
    Unused,
}

impl Kind {
    /// From `tokenizer.ggml.token_type`.
    fn from_gguf(value: i64) -> Self {
        match value {
            2 | 3 => Self::Control,
            4 => Self::UserDefined,
            5 => Self::Unused,
            _ => Self::Normal,
        }
    }
}

/// Everything a tokenizer is built from.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    /// Token strings in the byte alphabet of GPT-2 (added tokens: as they are), by id.
    pub tokens: Vec<String>,
    /// What each token is for, by id.
    pub kinds: Vec<Kind>,
    /// Pairs to merge, most urgent first.
    pub merges: Vec<(String, String)>,
    /// How text is cut before merging.
    pub pre: PreTokenizer,
    /// Ids the file names as end of a turn or text.
    pub ends: Vec<u32>,
    /// The token a template may print first.
    pub bos: Option<u32>,
    /// What was guessed, one sentence each.
    pub warnings: Vec<String>,
}

impl Vocabulary {
    /// Reads the tokenizer keys of a GGUF file.
    ///
    /// Errors: a key that is missing or of the wrong type, a tokenizer that is not byte-level BPE,
    /// lists of different lengths.
    pub fn from_gguf(metadata: &Metadata) -> Result<Self, EngineError> {
        let tokens = metadata.strings("tokenizer.ggml.tokens")?.to_vec();
        let model = metadata.opt_str("tokenizer.ggml.model")?.unwrap_or("gpt2");
        if model != "gpt2" {
            return Err(EngineError::Tokenizer {
                detail: format!(
                    "only byte-level BPE ('gpt2') is supported and this one is '{model}', so \
                     another model is needed"
                ),
            });
        }
        let kinds = kinds(metadata, tokens.len())?;
        let merges = merges(metadata.strings("tokenizer.ggml.merges")?)?;
        let mut warnings = Vec::new();
        let pre = pre_tokenizer(metadata, &mut warnings)?;
        let id = |key: &str| -> Result<Option<u32>, EngineError> {
            Ok(metadata.opt_usize(key)?.and_then(|id| u32::try_from(id).ok()))
        };
        let ends = ["eos", "eot", "eom"]
            .iter()
            .filter_map(|end| id(&format!("tokenizer.ggml.{end}_token_id")).transpose())
            .collect::<Result<_, _>>()?;
        let bos = id("tokenizer.ggml.bos_token_id")?;
        Ok(Self { tokens, kinds, merges, pre, ends, bos, warnings })
    }
}

fn kinds(metadata: &Metadata, tokens: usize) -> Result<Vec<Kind>, EngineError> {
    let key = "tokenizer.ggml.token_type";
    let types = metadata
        .opt_integers(key)?
        .ok_or_else(|| EngineError::MissingKey { key: key.to_string() })?;
    if types.len() != tokens {
        return Err(EngineError::BadKey {
            key: key.to_string(),
            what: format!("expected {tokens} entries, found {}", types.len()),
        });
    }
    Ok(types.into_iter().map(Kind::from_gguf).collect())
}

fn merges(lines: &[String]) -> Result<Vec<(String, String)>, EngineError> {
    lines
        .iter()
        .map(|line| {
            // The first token of a pair may be a single space's letter but never a space itself.
            line.split_once(' ').map(|(a, b)| (a.to_string(), b.to_string())).ok_or_else(|| {
                EngineError::BadKey {
                    key: "tokenizer.ggml.merges".to_string(),
                    what: format!("'{line}' is not a pair"),
                }
            })
        })
        .collect()
}

fn pre_tokenizer(
    metadata: &Metadata,
    warnings: &mut Vec<String>,
) -> Result<PreTokenizer, EngineError> {
    let name = metadata.opt_str("tokenizer.ggml.pre")?.unwrap_or("default");
    if let Some(known) = PreTokenizer::named(name) {
        return Ok(known);
    }
    let architecture = metadata.opt_str("general.architecture")?.unwrap_or("");
    warnings.push(format!(
        "the pre-tokenizer '{name}' is unknown; the one usual for '{architecture}' is used, and \
         answers may be worse if it does not fit"
    ));
    Ok(PreTokenizer::of_architecture(architecture))
}

/// The letters that stand for bytes in token strings, and back.
///
/// Source: `bytes_to_unicode` of GPT-2: printable Latin-1 stands for itself, the other 68 bytes for
/// U+0100 upwards in byte order.
pub fn byte_alphabet() -> HashMap<char, u8> {
    let mut next = 0x100;
    (0..=255_u8)
        .map(|byte| {
            let itself = matches!(byte, 33..=126 | 161..=172 | 174..=255);
            let letter = if itself {
                char::from(byte)
            } else {
                next += 1;
                char::from_u32(next - 1).unwrap_or('\u{fffd}')
            };
            (letter, byte)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_its_own_letter() {
        let alphabet = byte_alphabet();
        assert_eq!(alphabet.len(), 256);
        for (letter, byte) in [('Ġ', b' '), ('Ċ', b'\n'), ('ĉ', b'\t'), ('A', b'A'), ('ÿ', 255)]
        {
            assert_eq!(alphabet.get(&letter), Some(&byte), "{letter}");
        }
    }

    #[test]
    fn a_merge_line_without_a_space_is_refused() {
        assert!(merges(&["ab".into()]).is_err());
        assert_eq!(merges(&["Ġ a".into()]).unwrap(), [("Ġ".into(), "a".into())]);
    }
}
