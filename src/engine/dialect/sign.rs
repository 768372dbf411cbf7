//! What stands at a `<` outside a call, and what a call looks like from outside.
//!
//! Lives here: recognising tags, bare function tags and special tokens, and the looks ahead that tell a tag that is
//! meant from one that is named. Does not live here: the state of the channels (`channel`). Invariant: an answer is
//! given only if no further text could change it; until then it is "wait".

use super::Context;
use super::lex::{FUNCTION, FUNCTION_END, NameScan, PARAMETER, PARAMETER_END, scan_name};
use super::source::{Found, Source, starts};
use crate::engine::parser::Tag;

/// Something at a `<`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// Plain text.
    Nothing,
    /// The text ends too early to say.
    Partial,
    /// One of the six tags, up to this offset.
    Tag(Tag, usize),
    /// `<function=`, up to this offset.
    FunctionOpen(usize),
    /// `</function>`
    FunctionClose(usize),
    /// `<parameter=`
    ParameterOpen(usize),
    /// `</parameter>`
    ParameterClose(usize),
    /// A control token of a chat template, such as `<|im_end|>`.
    Special(usize),
}

impl Sign {
    /// Offset after it, if there is something.
    pub(super) fn end(self) -> Option<usize> {
        match self {
            Self::Nothing | Self::Partial => None,
            Self::Tag(_, end)
            | Self::FunctionOpen(end)
            | Self::FunctionClose(end)
            | Self::ParameterOpen(end)
            | Self::ParameterClose(end)
            | Self::Special(end) => Some(end),
        }
    }
}

/// Control tokens of chat templates; none of them is ever part of an answer.
const SPECIAL: [&str; 27] = [
    "im_start",
    "im_end",
    "im_sep",
    "endoftext",
    "fim_prefix",
    "fim_middle",
    "fim_suffix",
    "fim_pad",
    "repo_name",
    "file_sep",
    "object_ref_start",
    "object_ref_end",
    "box_start",
    "box_end",
    "quad_start",
    "quad_end",
    "vision_start",
    "vision_end",
    "vision_pad",
    "image_pad",
    "video_pad",
    "eot_id",
    "eom_id",
    "begin_of_text",
    "end_of_text",
    "start_header_id",
    "end_header_id",
];

/// Says what stands at `at`, which is the offset of a `<`.
pub(super) fn sign_at(source: &Source, at: usize) -> Sign {
    match source.tag_at(at) {
        Found::Tag(tag, end) => return Sign::Tag(tag, end),
        Found::Partial => return Sign::Partial,
        Found::Nothing => {}
    }
    let rest = source.text().get(at..).unwrap_or_default();
    for (word, sign) in [
        (FUNCTION, Sign::FunctionOpen(at + FUNCTION.len())),
        (FUNCTION_END, Sign::FunctionClose(at + FUNCTION_END.len())),
        (PARAMETER, Sign::ParameterOpen(at + PARAMETER.len())),
        (PARAMETER_END, Sign::ParameterClose(at + PARAMETER_END.len())),
    ] {
        match starts(rest, word) {
            Some(true) => return sign,
            Some(false) => return Sign::Partial,
            None => {}
        }
    }
    if source.by_text() { special(rest, at) } else { Sign::Nothing }
}

fn special(rest: &str, at: usize) -> Sign {
    let Some(name) = rest.strip_prefix("<|") else {
        return Sign::Nothing;
    };
    for known in SPECIAL {
        if name.strip_prefix(known).is_some_and(|after| after.starts_with("|>")) {
            return Sign::Special(at + known.len() + 4);
        }
        let (head, tail) = name.split_at_checked(known.len()).unwrap_or((name, ""));
        if known.starts_with(head)
            && (head.len() < known.len() || tail.is_empty() || tail == "|")
            && head.len() + tail.len() == name.len()
        {
            return Sign::Partial;
        }
    }
    Sign::Nothing
}

/// Bytes behind an opening bracket in which the first key is looked for.
const MAX_BLANKS: usize = 256;

/// What a `<tool_call>` is followed by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lead {
    /// Not known yet; go on from this offset.
    Wait(usize),
    /// The start of a call.
    Call,
    /// The end of the stream, after this many bytes of what might become a call.
    Cut(usize),
    /// Text.
    Text,
}

/// Looks behind the `<tool_call>` that ends at `from`; blanks before `look` were already seen.
pub(super) fn lead(text: &str, from: usize, look: usize, at_end: bool) -> Lead {
    let seen = look.max(from);
    let rest = text.get(seen..).unwrap_or_default();
    let body = seen + rest.len() - rest.trim_ascii_start().len();
    let rest = text.get(body..).unwrap_or_default();
    match starts(rest, FUNCTION) {
        Some(true) => return Lead::Call,
        Some(false) if at_end => return Lead::Cut(rest.len()),
        Some(false) => return Lead::Wait(body),
        None => {}
    }
    let inner = match rest.chars().next() {
        Some('{') => ['"', '\'', '}'].as_slice(),
        Some('[') => ['{'].as_slice(),
        Some(_) | None => return Lead::Text,
    };
    let behind = super::front(rest, MAX_BLANKS);
    match behind.get(1..).unwrap_or_default().trim_ascii_start().chars().next() {
        Some(c) if inner.contains(&c) => Lead::Call,
        Some(_) => Lead::Text,
        None if behind.len() < rest.len() => Lead::Text,
        None if at_end => Lead::Cut(1),
        None => Lead::Wait(body),
    }
}

/// The name after a `<function=` that ends at `from`. `None`: wait. `Some(None)`: there is none.
pub(super) fn bare_name(text: &str, from: usize, at_end: bool) -> Option<Option<&str>> {
    match scan_name(text, from) {
        NameScan::Name(to) => Some(text.get(from..to)),
        NameScan::Bad(_) => Some(None),
        NameScan::Cut if at_end => Some(None),
        NameScan::Cut => None,
    }
}

/// Whether the call behind a `<tool_call>` that stands amid a sentence only shows the form of a call: it has no line
/// break before its name, and no tool of that name exists. `None`: wait.
pub(super) fn inline_example(
    context: &Context,
    text: &str,
    end: usize,
    at_end: bool,
) -> Option<bool> {
    let rest = text.get(end..).unwrap_or_default();
    let body = rest.trim_start_matches([' ', '\t']);
    let start = text.len() - body.len();
    if body.starts_with(FUNCTION) {
        let name = bare_name(text, start + FUNCTION.len(), at_end)?;
        return Some(name.is_none_or(|name| context.tool(name).is_none()));
    }
    if !body.starts_with('{') {
        return Some(false);
    }
    let head = super::front(text, start + MAX_BLANKS);
    let line = head.get(start..).unwrap_or_default();
    let line_end = line.find('\n').or_else(|| line.find(Tag::CallClose.as_str()));
    let line = line_end.and_then(|end| line.get(..end)).unwrap_or(line);
    match super::hermes_json::name_in(line, 0) {
        Some(name) => Some(context.tool(&name).is_none()),
        None if line_end.is_some() || head.len() < text.len() || at_end => Some(true),
        None => None,
    }
}

/// What follows a tag on its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// Not known yet; go on from this offset.
    Wait(usize),
    /// The line or the stream ends, perhaps after blanks, or another closing tag follows.
    LineEnd,
    /// A visible character directly behind the tag.
    Glued(char),
    /// A visible character after blanks.
    Spaced(char),
}

/// Looks behind the tag that ends at `from`; blanks before `look` were already seen.
pub(super) fn after(text: &str, from: usize, look: usize, at_end: bool) -> After {
    let seen = look.max(from);
    let rest = text.get(seen..).unwrap_or_default();
    let body = seen + rest.len() - rest.trim_start_matches([' ', '\t', '\r']).len();
    let mut chars = text.get(body..).unwrap_or_default().chars();
    match (chars.next(), chars.next()) {
        (None, _) if at_end => After::LineEnd,
        (None, _) => After::Wait(body),
        (Some('\n'), _) | (Some('<'), Some('/')) => After::LineEnd,
        (Some('<'), None) if !at_end => After::Wait(body),
        (Some(c), _) if body == from => After::Glued(c),
        (Some(c), _) => After::Spaced(c),
    }
}
