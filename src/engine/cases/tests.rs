//! All recorded cases in three ways, random streams in random cuts, and the time they take.

use super::*;
use proptest::prelude::*;

const CASES: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/toolcalls.jsonl"));
const TOOLS: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/tools.json"));

fn tools_json() -> Value {
    serde_json::from_str(TOOLS).unwrap()
}

/// Puts the values of `expect.big` in place of their names.
fn spell_out(value: &mut Value, big: &Value) {
    match value {
        Value::String(text) => {
            if let Some(big) = big.get(text.as_str()) {
                let times = usize::try_from(big["times"].as_u64().unwrap()).unwrap();
                *text =
                    big["repeat"].as_str().unwrap().repeat(times) + big["suffix"].as_str().unwrap();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| spell_out(item, big)),
        Value::Object(map) => map.values_mut().for_each(|item| spell_out(item, big)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn loose(value: &Value) -> String {
    value.as_str().unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What differs between expectation and result; empty if nothing does.
fn differences(case: &Value, got: &Value) -> Vec<String> {
    let mut expect = case["expect"].clone();
    let big = expect["big"].take();
    spell_out(&mut expect, &big);
    let mut wrong = Vec::new();
    let text = |value: &Value| match case["compare"].as_str() {
        None => loose(value),
        Some("exact") => value.as_str().unwrap().to_owned(),
        Some("exact_trim") => value.as_str().unwrap().trim().to_owned(),
        Some(other) => panic!("unknown comparison {other}"),
    };
    if text(&expect["text"]) != text(&got["text"]) {
        wrong.push(format!("text {:.300} instead of {:.300}", got["text"], expect["text"]));
    }
    if loose(&expect["thinking"]) != loose(&got["thinking"]) {
        wrong.push(format!(
            "thinking {:.300} instead of {:.300}",
            got["thinking"], expect["thinking"]
        ));
    }
    let set = |value: &Value| {
        let mut list: Vec<String> =
            value.as_array().unwrap().iter().map(|v| v.as_str().unwrap().to_owned()).collect();
        list.sort();
        list.dedup();
        list
    };
    if set(&expect["repairs"]) != set(&got["repairs"]) {
        wrong.push(format!("repairs {} instead of {}", got["repairs"], expect["repairs"]));
    }
    for key in ["calls", "errors"] {
        if expect[key] != got[key] {
            wrong.push(format!("{key} {:.300} instead of {:.300}", got[key], expect[key]));
        }
    }
    wrong
}

fn check_all(feed: Feed) {
    let tools = tools_json();
    let mut failures = Vec::new();
    let mut count = 0;
    for line in CASES.lines().filter(|line| !line.trim().is_empty()) {
        let case: Value = serde_json::from_str(line).unwrap();
        let result = run_case_as(line, &tools, feed).unwrap();
        for difference in differences(&case, &result["got"]) {
            failures.push(format!("{} {}: {difference}", case["id"], case["kind"]));
        }
        count += 1;
    }
    assert!(count > 100, "the cases are there");
    assert!(failures.is_empty(), "{}\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn cases_as_given() {
    check_all(Feed::AsGiven);
}

#[test]
fn cases_whole() {
    check_all(Feed::Whole);
}

#[test]
fn cases_byte_by_byte() {
    check_all(Feed::Bytes);
}

/// Pieces that streams are made of; tags, halves of tags, names, values, marks of Markdown, broken things.
const PARTS: [&str; 52] = [
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
    "<function=read>",
    "<function=write>",
    "<function=typecheck>",
    "<function=nope>",
    "<function=",
    "</function>",
    "<parameter=path>",
    "<parameter=content>",
    "<parameter=limit>",
    "<parameter=other>",
    "<parameter=",
    "</parameter>",
    "<|im_end|>",
    "<|im_start|>",
    "user",
    "assistant",
    "\n",
    "\n",
    "\r\n",
    " ",
    "\n\n",
    "a.rs",
    "40",
    "读→改",
    "text. ",
    "word",
    "`",
    "```",
    "```xml\n",
    "~~~",
    "\"",
    "'",
    "\\",
    "{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}",
    "{",
    "}",
    "[",
    "]",
    ",",
    "\"name\": \"read\"",
    "<",
    "<t",
    "</",
    "<|im_e",
    "\u{1f600}",
    "\u{1b}",
];

/// Adjacent pieces of one kind are one piece: cuts carry no meaning.
fn merged(events: Vec<ParserEvent>) -> Vec<ParserEvent> {
    let mut all: Vec<ParserEvent> = Vec::new();
    for event in events {
        match (all.last_mut(), event) {
            (Some(ParserEvent::Thinking(a)), ParserEvent::Thinking(b))
            | (Some(ParserEvent::Text(a)), ParserEvent::Text(b))
            | (Some(ParserEvent::CallDelta(a)), ParserEvent::CallDelta(b)) => a.push_str(&b),
            (_, event) => all.push(event),
        }
    }
    all
}

#[derive(Clone, Debug)]
struct Stream {
    parts: Vec<usize>,
    cuts: Vec<bool>,
    thinking: bool,
    hermes: bool,
    end: u8,
}

impl Stream {
    fn options(&self, tags: Tags) -> ParserOptions {
        ParserOptions {
            dialect: if self.hermes { Dialect::HermesJson } else { Dialect::QwenXml },
            tools: tools(&tools_json(), "std").unwrap(),
            thinking_open: self.thinking,
            tags,
        }
    }

    fn end(&self) -> End {
        match self.end {
            0 => End::Stop,
            1 => End::Length,
            _ => End::Cut,
        }
    }

    fn text(&self) -> String {
        self.parts.iter().map(|part| PARTS[*part]).collect()
    }

    /// The text in random chunks: a cut after a character wherever `cuts` says so.
    fn chunks(&self) -> Vec<String> {
        let mut chunks = vec![String::new()];
        for (c, cut) in self.text().chars().zip(self.cuts.iter().cycle()) {
            chunks.last_mut().unwrap().push(c);
            if *cut {
                chunks.push(String::new());
            }
        }
        chunks
    }

    fn run(&self, chunks: &[String]) -> Vec<ParserEvent> {
        let mut parser = Parser::new(self.options(Tags::ByText));
        let mut events = Vec::new();
        for chunk in chunks {
            events.extend(parser.push(Piece::Text(chunk)));
        }
        events.extend(parser.finish(self.end()));
        merged(events)
    }

    /// The same parts with tags as tokens; text parts whole or character by character.
    fn run_tokens(&self, split: bool) -> Vec<ParserEvent> {
        use crate::engine::parser::Tag;
        let mut parser = Parser::new(self.options(Tags::ByToken));
        let mut events = Vec::new();
        for part in self.parts.iter().map(|part| PARTS[*part]) {
            match Tag::ALL.into_iter().find(|tag| tag.as_str() == part) {
                Some(tag) => events.extend(parser.push(Piece::Tag(tag))),
                None if split => {
                    for c in part.chars() {
                        events.extend(parser.push(Piece::Text(&c.to_string())));
                    }
                }
                None => events.extend(parser.push(Piece::Text(part))),
            }
        }
        events.extend(parser.finish(self.end()));
        merged(events)
    }
}

fn streams() -> impl Strategy<Value = Stream> {
    (
        prop::collection::vec(0..PARTS.len(), 0..40),
        prop::collection::vec(any::<bool>(), 1..20),
        any::<bool>(),
        any::<bool>(),
        0..3_u8,
    )
        .prop_map(|(parts, cuts, thinking, hermes, end)| Stream {
            parts,
            cuts,
            thinking,
            hermes,
            end,
        })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_cut_gives_the_same_events(stream in streams()) {
        let whole = stream.run(&[stream.text()]);
        let chars: Vec<String> = stream.text().chars().map(String::from).collect();
        prop_assert_eq!(&stream.run(&stream.chunks()), &whole);
        prop_assert_eq!(&stream.run(&chars), &whole);
        prop_assert_eq!(stream.run_tokens(true), stream.run_tokens(false));
    }

    #[test]
    fn nothing_runs_after_a_lost_connection_but_whole_calls(stream in streams()) {
        let cut = Stream { end: 2, ..stream };
        for event in cut.run(&[cut.text()]) {
            if let ParserEvent::Call { repairs, .. } = event {
                // At least one closing tag was there.
                let missing = repairs.iter().filter(|repair| repair.starts_with("missing_close")).count();
                prop_assert!(missing < 3);
            }
        }
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), cut in 0..300_usize) {
        let tools = tools(&tools_json(), "std").unwrap();
        let options = |dialect| ParserOptions { dialect, tools: tools.clone(), thinking_open: false, tags: Tags::ByText };
        let (head, tail) = bytes.split_at(cut.min(bytes.len()));
        let halves = [head.to_vec(), tail.to_vec()];
        for end in [End::Stop, End::Length, End::Cut] {
            let whole = parse_text(options(Dialect::QwenXml), std::slice::from_ref(&bytes), end);
            prop_assert_eq!(merged(whole), merged(parse_text(options(Dialect::QwenXml), &halves, end)));
        }
        let whole = parse_sse(options(Dialect::HermesJson), std::slice::from_ref(&bytes));
        prop_assert_eq!(merged(whole), merged(parse_sse(options(Dialect::HermesJson), &halves)));
    }
}

/// A recorded case with some of its text cut out, doubled or moved: calls that are nearly right.
fn damaged() -> impl Strategy<Value = (String, Vec<usize>, bool, u8)> {
    let texts: Vec<String> = CASES
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|case| {
            case["format"] != "openai_sse" && !case["kind"].as_str().unwrap().starts_with("huge")
        })
        .map(|case| String::from_utf8_lossy(&chunks(&case).unwrap().concat()).into_owned())
        .collect();
    let pick = prop::sample::select(texts);
    let edits = prop::collection::vec(
        (any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..4_u8),
        0..4,
    );
    let cuts = prop::collection::vec(1..40_usize, 1..10);
    (pick.clone(), pick, edits, cuts, any::<bool>(), 0..3_u8).prop_map(
        |(first, second, edits, cuts, thinking, end)| {
            let whole = first + "\n" + &second;
            // Tags and the text between them; edits keep tags whole, so that the damage is in the structure.
            let mut parts: Vec<String> = whole
                .split_inclusive('>')
                .flat_map(|part| match part.rfind('<') {
                    Some(at) => vec![part[..at].to_owned(), part[at..].to_owned()],
                    None => vec![part.to_owned()],
                })
                .collect();
            for (from, to, kind) in edits {
                let (from, to) = (from.index(parts.len()), to.index(parts.len()));
                match kind {
                    0 if parts.len() > 1 => drop(parts.remove(from)),
                    1 => {
                        let part = parts[from].clone();
                        parts.insert(to, part);
                    }
                    2 => parts.swap(from, to),
                    _ => parts.insert(from, "word `".into()),
                }
            }
            (parts.concat(), cuts, thinking, end)
        },
    )
}

fn run_damaged(text: &str, cuts: &[usize], stream: &Stream, patient: bool) -> Vec<ParserEvent> {
    let mut parser = Parser::new(stream.options(Tags::ByText));
    parser.patient = patient;
    let mut events = Vec::new();
    let mut rest: Vec<char> = text.chars().collect();
    for cut in cuts.iter().cycle() {
        let tail = rest.split_off(rest.len().min(*cut));
        events.extend(parser.push(Piece::Text(&rest.into_iter().collect::<String>())));
        rest = tail;
        if rest.is_empty() {
            break;
        }
    }
    events.extend(parser.finish(stream.end()));
    merged(events)
}

/// Without what is for the live view only.
fn lasting(events: Vec<ParserEvent>) -> Vec<ParserEvent> {
    let live = |event: &ParserEvent| {
        matches!(event, ParserEvent::CallStarted { .. } | ParserEvent::CallDelta(_))
    };
    merged(events.into_iter().filter(|event| !live(event)).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_calls_read_the_same_in_any_cut_and_closed_early_or_late((text, cuts, thinking, end) in damaged()) {
        let stream = Stream { parts: vec![], cuts: vec![], thinking, hermes: false, end };
        let whole = run_damaged(&text, &[usize::MAX], &stream, false);
        let whole = lasting(whole);
        prop_assert_eq!(&lasting(run_damaged(&text, &cuts, &stream, false)), &whole);
        prop_assert_eq!(&lasting(run_damaged(&text, &[1], &stream, false)), &whole);
        prop_assert_eq!(lasting(run_damaged(&text, &cuts, &stream, true)), whole);
    }
}

/// Cases in which a tag is only named, in prose, code or thinking: there a token means what it says.
const NAMED: [&str; 11] = [
    "empty_block",
    "false_start",
    "think_prose_tags",
    "think_rehearsal",
    "think_word_in_text",
    "literal_backtick",
    "call_in_fence",
    "special_token",
    "utf8_invalid",
    "huge_value",
    "huge_thinking",
];

/// Feeds a text with its tags as tokens.
fn feed_tokens(parser: &mut Parser, text: &str) -> Vec<ParserEvent> {
    use crate::engine::parser::Tag;
    let mut events = Vec::new();
    let mut rest = text;
    loop {
        let tags = Tag::ALL.into_iter().filter_map(|tag| Some((rest.find(tag.as_str())?, tag)));
        let Some((at, tag)) = tags.min_by_key(|(at, _)| *at) else {
            break;
        };
        events.extend(parser.push(Piece::Text(&rest[..at])));
        events.extend(parser.push(Piece::Tag(tag)));
        rest = &rest[at + tag.as_str().len()..];
    }
    events.extend(parser.push(Piece::Text(rest)));
    events
}

#[test]
fn cases_with_tags_as_tokens() {
    let mut failures = Vec::new();
    for line in CASES.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        if case["format"] == "openai_sse" || NAMED.contains(&case["kind"].as_str().unwrap()) {
            continue;
        }
        let stream = Stream {
            parts: vec![],
            cuts: vec![],
            thinking: case["thinking"] == "open",
            hermes: case["format"] == "hermes_json",
            end: ["stop", "length", "cut"].iter().position(|end| case["end"] == *end).unwrap()
                as u8,
        };
        let text = String::from_utf8(chunks(&case).unwrap().concat()).unwrap();
        let mut parser = Parser::new(stream.options(Tags::ByToken));
        let mut events = feed_tokens(&mut parser, &text);
        events.extend(parser.finish(stream.end()));
        for difference in differences(&case, &summary(&events)) {
            failures.push(format!("{} {}: {difference}", case["id"], case["kind"]));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
