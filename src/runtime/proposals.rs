//! Pending edits of a step: tried on a virtual tree, shown as one review, written together.
//!
//! Invariant: nothing reaches the disk but through `settle`, and only the hunks accepted there.

use super::Recorder;
use crate::edit::{self, EditError, EditRequest, FileChange, FileView, Outcome, Pending};
use crate::protocol::{
    CallId, Decision, FileDiff, Hunk, HunkId, Review, ToolCall, ToolOutput, Verdict,
};
use crate::workspace::{FileWrite, Workspace};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// Pending edits in call order.
#[derive(Default)]
pub(super) struct Proposals {
    pending: Pending,
    calls: Vec<(CallId, Outcome)>,
}

/// What came of a review.
pub(super) struct Settled {
    /// One output a call.
    pub outputs: Vec<(CallId, ToolOutput)>,
    /// Paths written, lines added and removed; `None` when nothing was written.
    pub changed: Option<(Vec<String>, usize, usize)>,
}

/// One file of the net change.
struct Entry {
    change: FileChange,
    diff: FileDiff,
}

impl Proposals {
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Tries an edit on top of what is pending. The error is what the model reads.
    pub fn try_call(&mut self, call: &ToolCall, disk: &dyn FileView) -> Result<(), ToolOutput> {
        let outcome = EditRequest::from_call(&call.name, &call.args)
            .and_then(|request| edit::apply(&request, &self.pending.view(disk)))
            .map_err(|error| missed(&error))?;
        self.pending.push(call.id, outcome.clone());
        self.calls.push((call.id, outcome));
        Ok(())
    }

    /// The net change of everything pending, as hunks with fresh numbers from 1.
    pub fn review(&self, calls: Vec<CallId>) -> Review {
        Review { calls, files: self.entries().into_iter().map(|entry| entry.diff).collect() }
    }

    fn entries(&self) -> Vec<Entry> {
        let mut next = HunkId(1);
        self.pending
            .changes()
            .into_iter()
            .map(|change| {
                let notes = self.notes(&change);
                let diff = edit::file_diff(&change, notes, &mut next);
                Entry { change, diff }
            })
            .collect()
    }

    fn notes(&self, change: &FileChange) -> Vec<String> {
        let mut notes = Vec::new();
        for (_, outcome) in &self.calls {
            if outcome.changes.iter().any(|own| own.path == change.path) {
                notes.extend(outcome.notes());
            }
        }
        notes.dedup();
        notes
    }

    /// Writes the accepted hunks, all files or none, and says for each call what came of it.
    pub fn settle(
        &self,
        calls: &[CallId],
        decisions: Option<&[Decision]>,
        workspace: &Workspace,
        recorder: &mut Recorder,
    ) -> Settled {
        let entries = self.entries();
        let accepted: BTreeSet<HunkId> = entries
            .iter()
            .flat_map(|entry| &entry.diff.hunks)
            .map(|hunk| hunk.id)
            .filter(|id| verdict(*id, decisions) == Verdict::Accept)
            .collect();
        let chosen: Vec<FileChange> = entries
            .iter()
            .filter_map(|e| edit::select(&e.change, &|id| accepted.contains(&id), &e.diff))
            .collect();
        if let Err(error) = write(&chosen, workspace, recorder) {
            let output = ToolOutput::failed(format!("Nothing was written: {error}"), error);
            let outputs = calls.iter().map(|call| (*call, output.clone())).collect();
            return Settled { outputs, changed: None };
        }
        let attributed = self.attribute(&entries);
        let outputs = calls
            .iter()
            .map(|call| {
                let own = attributed.get(call).cloned().unwrap_or_default();
                (*call, self.tell(*call, &own, &accepted, &entries, decisions))
            })
            .collect();
        let changed = (!chosen.is_empty()).then(|| {
            let paths = chosen.iter().map(|change| change.path.clone()).collect();
            let hunks = || {
                let all = entries.iter().flat_map(|entry| &entry.diff.hunks);
                all.filter(|hunk| accepted.contains(&hunk.id))
            };
            (paths, hunks().map(|h| h.new.len()).sum(), hunks().map(|h| h.old.len()).sum())
        });
        Settled { outputs, changed }
    }

    /// Which hunks of the net change each call brought about, by following its lines through the
    /// calls after it.
    fn attribute(&self, entries: &[Entry]) -> BTreeMap<CallId, BTreeSet<HunkId>> {
        let mut result: BTreeMap<CallId, BTreeSet<HunkId>> = BTreeMap::new();
        for (at, (call, outcome)) in self.calls.iter().enumerate() {
            for own in &outcome.changes {
                let Some(entry) = entries.iter().find(|entry| entry.change.path == own.path) else {
                    continue;
                };
                let mut ranges = new_ranges(&hunks_of(own));
                for (_, later) in &self.calls[at + 1..] {
                    for change in later.changes.iter().filter(|later| later.path == own.path) {
                        let hunks = hunks_of(change);
                        ranges = ranges.into_iter().map(|range| carry(range, &hunks)).collect();
                    }
                }
                let ids = entry.diff.hunks.iter().filter(|hunk| {
                    ranges.is_empty() || ranges.iter().any(|range| touches(range, &span(hunk)))
                });
                result.entry(*call).or_default().extend(ids.map(|hunk| hunk.id));
            }
        }
        result
    }

    fn tell(
        &self,
        call: CallId,
        own: &BTreeSet<HunkId>,
        accepted: &BTreeSet<HunkId>,
        entries: &[Entry],
        decisions: Option<&[Decision]>,
    ) -> ToolOutput {
        let paths = self.paths(call);
        let taken = own.iter().filter(|id| accepted.contains(id)).count();
        let mut output = if own.is_empty() || taken == own.len() {
            let text = format!("edited {paths}");
            ToolOutput::done(&text, &text)
        } else if taken == 0 {
            let text = format!("refused by the user; {paths} is unchanged");
            ToolOutput { summary: format!("refused: {paths}"), ..ToolOutput::refused(text) }
        } else {
            let refused = refused_text(own, accepted, entries);
            ToolOutput::done(
                format!("edited {paths} in part; the user refused this:\n{refused}"),
                format!("edited {paths}: {taken} of {} hunks", own.len()),
            )
        };
        for decision in decisions.unwrap_or_default().iter().filter(|d| own.contains(&d.hunk)) {
            if let Some(comment) = &decision.comment {
                output.text.push_str("\nThe user says: ");
                output.text.push_str(comment);
            }
        }
        output
    }

    fn paths(&self, call: CallId) -> String {
        let mut paths: Vec<&str> = Vec::new();
        for (_, outcome) in self.calls.iter().filter(|(id, _)| *id == call) {
            paths.extend(outcome.changes.iter().map(|change| change.path.as_str()));
        }
        paths.join(", ")
    }
}

fn verdict(hunk: HunkId, decisions: Option<&[Decision]>) -> Verdict {
    match decisions {
        None => Verdict::Accept,
        Some(decisions) => decisions
            .iter()
            .find(|decision| decision.hunk == hunk)
            .map_or(Verdict::Reject, |decision| decision.verdict),
    }
}

fn missed(error: &EditError) -> ToolOutput {
    ToolOutput::failed(error.message.clone(), error.message.lines().next().unwrap_or_default())
}

fn refused_text(own: &BTreeSet<HunkId>, accepted: &BTreeSet<HunkId>, entries: &[Entry]) -> String {
    let refused = |id: HunkId| own.contains(&id) && !accepted.contains(&id);
    entries
        .iter()
        .filter(|entry| entry.diff.hunks.iter().any(|hunk| refused(hunk.id)))
        .map(|entry| edit::unified(&entry.diff, &refused))
        .collect()
}

/// Writes through the checkpoint, after merging what moved on disk in the meantime.
fn write(
    changes: &[FileChange],
    workspace: &Workspace,
    recorder: &mut Recorder,
) -> Result<(), String> {
    let mut writes = Vec::new();
    for change in changes {
        let change = merged(change, workspace)?;
        if let Some(from) = &change.from {
            let before = change.before.as_deref().map(<[u8]>::to_vec);
            writes.push(FileWrite { path: from.clone(), before, after: None, mode: None });
        }
        let moved = change.from.is_some();
        writes.push(FileWrite {
            path: change.path.clone(),
            before: change.before.as_deref().filter(|_| !moved).map(<[u8]>::to_vec),
            after: change.after.as_deref().map(<[u8]>::to_vec),
            mode: change.executable.map(|on| if on { 0o755 } else { 0o644 }),
        });
    }
    if writes.is_empty() {
        return Ok(());
    }
    recorder.write(workspace, &writes)?;
    for write in &writes {
        if let Some(bytes) = &write.after {
            workspace.remember(&write.path, bytes);
        }
    }
    Ok(())
}

/// The change on top of what the disk holds now, when that is no longer what it was made from.
fn merged(change: &FileChange, workspace: &Workspace) -> Result<FileChange, String> {
    let path = change.from.as_ref().unwrap_or(&change.path);
    let now: Option<Arc<[u8]>> = match workspace.node(path) {
        edit::Node::File { bytes, .. } => Some(bytes),
        edit::Node::Directory | edit::Node::Special | edit::Node::Missing => None,
    };
    match now {
        Some(now) if change.before.as_deref() != Some(&*now) && change.before.is_some() => {
            edit::rebase(change, &now).map_err(|error| error.message)
        }
        _ => Ok(change.clone()),
    }
}

fn hunks_of(change: &FileChange) -> Vec<Hunk> {
    edit::file_diff(change, Vec::new(), &mut HunkId(1)).hunks
}

/// Lines a hunk covers in the new file; a removal covers the point where the lines were.
fn span(hunk: &Hunk) -> Range<usize> {
    hunk.new_start..hunk.new_start + hunk.new.len()
}

fn new_ranges(hunks: &[Hunk]) -> Vec<Range<usize>> {
    hunks.iter().map(span).collect()
}

/// Where lines of a file are after `hunks` were applied to it.
fn carry(range: Range<usize>, hunks: &[Hunk]) -> Range<usize> {
    let (mut start, mut end) = (range.start, range.end);
    // From the last hunk to the first, so that old line numbers stay good.
    for hunk in hunks.iter().rev() {
        let old = hunk.old_start..hunk.old_start + hunk.old.len();
        let shift = |line: usize| line + hunk.new.len() - hunk.old.len();
        if old.end <= start {
            (start, end) = (shift(start), shift(end));
        } else if old.start < end {
            start = start.min(old.start);
            end = shift(end.max(old.end));
        }
    }
    start..end
}

/// Whether two runs of lines share a line; an empty run touches what it stands at or beside.
fn touches(a: &Range<usize>, b: &Range<usize>) -> bool {
    if a.is_empty() || b.is_empty() {
        a.start <= b.end && b.start <= a.end
    } else {
        a.start < b.end && b.start < a.end
    }
}
