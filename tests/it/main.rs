//! The only integration-test binary; one module a subject.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::too_many_lines,
    missing_docs
)]

mod architecture;
mod bad_input;
mod cases;
mod scenarios;
mod support;
mod terminal;
