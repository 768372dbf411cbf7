//! Reads JSON as models write it, and says which damage had to be repaired.
//!
//! Lives here: a JSON reader that also takes raw control characters, trailing commas, invalid escapes, Python
//! literals and missing last braces. Does not live here: types of fields. Invariant: a repair is made only where
//! there is one reading; unescaped quotes are never guessed.

use serde_json::{Map, Number, Value};
use std::collections::BTreeSet;

/// Tolerances used, by name.
pub(super) type Repairs = BTreeSet<&'static str>;

/// A raw control character inside a string.
pub(super) const RAW_CONTROL_CHAR: &str = "raw_control_char";
/// A comma before a closing bracket.
pub(super) const TRAILING_COMMA: &str = "trailing_comma";
/// A backslash before a character that needs none.
pub(super) const INVALID_ESCAPE: &str = "invalid_escape";
/// `True`, `False`, `None` or a string in single quotes.
pub(super) const PYTHON_LITERAL: &str = "python_literal";
/// The last closing braces are missing.
pub(super) const MISSING_BRACE: &str = "missing_brace";

/// Nesting that is still read; more is an error, so that the stack stays small.
const MAX_DEPTH: usize = 128;

/// A JSON value that keeps number texts and repeated keys.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Json {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// A number, as written.
    Number(String),
    /// A string, decoded.
    String(String),
    /// An array.
    Array(Vec<Json>),
    /// An object: all entries in order, repeated keys included.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// The value for programs. `None`: an integer that no 64 bits hold, or a key with two different values.
    pub(super) fn to_value(&self) -> Option<Value> {
        Some(match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Number(text) => Value::Number(number(text)?),
            Self::String(text) => Value::String(text.clone()),
            Self::Array(items) => {
                Value::Array(items.iter().map(Self::to_value).collect::<Option<_>>()?)
            }
            Self::Object(entries) => {
                let mut map = Map::new();
                for (key, json) in entries {
                    let value = json.to_value()?;
                    if map.insert(key.clone(), value.clone()).is_some_and(|old| old != value) {
                        return None;
                    }
                }
                Value::Object(map)
            }
        })
    }
}

/// A number without loss: integers stay integers, or there is none.
pub(super) fn number(text: &str) -> Option<Number> {
    if text.bytes().all(|b| b.is_ascii_digit() || b == b'-') {
        return match text.parse::<i64>() {
            Ok(value) => Some(value.into()),
            Err(_) => text.parse::<u64>().ok().map(Number::from),
        };
    }
    text.parse::<f64>().ok().and_then(Number::from_f64)
}

/// Why a text is not JSON, even with repairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JsonError {
    /// Byte offset of the trouble.
    pub(super) at: usize,
    /// The text ended too early, as opposed to going wrong.
    pub(super) unfinished: bool,
}

/// A value read from the front of a text.
#[derive(Clone, Debug)]
pub(super) struct Read {
    /// The value.
    pub(super) json: Json,
    /// Offset after it.
    pub(super) end: usize,
    /// Damage repaired.
    pub(super) repairs: Repairs,
}

/// Reads one value at `from`. `is_end` says whether a `<` outside any string is the closing tag of the call; there,
/// and only there, missing last braces are added.
pub(super) fn read(
    text: &str,
    from: usize,
    is_end: &dyn Fn(usize) -> bool,
) -> Result<Read, JsonError> {
    let mut reader = Reader { text, at: from, repairs: Repairs::new(), is_end };
    reader.blanks();
    let json = reader.value(0)?;
    Ok(Read { json, end: reader.at, repairs: reader.repairs })
}

/// Reads a text that is one value and nothing else.
pub(super) fn read_all(text: &str) -> Result<(Json, Repairs), JsonError> {
    let read = read(text, 0, &|_| false)?;
    match text.get(read.end..).map(str::trim) {
        Some("") => Ok((read.json, read.repairs)),
        _ => Err(JsonError { at: read.end, unfinished: false }),
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    repairs: Repairs,
    is_end: &'a dyn Fn(usize) -> bool,
}

type Result1<T> = Result<T, JsonError>;

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn wrong<T>(&self) -> Result1<T> {
        Err(JsonError { at: self.at, unfinished: self.at >= self.text.len() })
    }

    /// The closing tag of the call stands here: only braces may be missing.
    fn at_closing_tag(&self) -> bool {
        self.peek() == Some(b'<') && (self.is_end)(self.at)
    }

    fn word(&mut self, word: &str) -> bool {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let found = rest
            .strip_prefix(word)
            .is_some_and(|after| !after.starts_with(|c: char| c.is_alphanumeric() || c == '_'));
        if found {
            self.at += word.len();
        }
        found
    }

    fn value(&mut self, depth: usize) -> Result1<Json> {
        if depth > MAX_DEPTH {
            return Err(JsonError { at: self.at, unfinished: false });
        }
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string(b'"').map(Json::String),
            Some(b'\'') => {
                self.repairs.insert(PYTHON_LITERAL);
                self.string(b'\'').map(Json::String)
            }
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) | None => self.literal(),
        }
    }

    fn literal(&mut self) -> Result1<Json> {
        let words = [
            ("true", Json::Bool(true), false),
            ("false", Json::Bool(false), false),
            ("null", Json::Null, false),
            ("True", Json::Bool(true), true),
            ("False", Json::Bool(false), true),
            ("None", Json::Null, true),
        ];
        for (word, json, python) in words {
            if self.word(word) {
                if python {
                    self.repairs.insert(PYTHON_LITERAL);
                }
                return Ok(json);
            }
        }
        self.wrong()
    }

    fn number(&mut self) -> Result1<Json> {
        let start = self.at;
        while matches!(self.peek(), Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')) {
            self.at += 1;
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        // The standard reader is the judge of the grammar; the text is kept because it is exact.
        if serde_json::from_str::<Number>(text).is_ok() {
            Ok(Json::Number(text.into()))
        } else {
            Err(JsonError { at: start, unfinished: self.at >= self.text.len() })
        }
    }

    fn array(&mut self, depth: usize) -> Result1<Json> {
        let mut items = Vec::new();
        self.at += 1;
        loop {
            self.blanks();
            if self.peek() == Some(b']') {
                self.at += 1;
                return Ok(Json::Array(items));
            }
            items.push(self.value(depth + 1)?);
            self.blanks();
            match self.peek() {
                Some(b',') => self.comma(b']')?,
                Some(b']') => {}
                Some(_) | None => return self.wrong(),
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result1<Json> {
        let mut entries = Vec::new();
        self.at += 1;
        loop {
            self.blanks();
            if self.peek() == Some(b'}') {
                self.at += 1;
                return Ok(Json::Object(entries));
            }
            let quote = match self.peek() {
                Some(b'"') => b'"',
                Some(b'\'') => {
                    self.repairs.insert(PYTHON_LITERAL);
                    b'\''
                }
                Some(_) | None => return self.wrong(),
            };
            let key = self.string(quote)?;
            self.blanks();
            if self.peek() != Some(b':') {
                return self.wrong();
            }
            self.at += 1;
            self.blanks();
            entries.push((key, self.value(depth + 1)?));
            self.blanks();
            if self.at_closing_tag() {
                self.repairs.insert(MISSING_BRACE);
                return Ok(Json::Object(entries));
            }
            match self.peek() {
                Some(b',') => self.comma(b'}')?,
                Some(b'}') => {}
                Some(_) | None => return self.wrong(),
            }
        }
    }

    /// Takes a comma, and further ones that only precede the closing bracket.
    fn comma(&mut self, close: u8) -> Result1<()> {
        self.at += 1;
        self.blanks();
        let before = self.at;
        while self.peek() == Some(b',') {
            self.at += 1;
            self.blanks();
        }
        if self.peek() == Some(close) {
            self.repairs.insert(TRAILING_COMMA);
        } else if self.at != before {
            return Err(JsonError { at: before, unfinished: self.at >= self.text.len() });
        }
        Ok(())
    }

    fn string(&mut self, quote: u8) -> Result1<String> {
        let mut out = String::new();
        self.at += 1;
        loop {
            let rest = self.text.get(self.at..).unwrap_or_default();
            let Some(c) = rest.chars().next() else {
                return self.wrong();
            };
            self.at += c.len_utf8();
            match c {
                c if c == char::from(quote) => return Ok(out),
                '\\' => self.escape(quote, &mut out)?,
                c if (c as u32) < 0x20 => {
                    self.repairs.insert(RAW_CONTROL_CHAR);
                    out.push(c);
                }
                c => out.push(c),
            }
        }
    }

    fn escape(&mut self, quote: u8, out: &mut String) -> Result1<()> {
        let Some(byte) = self.peek() else {
            return self.wrong();
        };
        let plain = match byte {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'\'' if quote == b'\'' => '\'',
            b'u' => return self.unicode(out),
            _ => {
                // Kept as written: the backslash was meant for whoever reads the value.
                self.repairs.insert(INVALID_ESCAPE);
                out.push('\\');
                return Ok(());
            }
        };
        self.at += 1;
        out.push(plain);
        Ok(())
    }

    fn unicode(&mut self, out: &mut String) -> Result1<()> {
        let Some(first) = self.hex4(self.at + 1) else {
            if self.at + 5 > self.text.len() {
                self.at = self.text.len();
                return self.wrong();
            }
            self.repairs.insert(INVALID_ESCAPE);
            out.push('\\');
            return Ok(());
        };
        self.at += 5;
        let mut code = first;
        if (0xD800..0xDC00).contains(&first)
            && self.text.get(self.at..).is_some_and(|rest| rest.starts_with("\\u"))
            && let Some(second) = self.hex4(self.at + 2)
            && (0xDC00..0xE000).contains(&second)
        {
            self.at += 6;
            code = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
        }
        out.push(char::from_u32(code).unwrap_or_else(|| {
            self.repairs.insert(INVALID_ESCAPE);
            char::REPLACEMENT_CHARACTER
        }));
        Ok(())
    }

    fn hex4(&self, at: usize) -> Option<u32> {
        let digits = self.text.get(at..at + 4)?;
        if digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            u32::from_str_radix(digits, 16).ok()
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> (Value, Vec<&'static str>) {
        let (json, repairs) = read_all(text).unwrap();
        (json.to_value().unwrap(), repairs.into_iter().collect())
    }

    #[test]
    fn agrees_with_the_standard_reader_on_json() {
        for text in [
            r#"{"a": [1, -2.5e3, true, null, "x\n\u00e9\ud83d\ude00"], "b": {}}"#,
            "[]",
            "\"</tool_call>\"",
            "18446744073709551615",
            "-9223372036854775808",
        ] {
            let (got, repairs) = value(text);
            assert_eq!(got, serde_json::from_str::<Value>(text).unwrap(), "{text}");
            assert!(repairs.is_empty(), "{text}");
        }
    }

    #[test]
    fn repairs_are_named() {
        for (text, wanted, repair) in [
            ("[\"a\nb\"]", serde_json::json!(["a\nb"]), RAW_CONTROL_CHAR),
            ("[1,,]", serde_json::json!([1]), TRAILING_COMMA),
            (r#"["\d+"]"#, serde_json::json!(["\\d+"]), INVALID_ESCAPE),
            (r#"["\u12"]"#, serde_json::json!(["\\u12"]), INVALID_ESCAPE),
            ("{'a': None}", serde_json::json!({"a": null}), PYTHON_LITERAL),
        ] {
            assert_eq!(value(text), (wanted, vec![repair]), "{text}");
        }
    }

    #[test]
    fn what_has_two_readings_is_refused() {
        for text in [
            r#"{"a": "say "hi""}"#,
            "{a: 1}",
            "[1 2]",
            "[1,,2]",
            "[007]",
            "{\"a\": 1",
            "[\"a\", \"b\"",
            "",
            &"[".repeat(100_000),
        ] {
            assert!(read_all(text).is_err(), "{text:.20}");
        }
    }

    #[test]
    fn integers_are_exact_or_refused() {
        assert_eq!(number("9007199254740993"), Some(9_007_199_254_740_993_u64.into()));
        assert_eq!(number("123456789012345678901234567890"), None);
    }
}
