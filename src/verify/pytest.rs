//! pytest, text of `--tb=short -rfE` without colours.
//!
//! Format: `____ name ____` sections with `path:line: in function` frames and `E   message` lines, a
//! short summary with the node ids, and one last line of totals (pytest, `_pytest/terminal.py`).

use super::place::{count_before, own, split};
use super::{Counts, TestOutcome, TestReport, TestState};

struct Section<'a> {
    name: &'a str,
    place: Option<(String, u32)>,
    message: String,
    used: bool,
}

pub(super) fn read(text: &str, root: &str) -> Option<TestReport> {
    let lines: Vec<&str> = text.lines().collect();
    let at = lines.iter().rposition(|line| is_totals(line))?;
    let count = |word: &str| count_before(lines[at], word).unwrap_or(0);
    let counts = Counts {
        failed: count("failed"),
        errors: count("error") + count("errors"),
        passed: count("passed") + count("xfailed") + count("xpassed"),
        skipped: count("skipped"),
    };
    let heading = |line: &&str| {
        line.starts_with("==") && (line.contains(" FAILURES ") || line.contains(" ERRORS "))
    };
    if counts.failed + counts.errors == 0 && lines[..at].iter().any(heading) {
        // The totals are not those of this run: a test printed them.
        return None;
    }
    // Without this part nothing failed; tests may print lines that look like it before.
    let summary = lines[..at]
        .iter()
        .rposition(|line| line.starts_with('=') && line.contains(" short test summary info "))
        .unwrap_or(at);
    let mut sections = sections(&lines[..summary], root);
    let mut outcomes = Vec::new();
    for line in &lines[summary..at] {
        let (state, rest) = match (line.strip_prefix("FAILED "), line.strip_prefix("ERROR ")) {
            (Some(rest), _) => (TestState::Failed, rest),
            (None, Some(rest)) => (TestState::Error, rest),
            (None, None) => continue,
        };
        let (id, short) = node_id(rest);
        let title = id.split_once("::").map_or(id, |(_, test)| test).replace("::", ".");
        let known = sections.iter_mut().find(|section| !section.used && section.is_of(&title, id));
        let (place, message) = match known {
            Some(section) => {
                section.used = true;
                (section.place.clone(), section.message.clone())
            }
            None => (None, short.to_owned()),
        };
        let (file, line) = match place {
            Some((file, line)) => (Some(file), Some(line)),
            None => (id.split("::").next().map(str::to_owned), None),
        };
        outcomes.push(TestOutcome { id: id.to_owned(), state, file, line, message });
    }
    Some(TestReport { counts, outcomes })
}

/// `== 1 failed, 2 passed in 0.02s ==`, with or without the rules; also `no tests ran in 0.01s`.
fn is_totals(line: &str) -> bool {
    let line = line.trim_matches(['=', ' ']);
    let Some((front, time)) = line.rsplit_once(" in ") else {
        return false;
    };
    let timed = time
        .split(' ')
        .next()
        .is_some_and(|t| t.strip_suffix('s').is_some_and(|t| t.parse::<f64>().is_ok()));
    let counted =
        ["passed", "failed", "error", "errors", "skipped", "deselected", "xfailed", "xpassed"]
            .iter()
            .any(|word| count_before(front, word).is_some());
    timed && (counted || front == "no tests ran")
}

/// The node id and what follows it. An id may hold ` - ` in its parameters.
fn node_id(rest: &str) -> (&str, &str) {
    let after_parameters = rest.find('[').and_then(|open| {
        let plain = rest.find(" - ").is_none_or(|dash| open < dash);
        if plain { rest.rfind("] - ").map(|close| close + 1) } else { None }
    });
    match after_parameters.or_else(|| rest.find(" - ")) {
        Some(at) => (&rest[..at], &rest[at + 3..]),
        None => (rest, ""),
    }
}

impl Section<'_> {
    fn is_of(&self, title: &str, id: &str) -> bool {
        self.name == title
            || self.name.strip_prefix("ERROR collecting ").is_some_and(|path| path == id)
            || ["ERROR at setup of ", "ERROR at teardown of "]
                .iter()
                .any(|prefix| self.name.strip_prefix(prefix) == Some(title))
    }
}

fn sections<'a>(lines: &[&'a str], root: &str) -> Vec<Section<'a>> {
    let mut sections: Vec<Section> = Vec::new();
    for line in lines {
        if line.starts_with("__") && line.ends_with("__") && line.contains(' ') {
            let name = line.trim_matches('_').trim();
            sections.push(Section { name, place: None, message: String::new(), used: false });
        } else if line.starts_with("===") {
            // Another part of the report; nothing here belongs to the section before.
            sections.push(Section { name: "", place: None, message: String::new(), used: true });
        } else if let Some(section) = sections.last_mut() {
            section.take(line, root);
        }
    }
    sections
}

impl Section<'_> {
    fn take(&mut self, line: &str, root: &str) {
        if let Some(text) = line.strip_prefix("E ") {
            let text = text.trim();
            // A traceback that pytest only quotes (a failed import) has its place in these lines.
            if let Some((path, rest)) =
                text.strip_prefix("File \"").and_then(|t| t.split_once("\", line "))
                && let (Some(path), Some(line)) = (own(path, root), super::place::number(rest))
            {
                self.place = Some((path.to_owned(), line));
            }
            if self.message.is_empty() {
                self.message = text.strip_prefix("AssertionError: ").unwrap_or(text).to_owned();
            }
        } else if let Some((place, _)) = line.split_once(": in ").or(line.split_once(": "))
            && let Some((path, line, _)) = split(place)
            && let Some(path) = own(path, root)
        {
            self.place = Some((path.to_owned(), line));
        }
    }
}
