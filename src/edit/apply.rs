//! From a request to an outcome: checks the target, then finds, replaces and collects.
//!
//! Invariant: an error leaves nothing behind; every old text is looked up in the file as it was
//! before the request.

use super::elided;
use super::find::{Wanted, locate};
use super::replace::Found;
use super::text::{Splice, Text, in_encoding};
use super::tolerance::{Tolerance, report};
use super::{
    EditError, EditRequest, ErrorCode, FileChange, FileView, Node, Outcome, patch, suggest, write,
};
use std::sync::Arc;

/// Works out what `request` does to the files of `view`. Changes nothing itself.
///
/// # Errors
/// The refusal, with a message for the model.
pub fn apply(request: &EditRequest, view: &dyn FileView) -> Result<Outcome, EditError> {
    let outcome = match request {
        EditRequest::Edit { path, old, new, all } => {
            edits(view, path, &[Wanted { old, new, all: *all }])
        }
        EditRequest::Edits { path, edits: list } => {
            let wanted: Vec<Wanted> =
                list.iter().map(|(old, new)| Wanted { old, new, all: false }).collect();
            edits(view, path, &wanted)
        }
        EditRequest::Write { path, content } => write::write(view, path, content),
        EditRequest::Patch { patch } => patch::apply(view, patch),
        EditRequest::Delete { path } => delete(view, path),
        EditRequest::Rename { from, to } => rename(view, from, to),
    }?;
    match outcome.changes.iter().all(FileChange::is_empty) {
        true => {
            let what = request.path().unwrap_or("the patch");
            let message = format!("{what}: the request changes nothing; the text is there already");
            Err(EditError::new(ErrorCode::SameText, message))
        }
        false => Ok(outcome),
    }
}

/// A file that may be changed.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// Resolved path.
    pub(super) path: String,
    pub(super) bytes: Arc<[u8]>,
}

/// The resolved path and what is there: a file or nothing.
pub(super) fn target(
    view: &dyn FileView,
    path: &str,
) -> Result<(String, Option<Target>), EditError> {
    let refuse = |code, what: &str| Err(EditError::new(code, format!("{path}: {what}")));
    let resolved = view.resolve(path)?;
    match view.node(&resolved) {
        Node::File { read_only: true, .. } => {
            refuse(ErrorCode::ReadOnly, "the file is read-only; ask before changing its mode")
        }
        Node::File { bytes, read_only: false } => {
            Ok((resolved.clone(), Some(Target { path: resolved, bytes })))
        }
        Node::Directory => refuse(ErrorCode::IsDirectory, "this is a directory, not a file"),
        Node::Special => refuse(ErrorCode::NotRegular, "not a regular file"),
        Node::Missing => {
            let parents = resolved.match_indices('/').map(|(at, _)| &resolved[..at]);
            match parents.map(|parent| view.node(parent)).any(|node| blocks(&node)) {
                true => {
                    refuse(ErrorCode::NotRegular, "a part of this path is a file, not a directory")
                }
                false => Ok((resolved, None)),
            }
        }
    }
}

fn blocks(node: &Node) -> bool {
    match node {
        Node::File { .. } | Node::Special => true,
        Node::Directory | Node::Missing => false,
    }
}

/// A file that is there, may be written and is as the model knows it.
pub(super) fn existing(view: &dyn FileView, path: &str) -> Result<Target, EditError> {
    let (_, target) = target(view, path)?;
    let target = target.ok_or_else(|| no_such_file(view, path))?;
    fresh(view, path, &target.path, Some(&target.bytes))?;
    Ok(target)
}

/// # Errors
/// `stale` if what the model read at `resolved` is not what is there now.
pub(super) fn fresh(
    view: &dyn FileView,
    path: &str,
    resolved: &str,
    now: Option<&Arc<[u8]>>,
) -> Result<(), EditError> {
    match view.last_read(resolved) {
        Some(known) if Some(&known) != now => {
            let what = if now.is_some() { "changed" } else { "deleted" };
            let message = format!(
                "{path}: the file was {what} on disk after you read it; read it again before you \
                 change it"
            );
            Err(EditError::new(ErrorCode::Stale, message))
        }
        Some(_) | None => Ok(()),
    }
}

pub(super) fn no_such_file(view: &dyn FileView, path: &str) -> EditError {
    let near = suggest::paths(path, &view.paths());
    let hint = match near.is_empty() {
        true => String::new(),
        false => format!("; did you mean {}?", near.join(" or ")),
    };
    EditError::new(ErrorCode::NoSuchFile, format!("{path}: there is no such file{hint}"))
}

fn edits(view: &dyn FileView, path: &str, list: &[Wanted]) -> Result<Outcome, EditError> {
    let named = |index: usize, error: EditError| match list.len() {
        0 | 1 => error,
        count => error.within(&format!("edit {} of {count}", index + 1)),
    };
    let same = list.iter().position(|wanted| wanted.old == wanted.new);
    let (resolved, file) = target(view, path)?;
    let Some(file) = file else {
        return match list {
            [Wanted { old: "", new, .. }] if same.is_none() => {
                write::create(view, path, resolved, new)
            }
            _ => Err(no_such_file(view, path)),
        };
    };
    if let Some(index) = same {
        let message = "old and new text are the same; nothing to change";
        return Err(named(index, EditError::new(ErrorCode::SameText, message)).within(path));
    }
    fresh(view, path, &resolved, Some(&file.bytes))?;
    let ascii = list.iter().all(|wanted| wanted.old.is_ascii() && wanted.new.is_ascii());
    let attempt = |text: &Text| replace_all(text, list, &named);
    let (bytes, soft) =
        in_encoding(&file.bytes, ascii, &attempt).map_err(|error| error.within(path))?;
    let changes = vec![FileChange::modify(file.path, Some(file.bytes), bytes)];
    Ok(Outcome { changes, soft })
}

/// The new bytes and the tolerances used.
fn replace_all(
    text: &Text,
    list: &[Wanted],
    named: &dyn Fn(usize, EditError) -> EditError,
) -> Result<(Vec<u8>, Vec<Tolerance>), EditError> {
    let mut found: Vec<(usize, Found)> = Vec::new();
    for (index, wanted) in list.iter().enumerate() {
        let places = one(text, *wanted).map_err(|error| named(index, error))?;
        found.extend(places.into_iter().map(|place| (index, place)));
    }
    found.sort_by_key(|(_, place)| (place.range.start, place.range.end));
    for pair in found.windows(2) {
        if let [(first, a), (second, b)] = pair
            && b.range.start < a.range.end
        {
            let (first, second) = (first.min(second) + 1, first.max(second) + 1);
            let message = format!(
                "edits {first} and {second} touch the same text; put both changes in one edit"
            );
            return Err(EditError::new(ErrorCode::Overlap, message));
        }
    }
    let mut soft = soft_of(text);
    for tolerance in found.iter().flat_map(|(_, place)| &place.soft) {
        report(&mut soft, *tolerance);
    }
    let splices: Vec<Splice> = found.into_iter().map(|(_, place)| place.splice).collect();
    Ok((text.splice(&splices)?, soft))
}

/// What must be said about any change of this file.
pub(super) fn soft_of(text: &Text) -> Vec<Tolerance> {
    match text.codec == super::encoding::Codec::Utf8 {
        true => Vec::new(),
        false => vec![Tolerance::Encoding],
    }
}

fn one(text: &Text, wanted: Wanted) -> Result<Vec<Found>, EditError> {
    let whole = 0..text.text.len();
    if wanted.old.is_empty() {
        let splice = Splice { range: whole.clone(), text: wanted.new.to_owned() };
        return match text.text.is_empty() {
            true => Ok(vec![Found { range: whole, splice, soft: Vec::new() }]),
            false => Err(EditError::new(
                ErrorCode::EmptyOld,
                "the old text is empty but the file is not; quote the text to replace",
            )),
        };
    }
    // The byte order mark is not part of the text here, but a model may have seen it.
    let plain = |given| strip_bom(text, given);
    let wanted = Wanted { old: plain(wanted.old), new: plain(wanted.new), ..wanted };
    let fewer = wanted.new.lines().count() < wanted.old.lines().count();
    if let Some((_, line)) = elided::stand_in(wanted.new, &text.text, false).filter(|_| fewer) {
        return Err(elided_error("new", &line));
    }
    locate(text, wanted)
}

/// `given` without the byte order mark that the file has outside its text.
pub(super) fn strip_bom<'g>(text: &Text, given: &'g str) -> &'g str {
    match text.bom {
        0 => given,
        _ => given.strip_prefix('\u{feff}').unwrap_or(given),
    }
}

pub(super) fn elided_error(field: &str, line: &str) -> EditError {
    let message = format!(
        "`{field}` holds `{line}`, which stands for text you left out; write all of the text, or \
         edit only the lines that change"
    );
    EditError::new(ErrorCode::Elided, message)
}

/// Links are kept: their targets can be edited, but a link itself is not moved or removed.
fn not_a_link(view: &dyn FileView, path: &str) -> Result<(), EditError> {
    match view.link(path) {
        None => Ok(()),
        Some(target) => {
            view.resolve(path)?;
            let message = format!(
                "{path}: this is a link to {target}; name the file itself, or use a shell command \
                 for the link"
            );
            Err(EditError::new(ErrorCode::NotRegular, message))
        }
    }
}

fn delete(view: &dyn FileView, path: &str) -> Result<Outcome, EditError> {
    not_a_link(view, path)?;
    let file = existing(view, path)?;
    let change = FileChange {
        path: file.path,
        from: None,
        before: Some(file.bytes),
        after: None,
        executable: None,
    };
    Ok(Outcome { changes: vec![change], soft: Vec::new() })
}

fn rename(view: &dyn FileView, from: &str, to: &str) -> Result<Outcome, EditError> {
    not_a_link(view, from)?;
    let file = existing(view, from)?;
    let path = free(view, to, &file.path)?;
    let change = FileChange {
        from: Some(file.path.clone()).filter(|from| *from != path),
        path,
        before: Some(file.bytes.clone()),
        after: Some(file.bytes),
        executable: None,
    };
    Ok(Outcome { changes: vec![change], soft: Vec::new() })
}

/// The resolved path `to`, at which `from` can be put.
///
/// # Errors
/// `exists`, and what [`target`] gives for paths that cannot be.
pub(super) fn free(view: &dyn FileView, to: &str, from: &str) -> Result<String, EditError> {
    let exists = || EditError::new(ErrorCode::Exists, format!("{to}: there is something already"));
    let resolved = view.resolve(to)?;
    // Where the file system ignores case, the new name leads to the old file.
    if resolved.to_lowercase() == from.to_lowercase() {
        return Ok(resolved);
    }
    match target(view, to) {
        Ok((_, None)) => Ok(resolved),
        Ok((_, Some(_))) => Err(exists()),
        Err(error) if view.node(&resolved) == Node::Missing => Err(error),
        Err(_) => Err(exists()),
    }
}
