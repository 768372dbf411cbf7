//! When to draw: a pure clockwork that is told the time and says how long to wait.
//!
//! It draws nothing itself. Invariant: at most one frame in 16 ms, never more than a third of the
//! time spent on drawing, and no wake-up at all while nothing changes.

/// Shortest time between two frames, in milliseconds.
const FRAME_MS: u64 = 16;

/// Coalesces requests to draw.
#[derive(Debug, Default)]
pub struct Schedule {
    dirty: bool,
    earliest: u64,
}

impl Schedule {
    /// Something changed.
    pub fn request(&mut self) {
        self.dirty = true;
    }

    /// Milliseconds until the next frame is due at time `now`; `None` when nothing changed.
    pub fn wait(&self, now: u64) -> Option<u64> {
        self.dirty.then(|| self.earliest.saturating_sub(now))
    }

    /// A frame was begun at `start` and was out at `end`.
    pub fn drawn(&mut self, start: u64, end: u64) {
        self.dirty = false;
        self.earliest = end + FRAME_MS.max(2 * end.saturating_sub(start));
    }
}

#[cfg(test)]
mod tests {
    use super::Schedule;

    #[test]
    fn frames_are_coalesced_and_slow_ones_spaced_out() {
        let mut schedule = Schedule::default();
        assert_eq!(schedule.wait(5), None);
        schedule.request();
        schedule.request();
        assert_eq!(schedule.wait(5), Some(0));
        schedule.drawn(5, 6);
        assert_eq!(schedule.wait(7), None);
        schedule.request();
        assert_eq!(schedule.wait(7), Some(15));
        schedule.drawn(22, 122);
        schedule.request();
        assert_eq!(schedule.wait(122), Some(200));
    }
}
