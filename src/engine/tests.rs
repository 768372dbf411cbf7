//! End to end on real files: what the engine streams is what the model's logits say.

use super::arch::{Model, Numerics, Rows};
use super::debug::{self, LogitOptions};
use super::load::EngineOptions;
use super::prompt::Log;
use super::testing::{KEEP, request, shared_fixture, summary};
use super::tokenizer::Tokenizer;
use super::worker::spawn;
use super::{Cancel, Engine, EventStream};
use crate::protocol::{EngineEvent, FinishReason, Message, Request, Usage};
use std::path::{Path, PathBuf};

fn all(mut stream: EventStream) -> Vec<EngineEvent> {
    let mut events = Vec::new();
    while let Some(event) = stream.blocking_recv() {
        events.push(event);
    }
    events
}

fn usage(events: &[EngineEvent]) -> (FinishReason, Usage) {
    match events.last() {
        Some(EngineEvent::Finished { reason, usage }) => (*reason, *usage),
        other => panic!("{other:?}"),
    }
}

fn options() -> EngineOptions {
    EngineOptions {
        device: "cpu".into(),
        template: Some(KEEP.to_string()),
        prefill_chunk: Some(16),
        // Random weights have close calls; only exact arithmetic decides them alike in any chunks.
        numerics: Numerics::Exact,
        ..EngineOptions::default()
    }
}

#[test]
fn loading_reports_its_stages_and_the_model() {
    let Some(path) = shared_fixture("fixture-mini-qwen35/mini-q8.gguf") else {
        return;
    };
    let (_engine, loading) = spawn(path, options());
    let events = all(loading);
    let Some(EngineEvent::Ready(info)) = events.last() else { panic!("{events:?}") };
    assert_eq!((info.architecture.as_str(), info.quantization.as_str()), ("qwen35", "Q8_0"));
    assert_eq!(info.device, "cpu");
    assert!(info.parameters > 4_000_000 && info.context > 0, "{info:?}");
    let done = |event: &EngineEvent| matches!(event, EngineEvent::Loading { done, total, .. } if done == total && *total > 0);
    assert!(events.iter().any(done), "{events:?}");
}

/// The 12 likeliest tokens after `ids`, padding left out.
fn likeliest(model: &mut dyn Model, tokenizer: &Tokenizer, ids: &[u32]) -> Vec<u32> {
    let mut found = Vec::new();
    let mut row = debug::logits(model, ids, LogitOptions::default()).unwrap();
    while found.len() < 12 {
        for (id, logit) in (0..).zip(&mut row) {
            if tokenizer.is_padding(id) {
                *logit = f32::NEG_INFINITY;
            }
        }
        found.push(debug::argmax(&row));
        row = model.forward(&found[found.len() - 1..], Rows::Last).unwrap();
    }
    found
}

#[test]
fn a_greedy_answer_is_the_models_and_a_second_step_goes_on_from_its_state() {
    let Some(path) = shared_fixture("fixture-mini-qwen35/mini-q8.gguf") else {
        return;
    };
    let tokenizer = debug::tokenizer(&path).unwrap();
    let (template, _) = debug::template(&path, Some(KEEP)).unwrap();
    let mut model = debug::model(&path, &options()).unwrap();
    let (engine, _loading) = spawn(path, options());

    let asked = Request { max_tokens: 12, ..request(&[Message::user("Write a function.")]) };
    let mut log = Log::default();
    let mut plan = log.plan(&asked, &template, &tokenizer).unwrap();
    let events = all(engine.generate(asked.clone(), Cancel::new()));
    let (thinking, text, _) = summary(&events);
    let expected = likeliest(model.as_mut(), &tokenizer, &plan.tokens);
    // Random weights: the answer is noise, and all of it is thinking.
    let controls =
        expected.iter().any(|id| tokenizer.is_control(*id) || tokenizer.tag(*id).is_some());
    assert!(!controls, "choose another prompt: {expected:?}");
    assert_eq!(thinking, tokenizer.decode(&expected));
    let (reason, first) = usage(&events);
    assert_eq!((reason, first.thinking), (FinishReason::Length, 12));

    let closing = tokenizer.encode_trusted("\n</think>\n\n").unwrap();
    let answer = Message::assistant(thinking, text, vec![]);
    log.commit(&asked, &plan, &[expected, closing].concat(), answer.clone());
    let messages = [Message::user("Write a function."), answer, Message::user("And a test.")];
    let asked = Request { max_tokens: 12, ..request(&messages) };
    plan = log.plan(&asked, &template, &tokenizer).unwrap();
    let events = all(engine.generate(asked, Cancel::new()));
    let expected = likeliest(model.as_mut(), &tokenizer, &plan.tokens);
    // Noise may hold a tag, after which the text is no thinking any more.
    let plain = |id: &&u32| !tokenizer.is_control(**id) && tokenizer.tag(**id).is_none();
    let plain: Vec<u32> = expected.iter().take_while(plain).copied().collect();
    assert!(plain.len() > 3, "choose another prompt: {expected:?}");
    let thought = summary(&events).0;
    assert!(thought.starts_with(&tokenizer.decode(&plain)), "{thought}");
    let (_, second) = usage(&events);
    // The last token of the cut answer was not computed yet.
    assert_eq!(second.cached, first.prefilled + 11);
    assert_eq!(second.cached + second.prefilled, plan.tokens.len());
}

/// The small model that ships with the tests, where it has been built.
fn demo_model() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/demo-model");
    let path = folder.join("tessera-demo.gguf");
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: {} is absent", path.display());
    None
}

#[test]
fn the_demo_model_loads_with_its_own_template_and_answers() {
    let Some(path) = demo_model() else { return };
    let (engine, loading) = spawn(path, EngineOptions { template: None, ..options() });
    let loading = all(loading);
    assert!(matches!(loading.last(), Some(EngineEvent::Ready(_))), "{loading:?}");
    let asked = Request { max_tokens: 40, ..request(&[Message::user("Fix the failing test.")]) };
    let events = all(engine.generate(asked, Cancel::new()));
    let (_, usage) = usage(&events);
    assert!(usage.thinking + usage.answer > 0, "{events:?}");
}
