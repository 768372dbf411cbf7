//! vitest, default text: ` FAIL  file > suite > test` sections and a line of totals.

use super::javascript::failed;
use super::place::count_before;
use super::{Counts, TestReport};

pub(super) fn read(text: &str, root: &str) -> Option<TestReport> {
    let lines: Vec<&str> = text.lines().collect();
    let totals = lines.iter().rev().find_map(|line| line.trim_start().strip_prefix("Tests  "))?;
    let count = |word: &str| count_before(totals, word).unwrap_or(0);
    let counts = Counts {
        failed: count("failed"),
        errors: 0,
        passed: count("passed"),
        skipped: count("skipped") + count("todo"),
    };
    let heads: Vec<usize> =
        (0..lines.len()).filter(|&at| lines[at].starts_with(" FAIL  ")).collect();
    let outcomes = heads.iter().enumerate().map(|(n, &at)| {
        let end = heads.get(n + 1).copied().unwrap_or(lines.len());
        failed(lines[at].trim_start_matches(" FAIL  "), &lines[at + 1..end], root)
    });
    Some(TestReport { counts, outcomes: outcomes.collect() })
}
