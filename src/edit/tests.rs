//! The case files.

use super::*;
use serde_json::Value;
use std::path::PathBuf;

/// Lines of the case file: the folder in `TESSERA_CASES`, else that of the package.
fn cases() -> Vec<String> {
    let folder = std::env::var_os("TESSERA_CASES").map(PathBuf::from);
    let folder =
        folder.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cases"));
    let text = std::fs::read_to_string(folder.join("edits.jsonl")).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn content(file: &Value) -> Option<Vec<u8>> {
    use base64::Engine as _;
    let text = file["text"].as_str().map(|text| text.as_bytes().to_vec());
    text.or_else(|| base64::engine::general_purpose::STANDARD.decode(file["b64"].as_str()?).ok())
}

/// What is wrong with the result of a case.
fn faults(case: &Value, got: &Value) -> Vec<String> {
    let expect = &case["expect"];
    let mut faults = Vec::new();
    let mut check = |what: &str, expected: &Value, found: &Value| {
        if expected != found {
            faults.push(format!("{what}: expected {expected}, got {found}"));
        }
    };
    check("ok", &expect["ok"], &got["ok"]);
    check("error", &expect["error"], &got["error"]);
    if !expect["near_line"].is_null() {
        check("near_line", &expect["near_line"], &got["near_line"]);
    }
    let sorted = |list: &Value| {
        let mut names: Vec<String> = serde_json::from_value(list.clone()).unwrap_or_default();
        names.sort();
        Value::from(names)
    };
    check("soft", &sorted(&expect["soft"]), &sorted(&got["soft"]));
    let message = got["message"].as_str().unwrap_or_default().to_lowercase();
    for mention in expect["mention"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !message.contains(&mention.to_lowercase()) {
            faults.push(format!("{mention} is not in {message:?}"));
        }
    }
    if expect["ok"] == Value::Bool(true) {
        faults.extend(wrong_files(case, got));
    }
    faults
}

fn wrong_files(case: &Value, got: &Value) -> Vec<String> {
    let expected = case["expect"]["files"].as_object().unwrap();
    let found = got["files"].as_object().unwrap();
    let mut faults = Vec::new();
    for (path, file) in expected {
        let now = found.get(path).unwrap_or(&case["files"][path]);
        let link = file["symlink"] == now["symlink"];
        let mode = file["mode"].is_null() || file["mode"] == now["mode"];
        if !link || !mode || content(file) != content(now) {
            faults.push(format!("{path}: expected {file}, got {now}"));
        }
    }
    let surplus = found.keys().filter(|path| !expected.contains_key(*path));
    faults.extend(surplus.map(|path| format!("{path}: changed as well")));
    faults
}

/// Runs all lines and gives what is wrong with them.
fn run_all(lines: &[String]) -> Vec<String> {
    let mut failed = Vec::new();
    for line in lines {
        let case: Value = serde_json::from_str(line).unwrap();
        let result = run_case(line).unwrap();
        assert_eq!(result["id"], case["id"]);
        let faults = faults(&case, &result["got"]);
        if !faults.is_empty() {
            failed.push(format!("{} {}: {}", case["id"], case["kind"], faults.join("; ")));
        }
    }
    failed
}

#[test]
fn every_case_gives_the_expected_files_or_error() {
    let cases = cases();
    assert!(cases.len() >= 100, "only {} cases", cases.len());
    let failed = run_all(&cases);
    assert!(failed.is_empty(), "{} of {}:\n{}", failed.len(), cases.len(), failed.join("\n"));
}

/// More of the same kinds, in the same format.
#[test]
fn every_further_case_gives_the_expected_files_or_error() {
    let cases: Vec<String> = include_str!("more.jsonl").lines().map(str::to_owned).collect();
    let failed = run_all(&cases);
    assert!(failed.is_empty(), "{} of {}:\n{}", failed.len(), cases.len(), failed.join("\n"));
}
