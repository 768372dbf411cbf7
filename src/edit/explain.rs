//! Says in what the file differs from a text that was not found.

use super::encoding::is_opaque;
use super::fold::blanks;
use super::near::{Place, is_invisible, skeleton};
use std::fmt::Write;

/// Lines of the file that are shown.
const MAX_SHOWN: usize = 12;
/// Characters of a line that are shown.
const MAX_WIDTH: usize = 200;

/// What differs at `place`, beginning with `: ` or `. `.
pub(super) fn difference(file: &[&str], wanted: &[&str], place: Place) -> String {
    let there = file.get(place.first..).unwrap_or(&[]);
    let differing = (0..wanted.len().min(there.len())).find(|at| there[*at] != wanted[*at]);
    let mut out = String::new();
    match differing.map(|offset| (place.first + offset, there[offset], wanted[offset])) {
        Some((at, there, line)) => {
            let what = of_lines(there, line).unwrap_or_else(|| read_otherwise(there, line));
            // Writing to a String never fails.
            let _ = write!(out, ": in line {} {what}", at + 1);
        }
        None => out.push_str(": the file ends there"),
    }
    if !place.alike && wanted.len() > 1 {
        out.push_str(". The file there:");
        for line in file.iter().skip(place.first).take(wanted.len().min(MAX_SHOWN)) {
            let _ = write!(out, "\n{}", short(line));
        }
        if wanted.len() > MAX_SHOWN {
            out.push_str("\n…");
        }
    }
    out
}

/// Both lines, and their first difference where the eye could miss it.
fn read_otherwise(there: &str, wanted: &str) -> String {
    let mut out = format!("it reads `{}`, not `{}`", short(there), short(wanted));
    let mut pairs = Pairs { a: there.chars(), b: wanted.chars() };
    if let Some((Some(x), Some(y))) = pairs.first_difference()
        && !(x.is_ascii_graphic() && y.is_ascii_graphic())
    {
        let (x, y) = (run(x, pairs.a.as_str()), run(y, pairs.b.as_str()));
        // Writing to a String never fails.
        let _ = write!(out, " (first {x}, not {y})");
    }
    out
}

/// The start of a line; U+FFFD for bytes without meaning.
fn short(line: &str) -> String {
    let shown = |c| {
        if is_opaque(c) { char::REPLACEMENT_CHARACTER } else { c }
    };
    let mut out: String = line.chars().take(MAX_WIDTH).map(shown).collect();
    if line.chars().nth(MAX_WIDTH).is_some() {
        out.push('…');
    }
    out
}

/// What differs between lines that look the same; `None` if they do not.
fn of_lines(there: &str, wanted: &str) -> Option<String> {
    let (part, is_part) = part_like(there, wanted.trim())?;
    let wanted = if is_part { wanted.trim() } else { wanted };
    let (indent, wanted_indent) = (blanks(part), blanks(wanted));
    if part[indent..] == wanted[wanted_indent..] {
        return Some(format!(
            "the indentation is {}, in the old text {}; it must differ by the same amount in all lines",
            indentation(&part[..indent]),
            indentation(&wanted[..wanted_indent]),
        ));
    }
    let mut pairs = Pairs { a: part.chars(), b: wanted.chars() };
    let (in_file, in_old) = pairs.first_difference()?;
    let (rest, old_rest) = (pairs.a.as_str(), pairs.b.as_str());
    Some(match (in_file, in_old) {
        (Some(x), _) if is_invisible(x) => {
            format!("the file has an invisible {} that the old text lacks", named(x))
        }
        (_, Some(y)) if is_invisible(y) => {
            format!("the old text has an invisible {} that the file lacks", named(y))
        }
        (Some(x), Some(y)) => {
            format!("the file has {} where the old text has {}", run(x, rest), run(y, old_rest))
        }
        (Some(x), None) => format!("the file goes on with {}", run(x, rest)),
        (None, Some(y)) => format!("the old text goes on with {}", run(y, old_rest)),
        (None, None) => return None,
    })
}

/// Two texts read side by side.
struct Pairs<'l> {
    a: std::str::Chars<'l>,
    b: std::str::Chars<'l>,
}

impl Pairs<'_> {
    /// The first characters that differ; `None` if the texts are the same.
    fn first_difference(&mut self) -> Option<(Option<char>, Option<char>)> {
        loop {
            match (self.a.next(), self.b.next()) {
                (None, None) => return None,
                (a, b) if a != b => return Some((a, b)),
                _ => {}
            }
        }
    }
}

/// An indentation in words.
fn indentation(indent: &str) -> String {
    match indent.chars().next() {
        None => "none".to_owned(),
        Some(first) if indent.chars().all(|c| c == first) => {
            run(first, &indent[first.len_utf8()..])
        }
        Some(_) => format!("`{indent}` (tabs and blanks)"),
    }
}

/// The part of the file's line that looks like `wanted`, and whether it is only a part.
fn part_like<'l>(there: &'l str, wanted: &str) -> Option<(&'l str, bool)> {
    let target = skeleton(wanted);
    if skeleton(there) == target {
        return Some((there, false));
    }
    if target.is_empty() || there.len() > 500 {
        return None;
    }
    let mut starts = there.char_indices().map(|(at, _)| at);
    let start = starts.rfind(|at| skeleton(&there[*at..]).starts_with(&target))?;
    let mut ends = there[start..].char_indices().map(|(at, c)| start + at + c.len_utf8());
    let end = ends.find(|end| skeleton(&there[start..*end]) == target)?;
    Some((&there[start..end], true))
}

/// A run of the same blank, counted.
fn run(first: char, rest: &str) -> String {
    let count = 1 + rest.chars().take_while(|c| *c == first).count();
    let name = match first {
        '\t' => "tab",
        ' ' => "blank",
        _ => return named(first),
    };
    format!("{count} {name}{}", if count == 1 { "" } else { "s" })
}

/// A character by its looks and, outside ASCII, its number.
fn named(c: char) -> String {
    match c {
        '\t' => "a tab".to_owned(),
        ' ' => "a blank".to_owned(),
        c if c.is_ascii_graphic() => format!("`{c}`"),
        c if is_opaque(c) => "a byte that is no text".to_owned(),
        c if c.is_whitespace() || c.is_control() || is_invisible(c) => {
            format!("U+{:04X}", c as u32)
        }
        c => format!("`{c}` (U+{:04X})", c as u32),
    }
}
