//! mocha, default text: `1 passing (5ms)`, `1 failing`, then numbered sections.

use super::javascript::failed;
use super::place::number;
use super::{Counts, TestOutcome, TestReport};

pub(super) fn read(text: &str, root: &str) -> Option<TestReport> {
    let lines: Vec<&str> = text.lines().collect();
    let passing = lines.iter().rposition(|line| is_total(line, "passing"))?;
    let total = |word: &str| {
        let line = lines[passing..].iter().find(|line| is_total(line, word));
        line.and_then(|line| number(line.trim())).unwrap_or(0) as usize
    };
    let counts = Counts {
        failed: total("failing"),
        errors: 0,
        passed: total("passing"),
        skipped: total("pending"),
    };
    let rest = &lines[passing..];
    let heads: Vec<usize> = (0..rest.len()).filter(|&at| head(rest[at]).is_some()).collect();
    let outcomes: Vec<TestOutcome> = heads
        .iter()
        .enumerate()
        .filter_map(|(n, &at)| {
            let section = &rest[at..heads.get(n + 1).copied().unwrap_or(rest.len())];
            // The title ends with a colon and may take several lines, one for each suite.
            let end = section.iter().position(|line| line.ends_with(':'))? + 1;
            let mut title = vec![head(section[0])?];
            title.extend(section[1..end].iter().map(|line| line.trim()));
            let title = title.join(" ");
            Some(failed(title.trim_end_matches(':'), &section[end..], root))
        })
        .collect();
    Some(TestReport { counts, outcomes })
}

/// `  1 passing (17ms)`
fn is_total(line: &str, word: &str) -> bool {
    let mut parts = line.split_whitespace();
    parts.next().is_some_and(|n| n.parse::<usize>().is_ok()) && parts.next() == Some(word)
}

/// `  1) shop`
fn head(line: &str) -> Option<&str> {
    let (n, title) = line.strip_prefix("  ")?.split_once(") ")?;
    n.parse::<usize>().ok().map(|_| title)
}
