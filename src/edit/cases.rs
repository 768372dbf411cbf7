//! Runs one line of a case file (`edits.jsonl`) on a tree in memory.
//!
//! Fields of a case: `files`, `disk_now`, `read`, `request`. What is expected of it is for others to
//! compare; the result has the shape of `expect`.

use super::{EditError, EditRequest, ErrorCode, FileView, MemoryTree, Outcome, Tolerance, apply};
use crate::protocol::Args;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

/// Runs the case and gives `{"id", "got": {"ok", "files", "error", "near_line", "message", "soft"}}`;
/// `files` holds only those changed, `null` for gone.
///
/// # Errors
/// What is wrong with the line itself.
pub fn run_case(line: &str) -> Result<Value, String> {
    let case: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let mut tree = MemoryTree::default();
    put_all(&mut tree, &case["files"])?;
    if case["read"] == Value::Bool(true) {
        tree.read_all();
    }
    put_all(&mut tree, &case["disk_now"])?;
    let result = request(&case["request"]).and_then(|request| apply(&request, &tree));
    let got = match result {
        Ok(outcome) => accepted(&mut tree, &outcome),
        Err(error) => json!({
            "ok": false,
            "files": {},
            "error": error.code.name(),
            "near_line": error.near_line,
            "message": error.message,
            "soft": [],
        }),
    };
    Ok(json!({ "id": case["id"], "got": got }))
}

fn put_all(tree: &mut MemoryTree, files: &Value) -> Result<(), String> {
    let Value::Object(files) = files else {
        return Ok(());
    };
    for (path, file) in files {
        put(tree, path, file).map_err(|error| format!("{path}: {error}"))?;
    }
    for (path, file) in files {
        if let Some(other) = file.get("hardlink").and_then(Value::as_str) {
            tree.hard_link(path, other);
        }
    }
    Ok(())
}

fn put(tree: &mut MemoryTree, path: &str, file: &Value) -> Result<(), String> {
    let text = |field: &str| file.get(field).and_then(Value::as_str);
    if file.is_null() {
        tree.remove(path);
    } else if let Some(target) = text("symlink") {
        tree.symlink(path, target);
    } else if text("special").is_some() {
        tree.pipe(path);
    } else if let Some(text) = text("text") {
        tree.write(path, text.as_bytes());
    } else if let Some(data) = text("b64") {
        tree.write(path, STANDARD.decode(data).map_err(|error| error.to_string())?);
    } else {
        return Err("neither text nor b64 nor symlink nor special".to_owned());
    }
    if let Some(mode) = text("mode") {
        tree.chmod(path, u32::from_str_radix(mode, 8).map_err(|error| error.to_string())?);
    }
    Ok(())
}

fn request(request: &Value) -> Result<EditRequest, EditError> {
    let name = request["tool"].as_str().unwrap_or_default();
    let mut args: Args = request.as_object().cloned().unwrap_or_default();
    if let Some(raw) = request["new_json"].as_str() {
        let new: String = serde_json::from_str(raw).map_err(|error| {
            EditError::new(ErrorCode::BadText, format!("`new` is no valid text: {error}"))
        })?;
        args.insert("new".to_owned(), Value::String(new));
    }
    EditRequest::from_call(name, &args)
}

fn accepted(tree: &mut MemoryTree, outcome: &Outcome) -> Value {
    let mut files = Map::new();
    for change in &outcome.changes {
        let names = tree.names(change.from.as_ref().unwrap_or(&change.path));
        tree.commit(change);
        if let Some(from) = &change.from {
            files.insert(from.clone(), Value::Null);
        }
        for name in names.into_iter().chain([change.path.clone()]) {
            if tree.node(&name) != super::Node::Missing || name == change.path {
                files.insert(name.clone(), shown(tree, &name));
            }
        }
    }
    let soft: Vec<&str> = outcome.soft.iter().copied().map(Tolerance::name).collect();
    json!({
        "ok": true,
        "files": files,
        "error": null,
        "near_line": null,
        "message": "",
        "soft": soft,
    })
}

fn shown(tree: &MemoryTree, path: &str) -> Value {
    let Some(bytes) = tree.bytes(path) else {
        return Value::Null;
    };
    let mode = tree.mode(path).map(|mode| format!("{mode:04o}"));
    match std::str::from_utf8(&bytes) {
        Ok(text) => json!({ "text": text, "mode": mode }),
        Err(_) => json!({ "b64": STANDARD.encode(&bytes), "mode": mode }),
    }
}
