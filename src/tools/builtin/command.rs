//! Command tools: a tool file with a shell line in which arguments are filled in, quoted.

use super::{Job, Outcome, shell};
use crate::protocol::Args;
use serde_json::Value;

pub(in crate::tools) async fn run(job: &Job<'_>, template: &str) -> Outcome {
    let line = line(template, job.args);
    shell::run_line(job, line, job.cx.settings.timeout).await
}

/// The shell line: `{name}` becomes the argument, quoted as one word; a list becomes several words;
/// an argument that was not given becomes nothing.
pub(in crate::tools) fn line(template: &str, args: &Args) -> String {
    let mut line = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        line.push_str(before);
        let name = after.split_once('}').filter(|(name, _)| is_name(name));
        match name {
            Some((name, behind)) => {
                line.push_str(&args.get(name).map(quoted).unwrap_or_default());
                rest = behind;
            }
            None => {
                line.push('{');
                rest = after;
            }
        }
    }
    line + rest
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

fn quoted(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Array(items) => items.iter().map(quoted).collect::<Vec<_>>().join(" "),
        Value::String(text) => quote(text),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => quote(&value.to_string()),
    }
}

/// One word for a POSIX shell.
fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn arguments_stay_one_word_whatever_they_hold() {
        let args =
            serde_json::json!({ "a": "x; rm $HOME 'q'", "n": 3, "l": ["b", "c d"], "none": null });
        let args = args.as_object().unwrap();
        for (template, expected) in [
            ("make {a}", r"make 'x; rm $HOME '\''q'\'''"),
            ("run -n {n} {l}", "run -n '3' 'b' 'c d'"),
            ("run {none}{missing}", "run "),
            ("awk '{ print $1 }' {", "awk '{ print $1 }' {"),
        ] {
            assert_eq!(line(template, args), expected);
        }
    }
}
