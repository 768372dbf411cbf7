//! Cuts a stretch of the stream into the tags that give a call its structure.
//!
//! Lives here: finding tags, pairing openers with closers, counting closers left over. Does not live here: which
//! tags are meant and which are part of a value (`reading`). Invariant: one pass, linear in the text.

use super::call::{clean, is_name};
use super::reading::Table;
use super::source::{Found, Source, starts};
use crate::engine::parser::Tag;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The opening of a parameter element, up to its name.
pub(super) const PARAMETER: &str = "<parameter=";
/// The opening of a function element, up to its name.
pub(super) const FUNCTION: &str = "<function=";
/// The end of a parameter element.
pub(super) const PARAMETER_END: &str = "</parameter>";
/// The end of a function element.
pub(super) const FUNCTION_END: &str = "</function>";

/// Longest name in bytes; more is text.
const MAX_NAME: usize = 200;

/// What a lexeme is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `<parameter=NAME>`; the offsets of the raw name.
    ParameterOpen(usize, usize),
    /// `<parameter=` without a name that can be one.
    ParameterBad,
    /// `</parameter>`
    ParameterClose,
    /// `<function=NAME>`; the offsets of the raw name.
    FunctionOpen(usize, usize),
    /// `<function=` without a name that can be one.
    FunctionBad,
    /// `</function>`
    FunctionClose,
    /// `<tool_call>`
    CallOpen,
    /// `</tool_call>`
    CallClose,
    /// `<tool_response>`
    ResponseOpen,
    /// An opening tag that the end of the stream cut.
    Cut,
}

/// One tag.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lexeme {
    /// What it is.
    pub(super) kind: Kind,
    /// Offset of `<`.
    pub(super) start: usize,
    /// Offset after it.
    pub(super) end: usize,
    /// Only blanks between it and the next lexeme or the end.
    pub(super) glued: bool,
    /// The lexeme it pairs with, nesting counted.
    pub(super) partner: Option<usize>,
    /// A `<tool_call>` with the start of a call in it.
    pub(super) starts_call: bool,
}

/// A stretch of the stream, cut up.
#[derive(Debug)]
pub(crate) struct Lexed {
    pub(super) lexemes: Vec<Lexeme>,
    /// For each lexeme and for the end: closers without opener from there to the next call.
    pub(super) strays: Vec<u32>,
    /// End of the text that can hold structure; a closing tag that the end of the stream cut lies behind it.
    pub(super) text_end: usize,
    /// The stretch reaches to the end of the stream.
    pub(super) whole: bool,
    /// Cheapest readings by tool and style, so that many damaged calls in one stretch cost no more than one.
    tables: RefCell<BTreeMap<(String, bool), Rc<Table>>>,
}

/// What follows `<function=` or `<parameter=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameScan {
    /// A name; offset of the `>` after it.
    Name(usize),
    /// Nothing that can be a name; offset after what was read.
    Bad(usize),
    /// The text ends first.
    Cut,
}

/// Reads a name up to its `>`.
pub(super) fn scan_name(text: &str, from: usize) -> NameScan {
    let bytes = text.as_bytes();
    for (count, byte) in bytes.iter().enumerate().skip(from) {
        match byte {
            b'>' => {
                let name = text.get(from..count).unwrap_or_default();
                let fits = is_name(clean(name));
                return if fits { NameScan::Name(count) } else { NameScan::Bad(count + 1) };
            }
            b'\n' | b'<' => return NameScan::Bad(from),
            _ if count - from >= MAX_NAME => return NameScan::Bad(from),
            _ => {}
        }
    }
    NameScan::Cut
}

impl Lexed {
    /// Cuts up `from..to`; `whole` tells that the stream ends at `to`.
    pub(crate) fn new(source: &Source, from: usize, to: usize, whole: bool) -> Self {
        let mut lexed = Self {
            lexemes: Vec::new(),
            strays: Vec::new(),
            text_end: to,
            whole,
            tables: RefCell::default(),
        };
        lexed.cut(source, from, to);
        lexed.glue(source.text());
        lexed.pair();
        lexed.count_strays();
        lexed
    }

    fn cut(&mut self, source: &Source, from: usize, to: usize) {
        let text = source.text().get(..to).unwrap_or_default();
        let mut at = from;
        while let Some(start) = text.get(at..).and_then(|rest| rest.find('<')).map(|n| at + n) {
            at = match lexeme(source, text, start) {
                Some((kind, end)) => {
                    self.lexemes.push(Lexeme {
                        kind,
                        start,
                        end,
                        glued: false,
                        partner: None,
                        starts_call: false,
                    });
                    end
                }
                None => start + 1,
            };
            if self.whole && at == start + 1 {
                self.cut_tail(text, start);
            }
        }
    }

    /// The stream ends inside a tag: an opener is a lexeme of its own, a closer is left out.
    fn cut_tail(&mut self, text: &str, start: usize) {
        let rest = text.get(start..).unwrap_or_default();
        let cut = |word: &str| starts(rest, word) == Some(false);
        if rest.len() > 1 && (cut(PARAMETER) || cut(FUNCTION)) {
            self.lexemes.push(Lexeme {
                kind: Kind::Cut,
                start,
                end: text.len(),
                glued: false,
                partner: None,
                starts_call: false,
            });
        } else if cut(PARAMETER_END) || cut(FUNCTION_END) || cut(Tag::CallClose.as_str()) {
            self.text_end = start;
        }
    }

    fn glue(&mut self, text: &str) {
        let mut next = self.text_end;
        for lexeme in self.lexemes.iter_mut().rev() {
            let between = text.get(lexeme.end..next).unwrap_or_default();
            lexeme.glued = between.trim_ascii().is_empty();
            next = lexeme.start;
        }
        for index in 0..self.lexemes.len() {
            let Some(lexeme) = self.lexemes.get(index).copied() else {
                continue;
            };
            if lexeme.kind != Kind::CallOpen {
                continue;
            }
            let next = self.lexemes.get(index + 1).map(|next| next.kind);
            let function = lexeme.glued && matches!(next, Some(Kind::FunctionOpen(..)));
            let body = text.get(lexeme.end..).unwrap_or_default().trim_ascii_start();
            let starts = function || body.starts_with(['{', '[']);
            if let Some(lexeme) = self.lexemes.get_mut(index) {
                lexeme.starts_call = starts;
            }
        }
    }

    fn pair(&mut self) {
        let (mut parameters, mut functions, mut calls) = (Vec::new(), Vec::new(), Vec::new());
        for index in 0..self.lexemes.len() {
            let Some(kind) = self.lexemes.get(index).map(|lexeme| lexeme.kind) else {
                continue;
            };
            let opener = match kind {
                Kind::ParameterOpen(..) | Kind::ParameterBad => {
                    parameters.push(index);
                    None
                }
                Kind::FunctionOpen(..) | Kind::FunctionBad => {
                    functions.push(index);
                    None
                }
                Kind::CallOpen => {
                    calls.push(index);
                    None
                }
                Kind::ParameterClose => parameters.pop(),
                Kind::FunctionClose => functions.pop(),
                Kind::CallClose => calls.pop(),
                Kind::ResponseOpen | Kind::Cut => None,
            };
            if let Some(opener) = opener {
                if let Some(lexeme) = self.lexemes.get_mut(opener) {
                    lexeme.partner = Some(index);
                }
                if let Some(lexeme) = self.lexemes.get_mut(index) {
                    lexeme.partner = Some(opener);
                }
            }
        }
    }

    fn count_strays(&mut self) {
        let mut open = [0_u32; 3];
        let mut counts = vec![0; self.lexemes.len() + 1];
        for (lexeme, count) in self.lexemes.iter().zip(counts.iter_mut()).rev() {
            let (slot, closes) = match lexeme.kind {
                Kind::ResponseOpen => (None, false),
                Kind::CallOpen if lexeme.starts_call => (None, false),
                Kind::ParameterOpen(..) | Kind::ParameterBad => (open.first_mut(), false),
                Kind::ParameterClose => (open.first_mut(), true),
                Kind::FunctionOpen(..) | Kind::FunctionBad => (open.get_mut(1), false),
                Kind::FunctionClose => (open.get_mut(1), true),
                Kind::CallOpen => (open.get_mut(2), false),
                Kind::CallClose => (open.get_mut(2), true),
                Kind::Cut => continue,
            };
            match slot {
                Some(slot) if closes => *slot += 1,
                Some(slot) => *slot = slot.saturating_sub(1),
                None => open = [0; 3],
            }
            *count = open.iter().sum();
        }
        self.strays = counts;
    }

    /// The table for a tool and style, made by `make` when it is first asked for.
    pub(super) fn table(&self, key: (String, bool), make: impl FnOnce() -> Table) -> Rc<Table> {
        Rc::clone(self.tables.borrow_mut().entry(key).or_insert_with(|| Rc::new(make())))
    }

    /// Index of the first lexeme at or after an offset.
    pub(super) fn index(&self, offset: usize) -> usize {
        self.lexemes.partition_point(|lexeme| lexeme.start < offset)
    }

    /// The lexeme at an index.
    pub(super) fn get(&self, index: usize) -> Option<&Lexeme> {
        self.lexemes.get(index)
    }

    /// Closers without opener from the lexeme at `index` to the next call.
    pub(super) fn strays(&self, index: usize) -> u32 {
        self.strays.get(index).copied().unwrap_or(0)
    }
}

fn lexeme(source: &Source, text: &str, start: usize) -> Option<(Kind, usize)> {
    match source.tag_at(start) {
        Found::Tag(Tag::CallOpen, end) => return Some((Kind::CallOpen, end)),
        Found::Tag(Tag::CallClose, end) => return Some((Kind::CallClose, end)),
        Found::Tag(Tag::ResponseOpen, end) => return Some((Kind::ResponseOpen, end)),
        Found::Tag(Tag::ThinkOpen | Tag::ThinkClose | Tag::ResponseClose, _)
        | Found::Partial
        | Found::Nothing => {}
    }
    let rest = text.get(start..)?;
    if rest.starts_with(PARAMETER_END) {
        return Some((Kind::ParameterClose, start + PARAMETER_END.len()));
    }
    if rest.starts_with(FUNCTION_END) {
        return Some((Kind::FunctionClose, start + FUNCTION_END.len()));
    }
    if rest.starts_with(PARAMETER) {
        let from = start + PARAMETER.len();
        return Some(match scan_name(text, from) {
            NameScan::Name(to) => (Kind::ParameterOpen(from, to), to + 1),
            NameScan::Bad(end) => (Kind::ParameterBad, end),
            NameScan::Cut => (Kind::Cut, text.len()),
        });
    }
    if rest.starts_with(FUNCTION) {
        let from = start + FUNCTION.len();
        return Some(match scan_name(text, from) {
            NameScan::Name(to) => (Kind::FunctionOpen(from, to), to + 1),
            NameScan::Bad(end) => (Kind::FunctionBad, end),
            NameScan::Cut => (Kind::Cut, text.len()),
        });
    }
    None
}
