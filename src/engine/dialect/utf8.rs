//! Bytes in, text out, with characters put together across cuts.
//!
//! Lives here: incremental UTF-8 decoding. Invariant: bytes that are no UTF-8 become U+FFFD, one for each maximal
//! part, wherever the cuts are.

/// The decoder of one stream.
#[derive(Debug, Default)]
pub(crate) struct Utf8 {
    rest: Vec<u8>,
    broken: bool,
}

impl Utf8 {
    /// Takes the next bytes and returns the characters that are complete.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> String {
        self.rest.extend_from_slice(bytes);
        let (text, kept) = self.decode(false);
        self.rest.drain(..self.rest.len() - kept);
        text
    }

    /// Ends the stream; an unfinished character becomes U+FFFD.
    pub(crate) fn finish(&mut self) -> String {
        let (text, _) = self.decode(true);
        self.rest.clear();
        text
    }

    /// Some bytes were no UTF-8.
    pub(crate) fn broken(&self) -> bool {
        self.broken
    }

    /// The text in `rest` and the number of bytes at its end that wait for more.
    fn decode(&mut self, at_end: bool) -> (String, usize) {
        let mut text = String::with_capacity(self.rest.len());
        let mut bytes = self.rest.as_slice();
        loop {
            let error = match std::str::from_utf8(bytes) {
                Ok(valid) => {
                    text.push_str(valid);
                    return (text, 0);
                }
                Err(error) => error,
            };
            let (valid, after) = bytes.split_at(error.valid_up_to());
            text.push_str(&String::from_utf8_lossy(valid));
            let skip = match error.error_len() {
                Some(length) => length,
                None if at_end => after.len(),
                None => return (text, after.len()),
            };
            self.broken = true;
            text.push(char::REPLACEMENT_CHARACTER);
            bytes = after.get(skip..).unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_do_not_change_the_text() {
        let bytes = b"a\xe8\xaf\xbb\xff\xfe\xf0\x9f\x8c\x8db\xe2\x86".as_slice();
        let whole = String::from_utf8_lossy(bytes);
        for cut in 0..=bytes.len() {
            let mut utf8 = Utf8::default();
            let (head, tail) = bytes.split_at(cut);
            let text = utf8.push(head) + &utf8.push(tail) + &utf8.finish();
            assert_eq!(text, whole);
            assert!(utf8.broken());
        }
    }
}
