//! The question whether a call may run.

use super::Grace;
use crate::protocol::ToolCall;
use crate::tui::composer::Editor;

/// The open question.
#[derive(Debug)]
pub struct Question {
    /// The call asked about.
    pub call: ToolCall,
    /// What would be run, in one line.
    pub title: String,
    /// Keys that came too early decide nothing.
    pub grace: Grace,
    /// First row of the command shown, when it is longer than its place.
    pub top: usize,
    /// The reason being written.
    pub field: Option<Editor>,
}

impl Question {
    /// Asked at `now`.
    pub fn new(call: ToolCall, title: String, now: u64) -> Self {
        Self { call, title, grace: Grace::new(now), top: 0, field: None }
    }
}
