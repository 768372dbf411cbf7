//! One tool as its file in `tools/` says it: front matter between `+++` lines (TOML), then the text
//! the model reads.
//!
//! Front matter: `name`, `kind` (read, edit, execute, verify), `order`, a `[parameters.<name>]` table
//! of JSON Schema for each argument (with `required = true` where it must be given), `[[examples]]`,
//! and for a command tool the `command` it runs.

use crate::protocol::{Args, ToolKind, ToolSpec};
use serde::Deserialize;
use serde_json::{Map, Value};

/// A tool and what belongs to it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDef {
    /// What the model sees.
    pub spec: ToolSpec,
    /// Place in the list; equal ones are sorted by name.
    pub order: u32,
    /// A shell line for a tool without code of its own; `{name}` stands for an argument, quoted.
    pub command: Option<String>,
    /// Calls that must be valid and, where they say so, give this output.
    pub examples: Vec<Example>,
}

/// An example call; also a test.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Example {
    /// Arguments of the call.
    pub args: Args,
    /// Files of the folder it runs in; path to content.
    #[serde(default)]
    pub files: Map<String, Value>,
    /// The line shown for it before it runs.
    pub title: Option<String>,
    /// What the model must read; without it only the arguments are checked.
    pub output: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FrontMatter {
    name: String,
    kind: ToolKind,
    #[serde(default = "last")]
    order: u32,
    command: Option<String>,
    #[serde(default)]
    parameters: Map<String, Value>,
    #[serde(default)]
    examples: Vec<Example>,
}

fn last() -> u32 {
    1000
}

/// Reads one file. The error is one line that says what is wrong with it.
///
/// # Errors
/// Missing or bad front matter, no description, a bad name, a parameter that is no table.
pub fn parse(text: &str) -> Result<ToolDef, String> {
    let text = text.replace("\r\n", "\n");
    let (front, body) = text
        .strip_prefix("+++\n")
        .and_then(|rest| rest.split_once("\n+++\n"))
        .ok_or("no front matter between +++ lines")?;
    let front: FrontMatter = toml::from_str(front).map_err(|error| error.message().to_owned())?;
    let description = body.trim().to_owned();
    if description.is_empty() {
        return Err("no description after the front matter".to_owned());
    }
    let letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if front.name.is_empty() || !front.name.chars().all(letter) {
        return Err(format!("{:?} is no name for a tool: a-z, 0-9 and _ only", front.name));
    }
    let parameters = schema(front.parameters)?;
    let FrontMatter { name, kind, order, command, examples, .. } = front;
    let spec = ToolSpec { name, kind, description, parameters };
    Ok(ToolDef { spec, order, command, examples })
}

/// `{"type": "object", "properties": ..., "required": [...]}`, in the order written.
fn schema(parameters: Map<String, Value>) -> Result<Value, String> {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for (name, value) in parameters {
        let Value::Object(mut property) = value else {
            return Err(format!("parameter {name} is no table"));
        };
        if property.shift_remove("required") == Some(Value::Bool(true)) {
            required.push(Value::String(name.clone()));
        }
        properties.insert(name, Value::Object(property));
    }
    Ok(serde_json::json!({ "type": "object", "properties": properties, "required": required }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "+++\nname = \"make\"\nkind = \"execute\"\ncommand = \"make {target}\"\n\
        [parameters.target]\ntype = \"string\"\nrequired = true\n\
        [parameters.also]\ntype = \"integer\"\n+++\n\nRuns make.\n";

    #[test]
    fn a_file_becomes_a_schema_in_the_order_written() {
        let tool = parse(GOOD).unwrap();
        assert_eq!((tool.spec.name.as_str(), tool.spec.kind), ("make", ToolKind::Execute));
        assert_eq!(tool.spec.description, "Runs make.");
        assert_eq!(
            tool.spec.parameters.to_string(),
            r#"{"type":"object","properties":{"target":{"type":"string"},"also":{"type":"integer"}},"required":["target"]}"#
        );
        assert_eq!(parse(&GOOD.replace('\n', "\r\n")).unwrap(), tool);
    }

    #[test]
    fn a_bad_file_says_what_is_wrong() {
        for (text, reason) in [
            ("no front matter", "no front matter"),
            (&GOOD.replace("Runs make.", ""), "no description"),
            (&GOOD.replace("\"make\"", "\"Make it\""), "is no name"),
            (&GOOD.replace("kind", "sort"), "unknown field"),
            (&GOOD.replace("execute", "destroy"), "unknown variant"),
            (&GOOD.replace("[parameters.target]", "[parameters]"), "is no table"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
    }
}
