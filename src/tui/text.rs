//! Makes outside text fit for the screen, and writes numbers the way people read them.
//!
//! Invariant: what leaves [`clean`] holds no control characters but `\n`.

use super::wrap::expand_tabs;
use crate::protocol::visible;

/// Text of a model, a file or the person, safe to draw: controls visible, tabs as blanks.
pub fn clean(text: &str) -> String {
    expand_tabs(&visible(&text.replace("\r\n", "\n")), 0)
}

/// One line of [`clean`] text: line ends become blanks.
pub fn clean_line(text: &str) -> String {
    clean(text).replace('\n', " ")
}

/// Output of a program: colour codes dropped, overwritten parts of a line dropped, then [`clean`].
pub fn clean_output(text: &str) -> String {
    let plain = strip_sequences(text);
    let mut out = String::with_capacity(plain.len());
    for (index, line) in plain.split('\n').enumerate() {
        if index > 0 {
            out.push('\n');
        }
        let line = line.trim_end_matches('\r');
        out.push_str(line.rsplit('\r').next().unwrap_or(line));
    }
    clean(&out)
}

/// Drops complete CSI and OSC sequences; incomplete ones stay and become visible.
fn strip_sequences(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        out.push_str(&rest[..at]);
        let tail = &rest[at..];
        let length = sequence_length(tail);
        if length == 0 {
            out.push('\u{1b}');
        }
        rest = &tail[length.max(1)..];
    }
    out.push_str(rest);
    out
}

fn sequence_length(tail: &str) -> usize {
    let bytes = tail.as_bytes();
    match bytes.get(1) {
        Some(b'[') => bytes[2..]
            .iter()
            .position(|b| !(0x20..0x40).contains(b))
            .filter(|end| (0x40..0x7f).contains(&bytes[end + 2]))
            .map_or(0, |end| end + 3),
        Some(b']') => {
            let line = tail.find('\n').unwrap_or(tail.len());
            let bell = tail[..line].find('\u{7}').map(|at| at + 1);
            let string = tail[..line].find("\u{1b}\\").map(|at| at + 2);
            bell.into_iter().chain(string).min().unwrap_or(0)
        }
        Some(_) | None => 0,
    }
}

/// `1234567` as `1,234,567`.
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A count in four characters or so: `950`, `1.2k`, `34k`, `1.5M`.
pub fn short(number: usize) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..10_000 => format!("{}.{}k", number / 1_000, number % 1_000 / 100),
        10_000..1_000_000 => format!("{}k", number / 1_000),
        _ => format!("{}.{}M", number / 1_000_000, number % 1_000_000 / 100_000),
    }
}

/// Bytes with a unit: `512 B`, `3.0 KB`, `2.1 GB`.
pub fn bytes(count: u64) -> String {
    let mut unit = 0;
    let mut scale: u64 = 1;
    while count / scale >= 1_000 && unit < 4 {
        scale *= 1_000;
        unit += 1;
    }
    let name = ["B", "KB", "MB", "GB", "TB"][unit];
    if unit == 0 {
        return format!("{count} {name}");
    }
    format!("{}.{} {name}", count / scale, count % scale * 10 / scale)
}

/// Milliseconds as `0s`, `12s`, `3m05s`, `2h10m`.
pub fn duration(milliseconds: u64) -> String {
    let seconds = milliseconds / 1_000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3_600, seconds % 3_600 / 60),
    }
}

/// `1 hunk`, `2 hunks`.
pub fn plural(count: usize, noun: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{s}")
}

/// Whole percent of `done` in `total`; 0 when the total is unknown.
pub fn percent(done: u64, total: u64) -> u64 {
    (done.min(total) * 100).checked_div(total).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_keeps_text_and_loses_sequences() {
        for (given, want) in [
            ("\u{1b}[31mred\u{1b}[0m plain", "red plain"),
            ("1%\r2%\r100%\n", "100%\n"),
            ("a\r\nb", "a\nb"),
            ("\u{1b}]0;T\u{7}x", "x"),
            ("\u{1b}]8;;http://x\u{1b}\\L", "L"),
            ("\u{1b}]open\nnext", "␛]open\nnext"),
            ("\u{1b}[", "␛["),
            ("\u{1b}c", "␛c"),
            ("世\u{1b}[1m界", "世界"),
        ] {
            assert_eq!(clean_output(given), want, "{given:?}");
        }
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(
            (short(950), short(1_250), short(34_000)),
            ("950".into(), "1.2k".into(), "34k".into())
        );
        assert_eq!(bytes(28_600_000_000), "28.6 GB");
        assert_eq!((duration(12_400), duration(185_000)), ("12s".into(), "3m05s".into()));
        assert_eq!((percent(1, 3), percent(5, 0), percent(9, 3)), (33, 0, 100));
    }
}
