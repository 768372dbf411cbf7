//! Types of arguments: reads what the model wrote as the type that the tool's JSON Schema asks for.
//!
//! Lives here: one field at a time. Does not live here: which fields a tool has. Invariant: a value is read in the
//! one way its type allows or refused; text of a string field is never touched.

use super::json_repair::{self, Json, PYTHON_LITERAL, Repairs};
use serde_json::{Number, Value};

/// A value of the right type, with the tolerances used.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Typed {
    /// The value.
    pub(super) value: Value,
    /// Tolerances, by name.
    pub(super) repairs: Repairs,
}

impl Typed {
    fn plain(value: Value) -> Self {
        Self { value, repairs: Repairs::new() }
    }

    fn noted(value: Value, repair: &'static str) -> Self {
        Self { value, repairs: Repairs::from([repair]) }
    }

    fn with(mut self, repair: &'static str) -> Self {
        self.repairs.insert(repair);
        self
    }
}

/// The types a schema allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Kinds {
    string: bool,
    integer: bool,
    number: bool,
    boolean: bool,
    array: bool,
    object: bool,
    null: bool,
}

impl Kinds {
    fn of(schema: &Value) -> Self {
        let mut kinds = Self::default();
        kinds.add(schema);
        kinds
    }

    fn add(&mut self, schema: &Value) {
        match schema.get("type") {
            Some(Value::String(name)) => self.name(name),
            Some(Value::Array(names)) => {
                names.iter().filter_map(Value::as_str).for_each(|name| self.name(name));
            }
            _ => {}
        }
        for key in ["anyOf", "oneOf", "allOf"] {
            if let Some(Value::Array(parts)) = schema.get(key) {
                parts.iter().for_each(|part| self.add(part));
            }
        }
    }

    fn name(&mut self, name: &str) {
        match name {
            "string" => self.string = true,
            "integer" => self.integer = true,
            "number" => self.number = true,
            "boolean" => self.boolean = true,
            "array" => self.array = true,
            "object" => self.object = true,
            "null" => self.null = true,
            _ => {}
        }
    }

    /// No type is named: anything goes.
    fn open(self) -> bool {
        self == Self::default()
    }
}

/// The allowed types in words, for a message.
pub(super) fn wanted(schema: &Value) -> String {
    let kinds = Kinds::of(schema);
    let names = [
        (kinds.string, "a string"),
        (kinds.integer, "an integer"),
        (kinds.number, "a number"),
        (kinds.boolean, "true or false"),
        (kinds.array, "a JSON array"),
        (kinds.object, "a JSON object"),
        (kinds.null, "null"),
    ];
    let mut words: Vec<String> =
        names.iter().filter(|(is, _)| *is).map(|(_, name)| (*name).to_owned()).collect();
    if let Some(allowed) = allowed(schema) {
        let list: Vec<String> = allowed.iter().map(ToString::to_string).collect();
        words = vec![format!("one of {}", list.join(", "))];
    }
    words.join(" or ")
}

fn allowed(schema: &Value) -> Option<&Vec<Value>> {
    schema.get("enum").and_then(Value::as_array)
}

fn permitted(schema: &Value, typed: Typed) -> Option<Typed> {
    match allowed(schema) {
        Some(values) if !values.contains(&typed.value) => None,
        _ => Some(typed),
    }
}

/// Reads the raw text of an XML parameter. `None`: it is not of the type.
pub(super) fn from_text(schema: &Value, text: &str) -> Option<Typed> {
    let kinds = Kinds::of(schema);
    permitted(schema, text_value(schema, kinds, text)?)
}

fn text_value(schema: &Value, kinds: Kinds, text: &str) -> Option<Typed> {
    let trimmed = text.trim();
    if kinds.open() {
        let exact = json_repair::read_all(trimmed).ok().filter(|(_, repairs)| repairs.is_empty());
        let value = exact.and_then(|(json, _)| json.to_value());
        return Some(Typed::plain(value.unwrap_or_else(|| Value::String(text.into()))));
    }
    if kinds.null && trimmed == "null" {
        return Some(Typed::plain(Value::Null));
    }
    if kinds.null && trimmed == "None" {
        return Some(Typed::noted(Value::Null, PYTHON_LITERAL));
    }
    if kinds.string {
        // Another type next to string counts only where it cannot be mistaken.
        let other = (kinds.array || kinds.object) && trimmed.starts_with(['[', '{']);
        let exact = other.then(|| structured(schema, kinds, trimmed)).flatten();
        return Some(match exact {
            Some(typed) if typed.repairs.is_empty() => typed,
            _ => Typed::plain(Value::String(text.into())),
        });
    }
    scalar(kinds, trimmed).or_else(|| structured(schema, kinds, trimmed))
}

/// A boolean or a number, blanks already trimmed.
fn scalar(kinds: Kinds, text: &str) -> Option<Typed> {
    if kinds.boolean {
        for (word, python, value) in [("true", "True", true), ("false", "False", false)] {
            if text == python {
                return Some(Typed::noted(Value::Bool(value), PYTHON_LITERAL));
            }
            if text.eq_ignore_ascii_case(word) {
                return Some(Typed::plain(Value::Bool(value)));
            }
        }
    }
    let number = if kinds.integer { integer(text) } else { None };
    let number = number.or_else(|| if kinds.number { any_number(text) } else { None });
    number.map(|number| Typed::plain(Value::Number(number)))
}

/// Splits sign, digits before the point, digits behind it, and exponent; `None` if it is not such a number.
fn decimal(text: &str) -> Option<(&str, &str, &str, &str)> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => {
            let digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
            if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
                return None;
            }
            (mantissa, exponent)
        }
        None => (rest, ""),
    };
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() && part.is_empty() || !digits(whole) || !digits(part) {
        return None;
    }
    Some((sign, whole, part, exponent))
}

/// An integer without loss; `007` is 7 and `3.0` is 3.
fn integer(text: &str) -> Option<Number> {
    let (sign, whole, part, exponent) = decimal(text)?;
    if !exponent.is_empty() {
        let value: f64 = text.parse().ok()?;
        // Beyond 2^53 a binary fraction can no longer prove which integer was meant.
        let exact = value.fract() == 0.0 && value.abs() <= 9_007_199_254_740_992.0;
        return exact
            .then(|| format!("{value:.0}"))
            .and_then(|digits| json_repair::number(&digits));
    }
    if part.bytes().any(|b| b != b'0') {
        return None;
    }
    let digits = whole.trim_start_matches('0');
    let digits = if digits.is_empty() { "0" } else { digits };
    json_repair::number(&format!("{sign}{digits}"))
}

fn any_number(text: &str) -> Option<Number> {
    let (_, _, part, exponent) = decimal(text)?;
    if part.is_empty() && exponent.is_empty() && !text.contains('.') {
        return integer(text);
    }
    text.parse::<f64>().ok().and_then(Number::from_f64)
}

/// An array or an object, written as JSON, in Python form, or as a JSON string that holds the JSON.
fn structured(schema: &Value, kinds: Kinds, text: &str) -> Option<Typed> {
    if !kinds.array && !kinds.object {
        return None;
    }
    let bare = |text: &str| wrapped(schema, kinds, text);
    let Ok((json, repairs)) = json_repair::read_all(text) else {
        return bare(text);
    };
    let typed = match &json {
        Json::Array(_) | Json::Object(_) => from_json_kinds(schema, kinds, &json),
        Json::String(inner) => held(schema, kinds, inner).or_else(|| bare(inner)),
        Json::Null | Json::Bool(_) | Json::Number(_) => bare(text),
    };
    typed.map(|mut typed| {
        typed.repairs.extend(repairs);
        typed
    })
}

/// A string that holds the JSON of an array or object.
fn held(schema: &Value, kinds: Kinds, inner: &str) -> Option<Typed> {
    let (json, repairs) = json_repair::read_all(inner).ok()?;
    match &json {
        Json::Array(_) | Json::Object(_) => {
            let mut typed = from_json_kinds(schema, kinds, &json)?.with("double_encoded");
            typed.repairs.extend(repairs);
            Some(typed)
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => None,
    }
}

/// One bare word where an array of strings is wanted.
fn wrapped(schema: &Value, kinds: Kinds, text: &str) -> Option<Typed> {
    let items = array_items(schema)?;
    let fits = kinds.array && Kinds::of(items).string && bare_word(text);
    let element = permitted(items, Typed::plain(Value::String(text.into()))).filter(|_| fits)?;
    Some(Typed::noted(Value::Array(vec![element.value]), "wrapped_scalar"))
}

/// No blank, no quote, no bracket in front, and no comma that could separate two words.
fn bare_word(text: &str) -> bool {
    let mut depth = 0_i32;
    let commas = text.chars().any(|c| {
        match c {
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => depth -= 1,
            _ => {}
        }
        c == ',' && depth <= 0
    });
    !text.is_empty()
        && !commas
        && !text.starts_with(['[', '{', '(', '<'])
        && !text.contains(|c: char| c.is_whitespace() || c == '"' || c == '\'')
}

fn array_items(schema: &Value) -> Option<&Value> {
    if let Some(items) = schema.get("items") {
        return Some(items);
    }
    let parts = ["anyOf", "oneOf", "allOf"].iter().filter_map(|key| schema.get(key)?.as_array());
    parts.flatten().find_map(array_items)
}

fn properties(schema: &Value) -> Option<&serde_json::Map<String, Value>> {
    if let Some(Value::Object(properties)) = schema.get("properties") {
        return Some(properties);
    }
    let parts = ["anyOf", "oneOf", "allOf"].iter().filter_map(|key| schema.get(key)?.as_array());
    parts.flatten().find_map(properties)
}

/// Reads a JSON value. `None`: it is not of the type.
pub(super) fn from_json(schema: &Value, json: &Json) -> Option<Typed> {
    permitted(schema, from_json_kinds(schema, Kinds::of(schema), json)?)
}

fn from_json_kinds(schema: &Value, kinds: Kinds, json: &Json) -> Option<Typed> {
    if kinds.open() {
        return json.to_value().map(Typed::plain);
    }
    match json {
        Json::Null => kinds.null.then(|| Typed::plain(Value::Null)),
        Json::Bool(value) if kinds.boolean => Some(Typed::plain(Value::Bool(*value))),
        Json::Bool(value) => as_text(kinds, &value.to_string()),
        Json::Number(text) => scalar(kinds, text).or_else(|| as_text(kinds, text)),
        Json::String(text) if kinds.string => Some(Typed::plain(Value::String(text.clone()))),
        Json::String(text) => from_string(schema, kinds, text),
        Json::Array(items) => elements(schema, kinds, items),
        Json::Object(entries) => members(schema, kinds, json, entries),
    }
}

fn as_text(kinds: Kinds, text: &str) -> Option<Typed> {
    kinds.string.then(|| Typed::noted(Value::String(text.into()), "coerced_type"))
}

/// A JSON string where another type is wanted.
fn from_string(schema: &Value, kinds: Kinds, text: &str) -> Option<Typed> {
    let trimmed = text.trim();
    if kinds.null && (trimmed == "null" || trimmed == "None") {
        return Some(Typed::noted(Value::Null, "coerced_type"));
    }
    if let Some(typed) = scalar(kinds, trimmed) {
        return Some(Typed::noted(typed.value, "coerced_type"));
    }
    if !kinds.array && !kinds.object {
        return None;
    }
    held(schema, kinds, trimmed).or_else(|| wrapped(schema, kinds, text))
}

fn elements(schema: &Value, kinds: Kinds, items: &[Json]) -> Option<Typed> {
    if !kinds.array {
        return None;
    }
    let any = Value::Bool(true);
    let item_schema = array_items(schema).unwrap_or(&any);
    let mut repairs = Repairs::new();
    let mut values = Vec::with_capacity(items.len());
    for item in items {
        let typed = from_json(item_schema, item)?;
        repairs.extend(typed.repairs);
        values.push(typed.value);
    }
    Some(Typed { value: Value::Array(values), repairs })
}

fn members(schema: &Value, kinds: Kinds, json: &Json, entries: &[(String, Json)]) -> Option<Typed> {
    if !kinds.object {
        return None;
    }
    let mut value = json.to_value()?;
    let mut repairs = Repairs::new();
    if let (Some(properties), Some(map)) = (properties(schema), value.as_object_mut()) {
        for (key, member) in entries {
            let Some(member_schema) = properties.get(key) else {
                continue;
            };
            let typed = from_json(member_schema, member)?;
            repairs.extend(typed.repairs);
            map.insert(key.clone(), typed.value);
        }
    }
    Some(Typed { value, repairs })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn text(schema: Value, text: &str) -> Option<(Value, Vec<&'static str>)> {
        from_text(&schema, text).map(|t| (t.value, t.repairs.into_iter().collect()))
    }

    #[test]
    fn numbers_are_read_exactly_or_refused() {
        let int = json!({"type": "integer"});
        for (given, wanted) in [
            ("007", Some(json!(7))),
            (" 3.0\n", Some(json!(3))),
            ("-12", Some(json!(-12))),
            ("+5", Some(json!(5))),
            ("1e3", Some(json!(1000))),
            ("9007199254740993", Some(json!(9_007_199_254_740_993_u64))),
            ("99999999999999999999999", None),
            ("3.5", None),
            ("0x10", None),
            ("1_000", None),
            ("\"3\"", None),
            ("", None),
            ("null", None),
            ("NaN", None),
        ] {
            assert_eq!(text(int.clone(), given).map(|t| t.0), wanted, "{given}");
        }
        let number = json!({"type": "number"});
        assert_eq!(text(number.clone(), "2.5"), Some((json!(2.5), vec![])));
        assert_eq!(text(number.clone(), "2"), Some((json!(2), vec![])));
        assert_eq!(text(number, "inf"), None);
    }

    #[test]
    fn a_string_field_stays_text() {
        for given in ["42", "true", "None", " null ", "[1]", "{\"a\": 1}", "\"q\""] {
            assert_eq!(text(json!({"type": "string"}), given), Some((json!(given), vec![])));
        }
    }

    #[test]
    fn arrays_and_objects_take_the_named_tolerances_only() {
        let words = json!({"type": "array", "items": {"type": "string"}});
        for (given, wanted) in [
            ("[\"a\"]", Some((json!(["a"]), vec![]))),
            ("['a']", Some((json!(["a"]), vec!["python_literal"]))),
            ("\"[\\\"a\\\"]\"", Some((json!(["a"]), vec!["double_encoded"]))),
            ("src/a.rs", Some((json!(["src/a.rs"]), vec!["wrapped_scalar"]))),
            ("**/*.{ts,tsx}", Some((json!(["**/*.{ts,tsx}"]), vec!["wrapped_scalar"]))),
            ("a b", None),
            ("a,b", None),
            ("[\"a\", \"b", None),
            ("[\"a\", \"b\"", None),
            ("{\"a\": 1}", None),
        ] {
            assert_eq!(text(words.clone(), given), wanted, "{given}");
        }
        let numbers = json!({"type": "array", "items": {"type": "integer"}});
        assert_eq!(text(numbers, "5"), None);
        let object = json!({"type": "object"});
        assert_eq!(text(object.clone(), "{'a': True}").unwrap().0, json!({"a": true}));
        assert_eq!(text(object, "[]"), None);
    }
}
