//! Pure resolution of paths: `.`, `..`, absolute paths and links, without touching a disk.
//!
//! Invariant: whatever the links say, the result lies inside the root and outside `.git`.

use super::{EditError, ErrorCode};

/// As many links as Linux follows before it gives up (`ELOOP`).
const MAX_LINKS: usize = 40;

/// Resolves `path` to a path relative to `root` (an absolute path without a `/` at its end), `/`
/// between parts, empty for the root itself. `link` gives the target of a link at a root-relative
/// path, or `None` where there is none. Parts that do not exist are kept as they are.
///
/// # Errors
/// `outside_root` for what leaves the root, `protected` for anything under a `.git`, `not_regular`
/// for a ring of links.
pub fn resolve_path(
    path: &str,
    root: &str,
    link: &dyn Fn(&str) -> Option<String>,
) -> Result<String, EditError> {
    let outside = || {
        let message =
            format!("{path}: outside the workspace; only files below its root can change");
        EditError::new(ErrorCode::OutsideRoot, message)
    };
    let mut todo: Vec<String> = Vec::new();
    push_parts(&mut todo, strip_root(path, root).ok_or_else(outside)?);
    let mut done: Vec<String> = Vec::new();
    let mut links = 0;
    while let Some(part) = todo.pop() {
        match part.as_str() {
            "" | "." => continue,
            ".." => {
                done.pop().ok_or_else(outside)?;
                continue;
            }
            _ => done.push(part),
        }
        let Some(target) = link(&done.join("/")) else {
            continue;
        };
        links += 1;
        if links > MAX_LINKS {
            let message = format!("{path}: its links run in a ring");
            return Err(EditError::new(ErrorCode::NotRegular, message));
        }
        done.pop();
        if target.starts_with('/') {
            done.clear();
        }
        push_parts(&mut todo, strip_root(&target, root).ok_or_else(outside)?);
    }
    match done.iter().any(|part| is_protected(part)) {
        true => Err(EditError::new(
            ErrorCode::Protected,
            format!("{path}: files under .git are never edited; use git commands instead"),
        )),
        false => Ok(done.join("/")),
    }
}

/// Pushes the parts so that the first is popped first.
fn push_parts(todo: &mut Vec<String>, path: &str) {
    todo.extend(path.split('/').rev().map(str::to_owned));
}

fn strip_root<'p>(path: &'p str, root: &str) -> Option<&'p str> {
    if !path.starts_with('/') {
        return Some(path);
    }
    let rest = path.strip_prefix(root.trim_end_matches('/'))?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

/// `.git` in every spelling that some file system takes for it: any case, with blanks or dots at the
/// end, or with characters that HFS+ ignores (what git itself guards against).
fn is_protected(part: &str) -> bool {
    let ignored = |c: &char| !matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let plain: String = part.chars().filter(ignored).collect();
    let plain = plain.trim_end_matches(['.', ' ']);
    plain.eq_ignore_ascii_case(".git") || plain.eq_ignore_ascii_case("git~1")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(path: &str) -> Result<String, ErrorCode> {
        let links = |at: &str| {
            let target = match at {
                "l" => "real/dir",
                "up" => "..",
                "abs" => "/root/real",
                "out" => "/etc",
                "ring" => "ring",
                "g" => ".git",
                _ => return None,
            };
            Some(target.to_owned())
        };
        resolve_path(path, "/root", &links).map_err(|error| error.code)
    }

    #[test]
    fn paths_are_normalised_and_stay_inside() {
        for (given, expected) in [
            ("a.txt", Ok("a.txt")),
            ("./d//e/../a.txt", Ok("d/a.txt")),
            ("/root/a", Ok("a")),
            ("/root", Ok("")),
            ("/rootless/a", Err(ErrorCode::OutsideRoot)),
            ("../root/a", Err(ErrorCode::OutsideRoot)),
            ("l/x", Ok("real/dir/x")),
            ("l/../x", Ok("real/x")),
            ("abs/x", Ok("real/x")),
            ("up/x", Err(ErrorCode::OutsideRoot)),
            ("out/x", Err(ErrorCode::OutsideRoot)),
            ("ring", Err(ErrorCode::NotRegular)),
            ("g/config", Err(ErrorCode::Protected)),
            ("sub/.GIT/config", Err(ErrorCode::Protected)),
            (".g\u{200c}it/config", Err(ErrorCode::Protected)),
            (".gitignore", Ok(".gitignore")),
        ] {
            assert_eq!(resolved(given), expected.map(str::to_owned), "{given}");
        }
    }
}
