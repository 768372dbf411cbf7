//! How early things come out, and streams in which tags are tokens. What comes out is tested in `cases`.

use super::*;
use crate::protocol::ToolKind;
use serde_json::json;

fn options(tags: Tags, thinking_open: bool) -> ParserOptions {
    let spec = |name: &str, parameters| ToolSpec {
        name: name.into(),
        kind: ToolKind::Read,
        description: String::new(),
        parameters,
    };
    let read =
        json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    ParserOptions {
        dialect: Dialect::QwenXml,
        tools: vec![spec("read", read), spec("check", json!({"type": "object", "properties": {}}))],
        thinking_open,
        tags,
    }
}

fn text(parser: &mut Parser, text: &str) -> Vec<ParserEvent> {
    parser.push(Piece::Text(text))
}

fn thinking(text: &str) -> ParserEvent {
    ParserEvent::Thinking(text.into())
}

fn answer(text: &str) -> ParserEvent {
    ParserEvent::Text(text.into())
}

fn call_names(events: &[ParserEvent]) -> Vec<String> {
    let name = |event: &ParserEvent| match event {
        ParserEvent::Call { call, .. } => Some(call.name.clone()),
        _ => None,
    };
    events.iter().filter_map(name).collect()
}

fn codes(events: &[ParserEvent]) -> Vec<&str> {
    let mut codes = Vec::new();
    for event in events {
        if let ParserEvent::Bad(problem) = event {
            codes.push(problem.code.as_str());
        }
    }
    codes
}

const READ: &str = "\n<function=read>\n<parameter=path>\na.rs\n</parameter>\n</function>\n";

#[test]
fn text_comes_out_at_once_and_only_a_possible_tag_waits() {
    let mut parser = Parser::new(options(Tags::ByText, true));
    assert_eq!(text(&mut parser, "plan "), [thinking("plan ")]);
    assert_eq!(text(&mut parser, "a < b </thi"), [thinking("a < b ")]);
    assert_eq!(text(&mut parser, "s "), [thinking("</this ")]);
    assert_eq!(text(&mut parser, "</think>\n"), [ParserEvent::ThinkingDone]);
    assert_eq!(text(&mut parser, "\nDone <t"), [answer("Done ")]);
    assert_eq!(text(&mut parser, "d>"), [answer("<td>")]);
    assert_eq!(parser.finish(End::Stop), []);
    assert_eq!(text(&mut parser, "late"), []);
}

#[test]
fn a_call_is_shown_while_it_is_written_and_closed_when_the_next_begins() {
    let mut parser = Parser::new(options(Tags::ByText, false));
    assert_eq!(text(&mut parser, "<tool_call>\n<function=re"), []);
    let shown = text(&mut parser, "ad>\n<parameter=path>\n");
    assert_eq!(
        shown,
        [
            ParserEvent::CallStarted { name: "read".into() },
            ParserEvent::CallDelta("<tool_call>\n<function=read>\n<parameter=path>\n".into()),
        ]
    );
    let closed = text(&mut parser, "a.rs\n</parameter>\n</function>\n</tool_call>\nAnd:\n");
    assert_eq!(call_names(&closed), Vec::<String>::new());
    let next = text(&mut parser, "<tool_call>\n<function=check>");
    assert_eq!(call_names(&next), ["read"]);
    assert!(next.contains(&answer("\nAnd:\n")), "{next:?}");
    assert!(next.contains(&ParserEvent::CallStarted { name: "check".into() }), "{next:?}");
    let rest = text(&mut parser, "\n</function>\n</tool_call>");
    assert_eq!(call_names(&rest), Vec::<String>::new());
    assert_eq!(call_names(&parser.finish(End::Stop)), ["check"]);
}

#[test]
fn rehearsed_calls_in_thinking_are_handed_out_once_text_follows() {
    let mut parser = Parser::new(options(Tags::ByText, true));
    let call = format!("<tool_call>{READ}</tool_call>");
    assert_eq!(text(&mut parser, &format!("so {call}\n")), [thinking("so ")]);
    assert_eq!(text(&mut parser, "no"), [thinking(&format!("{call}\nno"))]);
}

#[test]
fn a_call_token_ends_thinking() {
    let mut parser = Parser::new(options(Tags::ByToken, true));
    assert_eq!(text(&mut parser, "write <tool_call> then"), [thinking("write <tool_call> then")]);
    let events = parser.push(Piece::Tag(Tag::CallOpen));
    assert_eq!(
        events,
        [ParserEvent::Repair("implicit_think_close".into()), ParserEvent::ThinkingDone]
    );
    text(&mut parser, READ);
    parser.push(Piece::Tag(Tag::CallClose));
    let end = parser.finish(End::Stop);
    assert_eq!(call_names(&end), ["read"]);
    assert_eq!(codes(&end), Vec::<&str>::new());
}

#[test]
fn text_that_looks_like_a_tag_is_text_where_tags_are_tokens() {
    let mut parser = Parser::new(options(Tags::ByToken, true));
    let quoted = format!("</think><tool_call>{READ}</tool_call><tool_response>");
    assert_eq!(text(&mut parser, &quoted), [thinking(&quoted)]);
    assert_eq!(parser.push(Piece::Tag(Tag::ThinkClose)), [ParserEvent::ThinkingDone]);
    assert_eq!(text(&mut parser, "</think> ok"), [answer("</think> ok")]);
    assert_eq!(parser.finish(End::Stop), []);
}

#[test]
fn a_tag_token_inside_a_value_is_part_of_the_value() {
    let mut parser = Parser::new(options(Tags::ByToken, false));
    parser.push(Piece::Tag(Tag::CallOpen));
    text(&mut parser, "\n<function=read>\n<parameter=path>\na ");
    parser.push(Piece::Tag(Tag::CallClose));
    parser.push(Piece::Tag(Tag::ThinkOpen));
    text(&mut parser, " b</tool_call>\n</parameter>\n</function>\n");
    parser.push(Piece::Tag(Tag::CallClose));
    let end = parser.finish(End::Stop);
    let path = end.iter().find_map(|event| match event {
        ParserEvent::Call { call, .. } => call.args.get("path").cloned(),
        _ => None,
    });
    assert_eq!(path, Some(json!("a </tool_call><think> b</tool_call>")));
}

#[test]
fn a_call_token_without_a_call_is_a_problem_and_a_made_up_result_ends_the_answer() {
    let mut parser = Parser::new(options(Tags::ByToken, false));
    parser.push(Piece::Tag(Tag::CallOpen));
    text(&mut parser, "read a.rs");
    parser.push(Piece::Tag(Tag::CallClose));
    text(&mut parser, "\n");
    parser.push(Piece::Tag(Tag::ResponseOpen));
    text(&mut parser, "contents");
    parser.push(Piece::Tag(Tag::CallOpen));
    text(&mut parser, READ);
    parser.push(Piece::Tag(Tag::CallClose));
    let end = parser.finish(End::Stop);
    assert_eq!(codes(&end), ["malformed_call"]);
    assert_eq!(call_names(&end), Vec::<String>::new());
    assert!(end.contains(&ParserEvent::Repair("dropped_fake_result".into())));
}

#[test]
fn the_dialect_is_told_from_the_template() {
    assert_eq!(Dialect::detect("… <function=example_function_name> …"), Dialect::QwenXml);
    assert_eq!(Dialect::detect("… {\"name\": <function-name>, …"), Dialect::HermesJson);
}
