//! Stand-ins for large pastes: one reserved character in the text for each.
//!
//! Invariant: a reserved character in an editor's text was put there by a paste; the same character
//! coming from outside never gets in unescaped, so expansion is exact and happens once.

use crate::protocol::visible;
use crate::tui::text::{bytes, plural};

/// Most stand-ins one message can hold.
pub const MOST: usize = 4_000;
/// Length of a stand-in in UTF-8.
pub const MARK_BYTES: usize = 4;
/// First of the reserved characters, in the last private-use plane.
const FIRST: u32 = 0x0010_F000;
const LARGE_BYTES: usize = 1_000;
const LARGE_LINES: usize = 12;

/// A paste that is not shown.
#[derive(Clone, Debug)]
pub struct Paste {
    text: String,
    label: String,
}

impl Paste {
    /// Keeps `text` and describes it.
    pub fn new(text: String) -> Self {
        let lines = plural(text.lines().count(), "line");
        let label = format!("[pasted {lines}, {}]", bytes(text.len() as u64));
        Self { text, label }
    }
}

/// The stand-in of paste number `index`.
pub fn mark(index: usize) -> char {
    u32::try_from(index).ok().and_then(|index| char::from_u32(FIRST + index)).unwrap_or('\u{fffd}')
}

/// Whether `c` is reserved for stand-ins.
pub fn is_mark(c: char) -> bool {
    (FIRST..FIRST + 0x0FFE).contains(&(c as u32))
}

/// What is shown for the stand-in `c`.
pub fn label(c: char, pastes: &[Paste]) -> &str {
    find(c, pastes).map_or("\u{fffd}", |paste| &paste.label)
}

/// Replaces each stand-in by its paste.
pub fn expand(text: &str, pastes: &[Paste]) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match find(c, pastes) {
            Some(paste) => out.push_str(&paste.text),
            None => out.push(c),
        }
    }
    out
}

fn find(c: char, pastes: &[Paste]) -> Option<&Paste> {
    is_mark(c).then(|| pastes.get((c as u32 - FIRST) as usize)).flatten()
}

/// Whether pasted text should stand in. Text with reserved characters always does, to keep them.
pub fn is_large(text: &str) -> bool {
    text.len() > LARGE_BYTES
        || text.bytes().filter(|b| *b == b'\n').count() >= LARGE_LINES
        || text.contains(is_mark)
}

/// Line ends become `\n`; controls that would drive a terminal become visible. Marks of writing
/// direction are part of the text and stay; drawing shows them.
pub fn tidy(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' => {
                chars.next_if_eq(&'\n');
                out.push('\n');
            }
            '\n' | '\t' => out.push(c),
            c if c.is_control() => out.push_str(&visible(c.encode_utf8(&mut [0; 4]))),
            c => out.push(c),
        }
    }
    out
}
