//! `search`: a regular expression over the files of the project, as `path:line: text`.

use super::{Job, Outcome, blocking, cut, flag, optional_text, plural, start, text};
use crate::protocol::{Args, ToolOutput};
use crate::workspace::Workspace;
use globset::{GlobBuilder, GlobMatcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::sinks::Lossy;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use std::path::Path;
use tokio_util::sync::CancellationToken;

/// Characters of a line.
const LINE: usize = 300;
/// Matches given for one file before going on to the next.
const PER_FILE: usize = 50;

pub(in crate::tools) fn title(args: &Args) -> String {
    let pattern = optional_text(args, "pattern").unwrap_or_default();
    let place = optional_text(args, "path").map(|path| format!(" in {path}"));
    let glob = optional_text(args, "glob").map(|glob| format!(" ({glob})"));
    format!("search {pattern}{}{}", place.unwrap_or_default(), glob.unwrap_or_default())
}

pub(in crate::tools) async fn run(job: &Job<'_>) -> Outcome {
    let pattern = text(job.args, "pattern")?.to_owned();
    let (matcher, note) = matcher(&pattern, flag(job.args, "ignore_case"))?;
    let glob = optional_text(job.args, "glob").map(glob).transpose()?;
    let place = start(job)?;
    let workspace = job.cx.workspace.clone();
    let (all, most) = (flag(job.args, "all"), job.cx.settings.matches);
    blocking(job, move |cancel| {
        let mut scan = Scan { matcher, glob, most, lines: Vec::new(), files: 0, more: false };
        scan.walk(&workspace, &workspace.absolute(&place), all, &cancel);
        Ok(scan.output(&pattern, note, all))
    })
    .await
}

/// The pattern as a regular expression; one that is none is taken literally.
fn matcher(pattern: &str, ignore_case: bool) -> Result<(RegexMatcher, Option<String>), String> {
    let build = |literal: bool| {
        RegexMatcherBuilder::new()
            .case_insensitive(ignore_case)
            .fixed_strings(literal)
            .line_terminator(Some(b'\n'))
            .build(pattern)
    };
    match build(false) {
        Ok(matcher) => Ok((matcher, None)),
        Err(_) => build(true)
            .map(|matcher| {
                (
                    matcher,
                    Some("the pattern is no regular expression; searched as it is".to_owned()),
                )
            })
            .map_err(|error| format!("cannot search for this pattern: {error}")),
    }
}

/// A glob without `/` matches the name at any depth, as in ignore files.
pub(super) fn glob(pattern: &str) -> Result<GlobMatcher, String> {
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    let anywhere = if pattern.contains('/') { pattern.to_owned() } else { format!("**/{pattern}") };
    GlobBuilder::new(anywhere.trim_start_matches('/'))
        .literal_separator(true)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|error| format!("bad glob: {error}"))
}

struct Scan {
    matcher: RegexMatcher,
    glob: Option<GlobMatcher>,
    most: usize,
    lines: Vec<String>,
    files: usize,
    more: bool,
}

impl Scan {
    fn walk(&mut self, workspace: &Workspace, below: &Path, all: bool, cancel: &CancellationToken) {
        let mut searcher = SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .line_number(true)
            .build();
        for entry in workspace.walker(below, all).build().flatten() {
            if self.more || cancel.is_cancelled() {
                break;
            }
            let Ok(path) = entry.path().strip_prefix(workspace.root()) else {
                continue;
            };
            let wanted = self.glob.as_ref().is_none_or(|glob| glob.is_match(path));
            if wanted && entry.file_type().is_some_and(|kind| kind.is_file()) {
                self.file(&mut searcher, entry.path(), &path.to_string_lossy());
            }
        }
    }

    fn file(&mut self, searcher: &mut Searcher, file: &Path, path: &str) {
        self.files += 1;
        let (lines, most, more) = (&mut self.lines, self.most, &mut self.more);
        let mut here = 0;
        let sink = Lossy(|number, line| {
            if lines.len() == most {
                *more = true;
                return Ok(false);
            }
            here += 1;
            if here > PER_FILE {
                lines.push(format!("{path}: [more in this file]"));
                return Ok(false);
            }
            lines.push(format!("{path}:{number}: {}", cut(line.trim_end(), LINE)));
            Ok(true)
        });
        // A file that cannot be read has no matches; the walk goes on.
        let _ = searcher.search_path(&self.matcher, file, sink);
    }

    fn output(self, pattern: &str, note: Option<String>, all: bool) -> ToolOutput {
        let found = self.lines.len();
        let mut text = self.lines.join("\n");
        if found == 0 {
            let scope = if all { "" } else { "; ignored files were left out" };
            let files = plural(self.files, "file");
            text = format!("no matches for {} in {files}{scope}", cut(pattern, 100));
        }
        if self.more {
            text.push_str(&format!("\n[more than {found} matches; narrow the search]"));
        }
        if let Some(note) = note {
            text.push_str(&format!("\n[{note}]"));
        }
        let plus = if self.more { "+" } else { "" };
        let word = if found == 1 { "match" } else { "matches" };
        ToolOutput::done(text, format!("{found}{plus} {word}"))
    }
}
