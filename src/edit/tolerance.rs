//! The ways in which a request may differ from the file and still be certain. Always reported.

use serde::{Deserialize, Serialize};

/// A tolerance that was used; the person sees it before deciding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tolerance {
    /// LF for CRLF or the other way, in the old or the new text.
    LineEndings,
    /// The old text ends in a newline, the file does not.
    FinalNewline,
    /// Blanks at line ends differ.
    TrailingSpace,
    /// Same characters in another Unicode normal form.
    Normalisation,
    /// Look-alike blanks, quotes or hyphens.
    Lookalike,
    /// One common difference of indentation.
    Indent,
    /// The file's byte order mark was kept.
    Bom,
    /// The file is not plain UTF-8; its encoding was kept.
    Encoding,
    /// A patch hunk applies at another line than its header says.
    Offset,
    /// The line counts in a patch header are wrong.
    Counts,
}

impl Tolerance {
    /// The name used in case files and logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::LineEndings => "line_endings",
            Self::FinalNewline => "final_newline",
            Self::TrailingSpace => "trailing_space",
            Self::Normalisation => "normalisation",
            Self::Lookalike => "lookalike",
            Self::Indent => "indent",
            Self::Bom => "bom",
            Self::Encoding => "encoding",
            Self::Offset => "offset",
            Self::Counts => "counts",
        }
    }

    /// One short line for the person who reviews the change.
    pub fn note(self) -> &'static str {
        match self {
            Self::LineEndings => "line endings follow the file",
            Self::FinalNewline => "the file stays without a final newline",
            Self::TrailingSpace => "matched without the blanks at line ends",
            Self::Normalisation => "matched in another Unicode normal form",
            Self::Lookalike => "matched with look-alike blanks, quotes or hyphens",
            Self::Indent => "matched with another indentation, which the new lines follow",
            Self::Bom => "byte order mark kept",
            Self::Encoding => "not plain UTF-8: the file keeps its encoding",
            Self::Offset => "a patch hunk applies at another line than it says",
            Self::Counts => "line counts in the patch were wrong",
        }
    }
}

/// Adds `used` once; the list stays in the order of [`Tolerance`].
pub(super) fn report(soft: &mut Vec<Tolerance>, used: Tolerance) {
    if let Err(at) = soft.binary_search(&used) {
        soft.insert(at, used);
    }
}
