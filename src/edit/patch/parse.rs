//! Reads a unified diff. The body of a hunk counts, its header is a hint; what is no diff is refused.
//!
//! Format: <https://www.gnu.org/software/diffutils/manual/html_node/Detailed-Unified.html> and the
//! extended headers of `git diff`.

use super::names;
use crate::edit::{EditError, ErrorCode};

/// All that one patch says about one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Section {
    /// `None` for a file that is new.
    pub(super) old: Option<String>,
    /// `None` for a file that goes away.
    pub(super) new: Option<String>,
    pub(super) rename: bool,
    pub(super) copy: bool,
    pub(super) executable: Option<bool>,
    pub(super) hunks: Vec<Hunk>,
}

/// A line of a hunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) mark: Mark,
    /// Without line ending.
    pub(super) text: String,
    /// The patch has a CR at its end.
    pub(super) cr: bool,
    /// `\ No newline at end of file` follows.
    pub(super) no_newline: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Context,
    Remove,
    Add,
}

/// One hunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hunk {
    /// 1-based line of the old file where the header puts it.
    pub(super) line: usize,
    pub(super) lines: Vec<Line>,
    /// The header counts what the body has.
    pub(super) counted: bool,
    /// Empty lines at the end that are context only because the header counts them.
    pub(super) trailing: usize,
}

impl Hunk {
    pub(super) fn old_lines(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(|line| line.mark != Mark::Add)
    }

    pub(super) fn new_lines(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(|line| line.mark != Mark::Remove)
    }

    /// The hunk with the empty lines at its end taken as separators; `None` if there are none.
    pub(super) fn without_trailing(&self) -> Option<Self> {
        let kept = self.lines.len() - self.trailing;
        let lines = self.lines[..kept].to_vec();
        (self.trailing > 0).then_some(Self { line: self.line, lines, counted: false, trailing: 0 })
    }

    /// A line without a newline can only be the last one of its side.
    fn ends_once(&self) -> bool {
        let last = |side: Vec<&Line>| side.iter().rev().skip(1).all(|line| !line.no_newline);
        last(self.old_lines().collect()) && last(self.new_lines().collect())
    }
}

/// The sections of a patch, in order.
///
/// # Errors
/// `bad_patch` with the line of the patch that cannot be read.
pub(super) fn parse(patch: &str) -> Result<Vec<Section>, EditError> {
    let body = patch.strip_suffix('\n').unwrap_or(patch);
    let mut parser = Parser {
        lines: body.split('\n').collect(),
        at: 0,
        sections: Vec::new(),
        open: false,
        begun: false,
    };
    while parser.at < parser.lines.len() {
        parser.step()?;
    }
    if parser.sections.is_empty() {
        return Err(bad("this is no unified diff: it has no `--- a/path` and `+++ b/path` lines"));
    }
    for section in &parser.sections {
        let changes = section.rename || section.copy || section.executable.is_some();
        let whole_file = section.old.is_none() != section.new.is_none();
        let name = section.new.as_deref().or(section.old.as_deref()).unwrap_or("a file");
        if section.hunks.is_empty() && !changes && !whole_file {
            return Err(bad(&format!("{name}: the patch has no hunk for it")));
        }
        if (section.rename || section.copy) && whole_file {
            return Err(bad(&format!("{name}: the patch names only one end of a rename or copy")));
        }
    }
    Ok(parser.sections)
}

pub(super) fn bad(message: &str) -> EditError {
    EditError::new(ErrorCode::BadPatch, message)
}

struct Parser<'p> {
    lines: Vec<&'p str>,
    at: usize,
    sections: Vec<Section>,
    /// Inside a section: prose is an error.
    open: bool,
    /// A `diff --git` line came and no `---` line yet.
    begun: bool,
}

impl Parser<'_> {
    fn line(&self, at: usize) -> &str {
        let line = self.lines.get(at).copied().unwrap_or("");
        line.strip_suffix('\r').unwrap_or(line)
    }

    fn error(&self, what: &str) -> EditError {
        bad(&format!("line {} of the patch, `{}`, {what}", self.at + 1, self.line(self.at)))
    }

    fn step(&mut self) -> Result<(), EditError> {
        let line = self.line(self.at).to_owned();
        if let Some(pair) = line.strip_prefix("diff --git ") {
            let (old, new) = names::git_pair(pair);
            self.sections.push(Section { old, new, ..Section::default() });
            (self.open, self.begun) = (true, true);
        } else if self.is_file_header(self.at) {
            self.file_header()?;
        } else if line.starts_with("@@") {
            return self.hunk();
        } else if line == "GIT binary patch" || line.starts_with("Binary files ") {
            return Err(self.error("is a binary patch, which is not supported"));
        } else if self.open && !self.extended_header(&line)? && !is_separator(&line) {
            return Err(self.error("has no marker (blank, `+`, `-` or `@@`)"));
        }
        self.at += 1;
        Ok(())
    }

    /// `--- old` and `+++ new`.
    fn is_file_header(&self, at: usize) -> bool {
        self.line(at).starts_with("--- ") && self.line(at + 1).starts_with("+++ ")
    }

    fn file_header(&mut self) -> Result<(), EditError> {
        let (old, new) = names::headers(&self.line(self.at)[4..], &self.line(self.at + 1)[4..]);
        if old.is_none() && new.is_none() {
            return Err(self.error("and the next one name no file"));
        }
        // The header belongs to the section that `diff --git` began.
        match self.sections.last_mut().filter(|_| self.begun) {
            Some(section) if section.rename || section.copy => {}
            Some(section) => (section.old, section.new) = (old, new),
            None => self.sections.push(Section { old, new, ..Section::default() }),
        }
        self.begun = false;
        self.open = true;
        self.at += 1;
        Ok(())
    }

    /// Takes an extended header of git's; false for any other line.
    fn extended_header(&mut self, line: &str) -> Result<bool, EditError> {
        let error = self.error("names no mode");
        let Some(section) = self.sections.last_mut().filter(|section| section.hunks.is_empty())
        else {
            return Ok(false);
        };
        let executable = |mode: &str| match mode.trim() {
            "100755" => Ok(Some(true)),
            "100644" => Ok(Some(false)),
            _ => Err(error.clone()),
        };
        let quiet = ["old mode ", "similarity index ", "dissimilarity index ", "index "];
        if let Some(mode) = line.strip_prefix("new file mode ") {
            section.executable = executable(mode)?.filter(|executable| *executable);
            section.old = None;
        } else if let Some(mode) = line.strip_prefix("new mode ") {
            section.executable = executable(mode)?;
        } else if line.starts_with("deleted file mode ") {
            section.new = None;
        } else if let Some(path) = line.strip_prefix("rename from ") {
            (section.rename, section.old) = (true, Some(names::unquote(path)));
        } else if let Some(path) = line.strip_prefix("rename to ") {
            (section.rename, section.new) = (true, Some(names::unquote(path)));
        } else if let Some(path) = line.strip_prefix("copy from ") {
            (section.copy, section.old) = (true, Some(names::unquote(path)));
        } else if let Some(path) = line.strip_prefix("copy to ") {
            (section.copy, section.new) = (true, Some(names::unquote(path)));
        } else {
            return Ok(quiet.iter().any(|start| line.starts_with(start)));
        }
        Ok(true)
    }

    fn hunk(&mut self) -> Result<(), EditError> {
        let Some((line, old, new)) = header_numbers(self.line(self.at)) else {
            return Err(self.error("is no hunk header; write `@@ -line,count +line,count @@`"));
        };
        if !self.open {
            return Err(self.error("comes before `--- a/path` and `+++ b/path`"));
        }
        self.at += 1;
        let mut body = Body { old, new, lines: Vec::new(), blanks: 0 };
        while self.at < self.lines.len() && !self.ends_hunk(&body) {
            body.take(self.lines[self.at]).map_err(|what| self.error(what))?;
            self.at += 1;
        }
        let hunk = body.finish(line);
        if hunk.lines.is_empty() {
            self.at -= 1;
            return Err(self.error("begins a hunk without lines"));
        }
        if !hunk.ends_once() {
            self.at -= 1;
            return Err(self.error("ends a hunk that goes on after `\\ No newline at end of file`"));
        }
        if let Some(section) = self.sections.last_mut() {
            section.hunks.push(hunk);
        }
        // `git format-patch` ends a mail with a signature: what follows is prose again.
        self.open = !matches!(self.line(self.at), "-- " | "--");
        Ok(())
    }

    fn ends_hunk(&self, body: &Body) -> bool {
        let line = self.line(self.at);
        if line.starts_with("@@") || line.starts_with("diff --git ") {
            return true;
        }
        let (old, new) = body.open();
        let complete = old <= 0 && new <= 0;
        if complete && (matches!(line, "-- " | "--") || line.starts_with("Index: ")) {
            return true;
        }
        // `--- x` may also remove the line `-- x`: it does where the counts need just that pair.
        self.is_file_header(self.at)
            && self.line(self.at + 2).starts_with("@@")
            && (old, new) != (1, 1)
    }
}

/// Lines that may stand between sections.
fn is_separator(line: &str) -> bool {
    line.trim().is_empty() || line.starts_with("Index: ") || line.starts_with("=====")
}

/// A hunk being read, and what its header counts.
struct Body {
    old: usize,
    new: usize,
    lines: Vec<Line>,
    /// Empty lines since the last marked one: context if more follows.
    blanks: usize,
}

impl Body {
    /// Lines that the header still counts.
    fn open(&self) -> (isize, isize) {
        let count = |skip| self.lines.iter().filter(|line| line.mark != skip).count() + self.blanks;
        (
            self.old.cast_signed() - count(Mark::Add).cast_signed(),
            self.new.cast_signed() - count(Mark::Remove).cast_signed(),
        )
    }

    fn take(&mut self, raw: &str) -> Result<(), &'static str> {
        let cr = raw.ends_with('\r');
        let line = raw.strip_suffix('\r').unwrap_or(raw);
        let mark = match line.as_bytes().first() {
            None => {
                self.blanks += 1;
                return Ok(());
            }
            Some(b' ') => Mark::Context,
            Some(b'+') => Mark::Add,
            Some(b'-') => Mark::Remove,
            Some(b'\\') => {
                let last = self.lines.last_mut().ok_or("follows no line")?;
                last.no_newline = true;
                return Ok(());
            }
            Some(_) => return Err("has no marker (blank, `+` or `-`) at its start"),
        };
        self.flush(self.blanks, cr);
        self.lines.push(Line { mark, text: line[1..].to_owned(), cr, no_newline: false });
        Ok(())
    }

    fn flush(&mut self, count: usize, cr: bool) {
        let blank = Line { mark: Mark::Context, text: String::new(), cr, no_newline: false };
        self.lines.extend(std::iter::repeat_n(blank, count));
        self.blanks = 0;
    }

    /// Empty lines at the end are context only if that makes the header right.
    fn finish(mut self, line: usize) -> Hunk {
        let blanks = std::mem::take(&mut self.blanks);
        let missing = self.open();
        let wanted = usize::try_from(missing.0).unwrap_or(0);
        let trailing = if missing.0 == missing.1 && wanted <= blanks { wanted } else { 0 };
        let cr = self.lines.last().is_some_and(|line| line.cr);
        self.flush(trailing, cr);
        let counted = self.open() == (0, 0);
        Hunk { line, lines: self.lines, counted, trailing }
    }
}

/// Old line, old count and new count of `@@ -l[,c] +l[,c] @@ ...`.
fn header_numbers(line: &str) -> Option<(usize, usize, usize)> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let pair = |text: &str| {
        let (line, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((line.parse::<usize>().ok()?, count.parse::<usize>().ok()?))
    };
    let ((line, old), (_, new)) = (pair(old)?, pair(new)?);
    Some((line, old, new))
}
