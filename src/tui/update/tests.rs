//! Keys and events in, ops and state out.

use crate::protocol::*;
use crate::tui::overlay::Layer;
use crate::tui::tests::*;
use crate::tui::{Cmd, Exit, Msg, ThinkingView};

fn sent(text: &str) -> Op {
    Op::UserTurn { text: text.into() }
}

/// In the middle of a turn.
fn running() -> Bench {
    let mut bench = Bench::new(80, 24);
    bench.event(started("go"));
    bench.event(step());
    bench.event(phase(Phase::Thinking));
    bench
}

/// A review has been open for long enough.
fn reviewing() -> Bench {
    let mut bench = running();
    bench.event(phase(Phase::Review));
    bench.event(asked());
    bench.wait(500);
    bench
}

fn verdicts(ops: &[Op]) -> Vec<(u64, Verdict, Option<String>)> {
    match ops {
        [Op::Review { decisions }] => {
            decisions.iter().map(|d| (d.hunk.0, d.verdict, d.comment.clone())).collect()
        }
        other => panic!("not one review: {other:?}"),
    }
}

#[test]
fn enter_sends_and_other_enters_break_the_line() {
    let mut bench = Bench::new(80, 24);
    bench.type_text("変換済み");
    bench.key("enter");
    assert_eq!(bench.ops(), [sent("変換済み")]);
    bench.type_text("a");
    bench.key("alt+enter");
    bench.type_text("b");
    bench.key("ctrl+j");
    bench.type_text("c");
    bench.key("shift+enter");
    bench.key("enter");
    assert_eq!(bench.ops(), [sent("a\nb\nc\n")]);
    bench.key("enter");
    assert_eq!(bench.ops(), []);
}

#[test]
fn pastes_are_whole_and_never_send() {
    let mut bench = Bench::new(80, 24);
    let body = "a line of the file 世界\n".repeat(3_000);
    for _ in 0..20 {
        bench.msg(Msg::Paste(body.clone()));
        assert_eq!(bench.ops(), []);
        assert!(bench.screen().contains("[pasted 3000 lines, "));
        bench.type_text(" fix");
        bench.key("enter");
        assert_eq!(bench.ops(), [sent(&format!("{body} fix"))]);
    }
}

#[test]
fn ctrl_c_clears_a_draft_and_keeps_it_in_the_history() {
    let mut bench = Bench::new(80, 24);
    bench.type_text("abc");
    bench.key("ctrl+c");
    assert_eq!(bench.ops(), []);
    bench.key("up");
    bench.key("enter");
    assert_eq!(bench.ops(), [sent("abc")]);
}

#[test]
fn ctrl_c_twice_quits_when_idle_and_empty() {
    let mut bench = Bench::new(80, 24);
    bench.key("ctrl+c");
    assert_eq!(bench.ops(), []);
    assert!(bench.screen().contains("again to quit"));
    bench.wait(5_000);
    bench.key("ctrl+c");
    assert_eq!(bench.ops(), [], "the first press is forgotten after a while");
    bench.key("ctrl+c");
    assert_eq!(bench.ops(), [Op::Shutdown]);
    bench.event(Event::Closed);
    assert_eq!(bench.cmds, [Cmd::Quit(Exit::Quit)]);
}

#[test]
fn the_end_does_not_wait_for_ever() {
    let mut bench = Bench::new(80, 24);
    bench.key("ctrl+d");
    assert_eq!(bench.ops(), [Op::Shutdown]);
    bench.wait(super::CLOSE_MS);
    assert_eq!(bench.cmds, [Cmd::Quit(Exit::Quit)]);
}

#[test]
fn q_and_a_draft_do_not_quit() {
    let mut bench = Bench::new(80, 24);
    bench.keys("q ctrl+d");
    assert_eq!(bench.ops(), []);
}

#[test]
fn a_runtime_that_ends_ends_the_interface() {
    let mut bench = Bench::new(80, 24);
    bench.msg(Msg::Disconnected);
    assert_eq!(bench.cmds, [Cmd::Quit(Exit::Closed)]);
    let mut bench = Bench::new(80, 24);
    bench.msg(Msg::Signal(15));
    assert_eq!(bench.cmds, [Cmd::Send(Op::Shutdown), Cmd::Quit(Exit::Signal(15))]);
}

#[test]
fn esc_and_ctrl_c_stop_a_turn_and_only_the_third_quits() {
    for key in ["esc", "ctrl+c"] {
        let mut bench = running();
        bench.type_text("draft");
        bench.key(key);
        assert_eq!(bench.ops(), [Op::Interrupt]);
        assert_eq!(bench.model.composer.editor.text(), "draft");
    }
    let mut bench = running();
    bench.keys("ctrl+c ctrl+c");
    assert_eq!(bench.ops(), [Op::Interrupt, Op::Interrupt]);
    bench.key("ctrl+c");
    assert_eq!(bench.ops(), [Op::Shutdown]);
}

#[test]
fn queued_messages_show_until_the_next_step_takes_them() {
    let mut bench = running();
    bench.type_text("m1");
    bench.key("enter");
    assert_eq!(bench.ops(), [sent("m1")]);
    for text in ["m1", "m2"] {
        bench.event(Event::Queued { text: text.into() });
    }
    assert!(bench.screen().contains("queued: m1") && bench.screen().contains("queued: m2"));
    bench.event(step());
    let screen = bench.screen();
    assert!(!screen.contains("queued") && screen.contains("▌ m1") && screen.contains("▌ m2"));
}

#[test]
fn queued_messages_survive_an_interrupt_and_begin_the_next_turn() {
    let mut bench = running();
    for text in ["m1", "m2"] {
        bench.event(Event::Queued { text: text.into() });
    }
    bench.event(turn_done(Outcome::Interrupted));
    assert!(bench.screen().contains("Stopped by you. 2 messages kept"));
    assert!(bench.screen().contains("queued: m2"));
    bench.event(started("m1\n\nm2"));
    assert!(!bench.screen().contains("queued"));
}

#[test]
fn messages_that_cannot_be_read_come_back_to_the_composer() {
    let mut bench = Bench::bare(80, 24);
    bench.event(Event::Queued { text: "m1".into() });
    bench.type_text("draft");
    bench.event(Event::EngineFailed { message: "no such file".into() });
    assert_eq!(bench.model.composer.editor.text(), "draft\n\nm1");
    assert!(bench.screen().contains("✗ no such file"));
}

#[test]
fn commands_become_ops() {
    let mut bench = Bench::new(80, 24);
    for (line, want) in [
        ("/undo", vec![Op::Undo]),
        ("/new", vec![Op::NewSession]),
        ("/policy auto-edit", vec![Op::SetPolicy { policy: Policy::AutoEdit }]),
        ("/effort off", vec![Op::SetEffort { effort: Effort::Off }]),
        ("/effort none", vec![]),
        ("/unod", vec![]),
        ("/etc/hosts is wrong", vec![sent("/etc/hosts is wrong")]),
        ("/quit", vec![Op::Shutdown]),
    ] {
        bench.key("ctrl+u");
        bench.type_text(line);
        bench.key("esc");
        bench.key("enter");
        assert_eq!(bench.ops(), want, "{line}");
    }
}

#[test]
fn the_command_list_completes_and_runs() {
    let mut bench = Bench::new(80, 24);
    bench.type_text("/po");
    assert!(bench.screen().contains("/policy <policy>"));
    bench.key("enter");
    assert_eq!(bench.model.composer.editor.text(), "/policy ");
    bench.keys("down down enter");
    assert_eq!(bench.ops(), [Op::SetPolicy { policy: Policy::AutoEdit }]);
    bench.type_text("/und");
    bench.key("tab");
    assert_eq!(bench.model.composer.editor.text(), "/undo");
    bench.key("enter");
    assert_eq!(bench.ops(), [Op::Undo]);
}

#[test]
fn local_commands_change_the_look() {
    let mut bench = Bench::new(80, 24);
    bench.type_text("/theme dark");
    bench.key("enter");
    assert_eq!(bench.model.theme().name, "dark");
    bench.type_text("/thinking full");
    bench.key("enter");
    assert_eq!(bench.model.thinking, ThinkingView::Full);
    bench.event(text("the *answer*"));
    bench.type_text("/copy");
    bench.key("enter");
    assert_eq!(bench.cmds.pop(), Some(Cmd::Copy("the *answer*".into())));
}

#[test]
fn hunks_are_decided_one_by_one_and_applied_together() {
    let mut bench = reviewing();
    bench.keys("a r");
    bench.key("enter");
    assert_eq!(bench.ops(), [], "one hunk is undecided");
    assert!(bench.screen().contains("1 hunk not decided yet"));
    bench.key("y");
    assert!(bench.screen().contains("Enter to apply"));
    bench.key("enter");
    let want = [(1, Verdict::Accept, None), (2, Verdict::Reject, None), (3, Verdict::Accept, None)];
    assert_eq!(verdicts(&bench.ops()), want);
    assert!(bench.model.layers.is_empty());
    bench.key("enter");
    assert_eq!(bench.ops(), []);
}

#[test]
fn files_and_the_rest_are_decided_at_once() {
    use Verdict::{Accept, Reject};
    for (keys, want) in [
        ("A", [Accept, Accept, Accept]),
        ("R", [Reject, Reject, Reject]),
        ("r A", [Reject, Accept, Accept]),
        ("f F", [Accept, Accept, Reject]),
        ("F f", [Reject, Reject, Accept]),
        ("j n k k y y", [Accept, Reject, Accept]),
        ("A g u r", [Reject, Accept, Accept]),
        ("G n g A", [Accept, Accept, Reject]),
    ] {
        let mut bench = reviewing();
        bench.keys(keys);
        bench.key("enter");
        let got: Vec<Verdict> = verdicts(&bench.ops()).into_iter().map(|d| d.1).collect();
        assert_eq!(got, want, "{keys}");
    }
}

#[test]
fn comments_go_with_the_decision() {
    let mut bench = reviewing();
    bench.key("c");
    bench.type_text("why not ok()?");
    bench.key("esc");
    bench.key("c");
    bench.type_text("keep `return`, yes");
    bench.key("enter");
    assert!(bench.screen().contains("» keep `return`, yes"));
    bench.keys("r A enter");
    let got = verdicts(&bench.ops());
    assert_eq!(got[0], (1, Verdict::Reject, Some("keep `return`, yes".into())));
    assert_eq!(got[1].2, None);
}

#[test]
fn keys_right_after_opening_decide_nothing() {
    let mut bench = running();
    bench.event(asked());
    bench.wait(300);
    bench.keys("A enter y");
    assert!(bench.model.review.as_ref().is_some_and(|review| review.tally(None) == (0, 0, 3)));
    bench.wait(100);
    bench.keys("A enter");
    assert_eq!(verdicts(&bench.ops()).len(), 3);
}

#[test]
fn a_message_being_typed_goes_on_into_the_draft() {
    let mut bench = running();
    bench.type_text("please ");
    bench.event(asked());
    for c in "really do it".chars() {
        bench.wait(150);
        bench.type_text(&c.to_string());
    }
    assert_eq!(bench.model.composer.editor.text(), "please really do it");
    assert!(bench.model.review.as_ref().is_some_and(|review| review.tally(None) == (0, 0, 3)));
}

#[test]
fn leaving_a_review_loses_nothing() {
    let mut bench = reviewing();
    bench.keys("a esc");
    assert_eq!(bench.ops(), []);
    assert!(bench.model.layers.is_empty());
    assert!(bench.screen().contains("2 hunks to review"));
    bench.key("esc");
    assert_eq!(bench.ops(), [], "one Esc too many");
    bench.key("enter");
    assert_eq!(bench.model.layers, [Layer::Review]);
    bench.keys("esc ctrl+r r r enter");
    let got: Vec<Verdict> = verdicts(&bench.ops()).into_iter().map(|d| d.1).collect();
    assert_eq!(got, [Verdict::Accept, Verdict::Reject, Verdict::Reject]);
}

#[test]
fn ctrl_c_in_a_review_stops_the_turn() {
    let mut bench = reviewing();
    bench.key("ctrl+c");
    assert_eq!(bench.ops(), [Op::Interrupt]);
    bench.event(turn_done(Outcome::Interrupted));
    assert!(bench.model.review.is_none() && bench.model.layers.is_empty());
}

#[test]
fn a_question_is_answered_once() {
    for (keys, want) in [
        ("y y", Approval::Once),
        ("a", Approval::Session),
        ("n", Approval::Deny { reason: String::new() }),
        ("d n o enter", Approval::Deny { reason: "no".into() }),
        ("esc ctrl+r y", Approval::Once),
        ("d esc y", Approval::Once),
    ] {
        let mut bench = running();
        let title = "cargo test".into();
        bench.event(Event::ApprovalRequested { call: call(7, "run", "x"), title });
        bench.key("y");
        assert_eq!(bench.ops(), [], "too early");
        bench.wait(400);
        bench.keys(keys);
        let call = CallId(7);
        assert_eq!(bench.ops(), [Op::Approve { call, approval: want }], "{keys}");
    }
}

#[test]
fn the_bell_rings_when_nobody_looks() {
    let mut bench = running();
    bench.msg(Msg::Focus(false));
    bench.event(asked());
    assert_eq!(bench.cmds, [Cmd::Bell]);
}

#[test]
fn a_new_session_starts_empty() {
    let mut bench = running();
    bench.event(session("one"));
    assert!(!bench.model.transcript.cells().is_empty());
    bench.event(session("two"));
    assert!(bench.model.transcript.cells().is_empty());
}

#[test]
fn nothing_wakes_an_idle_interface() {
    let mut bench = Bench::new(80, 24);
    bench.screen();
    assert_eq!(bench.model.next_tick(), None);
    bench.model.dirty = false;
    bench.at(1_000_000);
    assert!(!bench.model.dirty);
    bench.event(phase(Phase::Thinking));
    assert!(bench.model.next_tick().is_some());
}

#[test]
fn help_opens_on_a_question_mark_only_when_nothing_is_written() {
    let mut bench = Bench::new(80, 24);
    bench.key("?");
    assert_eq!(bench.model.layers, [Layer::Help]);
    bench.keys("esc a ?");
    assert!(bench.model.layers.is_empty());
    assert_eq!(bench.model.composer.editor.text(), "a?");
    bench.key("f1");
    assert_eq!(bench.model.layers, [Layer::Help]);
}
