//! Recognises comments that stand in for text the writer left out, such as `// ... existing code ...`.

/// Starts of a comment in the languages people write; of two that fit the longer comes first.
const OPENERS: &[&str] = &[
    "<!--", "{/*", "/**", "/*", "///", "//", "(*", "{-", "--", "##", "#", ";;", ";", "%", "REM ",
    "*", "'",
];
/// Ends of a comment that belong to no word.
const CLOSERS: &[&str] = &["-->", "*/}", "*/", "*)", "-}"];

/// Words that name left-out text when an ellipsis stands beside them, parted by `|`.
const HINTS: &str = "rest|remainder|remaining|existing|unchanged|same|omitted|previous|other|others|\
    elided|truncated|snip|continues|original|before|above|no change|no changes|not changed|keep|\
    stays|remains|其余|其他|其它|剩余|原有|现有|已有|不变|省略|保持|同上|后续|残り|既存|変更なし|同じ|\
    そのまま|以降|나머지|기존|생략|동일|변경 없음|그대로";

/// Whole comments that name left-out text without an ellipsis: how they begin ...
const STARTS: &str = "rest of|the rest of|remainder of|the remainder of|remaining|the remaining|\
    existing|the existing|previous|the previous|other|all other|same as|unchanged|code unchanged|\
    no changes|keep the rest|keep the existing|keep existing|leave the rest|其余|其他|其它|剩余|原有|\
    现有|此处省略|残り|以下|既存|나머지|기존|이하";
/// ... and how they end.
const ENDS: &str = "unchanged|the same|omitted|omitted for brevity|as before|goes here|code here|\
    rest of the file|rest of file|rest of the code|rest of code|rest of the function|\
    rest of the class|rest of the method|rest of the implementation|existing code|not changed|\
    changes below|changes above|不变|省略|同上|変更なし|同じ|そのまま|생략|동일|변경 없음|그대로";

/// The first line of `content` (1-based) that stands in for left-out text and is not in `before` as
/// often. `shorter`: the content has fewer lines than what it replaces, so that a comment of nothing
/// but an ellipsis counts, too.
pub(super) fn stand_in(content: &str, before: &str, shorter: bool) -> Option<(usize, String)> {
    let is_stand_in = |line: &str| match kind(line) {
        Some(Kind::Named) => true,
        Some(Kind::Bare) => shorter,
        None => false,
    };
    let mut seen: Vec<&str> = Vec::new();
    for (at, line) in content.lines().map(str::trim).enumerate() {
        if !is_stand_in(line) {
            continue;
        }
        seen.push(line);
        let times = seen.iter().filter(|known| **known == line).count();
        if before.lines().filter(|known| known.trim() == line).count() < times {
            return Some((at + 1, line.to_owned()));
        }
    }
    None
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Says that text is left out.
    Named,
    /// An ellipsis and nothing else.
    Bare,
}

/// Longer comments say something of their own.
const MAX_CHARS: usize = 100;

fn kind(line: &str) -> Option<Kind> {
    let opener = OPENERS.iter().find(|opener| line.starts_with(**opener));
    let mut body = line[opener.map_or(0, |opener| opener.len())..].trim();
    for closer in CLOSERS {
        body = body.strip_suffix(closer).unwrap_or(body).trim_end();
    }
    if body.chars().count() > MAX_CHARS {
        return None;
    }
    let inner = body
        .trim_matches(|c: char| c == '.' || c == '…' || c.is_whitespace() || "()[]<>-".contains(c));
    let inner = inner.to_lowercase();
    let dotted = |text: &str| text.contains("...") || text.contains('…');
    if inner.is_empty() {
        // Outside a comment that is code: `...` in Python.
        opener?;
        return dotted(body).then_some(Kind::Bare);
    }
    let unbracketed = body.trim_matches(|c: char| "()[]<>- ".contains(c));
    let leads = unbracketed.starts_with("...") || unbracketed.starts_with('…');
    let trails = unbracketed.ends_with("...") || unbracketed.ends_with('…');
    let words = inner.split_whitespace().count();
    let hinted = HINTS.split('|').any(|hint| has_word(&inner, hint));
    // Without a comment sign only `... rest of the file ...` and the like can be meant.
    if opener.is_none() {
        return (leads && trails && hinted).then_some(Kind::Named);
    }
    let starts = STARTS.split('|').any(|start| has_word(&inner, start) && inner.starts_with(start));
    let ends = ENDS.split('|').any(|end| inner.ends_with(end));
    // `// ... the other methods`, `// existing methods ...`: but not `// check the other cases ...`.
    let dots = hinted && words <= 8 && (leads || (trails && starts));
    ((starts && ends) || dots || (leads && trails && hinted)).then_some(Kind::Named)
}

/// True if `word` stands in `text` as a word; words of scripts without blanks may stand anywhere.
fn has_word(text: &str, word: &str) -> bool {
    let edge = |c: Option<char>| !c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
    text.match_indices(word).any(|(at, found)| {
        !word.is_ascii()
            || (edge(text[..at].chars().next_back())
                && edge(text[at + found.len()..].chars().next()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stand_ins_are_told_from_comments() {
        for line in [
            "# ... rest of the file stays the same ...",
            "// ... existing code ...",
            "    // ...existing code...",
            "/* … remaining methods unchanged … */",
            "<!-- ... rest of the page ... -->",
            "# (rest of the code remains unchanged)",
            "// rest of the implementation",
            "// The rest of the file remains the same.",
            "-- ... (other columns omitted) ...",
            "{/* ... existing components ... */}",
            "# ... 其余代码不变 ...",
            "// 其余代码保持不变",
            "# ... 以下省略 ...",
            "// [... existing imports ...]",
            "... rest of the file unchanged ...",
            "[... remaining entries ...]",
            "// existing methods ...",
            "// keep the rest of the code the same",
            "# no changes below",
            "// previous code remains the same",
        ] {
            assert_eq!(kind(line.trim()), Some(Kind::Named), "{line}");
        }
        for line in [
            "x = [...]",
            "# check the other cases...",
            "// existing sessions are kept as they are",
            "...",
            "f(...existing, ...)",
            "# wait for the rest of the file to arrive",
            "// other threads may hold the lock",
            "// existing users keep their name",
            "# the same goes for lists",
            "let rest = &text[1..]; // ... ",
            "- the rest stays the same",
            "# Loading... please wait",
            "// unchanged lines are drawn dim",
        ] {
            assert_eq!(kind(line.trim()), None, "{line}");
        }
        assert_eq!(kind("// ..."), Some(Kind::Bare));
    }
}
