//! Layout, folding and scrolling of the transcript, seen on the screen.

use crate::protocol::*;
use crate::tui::tests::*;
use crate::tui::{Msg, ThinkingView};
use crossterm::event::MouseEventKind;

fn thinking_bench() -> Bench {
    let mut bench = Bench::new(60, 20);
    bench.event(started("go"));
    bench.event(step());
    bench.event(phase(Phase::Thinking));
    bench
}

fn row_of(bench: &mut Bench, text: &str) -> Option<u16> {
    let rows = bench.rows();
    let index = rows.iter().position(|row| row.contains(text))?;
    u16::try_from(index).ok()
}

#[test]
fn the_live_tail_never_changes_its_height() {
    let mut bench = thinking_bench();
    let mut heights = Vec::new();
    for piece in ["一", "二三四\n", &"長い考え、".repeat(80), "\n\n\nend", " more"] {
        bench.event(thinking(piece));
        bench.screen();
        heights.push(bench.model.transcript.rows());
    }
    assert!(heights.iter().all(|height| *height == heights[0]), "{heights:?}");
}

#[test]
fn done_thinking_is_one_line_with_time_and_tokens() {
    let mut bench = thinking_bench();
    bench.event(thinking("首先看 parser。\n然後"));
    bench.wait(12_300);
    bench.event(Event::ThinkingDone);
    bench.event(text("ok"));
    bench.wait(60_000);
    assert!(bench.screen().contains("▸ 思 12s · ~1 tok · 首先看 parser。 然後…"));
    bench.event(step_done());
    assert!(bench.screen().contains("▸ 思 12s · 143 tok · 首先"));
}

#[test]
fn a_step_that_was_cut_off_keeps_its_own_count() {
    let mut bench = thinking_bench();
    bench.event(thinking("a"));
    bench.event(turn_done(Outcome::Interrupted));
    bench.event(started("again"));
    bench.event(step());
    bench.event(text("no thinking this time"));
    bench.event(step_done());
    assert!(bench.screen().contains("~1 tok"));
}

#[test]
fn replayed_thinking_takes_its_time_from_the_step() {
    let mut bench = thinking_bench();
    bench.event(thinking("x"));
    bench.event(Event::ThinkingDone);
    bench.event(step_done());
    assert!(bench.screen().contains("思 7s · 143 tok"));
}

#[test]
fn ctrl_t_opens_and_folds_all_thinking() {
    let mut bench = thinking_bench();
    for word in ["alpha", "beta"] {
        bench.event(thinking(&format!("first line\nsecond {word}")));
        bench.event(Event::ThinkingDone);
        bench.event(text("answer"));
        bench.event(step_done());
    }
    assert!(!bench.screen().contains("│ second"));
    bench.key("ctrl+t");
    let screen = bench.screen();
    assert!(screen.contains("│ second alpha") && screen.contains("│ second beta"));
    bench.key("ctrl+t");
    assert!(!bench.screen().contains("│ second"));
}

#[test]
fn tab_or_a_click_opens_one_block() {
    let mut bench = thinking_bench();
    for word in ["alpha", "beta"] {
        bench.event(thinking(&format!("first {word}\nsecond {word}")));
        bench.event(text("answer"));
        bench.event(step_done());
    }
    bench.screen();
    bench.key("tab");
    let screen = bench.screen();
    assert!(screen.contains("│ second beta") && !screen.contains("│ second alpha"));
    bench.keys("backtab backtab tab");
    assert!(bench.screen().contains("│ second alpha"));
    let row = row_of(&mut bench, "▾ 思").unwrap();
    bench.click(3, row);
    assert!(!bench.screen().contains("│ second alpha"));
    let row = row_of(&mut bench, "first alpha…").or(row_of(&mut bench, "first alpha")).unwrap();
    bench.click(3, row);
    assert!(bench.screen().contains("│ second alpha"));
}

#[test]
fn every_view_of_thinking_keeps_the_text() {
    for (view, live, done) in [
        (ThinkingView::Tail, true, false),
        (ThinkingView::Folded, false, false),
        (ThinkingView::Full, true, true),
        (ThinkingView::Off, false, false),
    ] {
        let mut bench = thinking_bench();
        bench.model.thinking = view;
        bench.event(thinking("one\ntwo"));
        assert_eq!(bench.screen().contains("│ two"), live, "{view:?} live");
        bench.event(Event::ThinkingDone);
        assert_eq!(bench.screen().contains("│ two"), done, "{view:?} done");
        if !done {
            bench.key("ctrl+t");
            assert!(bench.screen().contains("│ two"), "{view:?} opened");
        }
    }
}

fn lines(bench: &mut Bench, from: usize, to: usize) {
    for number in from..to {
        bench.event(text(&format!("line {number}\n\n")));
    }
}

#[test]
fn a_window_that_was_scrolled_up_does_not_move() {
    let mut bench = thinking_bench();
    lines(&mut bench, 0, 100);
    bench.screen();
    bench.keys("pgup pgup");
    let before = bench.rows();
    lines(&mut bench, 100, 200);
    let after = bench.rows();
    assert_eq!(before[..14], after[..14]);
    assert!(bench.screen().contains("↓ 200 new · End"));
    bench.key("end");
    assert!(bench.screen().contains("line 199"));
    lines(&mut bench, 200, 201);
    assert!(bench.screen().contains("line 200"));
}

#[test]
fn the_wheel_scrolls_and_the_end_follows_again() {
    let mut bench = thinking_bench();
    lines(&mut bench, 0, 50);
    bench.screen();
    bench.mouse(MouseEventKind::ScrollUp, 1, 1);
    assert!(!bench.model.transcript.follows());
    bench.mouse(MouseEventKind::ScrollDown, 1, 1);
    assert!(bench.model.transcript.follows());
}

#[test]
fn folding_above_the_window_does_not_move_it() {
    let mut bench = thinking_bench();
    bench.event(thinking(&"thought\n".repeat(30)));
    lines(&mut bench, 0, 50);
    bench.screen();
    bench.keys("pgup pgup");
    let before = bench.rows();
    bench.key("ctrl+t");
    assert_eq!(before[..14], bench.rows()[..14]);
}

#[test]
fn a_tool_call_goes_through_its_states() {
    let mut bench = thinking_bench();
    bench.event(Event::CallStarted { name: "test".into() });
    bench.event(Event::CallDelta { text: "<parameter=path>".into() });
    assert!(bench.screen().contains("… test · 16 B"));
    bench.event(step_done());
    bench.event(requested(1, "test", "src/a.rs"));
    assert!(bench.screen().contains("… test src/a.rs"));
    bench.event(Event::ToolStarted { call: CallId(1), title: "cargo test".into() });
    bench.wait(3_000);
    bench.event(Event::ToolProgress {
        call: CallId(1),
        text: "1%\r2%\r\u{1b}[32mok\u{1b}[0m\n".into(),
    });
    let screen = bench.screen();
    assert!(screen.contains("▸ test cargo test · 3s") && screen.contains("  ok\n"), "{screen}");
    let log: String = (0..9).map(|n| format!("row {n}\n")).collect();
    let output = ToolOutput::failed(log, "1 failed");
    bench.event(Event::ToolFinished { call: CallId(1), output });
    let screen = bench.screen();
    assert!(screen.contains("✗ test cargo test · 1 failed · 3s"), "{screen}");
    assert!(screen.contains("5 lines above (Tab)") && screen.contains("row 8"));
    bench.key("tab");
    assert!(bench.screen().contains("row 0"));
}

#[test]
fn a_call_that_cannot_be_run_and_one_that_was_cut_off_are_told() {
    let mut bench = thinking_bench();
    bench.event(Event::CallStarted { name: "edit".into() });
    let problem = CallProblem { code: "missing:edit.old".into(), message: "Give old.".into() };
    bench.event(Event::ToolRejected { problem });
    assert!(bench.screen().contains("✗ edit · cannot be run"));
    assert!(bench.screen().contains("Give old. (missing:edit.old)"));
    bench.event(Event::CallStarted { name: "read".into() });
    bench.event(turn_done(Outcome::Interrupted));
    assert!(bench.screen().contains("■ read · stopped"));
}

#[test]
fn two_calls_of_one_step_keep_their_order() {
    let mut bench = thinking_bench();
    for _ in 0..2 {
        bench.event(Event::CallStarted { name: "read".into() });
    }
    bench.event(requested(1, "read", "a.rs"));
    bench.event(requested(2, "read", "b.rs"));
    let (a, b) = (row_of(&mut bench, "read a.rs"), row_of(&mut bench, "read b.rs"));
    assert!(a.is_some() && a < b);
}

#[test]
fn hostile_text_is_inert_everywhere() {
    let evil = "\u{1b}]0;T\u{7}\u{1b}[2J\u{202e}";
    let mut bench = thinking_bench();
    bench.event(started(evil));
    bench.event(thinking(evil));
    bench.event(text(evil));
    bench.event(requested(1, evil, evil));
    bench.event(Event::ToolStarted { call: CallId(1), title: evil.into() });
    bench.event(Event::ToolProgress { call: CallId(1), text: evil.into() });
    bench.event(Event::Queued { text: evil.into() });
    bench.event(Event::Notice { level: Level::Error, text: evil.into() });
    bench.msg(Msg::Paste(evil.into()));
    bench.key("ctrl+t");
    let screen = bench.screen();
    assert!(!screen.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{screen:?}");
    let mut evil_review = review();
    evil_review.files[0].path = evil.into();
    evil_review.files[0].hunks[0].new[0] = evil.into();
    bench.event(Event::ReviewRequested { review: evil_review });
    assert!(!bench.screen().contains(['\u{1b}', '\u{7}', '\u{202e}']));
}

#[test]
fn a_long_session_lays_out_only_what_changes() {
    let mut bench = thinking_bench();
    for turn in 0..300 {
        bench.event(started(&format!("turn {turn}")));
        bench.event(requested(turn, "read", "x"));
        let output = ToolOutput::done("x".repeat(50_000), "50 KB");
        bench.event(Event::ToolFinished { call: CallId(turn), output });
        bench.event(text("answer *words*"));
        bench.event(step_done());
    }
    bench.screen();
    let stale =
        |bench: &Bench| bench.model.transcript.cells().iter().filter(|cell| !cell.fresh()).count();
    assert_eq!(stale(&bench), 0);
    bench.event(text("more"));
    assert!(stale(&bench) <= 1);
}

#[test]
fn live_output_without_a_line_end_is_bounded() {
    let mut bench = thinking_bench();
    bench.event(requested(1, "run", "x"));
    bench.event(Event::ToolStarted { call: CallId(1), title: "yes".into() });
    for _ in 0..500 {
        let text = "世".repeat(1_400);
        bench.event(Event::ToolProgress { call: CallId(1), text });
    }
    let tool = bench.model.transcript.call_mut(CallId(1)).unwrap();
    assert!(tool.kept() < 40_000);
    bench.screen();
}
