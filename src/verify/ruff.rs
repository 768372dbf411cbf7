//! `ruff check --output-format=json`: a list of violations.

use super::place::shorten;
use super::{Finding, Severity};
use serde_json::Value;

pub(super) fn read(text: &str, root: &str) -> Option<Vec<Finding>> {
    let violations: Vec<Value> = serde_json::from_str(text.trim()).ok()?;
    violations
        .iter()
        .map(|violation| {
            let place = &violation["location"];
            let number = |key: &str| place[key].as_u64().and_then(|n| n.try_into().ok());
            Some(Finding {
                file: shorten(violation["filename"].as_str()?, root),
                line: number("row").unwrap_or(0),
                column: number("column").unwrap_or(0),
                id: violation["code"].as_str().unwrap_or("syntax").to_owned(),
                severity: match violation["severity"].as_str() {
                    Some("warning") => Severity::Warning,
                    Some("info" | "help") => Severity::Note,
                    Some(_) | None => Severity::Error,
                },
                message: super::first_line(violation["message"].as_str()?),
            })
        })
        .collect()
}
