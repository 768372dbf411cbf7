//! Bounded memory of what a command prints: the start, the end, a log file and a live feed.
//!
//! Invariant: however much comes, memory stays below twice `keep` and the log below [`LOG_CAP`].

use std::collections::VecDeque;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::UnboundedSender;

/// Bytes of output written to a log file at most.
pub(super) const LOG_CAP: usize = 8 * 1024 * 1024;
/// Log files kept in one folder; older ones go when a new one is made.
const LOGS_KEPT: usize = 40;
/// Bytes of a live piece and the time between two.
const LIVE_BYTES: usize = 4096;
const LIVE_PAUSE: Duration = Duration::from_millis(50);

/// The kept part of one output stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// The first bytes.
    pub head: Vec<u8>,
    /// The last bytes; empty when all fitted into `head`.
    pub tail: Vec<u8>,
    /// Bytes between the two that were not kept.
    pub omitted: u64,
}

impl Captured {
    /// The kept bytes as text, invalid ones replaced; a line tells how much is missing in between.
    pub fn text(&self) -> String {
        if self.omitted == 0 {
            let whole: Vec<u8> = self.head.iter().chain(&self.tail).copied().collect();
            return String::from_utf8_lossy(&whole).into_owned();
        }
        let head = trim_end_of_line(&self.head);
        let tail = trim_start_of_line(&self.tail);
        let missing =
            self.omitted + (self.head.len() - head.len() + self.tail.len() - tail.len()) as u64;
        let gap = if head.ends_with(b"\n") { "" } else { "\n" };
        format!(
            "{}{gap}[... {missing} bytes left out ...]\n{}",
            String::from_utf8_lossy(head),
            String::from_utf8_lossy(tail)
        )
    }

    /// Bytes that came in all.
    pub fn total(&self) -> u64 {
        (self.head.len() + self.tail.len()) as u64 + self.omitted
    }

    /// True when the start holds a NUL byte: not text.
    pub fn is_binary(&self) -> bool {
        self.head.contains(&0)
    }

    /// A shorter version: at most `keep` bytes, half from the start and half from the end.
    pub fn shortened(&self, keep: usize) -> Self {
        let kept: Vec<u8> = self.head.iter().chain(&self.tail).copied().collect();
        if self.omitted == 0 && kept.len() <= keep {
            return self.clone();
        }
        let half = (keep / 2).min(self.head.len());
        let end = kept.len() - (keep / 2).min(kept.len() - half);
        Self {
            head: kept[..half].to_vec(),
            tail: kept[end..].to_vec(),
            omitted: self.omitted + (end - half) as u64,
        }
    }
}

/// Up to the last line end, so that no line or character is cut; all of it without one.
fn trim_end_of_line(bytes: &[u8]) -> &[u8] {
    bytes.iter().rposition(|&b| b == b'\n').map_or(bytes, |at| &bytes[..=at])
}

fn trim_start_of_line(bytes: &[u8]) -> &[u8] {
    bytes.iter().position(|&b| b == b'\n').map_or(bytes, |at| &bytes[at + 1..])
}

struct Ring {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    half: usize,
    omitted: u64,
}

impl Ring {
    fn new(keep: usize) -> Self {
        Self { head: Vec::new(), tail: VecDeque::new(), half: keep / 2, omitted: 0 }
    }

    fn push(&mut self, bytes: &[u8]) {
        let (first, rest) = bytes.split_at(bytes.len().min(self.half - self.head.len()));
        self.head.extend_from_slice(first);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(self.half);
        self.tail.drain(..over);
        self.omitted += over as u64;
    }

    fn finish(self) -> Captured {
        Captured { head: self.head, tail: self.tail.into(), omitted: self.omitted }
    }
}

/// Takes all output of one command.
pub(super) struct Sink {
    output: Ring,
    errors: Ring,
    log: Option<Log>,
    live: Option<Live>,
}

impl Sink {
    pub(super) fn new(
        keep: usize,
        log_dir: Option<&Path>,
        progress: Option<UnboundedSender<String>>,
    ) -> Self {
        Self {
            output: Ring::new(keep),
            errors: Ring::new(keep),
            log: log_dir.and_then(Log::create),
            live: progress.map(Live::new),
        }
    }

    pub(super) fn output(&mut self, bytes: &[u8]) {
        self.output.push(bytes);
        self.aside(bytes);
    }

    pub(super) fn errors(&mut self, bytes: &[u8]) {
        self.errors.push(bytes);
        self.aside(bytes);
    }

    fn aside(&mut self, bytes: &[u8]) {
        if let Some(log) = &mut self.log {
            log.write(bytes);
        }
        if let Some(live) = &mut self.live {
            live.push(bytes);
        }
    }

    pub(super) fn finish(mut self) -> (Captured, Captured, Option<PathBuf>) {
        if let Some(live) = &mut self.live {
            live.flush();
        }
        let log = self.log.and_then(Log::keep);
        (self.output.finish(), self.errors.finish(), log)
    }
}

/// A log that cannot be made or written costs the log, never the command.
struct Log {
    file: tempfile::NamedTempFile,
    left: usize,
}

impl Log {
    fn create(dir: &Path) -> Option<Self> {
        use std::os::unix::fs::DirBuilderExt;
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).ok()?;
        prune(dir);
        let file =
            tempfile::Builder::new().prefix("command-").suffix(".log").tempfile_in(dir).ok()?;
        Some(Self { file, left: LOG_CAP })
    }

    fn write(&mut self, bytes: &[u8]) {
        let part = &bytes[..bytes.len().min(self.left)];
        self.left = match self.file.as_file_mut().write_all(part) {
            Ok(()) => self.left - part.len(),
            Err(_) => 0,
        };
    }

    fn keep(self) -> Option<PathBuf> {
        self.file.keep().ok().map(|(_, path): (File, PathBuf)| path)
    }
}

/// Removes the oldest logs beyond the number kept.
fn prune(dir: &Path) {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return;
    };
    let mut logs: Vec<_> = entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("command-"))
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    logs.sort();
    let over = (logs.len() + 1).saturating_sub(LOGS_KEPT);
    for (_, path) in &logs[..over.min(logs.len())] {
        let _ = std::fs::remove_file(path);
    }
}

struct Live {
    sender: UnboundedSender<String>,
    pending: Vec<u8>,
    last: Option<Instant>,
}

impl Live {
    fn new(sender: UnboundedSender<String>) -> Self {
        Self { sender, pending: Vec::new(), last: None }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
        let over = self.pending.len().saturating_sub(LIVE_BYTES);
        self.pending.drain(..over);
        if self.last.is_none_or(|last| last.elapsed() >= LIVE_PAUSE) {
            // Whole characters only: the rest waits for its other bytes.
            let whole = self.pending.len() - unfinished(&self.pending);
            self.send(whole);
            self.last = Some(Instant::now());
        }
    }

    fn flush(&mut self) {
        self.send(self.pending.len());
    }

    fn send(&mut self, length: usize) {
        if length > 0 {
            let text = String::from_utf8_lossy(&self.pending[..length]).into_owned();
            self.pending.drain(..length);
            // Nobody listens any more: the output is still captured.
            let _ = self.sender.send(text);
        }
    }
}

/// Bytes at the end that begin a UTF-8 character and do not finish it.
fn unfinished(bytes: &[u8]) -> usize {
    let start = bytes.len().saturating_sub(4);
    match std::str::from_utf8(&bytes[start..]) {
        Ok(_) => 0,
        Err(error) if error.error_len().is_none() => bytes.len() - start - error.valid_up_to(),
        Err(error) => {
            // A cut at the front of the window: look again behind it.
            let skipped = error.valid_up_to() + error.error_len().unwrap_or(1);
            unfinished_within(&bytes[start + skipped..])
        }
    }
}

fn unfinished_within(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Ok(_) => 0,
        Err(error) if error.error_len().is_none() => bytes.len() - error.valid_up_to(),
        Err(error) => {
            let skipped = error.valid_up_to() + error.error_len().unwrap_or(1);
            unfinished_within(&bytes[skipped..])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_and_the_end_are_kept_and_the_middle_is_counted() {
        let mut ring = Ring::new(20);
        for n in 0..100 {
            ring.push(format!("{n}\n").as_bytes());
        }
        let captured = ring.finish();
        assert_eq!(captured.total(), 290);
        assert_eq!(captured.text(), "0\n1\n2\n3\n4\n[... 271 bytes left out ...]\n97\n98\n99\n");
    }

    #[test]
    fn short_output_is_kept_whole() {
        let mut ring = Ring::new(20);
        ring.push(b"0123456789abcdef");
        let captured = ring.finish();
        assert_eq!((captured.text().as_str(), captured.omitted), ("0123456789abcdef", 0));
        let short = captured.shortened(8);
        assert_eq!((short.head.as_slice(), short.tail.as_slice()), (&b"0123"[..], &b"cdef"[..]));
        assert_eq!(short.total(), 16);
    }

    #[test]
    fn a_character_is_never_cut_in_the_live_feed() {
        for (bytes, left) in [
            (&b"abc"[..], 0),
            (&"读".as_bytes()[..2], 2),
            (&b"\xff\xfe\xe8"[..], 1),
            (&"x读".as_bytes()[..3], 2),
            (&"读读".as_bytes()[..5], 2),
            (&"读".as_bytes()[..3], 0),
        ] {
            assert_eq!(unfinished(bytes), left, "{bytes:?}");
        }
    }

    #[test]
    fn old_logs_go() {
        let dir = tempfile::tempdir().unwrap();
        for _ in 0..LOGS_KEPT + 5 {
            Log::create(dir.path()).unwrap().keep().unwrap();
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), LOGS_KEPT);
    }
}
