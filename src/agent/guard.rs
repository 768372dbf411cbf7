//! Notices a model that goes in circles and says when to stop it.

use super::setup::Limits;
use crate::protocol::ToolCall;

/// Counters over the steps of one turn.
#[derive(Clone, Debug, Default)]
pub(super) struct Guard {
    /// Model calls made.
    pub steps: usize,
    /// Steps in a row that brought nothing to run and nothing to read.
    strikes: usize,
    /// The last call and how often it was made in a row.
    last: Option<(String, crate::protocol::Args)>,
    repeats: usize,
}

/// What to do about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repeat {
    /// Fine.
    Fresh,
    /// Do not run it; tell the model.
    Refuse,
    /// The model was told and does not listen.
    GiveUp,
}

impl Guard {
    /// A step brought something new.
    pub fn good_step(&mut self) {
        self.strikes = 0;
    }

    /// A step brought nothing. True when it was one too many.
    pub fn strike(&mut self, limits: &Limits) -> bool {
        self.strikes += 1;
        self.strikes >= limits.strikes
    }

    /// A call is about to be made.
    pub fn call(&mut self, call: &ToolCall, limits: &Limits) -> Repeat {
        let same =
            self.last.as_ref().is_some_and(|(name, args)| *name == call.name && *args == call.args);
        if same {
            self.repeats += 1;
        } else {
            self.last = Some((call.name.clone(), call.args.clone()));
            self.repeats = 1;
        }
        if self.repeats > limits.repeats + 1 {
            Repeat::GiveUp
        } else if self.repeats > limits.repeats {
            Repeat::Refuse
        } else {
            Repeat::Fresh
        }
    }
}
