//! Why an edit was refused. The message is what the model reads; the code is what programs read.

use std::fmt;

/// The closed set of refusals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    /// The old text (or a patch's context) is nowhere in the file.
    NotFound,
    /// The old text fits in more than one place.
    NotUnique,
    /// The request would change nothing.
    SameText,
    /// Empty old text for a file that has content.
    EmptyOld,
    /// Two parts of one request touch the same bytes.
    Overlap,
    /// The file on disk is not what the model read.
    Stale,
    /// A whole-file write of a file that the model has not read.
    NotRead,
    /// There is no such file.
    NoSuchFile,
    /// The target is there already.
    Exists,
    /// The path is a directory.
    IsDirectory,
    /// The path is a device, a pipe, or lies below a file.
    NotRegular,
    /// The file must not be written.
    ReadOnly,
    /// The path leaves the root.
    OutsideRoot,
    /// The path belongs to version control or to the program's own settings.
    Protected,
    /// The file holds NUL bytes and is no UTF-16 text.
    Binary,
    /// The text cannot be written in the file's encoding, or that encoding is not certain.
    Encoding,
    /// The request itself holds text that is no text.
    BadText,
    /// The patch cannot be read.
    BadPatch,
    /// The content leaves out text behind a stand-in comment.
    Elided,
}

impl ErrorCode {
    /// The name used in case files and logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::NotUnique => "not_unique",
            Self::SameText => "same_text",
            Self::EmptyOld => "empty_old",
            Self::Overlap => "overlap",
            Self::Stale => "stale",
            Self::NotRead => "not_read",
            Self::NoSuchFile => "no_such_file",
            Self::Exists => "exists",
            Self::IsDirectory => "is_directory",
            Self::NotRegular => "not_regular",
            Self::ReadOnly => "read_only",
            Self::OutsideRoot => "outside_root",
            Self::Protected => "protected",
            Self::Binary => "binary",
            Self::Encoding => "encoding",
            Self::BadText => "bad_text",
            Self::BadPatch => "bad_patch",
            Self::Elided => "elided",
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A refused request. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct EditError {
    /// What kind of refusal.
    pub code: ErrorCode,
    /// For the model: what is wrong, where, and what to do instead. May hold text of the file as it
    /// is; make it visible before it goes to a terminal.
    pub message: String,
    /// 1-based line of the nearest place, where one was found.
    pub near_line: Option<usize>,
}

impl EditError {
    /// A refusal that names no line.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), near_line: None }
    }

    /// The same refusal with `prefix` and a colon before the message.
    #[must_use]
    pub fn within(mut self, prefix: &str) -> Self {
        self.message = format!("{prefix}: {}", self.message);
        self
    }
}
