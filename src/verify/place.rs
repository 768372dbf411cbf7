//! Which places count as the project's own, and numbers in text.

/// Folders inside a project that hold other people's code.
const FOREIGN: &[&str] =
    &["site-packages", "node_modules", ".venv", "venv", ".tox", ".nox", ".cargo"];

/// `path` relative to `root`, if it is the project's own: inside the root and not in a folder of
/// installed packages. A relative path is taken to start at the root.
pub(super) fn own<'p>(path: &'p str, root: &str) -> Option<&'p str> {
    let path = path.strip_prefix("file://").unwrap_or(path);
    let relative = if path.starts_with('/') {
        path.strip_prefix(root.trim_end_matches('/'))?.strip_prefix('/')?
    } else {
        path.strip_prefix("./").unwrap_or(path)
    };
    let foreign = relative.split('/').any(|part| FOREIGN.contains(&part) || part == "..");
    let internal = relative.starts_with('<') || relative.starts_with("node:");
    (!foreign && !internal && !relative.is_empty()).then_some(relative)
}

/// As [`own`], but keeps a foreign path as it is.
pub(super) fn shorten(path: &str, root: &str) -> String {
    own(path, root).unwrap_or(path).to_owned()
}

/// Splits `path:line:column` or `path:line`, as most tools write a place.
pub(super) fn split(place: &str) -> Option<(&str, u32, u32)> {
    let (front, last) = place.rsplit_once(':')?;
    let last: u32 = last.parse().ok()?;
    match front.rsplit_once(':').and_then(|(path, line)| Some((path, line.parse().ok()?))) {
        Some((path, line)) => Some((path, line, last)),
        None => Some((front, last, 0)),
    }
}

/// The number that a text begins with.
pub(super) fn number(text: &str) -> Option<u32> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

/// `3 passed, 1 failed`: the number in front of `word`.
pub(super) fn count_before(text: &str, word: &str) -> Option<usize> {
    let mut before = None;
    for part in text.split(|c: char| c == ',' || c.is_whitespace() || c == ';' || c == '=') {
        match part {
            "" => {}
            part if part == word => return before,
            part => before = part.parse().ok(),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_places_are_told_from_foreign_ones() {
        for (path, expected) in [
            ("/p/a/b.py", Some("a/b.py")),
            ("file:///p/a.js", Some("a.js")),
            ("./a.py", Some("a.py")),
            ("/p-evil/a.py", None),
            ("/p/.venv/lib/x.py", None),
            ("/usr/lib/python3/x.py", None),
            ("../x.py", None),
            ("<frozen importlib>", None),
            ("node:internal/x", None),
        ] {
            assert_eq!(own(path, "/p"), expected, "{path}");
        }
    }

    #[test]
    fn places_and_counts_are_read() {
        assert_eq!(split("a:b.rs:3:5"), Some(("a:b.rs", 3, 5)));
        assert_eq!(split("a.rs:3"), Some(("a.rs", 3, 0)));
        assert_eq!(split("a.rs"), None);
        assert_eq!(count_before("== 1 failed, 12 passed in 0.1s ==", "passed"), Some(12));
        assert_eq!(count_before("== 1 failed ==", "passed"), None);
    }
}
