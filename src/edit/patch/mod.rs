//! Unified diffs over one or more files, all or nothing.
//!
//! More tolerant than `git apply` in offsets, in hunks without trailing context, in line endings and
//! in separators; never less strict about content.

mod names;
mod parse;
mod place;

use super::apply::{existing, free, soft_of, target};
use super::text::{Text, in_encoding};
use super::tolerance::{Tolerance, report};
use super::{EditError, ErrorCode, FileChange, FileView, Outcome};
use parse::{Hunk, Mark, Section, bad};

/// Works out what `patch` does.
pub(super) fn apply(view: &dyn FileView, patch: &str) -> Result<Outcome, EditError> {
    if patch.contains('\0') {
        return Err(EditError::new(ErrorCode::BadText, "the patch holds a NUL character"));
    }
    let mut outcome = Outcome::default();
    for section in merged(parse::parse(patch)?)? {
        let change = match (&section.old, &section.new) {
            (None, Some(path)) => create(view, path, &section),
            (Some(path), None) => delete(view, path, &section, &mut outcome.soft),
            (Some(old), Some(new)) => modify(view, old, new, &section, &mut outcome.soft),
            (None, None) => Err(bad("a part of the patch names no file")),
        }?;
        let clash = |other: &FileChange| {
            let ends = [Some(&change.path), change.from.as_ref()];
            ends.into_iter()
                .flatten()
                .any(|path| *path == other.path || Some(path) == other.from.as_ref())
        };
        if outcome.changes.iter().any(clash) {
            return Err(bad(&format!("{}: the patch changes this file twice", change.path)));
        }
        outcome.changes.push(change);
    }
    Ok(outcome)
}

/// Sections that change the same file become one.
fn merged(sections: Vec<Section>) -> Result<Vec<Section>, EditError> {
    let mut out: Vec<Section> = Vec::new();
    for section in sections {
        let plain = |s: &Section| s.old == s.new && !s.rename && !s.copy;
        match out
            .iter_mut()
            .find(|known| plain(known) && plain(&section) && known.old == section.old)
        {
            Some(known) => {
                known.hunks.extend(section.hunks);
                known.executable = section.executable.or(known.executable);
            }
            None => out.push(section),
        }
    }
    Ok(out)
}

fn create(view: &dyn FileView, path: &str, section: &Section) -> Result<FileChange, EditError> {
    let exists = || {
        let message = format!("{path}: the patch creates this file, but it exists");
        EditError::new(ErrorCode::Exists, message)
    };
    let (resolved, file) = target(view, path)?;
    if file.is_some() {
        return Err(exists());
    }
    let lines = section.hunks.iter().flat_map(|hunk| &hunk.lines);
    if lines.clone().any(|line| line.mark != Mark::Add) {
        return Err(bad(&format!("{path}: a new file can only have lines with `+`")));
    }
    let mut content = String::new();
    for line in lines {
        content.push_str(&line.text);
        content.push_str(match (line.no_newline, line.cr) {
            (true, _) => "",
            (false, true) => "\r\n",
            (false, false) => "\n",
        });
    }
    let mut change = FileChange::modify(resolved, None, content.into_bytes());
    change.executable = section.executable;
    Ok(change)
}

fn delete(
    view: &dyn FileView,
    path: &str,
    section: &Section,
    soft: &mut Vec<Tolerance>,
) -> Result<FileChange, EditError> {
    let file = existing(view, path)?;
    let rest = replaced(&file.bytes, &section.hunks, soft).map_err(|error| error.within(path))?;
    if !rest.is_empty() {
        let message =
            format!("{path}: the patch deletes this file but does not list all its lines");
        return Err(bad(&message));
    }
    Ok(FileChange {
        path: file.path,
        from: None,
        before: Some(file.bytes),
        after: None,
        executable: None,
    })
}

fn modify(
    view: &dyn FileView,
    old: &str,
    new: &str,
    section: &Section,
    soft: &mut Vec<Tolerance>,
) -> Result<FileChange, EditError> {
    if old != new && !section.rename && !section.copy {
        return Err(bad(&format!(
            "{old} and {new}: two names without `rename from` and `rename to`"
        )));
    }
    let file = existing(view, old)?;
    let bytes = match section.hunks.is_empty() {
        true => file.bytes.to_vec(),
        false => replaced(&file.bytes, &section.hunks, soft).map_err(|error| error.within(old))?,
    };
    let mut change = FileChange::modify(file.path, Some(file.bytes), bytes);
    change.executable = section.executable;
    if section.rename || section.copy {
        let path = free(view, new, &change.path)?;
        let from = std::mem::replace(&mut change.path, path);
        change.from = Some(from).filter(|from| section.rename && *from != change.path);
        if section.copy {
            change.before = None;
        }
    }
    Ok(change)
}

/// The bytes with all hunks applied; adds the tolerances used.
fn replaced(bytes: &[u8], hunks: &[Hunk], soft: &mut Vec<Tolerance>) -> Result<Vec<u8>, EditError> {
    let hunks: Vec<&Hunk> = hunks.iter().collect();
    let ascii = hunks.iter().flat_map(|hunk| &hunk.lines).all(|line| line.text.is_ascii());
    let attempt = |text: &Text| {
        let (splices, used) = place::place(text, &hunks)?;
        Ok((text.splice(&splices)?, soft_of(text), used))
    };
    let (bytes, of_file, used) = in_encoding(bytes, ascii, &attempt)?;
    for tolerance in of_file.into_iter().chain(used) {
        report(soft, tolerance);
    }
    Ok(bytes)
}
