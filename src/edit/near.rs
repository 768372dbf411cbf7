//! The nearest place to a text that was not found, for the message only. Nothing is ever changed
//! there.
//!
//! Lines are compared by a skeleton (blanks collapsed, invisible characters dropped, compatibility
//! forms, lower case). Rare lines anchor the place; only if no line is known are lines compared by
//! the pairs of letters they share. Linear in the size of the file.

use super::explain;
use super::find::occurrences;
use super::fold::{is_blank, plain};
use super::lines;
use super::{EditError, ErrorCode};
use std::collections::HashMap;
use unicode_normalization::char::decompose_compatible;

/// A line that is in the file more often says nothing about the place.
const MAX_ANCHOR_PLACES: usize = 64;
/// Part of the letter pairs of a line that must be in the file's line to call it near.
const MIN_SHARED: f64 = 0.5;
/// Lines compared by letter pairs, the longest ones first.
const MAX_COMPARED: usize = 4;
/// Bytes of a file's line that are compared.
const MAX_LINE: usize = 4000;

/// A nearest place, in 0-based lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// First line of the file there.
    pub(super) first: usize,
    /// All lines there are the same but for blanks, invisible characters and the like.
    pub(super) alike: bool,
}

/// The refusal for an old text that is not in the file.
pub(super) fn miss(text: &str, old: &str, new: &str) -> EditError {
    let file = split(text);
    let numbered = without_numbers(old);
    let wanted = split(numbered.as_deref().unwrap_or(old));
    let place = nearest(&file, &wanted);
    let exact = numbered.as_deref().is_some_and(|old| text.contains(old));
    let mut message = match place {
        Some(place) if exact => {
            format!("the old text is at line {}, but without the numbers", place.first + 1)
        }
        Some(place) => {
            let mut message = format!(
                "the old text is not in the file; the nearest place is line {}",
                place.first + 1
            );
            message.push_str(&explain::difference(&file, &wanted, place));
            message
        }
        None => "the old text is not in the file, and nothing near it is; read the file again and \
                 copy the text as it is"
            .to_owned(),
    };
    if numbered.is_some() {
        message.push_str(". Leave out the line numbers at the start of the lines");
    }
    if let Some(at) = already(text, new) {
        let line = lines::line_of(text, at);
        message.push_str(&format!(". The new text is in the file already, at line {line}"));
    }
    let near_line = place.map(|place| place.first + 1);
    EditError { code: ErrorCode::NotFound, message, near_line }
}

/// Lines without endings.
pub(super) fn split(text: &str) -> Vec<&str> {
    let cr = lines::is_cr_file(text);
    lines::spans(text, cr).into_iter().map(|(line, _)| &text[line]).collect()
}

/// Where a new text of some length already stands, once.
fn already(text: &str, new: &str) -> Option<usize> {
    const TELLING: usize = 12;
    let new = new.trim();
    if new.len() < TELLING {
        return None;
    }
    let mut places = occurrences(text, new, true);
    places.next().filter(|_| places.next().is_none())
}

/// `old` without line numbers at the start of its lines (`  12\t`, `12|`, `12:`, `12→`), if every
/// line that is not blank has one.
fn without_numbers(old: &str) -> Option<String> {
    let strip = |line: &str| {
        let rest = line.trim_start_matches(is_blank);
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let rest = &rest[digits..];
        let mark = rest.chars().next().filter(|c| matches!(c, '\t' | '|' | ':' | '→' | '│'));
        mark.filter(|_| digits > 0).map(|mark| rest[mark.len_utf8()..].to_owned())
    };
    let stripped: Option<Vec<String>> = old
        .split('\n')
        .map(|line| if line.trim().is_empty() { Some(String::new()) } else { strip(line) })
        .collect();
    stripped.map(|lines| lines.join("\n")).filter(|text| !text.trim().is_empty())
}

/// What is left of a line when everything that looks the same is made the same.
pub(super) fn skeleton(line: &str) -> String {
    let line = cut(line);
    let mut out = String::with_capacity(line.len());
    for c in line.chars() {
        match c {
            c if c.is_ascii() => push(&mut out, c),
            // Ideographs are their own form, nearly all of them.
            '\u{4e00}'..='\u{9fff}' => out.push(c),
            c if is_invisible(c) => {}
            c => decompose_compatible(plain(c), |part| push(&mut out, part)),
        }
    }
    out.truncate(out.trim_end().len());
    out
}

/// Adds a character in lower case; blanks collapse.
fn push(out: &mut String, c: char) {
    if c.is_ascii_graphic() {
        out.push(c.to_ascii_lowercase());
    } else if c.is_whitespace() {
        if !out.is_empty() && !out.ends_with(' ') {
            out.push(' ');
        }
    } else {
        out.extend(c.to_lowercase());
    }
}

/// The start of a line that is looked at.
fn cut(line: &str) -> &str {
    &line[..line.floor_char_boundary(MAX_LINE)]
}

/// Characters that show nothing.
pub(super) fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// The nearest place for `wanted` in `file`.
pub(super) fn nearest(file: &[&str], wanted: &[&str]) -> Option<Place> {
    let wanted: Vec<String> = wanted.iter().map(|line| skeleton(line)).collect();
    if wanted.iter().all(String::is_empty) {
        return None;
    }
    let file: Vec<String> = file.iter().map(|line| skeleton(line)).collect();
    if let [only] = wanted.as_slice() {
        let whole = file.iter().position(|line| line == only);
        let part = || file.iter().position(|line| line.contains(only.as_str()));
        if let Some(first) = whole.or_else(part) {
            return Some(Place { first, alike: true });
        }
    }
    let first = by_anchors(&file, &wanted).or_else(|| by_pairs(&file, &wanted))?;
    let alike = file.get(first..first + wanted.len()).is_some_and(|window| window == wanted);
    Some(Place { first, alike })
}

/// Every known line votes for the place where it would be; rare and long lines weigh more.
fn by_anchors(file: &[String], wanted: &[String]) -> Option<usize> {
    let mut known: HashMap<&str, Vec<usize>> = HashMap::new();
    for line in wanted.iter().filter(|line| !line.is_empty()) {
        known.entry(line).or_default();
    }
    for (at, line) in file.iter().enumerate() {
        if let Some(places) = known.get_mut(line.as_str()) {
            places.push(at);
        }
    }
    let mut anchors: Vec<(usize, &[usize])> = Vec::new();
    for (offset, line) in wanted.iter().enumerate().filter(|(_, line)| !line.is_empty()) {
        let places = known.get(line.as_str()).map_or(&[][..], Vec::as_slice);
        if places.len() <= MAX_ANCHOR_PLACES {
            anchors.push((offset, places));
        }
    }
    let mut votes: HashMap<usize, f64> = HashMap::new();
    for (offset, places) in &anchors {
        for at in places.iter().filter_map(|at| at.checked_sub(*offset)) {
            let weight = wanted[*offset].len().min(40) as f64 / places.len() as f64;
            *votes.entry(at).or_default() += weight;
        }
    }
    // A lone bracket is no anchor.
    let strong = |(_, weight): &(usize, f64)| *weight >= 2.0 || wanted.len() < 4;
    let better = |a: &(usize, f64), b: &(usize, f64)| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0));
    let (best, _) = votes.into_iter().filter(strong).max_by(better)?;
    // Lines may be missing or too many in between: the first known line tells where it begins.
    let near = |(offset, places): &(usize, &[usize])| {
        let starts = places.iter().filter_map(|at| at.checked_sub(*offset));
        starts.min_by_key(|at| at.abs_diff(best)).filter(|at| at.abs_diff(best) <= wanted.len())
    };
    anchors.iter().find_map(near)
}

/// The place whose lines share most letter pairs with the longest wanted lines.
fn by_pairs(file: &[String], wanted: &[String]) -> Option<usize> {
    let mut longest: Vec<usize> = (0..wanted.len()).collect();
    longest.sort_by_key(|at| std::cmp::Reverse(wanted[*at].len()));
    let mut best: Option<(f64, usize)> = None;
    for offset in longest.into_iter().take(MAX_COMPARED) {
        let Some(mut pairs) = LetterPairs::of(&wanted[offset]) else {
            continue;
        };
        for (at, line) in file.iter().enumerate().skip(offset) {
            let shared = pairs.shared(line);
            // Of lines that share as much, the one of like length is nearer.
            let excess = line.len().abs_diff(wanted[offset].len()) as f64;
            let score = shared - 0.1 * (excess / (excess + 40.0));
            if shared >= MIN_SHARED && best.is_none_or(|(known, _)| score > known) {
                best = Some((score, at - offset));
            }
        }
    }
    best.map(|(_, at)| at)
}

/// The pairs of neighbouring bytes in a line, for counting how many of them other lines have.
struct LetterPairs {
    /// Number of each pair, from 1; 0 for pairs that the line does not have.
    numbers: Vec<u16>,
    /// The round in which each pair was last seen.
    seen: Vec<u32>,
    round: u32,
}

impl LetterPairs {
    /// `None` for a line too short to compare.
    fn of(line: &str) -> Option<Self> {
        let mut pairs = Self { numbers: vec![0; 1 << 16], seen: vec![0], round: 0 };
        for pair in line.as_bytes().windows(2) {
            let number = &mut pairs.numbers[index(pair)];
            if *number == 0 {
                *number = u16::try_from(pairs.seen.len()).ok()?;
                pairs.seen.push(0);
            }
        }
        (pairs.seen.len() > 2).then_some(pairs)
    }

    /// Part of the pairs that `line` has, 0 to 1.
    fn shared(&mut self, line: &str) -> f64 {
        self.round += 1;
        let mut count = 0;
        for pair in line.as_bytes().windows(2) {
            let number = usize::from(self.numbers[index(pair)]);
            if number > 0 && self.seen[number] != self.round {
                self.seen[number] = self.round;
                count += 1;
            }
        }
        f64::from(count) / (self.seen.len() - 1) as f64
    }
}

fn index(pair: &[u8]) -> usize {
    pair.iter().fold(0, |index, byte| index << 8 | usize::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_where_the_first_known_line_is() {
        let file =
            ["a", "fn one() {", "    let x = 1;", "    let y = 2;", "    go(x, y);", "}", "b"];
        for (wanted, first) in [
            (
                &[
                    "fn one() {",
                    "    let x = 1;",
                    "    extra();",
                    "    let y = 2;",
                    "    go(x, y);",
                ][..],
                1,
            ),
            (&["fn one() {", "    let y = 2;", "    go(x, y);", "}"][..], 1),
            (&["fn uno() {", "    let x = 1;", "    let y = 3;"][..], 1),
            (&["    go(x,  y);"][..], 4),
            (&["    gone(x, y);"][..], 4),
        ] {
            assert_eq!(nearest(&file, wanted).map(|place| place.first), Some(first), "{wanted:?}");
        }
        assert_eq!(nearest(&file, &["zzz qqq"]), None);
    }
}
