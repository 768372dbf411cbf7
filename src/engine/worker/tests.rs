//! The whole engine around a reciting model: what comes out, and that it always ends.

use super::*;
use crate::engine::testing::{KEEP, Reciter, Record, loaded, request, summary};
use crate::protocol::{
    CallProblem, Effort, FinishReason, Message, Sampling, ToolKind, ToolSpec, Usage,
};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// An engine around `model`.
fn engine(model: Reciter) -> LocalEngine {
    let (engine, mut loading) = start(Some(64), move |_, _| Ok(loaded(model, KEEP)));
    assert!(matches!(loading.blocking_recv(), Some(EngineEvent::Ready(_))));
    engine
}

fn all(mut stream: EventStream) -> Vec<EngineEvent> {
    let mut events = Vec::new();
    while let Some(event) = stream.blocking_recv() {
        events.push(event);
    }
    events
}

fn run_request(engine: &LocalEngine, request: Request) -> Vec<EngineEvent> {
    all(engine.generate(request, Cancel::new()))
}

fn ending(events: &[EngineEvent]) -> (FinishReason, Usage) {
    let last = |event: &EngineEvent| {
        matches!(event, EngineEvent::Finished { .. } | EngineEvent::Failed { .. })
    };
    assert_eq!(events.iter().filter(|event| last(event)).count(), 1, "{events:?}");
    match events.last() {
        Some(EngineEvent::Finished { reason, usage }) => (*reason, *usage),
        other => panic!("{other:?}"),
    }
}

fn failure(events: &[EngineEvent]) -> String {
    match events {
        [.., EngineEvent::Failed { message }] => message.clone(),
        other => panic!("{other:?}"),
    }
}

const HELLO: (&str, &str) = ("hello", "<think>\n先看。\n</think>\n\nHi 你好!<|im_end|>");

#[test]
fn a_step_streams_thinking_and_answer_and_counts_them() {
    let engine = engine(Reciter::new(&[HELLO]));
    let events = run_request(&engine, request(&[Message::user("hello")]));
    let (thinking, text, kinds) = summary(&events);
    assert_eq!((thinking.trim(), text.trim()), ("先看。", "Hi 你好!"));
    assert_eq!(kinds, ["prefill", "thinking", "thinking done", "text", "finished"]);
    let (reason, usage) = ending(&events);
    assert_eq!(reason, FinishReason::Stop);
    // A token is a byte: "先看。\n"; the tag, "\n\nHi 你好!".
    assert_eq!((usage.thinking, usage.answer), (10, 1 + 12));
    let prompt = "<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n<think>\n";
    let specials = 4 + "user\nhello\nassistant\n\n".len();
    assert_eq!((usage.prefilled, usage.cached), (specials, 0), "{prompt}");
    assert_eq!(usage.context, specials + 23);
}

#[test]
fn the_next_step_prefills_only_what_is_new() {
    let model = Reciter::new(&[HELLO, ("more", "<think>\n好\n</think>\n\nYes.<|im_end|>")]);
    let record = model.record();
    let engine = engine(model);
    let mut messages = vec![Message::user("hello")];
    let first = run_request(&engine, request(&messages));
    let before = ending(&first).1.context;
    let (thinking, text, _) = summary(&first);
    messages.extend([Message::assistant(thinking, text, vec![]), Message::user("more")]);
    let second = run_request(&engine, request(&messages));
    let (_, usage) = ending(&second);
    assert_eq!(summary(&second).1.trim(), "Yes.");
    let new = 4 + "\nuser\nmore\nassistant\n\n".len() + 1;
    assert_eq!((usage.cached, usage.prefilled), (before, new));
    let prefill = EngineEvent::Prefill { done: new, total: new, cached: before };
    assert!(second.contains(&prefill), "{second:?}");
    assert_eq!(record.lock().unwrap().resets, 0);
}

#[test]
fn an_undone_turn_goes_back_to_its_snapshot() {
    let model = Reciter::new(&[HELLO, ("", "<think>\n\n</think>\n\nB<|im_end|>")]);
    let record = model.record();
    let engine = engine(model);
    let mut messages = vec![Message::user("hello")];
    let (thinking, text, _) = summary(&run_request(&engine, request(&messages)));
    messages.push(Message::assistant(thinking, text, vec![]));
    messages.push(Message::user("one"));
    let (_, usage) = ending(&run_request(&engine, request(&messages)));
    messages[2] = Message::user("other");
    let (reason, again) = ending(&run_request(&engine, request(&messages)));
    assert_eq!((reason, again.cached), (FinishReason::Stop, usage.cached));
    let Record { restores, resets, .. } = &*record.lock().unwrap();
    assert_eq!((restores.as_slice(), *resets), ([usage.cached].as_slice(), 0));
}

#[test]
fn an_end_of_turn_while_thinking_closes_the_block_instead() {
    let engine = engine(Reciter::new(&[
        ("", "<think>\nhm<|im_end|>"),
        ("", "<think>\nhm\n</think>\n\nSo.<|im_end|>"),
    ]));
    let events = run_request(&engine, request(&[Message::user("a")]));
    let (thinking, text, _) = summary(&events);
    assert_eq!((thinking.trim(), text.trim()), ("hm", "So."));
    assert_eq!(ending(&events).0, FinishReason::Stop);
}

#[test]
fn the_thinking_budget_closes_the_block() {
    let engine = engine(Reciter::new(&[
        ("", "<think>\nlong thoughts without an end"),
        ("", "<think>\nlong \n</think>\n\nDone.<|im_end|>"),
    ]));
    let asked = Request { max_thinking: 5, ..request(&[Message::user("a")]) };
    let events = run_request(&engine, asked);
    let (thinking, text, _) = summary(&events);
    assert_eq!((thinking.trim(), text.trim()), ("long", "Done."));
}

fn read_tool() -> ToolSpec {
    ToolSpec {
        name: "read".into(),
        kind: ToolKind::Read,
        description: "Reads.".into(),
        parameters: serde_json::json!({
            "type": "object",
            "properties": {"path": {"type": "string"}},
            "required": ["path"]
        }),
    }
}

const CALL: &str =
    "<tool_call>\n<function=read>\n<parameter=path>\na.rs\n</parameter>\n</function>\n</tool_call>";

#[test]
fn a_call_leaves_thinking_and_arrives_whole() {
    for thought in ["<think>\n读\n</think>\n\n", "<think>\n读\n"] {
        let engine = engine(Reciter::new(&[("", &format!("{thought}{CALL}<|im_end|>"))]));
        let asked = Request { tools: vec![read_tool()], ..request(&[Message::user("a")]) };
        let events = run_request(&engine, asked);
        let calls: Vec<_> = events
            .iter()
            .filter_map(|event| match event {
                EngineEvent::Call { call, .. } => {
                    Some((call.name.as_str(), call.args["path"].clone()))
                }
                _ => None,
            })
            .collect();
        assert_eq!(calls, [("read", serde_json::json!("a.rs"))], "{events:?}");
        assert_eq!(ending(&events).0, FinishReason::Stop);
        assert_eq!(summary(&events).0.trim(), "读");
    }
}

#[test]
fn a_cut_call_is_not_run_and_the_next_step_goes_on() {
    let engine = engine(Reciter::new(&[
        ("first", &format!("<think>\n\n</think>\n\n{CALL}<|im_end|>")),
        ("second", "<think>\n\n</think>\n\nOK<|im_end|>"),
    ]));
    let mut messages = vec![Message::user("first")];
    let cut = Request { tools: vec![read_tool()], max_tokens: 40, ..request(&messages) };
    let events = run_request(&engine, cut);
    assert_eq!(ending(&events).0, FinishReason::Length);
    assert!(!events.iter().any(|event| matches!(event, EngineEvent::Call { .. })));
    let (thinking, text, _) = summary(&events);
    messages.extend([Message::assistant(thinking, text, vec![]), Message::user("second")]);
    let next = Request { tools: vec![read_tool()], ..request(&messages) };
    let events = run_request(&engine, next);
    assert_eq!(summary(&events).1.trim(), "OK");
    assert!(ending(&events).1.cached > 60, "{events:?}");
}

#[test]
fn a_loop_is_cut() {
    let looping = format!("<think>\n{}", "等等。".repeat(3000));
    let engine = engine(Reciter::new(&[("", &looping)]).context(20_000));
    let asked =
        Request { max_tokens: 19_000, max_thinking: 19_000, ..request(&[Message::user("a")]) };
    let events = run_request(&engine, asked);
    let (reason, usage) = ending(&events);
    assert_eq!(reason, FinishReason::Loop);
    assert!(usage.thinking < 3 * 2300, "{usage:?}");
}

#[test]
fn the_context_ends_an_answer_and_refuses_a_prompt() {
    let engine =
        engine(Reciter::new(&[("", &format!("<think>\n{}", "abc ".repeat(99)))]).context(120));
    let events = run_request(&engine, request(&[Message::user("a")]));
    let (reason, usage) = ending(&events);
    assert_eq!(reason, FinishReason::Length);
    assert!(usage.context <= 120, "{usage:?}");
    let long = Message::user("word ".repeat(100));
    let message = failure(&run_request(&engine, request(&[long])));
    assert!(message.contains("120") && message.contains("compact"), "{message}");
    // The refusal left the engine as it was.
    let events = run_request(&engine, request(&[Message::user("a")]));
    assert_eq!(ending(&events).0, FinishReason::Length);
}

#[test]
fn cancelling_ends_prefill_and_decoding_soon_and_the_state_goes_on() {
    let text = format!("<think>\n{}", "abc ".repeat(200));
    let slow = Reciter::new(&[("go", &text), ("on", "<think>\n\n</think>\n\nOK<|im_end|>")])
        .slow(Duration::from_millis(20));
    let engine = engine(slow);
    for (wait_for, long) in [("prefill", true), ("thinking", false)] {
        let cancel = Cancel::new();
        let words = if long { "word ".repeat(400) } else { String::new() };
        let mut stream =
            engine.generate(request(&[Message::user(format!("go {words}"))]), cancel.clone());
        let mut events = Vec::new();
        // The first report of progress comes before anything was computed.
        while summary(&events).2.last() != Some(&wait_for) || events.len() < 3 {
            events.push(stream.blocking_recv().unwrap());
        }
        cancel.cancel();
        events.extend(all(stream));
        let (reason, usage) = ending(&events);
        assert_eq!(reason, FinishReason::Cancelled);
        if long {
            assert!((1..1000).contains(&usage.prefilled), "{usage:?}");
            continue;
        }
        let (thinking, answer, _) = summary(&events);
        let messages = [
            Message::user("go "),
            Message::assistant(thinking, answer, vec![]),
            Message::user("on"),
        ];
        let events = run_request(&engine, request(&messages));
        assert_eq!(summary(&events).1.trim(), "OK");
        // At least the whole first prompt.
        assert!(ending(&events).1.cached >= 23, "{events:?}");
    }
}

#[test]
fn thinking_off_begins_with_the_answer() {
    let engine = engine(Reciter::new(&[("", "<think>\n\n</think>\n\nYes.<|im_end|>")]));
    let asked = Request { effort: Effort::Off, ..request(&[Message::user("a")]) };
    let events = run_request(&engine, asked);
    let (thinking, text, _) = summary(&events);
    assert_eq!((thinking.as_str(), text.as_str()), ("", "Yes."));
    assert_eq!(ending(&events).1.thinking, 0);
}

#[test]
fn padding_is_never_sampled_even_when_drawn() {
    let engine = engine(Reciter::new(&[HELLO]));
    let sampling = Sampling { temperature: 0.1, ..Sampling::default() };
    let events = run_request(&engine, Request { sampling, ..request(&[Message::user("hello")]) });
    assert_eq!(summary(&events).1.trim(), "Hi 你好!");
}

#[test]
fn a_failing_model_fails_the_request_and_the_engine_goes_on() {
    let engine =
        engine(Reciter::new(&[("nan", "<think>\nab@nan"), ("panic", "<think>\nab@panic"), HELLO]));
    let message = failure(&run_request(&engine, request(&[Message::user("nan")])));
    assert!(message.contains("not finite"), "{message}");
    let message = failure(&run_request(&engine, request(&[Message::user("panic")])));
    assert!(message.contains("told to panic") && message.contains("try again"), "{message}");
    let events = run_request(&engine, request(&[Message::user("hello")]));
    assert_eq!(summary(&events).1.trim(), "Hi 你好!");
}

#[test]
fn a_refusing_template_is_a_message() {
    let engine = engine(Reciter::new(&[HELLO]));
    let late = [Message::user("a"), Message::system("late")];
    let message = failure(&run_request(&engine, request(&late)));
    assert!(message.contains("only the first message"), "{message}");
}

#[test]
fn a_failed_or_panicking_load_answers_every_request() {
    type Load = fn(Progress<'_>, &dyn Fn() -> bool) -> Result<Loaded, EngineError>;
    let failing: [(Load, &str); 2] = [
        (|_, _| Err(EngineError::MissingTemplate), "no chat template"),
        (|_, _| panic!("bad weights"), "bad weights"),
    ];
    for (load, expected) in failing {
        let (engine, loading) = start(None, load);
        let early = engine.generate(request(&[Message::user("a")]), Cancel::new());
        let told = failure(&all(loading));
        assert!(told.contains(expected), "{told}");
        assert_eq!(failure(&all(early)), told);
        assert_eq!(failure(&run_request(&engine, request(&[Message::user("b")]))), told);
    }
}

#[test]
fn a_missing_file_fails_at_once() {
    let (_engine, loading) = spawn("no/such/model.gguf".into(), EngineOptions::default());
    let message = failure(&all(loading));
    assert!(message.contains("no/such/model.gguf") && message.contains("not found"), "{message}");
}

#[test]
fn dropping_the_engine_ends_what_runs_and_what_waits() {
    let slow = Reciter::new(&[("", &format!("<think>\n{}", "abc ".repeat(200)))]);
    let held = Arc::new(Mutex::new(()));
    let record = slow.record();
    let engine = engine(slow.slow(Duration::from_millis(10)));
    let running = engine.generate(request(&[Message::user("a")]), Cancel::new());
    let waiting = engine.generate(request(&[Message::user("b")]), Cancel::new());
    std::thread::sleep(Duration::from_millis(30));
    drop((engine, held));
    for stream in [running, waiting] {
        assert_eq!(ending(&all(stream)).0, FinishReason::Cancelled);
    }
    // The thread ends and drops the model with its record.
    while Arc::strong_count(&record) > 1 {
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_bad_call_is_told() {
    let bad = CALL.replace("path", "file");
    let engine = engine(Reciter::new(&[("", &format!("<think>\n\n</think>\n\n{bad}<|im_end|>"))]));
    let asked = Request { tools: vec![read_tool()], ..request(&[Message::user("a")]) };
    let events = run_request(&engine, asked);
    let problems: Vec<&CallProblem> = events
        .iter()
        .filter_map(|event| match event {
            EngineEvent::BadCall(problem) => Some(problem),
            _ => None,
        })
        .collect();
    assert_eq!(problems.len(), 1, "{events:?}");
    assert_eq!(ending(&events).0, FinishReason::Stop);
}
