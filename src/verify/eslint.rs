//! eslint's `json` formatter: a list of files with their messages.

use super::place::shorten;
use super::{Finding, Severity};
use serde_json::Value;

pub(super) fn read(text: &str, root: &str) -> Option<Vec<Finding>> {
    let files: Vec<Value> = serde_json::from_str(text.trim()).ok()?;
    let mut findings = Vec::new();
    for file in &files {
        let path = shorten(file["filePath"].as_str()?, root);
        for message in file["messages"].as_array()? {
            let number = |key: &str| message[key].as_u64().and_then(|n| n.try_into().ok());
            findings.push(Finding {
                file: path.clone(),
                line: number("line").unwrap_or(0),
                column: number("column").unwrap_or(0),
                id: message["ruleId"].as_str().unwrap_or_default().to_owned(),
                severity: match message["severity"].as_u64() {
                    Some(1) => Severity::Warning,
                    Some(_) | None => Severity::Error,
                },
                message: super::first_line(message["message"].as_str()?),
            });
        }
    }
    Some(findings)
}
