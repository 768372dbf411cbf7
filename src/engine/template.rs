//! The chat template of a model: messages to the exact text the model was trained on.
//!
//! Here: compiling and rendering with minijinja the way Hugging Face renders with Jinja2 (99 cases
//! agree byte for byte). Not here: the functions templates call (`template/functions.rs`), cutting
//! the text into tokens. Invariant: every string that comes from a message or a tool is protected
//! by [`Markup`] before it enters a template.

mod functions;

use super::error::EngineError;
use super::marked::{MarkedText, Markup};
use crate::protocol::{Effort, Message, Role, ToolCall, ToolSpec};
use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, Value};
use serde_json::{Map, Value as Json, json};

const NAME: &str = "chat";

/// A compiled chat template.
pub struct Template {
    environment: Environment<'static>,
    source: String,
    bos: String,
}

/// What a prompt is rendered from.
#[derive(Clone, Copy, Debug)]
pub struct Conversation<'a> {
    /// System message first.
    pub messages: &'a [Message],
    /// Tools offered.
    pub tools: &'a [ToolSpec],
    /// How hard to think.
    pub effort: Effort,
    /// Whether the model's turn is opened at the end.
    pub generate: bool,
}

impl Template {
    /// Compiles a template. `bos` is the spelling of the token some templates print first.
    ///
    /// Errors: a syntax error, with its line.
    pub fn new(source: &str, bos: Option<String>) -> Result<Self, EngineError> {
        let mut environment = Environment::new();
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        environment.set_syntax(syntax.map_err(|error| refusal(&error))?);
        functions::add_to(&mut environment);
        environment
            .add_template_owned(NAME, source.to_string())
            .map_err(|error| refusal(&error))?;
        Ok(Self { environment, source: source.to_string(), bos: bos.unwrap_or_default() })
    }

    /// The template's text, to recognise dialects by.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Renders a conversation; literals of special tokens in it stay literals.
    ///
    /// Errors: what the template itself refuses, such as a conversation without a user message.
    pub fn render(
        &self,
        conversation: &Conversation<'_>,
        markup: &Markup,
    ) -> Result<MarkedText, EngineError> {
        let mut context = Map::new();
        let messages = conversation.messages.iter().map(|m| message(m, markup)).collect();
        context.insert("messages".into(), Json::Array(messages));
        if !conversation.tools.is_empty() {
            let tools = conversation.tools.iter().map(|t| tool(t, markup)).collect();
            context.insert("tools".into(), Json::Array(tools));
        }
        context.insert("add_generation_prompt".into(), conversation.generate.into());
        context.extend(effort(conversation.effort));
        self.render_values(context).map(MarkedText)
    }

    /// Renders raw template variables, nothing protected; for checks and debugging.
    pub fn render_values(&self, mut variables: Map<String, Json>) -> Result<String, EngineError> {
        variables.entry("bos_token").or_insert_with(|| self.bos.clone().into());
        let template = self.environment.get_template(NAME).map_err(|error| refusal(&error))?;
        let values = Value::from(minijinja::value::Serde(&variables));
        template.render(values).map_err(|error| refusal(&error))
    }
}

/// The innermost message: what `raise_exception` said, or what was wrong and in which line.
fn refusal(error: &minijinja::Error) -> EngineError {
    let said = error.detail().map(str::to_string).unwrap_or_else(|| error.kind().to_string());
    let detail = match (functions::is_raised(error), error.line()) {
        (false, Some(line)) => format!("{said} (line {line})"),
        (true, _) | (false, None) => said,
    };
    EngineError::Template { detail }
}

fn effort(effort: Effort) -> Vec<(String, Json)> {
    let level = match effort {
        Effort::Off => return vec![("enable_thinking".into(), false.into())],
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::Xhigh => "xhigh",
    };
    vec![("enable_thinking".into(), true.into()), ("reasoning_effort".into(), level.into())]
}

fn message(message: &Message, markup: &Markup) -> Json {
    let role = match message.role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    let mut value = Map::new();
    value.insert("role".into(), role.into());
    value.insert("content".into(), markup.protect(&message.text).into());
    if message.role == Role::Assistant {
        // Always a string: older templates would otherwise look for `</think>` in the answer.
        value.insert("reasoning_content".into(), markup.protect(&message.thinking).into());
    }
    if !message.calls.is_empty() {
        let calls = message.calls.iter().map(|c| call(c, markup)).collect();
        value.insert("tool_calls".into(), Json::Array(calls));
    }
    Json::Object(value)
}

fn call(call: &ToolCall, markup: &Markup) -> Json {
    let arguments = protect(&Json::Object(call.args.clone()), markup);
    json!({
        "type": "function",
        "function": { "name": markup.protect(&call.name), "arguments": arguments }
    })
}

fn tool(tool: &ToolSpec, markup: &Markup) -> Json {
    json!({
        "type": "function",
        "function": {
            "name": markup.protect(&tool.name),
            "description": markup.protect(&tool.description),
            "parameters": protect(&tool.parameters, markup)
        }
    })
}

/// Protects every string of a value, keys included.
fn protect(value: &Json, markup: &Markup) -> Json {
    match value {
        Json::Null | Json::Bool(_) | Json::Number(_) => value.clone(),
        Json::String(text) => markup.protect(text).into(),
        Json::Array(items) => items.iter().map(|item| protect(item, markup)).collect(),
        Json::Object(fields) => Json::Object(
            fields.iter().map(|(key, v)| (markup.protect(key), protect(v, markup))).collect(),
        ),
    }
}

#[cfg(test)]
mod tests;
