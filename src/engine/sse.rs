//! Decodes the event stream of an OpenAI-compatible chat completion: bytes in, parser events out, no IO.
//!
//! Lives here: event framing, the fields of a chunk, putting native tool calls together (rule 9 of
//! `tests/cases/README.md`). Does not live here: connections (`remote`), call syntax (`dialect`). Invariant: no call
//! comes out before the server has said why the answer ended, and none if it never does.

use super::dialect::{
    Context, Outcome, Utf8, empty_answer, from_arguments, malformed, server_error, stream_cut,
    truncated,
};
use super::parser::{End, Parser, ParserEvent, ParserOptions, Piece, Tags};
use serde_json::Value;

/// Why and how a server's answer ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEnd {
    /// `finish_reason` as the server wrote it; none when the stream was cut or failed.
    pub reason: Option<String>,
    /// Prompt tokens by the server's count.
    pub prompt_tokens: Option<u64>,
    /// Generated tokens by the server's count.
    pub completion_tokens: Option<u64>,
    /// The server's own words about a failure, or ours about what it sent; none if it did not fail.
    pub error: Option<String>,
}

/// A native tool call that is being put together.
#[derive(Clone, Debug, Default)]
struct Native {
    index: Option<u64>,
    id: Option<String>,
    name: String,
    arguments: String,
}

/// The decoder over one response body.
#[derive(Debug)]
pub struct SseDecoder {
    options: ParserOptions,
    context: Context,
    utf8: Utf8,
    /// The line being read.
    line: String,
    /// Data lines of the event being read.
    data: Option<String>,
    /// Name of the event being read.
    event: String,
    /// Reads `content`; made when the first of it comes.
    parser: Option<Parser>,
    /// A separate reasoning field was used; true while it is the last thing that came.
    reasoning: Option<bool>,
    calls: Vec<Native>,
    /// Calls and problems found in `content`, kept until the end.
    kept: Vec<ParserEvent>,
    answered: bool,
    done: bool,
    end: SseEnd,
}

impl SseDecoder {
    /// A decoder at the start of a response body. Tags in `content` are read from its text, whatever
    /// `options.tags` says.
    #[must_use]
    pub fn new(options: ParserOptions) -> Self {
        let options = ParserOptions { tags: Tags::ByText, ..options };
        Self {
            context: Context { dialect: options.dialect, tools: options.tools.clone() },
            options,
            utf8: Utf8::default(),
            line: String::new(),
            data: None,
            event: String::new(),
            parser: None,
            reasoning: None,
            calls: Vec::new(),
            kept: Vec::new(),
            answered: false,
            done: false,
            end: SseEnd::default(),
        }
    }

    /// Takes the next bytes of the body.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<ParserEvent> {
        let mut out = Vec::new();
        let text = self.utf8.push(bytes);
        let mut rest = text.as_str();
        while let Some((line, after)) = rest.split_once('\n') {
            self.line.push_str(line);
            let line = std::mem::take(&mut self.line);
            self.take_line(line.strip_suffix('\r').unwrap_or(&line), &mut out);
            rest = after;
        }
        self.line.push_str(rest);
        out
    }

    /// `[DONE]` or a failure was read: nothing more needs to be fetched.
    #[must_use]
    pub fn done(&self) -> bool {
        self.done
    }

    /// Ends the body, whether it was closed or lost. An event without its blank line does not count.
    pub fn finish(&mut self) -> (Vec<ParserEvent>, SseEnd) {
        let mut out = Vec::new();
        self.done = true;
        self.reasoning_ends(&mut out);
        if self.utf8.broken() {
            out.push(ParserEvent::Repair("invalid_utf8".into()));
        }
        let end = match self.end.reason.as_deref() {
            _ if self.end.error.is_some() => End::Cut,
            None => End::Cut,
            Some("length" | "max_tokens" | "content_filter") => End::Length,
            Some(_) => End::Stop,
        };
        if let Some(mut parser) = self.parser.take() {
            let events = parser.finish(end);
            self.content_events(events, &mut out);
        }
        match (end, &self.end.error) {
            (_, Some(error)) => out.push(ParserEvent::Bad(server_error(error))),
            (End::Cut, None) => out.push(ParserEvent::Bad(stream_cut())),
            (End::Stop | End::Length, None) => self.conclude(end, &mut out),
        }
        (out, self.end.clone())
    }

    /// Hands out the calls of an answer that ended properly.
    fn conclude(&mut self, end: End, out: &mut Vec<ParserEvent>) {
        let empty = !self.answered && self.calls.is_empty() && self.kept.is_empty();
        out.append(&mut self.kept);
        let count = self.calls.len();
        for (index, call) in std::mem::take(&mut self.calls).into_iter().enumerate() {
            let begun = end == End::Stop || index + 1 < count || !call.arguments.trim().is_empty();
            match self.outcome(&call, begun) {
                Outcome::Call { call, repairs } => out.push(ParserEvent::Call { call, repairs }),
                Outcome::Bad(problems) => out.extend(problems.into_iter().map(ParserEvent::Bad)),
            }
        }
        if empty && end == End::Stop {
            out.push(ParserEvent::Bad(empty_answer()));
        }
    }

    fn outcome(&self, call: &Native, begun: bool) -> Outcome {
        if call.name.trim().is_empty() {
            Outcome::Bad(vec![malformed(self.context.dialect, None)])
        } else if !begun {
            Outcome::Bad(vec![truncated(Some(call.name.trim()))])
        } else {
            from_arguments(&self.context, &call.name, &call.arguments)
        }
    }

    fn take_line(&mut self, line: &str, out: &mut Vec<ParserEvent>) {
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            if let Some(data) = self.data.take().filter(|_| !self.done) {
                self.take_event(&event, &data, out);
            }
            return;
        }
        let line = line.trim_start_matches('\u{feff}');
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            "event" => value.clone_into(&mut self.event),
            // Comments have an empty field name; other fields mean nothing here.
            _ => {}
        }
    }

    fn take_event(&mut self, event: &str, data: &str, out: &mut Vec<ParserEvent>) {
        let trimmed = data.trim();
        if trimmed.is_empty() {
            return;
        }
        if trimmed == "[DONE]" {
            self.done = true;
            return;
        }
        let Ok(chunk) = serde_json::from_str::<Value>(trimmed) else {
            return self.fail(if event == "error" {
                trimmed
            } else {
                "it sent an event that is not JSON"
            });
        };
        let error = chunk.get("error").filter(|error| !error.is_null());
        if let Some(error) = error.or_else(|| (event == "error").then_some(&chunk)) {
            let words = error.get("message").and_then(Value::as_str).or_else(|| error.as_str());
            let words = words.map_or_else(|| error.to_string(), str::to_owned);
            return self.fail(&words);
        }
        self.take_usage(&chunk);
        let choices = chunk.get("choices").and_then(Value::as_array);
        for choice in choices.into_iter().flatten() {
            if choice.get("index").and_then(Value::as_u64).unwrap_or(0) == 0 {
                self.take_choice(choice, out);
            }
        }
    }

    fn fail(&mut self, words: &str) {
        self.end.error = Some(words.to_owned());
        self.end.reason = None;
        self.done = true;
    }

    fn take_usage(&mut self, chunk: &Value) {
        let Some(usage) = chunk.get("usage") else {
            return;
        };
        let count = |key: &str| usage.get(key).and_then(Value::as_u64);
        self.end.prompt_tokens = count("prompt_tokens").or(self.end.prompt_tokens);
        self.end.completion_tokens = count("completion_tokens").or(self.end.completion_tokens);
    }

    fn take_choice(&mut self, choice: &Value, out: &mut Vec<ParserEvent>) {
        if let Some(delta) = choice.get("delta").or_else(|| choice.get("message")) {
            let reasoning = ["reasoning_content", "reasoning"].iter();
            let reasoning =
                reasoning.filter_map(|key| delta.get(key)?.as_str()).find(|s| !s.is_empty());
            if let Some(reasoning) = reasoning {
                self.reasoning = Some(true);
                out.push(ParserEvent::Thinking(reasoning.to_owned()));
            }
            let content = content_text(delta.get("content"));
            if !content.is_empty() {
                self.reasoning_ends(out);
                self.take_content(&content, out);
            }
            let calls = delta.get("tool_calls").and_then(Value::as_array);
            for call in calls.into_iter().flatten() {
                self.reasoning_ends(out);
                self.take_call(call, out);
            }
            if let Some(function) = delta.get("function_call").filter(|call| call.is_object()) {
                self.reasoning_ends(out);
                self.take_call(&serde_json::json!({"index": 0, "function": function}), out);
            }
        }
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
            if reason == "error" {
                self.fail("it ended the answer with an error");
            } else {
                self.end.reason = Some(reason.to_owned());
            }
        }
    }

    fn reasoning_ends(&mut self, out: &mut Vec<ParserEvent>) {
        if self.reasoning == Some(true) {
            self.reasoning = Some(false);
            out.push(ParserEvent::ThinkingDone);
        }
    }

    fn take_content(&mut self, content: &str, out: &mut Vec<ParserEvent>) {
        let mut parser = self.parser.take().unwrap_or_else(|| {
            let mut options = self.options.clone();
            // A server that has a field for reasoning has taken it out of the content.
            options.thinking_open &= self.reasoning.is_none();
            Parser::new(options)
        });
        let events = parser.push(Piece::Text(content));
        self.parser = Some(parser);
        self.content_events(events, out);
    }

    /// Passes text on; calls and problems wait for the end of the answer.
    fn content_events(&mut self, events: Vec<ParserEvent>, out: &mut Vec<ParserEvent>) {
        for event in events {
            match event {
                ParserEvent::Call { call, mut repairs } => {
                    repairs.push("call_in_content".into());
                    self.kept.push(ParserEvent::Call { call, repairs });
                }
                ParserEvent::Bad(problem) => {
                    // Whether the answer is empty or cut is decided here, over all of its parts.
                    if problem.code != empty_answer().code && problem.code != stream_cut().code {
                        self.kept.push(ParserEvent::Bad(problem));
                    }
                }
                ParserEvent::Text(text) => {
                    self.answered |= !text.trim().is_empty();
                    out.push(ParserEvent::Text(text));
                }
                ParserEvent::Thinking(_)
                | ParserEvent::ThinkingDone
                | ParserEvent::CallStarted { .. }
                | ParserEvent::CallDelta(_)
                | ParserEvent::Repair(_) => out.push(event),
            }
        }
    }

    fn take_call(&mut self, delta: &Value, out: &mut Vec<ParserEvent>) {
        let index = delta.get("index").and_then(Value::as_u64);
        let id = delta.get("id").and_then(Value::as_str).filter(|id| !id.is_empty());
        let function = delta.get("function").unwrap_or(delta);
        let name = function.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
        let place = self.place(index, id, name).unwrap_or(self.calls.len());
        if place == self.calls.len() {
            self.calls.push(Native { index, id: id.map(str::to_owned), ..Native::default() });
        }
        let known = |name: &str| self.context.tool(name).is_some();
        let Some(call) = self.calls.get_mut(place) else {
            return;
        };
        if call.id.is_none() {
            call.id = id.map(str::to_owned);
        }
        if let Some(name) = name {
            if call.name.is_empty() {
                name.clone_into(&mut call.name);
                out.push(ParserEvent::CallStarted { name: name.to_owned() });
            } else if call.name != name && call.arguments.is_empty() && !known(&call.name) {
                // A name in pieces.
                call.name.push_str(name);
            }
        }
        let arguments = match function.get("arguments") {
            None | Some(Value::Null) => return,
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
        };
        if !arguments.is_empty() {
            call.arguments.push_str(&arguments);
            out.push(ParserEvent::CallDelta(arguments));
        }
    }

    /// The call that a fragment belongs to; `None` if it begins a new one.
    fn place(&self, index: Option<u64>, id: Option<&str>, name: Option<&str>) -> Option<usize> {
        let place = match (index, id) {
            (Some(index), _) => self.calls.iter().rposition(|call| call.index == Some(index)),
            (None, Some(id)) => self.calls.iter().rposition(|call| call.id.as_deref() == Some(id)),
            (None, None) => self.calls.len().checked_sub(1),
        }?;
        let call = self.calls.get(place)?;
        let other_id = id.is_some_and(|id| call.id.as_deref().is_some_and(|known| known != id));
        // Without ids, a name after complete arguments begins the next call.
        let complete = id.is_none()
            && name.is_some()
            && serde_json::from_str::<Value>(&call.arguments).is_ok();
        (!other_id && !complete).then_some(place)
    }
}

/// `content` as text: a string, or an array of parts with text in them.
fn content_text(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect()
        }
        _ => String::new(),
    }
}
