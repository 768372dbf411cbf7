//! File names in patch headers: prefixes, C-style quoting, time stamps.

/// The paths in a `---` and a `+++` line; `None` for `/dev/null`.
pub(super) fn headers(old: &str, new: &str) -> (Option<String>, Option<String>) {
    // Made without prefixes: `a/` is a folder then.
    let bare = header(old, "") == header(new, "");
    let prefix = |prefix| if bare { "" } else { prefix };
    (header(old, prefix("a/")), header(new, prefix("b/")))
}

/// The path in a `---` or `+++` line; `None` for `/dev/null`. `prefix` is `a/` or `b/`.
fn header(text: &str, prefix: &str) -> Option<String> {
    let name = match text.starts_with('"') {
        true => unquote(text),
        // What follows a tab is a time stamp, or nothing where the name holds blanks.
        false => text.split('\t').next().unwrap_or(text).to_owned(),
    };
    match name.as_str() {
        "/dev/null" => None,
        name => Some(name.strip_prefix(prefix).unwrap_or(name).to_owned()),
    }
}

/// Both paths of a `diff --git` line, where they can be told apart: quoted, or the same name twice.
pub(super) fn git_pair(text: &str) -> (Option<String>, Option<String>) {
    if text.starts_with('"') {
        let end = quoted_len(text);
        let (old, new) = text.split_at(end);
        return (header(old, "a/"), header(new.trim_start(), "b/"));
    }
    if let Some((old, new)) = text.split_once(" \"") {
        return (header(old, "a/"), header(&format!("\"{new}"), "b/"));
    }
    let half = text.len() / 2;
    let same = text.is_char_boundary(half) && text.as_bytes().get(half) == Some(&b' ');
    let (old, new) = if same { (&text[..half], &text[half + 1..]) } else { ("", "") };
    match (old.strip_prefix("a/"), new.strip_prefix("b/")) {
        (Some(old), Some(new)) if old == new => (Some(old.to_owned()), Some(new.to_owned())),
        _ if same && old == new => (Some(old.to_owned()), Some(new.to_owned())),
        _ => (None, None),
    }
}

/// Length of the quoted string at the start, quotes included.
fn quoted_len(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '"' if !escaped => return at + 1,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}

/// The name in C-style quotes (`"caf\303\251"`); any other text as it is.
pub(super) fn unquote(text: &str) -> String {
    let end = text.trim_end();
    let Some(inner) = end.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
        return text.to_owned();
    };
    let mut out = Vec::new();
    let mut bytes = inner.bytes().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match bytes.next() {
            Some(digit @ b'0'..=b'7') => {
                let mut value = u32::from(digit - b'0');
                for _ in 0..2 {
                    let Some(next) = bytes.next_if(|b| matches!(b, b'0'..=b'7')) else {
                        break;
                    };
                    value = value * 8 + u32::from(next - b'0');
                }
                out.push((value & 0xff) as u8);
            }
            Some(b'a') => out.push(7),
            Some(b'b') => out.push(8),
            Some(b't') => out.push(b'\t'),
            Some(b'n') => out.push(b'\n'),
            Some(b'v') => out.push(11),
            Some(b'f') => out.push(12),
            Some(b'r') => out.push(b'\r'),
            Some(other) => out.push(other),
            None => out.push(b'\\'),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unquoted_and_stripped() {
        for (given, expected) in [
            ("a/x b/y z.txt\t", "x b/y z.txt"),
            ("\"a/caf\\303\\251.txt\"", "caf\u{e9}.txt"),
            ("a/n.c\t2024-01-01 10:00:00", "n.c"),
            ("src/n.c", "src/n.c"),
            ("\"a/q\\\"q\\tt\"", "q\"q\tt"),
        ] {
            assert_eq!(header(given, "a/").as_deref(), Some(expected));
        }
        assert_eq!(header("/dev/null", "a/"), None);
        assert_eq!(headers("a/x", "a/x").0.as_deref(), Some("a/x"));
        let both = |name: &str| (Some(name.to_owned()), Some(name.to_owned()));
        assert_eq!(git_pair("a/x y b/x y"), both("x y"));
        assert_eq!(git_pair("\"a/\\303\\251\" \"b/\\303\\251\""), both("é"));
        assert_eq!(git_pair("a/x b/y"), (None, None));
    }
}
