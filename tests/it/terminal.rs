//! The real binary in a pseudo-terminal: what a person sees and does.

use super::support::{Home, Terminal, demo_model};
use std::path::Path;

const SIZE: (u16, u16) = (100, 30);
/// Leaves the alternate screen; the last thing a program that tidies up does there.
const LEAVE: &[u8] = b"\x1b[?1049l";
const IDLE: &str = "write a message";

fn is_cjk(c: char) -> bool {
    matches!(c, '\u{4e00}'..='\u{9fff}')
}

fn demo<'a>(model: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let fixed = ["--model", model, "--profile", "demo", "-c", "sampling.temperature=0.0"];
    fixed.into_iter().chain(more.iter().copied()).collect()
}

/// A script whose steps come slowly enough to be interrupted.
fn slow(home: &Home, step: &str) -> String {
    let script = format!(r#"{{"steps": [{step}, {{"text": "And on."}}]}}"#);
    home.script(&script).to_string_lossy().into_owned()
}

fn python_of(folder: &Path, module: &str) -> String {
    std::fs::read_to_string(folder.join(module)).unwrap()
}

/// Restored for whoever comes next: alternate screen left, cursor shown, pastes plain again.
fn assert_restored(terminal: &Terminal) {
    let raw = terminal.raw();
    let left = raw.windows(LEAVE.len()).rposition(|window| window == LEAVE);
    let entered = raw.windows(LEAVE.len()).rposition(|window| window == b"\x1b[?1049h");
    assert!(left > entered, "the alternate screen was not left");
    for (on, off) in [("\x1b[?25l", "\x1b[?25h"), ("\x1b[?2004h", "\x1b[?2004l")] {
        let last = |text: &str| raw.windows(text.len()).rposition(|w| w == text.as_bytes());
        assert!(last(off) >= last(on), "{off:?} is missing");
    }
}

#[test]
fn the_main_job_from_the_request_to_the_reviewed_diff() {
    let home = Home::new();
    let root = home.sample();
    let model = demo_model();
    let before = python_of(&root, "market.py");
    assert!(before.starts_with("# FIXME: wrong result\n"));
    let mut t = home.terminal(&root, &demo(&model, &[]), SIZE);
    t.wait_for(IDLE).send("Fix the failing test.\r");
    // The project's own command is asked for once; `a` allows it for the session.
    t.wait("the question", |screen| {
        screen.contains("python3 -m unittest") && screen.contains("May this run?")
    });
    t.wait_grace().send("a");
    t.wait("thinking in CJK", |screen| {
        screen.contains('思') && screen.chars().filter(|c| is_cjk(*c)).count() > 3
    });
    t.wait_for("Review");
    assert_eq!(python_of(&root, "market.py"), before, "nothing is written before the review");
    t.wait_grace().send("r").wait_for("1 rejected").send("a").wait_for("0 undecided").send("\r");
    t.wait_for("3 passed").wait_for("all tests pass").wait_for(IDLE);
    let after = python_of(&root, "market.py");
    assert!(after.starts_with("# FIXME: wrong result\n"), "the refused hunk was written");
    assert_eq!(after, before.replace("order - tax", "order + tax"));
    t.send("/undo\r").wait_for("Restored: market.py");
    assert_eq!(python_of(&root, "market.py"), before);
    t.send("/quit\r");
    assert_eq!(t.wait_end(), 0);
    assert_restored(&t);
}

#[test]
fn thinking_folds_and_opens_with_one_key() {
    let home = Home::new();
    let root = home.repository("r", &[("a.txt", "one\n")]);
    let lines: Vec<String> = (1..=9).map(|n| format!("第{n}行思考。")).collect();
    let text = format!(r"{}\n</think>\n\nDone.", lines.join(r"\n"));
    let script = slow(&home, &format!(r#"{{"text": "{text}"}}"#));
    let mut t = home.terminal(&root, &["--script", &script], SIZE);
    t.wait_for(IDLE).send("go\r").wait_for("Done.").wait_for(IDLE);
    assert!(!t.screen().contains("第9行思考。"), "folded when done: {}", t.screen());
    t.send("\u{14}").wait_for("第1行思考。").wait_for("第9行思考。");
    t.send("\u{14}").wait("folded", |screen| !screen.contains("第9行思考。"));
    t.send("/quit\r");
    assert_eq!(t.wait_end(), 0);
}

#[test]
fn every_phase_can_be_stopped_and_leaves_no_child() {
    let call = |command: &str| {
        format!(
            r#"{{"text": "行。\n</think>\n\n<tool_call>\n<function=shell>\n<parameter=command>\n{command}\n</parameter>\n</function>\n</tool_call>"}}"#
        )
    };
    let edit = r#"{"text": "改。\n</think>\n\n<tool_call>\n<function=edit>\n<parameter=path>\na.txt\n</parameter>\n<parameter=old>\none\n</parameter>\n<parameter=new>\ntwo\n</parameter>\n</function>\n</tool_call>"}"#;
    // (phase, step, policy, what is on the screen then, the key that stops)
    let phases = [
        (
            "prefill",
            r#"{"text": "x", "prefill_ms": 600000}"#.to_owned(),
            "auto",
            "reading",
            "\u{1b}",
        ),
        (
            "thinking",
            r#"{"text": "思考 again and again", "thinking": true, "chunk": 1, "delay_ms": 60000}"#
                .to_owned(),
            "auto",
            "thinking",
            "\u{3}",
        ),
        ("tool", call("echo $$ > pid; exec sleep 600"), "auto", "sleep 600", "\u{1b}"),
        ("approval", call("touch made"), "review", "touch made", "\u{3}"),
        ("review", edit.to_owned(), "review", "undecided", "\u{3}"),
    ];
    for (phase, step, policy, seen, key) in phases {
        let home = Home::new();
        let root = home.repository("r", &[("a.txt", "one\n")]);
        let script = slow(&home, &step);
        let mut t = home.terminal(&root, &["--script", &script, "--policy", policy], SIZE);
        t.wait_for(IDLE).send("go\r").wait_for(seen);
        if phase == "tool" {
            t.wait("the command to run", |_| root.join("pid").exists());
        }
        t.wait_grace().send(key);
        t.wait(&format!("{phase}: the composer"), |screen| screen.contains(IDLE));
        assert_eq!(std::fs::read_to_string(root.join("a.txt")).unwrap(), "one\n", "{phase}");
        assert!(!root.join("made").exists(), "{phase}");
        assert_eq!(t.children(), Vec::<u32>::new(), "{phase}");
        t.send("again\r").wait_for("And on.").send("/quit\r");
        assert_eq!(t.wait_end(), 0, "{phase}");
        assert_restored(&t);
    }
}

#[test]
fn loading_can_be_left_and_a_failed_model_says_why() {
    let home = Home::new();
    let root = home.repository("r", &[("a.txt", "one\n")]);
    let path = home.path().join("bad.gguf");
    std::fs::write(&path, &std::fs::read(demo_model()).unwrap()[..5000]).unwrap();
    let mut t = home.terminal(&root, &["--model", path.to_str().unwrap()], SIZE);
    t.wait_for("truncated").wait_for("download it again");
    t.send("/quit\r");
    assert_eq!(t.wait_end(), 0);
    assert_restored(&t);
}

#[test]
fn a_signal_restores_the_terminal_and_ends_the_command() {
    let home = Home::new();
    let root = home.repository("r", &[("a.txt", "one\n")]);
    let step = r#"{"text": "行。\n</think>\n\n<tool_call>\n<function=shell>\n<parameter=command>\necho $$ > pid; exec sleep 600\n</parameter>\n</function>\n</tool_call>"}"#;
    let script = slow(&home, step);
    let mut t = home.terminal(&root, &["--script", &script, "--policy", "auto"], SIZE);
    t.wait_for(IDLE).send("go\r");
    t.wait("the command to run", |_| {
        std::fs::read_to_string(root.join("pid")).is_ok_and(|text| text.ends_with('\n'))
    });
    let pid = std::fs::read_to_string(root.join("pid")).unwrap().trim().to_owned();
    let done = std::process::Command::new("kill").arg(t.pid().to_string()).status().unwrap();
    assert!(done.success());
    assert_eq!(t.wait_end(), 128 + 15);
    assert_restored(&t);
    assert!(!Path::new("/proc").join(pid).exists(), "the command outlived the program");
}

#[test]
fn any_size_can_be_drawn() {
    let home = Home::new();
    let root = home.repository("r", &[("a.txt", "one\n")]);
    let script = slow(&home, r#"{"text": "思考。\n</think>\n\n# Title\n\n- 一\n- two `code`"}"#);
    let mut t = home.terminal(&root, &["--script", &script], SIZE);
    t.wait_for(IDLE).send("go\r").wait_for("Title");
    for (cols, rows) in [(20, 5), (1, 1), (250, 60), (40, 12), (100, 30)] {
        t.resize(cols, rows);
    }
    t.wait_for("Title").wait_for(IDLE).send("/quit\r");
    assert_eq!(t.wait_end(), 0);
}
