//! The only integration-test binary; one module a subject.

mod architecture;
mod bad_input;
mod cases;
mod scenarios;
mod support;
mod terminal;
