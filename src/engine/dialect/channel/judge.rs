//! What each tag outside of calls means where it stands: meant, named in a sentence, or a slip of the model.
//!
//! Lives here: the judgement of one sign by its channel and its surroundings. Does not live here: what is done about
//! it (`super`). Invariant: a judgement that further text could change is put off.

use super::super::markdown::{FenceEnd, SpanEnd, fence_end, span_end};
use super::super::sign::{After, Lead, Sign, after, bare_name, inline_example, lead, sign_at};
use super::super::{Context, Dialect, Source};
use super::{Channel, Scanner, Step};
use crate::engine::parser::Tag;

impl Scanner {
    pub(super) fn step(&mut self, context: &Context, source: &Source, at_end: bool) -> Step {
        self.markdown.settle();
        let text = source.text();
        let sign = sign_at(source, self.pos);
        let Some(end) = sign.end() else {
            return if sign == Sign::Partial && !at_end {
                Step::Wait
            } else {
                Step::Text(self.pos + 1)
            };
        };
        if self.channel == Channel::Dropped {
            return self.dropped(sign, end);
        }
        let token = !source.by_text() && matches!(sign, Sign::Tag(..));
        if !token {
            match self.shown(text, sign, end, at_end) {
                Some(true) => return Step::Text(end),
                Some(false) => {}
                None => return Step::Wait,
            }
        }
        match self.channel {
            Channel::Thinking => self.thinking(text, sign, end, token, at_end),
            Channel::Answer => self.answer(context, text, sign, end, token, at_end),
            Channel::Dropped => self.dropped(sign, end),
        }
    }

    fn dropped(&mut self, sign: Sign, end: usize) -> Step {
        let fake = matches!(sign, Sign::Tag(Tag::ResponseOpen, _)) && !self.fake;
        self.fake |= fake;
        Step::Drop(end, fake.then_some("dropped_fake_result"))
    }

    /// Whether code marks around the sign show that it is only named. `None`: not known yet.
    fn shown(&mut self, text: &str, sign: Sign, end: usize, at_end: bool) -> Option<bool> {
        if let Some(fence) = self.markdown.fence() {
            if self.channel != Channel::Thinking || !matches!(sign, Sign::Tag(Tag::ThinkClose, _)) {
                return Some(true);
            }
            // Thinking may end with a fence left open; then the tag is meant.
            if self.span.is_some_and(|span| span >= end) {
                return Some(true);
            }
            return match fence_end(text, self.look.max(end), fence, at_end) {
                FenceEnd::Closed(span) => {
                    self.span = Some(span);
                    Some(true)
                }
                FenceEnd::LeftOpen => Some(false),
                FenceEnd::Unknown(look) => {
                    self.look = look;
                    None
                }
            };
        }
        let Some(length) = self.markdown.tick() else {
            return Some(false);
        };
        if self.span.is_some_and(|span| span >= end) {
            return Some(true);
        }
        match span_end(text, self.look.max(end), length, at_end) {
            SpanEnd::At(span) => {
                self.span = Some(span);
                Some(true)
            }
            SpanEnd::Missing => {
                self.markdown.forget_tick();
                self.look = 0;
                Some(false)
            }
            SpanEnd::Unknown(look) => {
                self.look = look;
                None
            }
        }
    }

    fn thinking(&mut self, text: &str, sign: Sign, end: usize, token: bool, at_end: bool) -> Step {
        match sign {
            Sign::Tag(Tag::ThinkOpen, _) if self.seam => Step::Drop(end, None),
            Sign::Tag(Tag::ThinkOpen, _) => {
                self.named.think += 1;
                Step::Text(end)
            }
            Sign::Tag(Tag::ThinkClose, _) => match self.named_think_close(text, end, at_end) {
                _ if token => Step::Enter(Channel::Answer, end, None),
                Some(true) => {
                    self.named.think -= 1;
                    Step::Text(end)
                }
                Some(false) => Step::Enter(Channel::Answer, end, None),
                None => Step::Wait,
            },
            Sign::Tag(Tag::CallOpen, _) if token => Step::Call(Some("implicit_think_close")),
            Sign::Tag(Tag::CallOpen, _) => match lead(text, end, self.look, at_end) {
                Lead::Wait(look) => self.wait(look),
                Lead::Call => {
                    self.held.get_or_insert(self.pos);
                    self.held_whole = false;
                    Step::Part(end)
                }
                Lead::Cut(_) | Lead::Text => Step::Text(end),
            },
            Sign::Tag(Tag::CallClose, _) => {
                let body = self.held.and_then(|held| text.get(held..self.pos)).unwrap_or_default();
                let body = body.trim_ascii_end();
                if body.ends_with("</function>") || body.ends_with(['}', ']']) {
                    self.held_whole = true;
                    return Step::Part(end);
                }
                Step::Text(end)
            }
            Sign::Special(_) if self.held.is_some() => Step::Part(end),
            Sign::Special(_) => self.special(text, end, at_end),
            Sign::Tag(Tag::ResponseOpen | Tag::ResponseClose, _)
            | Sign::FunctionOpen(_)
            | Sign::FunctionClose(_)
            | Sign::ParameterOpen(_)
            | Sign::ParameterClose(_)
            | Sign::Nothing
            | Sign::Partial => Step::Text(end),
        }
    }

    /// A `</think>` that pairs with a `<think>` named before and stands amid a sentence. `None`: not known yet.
    fn named_think_close(&self, text: &str, end: usize, at_end: bool) -> Option<bool> {
        if self.named.think == 0 || self.markdown.at_line_start() {
            return Some(false);
        }
        let before = self.markdown.last();
        if !before.is_whitespace() && !is_opening(before) {
            return Some(false);
        }
        match text.get(end..).and_then(|rest| rest.chars().next()) {
            Some(c) => Some(c != '\n' && c != '\r' && !c.is_alphanumeric()),
            None if at_end => Some(false),
            None => None,
        }
    }

    fn wait(&mut self, look: usize) -> Step {
        self.look = look;
        Step::Wait
    }

    fn answer(
        &mut self,
        context: &Context,
        text: &str,
        sign: Sign,
        end: usize,
        token: bool,
        at_end: bool,
    ) -> Step {
        match sign {
            Sign::Tag(Tag::ThinkOpen, _) => match self.meant(text, end, token, at_end) {
                Some(true) => Step::Enter(Channel::Thinking, end, None),
                Some(false) => {
                    self.named.think += 1;
                    Step::Text(end)
                }
                None => Step::Wait,
            },
            Sign::Tag(Tag::ResponseOpen, _) => match self.meant(text, end, token, at_end) {
                Some(true) => {
                    self.fake = true;
                    Step::Enter(Channel::Dropped, end, Some("dropped_fake_result"))
                }
                Some(false) => {
                    self.named.response += 1;
                    Step::Text(end)
                }
                None => Step::Wait,
            },
            Sign::Tag(Tag::CallOpen, _) if token => Step::Call(None),
            Sign::Tag(Tag::CallOpen, _) => self.call_open(context, text, end, at_end),
            Sign::Tag(Tag::ThinkClose | Tag::CallClose | Tag::ResponseClose, _)
            | Sign::FunctionClose(_)
            | Sign::ParameterClose(_) => self.closer(text, sign, end, token, at_end),
            Sign::FunctionOpen(_) => self.bare_function(context, text, end, at_end),
            Sign::ParameterOpen(_) => {
                self.named.parameter += 1;
                Step::Text(end)
            }
            Sign::Special(_) => self.special(text, end, at_end),
            Sign::Nothing | Sign::Partial => Step::Text(end),
        }
    }

    /// Whether an opening tag is meant, as opposed to named in a sentence. `None`: not known yet.
    fn meant(&mut self, text: &str, end: usize, token: bool, at_end: bool) -> Option<bool> {
        if token || self.seam {
            return Some(true);
        }
        let next = match text.get(end..).and_then(|rest| rest.chars().next()) {
            Some(next) => next,
            None if at_end => '\n',
            None => return None,
        };
        Some(if self.markdown.at_line_start() {
            next != ' ' && next != '\t'
        } else {
            (next == '\n' || next == '\r') && !self.markdown.last().is_whitespace()
        })
    }

    fn call_open(&mut self, context: &Context, text: &str, end: usize, at_end: bool) -> Step {
        let at_start = self.seam || self.markdown.at_line_start();
        let is_call = match lead(text, end, self.look, at_end) {
            Lead::Wait(look) => return self.wait(look),
            Lead::Call if at_start || !self.markdown.last().is_whitespace() => true,
            Lead::Call => match inline_example(context, text, end, at_end) {
                Some(example) => !example,
                None => return Step::Wait,
            },
            Lead::Cut(bytes) => bytes > 0 || at_start,
            Lead::Text => at_start && begins_json(text, end),
        };
        if is_call {
            return Step::Call(None);
        }
        self.named.call += 1;
        Step::Text(end)
    }

    fn bare_function(&mut self, context: &Context, text: &str, end: usize, at_end: bool) -> Step {
        let at_start = self.seam || self.markdown.at_line_start();
        if at_start && context.dialect == Dialect::QwenXml {
            let Some(name) = bare_name(text, end, at_end) else {
                return Step::Wait;
            };
            if name.is_some_and(|name| context.tool(name).is_some()) {
                return Step::Call(None);
            }
        }
        self.named.function += 1;
        Step::Text(end)
    }

    /// A closing tag without a call: the partner of a named one, a slip of the model, or named itself.
    fn closer(&mut self, text: &str, sign: Sign, end: usize, token: bool, at_end: bool) -> Step {
        let named = match sign {
            Sign::Tag(Tag::ThinkClose, _) => &mut self.named.think,
            Sign::Tag(Tag::CallClose, _) => &mut self.named.call,
            Sign::Tag(Tag::ResponseClose, _) => &mut self.named.response,
            Sign::FunctionClose(_) => &mut self.named.function,
            Sign::ParameterClose(_) => &mut self.named.parameter,
            Sign::Tag(Tag::ThinkOpen | Tag::CallOpen | Tag::ResponseOpen, _)
            | Sign::FunctionOpen(_)
            | Sign::ParameterOpen(_)
            | Sign::Special(_)
            | Sign::Nothing
            | Sign::Partial => return Step::Text(end),
        };
        if !token && *named > 0 {
            *named -= 1;
            return Step::Text(end);
        }
        let stray = token || self.seam || {
            let after = after(text, end, self.look, at_end);
            if let After::Wait(look) = after {
                return self.wait(look);
            }
            self.stray(after)
        };
        if stray { Step::Drop(end, Some("stray_close_tag")) } else { Step::Text(end) }
    }

    /// A closing tag that stands at the edge of a line and is no word of a sentence.
    fn stray(&self, after: After) -> bool {
        if self.markdown.at_line_start() {
            return match after {
                After::LineEnd => true,
                After::Glued(c) => c.is_alphanumeric(),
                After::Spaced(_) | After::Wait(_) => false,
            };
        }
        let last = self.markdown.last();
        match after {
            After::LineEnd if last.is_whitespace() => {
                self.markdown.ink().is_some_and(ends_sentence)
            }
            After::LineEnd => !is_opening(last),
            After::Glued(_) | After::Spaced(_) | After::Wait(_) => false,
        }
    }

    /// A control token: left out, unless a sentence names it. One that opens a turn of someone else ends the answer.
    fn special(&mut self, text: &str, end: usize, at_end: bool) -> Step {
        let last = self.markdown.last();
        if !self.seam
            && !self.markdown.at_line_start()
            && (last.is_whitespace() || is_opening(last))
        {
            match after(text, end, self.look, at_end) {
                After::Wait(look) => return self.wait(look),
                After::Glued(_) | After::Spaced(_) => return Step::Text(end),
                After::LineEnd => {}
            }
        }
        let repair = Some("dropped_special_token");
        if text.get(self.pos..end) != Some("<|im_start|>") {
            return Step::Drop(end, repair);
        }
        let rest = text.get(end..).unwrap_or_default();
        let role: &str = rest.split(|c: char| !c.is_ascii_lowercase()).next().unwrap_or_default();
        if role.len() == rest.len() && role.len() < 16 && !at_end {
            return Step::Wait;
        }
        match role {
            "assistant" => Step::Drop(end + role.len(), repair),
            "user" | "system" | "tool" => Step::Enter(Channel::Dropped, end, repair),
            _ => Step::Drop(end, repair),
        }
    }
}

fn begins_json(text: &str, from: usize) -> bool {
    text.get(from..).is_some_and(|rest| rest.trim_ascii_start().starts_with('{'))
}

/// A quote, a bracket or a mark of emphasis: what follows is named.
fn is_opening(c: char) -> bool {
    "\"'`([{“‘«「『*_".contains(c)
}

fn ends_sentence(c: char) -> bool {
    ".!?:;…。！？：；".contains(c)
}
