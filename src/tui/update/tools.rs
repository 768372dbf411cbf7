//! Tool calls, as the runtime tells of them.
//!
//! Invariant: a call has one cell, from the first word of it that the model writes to its result.

use super::stream::close_text;
use crate::protocol::{CallId, CallProblem, ToolCall, ToolOutput};
use crate::tui::Model;
use crate::tui::text::clean_line;
use crate::tui::transcript::{Body, Tool, ToolState};

/// The model begins to write a call.
pub fn begun(model: &mut Model, name: &str) {
    close_text(model);
    model.transcript.push(Body::Tool(Tool::writing(name)));
}

/// More of the call being written.
pub fn written(model: &mut Model, text: &str) {
    model.tokens.live_answer += 1;
    let own = |tool: &Tool| tool.state == ToolState::Writing;
    if let Some(tool) = model.transcript.tool_mut(own) {
        tool.push(text);
    }
}

/// A call is complete.
pub fn requested(model: &mut Model, call: &ToolCall, repairs: &[String]) {
    let own = |tool: &Tool| tool.state == ToolState::Writing && tool.name == call.name;
    // Calls of one step are written, then asked for, in the same order: the oldest is meant.
    if let Some(tool) = model.transcript.oldest_tool_mut(own) {
        return tool.requested(call.id, &call.args, repairs);
    }
    let mut tool = Tool::writing(&call.name);
    tool.requested(call.id, &call.args, repairs);
    model.transcript.push(Body::Tool(tool));
}

/// A call cannot be run.
pub fn rejected(model: &mut Model, problem: &CallProblem) {
    let text = format!("{} ({})", problem.message, problem.code);
    let output = ToolOutput::failed(text, "cannot be run; the model was told");
    let own = |tool: &Tool| tool.state == ToolState::Writing;
    let now = model.now;
    if let Some(tool) = model.transcript.oldest_tool_mut(own) {
        return tool.finish(output, now);
    }
    let mut tool = Tool::writing("call");
    tool.finish(output, now);
    model.transcript.push(Body::Tool(tool));
}

/// A call runs.
pub fn started(model: &mut Model, call: CallId, title: &str) {
    model.running = clean_line(title);
    with_call(model, call, |tool, now| tool.started(title, now));
}

/// Output of a running call.
pub fn progress(model: &mut Model, call: CallId, text: &str) {
    with_call(model, call, |tool, _| tool.push(text));
}

/// A call is over.
pub fn finished(model: &mut Model, call: CallId, output: ToolOutput) {
    model.running.clear();
    with_call(model, call, |tool, now| tool.finish(output, now));
}

fn with_call(model: &mut Model, id: CallId, act: impl FnOnce(&mut Tool, u64)) {
    let now = model.now;
    if let Some(tool) = model.transcript.call_mut(id) {
        act(tool, now);
    }
}
