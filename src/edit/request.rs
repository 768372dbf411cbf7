//! What the model asks for, read from the arguments of a call. Tool names are the request names.

use super::{EditError, ErrorCode};
use crate::protocol::Args;
use serde_json::Value;

/// One request to change files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditRequest {
    /// Replace one text, or all its occurrences.
    Edit {
        /// As the model wrote it.
        path: String,
        /// Text to find; empty to create a file.
        old: String,
        /// Text to put there, literally.
        new: String,
        /// Every occurrence instead of the only one.
        all: bool,
    },
    /// Replace several texts of one file; each is looked up in the file as it was before.
    Edits {
        /// As the model wrote it.
        path: String,
        /// Pairs of old and new text.
        edits: Vec<(String, String)>,
    },
    /// Replace or create a whole file.
    Write {
        /// As the model wrote it.
        path: String,
        /// All of the file.
        content: String,
    },
    /// Apply a unified diff, over one or more files.
    Patch {
        /// The diff.
        patch: String,
    },
    /// Remove a file.
    Delete {
        /// As the model wrote it.
        path: String,
    },
    /// Move a file.
    Rename {
        /// Path now.
        from: String,
        /// Path afterwards.
        to: String,
    },
}

impl EditRequest {
    /// Reads the arguments of a call of the tool `name`.
    ///
    /// # Errors
    /// `bad_text` where a field is missing, has another type or holds a NUL, or the tool is none of
    /// `edit`, `edits`, `write`, `patch`, `delete` and `rename`.
    pub fn from_call(name: &str, args: &Args) -> Result<Self, EditError> {
        let text = |field| text(args, field);
        let request = match name {
            "edit" => Self::Edit {
                path: text("path")?,
                old: text("old")?,
                new: text("new")?,
                all: args.get("all").and_then(Value::as_bool).unwrap_or(false),
            },
            "edits" => Self::Edits { path: text("path")?, edits: pairs(args)? },
            "write" => Self::Write { path: text("path")?, content: text("content")? },
            "patch" => Self::Patch { patch: text("patch")? },
            "delete" => Self::Delete { path: text("path")? },
            "rename" => Self::Rename { from: text("from")?, to: text("to")? },
            other => return Err(bad(format!("`{other}` is not a tool that changes files"))),
        };
        Ok(request)
    }

    /// The path the request is about, as the model wrote it; a patch names its own.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Edit { path, .. }
            | Self::Edits { path, .. }
            | Self::Write { path, .. }
            | Self::Delete { path } => Some(path),
            Self::Rename { from, .. } => Some(from),
            Self::Patch { .. } => None,
        }
    }
}

fn bad(message: String) -> EditError {
    EditError::new(ErrorCode::BadText, message)
}

fn text(args: &Args, field: &str) -> Result<String, EditError> {
    match args.get(field) {
        Some(Value::String(text)) if text.contains('\0') => {
            Err(bad(format!("`{field}` holds a NUL character, which no text file may hold")))
        }
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err(bad(format!("`{field}` must be a string"))),
        None => Err(bad(format!("`{field}` is missing"))),
    }
}

fn pairs(args: &Args) -> Result<Vec<(String, String)>, EditError> {
    let Some(Value::Array(list)) = args.get("edits") else {
        return Err(bad("`edits` must be a list of objects with `old` and `new`".into()));
    };
    if list.is_empty() {
        return Err(bad("`edits` is empty".into()));
    }
    let pair = |(index, item): (usize, &Value)| {
        match item {
            Value::Object(fields) => Ok((text(fields, "old")?, text(fields, "new")?)),
            _ => Err(bad("must be an object with `old` and `new`".into())),
        }
        .map_err(|error: EditError| error.within(&format!("edit {}", index + 1)))
    };
    list.iter().enumerate().map(pair).collect()
}
