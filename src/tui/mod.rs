//! The terminal front end, in the Elm way: [`Model`], [`Msg`], [`update()`] -> [`Cmd`], `view(&Model)`.
//!
//! It knows the protocol and nothing behind it. This file holds the one loop and all effects; the
//! rest is pure. Invariant: state changes only in `update`, and drawing only reads the model.

mod cmd;
mod commands;
mod composer;
mod flow;
mod fragile;
mod keymap;
mod markdown;
mod model;
mod msg;
mod overlay;
mod schedule;
mod terminal;
mod text;
mod theme;
mod transcript;
mod update;
mod view;
mod wrap;

pub use cmd::Cmd;
pub use model::Model;
pub use msg::Msg;
pub use theme::{Depth, Scope, Theme};
pub use update::update;
pub use view::draw;

use crate::protocol::{Event, Op};
use crossterm::event::{Event as Input, EventStream, KeyEventKind};
use futures::StreamExt;
use schedule::Schedule;
use std::io;
use std::time::{Duration, Instant};
use terminal::Screen;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

/// Most events of the runtime taken in before the screen gets its turn.
const BATCH: usize = 512;

/// How thinking blocks are shown unless one is opened or folded by hand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThinkingView {
    /// A live tail of fixed height, one line when done.
    #[default]
    Tail,
    /// One line, also while it streams.
    Folded,
    /// Everything.
    Full,
    /// Nothing; the tokens still show in the status line.
    Off,
}

impl ThinkingView {
    /// All of them, in the order of the enum.
    pub const ALL: [Self; 4] = [Self::Tail, Self::Folded, Self::Full, Self::Off];

    /// The name used in configuration and in `/thinking`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tail => "tail",
            Self::Folded => "folded",
            Self::Full => "full",
            Self::Off => "off",
        }
    }

    /// The view of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|view| view.name() == name)
    }
}

/// What the interface is started with.
#[derive(Clone, Debug)]
pub struct TuiOptions {
    /// Themes to choose from with `/theme`; the first is used. Empty means no colours.
    pub themes: Vec<Theme>,
    /// Default look of thinking blocks.
    pub thinking: ThinkingView,
    /// Take mouse reports (wheel, clicks). Without them the terminal's own selection works.
    pub mouse: bool,
    /// Events to show before the first frame, such as those of a resumed session.
    pub resumed: Vec<Event>,
    /// Put into the composer at the start.
    pub draft: String,
}

impl Default for TuiOptions {
    fn default() -> Self {
        Self {
            themes: Vec::new(),
            thinking: ThinkingView::default(),
            mouse: true,
            resumed: Vec::new(),
            draft: String::new(),
        }
    }
}

/// Why the interface ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The person asked for it.
    Quit,
    /// The runtime ended by itself.
    Closed,
    /// This signal; the exit status should be 128 plus it.
    Signal(i32),
}

/// What the interface can fail with.
#[derive(Debug, thiserror::Error)]
pub enum TuiError {
    /// The terminal cannot be used.
    #[error("terminal: {0}")]
    Terminal(#[from] io::Error),
}

/// Runs the interface until it ends; the terminal is as before when this returns or panics.
///
/// Poll it on the thread that blocks on it (`block_on`), so that a panic finds its way back.
/// Dropping the future restores the terminal too. A request to quit sends [`Op::Shutdown`] and waits
/// a moment for [`Event::Closed`].
pub async fn run(
    mut events: UnboundedReceiver<Event>,
    ops: UnboundedSender<Op>,
    options: TuiOptions,
) -> Result<Exit, TuiError> {
    let mut screen = Screen::enter(options.mouse)?;
    let mut signals = Signals::new()?;
    let mut app = App {
        model: Model::new(options, screen.size()),
        start: Instant::now(),
        schedule: Schedule::default(),
        ops,
        suspend: false,
    };
    app.schedule.request();
    let mut input = EventStream::new();
    let mut batch = Vec::new();
    loop {
        if app.schedule.wait(app.now()) == Some(0) {
            app.frame(&mut screen)?;
        }
        let msgs: Vec<Msg> = tokio::select! {
            biased;
            number = signals.next() => vec![Msg::Signal(number)],
            event = input.next() => match event {
                Some(Ok(event)) => read_input(event).into_iter().collect(),
                Some(Err(error)) => return Err(error.into()),
                None => return Ok(Exit::Closed),
            },
            count = events.recv_many(&mut batch, BATCH), if !app.model.disconnected => match count {
                0 => vec![Msg::Disconnected],
                _ => batch.drain(..).map(|event| Msg::Event(Box::new(event))).collect(),
            },
            () = sleep(app.wait()) => Vec::new(),
        };
        if let Some(exit) = app.feed(msgs, &mut screen)? {
            return Ok(exit);
        }
        if std::mem::take(&mut app.suspend) {
            drop(input);
            screen.leave();
            signal_hook::low_level::raise(signal_hook::consts::SIGTSTP)?;
            screen.resume()?;
            input = EventStream::new();
            app.feed(vec![resized(&screen)], &mut screen)?;
        }
    }
}

struct App {
    model: Model,
    start: Instant,
    schedule: Schedule,
    ops: UnboundedSender<Op>,
    suspend: bool,
}

impl App {
    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Milliseconds until the loop must wake up by itself.
    fn wait(&self) -> Option<u64> {
        let frame = self.schedule.wait(self.now());
        let tick = self.model.next_tick().map(|at| at.saturating_sub(self.now()));
        [frame, tick].into_iter().flatten().min()
    }

    fn frame(&mut self, screen: &mut Screen) -> io::Result<()> {
        let start = self.now();
        update(&mut self.model, Msg::Frame);
        screen.draw(|frame| draw(frame, &self.model))?;
        self.schedule.drawn(start, self.now());
        Ok(())
    }

    fn feed(&mut self, msgs: Vec<Msg>, screen: &mut Screen) -> io::Result<Option<Exit>> {
        let now = self.now();
        let mut cmds = update(&mut self.model, Msg::Tick(now));
        for msg in msgs {
            cmds.extend(update(&mut self.model, msg));
        }
        if std::mem::take(&mut self.model.dirty) {
            self.schedule.request();
        }
        for cmd in cmds {
            match cmd {
                // A closed channel shows as `Disconnected` on the other side.
                Cmd::Send(op) => drop(self.ops.send(op)),
                Cmd::Quit(exit) => return Ok(Some(exit)),
                Cmd::Copy(text) => screen.copy(&text)?,
                Cmd::Bell => screen.bell()?,
                Cmd::Suspend => self.suspend = true,
                Cmd::Repaint => screen.repaint(),
                Cmd::Mouse(on) => screen.set_mouse(on)?,
            }
        }
        Ok(None)
    }
}

async fn sleep(milliseconds: Option<u64>) {
    match milliseconds {
        Some(milliseconds) => tokio::time::sleep(Duration::from_millis(milliseconds)).await,
        None => std::future::pending().await,
    }
}

fn resized(screen: &Screen) -> Msg {
    let (columns, rows) = screen.size();
    Msg::Resize(columns, rows)
}

fn read_input(event: Input) -> Option<Msg> {
    match event {
        Input::Key(key) if key.kind == KeyEventKind::Release => None,
        Input::Key(key) => Some(Msg::Key(key)),
        Input::Paste(text) => Some(Msg::Paste(text)),
        Input::Mouse(mouse) => Some(Msg::Mouse(mouse)),
        Input::Resize(columns, rows) => Some(Msg::Resize(columns, rows)),
        Input::FocusGained => Some(Msg::Focus(true)),
        Input::FocusLost => Some(Msg::Focus(false)),
    }
}

struct Signals {
    terminate: Signal,
    hangup: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) -> i32 {
        let kind = tokio::select! {
            _ = self.terminate.recv() => SignalKind::terminate(),
            _ = self.hangup.recv() => SignalKind::hangup(),
            _ = self.interrupt.recv() => SignalKind::interrupt(),
        };
        kind.as_raw_value()
    }
}

#[cfg(test)]
mod tests;
