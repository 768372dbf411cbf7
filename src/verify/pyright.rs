//! `pyright --outputjson`; lines and columns count from 0 there.

use super::place::shorten;
use super::{Finding, Severity};
use serde_json::Value;

pub(super) fn read(text: &str, root: &str) -> Option<Vec<Finding>> {
    // An installer may print lines before the object.
    let report: Value = serde_json::from_str(&text[text.find('{')?..]).ok()?;
    report["generalDiagnostics"]
        .as_array()?
        .iter()
        .map(|diagnostic| {
            let start = &diagnostic["range"]["start"];
            let number = |key: &str| {
                start[key].as_u64().and_then(|n| u32::try_from(n + 1).ok()).unwrap_or(0)
            };
            Some(Finding {
                file: shorten(diagnostic["file"].as_str().unwrap_or_default(), root),
                line: number("line"),
                column: number("character"),
                id: diagnostic["rule"].as_str().unwrap_or_default().to_owned(),
                severity: match diagnostic["severity"].as_str()? {
                    "error" => Severity::Error,
                    "warning" => Severity::Warning,
                    _ => Severity::Note,
                },
                message: super::first_line(diagnostic["message"].as_str()?),
            })
        })
        .collect()
}
