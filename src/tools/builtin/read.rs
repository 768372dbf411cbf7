//! `read`: a file as numbered lines.

use super::{Job, Outcome, cut, number, optional_text, plural, text};
use crate::edit::Decoded;
use crate::protocol::{Args, ToolOutput};
use crate::workspace::{ReadError, Workspace};

/// Characters of one line; minified files have lines that fill a context.
const LINE: usize = 2000;
/// Files looked at when a path is misspelt, and suggestions given.
const SEEN: usize = 20_000;
const SUGGESTIONS: usize = 3;

pub(in crate::tools) fn title(args: &Args) -> String {
    let path = optional_text(args, "path").unwrap_or_default();
    match (number(args, "offset"), number(args, "limit")) {
        (None, None) => format!("read {path}"),
        (offset, None) => format!("read {path}:{}-", offset.unwrap_or(1)),
        (offset, Some(limit)) => {
            let first = offset.unwrap_or(1);
            format!("read {path}:{first}-{}", first.saturating_add(limit).saturating_sub(1))
        }
    }
}

pub(in crate::tools) fn run(job: &Job) -> Outcome {
    let path = text(job.args, "path")?;
    let workspace = &job.cx.workspace;
    let (place, bytes) = workspace.read(path).map_err(|error| explain(error, workspace))?;
    let what = not_text(&bytes);
    let Some((decoded, note)) = decode(&bytes).filter(|_| what.is_none()) else {
        let (what, size) = (what.unwrap_or("binary"), bytes.len());
        let path = place.path;
        return Err(format!("{path} is {what} ({size} bytes); it cannot be shown as text"));
    };
    let lines = lines(&decoded);
    let total = lines.len();
    let first = number(job.args, "offset").unwrap_or(1).max(1);
    let first = usize::try_from(first).unwrap_or(usize::MAX);
    if total > 0 && first > total {
        return Err(format!("{} has only {}", place.path, plural(total, "line")));
    }
    workspace.remember(&place.path, &bytes);
    if total == 0 {
        return Ok(ToolOutput::done("(empty file)", "empty file"));
    }
    let limit = number(job.args, "limit").and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0);
    let most = limit.unwrap_or(job.cx.settings.read_lines);
    let (mut text, next) = numbered(&lines, first, most, job.cx.settings.read_bytes);
    if let Some(note) = note {
        text.push_str(&format!("\n[{note}]"));
    }
    if next <= total {
        text.push_str(&format!("\n[{total} lines; go on with offset {next}]"));
    }
    Ok(ToolOutput::done(text, plural(next - first, "line")))
}

/// Lines without their ends; what follows the last line end is no line when it is empty.
fn lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> =
        text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
    lines.pop_if(|last| last.is_empty());
    lines
}

/// At most `most` lines and `bytes` bytes (but one line at least) from line `first` on, and the
/// number of the line after them.
fn numbered(lines: &[&str], first: usize, most: usize, bytes: usize) -> (String, usize) {
    let (mut text, mut next) = (String::new(), first);
    while next <= lines.len() && next - first < most {
        let line = format!("{next}\t{}", cut(lines[next - 1], LINE));
        if next > first {
            if text.len() + line.len() >= bytes {
                break;
            }
            text.push('\n');
        }
        text.push_str(&line);
        next += 1;
    }
    (text, next)
}

/// The text of a file in whatever encoding it has, and what is unusual about it.
fn decode(bytes: &[u8]) -> Option<(String, Option<String>)> {
    let Decoded { text, encoding, uncertain } = crate::edit::decode(bytes)?;
    let lossy = text.contains(char::REPLACEMENT_CHARACTER);
    let note = match (encoding, uncertain) {
        ("UTF-8", _) => None,
        (encoding, _) if lossy => {
            Some(format!("encoding: {encoding}; bytes without a meaning are shown as \u{fffd}"))
        }
        (encoding, true) => Some(format!("encoding: probably {encoding}")),
        (encoding, false) => Some(format!("encoding: {encoding}")),
    };
    Some((text, note))
}

/// What a file is that cannot be shown as text.
fn not_text(bytes: &[u8]) -> Option<&'static str> {
    let images: [(&[u8], &'static str); 5] = [
        (b"\x89PNG", "a PNG image"),
        (b"\xff\xd8\xff", "a JPEG image"),
        (b"GIF8", "a GIF image"),
        (b"%PDF-", "a PDF document"),
        (b"\x7fELF", "a program"),
    ];
    images.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|(_, what)| *what)
}

fn explain(error: ReadError, workspace: &Workspace) -> String {
    match error {
        ReadError::Folder(path) => format!("{path} is a folder; use find to see what is in it"),
        ReadError::Missing(path) => {
            let name = path.rsplit('/').next().unwrap_or(&path).to_lowercase();
            let near: Vec<String> = workspace
                .walk_files(workspace.root())
                .take(SEEN)
                .filter(|other| other.rsplit('/').next().is_some_and(|n| n.to_lowercase() == name))
                .take(SUGGESTIONS)
                .collect();
            if near.is_empty() {
                return format!("{path}: no such file");
            }
            format!("{path}: no such file; there is {}", near.join(", "))
        }
        ReadError::TooLarge(path, size) => {
            format!("{path} is too large to read ({size} bytes); use search")
        }
        ReadError::Refused(_) | ReadError::Special(_) | ReadError::Io { .. } => error.to_string(),
    }
}
