//! Output of commands as text worth its tokens: without colour codes and without progress that was
//! overwritten.

/// Removes escape sequences and applies carriage returns, line by line. Other control characters
/// stay: whoever shows the text makes them visible.
pub(super) fn clean(text: &str) -> String {
    let plain = without_escapes(text);
    let mut cleaned = String::with_capacity(plain.len());
    for line in plain.split_inclusive('\n') {
        let (body, end) = match line.strip_suffix('\n') {
            Some(body) => (body, "\n"),
            None => (line, ""),
        };
        let body = body.trim_end_matches('\r');
        cleaned.push_str(body.rsplit_once('\r').map_or(body, |(_, last)| last));
        cleaned.push_str(end);
    }
    cleaned
}

/// ECMA-48: CSI sequences (`ESC [ ... letter`), OSC strings (`ESC ] ... BEL` or `ESC \`), and
/// two-character escapes.
fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\u{1b}' {
            plain.push(c);
            continue;
        }
        match chars.next() {
            Some('[') => {
                while chars.next_if(|c| ('\u{20}'..='\u{3f}').contains(c)).is_some() {}
                chars.next_if(|c| ('\u{40}'..='\u{7e}').contains(c));
            }
            Some(']' | 'P' | '_' | '^') => {
                // A string without an end must not swallow what follows the line.
                while let Some(c) = chars.next_if(|c| *c != '\n') {
                    if c == '\u{7}' || (c == '\u{1b}' && chars.next_if_eq(&'\\').is_some()) {
                        break;
                    }
                }
            }
            Some('\n') => plain.push('\n'),
            Some(_) | None => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::clean;

    #[test]
    fn only_what_would_be_seen_is_left() {
        for (given, cleaned) in [
            ("plain\ttext\n", "plain\ttext\n"),
            ("\u{1b}[1;31mred\u{1b}[0m", "red"),
            ("10%\r50%\r100%\ndone\r\n", "100%\ndone\n"),
            ("\u{1b}]0;title\u{7}text\u{1b}]8;;url\u{1b}\\link", "textlink"),
            ("\u{1b}]open\nnext", "\nnext"),
            ("\u{1b}[", ""),
            ("\u{1b}", ""),
            ("读\u{1b}(B书", "读B书"),
        ] {
            assert_eq!(clean(given), cleaned, "{given:?}");
        }
    }
}
