//! From a name and raw arguments to a call that may be run, or to what is wrong with it.
//!
//! Lives here: what both dialects share: names, fields, repeats, required fields. Does not live here: syntax.
//! Invariant: a call comes out only if every required field is there once and of the right type.

use super::json_repair::Json;
use super::schema::{self, Typed};
use super::{Context, Outcome, problem};
use crate::protocol::{Args, CallId, CallProblem, ToolCall, ToolSpec};
use serde_json::Value;

/// What the model wrote for one argument.
#[derive(Clone, Debug)]
pub(super) enum Raw<'a> {
    /// Text between tags.
    Text(&'a str),
    /// A JSON value.
    Json(&'a Json),
}

/// A name without the quotes and blanks that models put around names.
pub(super) fn clean(name: &str) -> &str {
    name.trim_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`'))
}

/// Finds the name that was meant among those known; the flag tells that it had to be cleaned.
pub(super) fn resolve<'a>(
    raw: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> Option<(&'a str, bool)> {
    if let Some(name) = known.clone().find(|name| *name == raw) {
        return Some((name, false));
    }
    let cleaned = clean(raw);
    if let Some(name) = known.clone().find(|name| *name == cleaned) {
        return Some((name, true));
    }
    let mut alike = known.filter(|name| name.to_lowercase() == cleaned.to_lowercase());
    match (alike.next(), alike.next()) {
        (Some(name), None) => Some((name, true)),
        _ => None,
    }
}

/// True if `name` can be a name at all: one word without brackets, quotes or an equals sign.
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.contains(|c: char| c.is_whitespace() || c.is_control() || "{}<>\"'`=".contains(c))
}

/// Parameter names of a tool.
pub(super) fn fields(tool: &ToolSpec) -> impl Iterator<Item = &str> + Clone {
    let properties = tool.parameters.get("properties").and_then(Value::as_object);
    properties.into_iter().flat_map(|map| map.keys().map(String::as_str))
}

/// Collects one call.
struct Draft<'a> {
    tool: &'a ToolSpec,
    args: Args,
    repairs: Vec<String>,
    problems: Vec<CallProblem>,
    /// Fields that were written, even if wrongly.
    seen: Vec<String>,
}

impl Draft<'_> {
    fn note(&mut self, repair: impl Into<String>) {
        let repair = repair.into();
        if !self.repairs.contains(&repair) {
            self.repairs.push(repair);
        }
    }

    fn fail(&mut self, problem: CallProblem) {
        if !self.problems.iter().any(|known| known.code == problem.code) {
            self.problems.push(problem);
        }
    }

    fn take(&mut self, raw_name: &str, raw: &Raw<'_>) {
        let parameters = &self.tool.parameters;
        let Some((name, cleaned)) = resolve(raw_name, fields(self.tool)) else {
            self.take_extra(clean(raw_name), raw);
            return;
        };
        if cleaned {
            self.note("name_cleaned");
        }
        let name = name.to_owned();
        let field = parameters.get("properties").and_then(|map| map.get(&name));
        let field = field.cloned().unwrap_or(Value::Bool(true));
        match typed(&field, raw) {
            Some(typed) => self.put(name, typed),
            None => {
                self.fail(problem::bad_type(&self.tool.name, &name, &schema::wanted(&field)));
                self.seen.push(name);
            }
        }
    }

    /// A field the schema does not name: dropped, unless the schema says that more is welcome.
    fn take_extra(&mut self, name: &str, raw: &Raw<'_>) {
        if self.tool.parameters.get("additionalProperties") == Some(&Value::Bool(true))
            && let Some(typed) = typed(&Value::Bool(true), raw)
        {
            self.put(name.to_owned(), typed);
        } else {
            self.note(format!("ignored_param:{name}"));
        }
    }

    fn put(&mut self, name: String, typed: Typed) {
        match self.args.get(&name) {
            Some(old) if *old == typed.value => self.note("duplicate_param"),
            Some(_) => self.fail(problem::duplicate(&self.tool.name, &name)),
            None => {
                self.args.insert(name.clone(), typed.value);
                self.seen.push(name);
            }
        }
        for repair in typed.repairs {
            self.note(repair);
        }
    }

    fn require(&mut self) {
        let required = self.tool.parameters.get("required").and_then(Value::as_array);
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            if !self.seen.iter().any(|seen| seen == name) {
                self.fail(problem::missing_required(&self.tool.name, name));
            }
        }
    }
}

fn typed(field: &Value, raw: &Raw<'_>) -> Option<Typed> {
    match raw {
        Raw::Text(text) => schema::from_text(field, text),
        Raw::Json(json) => schema::from_json(field, json),
    }
}

/// Checks a call against the tools on offer. `repairs` are those the syntax already needed.
pub(super) fn assemble<'a>(
    context: &Context,
    raw_name: &str,
    arguments: impl Iterator<Item = (&'a str, Raw<'a>)>,
    repairs: Vec<String>,
) -> Outcome {
    let Some((tool, cleaned)) = context.tool(raw_name) else {
        let names = context.tools.iter().map(|tool| tool.name.as_str());
        return Outcome::Bad(vec![problem::unknown_tool(clean(raw_name), names)]);
    };
    let mut draft =
        Draft { tool, args: Args::new(), repairs, problems: Vec::new(), seen: Vec::new() };
    if cleaned {
        draft.note("name_cleaned");
    }
    for (name, raw) in arguments {
        draft.take(name, &raw);
    }
    draft.require();
    if draft.problems.is_empty() {
        let call = ToolCall { id: CallId::default(), name: tool.name.clone(), args: draft.args };
        Outcome::Call { call, repairs: draft.repairs }
    } else {
        Outcome::Bad(draft.problems)
    }
}
