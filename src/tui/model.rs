//! The whole state of the interface. Plain data; it changes only in `update`.
//!
//! What is asked of the person (`review`, `question`) is kept apart from what is shown (`layers`).

use super::composer::Composer;
use super::overlay::Layer;
use super::overlay::approval::Question;
use super::overlay::review::Sheet;
use super::theme::Theme;
use super::transcript::{Look, Transcript};
use super::{Msg, ThinkingView, TuiOptions};
use crate::protocol::{Effort, LoadStage, ModelInfo, Phase, Policy};

/// Milliseconds between two frames of the spinner.
pub const SPIN_MS: u64 = 150;

/// The open session.
#[derive(Clone, Debug, Default)]
pub struct SessionLine {
    /// Its name.
    pub id: String,
    /// Root of the workspace.
    pub root: String,
    /// Branch or short commit.
    pub branch: Option<String>,
}

/// What the engine does before it can take requests.
#[derive(Clone, Debug, Default)]
pub enum EngineLine {
    /// Nothing was heard of it yet.
    #[default]
    Starting,
    /// Weights are coming in.
    Loading {
        /// What is being read.
        stage: LoadStage,
        /// Part done.
        done: u64,
        /// All of it; 0 when unknown.
        total: u64,
    },
    /// Requests can be taken.
    Ready(ModelInfo),
    /// It will not start.
    Failed,
}

/// Reading the prompt.
#[derive(Clone, Copy, Debug)]
pub struct Prefill {
    /// Computed so far.
    pub done: usize,
    /// To compute.
    pub total: usize,
    /// Reused.
    pub cached: usize,
    /// Computed when first heard of, and the time of it.
    pub first: (usize, u64),
}

/// Tokens of the turn, and of the step that streams.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tokens {
    /// Thinking tokens of finished steps.
    pub thinking: usize,
    /// Other tokens of finished steps.
    pub answer: usize,
    /// Pieces of thinking in this step: about one token each.
    pub live_thinking: usize,
    /// Other pieces in this step.
    pub live_answer: usize,
    /// Tokens in the context after the last step, or read for this one.
    pub context: usize,
}

/// The turn that runs.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    /// When it began.
    pub since: u64,
    /// Steps so far.
    pub steps: usize,
    /// Requests to stop it.
    pub interrupts: usize,
}

/// A word to the person that goes away by itself.
#[derive(Clone, Debug)]
pub struct Hint {
    /// What.
    pub text: String,
    /// When it goes.
    pub until: u64,
}

/// The state.
#[derive(Debug)]
pub struct Model {
    /// Columns and rows.
    pub size: (u16, u16),
    /// Milliseconds since the start.
    pub now: u64,
    /// Something on screen may have changed.
    pub dirty: bool,
    /// The runtime is gone.
    pub disconnected: bool,
    /// The terminal window has the focus.
    pub focused: bool,
    pub(super) session: SessionLine,
    pub(super) policy: Policy,
    pub(super) effort: Effort,
    pub(super) engine: EngineLine,
    pub(super) phase: Phase,
    pub(super) phase_since: u64,
    pub(super) turn: Option<Turn>,
    pub(super) prefill: Option<Prefill>,
    pub(super) tokens: Tokens,
    pub(super) running: String,
    pub(super) transcript: Transcript,
    pub(super) composer: Composer,
    pub(super) queued: Vec<String>,
    pub(super) review: Option<Sheet>,
    pub(super) question: Option<Question>,
    pub(super) layers: Vec<Layer>,
    pub(super) help_top: usize,
    pub(super) hint: Option<Hint>,
    /// Until when a second Ctrl+C quits.
    pub(super) armed: Option<u64>,
    /// When the end was asked for.
    pub(super) closing: Option<u64>,
    pub(super) themes: Vec<Theme>,
    pub(super) theme: usize,
    pub(super) thinking: ThinkingView,
    pub(super) mouse: bool,
}

impl Model {
    /// The state at the start, with the resumed events taken in.
    pub fn new(options: TuiOptions, size: (u16, u16)) -> Self {
        let mut themes = options.themes;
        if themes.is_empty() {
            themes.push(Theme::plain());
        }
        let mut model = Self {
            size,
            now: 0,
            dirty: true,
            disconnected: false,
            focused: true,
            session: SessionLine::default(),
            policy: Policy::default(),
            effort: Effort::default(),
            engine: EngineLine::default(),
            phase: Phase::default(),
            phase_since: 0,
            turn: None,
            prefill: None,
            tokens: Tokens::default(),
            running: String::new(),
            transcript: Transcript::default(),
            composer: Composer::default(),
            queued: Vec::new(),
            review: None,
            question: None,
            layers: Vec::new(),
            help_top: 0,
            hint: None,
            armed: None,
            closing: None,
            themes,
            theme: 0,
            thinking: options.thinking,
            mouse: options.mouse,
        };
        model.composer.editor.insert(&options.draft);
        for event in options.resumed {
            super::update(&mut model, Msg::Event(Box::new(event)));
        }
        model
    }

    /// The theme in use.
    pub fn theme(&self) -> &Theme {
        // `themes` is never empty and `theme` is set from its indices.
        &self.themes[self.theme]
    }

    /// Gives the transcript together with how it is to be laid out now.
    pub(super) fn with_look<T>(&mut self, act: impl FnOnce(&mut Transcript, &Look<'_>) -> T) -> T {
        let look = Look {
            theme: &self.themes[self.theme],
            columns: usize::from(self.size.0),
            thinking: self.thinking,
            output: false,
            now: self.now,
        };
        act(&mut self.transcript, &look)
    }

    /// Whether the agent is at work on its own (not waiting for the person).
    pub(super) fn busy(&self) -> bool {
        match self.phase {
            Phase::Idle | Phase::Review => false,
            Phase::Loading
            | Phase::Prefill
            | Phase::Thinking
            | Phase::Answering
            | Phase::Calling
            | Phase::Tool => true,
        }
    }

    /// When the clock must come in next although nothing happens; `None` when nothing moves.
    pub fn next_tick(&self) -> Option<u64> {
        let spin = self.spinning().then(|| (self.now / SPIN_MS + 1) * SPIN_MS);
        let hint = self.hint.as_ref().map(|hint| hint.until);
        let close = self.closing.map(|since| since + super::update::CLOSE_MS);
        [spin, hint, close].into_iter().flatten().min()
    }

    /// Whether the spinner turns.
    pub(super) fn spinning(&self) -> bool {
        let loading = matches!(self.engine, EngineLine::Loading { .. });
        self.busy() || loading || self.closing.is_some()
    }

    /// Shows a word for some seconds.
    pub(super) fn say(&mut self, text: impl Into<String>) {
        self.hint = Some(Hint { text: text.into(), until: self.now + 4_000 });
    }
}
