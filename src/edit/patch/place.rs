//! Puts the hunks of a patch into a text: where they fit and what they replace.

use super::parse::{Hunk, Line, Mark, bad};
use crate::edit::lines::{self, Ending};
use crate::edit::text::{Splice, Text};
use crate::edit::tolerance::{Tolerance, report};
use crate::edit::{EditError, ErrorCode, near};
use std::ops::Range;

/// Line numbers named in a message.
const MAX_NAMED: usize = 8;

/// A text as lines, ready for hunks.
struct File<'t> {
    text: &'t str,
    /// Lines without ending, and their endings.
    spans: Vec<(Range<usize>, Range<usize>)>,
    cr: bool,
    /// The file has a byte order mark outside its text.
    bom: bool,
}

/// How the new lines of a hunk end.
struct Style {
    /// The patch has other line endings than the file: new lines get this one.
    follow: Option<&'static str>,
    /// The file has no final newline where the patch has one.
    unended: bool,
    /// The ending of the lines around.
    ending: &'static str,
}

/// The replacements of all `hunks`, sorted, and the tolerances used.
///
/// # Errors
/// `not_found`, `not_unique`, `overlap`, `bad_patch`.
pub(super) fn place(
    text: &Text,
    hunks: &[&Hunk],
) -> Result<(Vec<Splice>, Vec<Tolerance>), EditError> {
    let cr = lines::is_cr_file(&text.text);
    let file =
        File { text: &text.text, spans: lines::spans(&text.text, cr), cr, bom: text.bom > 0 };
    let mut soft = Vec::new();
    let mut splices: Vec<(usize, Splice)> = Vec::new();
    for (index, hunk) in hunks.iter().enumerate() {
        let named = |error: EditError| match hunks.len() {
            1 => error,
            _ => error.within(&format!("hunk {}", index + 1)),
        };
        let shorter = hunk.without_trailing();
        let (hunk, at) = match (file.find(hunk, &mut soft), &shorter) {
            (Err(error), Some(shorter)) if error.code == ErrorCode::NotFound => {
                (shorter, file.find(shorter, &mut soft).map_err(|_| named(error))?)
            }
            (found, _) => (*hunk, found.map_err(named)?),
        };
        if !hunk.counted {
            report(&mut soft, Tolerance::Counts);
        }
        let found = file.splices(hunk, at, &mut soft).map_err(named)?;
        splices.extend(found.into_iter().map(|splice| (index, splice)));
    }
    splices.sort_by_key(|(_, splice)| (splice.range.start, splice.range.end));
    for pair in splices.windows(2) {
        if let [(first, a), (second, b)] = pair
            && (b.range.start < a.range.end || a.range == b.range)
        {
            let message = format!(
                "hunks {} and {} change the same lines",
                first.min(second) + 1,
                first.max(second) + 1
            );
            return Err(EditError::new(ErrorCode::Overlap, message));
        }
    }
    Ok((splices.into_iter().map(|(_, splice)| splice).collect(), soft))
}

impl File<'_> {
    /// The 0-based line at which the hunk fits: the one of its header, else the only one.
    fn find(&self, hunk: &Hunk, soft: &mut Vec<Tolerance>) -> Result<usize, EditError> {
        let old: Vec<&Line> = hunk.old_lines().collect();
        if old.is_empty() {
            return match self.spans.is_empty() {
                true => Ok(0),
                false => Err(bad("the hunk has only new lines; add lines of context around them")),
            };
        }
        let hint = hunk.line.wrapping_sub(1);
        if self.fits(&old, hint) {
            return Ok(hint);
        }
        let last = self.spans.len().saturating_sub(old.len());
        let places: Vec<usize> = (0..=last).filter(|at| self.fits(&old, *at)).collect();
        match places.as_slice() {
            [] => Err(self.miss(hunk)),
            [only] => {
                report(soft, Tolerance::Offset);
                Ok(*only)
            }
            many => {
                let lines: Vec<String> =
                    many.iter().take(MAX_NAMED).map(|at| (at + 1).to_string()).collect();
                let message = format!(
                    "the context fits in {} places (lines {}) and not at line {}; give more \
                     context or the right line",
                    many.len(),
                    lines.join(", "),
                    hunk.line
                );
                Err(EditError::new(ErrorCode::NotUnique, message))
            }
        }
    }

    fn miss(&self, hunk: &Hunk) -> EditError {
        let join = |lines: Vec<&str>| lines.join("\n");
        let old = join(hunk.old_lines().map(|line| self.plain(line)).collect());
        let new = join(hunk.new_lines().map(|line| self.plain(line)).collect());
        near::miss(self.text, &old, &new)
    }

    /// The line as it is in the text, without a byte order mark.
    fn plain<'l>(&self, line: &'l Line) -> &'l str {
        let stripped = line.text.strip_prefix('\u{feff}').filter(|_| self.bom);
        stripped.unwrap_or(&line.text)
    }

    /// True if the old lines are at line `at`, but for line endings.
    fn fits(&self, old: &[&Line], at: usize) -> bool {
        let Some(window) = at.checked_add(old.len()).and_then(|end| self.spans.get(at..end)) else {
            return false;
        };
        let same = |((span, ending), line): (&(Range<usize>, Range<usize>), &&Line)| {
            self.text[span.clone()] == *self.plain(line) && (!line.no_newline || ending.is_empty())
        };
        window.iter().zip(old).all(same)
    }

    /// What the hunk replaces when it is put at line `at`; its context stays as it is.
    fn splices(
        &self,
        hunk: &Hunk,
        at: usize,
        soft: &mut Vec<Tolerance>,
    ) -> Result<Vec<Splice>, EditError> {
        let window = &self.spans[at..at + hunk.old_lines().count()];
        let range = self.start(at)..window.last().map_or(self.start(at), |span| span.1.end);
        let ending = lines::ending_at(self.text, &range, self.cr).unwrap_or(Ending::Lf).text();
        let style = Style {
            follow: self.follows_file(hunk, window).then_some(ending),
            // The last old line has no newline in the file but has one in the patch.
            unended: window.last().is_some_and(|(_, ending)| ending.is_empty())
                && hunk.old_lines().last().is_some_and(|line| !line.no_newline),
            ending,
        };
        if style.follow.is_some() {
            report(soft, Tolerance::LineEndings);
        }
        if style.unended {
            report(soft, Tolerance::FinalNewline);
        }
        let mut splices = Vec::new();
        let mut at = at;
        let is_context = |line: &Line| line.mark == Mark::Context;
        for run in hunk.lines.chunk_by(|a, b| is_context(a) == is_context(b)) {
            let old = run.iter().filter(|line| line.mark != Mark::Add).count();
            if !run.iter().all(is_context) {
                splices.push(self.splice(run, self.start(at)..self.start(at + old), &style)?);
            }
            at += old;
        }
        Ok(splices)
    }

    /// The lines of `range` replaced by those that a run of changed lines adds.
    fn splice(
        &self,
        run: &[Line],
        range: Range<usize>,
        style: &Style,
    ) -> Result<Splice, EditError> {
        let added: Vec<&Line> = run.iter().filter(|line| line.mark == Mark::Add).collect();
        let mut text = String::new();
        for line in &added {
            text.push_str(self.plain(line));
            text.push_str(match (style.follow, line.cr, line.no_newline) {
                (_, _, true) => "",
                (Some(ending), _, false) => ending,
                (None, true, false) => "\r\n",
                (None, false, false) => "\n",
            });
        }
        let ends_file = range.end == self.text.len();
        if added.iter().any(|line| line.no_newline) && !ends_file {
            return Err(EditError::new(
                ErrorCode::NotFound,
                "the patch says that the file ends after a new line, but it goes on there",
            ));
        }
        if style.unended && ends_file {
            text = self.unended(&text, &range, style.ending);
        }
        Ok(Splice { range, text })
    }

    /// New last lines for a file that stays without a final newline.
    fn unended(&self, fresh: &str, range: &Range<usize>, ending: &str) -> String {
        let fresh = fresh.strip_suffix('\n').unwrap_or(fresh);
        let fresh = fresh.strip_suffix('\r').unwrap_or(fresh);
        // Lines put behind the last one need its newline first.
        match range.is_empty() && !self.text.is_empty() {
            true => format!("{ending}{fresh}"),
            false => fresh.to_owned(),
        }
    }

    /// Start of a line, or the end of the text.
    fn start(&self, line: usize) -> usize {
        self.spans.get(line).map_or(self.text.len(), |(span, _)| span.start)
    }

    /// True if the patch has other line endings than the lines it fits: new lines follow the file.
    fn follows_file(&self, hunk: &Hunk, window: &[(Range<usize>, Range<usize>)]) -> bool {
        let differs = |((_, ending), line): (&(Range<usize>, Range<usize>), &Line)| {
            let in_patch = if line.cr { "\r\n" } else { "\n" };
            !ending.is_empty() && self.text[ending.clone()] != *in_patch
        };
        window.iter().zip(hunk.old_lines()).any(differs)
    }
}
