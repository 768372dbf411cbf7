//! Everything that can go wrong between opening a model file and reading its logits.
//!
//! Every variant's message is one sentence a user can act on: what is wrong, where, and what to do.
//! Nothing here is recovered from silently; callers show the message as it is.

use std::path::{Path, PathBuf};
use thiserror::Error;

/// What to do about weights this build cannot multiply with.
const OTHER_QUANTIZATION: &str = "use another quantisation such as Q4_K_M or Q8_0";

/// A failure of the engine; `Display` is the whole message for the user.
#[derive(Debug, Error)]
pub enum EngineError {
    /// The path does not exist.
    #[error("model file not found: {}; check the path, or download the model first", .path.display())]
    NotFound {
        /// The path as given.
        path: PathBuf,
    },
    /// The file exists but cannot be read or mapped.
    #[error("cannot read {}: {source}; check that it is a file and its permissions", .path.display())]
    Unreadable {
        /// The path as given.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The first four bytes are not `GGUF`.
    #[error("{} is not a GGUF file ({found}); give a file whose name ends in .gguf", .path.display())]
    BadMagic {
        /// The path as given.
        path: PathBuf,
        /// What was found instead, in words.
        found: String,
    },
    /// A container version this reader does not know.
    #[error("GGUF version {version} is not supported (2 and 3 are); convert the model again")]
    Version {
        /// Version as read, little endian.
        version: u32,
    },
    /// A big-endian GGUF file.
    #[error("the GGUF file is big-endian; get the little-endian file of this model")]
    BigEndian,
    /// The file ends before its own table says it should.
    #[error(
        "the model file is truncated: {what} needs {expected} bytes but the file has {actual}; \
         download it again"
    )]
    Truncated {
        /// What could not be read, such as `metadata` or `tensor blk.0.attn_q.weight`.
        what: String,
        /// Bytes the file must have at least.
        expected: u64,
        /// Bytes it has.
        actual: u64,
    },
    /// A length, count, type or alignment that no valid file has.
    #[error("the model file is damaged: {what}; download it again")]
    Damaged {
        /// What is wrong and where.
        what: String,
    },
    /// A tensor whose data would lie outside the file's address space or overlap its header.
    #[error(
        "the model file is damaged: tensor {tensor} lies outside the file ({detail}); \
         download it again"
    )]
    TensorOutside {
        /// Its name.
        tensor: String,
        /// Offset and size.
        detail: String,
    },
    /// `general.architecture` is none of ours.
    #[error(
        "architecture '{found}' is not supported; supported: {supported}; \
         choose a model of one of these"
    )]
    Architecture {
        /// As in the file.
        found: String,
        /// Names that would work, comma separated.
        supported: String,
    },
    /// A tensor in a type that cannot be computed with.
    #[error("tensor {tensor} has type {dtype}, which is not supported; {OTHER_QUANTIZATION}")]
    TensorType {
        /// Its name.
        tensor: String,
        /// ggml name, or `#id` for an unknown one.
        dtype: String,
    },
    /// A metadata key the architecture needs.
    #[error("metadata key '{key}' is missing; convert the model again with a newer converter")]
    MissingKey {
        /// The full key.
        key: String,
    },
    /// A metadata key with a value of another type or out of range.
    #[error("metadata key '{key}' is wrong: {what}; convert the model again")]
    BadKey {
        /// The full key.
        key: String,
        /// What was expected and found.
        what: String,
    },
    /// A tensor the architecture needs.
    #[error("tensor '{tensor}' is missing; the file is incomplete, download or convert it again")]
    MissingTensor {
        /// Its name.
        tensor: String,
    },
    /// A tensor whose shape does not fit the metadata.
    #[error(
        "tensor '{tensor}' has shape {found:?} but the metadata asks for {expected:?}; \
         convert the model again"
    )]
    Shape {
        /// Its name.
        tensor: String,
        /// `[rows, columns]` wanted.
        expected: Vec<usize>,
        /// Shape in the file, slowest dimension first.
        found: Vec<usize>,
    },
    /// The file carries no chat template.
    #[error(
        "the model file has no chat template (tokenizer.chat_template); \
         use an instruction-tuned file or set a template in the configuration"
    )]
    MissingTemplate,
    /// The chat template cannot be parsed or refuses the conversation.
    #[error("the chat template failed: {detail}; set another template in the configuration")]
    Template {
        /// What the template engine said.
        detail: String,
    },
    /// The tokenizer in the file cannot be built or used.
    #[error("the tokenizer in the model file cannot be used: {detail}; convert the model again")]
    Tokenizer {
        /// What is wrong.
        detail: String,
    },
    /// More tokens than the model can hold.
    #[error(
        "the conversation needs {needed} tokens but the context holds {context}; \
         compact the conversation or start a new one"
    )]
    ContextOverflow {
        /// Tokens in the state plus the new ones.
        needed: usize,
        /// Capacity in tokens.
        context: usize,
    },
    /// A token id the vocabulary does not have.
    #[error("token {id} is outside the vocabulary of {vocab}; tokenizer and weights do not match")]
    TokenOutside {
        /// The id.
        id: u32,
        /// Rows of the embedding.
        vocab: usize,
    },
    /// NaN or infinity where a logit should be.
    #[error(
        "the model produced a logit that is not finite at position {position}; \
         the weights are damaged or do not fit this version: download the file again \
         or use another quantisation"
    )]
    NonFinite {
        /// Position of the token in the context.
        position: usize,
    },
    /// NaN or infinity on the way into a quantised matrix, whose kernel would hide it.
    #[error(
        "the input of tensor {tensor} is not finite; the weights are damaged or do not fit this \
         version: download the file again or use another quantisation"
    )]
    NonFiniteInput {
        /// The matrix that was about to be multiplied.
        tensor: String,
    },
    /// A snapshot of another model or another moment.
    #[error("this snapshot cannot be restored: {what}; process the conversation again")]
    Snapshot {
        /// Why.
        what: String,
    },
    /// An earlier forward pass failed half way.
    #[error(
        "the model's state was left incomplete by an earlier failure; \
         process the conversation again"
    )]
    Broken,
    /// The architecture cannot do this.
    #[error("{what} is not supported for architecture '{architecture}'; process the text again")]
    NotSupported {
        /// What was asked for.
        what: String,
        /// The architecture.
        architecture: String,
    },
    /// Loading was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// A failure inside the tensor library: out of memory, device lost, a bug.
    #[error("computation failed: {0}; if memory ran out, use a smaller context or quantisation")]
    Compute(#[from] candle_core::Error),
}

impl EngineError {
    /// The error of opening `path`, told apart into "not there" and "not readable".
    pub fn from_io(path: &Path, source: std::io::Error) -> Self {
        let path = path.to_path_buf();
        if source.kind() == std::io::ErrorKind::NotFound {
            Self::NotFound { path }
        } else {
            Self::Unreadable { path, source }
        }
    }
}
