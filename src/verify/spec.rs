//! `node --test` with its `spec` reporter: totals as `ℹ pass 1`, then the failing tests again.

use super::javascript::failed;
use super::{Counts, TestOutcome, TestReport};

pub(super) fn read(text: &str, root: &str) -> Option<TestReport> {
    let lines: Vec<&str> = text.lines().collect();
    let total = |name: &str| {
        let prefix = format!("ℹ {name} ");
        let found = lines.iter().rev().find_map(|line| line.strip_prefix(prefix.as_str()));
        found.and_then(|n| n.parse::<usize>().ok())
    };
    let (passed, failed_count) = (total("pass")?, total("fail")?);
    let counts = Counts {
        failed: failed_count + total("cancelled").unwrap_or(0),
        errors: 0,
        passed: passed + total("todo").unwrap_or(0),
        skipped: total("skipped").unwrap_or(0),
    };
    let start = lines.iter().rposition(|line| *line == "✖ failing tests:").unwrap_or(lines.len());
    let rest = &lines[start.min(lines.len())..];
    let heads: Vec<usize> =
        (0..rest.len()).filter(|&at| rest[at].starts_with("test at ")).collect();
    let outcomes: Vec<TestOutcome> = heads
        .iter()
        .enumerate()
        .filter_map(|(n, &at)| {
            let section = &rest[at..heads.get(n + 1).copied().unwrap_or(rest.len())];
            let title = section.get(1)?.strip_prefix("✖ ")?;
            let id = title.rsplit_once(" (").map_or(title, |(id, _)| id);
            Some(failed(id, &section[2..], root))
        })
        .collect();
    Some(TestReport { counts, outcomes })
}
