//! Identifiers. Counters are local to a session; nothing here is random or reads a clock.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! counter {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl $name {
            /// The identifier after this one.
            #[must_use]
            pub fn next(self) -> Self {
                Self(self.0 + 1)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

counter!(
    /// One user message and everything until the agent is idle again; counted from 1.
    TurnId
);
counter!(
    /// One model call inside a turn; counted from 1 over the whole session.
    StepId
);
counter!(
    /// One tool call; counted from 1 over the whole session.
    CallId
);
counter!(
    /// One hunk of a review; counted from 1 inside that review.
    HunkId
);

/// Names a session: `YYYYMMDD-HHMMSS-xxxx`, also the stem of its log file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(pub String);

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
