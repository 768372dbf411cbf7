//! The append-only token log of a conversation.
//!
//! Tokens the model produced are never rendered and tokenised again: trimming in the template and
//! other ways of splitting would change them, and with them everything the state holds. So the log
//! remembers which messages its tokens stand for, recognises them in the next request, and renders
//! only what follows. Not here: the model's state (`prefix.rs`). Invariant: between two ends of the
//! log, tokens only ever get appended; a conversation that differs starts from an earlier end.
//!
//! The delta is found by rendering the whole conversation with a sentinel in place of the text of
//! the last logged answer and taking what comes after it. This gives the text of the new messages
//! in their real surroundings, and works as well for templates that rewrite history (Qwen3.5 and 3.6
//! drop the thinking of earlier turns once a new user message arrives): the log keeps what the model
//! has read, where a full rendering would drop it and force the whole conversation to be read again.

use super::error::EngineError;
use super::marked::MarkedText;
use super::template::{Conversation, Template};
use super::tokenizer::Tokenizer;
use crate::protocol::{Effort, Message, Request, Role, ToolSpec};

/// Stands for the text of the last logged answer; no text of a conversation contains it.
const SENTINEL: &str = "\u{e001}end of what was logged\u{e001}";

/// A place up to which messages and tokens correspond: after an answer of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    messages: usize,
    tokens: usize,
}

/// What the messages of the log are rendered under; another system turn is another conversation.
#[derive(Clone, Debug, PartialEq)]
struct Setting {
    tools: Vec<ToolSpec>,
    effort: Effort,
}

/// The log.
#[derive(Debug, Default)]
pub struct Log {
    setting: Option<Setting>,
    messages: Vec<Message>,
    tokens: Vec<u32>,
    /// In order; each is the end of an answer.
    ends: Vec<Mark>,
}

/// The prompt of one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The whole prompt, generation prompt included.
    pub tokens: Vec<u32>,
    /// Tokens taken over from the log; what follows was rendered.
    pub logged: usize,
    /// Messages those tokens stand for.
    pub logged_messages: usize,
    /// Whether the prompt leaves a thinking block open.
    pub thinking_open: bool,
}

impl Log {
    /// The prompt for `request`: the longest part of the log it continues, and the rest rendered.
    ///
    /// Errors: the template refuses the conversation, text that cannot be encoded.
    pub fn plan(
        &self,
        request: &Request,
        template: &Template,
        tokenizer: &Tokenizer,
    ) -> Result<Plan, EngineError> {
        let logged = self.longest_end(request);
        if let Some(mark) = logged
            && let Some(rest) = rest_after(mark, request, template, tokenizer)?
        {
            let mut tokens = self.tokens.get(..mark.tokens).unwrap_or(&[]).to_vec();
            tokens.extend(tokenizer.encode(&rest)?);
            return Ok(Plan {
                tokens,
                logged: mark.tokens,
                logged_messages: mark.messages,
                thinking_open: opens_thinking(&rest),
            });
        }
        let whole =
            template.render(&conversation(request, &request.messages), tokenizer.markup())?;
        Ok(Plan {
            tokens: tokenizer.encode(&whole)?,
            logged: 0,
            logged_messages: 0,
            thinking_open: opens_thinking(&whole),
        })
    }

    /// Appends a step: the request that was planned, and what the model answered.
    ///
    /// `answer` holds the generated tokens without the end-of-turn token, closed where generation
    /// was cut; `message` is what was streamed.
    pub fn commit(&mut self, request: &Request, plan: &Plan, answer: &[u32], message: Message) {
        self.setting = Some(Setting { tools: request.tools.clone(), effort: request.effort });
        self.ends.retain(|end| end.messages <= plan.logged_messages);
        self.messages = request.messages.clone();
        self.messages.push(message);
        self.tokens.truncate(plan.logged);
        self.tokens.extend(plan.tokens.iter().skip(plan.logged));
        self.tokens.extend_from_slice(answer);
        self.ends.push(Mark { messages: self.messages.len(), tokens: self.tokens.len() });
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Tokens logged.
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Whether nothing is logged.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// The last end before which all messages are those of the request, with something new after it.
    fn longest_end(&self, request: &Request) -> Option<Mark> {
        let setting = self.setting.as_ref()?;
        if setting.tools != request.tools || setting.effort != request.effort {
            return None;
        }
        let pairs = self.messages.iter().zip(&request.messages);
        let same = pairs.take_while(|(logged, asked)| are_same(logged, asked)).count();
        let usable = |end: &&Mark| end.messages <= same && end.messages < request.messages.len();
        self.ends.iter().rev().find(usable).copied()
    }
}

/// Equal, up to what a program may rightly change in an answer: outer white space and call ids.
fn are_same(logged: &Message, asked: &Message) -> bool {
    if logged.role != Role::Assistant {
        return logged == asked;
    }
    let calls = |message: &Message| -> Vec<_> {
        message.calls.iter().map(|call| (call.name.clone(), call.args.clone())).collect()
    };
    asked.role == Role::Assistant
        && logged.text.trim() == asked.text.trim()
        && logged.thinking.trim() == asked.thinking.trim()
        && calls(logged) == calls(asked)
}

fn conversation<'a>(request: &'a Request, messages: &'a [Message]) -> Conversation<'a> {
    Conversation { messages, tools: &request.tools, effort: request.effort, generate: true }
}

/// The text from the end of the answer at `mark` on, its end-of-turn token first.
///
/// `None` when the template does not show where that is; then everything has to be rendered.
fn rest_after(
    mark: Mark,
    request: &Request,
    template: &Template,
    tokenizer: &Tokenizer,
) -> Result<Option<MarkedText>, EngineError> {
    let mut messages = request.messages.clone();
    let Some(last) = mark.messages.checked_sub(1).and_then(|i| messages.get_mut(i)) else {
        return Ok(None);
    };
    // The calls stay: some templates look at them before they render the results.
    last.text = SENTINEL.to_string();
    let text = template.render(&conversation(request, &messages), tokenizer.markup())?.0;
    let mut found = text.match_indices(SENTINEL);
    let (Some((at, _)), None) = (found.next(), found.next()) else {
        return Ok(None);
    };
    let after = &text[at + SENTINEL.len()..];
    // Literals are protected, so the first end token is the template's own.
    let names = tokenizer.ends().iter().map(|&id| tokenizer.decode(&[id]));
    let end = names.filter_map(|name| after.find(&name)).min();
    Ok(end.map(|end| MarkedText(after[end..].to_string())))
}

/// Whether the prompt ends inside a thinking block. A literal tag cannot end a prompt.
fn opens_thinking(prompt: &MarkedText) -> bool {
    prompt.0.trim_end().ends_with("<think>")
}

#[cfg(test)]
mod tests;
