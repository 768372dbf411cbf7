//! Token bytes to text, as they come.
//!
//! A token may end inside a character. Bytes wait here until they make whole characters; what can
//! never become one is replaced by U+FFFD at once. Invariant: the pieces put together are the same
//! for every way of cutting the bytes.

/// Collects bytes until they are text.
#[derive(Clone, Debug, Default)]
pub struct Detokenizer {
    /// Fewer than four bytes: the beginning of one character.
    waiting: Vec<u8>,
}

impl Detokenizer {
    /// Adds bytes and returns the text that is now certain, often empty.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        self.waiting.extend_from_slice(bytes);
        let mut text = String::new();
        let mut rest = self.waiting.as_slice();
        loop {
            match std::str::from_utf8(rest) {
                Ok(valid) => {
                    text.push_str(valid);
                    rest = &[];
                    break;
                }
                Err(error) => {
                    let (valid, after) = rest.split_at(error.valid_up_to());
                    text.push_str(&String::from_utf8_lossy(valid));
                    rest = after;
                    // No length: the bytes may yet become a character.
                    let Some(bad) = error.error_len() else { break };
                    text.push('\u{fffd}');
                    rest = rest.get(bad..).unwrap_or(&[]);
                }
            }
        }
        self.waiting = rest.to_vec();
        text
    }

    /// What was waiting, as U+FFFD if anything was.
    pub fn finish(&mut self) -> String {
        let text = String::from_utf8_lossy(&self.waiting).into_owned();
        self.waiting.clear();
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn in_pieces(bytes: &[u8], cuts: &[usize]) -> String {
        let mut detokenizer = Detokenizer::default();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let mut text: String =
            cuts.windows(2).map(|w| detokenizer.push(&bytes[w[0]..w[1]])).collect();
        text.push_str(&detokenizer.finish());
        text
    }

    #[test]
    fn a_character_is_held_back_until_it_is_whole() {
        let mut detokenizer = Detokenizer::default();
        let texts: Vec<String> =
            [b"a\xe8".as_slice(), b"\xaf", b"\xbb!"].map(|b| detokenizer.push(b)).into();
        assert_eq!(texts, ["a", "", "读!"]);
        assert_eq!(detokenizer.finish(), "");
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same_text(
            bytes in prop_oneof![
                proptest::collection::vec(any::<u8>(), 0..40),
                ".{0,20}".prop_map(String::into_bytes),
            ],
            cuts in proptest::collection::vec(any::<usize>(), 0..8),
        ) {
            prop_assert_eq!(in_pieces(&bytes, &cuts), String::from_utf8_lossy(&bytes));
        }
    }
}
