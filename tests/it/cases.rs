//! `tessera debug parse` and `tessera debug edit` on the case files, as anyone would run them.

use super::support::Home;
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

fn folder() -> PathBuf {
    std::env::var_os("TESSERA_CASES")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases"), PathBuf::from)
}

/// One answer for each line, with the id of the line.
fn answers(what: &str, file: &str) -> Vec<(Value, Value)> {
    let text = std::fs::read_to_string(folder().join(file)).unwrap();
    let home = Home::new();
    let mut child = home
        .command(home.path(), &["debug", what])
        .env("TESSERA_CASES", folder())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let lines = text.clone();
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    let cases: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let got: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(cases.len(), got.len(), "one answer a line");
    cases.into_iter().zip(got).collect()
}

#[test]
fn every_tool_call_case_is_answered_with_its_calls() {
    for (case, answer) in answers("parse", "toolcalls.jsonl") {
        assert_eq!(case["id"], answer["id"]);
        let (expected, got) = (&case["expect"], &answer["got"]);
        // Values that the case names by a stand-in are compared beside the code.
        if expected.get("big").is_none() {
            assert_eq!(expected["calls"], got["calls"], "{}", case["id"]);
        }
        assert_eq!(expected["errors"], got["errors"], "{}", case["id"]);
    }
}

#[test]
fn every_edit_case_is_answered() {
    for (case, answer) in answers("edit", "edits.jsonl") {
        assert_eq!(case["id"], answer["id"]);
        let (expected, got) = (&case["expect"], &answer["got"]);
        assert_eq!(expected["ok"], got["ok"], "{}: {got}", case["id"]);
        assert_eq!(
            expected.get("error"),
            got.get("error").filter(|e| !e.is_null()),
            "{}",
            case["id"]
        );
    }
}
