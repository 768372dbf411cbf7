//! What changed between two runs of the same tests or checks: broken by the change, mended by it, or
//! failing all along.

use super::{Finding, TestOutcome, TestReport, TestState};

/// Faults of a run, told apart by the run before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison<T> {
    /// Not there before.
    pub new: Vec<T>,
    /// There before as well.
    pub old: Vec<T>,
    /// There before and gone now.
    pub fixed: Vec<T>,
}

/// Compares the faulty tests of two runs by name. Where the run before was told as text without
/// names, everything counts as new.
pub fn compare_tests(before: &TestReport, now: &TestReport) -> Comparison<TestOutcome> {
    let is_fault =
        |outcome: &&TestOutcome| matches!(outcome.state, TestState::Failed | TestState::Error);
    compare(
        before.outcomes.iter().filter(is_fault),
        now.outcomes.iter().filter(is_fault),
        |a, b| a.id == b.id,
    )
}

/// Compares findings by file, rule and message: lines move when code above them changes.
pub fn compare_findings(before: &[Finding], now: &[Finding]) -> Comparison<Finding> {
    compare(before.iter(), now.iter(), |a, b| {
        (&a.file, &a.id, &a.message, a.severity) == (&b.file, &b.id, &b.message, b.severity)
    })
}

/// Matches each item with one item of the run before, so that a second one of the same kind is new.
fn compare<'a, T: Clone + 'a>(
    before: impl Iterator<Item = &'a T>,
    now: impl Iterator<Item = &'a T>,
    same: impl Fn(&T, &T) -> bool,
) -> Comparison<T> {
    let mut left: Vec<&T> = before.collect();
    let (mut new, mut old) = (Vec::new(), Vec::new());
    for item in now {
        match left.iter().position(|known| same(known, item)) {
            Some(at) => {
                left.remove(at);
                old.push(item.clone());
            }
            None => new.push(item.clone()),
        }
    }
    Comparison { new, old, fixed: left.into_iter().cloned().collect() }
}

#[cfg(test)]
mod tests {
    use super::super::Severity;
    use super::*;

    fn test(id: &str, state: TestState) -> TestOutcome {
        TestOutcome { id: id.into(), state, file: None, line: None, message: String::new() }
    }

    fn ids(outcomes: &[TestOutcome]) -> Vec<&str> {
        outcomes.iter().map(|outcome| outcome.id.as_str()).collect()
    }

    #[test]
    fn faults_are_new_old_or_fixed() {
        use TestState::{Error, Failed, Passed};
        let report = |outcomes| TestReport { outcomes, ..TestReport::default() };
        let before = report(vec![test("a", Failed), test("b", Failed), test("c", Passed)]);
        let now = report(vec![test("a", Error), test("b", Passed), test("c", Failed)]);
        let found = compare_tests(&before, &now);
        assert_eq!(ids(&found.new), ["c"]);
        assert_eq!(ids(&found.old), ["a"]);
        assert_eq!(ids(&found.fixed), ["b"]);
    }

    #[test]
    fn a_finding_that_only_moved_is_the_same_and_a_second_one_is_new() {
        let finding = |line| Finding {
            file: "a.rs".into(),
            line,
            column: 1,
            id: "E1".into(),
            severity: Severity::Error,
            message: "m".into(),
        };
        let found = compare_findings(&[finding(3)], &[finding(5), finding(9)]);
        assert_eq!(
            (found.old, found.new, found.fixed.len()),
            (vec![finding(5)], vec![finding(9)], 0)
        );
    }
}
