//! Layers over the transcript: review, approval prompt, help.
//!
//! Events go to the top layer first. What a layer decides is kept apart from whether it is shown, so
//! that closing one loses nothing. Drawing is in `view/`.

pub mod approval;
pub mod diff;
pub mod review;
pub mod words;

/// A layer that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// Hunks to decide on.
    Review,
    /// A call to allow or deny.
    Approval,
    /// Keys and commands.
    Help,
}

/// Milliseconds after opening in which no key decides anything.
const GRACE_MS: u64 = 400;

/// Keeps keys that were meant for something else from deciding.
#[derive(Clone, Copy, Debug)]
pub struct Grace {
    until: u64,
}

impl Grace {
    /// Opened at `now`.
    pub fn new(now: u64) -> Self {
        Self { until: now + GRACE_MS }
    }

    /// Whether a key at `now` comes too early. `typing`: the person was in the middle of a message,
    /// so that only a pause as long as the grace ends it.
    pub fn holds(&mut self, now: u64, typing: bool) -> bool {
        let holds = now < self.until;
        if holds && typing {
            self.until = now + GRACE_MS;
        }
        holds
    }
}
