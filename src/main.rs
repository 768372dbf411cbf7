//! Entry point: arguments in, an exit code out.

use clap::Parser;
use std::process::ExitCode;
use tessera::{app, cli::Cli, protocol::visible};

fn main() -> ExitCode {
    match app::run(Cli::parse()) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            let message = app::message(&error);
            tracing::error!("{message}");
            eprintln!("tessera: {}", visible(&message));
            ExitCode::from(2)
        }
    }
}
