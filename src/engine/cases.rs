//! Runs recorded cases of streamed model output (`tests/cases/toolcalls.jsonl`).
//!
//! Lives here: the format of a case line and what the parser makes of it. Does not live here: the comparison with
//! what is expected, which is the tests' business. Invariant: no IO.

use super::dialect::Utf8;
use super::parser::{Dialect, End, Parser, ParserEvent, ParserOptions, Piece, Tags};
use super::sse::SseDecoder;
use crate::protocol::{ToolKind, ToolSpec};
use serde_json::{Value, json};

/// How the stream of a case is cut before it is fed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feed {
    /// In the chunks of the case.
    AsGiven,
    /// All at once.
    Whole,
    /// One byte at a time.
    Bytes,
}

/// Runs one line of a `toolcalls.jsonl` file with its own chunks; `tools_json` is the content of `tools.json`.
///
/// The result is `{"id", "got": {"thinking", "text", "calls": [{"name", "args"}], "errors", "repairs"}}`.
///
/// # Errors
/// A sentence when the line is not a case.
pub fn run_case(line: &str, tools_json: &Value) -> Result<Value, String> {
    run_case_as(line, tools_json, Feed::AsGiven)
}

/// Runs one line with the stream cut in another way; the result must not change.
///
/// # Errors
/// A sentence when the line is not a case.
pub fn run_case_as(line: &str, tools_json: &Value, feed: Feed) -> Result<Value, String> {
    let case: Value = serde_json::from_str(line).map_err(|error| format!("not JSON: {error}"))?;
    let text = |key: &str| {
        case.get(key)
            .and_then(Value::as_str)
            .ok_or_else(|| format!("a case needs the text `{key}`"))
    };
    let chunks = recut(chunks(&case)?, feed);
    let end = match text("end")? {
        "stop" => End::Stop,
        "length" => End::Length,
        "cut" => End::Cut,
        other => return Err(format!("unknown end `{other}`")),
    };
    let format = text("format")?;
    let options = ParserOptions {
        dialect: if format == "hermes_json" { Dialect::HermesJson } else { Dialect::QwenXml },
        tools: tools(tools_json, text("tools")?)?,
        thinking_open: text("thinking")? == "open",
        tags: Tags::ByText,
    };
    let events = match format {
        "qwen_xml" | "hermes_json" => parse_text(options, &chunks, end),
        "openai_sse" => parse_sse(options, &chunks),
        other => return Err(format!("unknown format `{other}`")),
    };
    Ok(json!({"id": text("id")?, "got": summary(&events)}))
}

/// Byte chunks of a case, repeats spelled out.
fn chunks(case: &Value) -> Result<Vec<Vec<u8>>, String> {
    let list = |key: &str| case.get(key).and_then(Value::as_array);
    if let Some(list) = list("chunks_b64") {
        let decode = |chunk: &Value| chunk.as_str().and_then(base64).ok_or("bad base64".to_owned());
        return list.iter().map(decode).collect();
    }
    let list = list("chunks").ok_or("a case needs `chunks` or `chunks_b64`")?;
    list.iter()
        .map(|chunk| match chunk {
            Value::String(text) => Ok(text.as_bytes().to_vec()),
            other => {
                let text = other.get("repeat").and_then(Value::as_str);
                let times = other.get("times").and_then(Value::as_u64);
                match (text, times.and_then(|times| usize::try_from(times).ok())) {
                    (Some(text), Some(times)) => Ok(text.repeat(times).into_bytes()),
                    _ => Err("a chunk is a string or has `repeat` and `times`".to_owned()),
                }
            }
        })
        .collect()
}

fn recut(chunks: Vec<Vec<u8>>, feed: Feed) -> Vec<Vec<u8>> {
    match feed {
        Feed::AsGiven => chunks,
        Feed::Whole => vec![chunks.concat()],
        Feed::Bytes => chunks.concat().into_iter().map(|byte| vec![byte]).collect(),
    }
}

/// Standard base64 with padding; `None` if it is not that.
fn base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for group in text.as_bytes().chunks(4) {
        let padding = group.iter().rev().take_while(|b| **b == b'=').count();
        let mut bits = 0_u32;
        for byte in group {
            let digit = match byte {
                b'A'..=b'Z' => byte - b'A',
                b'a'..=b'z' => byte - b'a' + 26,
                b'0'..=b'9' => byte - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                b'=' => 0,
                _ => return None,
            };
            bits = bits << 6 | u32::from(digit);
        }
        if group.len() != 4 || padding > 2 {
            return None;
        }
        let [_, all @ ..] = bits.to_be_bytes();
        bytes.extend(all.iter().take(3 - padding));
    }
    Some(bytes)
}

fn tools(tools_json: &Value, set: &str) -> Result<Vec<ToolSpec>, String> {
    let list = tools_json.get(set).and_then(Value::as_array);
    let list = list.ok_or_else(|| format!("unknown tool set `{set}`"))?;
    list.iter()
        .map(|tool| {
            let function = tool.get("function").unwrap_or(tool);
            let text = |key: &str| function.get(key).and_then(Value::as_str);
            Ok(ToolSpec {
                name: text("name").ok_or("a tool needs a name")?.to_owned(),
                // Parsing does not depend on what a tool does.
                kind: ToolKind::Read,
                description: text("description").unwrap_or_default().to_owned(),
                parameters: function.get("parameters").cloned().unwrap_or_else(|| json!({})),
            })
        })
        .collect()
}

fn parse_text(options: ParserOptions, chunks: &[Vec<u8>], end: End) -> Vec<ParserEvent> {
    let mut parser = Parser::new(options);
    let mut utf8 = Utf8::default();
    let mut events = Vec::new();
    for chunk in chunks {
        events.extend(parser.push(Piece::Text(&utf8.push(chunk))));
    }
    events.extend(parser.push(Piece::Text(&utf8.finish())));
    events.extend(parser.finish(end));
    if utf8.broken() {
        events.push(ParserEvent::Repair("invalid_utf8".into()));
    }
    events
}

fn parse_sse(options: ParserOptions, chunks: &[Vec<u8>]) -> Vec<ParserEvent> {
    let mut decoder = SseDecoder::new(options);
    let mut events = Vec::new();
    for chunk in chunks {
        events.extend(decoder.push(chunk));
    }
    events.extend(decoder.finish().0);
    events
}

/// Adds a piece; pieces around a call are kept apart by a newline.
fn add(whole: &mut String, piece: &str, apart: &mut bool) {
    let blank = whole.is_empty()
        || whole.ends_with(char::is_whitespace)
        || piece.starts_with(char::is_whitespace);
    if std::mem::take(apart) && !blank {
        whole.push('\n');
    }
    whole.push_str(piece);
}

fn summary(events: &[ParserEvent]) -> Value {
    let (mut thinking, mut text) = (String::new(), String::new());
    let (mut thinking_apart, mut text_apart) = (false, false);
    let (mut calls, mut errors, mut repairs) = (Vec::new(), Vec::new(), Vec::new());
    for event in events {
        match event {
            ParserEvent::Thinking(piece) => add(&mut thinking, piece, &mut thinking_apart),
            ParserEvent::Text(piece) => add(&mut text, piece, &mut text_apart),
            ParserEvent::ThinkingDone => thinking_apart = true,
            ParserEvent::CallStarted { .. } | ParserEvent::CallDelta(_) => {}
            ParserEvent::Call { call, repairs: used } => {
                (thinking_apart, text_apart) = (true, true);
                calls.push(json!({"name": call.name, "args": call.args}));
                repairs.extend(used.iter().cloned());
            }
            ParserEvent::Bad(problem) => {
                (thinking_apart, text_apart) = (true, true);
                errors.push(problem.code.clone());
            }
            ParserEvent::Repair(repair) => repairs.push(repair.clone()),
        }
    }
    repairs.sort();
    repairs.dedup();
    json!({"thinking": thinking, "text": text, "calls": calls, "errors": errors, "repairs": repairs})
}

#[cfg(test)]
mod tests;
