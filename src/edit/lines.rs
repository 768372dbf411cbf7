//! Line endings: which one a place of a file has, and giving it to new text.

use std::ops::Range;

/// A line ending. A lone CR counts only in a file that has no LF at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Lf,
    CrLf,
    Cr,
}

impl Ending {
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
            Self::Cr => "\r",
        }
    }
}

/// True for an old Macintosh file, whose lines end in CR.
pub(super) fn is_cr_file(text: &str) -> bool {
    text.contains('\r') && !text.contains('\n')
}

/// The endings in `text`, in order, and where each begins.
pub(super) fn endings(text: &str, cr: bool) -> impl Iterator<Item = (usize, Ending)> + '_ {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().filter_map(move |(at, byte)| match byte {
        b'\n' if at > 0 && bytes[at - 1] == b'\r' => Some((at - 1, Ending::CrLf)),
        b'\n' => Some((at, Ending::Lf)),
        b'\r' if cr => Some((at, Ending::Cr)),
        _ => None,
    })
}

/// The most frequent ending, the first one where two are as frequent; `None` for a single line.
pub(super) fn dominant(text: &str, cr: bool) -> Option<Ending> {
    let (mut first, mut lf, mut crlf) = (None, 0, 0);
    for (_, ending) in endings(text, cr) {
        first = first.or(Some(ending));
        match ending {
            Ending::Lf => lf += 1,
            Ending::CrLf => crlf += 1,
            Ending::Cr => return Some(Ending::Cr),
        }
    }
    match lf.cmp(&crlf) {
        std::cmp::Ordering::Less => Some(Ending::CrLf),
        std::cmp::Ordering::Greater => Some(Ending::Lf),
        std::cmp::Ordering::Equal => first,
    }
}

/// True if the text has both LF and CRLF endings.
pub(super) fn is_mixed(text: &str) -> bool {
    let all = text.matches('\n').count();
    let crlf = text.matches("\r\n").count();
    crlf > 0 && crlf < all
}

/// The ending that new lines get at `range`: that of the replaced text, else of its line, else of
/// the line before.
pub(super) fn ending_at(text: &str, range: &Range<usize>, cr: bool) -> Option<Ending> {
    dominant(&text[range.clone()], cr)
        .or_else(|| endings(&text[range.end..], cr).next().map(|(_, ending)| ending))
        .or_else(|| {
            let before = &text[..range.start];
            let at = before.rfind(if cr { '\r' } else { '\n' })?;
            let from = at.saturating_sub(1);
            endings(before.get(from..).unwrap_or(&before[at..]), cr)
                .last()
                .map(|(_, ending)| ending)
        })
}

/// `text` with every LF and CRLF as LF.
pub(super) fn to_lf(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// `text` with every LF and CRLF as `ending`.
pub(super) fn to_ending(text: &str, ending: Option<Ending>) -> String {
    match ending {
        None => text.to_owned(),
        Some(Ending::Lf) => to_lf(text),
        Some(other) => to_lf(text).replace('\n', other.text()),
    }
}

/// 1-based line of a byte position.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    let newline = if is_cr_file(text) { b'\r' } else { b'\n' };
    1 + text.as_bytes()[..at].iter().filter(|byte| **byte == newline).count()
}

/// Byte ranges of the lines without their endings, and of the ending that follows each. A text that
/// ends in an ending has no empty last line.
pub(super) fn spans(text: &str, cr: bool) -> Vec<(Range<usize>, Range<usize>)> {
    let mut out = Vec::new();
    let mut start = 0;
    for (at, ending) in endings(text, cr) {
        let end = at + ending.text().len();
        out.push((start..at, at..end));
        start = end;
    }
    if start < text.len() {
        out.push((start..text.len(), text.len()..text.len()));
    }
    out
}
