//! Playing scripts: both formats, the parser in between, ends and delays.

use super::*;
use crate::engine::testing::{request, summary};
use crate::protocol::Message;

fn play(engine: &ScriptedEngine, text: &str, cancel: Cancel) -> Vec<EngineEvent> {
    let mut stream = engine.generate(request(&[Message::user(text)]), cancel);
    let mut events = Vec::new();
    while let Some(event) = stream.blocking_recv() {
        events.push(event);
    }
    events
}

fn script(name: &str, text: &str) -> Result<Script, ScriptError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    Script::read(&path)
}

#[test]
fn steps_are_played_in_order_through_the_parser() {
    let toml = r#"
        [[steps]]
        text = "先看。\n</think>\n\nHello."
        chunk = 2
        [[steps]]
        text = "cut sh"
        finish = "length"
        [[steps]]
        text = "half"
        fail = "out of memory"
    "#;
    let json = serde_json::json!({"steps": [
        {"text": "先看。\n</think>\n\nHello.", "chunk": 2},
        {"text": "cut sh", "finish": "length"},
        {"text": "half", "fail": "out of memory"},
    ]});
    for (name, text) in [("a.toml", toml.to_string()), ("a.json", json.to_string())] {
        let engine = ScriptedEngine::new(script(name, &text).unwrap());
        let first = play(&engine, "one", Cancel::new());
        let (thinking, text, kinds) = summary(&first);
        assert_eq!((thinking.trim(), text.trim()), ("先看。", "Hello."));
        assert_eq!(kinds, ["prefill", "thinking", "thinking done", "text", "finished"]);
        let second = play(&engine, "two", Cancel::new());
        assert_eq!(summary(&second).1.trim(), "cut sh");
        let cut = |event: &EngineEvent| {
            matches!(event, EngineEvent::Finished { reason: FinishReason::Length, .. })
        };
        assert!(second.last().is_some_and(cut), "{second:?}");
        let third = play(&engine, "three", Cancel::new());
        let failed = EngineEvent::Failed { message: "out of memory".into() };
        assert_eq!(third.last(), Some(&failed));
        assert!(matches!(
            play(&engine, "four", Cancel::new()).as_slice(),
            [EngineEvent::Failed { .. }]
        ));
        let asked: Vec<String> =
            engine.requests().iter().map(|request| request.messages[0].text.clone()).collect();
        assert_eq!(asked, ["one", "two", "three", "four"]);
    }
}

#[test]
fn a_delay_can_be_cancelled() {
    let step = ScriptStep { text: "a b c d".into(), chunk: 1, ..ScriptStep::default() };
    let script = Script { delay_ms: 60_000, steps: vec![step], ..Script::default() };
    let engine = ScriptedEngine::new(script);
    let cancel = Cancel::new();
    let mut stream = engine.generate(request(&[Message::user("a")]), cancel.clone());
    assert!(matches!(stream.blocking_recv(), Some(EngineEvent::Prefill { .. })));
    cancel.cancel();
    let mut last = None;
    while let Some(event) = stream.blocking_recv() {
        last = Some(event);
    }
    assert!(matches!(last, Some(EngineEvent::Finished { reason: FinishReason::Cancelled, .. })));
}

#[test]
fn a_wrong_script_names_file_and_fault() {
    for (name, text, fault) in [
        ("bad.toml", "[[steps]]\ntext = 3", "text"),
        ("bad.json", r#"{"steps": [{"txt": ""}]}"#, "txt"),
        ("bad.toml", "name = 'x'", "steps"),
    ] {
        let message = script(name, text).unwrap_err().to_string();
        assert!(message.contains(name) && message.contains(fault), "{message}");
    }
    assert!(Script::read(Path::new("no/such.toml")).unwrap_err().to_string().contains("no/such"));
}

#[test]
fn loading_is_over_at_once() {
    let engine = ScriptedEngine::new(Script::default());
    let mut loading = engine.loading();
    assert!(matches!(loading.blocking_recv(), Some(EngineEvent::Ready(_))));
    assert!(loading.blocking_recv().is_none());
}
