//! The Test Anything Protocol, versions 13 and 14, as `node --test` and others write it: nested by
//! indentation, with a YAML block after each failure.

use super::javascript::failed;
use super::{Counts, TestReport};

pub(super) fn read(text: &str, root: &str) -> Option<TestReport> {
    let lines: Vec<&str> = text.lines().collect();
    if !lines.iter().any(|line| line.starts_with("TAP version ")) {
        return None;
    }
    // A plan says the run came to its end.
    lines.iter().find(|line| line.starts_with("1.."))?;
    let mut report = TestReport::default();
    for (at, line) in lines.iter().enumerate() {
        let Some((ok, title)) = point(line.trim_start()) else {
            continue;
        };
        let block = block(&lines[at + 1..]);
        if block.iter().any(|line| line.trim() == "type: 'suite'") {
            // A group; its tests are counted themselves.
            continue;
        }
        let (id, directive) = title.rsplit_once(" # ").unwrap_or((title, ""));
        let directive = directive.to_ascii_uppercase();
        if directive.starts_with("SKIP") {
            report.counts.skipped += 1;
        } else if ok || directive.starts_with("TODO") {
            report.counts.passed += 1;
        } else {
            report.counts.failed += 1;
            report.outcomes.push(failed(id, &explanation(&block), root));
        }
    }
    (report.counts != Counts::default()).then_some(report)
}

/// `not ok 2 - title`
fn point(line: &str) -> Option<(bool, &str)> {
    let (ok, rest) = match line.strip_prefix("not ok") {
        Some(rest) => (false, rest),
        None => (true, line.strip_prefix("ok")?),
    };
    let rest = rest.strip_prefix(' ')?;
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
    Some((ok, rest.strip_prefix("- ").unwrap_or(rest)))
}

/// The YAML block directly after a test point.
fn block<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    if lines.first().is_none_or(|line| line.trim() != "---") {
        return Vec::new();
    }
    lines[1..].iter().copied().take_while(|line| line.trim() != "...").collect()
}

/// Message and stack of the block, in the form an error prints them.
fn explanation<'a>(block: &[&'a str]) -> Vec<&'a str> {
    let mut found = Vec::new();
    let mut lines = block.iter().copied().peekable();
    while let Some(line) = lines.next() {
        let indent = line.len() - line.trim_start().len();
        let Some((key, value)) = line.trim_start().split_once(':') else {
            continue;
        };
        if !matches!(key, "error" | "message" | "stack") {
            continue;
        }
        let value = value.trim();
        if value.is_empty() || value.starts_with('|') || value.starts_with('>') {
            let deeper = |l: &&str| l.trim().is_empty() || l.len() - l.trim_start().len() > indent;
            while let Some(line) = lines.next_if(deeper) {
                found.push(line);
            }
        } else {
            found.push(value.trim_matches(['"', '\'']));
        }
    }
    found
}
