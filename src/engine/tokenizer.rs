//! Text to token ids and back.
//!
//! Byte-level BPE by the `tokenizers` crate, built **without** added tokens: specials are inserted
//! by id where [`Markup`] finds them, so no text from outside can turn into one. Decoding is a table
//! of bytes, because a token may end inside a character. Not here: reading the file
//! (`vocabulary.rs`), streaming (`detokenizer.rs`). Invariant: `encode_plain` never returns the id of
//! a control or user-defined token.

use super::error::EngineError;
use super::marked::{MarkedText, Markup, Run};
use super::parser::Tag;
use super::vocabulary::{Kind, PreTokenizer, Vocabulary, byte_alphabet};
use std::collections::{BTreeSet, HashMap};
use tokenizers::models::bpe::{BPE, Vocab};
use tokenizers::normalizers::unicode::NFC;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{PreTokenizerWrapper, SplitDelimiterBehavior};

/// Tokens after which a model has said all it wants, whatever the file names as its end.
///
/// Source: llama.cpp's end-of-generation list, as far as byte-level BPE models use it.
const END_NAMES: &[&str] = &[
    "<|endoftext|>",
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end_of_text|>",
    "<|end|>",
    "<|fim_pad|>",
    "<|repo_name|>",
    "<|file_sep|>",
];

const TAGS: &[(&str, Tag)] = &[
    ("<think>", Tag::ThinkOpen),
    ("</think>", Tag::ThinkClose),
    ("<tool_call>", Tag::CallOpen),
    ("</tool_call>", Tag::CallClose),
    ("<tool_response>", Tag::ResponseOpen),
    ("</tool_response>", Tag::ResponseClose),
];

/// A tokenizer as a model file describes it.
pub struct Tokenizer {
    text: tokenizers::Tokenizer,
    /// Bytes of all tokens, one after the other.
    bytes: Vec<u8>,
    /// Where token `id` ends in `bytes`; it begins where the one before ends.
    ends_at: Vec<usize>,
    kinds: Vec<Kind>,
    specials: HashMap<String, u32>,
    markup: Markup,
    ends: BTreeSet<u32>,
    tags: HashMap<u32, Tag>,
    bos: Option<u32>,
    warnings: Vec<String>,
}

impl Tokenizer {
    /// Builds the tokenizer. Takes seconds for a vocabulary of 250 000 in an unoptimised build.
    ///
    /// Errors: merges that name unknown tokens.
    pub fn new(vocabulary: Vocabulary) -> Result<Self, EngineError> {
        let (bytes, ends_at) = byte_table(&vocabulary);
        let specials = specials(&vocabulary);
        let named = |name: &&str| specials.get(*name).copied();
        let ends = END_NAMES.iter().filter_map(named).chain(vocabulary.ends.iter().copied());
        let tags = TAGS.iter().filter_map(|(name, tag)| Some((named(name)?, *tag)));
        Ok(Self {
            bytes,
            ends_at,
            ends: ends.collect(),
            tags: tags.collect(),
            markup: Markup::new(specials.iter().map(|(name, id)| (name.clone(), *id))),
            specials,
            bos: vocabulary.bos,
            warnings: vocabulary.warnings.clone(),
            kinds: vocabulary.kinds.clone(),
            text: text_tokenizer(vocabulary).map_err(fault)?,
        })
    }

    /// The specials of this vocabulary, to protect text with.
    pub fn markup(&self) -> &Markup {
        &self.markup
    }

    /// Ids of a rendered prompt: specials where the template wrote them, text in between.
    ///
    /// Text is encoded in whole runs between specials, never cut where content meets template,
    /// because merging may reach across that border.
    pub fn encode(&self, prompt: &MarkedText) -> Result<Vec<u32>, EngineError> {
        let mut ids = Vec::new();
        for run in self.markup.runs(prompt) {
            match run {
                Run::Special(id) => ids.push(id),
                Run::Text(text) => ids.extend(self.encode_plain(&text)?),
            }
        }
        Ok(ids)
    }

    /// Ids of text that may hold specials; for text of our own only.
    pub fn encode_trusted(&self, text: &str) -> Result<Vec<u32>, EngineError> {
        self.encode(&MarkedText(text.to_string()))
    }

    /// Ids of text as text, whatever it spells.
    pub fn encode_plain(&self, text: &str) -> Result<Vec<u32>, EngineError> {
        let encoding = self.text.encode_fast(text, false).map_err(fault)?;
        Ok(encoding.get_ids().to_vec())
    }

    /// The bytes of one token; empty for an id outside the vocabulary.
    pub fn bytes(&self, id: u32) -> &[u8] {
        let id = id as usize;
        let Some(&end) = self.ends_at.get(id) else {
            return &[];
        };
        let start = id.checked_sub(1).and_then(|before| self.ends_at.get(before)).copied();
        self.bytes.get(start.unwrap_or(0)..end).unwrap_or(&[])
    }

    /// The text of tokens, specials spelled out; bytes that are no UTF-8 become U+FFFD.
    pub fn decode(&self, ids: &[u32]) -> String {
        let bytes: Vec<u8> = ids.iter().flat_map(|&id| self.bytes(id)).copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Number of tokens, padding included.
    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    /// Whether the vocabulary is empty.
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// The id of a special token by its spelling.
    pub fn special(&self, name: &str) -> Option<u32> {
        self.specials.get(name).copied()
    }

    /// Whether the model has ended its turn with this token.
    pub fn is_end(&self, id: u32) -> bool {
        self.ends.contains(&id)
    }

    /// All tokens for which [`Tokenizer::is_end`] holds.
    pub fn ends(&self) -> &BTreeSet<u32> {
        &self.ends
    }

    /// Whether this is a control token, which no reader should see.
    pub fn is_control(&self, id: u32) -> bool {
        self.kinds.get(id as usize) == Some(&Kind::Control)
    }

    /// Whether a row of logits belongs to no token: padding, or beyond the vocabulary.
    pub fn is_padding(&self, id: u32) -> bool {
        self.kinds.get(id as usize).is_none_or(|kind| *kind == Kind::Unused)
    }

    /// The tag this token is, if it is one.
    pub fn tag(&self, id: u32) -> Option<Tag> {
        self.tags.get(&id).copied()
    }

    /// Whether calls are marked by tokens of their own, so that quoting the tag means nothing.
    pub fn has_call_tags(&self) -> bool {
        self.tags.values().any(|tag| *tag == Tag::CallOpen)
    }

    /// The spelling of the beginning-of-sequence token, for templates that print it.
    pub fn bos(&self) -> Option<String> {
        self.bos.map(|id| self.decode(&[id]))
    }

    /// What had to be guessed, one sentence each.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

fn fault(error: impl std::fmt::Display) -> EngineError {
    EngineError::Tokenizer { detail: error.to_string() }
}

fn byte_table(vocabulary: &Vocabulary) -> (Vec<u8>, Vec<usize>) {
    let alphabet = byte_alphabet();
    let mut bytes = Vec::new();
    let mut ends_at = Vec::with_capacity(vocabulary.tokens.len());
    for (token, kind) in vocabulary.tokens.iter().zip(&vocabulary.kinds) {
        let mapped: Option<Vec<u8>> = match kind {
            Kind::Normal => token.chars().map(|c| alphabet.get(&c).copied()).collect(),
            Kind::Control | Kind::UserDefined | Kind::Unused => None,
        };
        bytes.extend(mapped.unwrap_or_else(|| token.as_bytes().to_vec()));
        ends_at.push(bytes.len());
    }
    (bytes, ends_at)
}

fn specials(vocabulary: &Vocabulary) -> HashMap<String, u32> {
    let all = vocabulary.tokens.iter().zip(&vocabulary.kinds).zip(0_u32..);
    all.filter(|((_, kind), _)| matches!(kind, Kind::Control | Kind::UserDefined))
        .map(|((token, _), id)| (token.clone(), id))
        .collect()
}

/// The merging tokenizer over the normal tokens.
fn text_tokenizer(vocabulary: Vocabulary) -> tokenizers::Result<tokenizers::Tokenizer> {
    let PreTokenizer { patterns, nfc, whole_words } = vocabulary.pre;
    let ids = vocabulary.tokens.into_iter().zip(&vocabulary.kinds).zip(0_u32..);
    let ids: Vocab = ids
        .filter(|((_, kind), _)| **kind == Kind::Normal)
        .map(|((token, _), id)| (token, id))
        .collect();
    let bpe = BPE::builder()
        .vocab_and_merges(ids, vocabulary.merges)
        .ignore_merges(whole_words)
        .build()?;
    let mut tokenizer = tokenizers::Tokenizer::new(bpe);
    if nfc {
        tokenizer.with_normalizer(Some(NFC))?;
    }
    let mut steps = Vec::new();
    for pattern in patterns {
        let pattern = SplitPattern::Regex((*pattern).to_string());
        let split = Split::new(pattern, SplitDelimiterBehavior::Isolated, false)?;
        steps.push(PreTokenizerWrapper::Split(split));
    }
    steps.push(PreTokenizerWrapper::ByteLevel(ByteLevel::new(false, false, false)));
    tokenizer.with_pre_tokenizer(Some(Sequence::new(steps)));
    Ok(tokenizer)
}

#[cfg(test)]
mod tests;
