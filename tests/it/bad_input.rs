//! Bad input: one clear message that names the remedy, a non-zero exit, nothing lost.

use super::support::{Home, demo_model};
use std::fs;
use std::path::{Path, PathBuf};

/// A copy of the demo model with bytes replaced: every occurrence of `from` by `to` (same length).
fn patched(home: &Home, from: &[u8], to: &[u8]) -> PathBuf {
    assert_eq!(from.len(), to.len());
    let mut bytes = fs::read(demo_model()).unwrap();
    let mut found = 0;
    for at in 0..bytes.len() - from.len() {
        if &bytes[at..at + from.len()] == from {
            bytes[at..at + to.len()].copy_from_slice(to);
            found += 1;
        }
    }
    assert!(found > 0, "the demo model holds no {:?}", String::from_utf8_lossy(from));
    let path = home.path().join("patched.gguf");
    fs::write(&path, bytes).unwrap();
    path
}

/// Runs `exec` with a model and expects failure with all of `parts` on standard error.
fn refused(home: &Home, cwd: &Path, arguments: &[&str], parts: &[&str]) {
    let output = home.run(cwd, arguments);
    let err = String::from_utf8_lossy(&output.stderr);
    assert_ne!(output.status.code(), Some(0), "{arguments:?}: {err}");
    assert!(output.status.code().is_some(), "{arguments:?} died of a signal: {err}");
    for part in parts {
        assert!(err.contains(part), "{arguments:?}: no {part:?} in: {err}");
    }
    assert!(!err.contains("panicked"), "{err}");
    assert!(err.lines().count() <= 8, "more than one message: {err}");
}

fn with_model(home: &Home, model: &Path, parts: &[&str]) {
    let root = home.repository("r", &[("a.txt", "one\n")]);
    refused(home, &root, &["exec", "--model", model.to_str().unwrap(), "hi"], parts);
    assert_eq!(fs::read_to_string(root.join("a.txt")).unwrap(), "one\n");
}

#[test]
fn no_model_says_how_to_name_one() {
    let home = Home::new();
    let root = home.repository("r", &[("a.txt", "one\n")]);
    refused(&home, &root, &["exec", "hi"], &["--model", "TESSERA_MODEL", "tessera demo"]);
    refused(&home, &root, &["exec", "--model", "nowhere.gguf", "hi"], &["nowhere.gguf"]);
}

#[test]
fn a_file_that_is_not_gguf_is_named() {
    let home = Home::new();
    let path = home.path().join("x.gguf");
    fs::write(&path, "PK\u{3}\u{4} this is a zip file").unwrap();
    with_model(&home, &path, &["x.gguf", "not a GGUF file"]);
}

#[test]
fn a_truncated_file_is_told_apart() {
    for part in [3, 100, 5000, 400_000] {
        let home = Home::new();
        let path = home.path().join("x.gguf");
        let bytes = fs::read(demo_model()).unwrap();
        fs::write(&path, &bytes[..part]).unwrap();
        let remedy = if part < 4 { "GGUF" } else { "download it again" };
        with_model(&home, &path, &[remedy]);
    }
}

#[test]
fn an_unsupported_architecture_is_named_with_those_there_are() {
    let home = Home::new();
    let path = patched(&home, b"qwen35", b"qwen99");
    with_model(&home, &path, &["qwen99", "qwen35"]);
}

#[test]
fn a_missing_chat_template_is_told() {
    let home = Home::new();
    let path = patched(&home, b"tokenizer.chat_template", b"tokenizer.chat_templatX");
    with_model(&home, &path, &["chat template"]);
}

#[test]
fn a_prompt_longer_than_the_context_is_refused_with_the_remedy() {
    let home = Home::new();
    let root = home.repository("r", &[("a.txt", "one\n")]);
    let model = demo_model();
    let long = "word ".repeat(4000);
    let arguments =
        ["exec", "--model", &model, "--profile", "demo", "-c", "engine.context=512", &long];
    refused(&home, &root, &arguments, &["context"]);
}

#[test]
fn folders_that_cannot_be_worked_in_are_named() {
    let home = Home::new();
    let root = home.repository("r", &[("a.txt", "one\n")]);
    refused(&home, &root, &["exec", "--cd", "nowhere", "hi"], &["nowhere"]);
    let bare = home.path().join("bare.git");
    let done = std::process::Command::new("git").args(["init", "-q", "--bare"]).arg(&bare).status();
    assert!(done.unwrap().success());
    refused(&home, &bare, &["exec", "hi"], &["bare", "clone"]);
}

#[test]
fn settings_that_cannot_be_read_stop_and_wrong_ones_warn() {
    let home = Home::new();
    let root = home.repository("r", &[("a.txt", "one\n")]);
    let folder = home.path().join("config/tessera");
    fs::create_dir_all(folder.join("config.toml")).unwrap();
    refused(&home, &root, &["exec", "hi"], &["config.toml"]);
    fs::remove_dir(folder.join("config.toml")).unwrap();
    fs::write(folder.join("config.toml"), "theme = = 3").unwrap();
    refused(&home, &root, &["exec", "hi"], &["config.toml", "not valid TOML", "defaults"]);
    fs::write(folder.join("config.toml"), "colour = 3\n").unwrap();
    let script = home.script(r#"{"steps": [{"text": "hello"}]}"#);
    let output = home.run(&root, &["exec", "--script", script.to_str().unwrap(), "hi"]);
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{err}");
    assert!(err.contains("unknown setting `colour`"), "{err}");
}

#[test]
fn the_interface_needs_a_terminal() {
    let home = Home::new();
    let root = home.repository("r", &[("a.txt", "one\n")]);
    refused(&home, &root, &["--model", &demo_model()], &["not a terminal", "tessera exec"]);
}
