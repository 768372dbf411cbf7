//! The composition root: the only place that knows every module. Gives command-line words a meaning.

mod debug;
mod demo;
mod replay;
mod settings;
mod start;

use crate::cli::{Cli, Command, Common, Demo, Exec, Resume};
use crate::paths::Paths;
use crate::protocol::{Event, Op};
use crate::{headless, tui};
use anyhow::{Context, Result, bail};
use start::{House, Start};
use std::io::{IsTerminal, Read};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Runs the program and gives its exit code: 0 done, 1 the turn failed, 130 interrupted.
/// Errors are for the user and mean exit code 2.
pub fn run(cli: Cli) -> Result<u8> {
    let paths = Paths::from_env()?;
    crate::logging::init(&paths.state);
    match cli.command {
        None => {
            let opening = cli.prompt.map_or(Opening::Nothing, Opening::Send);
            interface(Start::new(cli.common, &paths), opening)
        }
        Some(Command::Exec(exec)) => execute(exec, &paths),
        Some(Command::Resume(resume)) => go_on(resume, &paths),
        Some(Command::Sessions(common)) => start::list_sessions(&common, &paths),
        Some(Command::Demo(demo)) => play(demo, &paths),
        Some(Command::Debug(debug)) => debug::run(debug.what),
    }
}

/// An error with its causes, each said once: many messages hold the text of their cause already.
pub fn message(error: &anyhow::Error) -> String {
    let mut message = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !message.contains(&cause) {
            message.push_str(": ");
            message.push_str(&cause);
        }
    }
    message
}

/// What stands in the composer, or is sent, when the interface opens.
enum Opening {
    Nothing,
    Draft(String),
    Send(String),
}

fn interface(start: Start, opening: Opening) -> Result<u8> {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        bail!(
            "this is not a terminal; use `tessera exec \"…\"` for one turn without the interface"
        );
    }
    let mut house = start.build()?;
    let mut options = house.tui_options();
    let mut first = None;
    match opening {
        Opening::Nothing => {}
        Opening::Draft(text) => options.draft = text,
        Opening::Send(text) => first = Some(Op::UserTurn { text }),
    }
    let exit = serve(house, |events, ops| {
        if let Some(op) = first {
            // The runtime lives at least as long as the interface.
            let _ = ops.send(op);
        }
        tui::run(events, ops, options)
    })?;
    Ok(match exit? {
        tui::Exit::Quit | tui::Exit::Closed => 0,
        tui::Exit::Signal(number) => u8::try_from(128 + number).unwrap_or(255),
    })
}

/// Runs a front end on this thread and the runtime beside it, and waits for both.
fn serve<F, Fut>(house: House, front: F) -> Result<Fut::Output>
where
    F: FnOnce(UnboundedReceiver<Event>, UnboundedSender<Op>) -> Fut,
    Fut: Future,
{
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let result = runtime.block_on(async {
        let (events_in, events) = unbounded_channel();
        let (ops, ops_out) = unbounded_channel();
        let server = tokio::spawn(house.runtime(events_in).run(ops_out));
        let result = front(events, ops).await;
        // The front end has dropped its ops: the loop ends, and with it every child process.
        if let Err(error) = server.await {
            tracing::error!("runtime: {error}");
        }
        result
    });
    runtime.shutdown_background();
    Ok(result)
}

fn execute(exec: Exec, paths: &Paths) -> Result<u8> {
    let prompt = match exec.prompt.as_deref() {
        Some("-") | None => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).context("cannot read standard input")?;
            text
        }
        Some(prompt) => prompt.to_owned(),
    };
    if prompt.trim().is_empty() {
        bail!("the request is empty; write it after `exec` or send it to standard input");
    }
    headless_turn(Start::new(exec.common, paths), prompt, exec.json)
}

fn headless_turn(start: Start, prompt: String, json: bool) -> Result<u8> {
    let house = start.build()?;
    let options = headless::Options { prompt, json, nobody: house.nobody()? };
    Ok(serve(house, |events, ops| headless::run(events, ops, options))?.code())
}

fn go_on(resume: Resume, paths: &Paths) -> Result<u8> {
    let start = Start::new(resume.common, paths).resuming(resume.session);
    interface(start, Opening::Nothing)
}

fn play(demo: Demo, paths: &Paths) -> Result<u8> {
    if let Some(folder) = &demo.export {
        demo::export(folder)?;
        println!("{}", folder.display());
        return Ok(0);
    }
    let repository = demo::repository()?;
    let mut common = Common { cd: Some(repository.clone()), ..demo.common };
    common.set.splice(0..0, demo::settings(&demo::model(paths)?));
    let code = if demo.headless {
        common.set.insert(0, "policy=auto".into());
        headless_turn(Start::new(common, paths), demo::PROMPT.into(), false)
    } else {
        interface(Start::new(common, paths), Opening::Draft(demo::PROMPT.into()))
    }?;
    eprintln!("The sample repository is in {}", repository.display());
    Ok(code)
}
