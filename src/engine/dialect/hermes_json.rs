//! The JSON dialect: one object with `name` and `arguments` in `<tool_call>`, or an array of them.
//!
//! Lives here: the block and the keys of its objects; also the arguments that servers send as JSON text. Does not
//! live here: JSON itself (`json_repair`), types (`schema`). Invariant: a tag inside a string is part of the string.

use super::call::{self, Raw};
use super::json_repair::{self, Json, JsonError, Read};
use super::lex::{Kind, Lexed};
use super::source::{Found, Source, starts};
use super::{Block, Context, Outcome, problem, qwen_xml};
use crate::engine::parser::{End, Tag};

/// Bytes of an object in which its name is looked for.
const HEAD: usize = 512;

/// Offset of the JSON text in the block that starts at `start`; none if the block holds something else.
pub(super) fn body_start(source: &Source, start: usize) -> Option<usize> {
    let after = qwen_xml::opens(source, start)?;
    let body = after + blanks(source.text(), after);
    source.text().get(body..)?.starts_with(['{', '[']).then_some(body)
}

fn blanks(text: &str, from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    rest.len() - rest.trim_ascii_start().len()
}

/// The name in the object at `body`, once it is complete.
pub(super) fn name_in(text: &str, body: usize) -> Option<String> {
    let head = super::front(text, body + HEAD).get(body..)?;
    let key = head.find("\"name\"").or_else(|| head.find("'name'"))?;
    let rest = head.get(key + "\"name\"".len()..)?.trim_start().strip_prefix(':')?.trim_start();
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let (name, _) = rest.get(1..)?.split_once(quote)?;
    call::is_name(call::clean(name)).then(|| name.to_owned())
}

fn closes(source: &Source, at: usize) -> Option<usize> {
    match source.tag_at(at) {
        Found::Tag(Tag::CallClose, end) => Some(end),
        Found::Tag(..) | Found::Partial | Found::Nothing => None,
    }
}

/// What follows the JSON text of a block.
enum Tail {
    /// `</tool_call>`, up to this offset; the flag tells of closers too many.
    Closed(usize, bool),
    /// Another object, at this offset.
    More(usize),
    /// The end of the stream.
    End,
    /// Text; the block is not closed before the next one.
    Open(usize),
    /// Text, and then `</tool_call>` up to this offset.
    Garbage(usize),
}

fn tail(source: &Source, lexed: &Lexed, from: usize) -> Tail {
    let text = source.text();
    let mut at = from + blanks(text, from);
    let mut garbage = false;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        if rest.is_empty() || lexed.whole && starts(rest, Tag::CallClose.as_str()) == Some(false) {
            return Tail::End;
        }
        if let Some(end) = closes(source, at) {
            return Tail::Closed(end, garbage);
        }
        match rest.chars().next() {
            Some('}' | ']' | ',' | ';') => garbage = true,
            Some('{') => return Tail::More(at),
            Some(_) | None => break,
        }
        at += 1 + blanks(text, at + 1);
    }
    let mut later = lexed.lexemes.iter().skip(lexed.index(at));
    let closer = later.find(|lexeme| matches!(lexeme.kind, Kind::CallOpen | Kind::CallClose));
    match closer {
        Some(lexeme) if lexeme.kind == Kind::CallClose => Tail::Garbage(lexeme.end),
        _ => Tail::Open(from),
    }
}

/// Reads the block whose JSON text is at `body`; see [`super::read_block`].
pub(super) fn read_block(
    context: &Context,
    source: &Source,
    lexed: &Lexed,
    body: usize,
    end: End,
) -> Block {
    let mut outcomes = Vec::new();
    let mut at = body;
    loop {
        let is_end = |at: usize| closes(source, at).is_some();
        let mut read = match json_repair::read(source.text(), at, &is_end) {
            Ok(read) => read,
            Err(error) => return unreadable(context, source, lexed, at, error, end),
        };
        let name = name_in(source.text(), at);
        let (block_end, last) = match tail(source, lexed, read.end) {
            Tail::More(next) => {
                outcomes.extend(calls(context, &read, None));
                at = next;
                continue;
            }
            Tail::Closed(block_end, garbage) => {
                if garbage {
                    read.repairs.insert("trailing_garbage");
                }
                (block_end, calls(context, &read, None))
            }
            Tail::End if end == End::Cut => {
                (source.len(), vec![Outcome::Bad(vec![problem::truncated(name.as_deref())])])
            }
            Tail::End => (source.len(), calls(context, &read, Some("missing_close_tool_call"))),
            Tail::Open(block_end) => {
                (block_end, calls(context, &read, Some("missing_close_tool_call")))
            }
            Tail::Garbage(block_end) => {
                let problem = problem::malformed(context.dialect, name.as_deref());
                (block_end, vec![Outcome::Bad(vec![problem])])
            }
        };
        outcomes.extend(last);
        return Block { end: block_end, outcomes, repairs: Vec::new() };
    }
}

/// Reads the block if it is closed and undamaged; see [`super::settled_block`].
pub(super) fn settled_block(
    context: &Context,
    source: &Source,
    lexed: &Lexed,
    body: usize,
) -> Option<Block> {
    let read = json_repair::read(source.text(), body, &|_| false).ok()?;
    match tail(source, lexed, read.end) {
        Tail::Closed(end, false) if end <= lexed.text_end => {
            Some(Block { end, outcomes: calls(context, &read, None), repairs: Vec::new() })
        }
        Tail::Closed(..) | Tail::More(_) | Tail::End | Tail::Open(_) | Tail::Garbage(_) => None,
    }
}

/// The JSON cannot be read. The block ends at the closing tag that follows the end of an object.
fn unreadable(
    context: &Context,
    source: &Source,
    lexed: &Lexed,
    body: usize,
    error: JsonError,
    end: End,
) -> Block {
    let text = source.text();
    let name = name_in(text, body);
    let later = lexed.lexemes.iter().skip(lexed.index(body));
    let closers = later.filter(|lexeme| lexeme.kind == Kind::CallClose);
    let framed = |at: usize| {
        text.get(body..at).is_some_and(|before| before.trim_ascii_end().ends_with(['}', ']']))
    };
    let close = closers
        .clone()
        .find(|lexeme| framed(lexeme.start))
        .or_else(|| closers.clone().find(|lexeme| lexeme.start >= error.at))
        .or_else(|| closers.clone().next());
    let (block_end, problem) = match close {
        Some(lexeme) => (lexeme.end, problem::malformed(context.dialect, name.as_deref())),
        None if error.unfinished || end != End::Stop => {
            (source.len(), problem::truncated(name.as_deref()))
        }
        None => (source.len(), problem::malformed(context.dialect, name.as_deref())),
    };
    Block { end: block_end, outcomes: vec![Outcome::Bad(vec![problem])], repairs: Vec::new() }
}

/// The calls in a value: an object, or an array of objects.
fn calls(context: &Context, read: &Read, repair: Option<&str>) -> Vec<Outcome> {
    let mut repairs: Vec<String> = read.repairs.iter().map(|repair| (*repair).to_owned()).collect();
    repairs.extend(repair.map(str::to_owned));
    match &read.json {
        Json::Array(items) if !items.is_empty() => {
            items.iter().map(|item| one_call(context, item, repairs.clone())).collect()
        }
        json => vec![one_call(context, json, repairs)],
    }
}

fn one_call(context: &Context, json: &Json, mut repairs: Vec<String>) -> Outcome {
    let malformed =
        |name: Option<&str>| Outcome::Bad(vec![problem::malformed(context.dialect, name)]);
    let Json::Object(entries) = json else {
        return malformed(None);
    };
    if let [.., (_, inner @ Json::Object(_))] | [(_, inner @ Json::Object(_)), ..] =
        entries.as_slice()
        && entries.iter().any(|(key, value)| key == "function" && value == inner)
        && !entries.iter().any(|(key, _)| key == "name")
    {
        repairs.push("key_alias".into());
        return one_call(context, inner, repairs);
    }
    let (name, name_alias) = match member(entries, &["name", "tool", "tool_name", "function"]) {
        Ok(Some((Json::String(name), alias))) if call::is_name(call::clean(name)) => (name, alias),
        _ => return malformed(None),
    };
    let keys = ["arguments", "parameters", "args", "params", "input"];
    let Ok(arguments) = member(entries, &keys) else {
        return malformed(Some(call::clean(name)));
    };
    if name_alias || arguments.is_some_and(|(_, alias)| alias) {
        repairs.push("key_alias".into());
    }
    match arguments {
        None | Some((Json::Null, _)) => call::assemble(context, name, [].into_iter(), repairs),
        Some((Json::String(text), _)) if text.trim().is_empty() => {
            call::assemble(context, name, [].into_iter(), repairs)
        }
        Some((Json::String(text), _)) => {
            repairs.push("double_encoded".into());
            match json_repair::read_all(text) {
                Ok((Json::Object(entries), more)) => {
                    repairs.extend(more.into_iter().map(str::to_owned));
                    call::assemble(context, name, pairs(&entries), repairs)
                }
                Ok(_) | Err(_) => malformed(Some(call::clean(name))),
            }
        }
        Some((Json::Object(entries), _)) => call::assemble(context, name, pairs(entries), repairs),
        Some((Json::Bool(_) | Json::Number(_) | Json::Array(_), _)) => {
            malformed(Some(call::clean(name)))
        }
    }
}

fn pairs(entries: &[(String, Json)]) -> impl Iterator<Item = (&str, Raw<'_>)> {
    entries.iter().map(|(key, value)| (key.as_str(), Raw::Json(value)))
}

/// Two different values under one key.
struct Conflict;

/// The value under the first of these keys that is there; the flag tells that it is not the first key itself.
fn member<'a>(
    entries: &'a [(String, Json)],
    keys: &[&str],
) -> Result<Option<(&'a Json, bool)>, Conflict> {
    for (index, wanted) in keys.iter().enumerate() {
        let mut found = entries.iter().filter(|(key, _)| key == wanted).map(|(_, value)| value);
        if let Some(value) = found.next() {
            let same = found.all(|other| other == value);
            return if same { Ok(Some((value, index > 0))) } else { Err(Conflict) };
        }
    }
    Ok(None)
}

/// A call whose arguments a server sent as JSON text of their own.
pub(crate) fn from_arguments(context: &Context, raw_name: &str, arguments: &str) -> Outcome {
    let name = call::clean(raw_name);
    if arguments.trim().is_empty() {
        return call::assemble(context, raw_name, [].into_iter(), Vec::new());
    }
    let read = match json_repair::read(arguments, 0, &|_| false) {
        Ok(read) => read,
        Err(error) if error.unfinished => {
            return Outcome::Bad(vec![problem::truncated(Some(name))]);
        }
        Err(_) => return Outcome::Bad(vec![problem::malformed(context.dialect, Some(name))]),
    };
    let mut repairs: Vec<String> = read.repairs.iter().map(|repair| (*repair).to_owned()).collect();
    let rest = arguments.get(read.end..).unwrap_or_default().trim();
    if !rest.chars().all(|c| matches!(c, '}' | ']' | ',' | ';') || c.is_whitespace()) {
        return Outcome::Bad(vec![problem::malformed(context.dialect, Some(name))]);
    }
    if !rest.is_empty() {
        repairs.push("trailing_garbage".into());
    }
    let call = Json::Object(vec![
        ("name".into(), Json::String(raw_name.into())),
        ("arguments".into(), read.json),
    ]);
    one_call(context, &call, repairs)
}
