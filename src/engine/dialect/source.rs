//! The text received so far, and where its tags are.
//!
//! Lives here: one string for the whole stream and the answer to "is there a tag at this byte?", the same for
//! tag tokens and for tags inside text. Does not live here: any meaning of a tag. Invariant: offsets handed out
//! stay valid until [`Source::drop_front`].

use crate::engine::parser::{Piece, Tag, Tags};

/// Whether a tag stands at some place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// No.
    Nothing,
    /// The text ends inside what may become one.
    Partial,
    /// Yes, up to this offset.
    Tag(Tag, usize),
}

impl Tag {
    /// All six tags.
    pub(crate) const ALL: [Self; 6] = [
        Self::ThinkOpen,
        Self::ThinkClose,
        Self::CallOpen,
        Self::CallClose,
        Self::ResponseOpen,
        Self::ResponseClose,
    ];

    /// The tag as the chat template writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ThinkOpen => "<think>",
            Self::ThinkClose => "</think>",
            Self::CallOpen => "<tool_call>",
            Self::CallClose => "</tool_call>",
            Self::ResponseOpen => "<tool_response>",
            Self::ResponseClose => "</tool_response>",
        }
    }
}

/// The buffer a parser works on.
#[derive(Debug)]
pub(crate) struct Source {
    text: String,
    /// Offsets of tag tokens, ascending; empty when tags are read from the text.
    marks: Vec<(usize, Tag)>,
    tags: Tags,
}

impl Source {
    /// An empty buffer.
    pub(crate) fn new(tags: Tags) -> Self {
        Self { text: String::new(), marks: Vec::new(), tags }
    }

    /// Appends a piece. A tag token is also written as text, so that every offset means one thing.
    pub(crate) fn push(&mut self, piece: Piece<'_>) {
        match piece {
            Piece::Text(text) => self.text.push_str(text),
            Piece::Tag(tag) => {
                match self.tags {
                    Tags::ByToken => self.marks.push((self.text.len(), tag)),
                    Tags::ByText => {}
                }
                self.text.push_str(tag.as_str());
            }
        }
    }

    /// Everything that is still in the buffer.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Length in bytes.
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// True when text that looks like a tag is one.
    pub(crate) fn by_text(&self) -> bool {
        match self.tags {
            Tags::ByText => true,
            Tags::ByToken => false,
        }
    }

    /// Looks for a tag at a byte offset.
    pub(crate) fn tag_at(&self, at: usize) -> Found {
        if !self.by_text() {
            let index = self.marks.partition_point(|(mark, _)| *mark < at);
            return match self.marks.get(index) {
                Some((mark, tag)) if *mark == at => Found::Tag(*tag, at + tag.as_str().len()),
                _ => Found::Nothing,
            };
        }
        let Some(rest) = self.text.get(at..) else {
            return Found::Nothing;
        };
        for tag in Tag::ALL {
            match starts(rest, tag.as_str()) {
                Some(true) => return Found::Tag(tag, at + tag.as_str().len()),
                Some(false) => return Found::Partial,
                None => {}
            }
        }
        Found::Nothing
    }

    /// Removes `count` bytes at the front; offsets shrink by that much.
    pub(crate) fn drop_front(&mut self, count: usize) {
        if count == 0 {
            return;
        }
        self.text.drain(..count);
        self.marks.retain_mut(|(mark, _)| {
            let keep = *mark >= count;
            *mark = mark.saturating_sub(count);
            keep
        });
    }
}

/// `Some(true)` if `rest` starts with `word`, `Some(false)` if `rest` ends inside it, else `None`.
pub(super) fn starts(rest: &str, word: &str) -> Option<bool> {
    if rest.starts_with(word) {
        Some(true)
    } else if rest.len() < word.len() && word.starts_with(rest) {
        Some(false)
    } else {
        None
    }
}
