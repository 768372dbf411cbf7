//! What is wrong with a call, as a code for the program and one sentence for the model.
//!
//! Lives here: the closed list of codes. Does not live here: the decision that something is wrong.
//! Invariant: every sentence says what to write instead.

use super::Dialect;
use crate::protocol::CallProblem;

fn problem(code: String, message: String) -> CallProblem {
    CallProblem { code, message }
}

fn form(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::QwenXml => {
            "<tool_call>\\n<function=NAME>\\n<parameter=KEY>\\nVALUE\\n</parameter>\\n</function>\\n</tool_call>"
        }
        Dialect::HermesJson => {
            "<tool_call>\\n{\"name\": NAME, \"arguments\": {KEY: VALUE}}\\n</tool_call>"
        }
    }
}

/// The call cannot be read. `tool` is given where the name could be read.
pub(crate) fn malformed(dialect: Dialect, tool: Option<&str>) -> CallProblem {
    let form = form(dialect);
    match tool {
        None => problem(
            "malformed_call".into(),
            format!(
                "The call could not be read and was not run; write it again in exactly this form: {form}"
            ),
        ),
        Some(tool) => problem(
            format!("malformed_call:{tool}"),
            format!(
                "The call to `{tool}` could not be read and was not run; write it again in exactly this form, with quotes inside strings escaped: {form}"
            ),
        ),
    }
}

/// The call was cut off before its end.
pub(crate) fn truncated(tool: Option<&str>) -> CallProblem {
    match tool {
        None => problem(
            "truncated_call".into(),
            "The call was cut off before its end and was not run; write the whole call again."
                .into(),
        ),
        Some(tool) => problem(
            format!("truncated_call:{tool}"),
            format!(
                "The call to `{tool}` was cut off before its end and was not run; write the whole call again, in smaller parts if it is long."
            ),
        ),
    }
}

/// There is no such tool.
pub(super) fn unknown_tool<'a>(name: &str, tools: impl Iterator<Item = &'a str>) -> CallProblem {
    let known: Vec<String> = tools.map(|tool| format!("`{tool}`")).collect();
    problem(
        format!("unknown_tool:{name}"),
        format!("There is no tool `{name}`; use one of {}.", known.join(", ")),
    )
}

/// A required parameter is absent.
pub(super) fn missing_required(tool: &str, field: &str) -> CallProblem {
    problem(
        format!("missing_required:{tool}.{field}"),
        format!("`{tool}` was not run because it needs `{field}`; write the call again with it."),
    )
}

/// A value is not of the type the schema asks for; `wanted` is that type in words.
pub(super) fn bad_type(tool: &str, field: &str, wanted: &str) -> CallProblem {
    problem(
        format!("bad_type:{tool}.{field}"),
        format!(
            "`{tool}` was not run because `{field}` must be {wanted}; write the call again with such a value."
        ),
    )
}

/// The same parameter was given twice with different values.
pub(super) fn duplicate(tool: &str, field: &str) -> CallProblem {
    problem(
        format!("duplicate_param:{tool}.{field}"),
        format!(
            "`{tool}` was not run because `{field}` was given twice with different values; write the call again with one of them, or one call for each."
        ),
    )
}

/// The model ended its turn without an answer and without a call.
pub(crate) fn empty_answer() -> CallProblem {
    problem(
        "empty_answer".into(),
        "The turn ended without an answer and without a call; close the thinking block, then answer or call a tool.".into(),
    )
}

/// The connection was lost.
pub(crate) fn stream_cut() -> CallProblem {
    problem(
        "stream_cut".into(),
        "The answer was cut off by a lost connection and nothing unfinished was run; write it again.".into(),
    )
}

/// The server failed. `detail` is its own words, empty if there were none.
pub(crate) fn server_error(detail: &str) -> CallProblem {
    let detail = if detail.is_empty() { "no details" } else { detail };
    problem(
        "server_error".into(),
        format!("The server failed ({detail}) and no call was run; write the answer again."),
    )
}
