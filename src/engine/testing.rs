//! For tests only: a vocabulary of single bytes, a model that recites, two small templates, and the
//! real vocabulary where it is at hand.

use super::arch::{Model, Rows, Scan, Snapshot};
use super::dialect::Dialect;
use super::error::EngineError;
pub(crate) use super::gguf::testing::shared_fixture;
use super::load::Loaded;
use super::prefix::State;
use super::template::Template;
use super::tokenizer::Tokenizer;
use super::vocabulary::{Kind, PreTokenizer, Vocabulary, byte_alphabet};
use crate::protocol::{Effort, EngineEvent, Message, ModelInfo, Request, Sampling};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// Keeps the thinking of earlier turns, as Qwen3.8 does.
pub(crate) const KEEP: &str = include_str!("testing/keep.jinja");
/// Drops it, as Qwen3.5 does.
pub(crate) const DROP: &str = include_str!("testing/drop.jinja");

const SPECIALS: &[(&str, Kind)] = &[
    ("<|endoftext|>", Kind::Control),
    ("<|im_start|>", Kind::Control),
    ("<|im_end|>", Kind::Control),
    ("<think>", Kind::UserDefined),
    ("</think>", Kind::UserDefined),
    ("<tool_call>", Kind::UserDefined),
    ("</tool_call>", Kind::UserDefined),
    ("<tool_response>", Kind::UserDefined),
    ("</tool_response>", Kind::UserDefined),
    ("[PAD0]", Kind::Unused),
    ("[PAD1]", Kind::Unused),
];

/// 256 bytes and the specials of the chat format; no merges, so a token is a byte.
pub(crate) fn byte_vocabulary() -> Vocabulary {
    let mut letters: Vec<(u8, char)> = byte_alphabet().into_iter().map(|(c, b)| (b, c)).collect();
    letters.sort_unstable();
    let mut tokens: Vec<String> = letters.into_iter().map(|(_, c)| c.to_string()).collect();
    let mut kinds = vec![Kind::Normal; 256];
    for (name, kind) in SPECIALS {
        tokens.push((*name).to_string());
        kinds.push(*kind);
    }
    Vocabulary {
        tokens,
        kinds,
        merges: Vec::new(),
        pre: PreTokenizer::named("qwen35").unwrap(),
        ends: vec![258],
        bos: None,
        warnings: Vec::new(),
    }
}

/// The tokenizer of [`byte_vocabulary`].
pub(crate) fn byte_tokenizer() -> Tokenizer {
    Tokenizer::new(byte_vocabulary()).unwrap()
}

/// The real vocabulary of 248 077 tokens, read once.
pub(crate) fn real_tokenizer() -> Option<&'static Tokenizer> {
    static ONCE: OnceLock<Option<Tokenizer>> = OnceLock::new();
    ONCE.get_or_init(|| {
        let path = shared_fixture("tokenizer/tokenizer_qwen35_derived.json")?;
        let text = std::fs::read_to_string(path).unwrap();
        Some(Tokenizer::new(from_tokenizer_json(&text)).unwrap())
    })
    .as_ref()
}

/// A Hugging Face `tokenizer.json` as a GGUF converter would write it down.
fn from_tokenizer_json(text: &str) -> Vocabulary {
    let json: serde_json::Value = serde_json::from_str(text).unwrap();
    let mut tokens = Vec::new();
    let mut set = |id: usize, token: &str, kind: Kind| {
        if tokens.len() <= id {
            tokens.resize(id + 1, ("[PAD]".to_string(), Kind::Unused));
        }
        tokens[id] = (token.to_string(), kind);
    };
    for (token, id) in json["model"]["vocab"].as_object().unwrap() {
        set(id.as_u64().unwrap() as usize, token, Kind::Normal);
    }
    for added in json["added_tokens"].as_array().unwrap() {
        let kind = if added["special"] == true { Kind::Control } else { Kind::UserDefined };
        set(added["id"].as_u64().unwrap() as usize, added["content"].as_str().unwrap(), kind);
    }
    // The real file ends in padding rows.
    set(248_319, "[PAD248319]", Kind::Unused);
    let merges = json["model"]["merges"].as_array().unwrap().iter().map(|merge| {
        let pair = |i: usize| merge[i].as_str().unwrap().to_string();
        match merge.as_str() {
            Some(line) => line.split_once(' ').map(|(a, b)| (a.into(), b.into())).unwrap(),
            None => (pair(0), pair(1)),
        }
    });
    let merges = merges.collect();
    let (tokens, kinds) = tokens.into_iter().unzip();
    Vocabulary {
        tokens,
        kinds,
        merges,
        pre: PreTokenizer::named("qwen35").unwrap(),
        ends: vec![248_046],
        bos: None,
        warnings: Vec::new(),
    }
}

/// What a [`Reciter`] was asked to do.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// Lengths of the forward passes.
    pub forwards: Vec<usize>,
    /// Lengths restored to.
    pub restores: Vec<usize>,
    /// Number of resets.
    pub resets: usize,
}

/// Says texts by heart: continues with the first reply to the last user turn that begins with what
/// was said so far.
pub(crate) struct Reciter {
    replies: Vec<(String, String)>,
    tokens: Vec<u32>,
    context: usize,
    tokenizer: Tokenizer,
    rewinds: bool,
    delay: Duration,
    record: Arc<Mutex<Record>>,
}

impl Reciter {
    /// Pairs of a part of the user turn and a reply, `<think>` included. In a reply `@nan` and
    /// `@panic` make the model fail there.
    pub(crate) fn new(replies: &[(&str, &str)]) -> Self {
        let owned = |(question, reply): &(&str, &str)| (question.to_string(), reply.to_string());
        Self {
            replies: replies.iter().map(owned).collect(),
            tokens: Vec::new(),
            context: 4096,
            tokenizer: byte_tokenizer(),
            rewinds: true,
            delay: Duration::ZERO,
            record: Arc::default(),
        }
    }

    pub(crate) fn context(mut self, context: usize) -> Self {
        self.context = context;
        self
    }

    pub(crate) fn without_rewind(mut self) -> Self {
        self.rewinds = false;
        self
    }

    /// Every forward pass takes this long.
    pub(crate) fn slow(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    pub(crate) fn record(&self) -> Arc<Mutex<Record>> {
        self.record.clone()
    }

    fn next(&self) -> Vec<f32> {
        let all: Vec<u8> =
            self.tokens.iter().flat_map(|&id| self.tokenizer.bytes(id)).copied().collect();
        let (before, said) = after_last(&all, b"<|im_start|>assistant\n");
        let (_, question) = after_last(before, b"<|im_start|>user\n");
        let question = String::from_utf8_lossy(question);
        let fitting = self.replies.iter().filter(|(asked, _)| question.contains(asked.as_str()));
        let rest = fitting.map(|(_, reply)| reply.as_bytes()).find_map(|r| r.strip_prefix(said));
        let rest = rest.unwrap_or(b"?");
        let mut row = vec![-10.0; self.tokenizer.len()];
        // A padding row is the likeliest of all, as in a badly trained head.
        row[265] = 50.0;
        if rest.starts_with(b"@nan") {
            row[0] = f32::NAN;
        }
        assert!(!rest.starts_with(b"@panic"), "told to panic");
        let special = SPECIALS.iter().position(|(name, _)| rest.starts_with(name.as_bytes()));
        let byte = rest.first().map_or(0, |byte| usize::from(*byte));
        row[special.map_or(byte, |i| 256 + i)] = 10.0;
        row
    }
}

/// What comes before and after the last `mark`; all and nothing where there is none.
fn after_last<'a>(all: &'a [u8], mark: &[u8]) -> (&'a [u8], &'a [u8]) {
    match all.windows(mark.len()).rposition(|window| window == mark) {
        Some(at) => (&all[..at], &all[at + mark.len()..]),
        None => (all, &[]),
    }
}

impl Model for Reciter {
    fn forward(&mut self, tokens: &[u32], rows: Rows) -> Result<Vec<f32>, EngineError> {
        assert_eq!(rows, Rows::Last);
        assert!(!tokens.is_empty());
        let vocab = self.tokenizer.len();
        if let Some(&id) = tokens.iter().find(|id| **id as usize >= vocab) {
            return Err(EngineError::TokenOutside { id, vocab });
        }
        std::thread::sleep(self.delay);
        self.record.lock().unwrap().forwards.push(tokens.len());
        self.tokens.extend_from_slice(tokens);
        assert!(self.tokens.len() <= self.context, "the context was overrun");
        Ok(self.next())
    }

    fn len(&self) -> usize {
        self.tokens.len()
    }

    fn reset(&mut self) {
        self.record.lock().unwrap().resets += 1;
        self.tokens.clear();
    }

    fn vocab(&self) -> usize {
        self.tokenizer.len()
    }

    fn context(&self) -> usize {
        self.context
    }

    fn set_context(&mut self, tokens: usize) {
        self.context = tokens;
    }

    fn set_scan(&mut self, _: Scan) {}

    fn can_rewind(&self) -> bool {
        self.rewinds
    }

    fn snapshot(&self) -> Result<Snapshot, EngineError> {
        let state = Box::new(self.tokens.clone());
        Ok(Snapshot { len: self.tokens.len(), bytes: 100, state })
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), EngineError> {
        let state: &Vec<u32> = snapshot.state.downcast_ref().unwrap();
        assert!(self.tokens.starts_with(state), "the snapshot is not on the present history");
        self.record.lock().unwrap().restores.push(state.len());
        self.tokens = state.clone();
        Ok(())
    }
}

/// Everything a request needs, around a reciting model.
pub(crate) fn loaded(model: Reciter, template: &str) -> Loaded {
    Loaded {
        state: State::new(Box::new(model), 1000),
        tokenizer: byte_tokenizer(),
        template: Template::new(template, None).unwrap(),
        dialect: Dialect::QwenXml,
        info: ModelInfo::default(),
    }
}

/// A request with greedy sampling and roomy limits.
pub(crate) fn request(messages: &[Message]) -> Request {
    Request {
        messages: messages.to_vec(),
        tools: Vec::new(),
        effort: Effort::Xhigh,
        sampling: Sampling { temperature: 0.0, ..Sampling::default() },
        max_tokens: 1000,
        max_thinking: 1000,
    }
}

/// All thinking, all text, and the kinds of the events with repetitions left out.
pub(crate) fn summary(events: &[EngineEvent]) -> (String, String, Vec<&'static str>) {
    let (mut thinking, mut text, mut kinds) = (String::new(), String::new(), Vec::new());
    for event in events {
        let kind = match event {
            EngineEvent::Loading { .. } => "loading",
            EngineEvent::Ready(_) => "ready",
            EngineEvent::Prefill { .. } => "prefill",
            EngineEvent::Thinking(more) => {
                thinking.push_str(more);
                "thinking"
            }
            EngineEvent::ThinkingDone => "thinking done",
            EngineEvent::Text(more) => {
                text.push_str(more);
                "text"
            }
            EngineEvent::CallStarted { .. } => "call started",
            EngineEvent::CallDelta(_) => "call delta",
            EngineEvent::Call { .. } => "call",
            EngineEvent::BadCall(_) => "bad call",
            EngineEvent::Finished { .. } => "finished",
            EngineEvent::Failed { .. } => "failed",
        };
        if kinds.last() != Some(&kind) {
            kinds.push(kind);
        }
    }
    (thinking, text, kinds)
}
