//! Makes hostile text safe to show.

use std::borrow::Cow;

/// Makes control characters visible, so that text from a model, a tool or a file cannot drive the terminal.
///
/// `\n` and `\t` stay. C0 controls become their picture (U+2400 block), DEL becomes `␡`, C1 controls and
/// bidirectional overrides become `�`.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hostile) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(
        text.chars()
            .map(|c| match c {
                c if !is_hostile(c) => c,
                '\u{7f}' => '␡',
                c if (c as u32) < 0x20 => char::from_u32(0x2400 + c as u32).unwrap_or('�'),
                _ => '�',
            })
            .collect(),
    )
}

fn is_hostile(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        c => c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn escape_sequences_and_overrides_become_visible() {
        for (given, shown) in [
            ("plain 读\n\t", "plain 读\n\t"),
            ("\u{1b}[2J", "␛[2J"),
            ("a\rb\u{7f}", "a␍b␡"),
            ("\u{9b}31m\u{202e}x", "�31m�x"),
        ] {
            assert_eq!(visible(given), shown);
        }
    }
}
