//! The parser of streamed model output: pieces in, thinking, answer text and tool calls out.
//!
//! Lives here: the public types and the order of events. Does not live here: the channels (`dialect::channel`) and
//! the reading of calls (`dialect`). Invariant: what comes out does not depend on where the stream was cut into
//! pieces, and time is linear in its length. The rules are those of `tests/cases/README.md`.

pub use super::dialect::Dialect;
use super::dialect::{
    self, Block, Channel, Context, Lexed, Outcome, Scanned, Scanner, Source, empty_answer,
    stream_cut,
};
use crate::protocol::{CallProblem, ToolCall, ToolSpec};

/// How the six tags of the chat format reach the parser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tags {
    /// Only as [`Piece::Tag`]; text that looks like one of them is text. For the engine in this process.
    ByToken,
    /// Inside [`Piece::Text`]; for servers and recorded streams.
    ByText,
}

/// One of the six tags that are single tokens of the vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// `<think>`
    ThinkOpen,
    /// `</think>`
    ThinkClose,
    /// `<tool_call>`
    CallOpen,
    /// `</tool_call>`
    CallClose,
    /// `<tool_response>`
    ResponseOpen,
    /// `</tool_response>`
    ResponseClose,
}

/// One step of the stream. Cuts between pieces carry no meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Decoded text.
    Text(&'a str),
    /// A tag token.
    Tag(Tag),
}

/// How the stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The model ended its turn.
    Stop,
    /// The token limit was reached.
    Length,
    /// The connection was lost, or generation was cancelled.
    Cut,
}

/// What a parser has to know beforehand.
#[derive(Clone, Debug)]
pub struct ParserOptions {
    /// How the model was taught to write calls. Both body forms are read in either dialect; a bare
    /// `<function=NAME>` only in [`Dialect::QwenXml`].
    pub dialect: Dialect,
    /// The tools on offer; calls are typed and checked by their schemas.
    pub tools: Vec<ToolSpec>,
    /// The prompt already opened the thinking block.
    pub thinking_open: bool,
    /// How tags arrive.
    pub tags: Tags,
}

/// What the parser found, in the order of the stream.
#[derive(Clone, Debug, PartialEq)]
pub enum ParserEvent {
    /// More raw reasoning.
    Thinking(String),
    /// The thinking block is over; also sent when the stream ends inside it.
    ThinkingDone,
    /// More of the answer.
    Text(String),
    /// A call seems to have begun; for the live view only. Each `Call` comes after one.
    CallStarted {
        /// The tool's name.
        name: String,
    },
    /// Raw text of what is being written from the start of a call on; for the live view only.
    CallDelta(String),
    /// A complete, valid call that may be run.
    Call {
        /// The call, id 0.
        call: ToolCall,
        /// Tolerances used to read it.
        repairs: Vec<String>,
    },
    /// A call that cannot be run, or another problem that the model has to hear of.
    Bad(CallProblem),
    /// A tolerance that belongs to no single call.
    Repair(String),
}

/// Bytes of a call in which its name is looked for; without a name it is not shown while it is written.
const MAX_HEAD: usize = 1024;

/// A call that has begun. Its text is kept until its reading is certain.
#[derive(Clone, Copy, Debug)]
struct Hold {
    /// Offset of its first tag.
    start: usize,
    /// `CallStarted` was sent.
    named: bool,
    /// Text before this offset was sent as `CallDelta`.
    shown: usize,
    /// The start of another call is looked for from here on.
    seek: usize,
    /// Length at which the call is next tried, should another one seem to begin. It doubles with every failure, so
    /// that all tries together stay linear.
    patience: usize,
}

impl Hold {
    fn new(start: usize) -> Self {
        Self { start, named: false, shown: start, seek: start + 1, patience: 0 }
    }
}

/// The state machine over one streamed answer.
#[derive(Debug)]
pub struct Parser {
    context: Context,
    source: Source,
    scanner: Scanner,
    hold: Option<Hold>,
    /// Something other than text came out: a call, a problem.
    acted: bool,
    done: bool,
    /// Calls are closed at the end of the stream only; to prove that closing them early changes nothing.
    #[cfg(test)]
    pub(super) patient: bool,
}

impl Parser {
    /// A parser at the start of an answer.
    #[must_use]
    pub fn new(options: ParserOptions) -> Self {
        Self {
            source: Source::new(options.tags),
            scanner: Scanner::new(options.thinking_open),
            context: Context { dialect: options.dialect, tools: options.tools },
            hold: None,
            acted: false,
            done: false,
            #[cfg(test)]
            patient: false,
        }
    }

    /// Takes the next piece and returns what has become certain.
    pub fn push(&mut self, piece: Piece<'_>) -> Vec<ParserEvent> {
        let mut out = Vec::new();
        if self.done {
            return out;
        }
        self.source.push(piece);
        loop {
            let more = match self.hold {
                Some(hold) => self.hold_on(hold, &mut out),
                None => self.scan(false, &mut out),
            };
            if !more {
                break;
            }
        }
        self.forget();
        out
    }

    /// Ends the stream and returns the rest. Pieces after it are ignored.
    pub fn finish(&mut self, end: End) -> Vec<ParserEvent> {
        let mut out = Vec::new();
        if self.done {
            return out;
        }
        self.done = true;
        let mut lexed = None;
        loop {
            if let Some(hold) = self.hold.take() {
                let lexed = lexed.get_or_insert_with(|| self.lex(hold.start));
                let block =
                    dialect::read_block(&self.context, &self.source, lexed, hold.start, end);
                self.close(hold, block, &mut out);
            } else if !self.scan(true, &mut out) {
                break;
            }
        }
        if self.scanner.channel() == Channel::Thinking {
            self.end_thinking(end, &mut out);
        }
        if end == End::Cut {
            out.push(ParserEvent::Bad(stream_cut()));
        } else if end == End::Stop && !self.acted && !self.scanner.answered() {
            out.push(ParserEvent::Bad(empty_answer()));
        }
        out
    }

    /// Runs the scanner; true if it found the start of a call.
    fn scan(&mut self, at_end: bool, out: &mut Vec<ParserEvent>) -> bool {
        match self.scanner.scan(&self.context, &self.source, at_end, out) {
            Scanned::More => false,
            Scanned::Call(start) => {
                self.hold = Some(Hold::new(start));
                true
            }
        }
    }

    fn lex(&self, from: usize) -> Lexed {
        Lexed::new(&self.source, from, self.source.len(), true)
    }

    /// Drops text that is no longer needed.
    fn forget(&mut self) {
        let count = match self.hold {
            Some(hold) => hold.start,
            None => self.scanner.consumed(),
        };
        self.source.drop_front(count);
        self.scanner.shift(count.min(self.scanner.consumed()));
        if let Some(hold) = &mut self.hold {
            hold.start -= count;
            hold.shown -= count;
            hold.seek -= count;
        }
    }

    /// Shows the call that is being written and closes it once another one begins; true if it was closed.
    fn hold_on(&mut self, mut hold: Hold, out: &mut Vec<ParserEvent>) -> bool {
        #[cfg(test)]
        if self.patient {
            hold.patience = usize::MAX;
        }
        while let Some(next) = self.next_call(&mut hold) {
            self.show(&mut hold, next, out);
            if next - hold.start < hold.patience {
                continue;
            }
            if let Some(block) = self.settle(hold.start, next) {
                self.close(hold, block, out);
                return true;
            }
            hold.patience = 2 * (next - hold.start);
        }
        let shown = hold.seek;
        self.show(&mut hold, shown, out);
        self.hold = Some(hold);
        false
    }

    /// Shows the text of the call up to `to`, its name first.
    fn show(&self, hold: &mut Hold, to: usize, out: &mut Vec<ParserEvent>) {
        if !hold.named {
            if hold.shown > hold.start {
                return;
            }
            let head = to.min(hold.start + MAX_HEAD);
            let name = dialect::started_name(&self.context, &self.source, hold.start, head);
            let Some(name) = name else {
                if to >= hold.start + MAX_HEAD {
                    hold.shown = to;
                }
                return;
            };
            out.push(ParserEvent::CallStarted { name });
            hold.named = true;
        }
        if let Some(text) = self.source.text().get(hold.shown..to).filter(|text| !text.is_empty()) {
            out.push(ParserEvent::CallDelta(text.into()));
            hold.shown = to;
        }
    }

    /// The next place at which another call seems to begin.
    fn next_call(&self, hold: &mut Hold) -> Option<usize> {
        while let Some(at) = dialect::find_call(&self.source, hold.seek) {
            match at {
                dialect::CallAt::Yes(at, after) => {
                    hold.seek = after;
                    return Some(at);
                }
                dialect::CallAt::No(after) => hold.seek = after,
                dialect::CallAt::Wait(at) => {
                    hold.seek = at;
                    return None;
                }
            }
        }
        hold.seek = self.source.len();
        None
    }

    /// The call from `start`, if its reading is certain and the next call does begin at `next`.
    fn settle(&self, start: usize, next: usize) -> Option<Block> {
        let block = dialect::settled_block(&self.context, &self.source, start, next)?;
        let mut scanner = self.scanner.clone();
        scanner.resume(block.end);
        match scanner.scan(&self.context, &self.source, false, &mut Vec::new()) {
            Scanned::Call(at) if at == next => Some(block),
            Scanned::Call(_) | Scanned::More => None,
        }
    }

    fn close(&mut self, mut hold: Hold, block: Block, out: &mut Vec<ParserEvent>) {
        let shown = block.end.max(hold.shown);
        self.show(&mut hold, shown, out);
        self.acted = true;
        let mut named = hold.named;
        for outcome in block.outcomes {
            announce(outcome, &mut named, out);
        }
        out.extend(block.repairs.into_iter().map(|repair| ParserEvent::Repair(repair.into())));
        self.hold = None;
        self.scanner.resume(block.end);
    }

    /// The stream ended inside the thinking block. Whole, valid calls at its very end count if the model stopped
    /// by itself; all else in it is thinking.
    fn end_thinking(&mut self, end: End, out: &mut Vec<ParserEvent>) {
        let calls = match (self.scanner.held(), end) {
            (Some(held), End::Stop) => self.last_calls(held),
            (Some(_), End::Length | End::Cut) | (None, _) => None,
        };
        match calls {
            Some(calls) => {
                self.scanner.leave_thinking(&self.source, out);
                out.push(ParserEvent::Repair("implicit_think_close".into()));
                self.acted = true;
                for outcome in calls {
                    announce(outcome, &mut false, out);
                }
            }
            None => {
                self.scanner.release(&self.source, out);
                out.push(ParserEvent::ThinkingDone);
            }
        }
    }

    fn last_calls(&self, held: usize) -> Option<Vec<Outcome>> {
        let lexed = self.lex(held);
        let mut calls = Vec::new();
        let mut start = held;
        loop {
            let block = dialect::read_block(&self.context, &self.source, &lexed, start, End::Stop);
            if !block.outcomes.iter().all(is_whole) {
                return None;
            }
            calls.extend(block.outcomes);
            let mut scanner = Scanner::new(false);
            scanner.resume(block.end);
            let mut rest = Vec::new();
            let scanned = scanner.scan(&self.context, &self.source, true, &mut rest);
            if scanner.answered() || scanner.channel() != Channel::Answer {
                return None;
            }
            match scanned {
                Scanned::More => return Some(calls),
                Scanned::Call(next) => start = next,
            }
        }
    }
}

/// A call of which no part had to be guessed.
fn is_whole(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Call { repairs, .. } => !repairs.iter().any(|repair| {
            matches!(
                repair.as_str(),
                "missing_open_tool_call"
                    | "missing_close_parameter"
                    | "missing_close_function"
                    | "missing_brace"
            )
        }),
        Outcome::Bad(_) => false,
    }
}

fn announce(outcome: Outcome, named: &mut bool, out: &mut Vec<ParserEvent>) {
    match outcome {
        Outcome::Call { call, repairs } => {
            if !std::mem::take(named) {
                out.push(ParserEvent::CallStarted { name: call.name.clone() });
            }
            out.push(ParserEvent::Call { call, repairs });
        }
        Outcome::Bad(problems) => {
            *named = false;
            out.extend(problems.into_iter().map(ParserEvent::Bad));
        }
    }
}

#[cfg(test)]
mod tests;
