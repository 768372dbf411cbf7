//! The log against full renderings, and what makes it start anew.

use super::*;
use crate::engine::testing::{DROP, KEEP, byte_tokenizer, real_tokenizer, request, shared_fixture};
use crate::protocol::{CallId, ToolCall, ToolKind};

/// A conversation of two turns, the first with a tool call, growing request by request.
fn growing() -> Vec<Vec<Message>> {
    let args = serde_json::json!({"path": "a.rs"});
    let call = |id| ToolCall {
        id: CallId(id),
        name: "read".into(),
        args: args.as_object().unwrap().clone(),
    };
    let steps = [
        vec![Message::system("Be brief."), Message::user("What is in a.rs?")],
        vec![
            Message::assistant("先读。", "Let me look.", vec![call(1)]),
            Message::tool(CallId(1), "fn main() {}\n"),
        ],
        vec![
            Message::assistant("简单。", "A main function; <|im_end|> too.", vec![]),
            Message::user("Thanks. And b.rs?"),
        ],
        vec![Message::assistant("无。", "There is none.", vec![]), Message::user("Bye")],
    ];
    let mut all = Vec::new();
    let grown = steps.into_iter().map(|step| {
        all.extend(step);
        all.clone()
    });
    grown.collect()
}

/// What a model would have generated for the assistant message at the end of a full rendering.
fn answer(
    before: &str,
    message: &Message,
    request: &Request,
    template: &Template,
    tokenizer: &Tokenizer,
) -> Vec<u32> {
    let mut messages = request.messages.clone();
    messages.push(message.clone());
    let all = Conversation {
        messages: &messages,
        tools: &request.tools,
        effort: request.effort,
        generate: false,
    };
    let all = template.render(&all, tokenizer.markup()).unwrap().0;
    let text = all.strip_prefix(before).unwrap();
    let end = text.rfind("<|im_end|>").unwrap();
    tokenizer.encode(&MarkedText(text[..end].to_string())).unwrap()
}

/// Plays the conversation through a log; returns the plans.
fn play(template: &Template, tokenizer: &Tokenizer, tools: &[ToolSpec]) -> (Log, Vec<Plan>) {
    let mut log = Log::default();
    let conversations = growing();
    let mut plans = Vec::new();
    for (i, messages) in conversations.iter().enumerate() {
        let asked = Request { tools: tools.to_vec(), ..request(messages) };
        let plan = log.plan(&asked, template, tokenizer).unwrap();
        if let Some(next) = conversations.get(i + 1) {
            let message = &next[messages.len()];
            let full = template.render(&conversation(&asked, messages), tokenizer.markup());
            let ids = answer(&full.unwrap().0, message, &asked, template, tokenizer);
            // The engine gives calls no ids and streams white space as it comes.
            let mut streamed = message.clone();
            streamed.calls.iter_mut().for_each(|call| call.id = CallId(0));
            streamed.text.push('\n');
            log.commit(&asked, &plan, &ids, streamed);
        }
        plans.push(plan);
    }
    (log, plans)
}

fn tools() -> Vec<ToolSpec> {
    vec![ToolSpec {
        name: "read".into(),
        kind: ToolKind::Read,
        description: "Reads.".into(),
        parameters: serde_json::json!({"type": "object", "properties": {"path": {"type": "string"}}}),
    }]
}

fn log_equals_full_rendering(template: &Template, tokenizer: &Tokenizer) {
    let (_, plans) = play(template, tokenizer, &tools());
    for (plan, messages) in plans.iter().zip(growing()) {
        let asked = Request { tools: tools(), ..request(&messages) };
        let full = template.render(&conversation(&asked, &messages), tokenizer.markup()).unwrap();
        assert_eq!(tokenizer.decode(&plan.tokens), full.plain());
        assert_eq!(plan.tokens, tokenizer.encode(&full).unwrap());
        assert!(plan.thinking_open);
    }
    let logged: Vec<usize> = plans.iter().map(|plan| plan.logged_messages).collect();
    assert_eq!(logged, [0, 3, 5, 7]);
}

#[test]
fn for_a_template_that_keeps_history_the_log_is_the_full_rendering() {
    log_equals_full_rendering(&Template::new(KEEP, None).unwrap(), &byte_tokenizer());
}

#[test]
fn for_the_recorded_template_and_vocabulary_too() {
    let (Some(path), Some(tokenizer)) =
        (shared_fixture("chat-templates/qwen3.8.jinja"), real_tokenizer())
    else {
        return;
    };
    let source = std::fs::read_to_string(path).unwrap();
    log_equals_full_rendering(&Template::new(&source, None).unwrap(), tokenizer);
}

#[test]
fn a_template_that_drops_thinking_does_not_make_the_log_forget() {
    let tokenizer = byte_tokenizer();
    let mut sources = vec![DROP.to_string()];
    for name in ["qwen3.5", "qwen3.6"] {
        let path = shared_fixture(&format!("chat-templates/{name}.jinja"));
        sources.extend(path.map(|path| std::fs::read_to_string(path).unwrap()));
    }
    for source in sources {
        let (_, plans) = play(&Template::new(&source, None).unwrap(), &tokenizer, &[]);
        for pair in plans.windows(2) {
            assert!(pair[1].tokens.starts_with(&pair[0].tokens), "history was rewritten");
        }
        let last = tokenizer.decode(&plans[3].tokens);
        let tail = "无。\n</think>\n\nThere is none.<|im_end|>\n<|im_start|>user\nBye<|im_end|>\n\
                    <|im_start|>assistant\n<think>\n";
        assert!(last.ends_with(tail), "{last}");
        assert!(last.contains("先读。"), "{last}");
    }
}

#[test]
fn what_the_model_wrote_stays_as_it_was_tokenised() {
    let tokenizer = byte_tokenizer();
    let template = Template::new(KEEP, None).unwrap();
    let mut log = Log::default();
    let first = request(&[Message::user("a")]);
    let plan = log.plan(&first, &template, &tokenizer).unwrap();
    // Odd white space and a call that no template would render like this.
    let odd = tokenizer.encode_trusted(" \n x\n</think>\n\n\n y  ").unwrap();
    log.commit(&first, &plan, &odd, Message::assistant(" \n x", "y  ", vec![]));
    let second =
        request(&[Message::user("a"), Message::assistant("x", "y", vec![]), Message::user("b")]);
    let next = log.plan(&second, &template, &tokenizer).unwrap();
    let logged = [plan.tokens.as_slice(), &odd].concat();
    assert_eq!(next.logged, logged.len());
    assert!(next.tokens.starts_with(&logged));
    let rest = tokenizer.decode(&next.tokens[logged.len()..]);
    assert_eq!(rest, "<|im_end|>\n<|im_start|>user\nb<|im_end|>\n<|im_start|>assistant\n<think>\n");
}

#[test]
fn another_conversation_is_rendered_anew_or_from_an_earlier_end() {
    let tokenizer = byte_tokenizer();
    let template = Template::new(KEEP, None).unwrap();
    let (log, _) = play(&template, &tokenizer, &tools());
    let grown = growing();
    let whole = Request { tools: tools(), ..request(&grown[3]) };
    let logged = |change: &dyn Fn(&mut Request)| {
        let mut asked = whole.clone();
        change(&mut asked);
        log.plan(&asked, &template, &tokenizer).unwrap().logged_messages
    };
    assert_eq!(logged(&|_| ()), 7);
    assert_eq!(logged(&|asked| asked.messages[7] = Message::user("Stay")), 7);
    assert_eq!(logged(&|asked| asked.messages[6].text = "edited".into()), 5);
    assert_eq!(logged(&|asked| asked.messages.truncate(4)), 3);
    // The last message of the request is an answer: there is nothing to say after it.
    assert_eq!(logged(&|asked| asked.messages.truncate(3)), 0);
    assert_eq!(logged(&|asked| asked.messages[0] = Message::system("Be long.")), 0);
    assert_eq!(logged(&|asked| asked.tools.clear()), 0);
    assert_eq!(logged(&|asked| asked.effort = Effort::Low), 0);
}

#[test]
fn thinking_off_leaves_no_block_open() {
    let tokenizer = byte_tokenizer();
    let template = Template::new(KEEP, None).unwrap();
    let asked = Request { effort: Effort::Off, ..request(&[Message::user("<think>")]) };
    assert!(!Log::default().plan(&asked, &template, &tokenizer).unwrap().thinking_open);
}

#[test]
fn a_sentinel_in_the_text_only_costs_a_full_rendering() {
    let tokenizer = byte_tokenizer();
    let template = Template::new(KEEP, None).unwrap();
    let mut log = Log::default();
    let first = request(&[Message::user(SENTINEL)]);
    let plan = log.plan(&first, &template, &tokenizer).unwrap();
    log.commit(&first, &plan, &[65], Message::assistant("", "A", vec![]));
    let mut messages = first.messages.clone();
    messages.extend([Message::assistant("", "A", vec![]), Message::user("b")]);
    let next = log.plan(&request(&messages), &template, &tokenizer).unwrap();
    assert_eq!(next.logged, 0);
    assert!(tokenizer.decode(&next.tokens).contains(SENTINEL));
}
