//! The tools as the model meets them: the examples of their files, and what no example shows.

use super::*;
use crate::assets::Assets;
use crate::protocol::{Args, CallId, ToolStatus};
use serde_json::{Value, json};
use std::path::Path;

struct Folder {
    temp: tempfile::TempDir,
    cx: Context,
}

impl Folder {
    fn new<'a>(files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().join("proj");
        std::fs::create_dir(&root).unwrap();
        for (path, bytes) in files {
            std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            std::fs::write(root.join(path), bytes).unwrap();
        }
        let workspace = Arc::new(Workspace::open(&root).unwrap());
        let settings = Settings { logs: temp.path().join("logs"), ..Settings::default() };
        Self { temp, cx: Context::new(workspace, settings) }
    }

    fn root(&self) -> &Path {
        self.cx.workspace.root()
    }

    async fn run(&self, name: &str, args: Value) -> ToolOutput {
        let (sender, _live) = tokio::sync::mpsc::unbounded_channel();
        run(&call(name, args), &self.cx, CancellationToken::new(), sender).await
    }

    async fn text(&self, name: &str, args: Value) -> String {
        self.run(name, args).await.text
    }
}

fn call(name: &str, args: Value) -> ToolCall {
    let args: Args = args.as_object().unwrap().clone();
    ToolCall { id: CallId(1), name: name.into(), args }
}

#[tokio::test]
async fn the_examples_of_the_tool_files_are_true() {
    let (registry, _) = Registry::load(&Assets::built_in());
    let mut ran = 0;
    for tool in registry.iter() {
        let name = &tool.spec.name;
        assert!(!tool.examples.is_empty(), "{name} has no example");
        for example in &tool.examples {
            let properties = tool.spec.parameters["properties"].as_object().unwrap();
            for key in example.args.keys() {
                assert!(properties.contains_key(key), "{name} has no parameter {key}");
            }
            for key in tool.spec.parameters["required"].as_array().unwrap() {
                assert!(example.args.contains_key(key.as_str().unwrap()), "{name} needs {key}");
            }
            let files =
                example.files.iter().map(|(p, t)| (p.as_str(), t.as_str().unwrap().as_bytes()));
            let folder = Folder::new(files);
            let call = call(name, Value::Object(example.args.clone()));
            if let Some(expected) = &example.title {
                assert_eq!(title(&call, &folder.cx), *expected, "{name}");
            }
            if let Some(expected) = &example.output {
                assert_eq!(folder.text(name, json!(example.args)).await, *expected, "{name}");
                ran += 1;
            }
        }
    }
    assert!(ran >= 10, "{ran}");
}

#[tokio::test]
async fn reading_is_bounded_and_says_how_to_go_on() {
    let long = "x".repeat(90);
    let lines: String = (1..=2000).map(|n| format!("{n} {long}\n")).collect();
    let minified = "y".repeat(100_000);
    let folder = Folder::new([("a.txt", lines.as_bytes()), ("m.js", minified.as_bytes())]);
    let output = folder.run("read", json!({ "path": "a.txt" })).await;
    let shown: Vec<&str> = output.text.lines().collect();
    assert!(output.text.len() < 41 * 1024 && shown.len() > 300);
    let next = shown.len();
    assert_eq!(shown[next - 1], format!("[2000 lines; go on with offset {next}]"));
    let rest = folder.text("read", json!({ "path": "a.txt", "offset": next, "limit": 2 })).await;
    assert!(rest.starts_with(&format!("{next}\t{next} xxx")), "{rest}");
    let output = folder.text("read", json!({ "path": "m.js" })).await;
    assert!(output.starts_with("1\tyyy") && output.ends_with("[...]") && output.len() < 2100);
    assert_eq!(folder.cx.workspace.remembered("a.txt").as_deref(), Some(lines.as_bytes()));
}

#[tokio::test]
async fn what_is_no_text_is_refused_with_its_reason() {
    let folder = Folder::new([
        ("i.png", &b"\x89PNG\r\n\x1a\n"[..]),
        ("b.bin", b"ab\0c"),
        ("deep/e.txt", b""),
        ("latin.txt", b"caf\xe9\r\nx"),
        ("wide.txt", b"\xff\xfea\0\n\0"),
        ("gbk.txt", b"\xb6\xc1\xc8\xa1\xce\xc4\xbc\xfe\n"),
        ("bom.txt", b"\xef\xbb\xbfa"),
    ]);
    for (path, expected) in [
        ("i.png", "i.png is a PNG image (8 bytes); it cannot be shown as text"),
        ("b.bin", "b.bin is binary (4 bytes); it cannot be shown as text"),
        ("deep", "deep is a folder; use find to see what is in it"),
        ("E.txt", "E.txt: no such file; there is deep/e.txt"),
        ("none", "none: no such file"),
        ("deep/e.txt", "(empty file)"),
        (
            "latin.txt",
            "1\tcaf\u{fffd}\n2\tx\n[encoding: UTF-8 with invalid bytes; bytes without a meaning are shown as \u{fffd}]",
        ),
        ("wide.txt", "1\ta\n[encoding: UTF-16LE]"),
        ("gbk.txt", "1\t读取文件\n[encoding: probably GBK]"),
        ("bom.txt", "1\ta"),
        ("../x", "../x is outside the project; use a path relative to its root"),
        (
            ".git/config",
            ".git/config is protected: files of git are not touched here; use the git tool",
        ),
    ] {
        assert_eq!(folder.text("read", json!({ "path": path })).await, expected);
    }
    let output = folder.run("read", json!({ "path": "bom.txt", "offset": 7 })).await;
    assert_eq!(
        (output.status, output.text.as_str()),
        (ToolStatus::Failed, "bom.txt has only 1 line")
    );
}

#[tokio::test]
async fn searches_are_bounded_and_leave_ignored_and_binary_files_out() {
    let many = "hit\n".repeat(500);
    let folder = Folder::new([
        (".gitignore", &b"target/\n"[..]),
        ("target/t.txt", b"hit"),
        ("bin", b"hit\0hit"),
        ("a.txt", many.as_bytes()),
        ("b.txt", b"HIT (x\n"),
        ("c.txt", many.as_bytes()),
        (".git/x", b"hit"),
    ]);
    let text = folder.text("search", json!({ "pattern": "hit" })).await;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "a.txt:1: hit");
    assert_eq!(lines[50], "a.txt: [more in this file]");
    assert_eq!(lines[51], "c.txt:1: hit");
    assert_eq!(lines[100], "[more than 100 matches; narrow the search]");
    let text = folder
        .text("search", json!({ "pattern": "hit", "path": "b.txt", "ignore_case": true }))
        .await;
    assert_eq!(text, "b.txt:1: HIT (x");
    let text = folder.text("search", json!({ "pattern": "(x" })).await;
    assert!(text.starts_with("b.txt:1: HIT (x\n[the pattern is no regular expression"), "{text}");
    let text =
        folder.text("search", json!({ "pattern": "hit", "glob": "target/*", "all": true })).await;
    assert_eq!(text, "target/t.txt:1: hit");
    let text = folder.text("search", json!({ "pattern": "hit", "path": "/etc" })).await;
    assert!(text.contains("outside the project"), "{text}");
    assert_eq!(folder.text("find", json!({ "pattern": "t.*", "all": true })).await, "target/t.txt");
    assert!(
        folder.text("find", json!({ "pattern": "t.*" })).await.starts_with("nothing matches t.*")
    );
}

#[tokio::test]
async fn a_command_tells_how_it_ended() {
    let folder = Folder::new([]);
    for (command, expected, status) in [
        ("printf 'a\\033[31mb\\r\\n'", "ab", ToolStatus::Done),
        ("kill -9 $$", "[killed by SIGKILL]", ToolStatus::Failed),
        ("head -c 10 /dev/zero", "[binary output, 10 bytes]", ToolStatus::Done),
        (
            "sleep 300 & echo x",
            "x\n[1 background process(es) were still running and were ended]",
            ToolStatus::Done,
        ),
    ] {
        let output = folder.run("shell", json!({ "command": command })).await;
        assert_eq!((output.text.as_str(), output.status), (expected, status), "{command}");
    }
    let output =
        folder.run("shell", json!({ "command": "echo go; sleep 300", "timeout_s": 1 })).await;
    assert_eq!(output.text, "go\n[stopped: it took longer than 1 s]");
    assert_eq!(output.status, ToolStatus::Stopped);
}

#[tokio::test]
async fn long_output_is_cut_in_the_middle_and_kept_in_a_file() {
    let folder = Folder::new([]);
    let output = folder.run("shell", json!({ "command": "seq 1 20000; echo end" })).await;
    assert!(output.text.len() < 17 * 1024, "{}", output.text.len());
    let (_, log) = output.text.rsplit_once("[more of the output: ").unwrap();
    let log = std::fs::read_to_string(log.trim_end_matches(']')).unwrap();
    assert!(log.starts_with("1\n2\n") && log.ends_with("20000\nend\n"));
    assert!(output.text.contains("bytes left out ...]\n") && output.text.contains("\nend\n"));
    folder.run("shell", json!({ "command": "echo short" })).await;
    let logs = std::fs::read_dir(folder.temp.path().join("logs")).unwrap().count();
    assert_eq!(logs, 1, "short output needs no file");
}

#[tokio::test]
async fn cancelling_stops_a_command_and_a_search() {
    let folder = Folder::new([("a.txt", &b"x"[..])]);
    for (name, args) in
        [("shell", json!({ "command": "sleep 300" })), ("search", json!({ "pattern": "x" }))]
    {
        let cancel = CancellationToken::new();
        cancel.cancel();
        let (sender, _live) = tokio::sync::mpsc::unbounded_channel();
        let output = run(&call(name, args), &folder.cx, cancel, sender).await;
        assert_eq!(output.status, ToolStatus::Stopped, "{name}");
    }
}

const SHOP: &[(&str, &[u8])] = &[
    ("shop.py", b"def total(a, b):\n    return a + b\n"),
    (
        "test_shop.py",
        b"import unittest\nfrom shop import total\n\n\nclass TestShop(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(total(1, 2), 3)\n\n    def test_b(self):\n        self.assertEqual(total(1, 1), 2)\n\n    def test_c(self):\n        self.assertEqual(total(0, 0), 0)\n",
    ),
];

#[tokio::test]
async fn passing_tests_are_one_line_and_leave_nothing_behind() {
    let folder = Folder::new(SHOP.iter().copied());
    let output = folder.run("run_tests", json!({})).await;
    assert_eq!(output, ToolOutput::done("3 passed (python3 -m unittest)", "3 passed"));
    assert_eq!(std::fs::read_dir(folder.root()).unwrap().count(), 2, "no byte code");
    assert_eq!(std::fs::read_dir(folder.temp.path().join("logs")).unwrap().count(), 0);
}

#[tokio::test]
async fn a_run_that_dies_or_says_nothing_is_not_passed() {
    for (body, expected) in [
        (
            "import os\nos._exit(3)\n",
            "python3 -m unittest ended with exit status 3 and no test result could be read",
        ),
        (
            "import unittest\nclass T(unittest.TestCase): pass\n",
            "no tests ran (python3 -m unittest)",
        ),
        (
            "import unittest, atexit, os\natexit.register(lambda: os._exit(4))\nclass T(unittest.TestCase):\n    def test_a(self): pass\n",
            "1 passed (python3 -m unittest)\n[but the command ended with exit status 4]",
        ),
        (
            "import unittest, time\nclass T(unittest.TestCase):\n    def test_a(self): time.sleep(300)\n",
            "python3 -m unittest: stopped: it took longer than 2 s",
        ),
    ] {
        let mut folder = Folder::new([("test_x.py", body.as_bytes())]);
        if body.contains("sleep") {
            folder.cx.settings.timeout = Duration::from_secs(2);
        }
        let output = folder.run("run_tests", json!({})).await;
        assert!(output.text.starts_with(expected), "{}", output.text);
        assert_ne!(output.status, ToolStatus::Done);
    }
}

#[tokio::test]
async fn a_chosen_command_replaces_detection() {
    let mut folder = Folder::new(SHOP.iter().copied());
    folder.cx.settings.test_command =
        Some("python3 -m unittest -v test_shop.TestShop.test_a".into());
    folder.cx.settings.lint_command = Some("echo 'shop.py:1:5: warning: short name'".into());
    assert!(
        folder.text("run_tests", json!({})).await.starts_with("1 passed (python3 -m unittest -v")
    );
    let output = folder.text("lint", json!({})).await;
    assert_eq!(
        output,
        "1 warning (echo 'shop.py:1:5: warning: short name')\nshop.py:1:5 warning: short name"
    );
    let refused = folder.text("run_tests", json!({ "filter": "--locals" })).await;
    assert_eq!(refused, "--locals is an option, not a test name");
}

#[tokio::test]
async fn a_rust_project_is_tested_checked_and_linted() {
    let folder = Folder::new([
        ("Cargo.toml", &b"[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"[..]),
        ("src/lib.rs", b"pub fn total(a: i64, b: i64) -> i64 {\n    return a - b;\n}\n\n#[test]\nfn adds() {\n    assert_eq!(total(3, 4), 7);\n}\n\n#[test]\nfn zero() {\n    assert_eq!(total(0, 0), 0);\n}\n"),
    ]);
    let output = folder.text("run_tests", json!({})).await;
    assert_eq!(
        output,
        "1 failed, 1 passed (cargo test)\nFAILED src/lib.rs:7 adds: assertion `left == right` failed (left: -1, right: 7)"
    );
    assert_eq!(
        folder.text("run_tests", json!({ "filter": "zero" })).await,
        "1 passed (cargo test zero)"
    );
    assert_eq!(folder.text("typecheck", json!({})).await, "no findings (cargo check)");
    std::fs::write(folder.root().join("src/lib.rs"), "pub fn total() -> i64 {\n    \"a\"\n}\n")
        .unwrap();
    let broken = "src/lib.rs:2:5 error E0308: mismatched types";
    assert_eq!(
        folder.text("typecheck", json!({})).await,
        format!("1 error (cargo check)\n{broken}")
    );
    assert_eq!(
        folder.text("run_tests", json!({})).await,
        format!("it does not build: 1 error (cargo test)\n{broken}")
    );
}

#[tokio::test]
async fn a_users_command_tool_runs_with_quoted_arguments() {
    let mut folder = Folder::new([]);
    let config = folder.temp.path().join("config");
    std::fs::create_dir_all(config.join("tools")).unwrap();
    let text = "+++\nname = \"say\"\nkind = \"execute\"\ncommand = \"printf %s {what}\"\n[parameters.what]\ntype = \"string\"\nrequired = true\n+++\nSay it.";
    std::fs::write(config.join("tools/say.md"), text).unwrap();
    let (registry, warnings) = Registry::load(&Assets::load(Some(&config)).0);
    assert_eq!(warnings, Vec::<String>::new());
    folder.cx = folder.cx.clone().with_registry(Arc::new(registry));
    let call = call("say", json!({ "what": "a; echo b" }));
    assert_eq!(title(&call, &folder.cx), "printf %s 'a; echo b'");
    assert_eq!(folder.text("say", json!({ "what": "a; echo b" })).await, "a; echo b");
}

#[tokio::test]
async fn git_is_told_in_few_lines() {
    let mut folder = Folder::new([("a.txt", &b"one\n"[..])]);
    git2::Repository::init(folder.root()).unwrap();
    folder.cx.workspace = Arc::new(Workspace::open(folder.root()).unwrap());
    let status = folder.text("git", json!({ "action": "status" })).await;
    assert!(
        status.starts_with("branch ") && status.ends_with(", no commits yet\n?? a.txt"),
        "{status}"
    );
    let diff = folder.text("git", json!({ "action": "diff", "path": "a.txt" })).await;
    assert!(diff.ends_with("@@ -0,0 +1 @@\n+one"), "{diff}");
    assert_eq!(folder.text("git", json!({ "action": "log" })).await, "no commits");
    assert_eq!(
        folder.text("git", json!({ "action": "diff", "path": "../x" })).await,
        "../x is outside the project; use a path relative to its root"
    );
}

#[tokio::test]
async fn nothing_else_is_run() {
    let folder = Folder::new([]);
    assert_eq!(folder.text("fly", json!({})).await, "there is no tool fly");
    let edit = folder.text("edit", json!({ "path": "a", "old": "", "new": "" })).await;
    assert_eq!(edit, "edits are proposed and reviewed, not run");
    assert_eq!(folder.text("read", json!({})).await, "the argument path is missing");
}

#[test]
fn a_title_has_no_control_characters_and_is_never_cut() {
    let folder = Folder::new([]);
    let hidden = format!("ls{}\nrm -r x\u{1b}[2J", " ".repeat(3000));
    let shown = title(&call("shell", json!({ "command": hidden })), &folder.cx);
    assert!(shown.ends_with("␊rm -r x␛[2J") && shown.len() > 3000);
}
