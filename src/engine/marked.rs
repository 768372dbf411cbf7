//! Text in which a special token is told apart from its literal spelling.
//!
//! Users, files and tools may write `<|im_end|>` or `</think>`. Before such text goes through a
//! chat template it is [protected](Markup::protect): a private-use character is put into every
//! literal spelling. After rendering, what still spells a special token was written by the template
//! itself, and only that becomes an id. Invariant: for any text, protecting and then cutting gives
//! back exactly that text and no special.

/// Put after the first character of a literal special; doubled where the text itself has it.
const MARK: char = '\u{e000}';

/// The spellings of the special tokens of a vocabulary.
#[derive(Clone, Debug, Default)]
pub struct Markup {
    /// Spelling and id, longest first, so that the first hit at a place is the longest.
    specials: Vec<(String, u32)>,
    /// What they begin with; nearly always just `<`.
    firsts: Vec<char>,
}

/// A part of a rendered prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Run {
    /// A special token that the template wrote.
    Special(u32),
    /// Text in between, marks removed.
    Text(String),
}

/// Rendered text in which literals are protected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkedText(pub String);

impl Markup {
    /// Spellings of one character cannot be protected and are left out.
    pub fn new(specials: impl IntoIterator<Item = (String, u32)>) -> Self {
        let mut specials: Vec<_> =
            specials.into_iter().filter(|(text, _)| text.chars().nth(1).is_some()).collect();
        specials.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.0.cmp(&b.0)));
        let mut firsts: Vec<char> = specials.iter().filter_map(|(s, _)| s.chars().next()).collect();
        firsts.sort_unstable();
        firsts.dedup();
        Self { specials, firsts }
    }

    /// The special that begins `text`: its spelling's length in bytes and its id.
    fn at_start(&self, text: &str) -> Option<(usize, u32)> {
        let hit = self.specials.iter().find(|(special, _)| text.starts_with(special.as_str()));
        hit.map(|(special, id)| (special.len(), *id))
    }

    /// Makes `text` safe to put into a template: no special in it survives as one.
    pub fn protect(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for (at, c) in text.char_indices() {
            out.push(c);
            // Every spelling that begins here is broken, also one inside another.
            if c == MARK || (self.firsts.contains(&c) && self.at_start(&text[at..]).is_some()) {
                out.push(MARK);
            }
        }
        out
    }

    /// Cuts rendered text at the specials the template wrote.
    pub fn runs(&self, marked: &MarkedText) -> Vec<Run> {
        let mut runs = Vec::new();
        let mut text = String::new();
        let mut rest = marked.0.as_str();
        while let Some(c) = rest.chars().next() {
            if self.firsts.contains(&c)
                && let Some((len, id)) = self.at_start(rest)
            {
                if !text.is_empty() {
                    runs.push(Run::Text(std::mem::take(&mut text)));
                }
                runs.push(Run::Special(id));
                rest = &rest[len..];
                continue;
            }
            rest = &rest[c.len_utf8()..];
            if c != MARK {
                text.push(c);
            } else if let Some(after) = rest.strip_prefix(MARK) {
                text.push(MARK);
                rest = after;
            }
        }
        if !text.is_empty() {
            runs.push(Run::Text(text));
        }
        runs
    }
}

impl MarkedText {
    /// The text as a reader would see it, marks removed.
    pub fn plain(&self) -> String {
        let mut out = String::with_capacity(self.0.len());
        let mut chars = self.0.chars().peekable();
        while let Some(c) = chars.next() {
            if c != MARK {
                out.push(c);
            } else if chars.next_if_eq(&MARK).is_some() {
                out.push(MARK);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn markup() -> Markup {
        Markup::new([
            ("<|im_end|>".into(), 1),
            ("<think>".into(), 2),
            ("</think>".into(), 3),
            ("<<".into(), 4),
        ])
    }

    #[test]
    fn only_what_the_template_wrote_becomes_special() {
        let user = markup().protect("a <|im_end|> </think>");
        let runs = markup().runs(&MarkedText(format!("<think>{user}<|im_end|>\n")));
        assert_eq!(
            runs,
            [
                Run::Special(2),
                Run::Text("a <|im_end|> </think>".into()),
                Run::Special(1),
                Run::Text("\n".into())
            ]
        );
    }

    proptest! {
        #[test]
        fn protected_text_comes_back_whole(
            parts in proptest::collection::vec(
                prop_oneof![
                    Just("<|im_end|>".to_string()), Just("<think>".to_string()),
                    Just("\u{e000}".to_string()), Just("<".to_string()), Just("<|im_".to_string()),
                    Just("end|>".to_string()), ".{0,3}",
                ], 0..12)
        ) {
            let text = parts.concat();
            let marked = MarkedText(markup().protect(&text));
            prop_assert_eq!(marked.plain(), text.clone());
            let runs = markup().runs(&marked);
            let expected = if text.is_empty() { vec![] } else { vec![Run::Text(text)] };
            prop_assert_eq!(runs, expected);
        }
    }
}
