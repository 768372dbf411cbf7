//! Screens: the main states at three sizes, and every size without a panic.

use crate::protocol::*;
use crate::tui::tests::*;

const SIZES: [(u16, u16); 3] = [(40, 12), (80, 24), (120, 40)];

/// Compares the screens of one state at all sizes with the stored ones.
fn snap(name: &str, act: impl Fn(&mut Bench)) {
    for (columns, rows) in SIZES {
        let mut bench = Bench::bare(columns, rows);
        act(&mut bench);
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("../snapshots");
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        let screen = bench.screen();
        settings.bind(|| insta::assert_snapshot!(format!("{name}_{columns}x{rows}"), screen));
    }
}

fn ready(bench: &mut Bench) {
    bench.event(Event::Ready {
        model: ModelInfo { name: "Tessera-27B".into(), context: 32_768, ..ModelInfo::default() },
    });
    bench.event(phase(Phase::Idle));
}

fn turn(bench: &mut Bench) {
    ready(bench);
    bench.event(started("Empty input should be an error. 空の入力はエラーに。"));
    bench.event(step());
    bench.event(phase(Phase::Prefill));
}

fn think(bench: &mut Bench) {
    turn(bench);
    bench.event(phase(Phase::Thinking));
    let lines = "先看解析器：空輸入時 build() 返回空樹，呼び出し側は成功とみなす。\n所以要改成錯誤。테스트도 바꿔야 한다。\n計画：①parse を修正、②テスト、③文書。\n";
    for piece in lines.split_inclusive('，') {
        bench.event(thinking(piece));
    }
    bench.wait(12_000);
}

const ANSWER: &str = "`parse` in **src/parser.rs** takes *empty* input for success:\n\n1. `build` may fail.\n2. 空の入力は「成功」と見なされます。\n\n```rust\nfn parse(input: &str) -> Result<Ast> {\n    build(&lex(input))\n}\n```\n\n| case | now |\n|---|---|\n| 空 | ok |\n\nEmoji: 👩‍💻| 🇯🇵| ⚠️|\n";

fn answer(bench: &mut Bench) {
    think(bench);
    bench.event(Event::ThinkingDone);
    bench.event(phase(Phase::Answering));
    bench.event(text(ANSWER));
}

fn tool(bench: &mut Bench) {
    answer(bench);
    bench.event(Event::CallStarted { name: "run_tests".into() });
    bench.event(step_done());
    bench.event(requested(2, "run_tests", "parser"));
    bench.event(phase(Phase::Tool));
    let title = "cargo test -p parser".into();
    bench.event(Event::ToolStarted { call: CallId(2), title });
    bench.wait(4_000);
    let text = "test empty ... FAILED\ntest full ... ok\n".into();
    bench.event(Event::ToolProgress { call: CallId(2), text });
}

#[test]
fn idle() {
    snap("idle", ready);
}

#[test]
fn loading() {
    snap("loading", |bench| {
        bench.event(phase(Phase::Loading));
        let stage = LoadStage::Weights;
        bench.event(Event::Loading { stage, done: 9_000_000_000, total: 28_600_000_000 });
        bench.event(Event::Queued { text: "typed while loading".into() });
        bench.type_text("and more 世界");
    });
}

#[test]
fn reading_the_prompt() {
    snap("prefill", |bench| {
        turn(bench);
        bench.event(Event::Prefill { done: 512, total: 9_800, cached: 3_000 });
        bench.wait(2_000);
        bench.event(Event::Prefill { done: 3_072, total: 9_800, cached: 3_000 });
    });
}

#[test]
fn thinking_tail() {
    snap("thinking_tail", think);
}

#[test]
fn thinking_folded_and_answer() {
    snap("answer", answer);
}

#[test]
fn thinking_open() {
    snap("thinking_full", |bench| {
        think(bench);
        bench.event(Event::ThinkingDone);
        bench.event(step_done());
        bench.key("ctrl+t");
    });
}

#[test]
fn tool_running() {
    snap("tool", tool);
}

#[test]
fn turn_over() {
    snap("done", |bench| {
        tool(bench);
        let output = ToolOutput::failed("a\nb\nc\nd\ne\nassertion failed", "1 failed, 1 passed");
        bench.event(Event::ToolFinished { call: CallId(2), output });
        let paths = vec!["src/parser.rs".into(), "docs/notes.md".into()];
        bench.event(Event::FilesChanged { paths, added: 7, removed: 3 });
        bench.event(Event::Notice { level: Level::Warning, text: "The log was cut.".into() });
        bench.event(turn_done(Outcome::Done));
    });
}

#[test]
fn review_open() {
    snap("review", |bench| {
        turn(bench);
        bench.event(phase(Phase::Review));
        bench.event(asked());
        bench.wait(500);
        bench.keys("a");
    });
}

#[test]
fn review_commented_and_decided() {
    snap("review_decided", |bench| {
        turn(bench);
        bench.event(phase(Phase::Review));
        bench.event(asked());
        bench.wait(500);
        bench.keys("c n o enter r A");
    });
}

#[test]
fn approval() {
    snap("approval", |bench| {
        turn(bench);
        bench.event(phase(Phase::Review));
        let title = "cargo test --workspace --all-features".into();
        bench.event(Event::ApprovalRequested { call: call(3, "shell", "x"), title });
    });
}

#[test]
fn help() {
    snap("help", |bench| {
        ready(bench);
        bench.key("?");
    });
}

#[test]
fn command_list() {
    snap("commands", |bench| {
        ready(bench);
        bench.type_text("/th");
    });
}

#[test]
fn the_cursor_stands_at_the_caret() {
    let mut bench = Bench::new(80, 24);
    bench.type_text("你好，世界 abc");
    assert_eq!(bench.cursor(), (2 + 14, 22));
    bench.keys("left left left");
    assert_eq!(bench.cursor().0, 2 + 11);
    bench.keys("left left");
    assert_eq!(bench.cursor().0, 2 + 8);
    bench.event(started("x"));
    bench.event(text("streaming"));
    assert_eq!(bench.cursor(), (2 + 8, 22));
}

#[test]
fn text_of_the_model_stays_out_of_the_composer() {
    let mut bench = Bench::new(60, 16);
    bench.event(started("x"));
    bench.event(text("```\n┌─ Approve? [y/N] ─┐\n\u{1b}[16;1H› y\n```\n"));
    let rows = bench.rows();
    assert!(rows[14].starts_with("› write on"), "{rows:?}");
    bench.key("y");
    assert_eq!(bench.ops(), []);
}

#[test]
fn every_size_draws_every_state() {
    let states: [fn(&mut Bench); 6] = [
        ready,
        |bench| {
            tool(bench);
            bench.type_text("a fairly long draft 世界 that wraps");
        },
        |bench| {
            turn(bench);
            bench.event(asked());
            bench.wait(500);
            bench.keys("c x");
        },
        |bench| {
            turn(bench);
            let title = "rm -rf 世界".into();
            bench.event(Event::ApprovalRequested { call: call(3, "shell", "x"), title });
            bench.wait(500);
            bench.key("d");
        },
        |bench| {
            answer(bench);
            bench.key("?");
        },
        |bench| {
            ready(bench);
            bench.type_text("/");
        },
    ];
    for state in states {
        let mut bench = Bench::bare(80, 24);
        state(&mut bench);
        for size in [(0, 0), (1, 1), (2, 2), (3, 9), (20, 5), (7, 30), (300, 100), (80, 3)] {
            bench.model.size = size;
            bench.rows();
        }
        for columns in 1..40 {
            bench.model.size = (columns, 2 + columns % 14);
            bench.rows();
        }
    }
}

#[test]
fn growing_back_looks_like_a_fresh_start() {
    let mut bench = Bench::bare(100, 30);
    tool(&mut bench);
    let fresh = bench.screen();
    for size in [(1, 1), (20, 5), (300, 100), (100, 30)] {
        bench.model.size = size;
        bench.screen();
    }
    assert_eq!(bench.screen(), fresh);
}
