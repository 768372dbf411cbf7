//! The only place that starts processes: one command in, captured output and an exit out.
//!
//! Not here: what to run (`detect`, `builtin`) and whether it may run (agent, runtime).
//! Invariants: a command has an empty standard input and no terminal; its memory and disk use here
//! are bounded whatever it prints; when `run` returns or is dropped, nothing it started is left.

mod capture;
mod child;
mod env;

#[cfg(test)]
mod tests;

pub use capture::Captured;
pub use env::scrubbed;

use capture::Sink;
use child::Child;
use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

/// Between the polite signal and the one that cannot be ignored.
const GRACE: Duration = Duration::from_millis(1500);
/// How long output may still come after the command itself has ended.
const DRAIN: Duration = Duration::from_millis(150);

/// What to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    /// A program and its arguments; no shell is involved.
    Argv(Vec<String>),
    /// A line for `sh -c`.
    Shell(String),
}

/// One command to run.
#[derive(Clone, Debug)]
pub struct Command {
    /// What to start.
    pub program: Program,
    /// The folder to start in; absolute and inside the root (the caller has checked).
    pub dir: PathBuf,
    /// Added to the cleaned environment.
    pub env: Vec<(String, String)>,
    /// After this the command is stopped.
    pub timeout: Duration,
    /// Bytes of output kept in memory, half from the start and half from the end.
    pub keep: usize,
    /// True keeps standard output and standard error apart; false keeps them in the order written.
    pub split: bool,
    /// Where the whole output goes (up to `capture::LOG_CAP` bytes); `None` for nowhere.
    pub log_dir: Option<PathBuf>,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with this status.
    Exit(i32),
    /// By this signal.
    Signal(i32),
    /// It ran into its time limit and was stopped.
    TimedOut,
    /// It was cancelled and stopped.
    Cancelled,
}

/// A command that is over.
#[derive(Debug)]
pub struct Finished {
    /// How it ended.
    pub end: End,
    /// Standard output; with `split` false standard error too.
    pub output: Captured,
    /// Standard error; empty with `split` false.
    pub errors: Captured,
    /// File with the whole output, if one was asked for and could be made.
    pub log: Option<PathBuf>,
    /// Processes the command had left behind; they were ended.
    pub left_behind: usize,
    /// From start to end.
    pub elapsed: Duration,
}

/// The command could not be started.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    /// Its folder is not there.
    #[error("the folder {0} does not exist any more")]
    NoFolder(String),
    /// There is no such program.
    #[error("{0}: command not found")]
    NotFound(String),
    /// Anything else the system said.
    #[error("cannot start {program}: {source}")]
    Start {
        /// The program meant.
        program: String,
        /// What the system said.
        source: io::Error,
    },
}

/// Runs a command to its end, its time limit or `cancel`, whichever is first.
///
/// Live output goes to `progress` in pieces, at most a few kilobytes twenty times a second; what does
/// not fit is left out there. Dropping the future kills everything the command started.
///
/// # Errors
/// [`ExecError`] when it cannot be started. A command that fails is not an error.
pub async fn run(
    command: Command,
    cancel: &CancellationToken,
    progress: Option<UnboundedSender<String>>,
) -> Result<Finished, ExecError> {
    let started = Instant::now();
    let name = program_name(&command.program);
    let fail = |source: io::Error| ExecError::Start { program: name.clone(), source };
    if !command.dir.is_dir() {
        return Err(ExecError::NoFolder(command.dir.display().to_string()));
    }
    let cookie = env::cookie();
    let mut prepared = prepare(&command, &cookie);
    let (out, err) = connect(&mut prepared, command.split).map_err(fail)?;
    let mut child = child::start(prepared, cookie).await.map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => ExecError::NotFound(name.clone()),
        _ => fail(source),
    })?;
    let mut sink = Sink::new(command.keep, command.log_dir.as_deref(), progress);
    let (end, left_behind) = {
        let pump = std::pin::pin!(pump(out, err, &mut sink));
        conduct(&mut child, pump, command.timeout, cancel).await
    };
    child.reap().await;
    let (output, errors, log) = sink.finish();
    Ok(Finished { end, output, errors, log, left_behind, elapsed: started.elapsed() })
}

fn program_name(program: &Program) -> String {
    match program {
        Program::Argv(argv) => argv.first().cloned().unwrap_or_default(),
        Program::Shell(_) => "sh".to_owned(),
    }
}

fn prepare(command: &Command, cookie: &str) -> std::process::Command {
    let mut prepared = std::process::Command::new(program_name(&command.program));
    match &command.program {
        Program::Argv(argv) => prepared.args(argv.iter().skip(1)),
        Program::Shell(line) => prepared.arg("-c").arg(line),
    };
    prepared.current_dir(&command.dir).stdin(Stdio::null()).env_clear();
    prepared.envs(env::scrubbed(std::env::vars_os())).envs(env::FIXED.iter().copied());
    prepared.env("PWD", &command.dir).env(env::COOKIE, cookie);
    prepared.envs(command.env.iter().map(|(k, v)| (k, v)));
    prepared
}

/// Pipes for the output. One pipe for both streams is what keeps their order.
fn connect(
    prepared: &mut std::process::Command,
    split: bool,
) -> io::Result<(Receiver, Option<Receiver>)> {
    let receiver = |reader: io::PipeReader| Receiver::from_owned_fd(reader.into());
    let (out_reader, out_writer) = io::pipe()?;
    if split {
        let (err_reader, err_writer) = io::pipe()?;
        prepared.stdout(out_writer).stderr(err_writer);
        return Ok((receiver(out_reader)?, Some(receiver(err_reader)?)));
    }
    prepared.stderr(out_writer.try_clone()?).stdout(out_writer);
    Ok((receiver(out_reader)?, None))
}

/// Reads until every writer has closed its end. Read errors count as the end: there is nothing
/// better to do with them, and what came before is kept.
async fn pump(mut out: Receiver, mut err: Option<Receiver>, sink: &mut Sink) {
    let mut open = true;
    let (mut a, mut b) = (vec![0; 64 * 1024], vec![0; if err.is_some() { 64 * 1024 } else { 0 }]);
    while open || err.is_some() {
        tokio::select! {
            read = out.read(&mut a), if open => match read {
                Ok(n) if n > 0 => sink.output(&a[..n]),
                Ok(_) | Err(_) => open = false,
            },
            read = read_some(&mut err, &mut b), if err.is_some() => match read {
                Ok(n) if n > 0 => sink.errors(&b[..n]),
                Ok(_) | Err(_) => err = None,
            },
        }
    }
}

async fn read_some(pipe: &mut Option<Receiver>, buffer: &mut [u8]) -> io::Result<usize> {
    match pipe {
        Some(pipe) => pipe.read(buffer).await,
        None => Ok(0),
    }
}

/// Waits for the end and clears up. Output is read all the while, so that a writer never blocks on us.
async fn conduct<P: Future<Output = ()>>(
    child: &mut Child,
    mut pump: Pin<&mut P>,
    timeout: Duration,
    cancel: &CancellationToken,
) -> (End, usize) {
    let mut drained = false;
    let ending = async {
        tokio::select! {
            biased;
            () = cancel.cancelled() => End::Cancelled,
            end = child.ended() => end,
            () = tokio::time::sleep(timeout) => End::TimedOut,
        }
    };
    let end = alongside(ending, &mut pump, &mut drained).await;
    match end {
        End::Exit(_) | End::Signal(_) => {
            alongside(tokio::time::sleep(Duration::ZERO), &mut pump, &mut drained).await;
            settle(child, &mut pump, &mut drained).await;
        }
        End::TimedOut | End::Cancelled => {}
    }
    let left = child.others();
    let stop = child.stop(GRACE);
    alongside(stop, &mut pump, &mut drained).await;
    if !drained {
        let _ = tokio::time::timeout(DRAIN, &mut pump).await;
    }
    match end {
        End::Exit(_) | End::Signal(_) => (end, left),
        End::TimedOut | End::Cancelled => (end, 0),
    }
}

/// Gives what the command left running a moment to end by itself.
async fn settle<P: Future<Output = ()>>(child: &Child, pump: &mut Pin<&mut P>, drained: &mut bool) {
    let until = Instant::now() + DRAIN;
    while Instant::now() < until && (!*drained || child.others() > 0) {
        alongside(tokio::time::sleep(Duration::from_millis(10)), pump, drained).await;
    }
}

/// Carries `work` to its end while output is read.
async fn alongside<T, P: Future<Output = ()>>(
    work: impl Future<Output = T>,
    pump: &mut Pin<&mut P>,
    drained: &mut bool,
) -> T {
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            biased;
            value = &mut work => return value,
            () = pump.as_mut(), if !*drained => *drained = true,
        }
    }
}
