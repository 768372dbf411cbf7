//! The channels outside of calls: thinking, answer, and what is dropped.
//!
//! Lives here: which channel each character belongs to, where a call begins, which tags are only named (rules 6-8 of
//! `tests/cases/README.md`). Does not live here: the inside of a call. Invariant: text is handed out as soon as no
//! further text could change its channel, and what is handed out does not depend on the cuts of the stream.

mod judge;

use super::markdown::Markdown;
use super::{Context, Source};
use crate::engine::parser::ParserEvent;

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
}
