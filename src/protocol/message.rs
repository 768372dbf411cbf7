//! Messages of a conversation, as the chat template and a remote server understand them.

use super::{CallId, ToolCall};
use serde::{Deserialize, Serialize};

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions of the program. Only the first message may have this role.
    System,
    /// The person.
    User,
    /// The model.
    Assistant,
    /// The result of one tool call.
    Tool,
}

/// One message. Which fields may be filled depends on the role.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// The visible text: instructions, request, answer, or a tool's output.
    pub text: String,
    /// Raw reasoning, without tags (assistant only).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub thinking: String,
    /// Tool calls in the order written (assistant only).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCall>,
    /// The call this message answers (tool only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
}

impl Message {
    fn plain(role: Role, text: impl Into<String>) -> Self {
        Self { role, text: text.into(), thinking: String::new(), calls: Vec::new(), call: None }
    }

    /// Instructions for the model.
    pub fn system(text: impl Into<String>) -> Self {
        Self::plain(Role::System, text)
    }

    /// What the person wrote.
    pub fn user(text: impl Into<String>) -> Self {
        Self::plain(Role::User, text)
    }

    /// What the model produced in one step.
    pub fn assistant(
        thinking: impl Into<String>,
        text: impl Into<String>,
        calls: Vec<ToolCall>,
    ) -> Self {
        Self { thinking: thinking.into(), calls, ..Self::plain(Role::Assistant, text) }
    }

    /// The output of the tool call `call`.
    pub fn tool(call: CallId, text: impl Into<String>) -> Self {
        Self { call: Some(call), ..Self::plain(Role::Tool, text) }
    }
}
