//! The thread that owns a model: it loads, serves requests one after the other, and stops.
//!
//! Here: the thread, its queue, panics, the end. Not here: what a request does (`step.rs`). Invariant:
//! every request gets exactly one `Finished` or `Failed`, also when loading failed, the thread
//! panicked or the engine is being dropped.

use super::error::EngineError;
use super::load::{self, EngineOptions, Loaded};
use super::prompt::Log;
use super::step::{Pace, Step};
use super::{Cancel, Engine, EventStream};
use crate::protocol::{EngineEvent, LoadStage, Request};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

/// A model in this process. Dropping it cancels what runs and ends the thread.
#[derive(Debug)]
pub struct LocalEngine {
    jobs: Sender<Job>,
    stop: Cancel,
}

/// One request on its way to the thread.
struct Job {
    request: Request,
    cancel: Cancel,
    events: UnboundedSender<EngineEvent>,
}

/// When to end a piece of work: the request was cancelled or the engine is going away.
#[derive(Clone, Debug)]
pub(super) struct Stop {
    pub request: Cancel,
    pub engine: Cancel,
}

impl Stop {
    pub fn is_asked(&self) -> bool {
        self.request.is_cancelled() || self.engine.is_cancelled()
    }
}

/// Starts loading `path` and returns at once.
///
/// The stream carries `Loading`* and then `Ready` or `Failed`. Requests may be made before that; they
/// wait, or fail with the same message if loading fails.
pub fn spawn(path: PathBuf, options: EngineOptions) -> (LocalEngine, EventStream) {
    let chunk = options.prefill_chunk;
    start(chunk, move |progress, cancelled| load::load(&path, &options, progress, cancelled))
}

/// Told the stage of loading, the part done and the whole.
type Progress<'a> = &'a mut dyn FnMut(LoadStage, u64, u64);

/// [`spawn`] for whatever `load` loads.
fn start<L>(chunk: Option<usize>, load: L) -> (LocalEngine, EventStream)
where
    L: FnOnce(Progress<'_>, &dyn Fn() -> bool) -> Result<Loaded, EngineError> + Send + 'static,
{
    let (jobs, queue) = channel();
    let (loading, stream) = unbounded_channel();
    let stop = Cancel::new();
    let engine = LocalEngine { jobs, stop: stop.clone() };
    let failed = loading.clone();
    let thread = std::thread::Builder::new()
        .name("engine".to_string())
        .spawn(move || run(load, chunk, loading, &queue, &stop));
    if let Err(error) = thread {
        let message = format!("cannot start the engine's thread: {error}; free some memory");
        let _ = failed.send(EngineEvent::Failed { message });
    }
    (engine, stream)
}

impl Engine for LocalEngine {
    fn generate(&self, request: Request, cancel: Cancel) -> EventStream {
        let (events, stream) = unbounded_channel();
        if let Err(unsent) = self.jobs.send(Job { request, cancel, events }) {
            let message = "the engine has stopped; start the program again".to_string();
            let _ = unsent.0.events.send(EngineEvent::Failed { message });
        }
        stream
    }
}

impl Drop for LocalEngine {
    fn drop(&mut self) {
        // Closing the queue ends the thread once it is idle; the flag makes that soon. Joining here
        // could hold up the screen for as long as one layer of a large file takes to read.
        self.stop.cancel();
    }
}

fn run<L>(
    load: L,
    chunk: Option<usize>,
    loading: UnboundedSender<EngineEvent>,
    queue: &Receiver<Job>,
    stop: &Cancel,
) where
    L: FnOnce(Progress<'_>, &dyn Fn() -> bool) -> Result<Loaded, EngineError>,
{
    let mut progress = |stage: LoadStage, done, total| {
        let _ = loading.send(EngineEvent::Loading { stage, done, total });
    };
    let loaded = guarded(|| load(&mut progress, &|| stop.is_cancelled()));
    let message = match loaded {
        Ok(loaded) => {
            let _ = loading.send(EngineEvent::Ready(loaded.info.clone()));
            // Closes the stream of loading.
            drop(loading);
            serve(loaded, chunk, queue, stop)
        }
        Err(fault) => {
            let message = fault.message("another model file may work");
            let _ = loading.send(EngineEvent::Failed { message: message.clone() });
            drop(loading);
            message
        }
    };
    while let Ok(job) = queue.recv() {
        let _ = job.events.send(EngineEvent::Failed { message: message.clone() });
    }
}

/// Serves requests until the queue closes, or until the model cannot be trusted any more; then
/// returns why.
fn serve(mut loaded: Loaded, chunk: Option<usize>, queue: &Receiver<Job>, stop: &Cancel) -> String {
    let mut log = Log::default();
    let mut pace = Pace::new(chunk);
    while let Ok(job) = queue.recv() {
        let stop = Stop { request: job.cancel, engine: stop.clone() };
        let outcome = guarded(|| {
            let (request, events) = (&job.request, &job.events);
            let parts = (&mut loaded, &mut log, &mut pace);
            Step { parts, request, stop: &stop, events }.run()
        });
        let (last, panicked) = match outcome {
            Ok((reason, usage)) => (EngineEvent::Finished { reason, usage }, false),
            Err(fault) => {
                let message = fault.message("try again; the conversation is then read anew");
                (EngineEvent::Failed { message }, matches!(fault, Fault::Panic(_)))
            }
        };
        // After an error the log is still right and the state has seen to itself; after a panic
        // neither can be trusted.
        if panicked {
            log.clear();
            if guarded(|| {
                loaded.state.clear();
                Ok(())
            })
            .is_err()
            {
                let _ = job.events.send(last);
                return "the engine failed inside and has stopped; start the program again".into();
            }
        }
        let _ = job.events.send(last);
    }
    String::new()
}

/// Why a piece of work came to nothing.
enum Fault {
    Error(EngineError),
    Panic(String),
}

impl Fault {
    /// For the user; `remedy` is what to do after a panic.
    fn message(&self, remedy: &str) -> String {
        match self {
            Self::Error(error) => error.to_string(),
            Self::Panic(why) => format!("the engine failed inside ({why}); {remedy}"),
        }
    }
}

/// Runs `work` and catches its panics.
fn guarded<T>(work: impl FnOnce() -> Result<T, EngineError>) -> Result<T, Fault> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result.map_err(Fault::Error),
        Err(panic) => Err(Fault::Panic(panic_text(panic.as_ref()).to_string())),
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no reason given")
}

#[cfg(test)]
mod tests;
