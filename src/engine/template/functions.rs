//! What Hugging Face offers to chat templates beyond Jinja: `raise_exception`, `tojson`,
//! `strftime_now`, Python's string methods.
//!
//! Source: `_compile_jinja_template` of transformers. `tojson` writes what Python's `json.dumps`
//! with `ensure_ascii=False` writes; minijinja's own would escape `<`, `>`, `&` and `'`.

use minijinja::value::Kwargs;
use minijinja::{Environment, Error, ErrorKind, Value};
use serde_json::Value as Json;
use std::time::{SystemTime, UNIX_EPOCH};

/// Registers everything on `environment`.
pub(super) fn add_to(environment: &mut Environment<'static>) {
    environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    environment.add_function("raise_exception", |message: String| -> Result<Value, Error> {
        Err(Error::new(RAISED, message))
    });
    environment.add_filter("tojson", to_json);
    // Read once: a prompt must not change at midnight, in the middle of a conversation.
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    environment.add_function("strftime_now", move |format: String| strftime(&format, seconds));
}

/// The kind that `raise_exception` uses; no other part of minijinja raises it here.
const RAISED: ErrorKind = ErrorKind::InvalidOperation;

/// Whether the template itself refused, in words of its own.
pub(super) fn is_raised(error: &Error) -> bool {
    error.kind() == RAISED
}

fn to_json(value: &Value, options: Kwargs) -> Result<Value, Error> {
    let indent: Option<usize> = options.get("indent")?;
    let json = serde_json::to_value(value)
        .map_err(|error| Error::new(ErrorKind::BadSerialization, error.to_string()))?;
    let mut out = String::new();
    write_json(&json, indent, 0, &mut out);
    Ok(Value::from_safe_string(out))
}

fn write_json(value: &Json, indent: Option<usize>, depth: usize, out: &mut String) {
    match value {
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {
            out.push_str(&value.to_string());
        }
        Json::Array(items) => {
            let items = items.iter().map(|item| (None, item));
            write_items(('[', ']'), items, indent, depth, out);
        }
        Json::Object(fields) => {
            let items = fields.iter().map(|(key, item)| (Some(key), item));
            write_items(('{', '}'), items, indent, depth, out);
        }
    }
}

fn write_items<'a>(
    (open, close): (char, char),
    items: impl ExactSizeIterator<Item = (Option<&'a String>, &'a Json)>,
    indent: Option<usize>,
    depth: usize,
    out: &mut String,
) {
    out.push(open);
    let empty = items.len() == 0;
    for (i, (key, item)) in items.enumerate() {
        match (i, indent) {
            (0, None) => {}
            (_, None) => out.push_str(", "),
            (0, Some(width)) => line(width * (depth + 1), out),
            (_, Some(width)) => {
                out.push(',');
                line(width * (depth + 1), out);
            }
        }
        if let Some(key) = key {
            out.push_str(&Json::from(key.as_str()).to_string());
            out.push_str(": ");
        }
        write_json(item, indent, depth + 1, out);
    }
    if let (Some(width), false) = (indent, empty) {
        line(width * depth, out);
    }
    out.push(close);
}

fn line(spaces: usize, out: &mut String) {
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', spaces));
}

/// The directives chat templates use: `%d %m %Y %b %B %a %A %H %M %S %y %%`; UTC.
fn strftime(format: &str, seconds: u64) -> String {
    const MONTHS: &[&str] = &[
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    const DAYS: &[&str] =
        &["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let named = |names: &[&'static str], i: u64| {
        usize::try_from(i).ok().and_then(|i| names.get(i).copied()).unwrap_or("")
    };
    let (month_name, day_name) = (named(MONTHS, month - 1), named(DAYS, days % 7));
    let mut out = String::new();
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('d') => out.push_str(&format!("{day:02}")),
            Some('m') => out.push_str(&format!("{month:02}")),
            Some('Y') => out.push_str(&year.to_string()),
            Some('y') => out.push_str(&format!("{:02}", year % 100)),
            Some('b') => out.extend(month_name.chars().take(3)),
            Some('B') => out.push_str(month_name),
            Some('a') => out.extend(day_name.chars().take(3)),
            Some('A') => out.push_str(day_name),
            Some('H') => out.push_str(&format!("{:02}", second / 3600)),
            Some('M') => out.push_str(&format!("{:02}", second / 60 % 60)),
            Some('S') => out.push_str(&format!("{:02}", second % 60)),
            Some('%') => out.push('%'),
            Some(other) => out.extend(['%', other]),
            None => out.push('%'),
        }
    }
    out
}

/// Year, month and day of a day counted from 1970-01-01.
///
/// Source: H. Hinnant, "chrono-compatible low-level date algorithms", `civil_from_days`.
fn civil(days: u64) -> (u64, u64, u64) {
    let z = days + 719_468;
    let (era, doe) = (z / 146_097, z % 146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = doy - (153 * mp + 2) / 5 + 1;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    (yoe + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "01 Jan 1970 Thursday 00:00:00"),
            (951_782_399, "28 Feb 2000 Monday 23:59:59"),
            (951_782_400, "29 Feb 2000 Tuesday 00:00:00"),
            (1_796_126_645, "01 Dec 2026 Tuesday 12:04:05"),
        ] {
            assert_eq!(strftime("%d %b %Y %A %H:%M:%S", seconds), expected);
        }
    }

    #[test]
    fn json_is_written_as_python_writes_it() {
        let mut environment = Environment::new();
        add_to(&mut environment);
        let value = serde_json::json!({"b": [1, 2.5, "<é'\n"], "a": {}, "n": null});
        let render = |template: &str| {
            let context = Value::from(minijinja::value::Serde(serde_json::json!({"v": value})));
            environment.render_str(template, context).unwrap()
        };
        assert_eq!(render("{{ v | tojson }}"), r#"{"b": [1, 2.5, "<é'\n"], "a": {}, "n": null}"#);
        assert_eq!(
            render("{{ v | tojson(indent=2) }}"),
            "{\n  \"b\": [\n    1,\n    2.5,\n    \"<é'\\n\"\n  ],\n  \"a\": {},\n  \"n\": null\n}"
        );
    }
}
