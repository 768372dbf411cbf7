//! The XML dialect: `<function=NAME>` with `<parameter=KEY>` elements in `<tool_call>`.
//!
//! Lives here: from a reading of the tags to a call. Does not live here: the choice of the reading (`reading`) and
//! the types of values (`schema`). Invariant: a value is passed on byte for byte, but for one newline at each end.

use super::call::{self, Raw, clean};
use super::lex::{FUNCTION, Kind, Lexed, NameScan, scan_name};
use super::reading::{Parameter, Reading, Search};
use super::source::Source;
use super::{Block, Context, Outcome, problem};
use crate::engine::parser::{End, Tag};
use crate::protocol::ToolSpec;

/// Bytes after the start of a block in which its function tag is looked for.
const HEAD: usize = 128;

/// The raw name in the block that starts at `start`, once it is complete.
pub(super) fn name_in(text: &str, start: usize) -> Option<String> {
    let tag = super::front(text, start + HEAD).get(start..)?.find(FUNCTION)?;
    let from = start + tag + FUNCTION.len();
    match scan_name(text, from) {
        NameScan::Name(to) => text.get(from..to).map(str::to_owned),
        NameScan::Bad(_) | NameScan::Cut => None,
    }
}

/// The parts of a block that are known before its values.
struct Head<'a> {
    /// Index of the function lexeme.
    function: usize,
    /// Index of the `<tool_call>` lexeme.
    open: Option<usize>,
    /// The name as written.
    raw_name: &'a str,
}

enum HeadError {
    Malformed,
    Cut,
}

fn head<'a>(source: &'a Source, lexed: &Lexed, start: usize) -> Result<Head<'a>, HeadError> {
    let first = lexed.index(start);
    let open = lexed.get(first).filter(|lexeme| lexeme.kind == Kind::CallOpen).map(|_| first);
    let function = first + usize::from(open.is_some());
    if open.is_some_and(|open| !lexed.get(open).is_some_and(|open| open.glued)) {
        return Err(HeadError::Malformed);
    }
    match lexed.get(function).map(|lexeme| lexeme.kind) {
        Some(Kind::FunctionOpen(from, to)) => {
            let raw_name = source.text().get(from..to).unwrap_or_default();
            Ok(Head { function, open, raw_name })
        }
        Some(Kind::Cut) | None => Err(HeadError::Cut),
        Some(
            Kind::FunctionBad
            | Kind::ParameterOpen(..)
            | Kind::ParameterBad
            | Kind::ParameterClose
            | Kind::FunctionClose
            | Kind::CallOpen
            | Kind::CallClose
            | Kind::ResponseOpen,
        ) => Err(HeadError::Malformed),
    }
}

/// Reads the block at `start`; see [`super::read_block`].
pub(super) fn read_block(
    context: &Context,
    source: &Source,
    lexed: &Lexed,
    start: usize,
    end: End,
) -> Block {
    let head = match head(source, lexed, start) {
        Ok(head) => head,
        Err(HeadError::Cut) => return bad(problem::truncated(None), source.len()),
        Err(HeadError::Malformed) => return unreadable(context, source, lexed, start, end, None),
    };
    let tool = context.tool(head.raw_name).map(|(tool, _)| tool);
    let known = |name: &str| has_field(tool, name);
    let tool_name = tool.map_or("", |tool| tool.name.as_str());
    let search = Search::new(source.text(), lexed, head.function, tool_name, &known);
    match search.best() {
        Some(reading) => outcome(context, source, lexed, &head, reading, end),
        None => {
            let name = shown_name(context, head.raw_name);
            unreadable(context, source, lexed, start, end, Some(&name))
        }
    }
}

/// Reads the block at `start` if its plain reading is complete; see [`super::settled_block`].
pub(super) fn settled_block(
    context: &Context,
    source: &Source,
    lexed: &Lexed,
    start: usize,
) -> Option<Block> {
    let head = head(source, lexed, start).ok()?;
    let tool = context.tool(head.raw_name).map(|(tool, _)| tool);
    let known = |name: &str| has_field(tool, name);
    let reading = Search::new(source.text(), lexed, head.function, "", &known).plain()?;
    Some(outcome(context, source, lexed, &head, reading, End::Stop))
}

/// Whether the tool has a parameter; an unknown tool has every parameter.
fn has_field(tool: Option<&ToolSpec>, name: &str) -> bool {
    tool.is_none_or(|tool| call::resolve(name, call::fields(tool)).is_some())
}

fn shown_name(context: &Context, raw_name: &str) -> String {
    match context.tool(raw_name) {
        Some((tool, _)) => tool.name.clone(),
        None => clean(raw_name).to_owned(),
    }
}

fn bad(problem: crate::protocol::CallProblem, end: usize) -> Block {
    Block { end, outcomes: vec![Outcome::Bad(vec![problem])], repairs: Vec::new() }
}

/// A block without a reading: malformed if it was closed, else cut off, and then nothing after it can be trusted.
fn unreadable(
    context: &Context,
    source: &Source,
    lexed: &Lexed,
    start: usize,
    end: End,
    name: Option<&str>,
) -> Block {
    let first = lexed.index(start);
    let closed = lexed.get(first).and_then(|lexeme| lexeme.partner).filter(|p| *p > first);
    match closed.and_then(|partner| lexed.get(partner)) {
        Some(close) => bad(problem::malformed(context.dialect, None), close.end),
        None if name.is_none() && end == End::Stop => {
            bad(problem::malformed(context.dialect, None), source.len())
        }
        None => bad(problem::truncated(name), source.len()),
    }
}

fn outcome(
    context: &Context,
    source: &Source,
    lexed: &Lexed,
    head: &Head<'_>,
    reading: Reading,
    end: End,
) -> Block {
    let block_end = reading.end.min(source.len());
    if cut_off(&reading, end) {
        let name = shown_name(context, head.raw_name);
        return bad(problem::truncated(Some(&name)), source.len());
    }
    let mut repairs = Vec::new();
    for (used, repair) in [
        (head.open.is_none(), "missing_open_tool_call"),
        (reading.no_parameter_end, "missing_close_parameter"),
        (reading.no_function_end, "missing_close_function"),
        (reading.no_call_end, "missing_close_tool_call"),
        (reading.dropped, "stray_close_tag"),
    ] {
        if used {
            repairs.push(repair.to_owned());
        }
    }
    let mut arguments = Vec::with_capacity(reading.parameters.len());
    for parameter in &reading.parameters {
        match argument(source.text(), lexed, parameter) {
            Some(argument) => arguments.push(argument),
            None => return bad(problem::malformed(context.dialect, None), block_end),
        }
    }
    let outcome = call::assemble(context, head.raw_name, arguments.into_iter(), repairs);
    Block { end: block_end, outcomes: vec![outcome], repairs: Vec::new() }
}

/// A call that reaches to the end of the stream and must not run because of how the stream ended.
fn cut_off(reading: &Reading, end: End) -> bool {
    reading.open_end
        && match end {
            End::Stop => false,
            End::Length => reading.no_function_end || reading.no_parameter_end,
            End::Cut => true,
        }
}

fn argument<'a>(text: &'a str, lexed: &Lexed, parameter: &Parameter) -> Option<(&'a str, Raw<'a>)> {
    let open = lexed.get(parameter.open)?;
    let Kind::ParameterOpen(from, to) = open.kind else {
        return None;
    };
    let value = text.get(open.end..parameter.value_end)?;
    Some((text.get(from..to)?, Raw::Text(unframed(value))))
}

/// Takes the frame off: at most one newline at each end.
fn unframed(value: &str) -> &str {
    let value = value.strip_prefix("\r\n").or_else(|| value.strip_prefix('\n')).unwrap_or(value);
    value.strip_suffix("\r\n").or_else(|| value.strip_suffix('\n')).unwrap_or(value)
}

/// True if the tag that opens a block stands at `at`.
pub(super) fn opens(source: &Source, at: usize) -> Option<usize> {
    match source.tag_at(at) {
        super::Found::Tag(Tag::CallOpen, end) => Some(end),
        super::Found::Tag(..) | super::Found::Partial | super::Found::Nothing => None,
    }
}
