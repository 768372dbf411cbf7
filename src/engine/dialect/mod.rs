//! Tool-call dialects: how calls look in the text of a model, one dialect a file.
//!
//! Lives here: the list of dialects and the reading of one call block once its start is known (`read_block`).
//! Does not live here: where in the stream a block starts (`channel`), events (`parser`). Invariant: reading is
//! pure; the same text gives the same outcome. The rules are those of `tests/cases/README.md`.

mod call;
mod channel;
mod hermes_json;
mod json_repair;
mod lex;
mod markdown;
mod problem;
mod qwen_xml;
mod reading;
mod schema;
mod sign;
mod source;
mod utf8;

pub(crate) use channel::{Channel, Scanned, Scanner};
pub(crate) use hermes_json::from_arguments;
pub(crate) use lex::Lexed;
pub(crate) use problem::{empty_answer, malformed, server_error, stream_cut, truncated};
pub(crate) use source::{Found, Source};
pub(crate) use utf8::Utf8;

use super::parser::{End, Tag};
use crate::protocol::{CallProblem, ToolCall, ToolSpec};

/// A way of writing tool calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `<tool_call>` around `<function=NAME>` and `<parameter=KEY>` elements: Qwen3-Coder, Qwen3.5 and later.
    QwenXml,
    /// `<tool_call>` around one JSON object with `name` and `arguments`: Hermes, Qwen2.5, Qwen3.
    HermesJson,
}

impl Dialect {
    /// The dialect that a chat template teaches, told from the template's own text.
    #[must_use]
    pub fn detect(template: &str) -> Self {
        if template.contains("<function=") { Self::QwenXml } else { Self::HermesJson }
    }
}

/// What reading a call depends on.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    /// The dialect the model was taught.
    pub(crate) dialect: Dialect,
    /// The tools on offer.
    pub(crate) tools: Vec<ToolSpec>,
}

impl Context {
    /// The tool that a written name means; the flag tells that the name had to be cleaned.
    pub(crate) fn tool(&self, raw_name: &str) -> Option<(&ToolSpec, bool)> {
        let names = self.tools.iter().map(|tool| tool.name.as_str());
        let (name, cleaned) = call::resolve(raw_name, names)?;
        let tool = self.tools.iter().find(|tool| tool.name == name)?;
        Some((tool, cleaned))
    }
}

/// What became of one call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// It may be run.
    Call {
        /// The call.
        call: ToolCall,
        /// Tolerances used to read it.
        repairs: Vec<String>,
    },
    /// It must not be run.
    Bad(Vec<CallProblem>),
}

/// A call block that was read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Block {
    /// Offset after the block.
    pub(crate) end: usize,
    /// Its calls in order; one, but for JSON arrays.
    pub(crate) outcomes: Vec<Outcome>,
    /// Tolerances that belong to no single call.
    pub(crate) repairs: Vec<&'static str>,
}

/// Reads the block that starts at `start` with `<tool_call>` or a bare `<function=NAME>`; `end` is how the stream
/// ended. `lexed` must cover everything from `start` to the end of the source.
pub(crate) fn read_block(
    context: &Context,
    source: &Source,
    lexed: &Lexed,
    start: usize,
    end: End,
) -> Block {
    match hermes_json::body_start(source, start) {
        Some(body) => hermes_json::read_block(context, source, lexed, body, end),
        None => qwen_xml::read_block(context, source, lexed, start, end),
    }
}

/// The block from `start`, if there is a reading of the text up to `until` that needs no repair and that no later
/// text can change. `until` must be the start of another block.
pub(crate) fn settled_block(
    context: &Context,
    source: &Source,
    start: usize,
    until: usize,
) -> Option<Block> {
    let lexed = Lexed::new(source, start, until, false);
    match hermes_json::body_start(source, start) {
        Some(body) => hermes_json::settled_block(context, source, &lexed, body),
        None => qwen_xml::settled_block(context, source, &lexed, start),
    }
}

/// Where a call may begin inside the text of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallAt {
    /// At the first offset; the search goes on at the second.
    Yes(usize, usize),
    /// Nowhere before this offset.
    No(usize),
    /// Not known yet; go on from this offset.
    Wait(usize),
}

/// Bytes behind a `<tool_call>` in which the start of its call is looked for.
const MAX_LEAD: usize = 512;

/// Looks for the next `<tool_call>` with the start of a call in it. `None`: there is no tag from `from` on.
pub(crate) fn find_call(source: &Source, from: usize) -> Option<CallAt> {
    let at = from + source.text().get(from..)?.find('<')?;
    Some(match source.tag_at(at) {
        Found::Partial => CallAt::Wait(at),
        Found::Tag(Tag::CallOpen, end) => {
            let text = front(source.text(), end + MAX_LEAD);
            match sign::lead(text, end, end, false) {
                sign::Lead::Call => CallAt::Yes(at, end),
                sign::Lead::Text => CallAt::No(end),
                // So many blanks are no call; a limit by length does not depend on cuts.
                sign::Lead::Wait(_) | sign::Lead::Cut(_) if text.len() < source.len() => {
                    CallAt::No(end)
                }
                sign::Lead::Wait(_) | sign::Lead::Cut(_) => CallAt::Wait(at),
            }
        }
        Found::Tag(..) | Found::Nothing => CallAt::No(at + 1),
    })
}

/// The text up to `to`, or a little less where that is inside a character.
pub(super) fn front(text: &str, to: usize) -> &str {
    text.get(..text.floor_char_boundary(to)).unwrap_or(text)
}

/// The name of the tool that a block starting at `start` calls, if it is there before `to`; for the live view.
pub(crate) fn started_name(
    context: &Context,
    source: &Source,
    start: usize,
    to: usize,
) -> Option<String> {
    let text = front(source.text(), to);
    let raw = match hermes_json::body_start(source, start).filter(|body| *body < to) {
        Some(body) => hermes_json::name_in(text, body)?,
        None => qwen_xml::name_in(text, start)?,
    };
    Some(match context.tool(&raw) {
        Some((tool, _)) => tool.name.clone(),
        None => call::clean(&raw).to_owned(),
    })
}
