//! The second front end: one prompt in, text or JSONL events out, an exit code at the end.
//!
//! It speaks the same `Op`/`Event` as the terminal interface. There is no one to ask here: hunks under
//! review are shown and refused, commands that need approval are denied.

mod text;

use crate::protocol::{Approval, Event, Level, Op, Outcome};
use std::io::Write;
use text::TextOutput;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

const SIGINT: u8 = 2;
const SIGTERM: u8 = 15;

/// How to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The request.
    pub prompt: String,
    /// One JSON event a line instead of text.
    pub json: bool,
    /// Told to the model when it proposes an edit or a command and nobody can be asked.
    pub nobody: String,
}

/// How a run ended; becomes the exit code of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The model ended its turn: 0.
    Done,
    /// It could not: 1.
    Failed,
    /// Stopped by this signal: 128 and its number.
    Signal(u8),
}

impl Exit {
    /// The exit code.
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Signal(number) => 128 + number,
        }
    }
}

/// Runs one turn and waits for its end. Ends early when the runtime goes away or the output is closed.
pub async fn run(
    mut events: UnboundedReceiver<Event>,
    ops: UnboundedSender<Op>,
    options: Options,
) -> Exit {
    let mut output = Output::new(options.json);
    let mut exit = Exit::Failed;
    let mut interrupts = 0;
    let mut signals = Signals::new();
    send(&ops, Op::UserTurn { text: options.prompt.clone() });
    loop {
        tokio::select! {
            biased;
            number = signals.next() => {
                interrupts += 1;
                exit = Exit::Signal(number);
                send(&ops, if interrupts == 1 { Op::Interrupt } else { Op::Shutdown });
            }
            event = events.recv() => {
                let Some(event) = event else { break };
                if output.write(&event).is_err() {
                    send(&ops, Op::Shutdown);
                    break;
                }
                match answer(&event, &options) {
                    Next::Wait => {}
                    Next::Say(op) => send(&ops, op),
                    Next::End(end) => {
                        exit = if matches!(exit, Exit::Signal(_)) { exit } else { end };
                        send(&ops, Op::Shutdown);
                    }
                    Next::Closed => break,
                }
            }
        }
    }
    exit
}

enum Next {
    Wait,
    Say(Op),
    End(Exit),
    Closed,
}

fn answer(event: &Event, options: &Options) -> Next {
    match event {
        Event::ReviewRequested { review } => Next::Say(Op::Review {
            decisions: review
                .hunks()
                .map(|hunk| crate::protocol::Decision {
                    hunk: hunk.id,
                    verdict: crate::protocol::Verdict::Reject,
                    comment: Some(options.nobody.clone()),
                })
                .collect(),
        }),
        Event::ApprovalRequested { call, .. } => Next::Say(Op::Approve {
            call: call.id,
            approval: Approval::Deny { reason: options.nobody.clone() },
        }),
        Event::TurnFinished { outcome, .. } => Next::End(match outcome {
            Outcome::Done => Exit::Done,
            Outcome::Interrupted => Exit::Signal(SIGINT),
            Outcome::Failed { .. } => Exit::Failed,
        }),
        Event::EngineFailed { .. } => Next::End(Exit::Failed),
        Event::Closed => Next::Closed,
        _ => Next::Wait,
    }
}

/// A runtime that has gone away ends the loop through its closed event channel.
fn send(ops: &UnboundedSender<Op>, op: Op) {
    let _ = ops.send(op);
}

enum Output {
    Text(TextOutput),
    Json,
}

impl Output {
    fn new(json: bool) -> Self {
        if json { Self::Json } else { Self::Text(TextOutput::default()) }
    }

    fn write(&mut self, event: &Event) -> std::io::Result<()> {
        match self {
            Self::Text(text) => text.write(event),
            Self::Json => {
                let line = serde_json::to_string(event)?;
                let mut out = std::io::stdout().lock();
                writeln!(out, "{line}")?;
                out.flush()
            }
        }
    }
}

/// SIGINT and SIGTERM as a stream; without handlers (never on Unix) it simply stays silent.
struct Signals {
    int: Option<tokio::signal::unix::Signal>,
    term: Option<tokio::signal::unix::Signal>,
}

impl Signals {
    fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        Self {
            int: signal(SignalKind::interrupt()).ok(),
            term: signal(SignalKind::terminate()).ok(),
        }
    }

    /// The number of the next signal.
    async fn next(&mut self) -> u8 {
        async fn one(signal: &mut Option<tokio::signal::unix::Signal>) {
            match signal {
                Some(signal) => {
                    signal.recv().await;
                }
                None => std::future::pending().await,
            }
        }
        tokio::select! {
            () = one(&mut self.int) => SIGINT,
            () = one(&mut self.term) => SIGTERM,
        }
    }
}

/// The word for a level in front of a notice.
fn level(level: Level) -> &'static str {
    match level {
        Level::Info => "note",
        Level::Warning => "warning",
        Level::Error => "error",
    }
}
