//! Recorded output of real runs in `tests/fixtures/verify`; `cases.txt` there says what must be read.

use super::*;

const ROOT: &str = "/home/ann/shop";
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/verify");

fn fixture(name: &str) -> String {
    std::fs::read_to_string(format!("{FOLDER}/{name}")).unwrap()
}

/// What one case gives, as the model would read it.
fn result(format: &str, text: &str) -> String {
    let tests =
        |format| read_tests(format, text, ROOT).map(|report| report.text(format_name(format), 20));
    let findings =
        |format| read_findings(format, text, ROOT).map(|found| findings_text(&found, "lint", 20));
    let read = match format {
        "unittest" => tests(TestFormat::Unittest),
        "pytest" => tests(TestFormat::Pytest),
        "cargo-test" => tests(TestFormat::Cargo),
        "jest-json" => tests(TestFormat::Jest),
        "any" => tests(TestFormat::Any),
        "build" => Some(findings_text(&read_build_errors(text, ROOT), "build", 20)),
        "cargo" => findings(FindingFormat::Cargo),
        "ruff" => findings(FindingFormat::Ruff),
        "eslint" => findings(FindingFormat::Eslint),
        "mypy" => findings(FindingFormat::Mypy),
        "pyright" => findings(FindingFormat::Pyright),
        "lines" => findings(FindingFormat::Lines),
        other => panic!("unknown format {other}"),
    };
    read.unwrap_or_else(|| "none".to_owned())
}

fn format_name(format: TestFormat) -> &'static str {
    match format {
        TestFormat::Unittest => "python3 -m unittest",
        TestFormat::Pytest => "pytest",
        TestFormat::Cargo => "cargo test",
        TestFormat::Jest => "jest",
        TestFormat::Any => "npm test",
    }
}

#[test]
fn recorded_output_reads_as_expected() {
    let cases = fixture("cases.txt");
    let mut wrong = String::new();
    let mut count = 0;
    for case in format!("\n{cases}").split("\n== ").skip(1) {
        let (head, expected) = case.split_once('\n').unwrap();
        let (format, name) = head.split_once(' ').unwrap();
        let found = result(format, &fixture(name));
        count += 1;
        if found != expected.trim_end() {
            wrong.push_str(&format!("== {head}\n{found}\n\n"));
        }
    }
    assert!(wrong.is_empty(), "read instead:\n{wrong}");
    assert!(count >= 24, "only {count} cases");
}

/// mocha and libtest give their good news before the bad ones; there the exit status must tell.
#[test]
fn a_run_cut_before_its_summary_is_never_green() {
    for (format, name) in [
        (TestFormat::Unittest, "unittest-pass.txt"),
        (TestFormat::Pytest, "pytest-pass.txt"),
        (TestFormat::Unittest, "unittest-mixed.txt"),
        (TestFormat::Pytest, "pytest-mixed.txt"),
        (TestFormat::Any, "node-tap.txt"),
        (TestFormat::Any, "node-spec.txt"),
        (TestFormat::Any, "vitest.json"),
        (TestFormat::Any, "vitest-text.txt"),
    ] {
        let text = fixture(name);
        let whole = read_tests(format, &text, ROOT).unwrap();
        for (at, _) in text.char_indices().filter(|(at, _)| *at > 0) {
            let Some(part) = read_tests(format, &text[..at], ROOT) else {
                continue;
            };
            assert!(!part.is_green() || whole.is_green(), "{name} cut at {at}");
        }
    }
}

#[test]
fn older_python_names_tests_another_way() {
    let text = "test_a (shop.TestA) ... FAIL\n\n======================================================================\nFAIL: test_a (shop.TestA)\n----------------------------------------------------------------------\nTraceback (most recent call last):\n  File \"/home/ann/shop/shop.py\", line 7, in test_a\n    self.fail()\nAssertionError: None\n\n----------------------------------------------------------------------\nRan 1 test in 0.000s\n\nFAILED (failures=1)\n";
    assert_eq!(
        result("unittest", text),
        "1 failed (python3 -m unittest)\nFAILED shop.py:7 shop.TestA.test_a: None"
    );
}

#[test]
fn nothing_hostile_makes_a_reader_fail() {
    for text in [
        "",
        "\n\n",
        "Ran tests",
        "Ran 99999999999999999999 tests in",
        "1..",
        "TAP version 13\nok",
        "{\"numTotalTests\":",
        "== in s ==",
        "test result: ",
        "[",
        "a(1,: ",
        "---- x stdout ----",
    ] {
        for format in [
            "unittest",
            "pytest",
            "cargo-test",
            "any",
            "build",
            "cargo",
            "ruff",
            "eslint",
            "mypy",
            "pyright",
            "lines",
        ] {
            result(format, text);
        }
    }
}

#[test]
fn long_reports_are_cut_and_say_so() {
    let outcome = TestOutcome {
        id: "t".into(),
        state: TestState::Failed,
        file: None,
        line: None,
        message: "x".repeat(500),
    };
    let report = TestReport {
        counts: Counts { failed: 3, ..Counts::default() },
        outcomes: vec![outcome; 3],
    };
    let text = report.text("cmd", 1);
    assert!(
        text.starts_with("3 failed (cmd)\nFAILED t: xxx") && text.ends_with("...\n[2 more]"),
        "{text}"
    );
    assert!(text.len() < 300);
}
