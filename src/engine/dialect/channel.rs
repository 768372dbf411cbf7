//! The channels outside of calls: thinking, answer, and what is dropped.
//!
//! Lives here: which channel each character belongs to, where a call begins, which tags are only named (rules 6-8 of
//! `tests/cases/README.md`). Does not live here: the inside of a call. Invariant: text is handed out as soon as no
//! further text could change its channel, and what is handed out does not depend on the cuts of the stream.

use super::markdown::{FenceEnd, Markdown, SpanEnd, fence_end, span_end};
use super::sign::{After, Lead, Sign, after, bare_name, inline_example, lead, sign_at};
use super::{Context, Dialect, Source};
use crate::engine::parser::{ParserEvent, Tag};

/// Where text goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    /// Raw reasoning.
    Thinking,
    /// The answer.
    Answer,
    /// Nowhere: the model went on after its turn.
    Dropped,
}

/// Why a scan came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scanned {
    /// Everything that is certain was handed out.
    More,
    /// A call begins at this offset.
    Call(usize),
}

/// Tags that were only named so far and not closed again.
#[derive(Clone, Copy, Debug, Default)]
struct Named {
    think: u32,
    call: u32,
    response: u32,
    function: u32,
    parameter: u32,
}

/// What to do with a sign.
enum Step {
    /// Text up to this offset.
    Text(usize),
    /// Text up to this offset that belongs to a call in the thinking block.
    Part(usize),
    /// Not known yet.
    Wait,
    /// Leave out up to this offset.
    Drop(usize, Option<&'static str>),
    /// Leave out up to this offset and go on in another channel.
    Enter(Channel, usize, Option<&'static str>),
    /// A call begins here.
    Call(Option<&'static str>),
}

/// The scanner over the text outside of calls.
#[derive(Clone, Debug)]
pub(crate) struct Scanner {
    channel: Channel,
    /// The next byte to look at.
    pos: usize,
    /// Bytes before this one were handed out or left out.
    sent: usize,
    /// Only blanks since the stream, the channel or the text after a call began.
    seam: bool,
    /// Blanks are left out until the answer begins.
    skip_blanks: bool,
    /// Blanks wait for something visible: between two calls they are no text.
    lazy_blanks: bool,
    markdown: Markdown,
    named: Named,
    /// Where a look ahead goes on; 0 if none is under way.
    look: usize,
    /// Where the code span or fence that is open ends, if that is known.
    span: Option<usize>,
    /// Start of a whole call, or more, that may end the thinking block; handed out only when something follows.
    held: Option<usize>,
    /// The held call is complete.
    held_whole: bool,
    /// Visible answer text was handed out.
    answered: bool,
    /// A made-up tool result was reported.
    fake: bool,
}

impl Scanner {
    /// The start of an answer.
    pub(crate) fn new(thinking: bool) -> Self {
        Self {
            channel: if thinking { Channel::Thinking } else { Channel::Answer },
            pos: 0,
            sent: 0,
            seam: true,
            skip_blanks: false,
            lazy_blanks: false,
            markdown: Markdown::new(),
            named: Named::default(),
            look: 0,
            span: None,
            held: None,
            held_whole: false,
            answered: false,
            fake: false,
        }
    }

    /// The channel at this place.
    pub(crate) fn channel(&self) -> Channel {
        self.channel
    }

    /// Visible answer text was handed out.
    pub(crate) fn answered(&self) -> bool {
        self.answered
    }

    /// Start of a call that may end the thinking block.
    pub(crate) fn held(&self) -> Option<usize> {
        self.held
    }

    /// Bytes at the front of the source that are no longer needed.
    pub(crate) fn consumed(&self) -> usize {
        self.sent
    }

    /// The source lost `count` bytes at its front.
    pub(crate) fn shift(&mut self, count: usize) {
        self.pos -= count;
        self.sent -= count;
        self.look = self.look.saturating_sub(count);
        self.span = self.span.and_then(|span| span.checked_sub(count));
        self.held = self.held.and_then(|held| held.checked_sub(count));
    }

    /// Goes on after a call that ended at `at`.
    pub(crate) fn resume(&mut self, at: usize) {
        self.pos = at;
        self.sent = at;
        self.seam = true;
        self.lazy_blanks = true;
        self.look = 0;
        self.span = None;
        self.markdown = Markdown::new();
        self.named = Named::default();
    }

    /// Ends the thinking block before the call it holds.
    pub(crate) fn leave_thinking(&mut self, source: &Source, out: &mut Vec<ParserEvent>) {
        if let Some(held) = self.held.take() {
            self.hand_out(source, held, out);
        }
        self.enter(Channel::Answer);
        out.push(ParserEvent::ThinkingDone);
    }

    /// Hands out what is certain, up to the next call; at the end of the stream, everything but a held call.
    pub(crate) fn scan(
        &mut self,
        context: &Context,
        source: &Source,
        at_end: bool,
        out: &mut Vec<ParserEvent>,
    ) -> Scanned {
        let text = source.text();
        while let Some(rest) = text.get(self.pos..).filter(|rest| !rest.is_empty()) {
            match rest.find('<') {
                Some(0) => {}
                found => {
                    self.plain(text, self.pos + found.unwrap_or(rest.len()));
                    continue;
                }
            }
            match self.step(context, source, at_end) {
                Step::Text(to) => self.plain(text, to),
                Step::Part(to) => self.advance(text, to),
                Step::Wait => break,
                Step::Drop(to, repair) => self.leave_out(source, to, repair, out),
                Step::Enter(channel, to, repair) => {
                    if self.channel == Channel::Thinking {
                        self.held = None;
                    }
                    self.leave_out(source, to, repair, out);
                    if self.channel == Channel::Thinking {
                        out.push(ParserEvent::ThinkingDone);
                    }
                    self.enter(channel);
                }
                Step::Call(repair) => {
                    self.leave_out(source, self.pos, repair, out);
                    if self.channel == Channel::Thinking {
                        out.push(ParserEvent::ThinkingDone);
                        self.enter(Channel::Answer);
                    }
                    return Scanned::Call(self.pos);
                }
            }
        }
        self.hand_out(source, self.held.unwrap_or(self.pos), out);
        Scanned::More
    }

    /// Hands out the call that was held back, as the thinking it is.
    pub(crate) fn release(&mut self, source: &Source, out: &mut Vec<ParserEvent>) {
        self.held = None;
        self.hand_out(source, self.pos, out);
    }

    fn enter(&mut self, channel: Channel) {
        // The template writes an empty line between thinking and answer; it is not part of the answer.
        self.skip_blanks = self.channel == Channel::Thinking;
        self.channel = channel;
        self.seam = true;
        self.held = None;
        self.held_whole = false;
        self.markdown = Markdown::new();
        self.named = Named::default();
    }

    /// Takes text; something visible after a whole held call shows that the call was not the end.
    fn plain(&mut self, text: &str, to: usize) {
        let visible = text.get(self.pos..to).is_some_and(|part| !part.trim().is_empty());
        if visible && self.held_whole {
            self.held = None;
            self.held_whole = false;
        }
        self.advance(text, to);
    }

    fn advance(&mut self, text: &str, to: usize) {
        let part = text.get(self.pos..to).unwrap_or_default();
        part.chars().for_each(|c| self.markdown.feed(c));
        self.seam &= part.trim().is_empty();
        self.pos = to;
        self.look = 0;
    }

    fn leave_out(
        &mut self,
        source: &Source,
        to: usize,
        repair: Option<&'static str>,
        out: &mut Vec<ParserEvent>,
    ) {
        self.hand_out(source, self.pos, out);
        self.pos = to;
        self.sent = to;
        self.look = 0;
        if let Some(repair) = repair {
            out.push(ParserEvent::Repair(repair.into()));
        }
    }

    fn hand_out(&mut self, source: &Source, to: usize, out: &mut Vec<ParserEvent>) {
        if self.lazy_blanks && self.channel == Channel::Answer {
            if self.seam {
                return;
            }
            self.lazy_blanks = false;
        }
        let mut part = source.text().get(self.sent..to).unwrap_or_default();
        self.sent = self.sent.max(to);
        match self.channel {
            Channel::Dropped => {}
            Channel::Thinking => {
                if !part.is_empty() {
                    out.push(ParserEvent::Thinking(part.into()));
                }
            }
            Channel::Answer => {
                if self.skip_blanks {
                    part = part.trim_start();
                }
                if !part.is_empty() {
                    self.skip_blanks = false;
                    self.answered |= !part.trim().is_empty();
                    out.push(ParserEvent::Text(part.into()));
                }
            }
        }
    }

    fn step(&mut self, context: &Context, source: &Source, at_end: bool) -> Step {
        self.markdown.settle();
        let text = source.text();
        let sign = sign_at(source, self.pos);
        let Some(end) = sign.end() else {
            return if sign == Sign::Partial && !at_end { Step::Wait } else { Step::Text(self.pos + 1) };
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
        let Some(length) = self.markdown.tick() else { return Some(false) };
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
            Sign::Tag(Tag::ThinkClose, _) => {
                match self.named_think_close(text, end, at_end) {
                    _ if token => Step::Enter(Channel::Answer, end, None),
                    Some(true) => {
                        self.named.think -= 1;
                        Step::Text(end)
                    }
                    Some(false) => Step::Enter(Channel::Answer, end, None),
                    None => Step::Wait,
                }
            }
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
            let Some(name) = bare_name(text, end, at_end) else { return Step::Wait };
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
            After::LineEnd if last.is_whitespace() => self.markdown.ink().is_some_and(ends_sentence),
            After::LineEnd => !is_opening(last),
            After::Glued(_) | After::Spaced(_) | After::Wait(_) => false,
        }
    }

    /// A control token: left out, unless a sentence names it. One that opens a turn of someone else ends the answer.
    fn special(&mut self, text: &str, end: usize, at_end: bool) -> Step {
        let last = self.markdown.last();
        if !self.seam && !self.markdown.at_line_start() && (last.is_whitespace() || is_opening(last)) {
            match after(text, end, self.look, at_end) {
                After::Wait(look) => return self.wait(look),
                After::Glued(_) | After::Spaced(_) => return Step::Text(end),
                After::LineEnd => {}
            }
        }
        let repair = Some("dropped_special_token");
        if !text.get(self.pos..end).is_some_and(|token| token == "<|im_start|>") {
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
