//! Tessera: a local pair programmer in a terminal.
//!
//! One package, modules that behave like crates; who may import whom is kept by
//! `tests/it/architecture.rs` and told in `ARCHITECTURE.md`. Start reading at [`protocol`], then
//! [`agent`] (decides), [`runtime`] (does), and the two front ends [`tui`] and [`headless`].

#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::too_many_lines,
        missing_docs
    )
)]

pub mod agent;
pub mod app;
pub mod assets;
pub mod cli;
pub mod config;
pub mod edit;
pub mod engine;
pub mod headless;
pub mod logging;
pub mod paths;
pub mod protocol;
pub mod runtime;
pub mod session;
pub mod tools;
pub mod tui;
pub mod verify;
pub mod workspace;
