//! Where in Markdown a place of the answer is: inside a code fence, a code span, at the start of a line.
//!
//! Lives here: the few facts that tell a tag that is meant from one that is only shown. Does not live here:
//! rendering. Invariant: the state depends on the characters fed and on nothing else, so cuts do not matter.

/// State after the characters fed so far.
#[derive(Clone, Debug)]
pub(super) struct Markdown {
    /// The open code fence: its character and length.
    fence: Option<(char, usize)>,
    /// This line opens a fence if it stays free of backticks.
    opening: Option<(char, usize)>,
    /// This line closes the fence if only blanks follow.
    closing: bool,
    /// Length and character of the run of fence characters being read, and whether it began the line.
    run: (char, usize, bool),
    /// Length of the backtick run that opened a code span on this line.
    tick: Option<usize>,
    /// Only blanks and list or quote markers so far on this line.
    prefix: bool,
    /// Only blanks so far on this line.
    blank: bool,
    /// The character before this place.
    last: char,
    /// The last character on this line that is not a blank.
    ink: Option<char>,
}

impl Markdown {
    /// The start of a text.
    pub(super) fn new() -> Self {
        Self {
            fence: None,
            opening: None,
            closing: false,
            run: ('`', 0, false),
            tick: None,
            prefix: true,
            blank: true,
            last: '\n',
            ink: None,
        }
    }

    /// Takes the next character.
    pub(super) fn feed(&mut self, c: char) {
        if c == '`' || c == '~' {
            let (run_char, length, at_start) = self.run;
            if length > 0 && run_char == c {
                self.run = (c, length + 1, at_start);
            } else {
                self.settle();
                self.run = (c, 1, self.prefix);
            }
        } else {
            self.settle();
        }
        self.last = c;
        if c == '\n' {
            self.newline();
            return;
        }
        if !c.is_whitespace() {
            self.blank = false;
            self.ink = Some(c);
        }
        self.prefix &=
            matches!(c, ' ' | '\t' | '\r' | '>' | '-' | '*' | '+' | '.' | ')' | '0'..='9');
    }

    /// Ends a run of fence characters; to be called before the state is asked for.
    pub(super) fn settle(&mut self) {
        let (run_char, length, at_start) = self.run;
        if length == 0 {
            return;
        }
        self.run.1 = 0;
        if let Some((fence_char, fence_length)) = self.fence {
            self.closing = at_start && run_char == fence_char && length >= fence_length;
        } else if at_start && length >= 3 {
            self.opening = Some((run_char, length));
        } else if run_char == '`' {
            self.backticks(length);
        }
    }

    fn backticks(&mut self, length: usize) {
        if let Some(('`', open)) = self.opening {
            // A backtick in the info string: the line is a code span, not a fence.
            self.opening = None;
            self.tick = (open != length).then_some(open);
        } else if self.tick == Some(length) {
            self.tick = None;
        } else if self.tick.is_none() {
            self.tick = Some(length);
        }
    }

    fn newline(&mut self) {
        if self.closing {
            self.fence = None;
        }
        if let Some(opened) = self.opening.take() {
            self.fence = Some(opened);
        }
        self.closing = false;
        self.tick = None;
        self.prefix = true;
        self.blank = true;
        self.ink = None;
    }

    /// The fence that is open, or opened by this line: character and length.
    pub(super) fn fence(&self) -> Option<(char, usize)> {
        self.fence.or(self.opening)
    }

    /// Length of the backtick run that may have opened a code span here.
    pub(super) fn tick(&self) -> Option<usize> {
        self.tick
    }

    /// The backtick run before had no partner on its line: it was no code span.
    pub(super) fn forget_tick(&mut self) {
        self.tick = None;
    }

    /// Only blanks before this place on its line.
    pub(super) fn at_line_start(&self) -> bool {
        self.blank
    }

    /// The character before this place.
    pub(super) fn last(&self) -> char {
        self.last
    }

    /// The last visible character before this place on its line.
    pub(super) fn ink(&self) -> Option<char> {
        self.ink
    }
}

/// Whether a run of exactly `length` backticks follows on the same line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpanEnd {
    /// Yes, it starts at this offset.
    At(usize),
    /// No.
    Missing,
    /// Not known yet; go on from this offset.
    Unknown(usize),
}

/// Looks for the end of a code span from `from` on.
pub(super) fn span_end(text: &str, from: usize, length: usize, at_end: bool) -> SpanEnd {
    let bytes = text.as_bytes();
    let mut at = from;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\n' => return SpanEnd::Missing,
            b'`' => {
                let run = bytes.iter().skip(at).take_while(|b| **b == b'`').count();
                if at + run == bytes.len() && !at_end {
                    return SpanEnd::Unknown(at);
                }
                if run == length {
                    return SpanEnd::At(at);
                }
                at += run;
            }
            _ => at += 1,
        }
    }
    if at_end { SpanEnd::Missing } else { SpanEnd::Unknown(at) }
}

/// Whether the fence that is open at some place is closed later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FenceEnd {
    /// Yes: the next fence line is bare; it starts at this offset.
    Closed(usize),
    /// No: the next fence line has an info string, so it opens another one, or there is none.
    LeftOpen,
    /// Not known yet; go on from this offset.
    Unknown(usize),
}

/// Tells a fence that is closed after `from` from one that was left open by mistake.
pub(super) fn fence_end(text: &str, from: usize, fence: (char, usize), at_end: bool) -> FenceEnd {
    let mut at = from;
    while let Some(newline) = text.get(at..).and_then(|rest| rest.find('\n')).map(|n| at + n) {
        let after = text.get(newline + 1..).unwrap_or_default();
        let (line, whole) = match after.split_once('\n') {
            Some((line, _)) => (line, true),
            None => (after, at_end),
        };
        let body = line.trim_start_matches([' ', '\t', '>']);
        let run = body.chars().take_while(|c| *c == fence.0).count();
        let info = body.get(run..).unwrap_or_default().trim();
        if run >= fence.1 && !info.is_empty() {
            return FenceEnd::LeftOpen;
        }
        if !whole {
            // A line that is already known to be none need not be read again.
            let text_line = run < fence.1 && run < body.len();
            return FenceEnd::Unknown(if text_line { text.len() } else { newline });
        }
        if run >= fence.1 {
            return FenceEnd::Closed(newline + 1);
        }
        at = newline + 1;
    }
    if at_end { FenceEnd::LeftOpen } else { FenceEnd::Unknown(at) }
}
