//! Whole-file writes: what a file keeps (byte order mark, encoding, line endings) and what it must
//! have been (read, unchanged, complete).

use super::apply::{elided_error, fresh, soft_of, strip_bom, target};
use super::elided;
use super::encoding::{Codec, UTF8_BOM};
use super::lines;
use super::text::{Text, in_encoding};
use super::tolerance::{Tolerance, report};
use super::{EditError, ErrorCode, FileChange, FileView, Outcome};
use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Replaces the content of `path` or creates it.
pub(super) fn write(view: &dyn FileView, path: &str, content: &str) -> Result<Outcome, EditError> {
    let (resolved, file) = target(view, path)?;
    let Some(file) = file else {
        return create(view, path, resolved, content);
    };
    if view.last_read(&resolved).is_none() {
        let message = format!("{path}: the file exists and you have not read it; read it first");
        return Err(EditError::new(ErrorCode::NotRead, message));
    }
    fresh(view, path, &resolved, Some(&file.bytes))?;
    let attempt = |text: &Text| replace(text, content);
    let (bytes, soft) =
        in_encoding(&file.bytes, content.is_ascii(), &attempt).map_err(|error| {
            // No encoding was recognised: nothing else is looked for in a whole-file write.
            let code =
                if error.code == ErrorCode::NotFound { ErrorCode::Encoding } else { error.code };
            EditError { code, ..error }.within(path)
        })?;
    let changes = vec![FileChange::modify(resolved, Some(file.bytes), bytes)];
    Ok(Outcome { changes, soft })
}

/// Creates a file with exactly this content.
pub(super) fn create(
    view: &dyn FileView,
    path: &str,
    resolved: String,
    content: &str,
) -> Result<Outcome, EditError> {
    fresh(view, path, &resolved, None)?;
    if let Some((_, line)) = elided::stand_in(content, "", false) {
        return Err(elided_error("content", &line).within(path));
    }
    let changes = vec![FileChange::modify(resolved, None, content.as_bytes())];
    Ok(Outcome { changes, soft: Vec::new() })
}

fn replace(text: &Text, content: &str) -> Result<(Vec<u8>, Vec<Tolerance>), EditError> {
    let before: &str = &text.text;
    let shorter = content.lines().count() < before.lines().count();
    if let Some((_, line)) = elided::stand_in(content, before, shorter) {
        return Err(elided_error("content", &line));
    }
    let mut soft = soft_of(text);
    let plain = strip_bom(text, content);
    if text.bom == UTF8_BOM.len() && plain.len() == content.len() {
        report(&mut soft, Tolerance::Bom);
    }
    if let Codec::Legacy(encoding) = text.codec
        && !shares_line(before, plain)
    {
        let message = format!(
            "the file is not UTF-8 and nothing in the new content shows whether it is {}; edit \
             single lines instead",
            encoding.name()
        );
        return Err(EditError::new(ErrorCode::NotFound, message));
    }
    let converted = with_endings_of(before, plain);
    if converted != plain {
        report(&mut soft, Tolerance::LineEndings);
    }
    Ok((text.replace_all(&converted)?, soft))
}

/// True if a line with more than ASCII is in both.
fn shares_line(before: &str, content: &str) -> bool {
    let telling = |line: &&str| !line.is_ascii();
    let known: std::collections::HashSet<&str> = before.lines().filter(telling).collect();
    content.lines().filter(telling).any(|line| known.contains(line))
}

/// The content with the line endings of the file; as it is if only its line endings are new.
fn with_endings_of(before: &str, content: &str) -> String {
    let cr = lines::is_cr_file(before);
    let ending = lines::dominant(before, cr);
    let converted = match lines::is_mixed(before) {
        true if content.contains('\r') => content.to_owned(),
        true => line_by_line(before, content),
        false => lines::to_ending(content, ending),
    };
    if converted == before { content.to_owned() } else { converted }
}

/// For a file with both kinds of endings: lines that stay keep theirs, new ones follow the line
/// before.
fn line_by_line(before: &str, content: &str) -> String {
    let old = lines::spans(before, false);
    let new = lines::spans(content, false);
    let old_lines: Vec<&str> = old.iter().map(|(line, _)| &before[line.clone()]).collect();
    let new_lines: Vec<&str> = new.iter().map(|(line, _)| &content[line.clone()]).collect();
    let mut kept = vec![None; new.len()];
    for op in capture_diff_slices(Algorithm::Histogram, &old_lines, &new_lines) {
        if let DiffOp::Equal { old_index, new_index, len } = op {
            for at in 0..len {
                let ending = &before[old[old_index + at].1.clone()];
                kept[new_index + at] = Some(ending).filter(|ending| !ending.is_empty());
            }
        }
    }
    let first = lines::dominant(before, false).map_or("\n", lines::Ending::text);
    let mut current = kept.iter().flatten().next().copied().unwrap_or(first);
    let mut out = String::with_capacity(content.len());
    for ((line, ending), kept) in new_lines.iter().zip(&new).zip(kept) {
        current = kept.unwrap_or(current);
        out.push_str(line);
        if !ending.1.is_empty() {
            out.push_str(current);
        }
    }
    out
}
