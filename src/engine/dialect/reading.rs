//! Chooses among the readings of an XML call: which tags are structure and which belong to a value.
//!
//! Lives here: the moves a reading can make at each tag, their costs, and the search for the best reading.
//! Does not live here: names, types, messages. Invariant: the best reading has the fewest repairs, then the fewest
//! closing tags left over, then the earliest ends; it is found in one pass over the tags.

use super::call::clean;
use super::lex::{Kind, Lexed, Lexeme};
use std::cell::OnceCell;

/// One parameter of a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parameter {
    /// Index of its opening lexeme.
    pub(super) open: usize,
    /// Offset where its value ends; the newline of the frame is still in it.
    pub(super) value_end: usize,
}

/// A way to understand a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reading {
    /// Parameters in order.
    pub(super) parameters: Vec<Parameter>,
    /// Offset after the call.
    pub(super) end: usize,
    /// A value ends without `</parameter>`.
    pub(super) no_parameter_end: bool,
    /// There is no `</function>`.
    pub(super) no_function_end: bool,
    /// There is no `</tool_call>`.
    pub(super) no_call_end: bool,
    /// Closing tags too many were dropped.
    pub(super) dropped: bool,
    /// The call reaches to the end of the stream, for lack of a closing tag.
    pub(super) open_end: bool,
}

/// Where a reading stands before a lexeme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// In a value; the flag tells that a `</parameter>` was taken as part of it.
    Value(bool),
    /// Between parameters.
    Between,
    /// After `</function>`.
    After,
}

impl State {
    fn slot(self) -> usize {
        match self {
            Self::Value(false) => 0,
            Self::Value(true) => 1,
            Self::Between => 2,
            Self::After => 3,
        }
    }
}

/// What a reading does with a lexeme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// `</parameter>` ends the value.
    EndValue,
    /// The tag is part of the value.
    Literal,
    /// The tag and all up to its partner are part of the value.
    Skip,
    /// The value ends without `</parameter>`, at the next parameter.
    BreakAtParameter,
    /// The same, at `</function>`.
    BreakAtFunctionEnd,
    /// The same, at `</tool_call>`.
    BreakAtCallEnd,
    /// A parameter begins.
    OpenParameter,
    /// `</function>`
    CloseFunction,
    /// `</tool_call>`, with or without `</function>` before it.
    CloseCall,
    /// The call ends without `</tool_call>`, where the last tag ended.
    EndHere,
    /// A closing tag too many.
    Drop,
}

/// Repairs and guesses, then closing tags left over.
pub(super) type Cost = (u32, u32);

/// The cheapest act and its cost to the end, for every lexeme and state.
pub(super) type Table = Vec<[Option<(Cost, Act)>; 4]>;

/// Where an act leads.
enum Next {
    At(State, usize),
    Done,
}

/// The search over one call.
pub(super) struct Search<'a> {
    text: &'a str,
    lexed: &'a Lexed,
    /// Index of the first lexeme after `<function=NAME>`.
    first: usize,
    /// The call is written without line breaks between its tags.
    inline: bool,
    /// The tool's name; empty if there is no such tool.
    tool: &'a str,
    /// Whether the tool has a parameter of this name.
    known: &'a dyn Fn(&str) -> bool,
    /// See [`Self::find_structures`].
    structures: OnceCell<Vec<bool>>,
}

impl<'a> Search<'a> {
    /// A search for the call whose `<function=NAME>` is the lexeme at `function`.
    pub(super) fn new(
        text: &'a str,
        lexed: &'a Lexed,
        function: usize,
        tool: &'a str,
        known: &'a dyn Fn(&str) -> bool,
    ) -> Self {
        let after = lexed.get(function).and_then(|open| text.get(open.end..)).unwrap_or_default();
        let inline = !after.starts_with(['\n', '\r']);
        Self { text, lexed, first: function + 1, inline, tool, known, structures: OnceCell::new() }
    }

    /// The reading that takes the first free choice at every tag, if that needs no repair and leaves nothing over.
    pub(super) fn plain(&self) -> Option<Reading> {
        let mut reading = Reading::default();
        let (mut state, mut at) = self.start()?;
        loop {
            let act = self
                .acts(state, at)
                .into_iter()
                .flatten()
                .find(|act| self.cost(*act, state, at) == (0, 0))?;
            self.apply(act, at, &mut reading);
            match self.next(act, state, at)? {
                Next::At(next, index) => (state, at) = (next, index),
                Next::Done => return Some(reading),
            }
        }
    }

    /// The best of all readings.
    pub(super) fn best(&self) -> Option<Reading> {
        let (mut state, mut at) = self.start()?;
        let table = self.lexed.table((self.tool.to_owned(), self.inline), || self.table());
        let mut reading = Reading::default();
        loop {
            let (_, act) = table.get(at)?.get(state.slot()).copied()??;
            self.apply(act, at, &mut reading);
            match self.next(act, state, at)? {
                Next::At(next, index) => (state, at) = (next, index),
                Next::Done => return Some(reading),
            }
        }
    }

    fn start(&self) -> Option<(State, usize)> {
        let function = self.lexed.get(self.first.checked_sub(1)?)?;
        function.glued.then_some((State::Between, self.first))
    }

    /// The cheapest way to the end of a call of this tool from every place, filled from the back.
    fn table(&self) -> Table {
        let count = self.lexed.lexemes.len() + 1;
        let mut table = vec![[None; 4]; count];
        for at in (0..count).rev() {
            for state in [State::Value(false), State::Value(true), State::Between, State::After] {
                let best = self.cheapest(&table, state, at);
                if let Some(slot) = table.get_mut(at).and_then(|row| row.get_mut(state.slot())) {
                    *slot = best;
                }
            }
        }
        table
    }

    fn cheapest(&self, table: &Table, state: State, at: usize) -> Option<(Cost, Act)> {
        let mut best: Option<(Cost, Act)> = None;
        for act in self.acts(state, at).into_iter().flatten() {
            let own = self.cost(act, state, at);
            let rest = match self.next(act, state, at) {
                Some(Next::Done) => (0, 0),
                Some(Next::At(next, index)) => {
                    let known = table.get(index).and_then(|row| row.get(next.slot()));
                    let Some(Some((cost, _))) = known else {
                        continue;
                    };
                    *cost
                }
                None => continue,
            };
            let total = (own.0 + rest.0, own.1 + rest.1);
            if best.is_none_or(|(cost, _)| total < cost) {
                best = Some((total, act));
            }
        }
        best
    }

    /// Acts that are possible, the preferred first.
    fn acts(&self, state: State, at: usize) -> [Option<Act>; 3] {
        let lexeme = self.lexed.get(at);
        match state {
            State::Value(literal) => {
                lexeme.map_or([None; 3], |lexeme| self.value_acts(lexeme, at, literal))
            }
            State::Between => [self.between_act(lexeme), None, None],
            State::After => [Some(self.after_act(lexeme, at)), None, None],
        }
    }

    fn value_acts(&self, lexeme: &Lexeme, at: usize, literal: bool) -> [Option<Act>; 3] {
        let breaks = !literal && self.on_boundary(lexeme);
        let skip = lexeme.partner.filter(|partner| *partner > at).map(|_| Act::Skip);
        match lexeme.kind {
            Kind::ParameterClose => {
                let ends = lexeme.glued && self.structure(at + 1);
                [ends.then_some(Act::EndValue), Some(Act::Literal), None]
            }
            Kind::ParameterOpen(from, to) => {
                let own = self.is_known(from, to) && self.on_boundary(lexeme);
                let break_here = (own && breaks).then_some(Act::BreakAtParameter);
                [break_here, (!own).then_some(Act::Literal), skip]
            }
            Kind::FunctionClose => {
                let follows = lexeme.glued
                    && match self.lexed.get(at + 1) {
                        Some(next) => next.kind == Kind::CallClose,
                        None => self.lexed.whole,
                    };
                [(breaks && follows).then_some(Act::BreakAtFunctionEnd), Some(Act::Literal), None]
            }
            Kind::CallClose => [breaks.then_some(Act::BreakAtCallEnd), Some(Act::Literal), None],
            // The start of a whole call is part of a value only together with its end.
            Kind::CallOpen if lexeme.starts_call => [skip, None, None],
            Kind::CallOpen | Kind::ParameterBad | Kind::FunctionOpen(..) | Kind::FunctionBad => {
                [Some(Act::Literal), skip, None]
            }
            Kind::ResponseOpen | Kind::Cut => [Some(Act::Literal), None, None],
        }
    }

    fn between_act(&self, lexeme: Option<&Lexeme>) -> Option<Act> {
        let Some(lexeme) = lexeme else {
            return self.lexed.whole.then_some(Act::EndHere);
        };
        match lexeme.kind {
            Kind::ParameterOpen(..) | Kind::ParameterBad => Some(Act::OpenParameter),
            Kind::FunctionClose => Some(Act::CloseFunction),
            Kind::CallClose => Some(Act::CloseCall),
            Kind::CallOpen => lexeme.starts_call.then_some(Act::EndHere),
            Kind::ParameterClose
            | Kind::FunctionOpen(..)
            | Kind::FunctionBad
            | Kind::ResponseOpen
            | Kind::Cut => None,
        }
    }

    fn after_act(&self, lexeme: Option<&Lexeme>, at: usize) -> Act {
        let before = at.checked_sub(1).and_then(|index| self.lexed.get(index));
        let glued = before.is_some_and(|before| before.glued);
        match lexeme.map(|lexeme| lexeme.kind).filter(|_| glued) {
            Some(Kind::CallClose) => Act::CloseCall,
            Some(Kind::FunctionClose | Kind::ParameterClose) => Act::Drop,
            _ => Act::EndHere,
        }
    }

    fn cost(&self, act: Act, state: State, at: usize) -> Cost {
        let between = state == State::Between;
        match act {
            Act::EndValue | Act::Skip | Act::OpenParameter | Act::CloseFunction => (0, 0),
            Act::Literal => match self.lexed.get(at).map(|lexeme| lexeme.kind) {
                Some(
                    Kind::ParameterOpen(..)
                    | Kind::ParameterBad
                    | Kind::FunctionOpen(..)
                    | Kind::FunctionBad
                    | Kind::CallOpen,
                ) => (1, 0),
                Some(
                    Kind::ParameterClose
                    | Kind::FunctionClose
                    | Kind::CallClose
                    | Kind::ResponseOpen
                    | Kind::Cut,
                )
                | None => (0, 0),
            },
            Act::BreakAtParameter | Act::BreakAtFunctionEnd => (1, 0),
            Act::BreakAtCallEnd => (2, self.lexed.strays(at + 1)),
            Act::CloseCall => (u32::from(between), self.lexed.strays(at + 1)),
            Act::EndHere => (1 + u32::from(between), self.lexed.strays(at)),
            Act::Drop => (0, 1),
        }
    }

    fn next(&self, act: Act, state: State, at: usize) -> Option<Next> {
        Some(match act {
            Act::EndValue => Next::At(State::Between, at + 1),
            Act::Literal => {
                let close = self.lexed.get(at)?.kind == Kind::ParameterClose;
                Next::At(State::Value(state == State::Value(true) || close), at + 1)
            }
            Act::Skip => Next::At(state, self.lexed.get(at)?.partner? + 1),
            Act::BreakAtParameter | Act::OpenParameter => Next::At(State::Value(false), at + 1),
            Act::BreakAtFunctionEnd | Act::CloseFunction | Act::Drop => {
                Next::At(State::After, at + 1)
            }
            Act::BreakAtCallEnd | Act::CloseCall | Act::EndHere => Next::Done,
        })
    }

    fn apply(&self, act: Act, at: usize, reading: &mut Reading) {
        let lexeme = self.lexed.get(at);
        let start = lexeme.map_or(self.lexed.text_end, |lexeme| lexeme.start);
        let end = lexeme.map_or(self.lexed.text_end, |lexeme| lexeme.end);
        match act {
            Act::EndValue
            | Act::BreakAtParameter
            | Act::BreakAtFunctionEnd
            | Act::BreakAtCallEnd => {
                if let Some(parameter) = reading.parameters.last_mut() {
                    parameter.value_end = start;
                }
                reading.no_parameter_end |= act != Act::EndValue;
            }
            Act::Literal | Act::Skip | Act::OpenParameter | Act::CloseFunction | Act::CloseCall => {
            }
            Act::EndHere => reading.no_call_end = true,
            Act::Drop => reading.dropped = true,
        }
        match act {
            Act::OpenParameter | Act::BreakAtParameter => {
                reading.parameters.push(Parameter { open: at, value_end: end });
            }
            Act::BreakAtCallEnd => reading.no_function_end = true,
            Act::EndValue
            | Act::BreakAtFunctionEnd
            | Act::Literal
            | Act::Skip
            | Act::CloseFunction
            | Act::CloseCall
            | Act::EndHere
            | Act::Drop => {}
        }
        self.finish(act, at, end, reading);
    }

    fn finish(&self, act: Act, at: usize, end: usize, reading: &mut Reading) {
        let before = at.checked_sub(1).and_then(|index| self.lexed.get(index));
        let closed = before
            .is_some_and(|before| matches!(before.kind, Kind::FunctionClose) || reading.dropped);
        match act {
            Act::CloseCall => {
                reading.end = end;
                reading.no_function_end |= !closed;
            }
            Act::BreakAtCallEnd => reading.end = end,
            Act::EndHere => {
                reading.end = before.map_or(end, |before| before.end);
                reading.no_function_end |= !closed;
                reading.open_end = self.lexed.whole
                    && self.lexed.get(at).is_none()
                    && before.is_none_or(|before| before.glued);
                if reading.open_end {
                    // A closing tag that the end of the stream cut belongs to the call.
                    reading.end = usize::MAX;
                }
            }
            Act::EndValue
            | Act::Literal
            | Act::Skip
            | Act::BreakAtParameter
            | Act::BreakAtFunctionEnd
            | Act::OpenParameter
            | Act::CloseFunction
            | Act::Drop => {}
        }
    }

    fn is_known(&self, from: usize, to: usize) -> bool {
        self.text.get(from..to).is_some_and(|raw| (self.known)(clean(raw)))
    }

    /// A `</parameter>` before the lexeme at `index` ends a value.
    fn structure(&self, index: usize) -> bool {
        self.structures.get_or_init(|| self.find_structures()).get(index).copied().unwrap_or(false)
    }

    /// For every lexeme and the end: whether it is structure behind a `</parameter>`; filled from the back.
    fn find_structures(&self) -> Vec<bool> {
        let count = self.lexed.lexemes.len();
        let mut found = vec![false; count + 1];
        if let Some(end) = found.last_mut() {
            *end = self.lexed.whole;
        }
        for (index, lexeme) in self.lexed.lexemes.iter().enumerate().rev() {
            let is = match lexeme.kind {
                Kind::FunctionClose | Kind::CallClose | Kind::Cut => true,
                Kind::CallOpen => lexeme.starts_call,
                Kind::ParameterOpen(from, to) if self.is_known(from, to) => true,
                // Of a parameter that the tool does not have, only one whose own element is followed by structure.
                Kind::ParameterOpen(..) | Kind::ParameterBad => {
                    let close = lexeme.partner.filter(|partner| *partner > index);
                    close.is_some_and(|partner| {
                        self.lexed.get(partner).is_some_and(|close| close.glued)
                            && found.get(partner + 1).copied().unwrap_or(false)
                    })
                }
                Kind::ParameterClose
                | Kind::FunctionOpen(..)
                | Kind::FunctionBad
                | Kind::ResponseOpen => false,
            };
            if let Some(slot) = found.get_mut(index) {
                *slot = is;
            }
        }
        found
    }

    /// The tag stands where a tag of this call would: at the start of a line, or right behind the value if the call
    /// is written without line breaks.
    fn on_boundary(&self, lexeme: &Lexeme) -> bool {
        let before = self.text.get(..lexeme.start).unwrap_or_default();
        let line = before.trim_end_matches([' ', '\t']);
        line.ends_with('\n') || self.inline && !before.ends_with(char::is_whitespace)
    }
}
