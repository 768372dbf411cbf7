//! The hunks to decide on, what was decided so far, and where the person is in them.
//!
//! Hunks are numbered through all files. Invariant: nothing is sent before every hunk has a verdict,
//! and leaving the overlay keeps every verdict and comment.

use super::Grace;
use super::diff::Pen;
use crate::protocol::{Change, Decision, FileDiff, Hunk, HunkId, Review, Verdict};
use crate::tui::composer::Editor;
use crate::tui::text::clean_line;
use crate::tui::theme::Theme;
use ratatui::text::Line;
use std::collections::BTreeMap;

/// One row of the sheet; heads are drawn anew in every frame since verdicts change.
#[derive(Debug)]
pub enum Row {
    /// Head of the file with this index.
    File(usize),
    /// A note on a file.
    Note(String),
    /// Head of a hunk.
    Head(usize),
    /// A line of a hunk.
    Body(usize, Line<'static>),
    /// The comment on a hunk.
    Comment(usize),
    /// Nothing.
    Blank,
}

/// The state of a review.
#[derive(Debug)]
pub struct Sheet {
    /// What would change.
    pub review: Review,
    /// Keys that came too early decide nothing.
    pub grace: Grace,
    /// The comment being written.
    pub field: Option<Editor>,
    /// Said in the footer until the next key.
    pub hint: Option<String>,
    verdicts: BTreeMap<HunkId, Verdict>,
    comments: BTreeMap<HunkId, String>,
    current: usize,
    rows: Vec<Row>,
    laid: Option<usize>,
    top: usize,
    height: usize,
    reveal: bool,
}

impl Sheet {
    /// Opened at `now`.
    pub fn new(review: Review, now: u64) -> Self {
        Self {
            review,
            grace: Grace::new(now),
            field: None,
            hint: None,
            verdicts: BTreeMap::new(),
            comments: BTreeMap::new(),
            current: 0,
            rows: Vec::new(),
            laid: None,
            top: 0,
            height: 0,
            reveal: true,
        }
    }

    /// Hunks in order, with the index of their file.
    pub fn hunks(&self) -> impl Iterator<Item = (usize, &Hunk)> {
        let files = self.review.files.iter().enumerate();
        files.flat_map(|(index, file)| file.hunks.iter().map(move |hunk| (index, hunk)))
    }

    /// Number of hunks.
    pub fn count(&self) -> usize {
        self.review.hunks().count()
    }

    /// Index of the hunk the keys act on.
    pub fn current(&self) -> usize {
        self.current
    }

    /// The verdict on a hunk.
    pub fn verdict(&self, id: HunkId) -> Option<Verdict> {
        self.verdicts.get(&id).copied()
    }

    /// The comment on a hunk.
    pub fn comment(&self, id: HunkId) -> Option<&str> {
        self.comments.get(&id).map(String::as_str)
    }

    /// Accepted, rejected, undecided, among the hunks of one file or of all.
    pub fn tally(&self, file: Option<usize>) -> (usize, usize, usize) {
        let mut tally = (0, 0, 0);
        for (index, hunk) in self.hunks() {
            if file.is_none_or(|file| file == index) {
                match self.verdict(hunk.id) {
                    Some(Verdict::Accept) => tally.0 += 1,
                    Some(Verdict::Reject) => tally.1 += 1,
                    None => tally.2 += 1,
                }
            }
        }
        tally
    }

    /// Whether every hunk has a verdict.
    pub fn decided(&self) -> bool {
        self.tally(None).2 == 0
    }

    fn current_id(&self) -> Option<HunkId> {
        self.hunks().nth(self.current).map(|(_, hunk)| hunk.id)
    }

    /// Decides the current hunk and goes on to the next undecided one.
    pub fn decide(&mut self, verdict: Verdict) {
        if let Some(id) = self.current_id() {
            self.verdicts.insert(id, verdict);
            self.advance();
        }
    }

    /// Decides all hunks without a verdict, of the current file or of all.
    pub fn decide_rest(&mut self, verdict: Verdict, whole: bool) {
        let file = self.hunks().nth(self.current).map(|(file, _)| file);
        let ids: Vec<HunkId> = self
            .hunks()
            .filter(|(index, _)| whole || Some(*index) == file)
            .map(|(_, hunk)| hunk.id)
            .collect();
        for id in ids {
            self.verdicts.entry(id).or_insert(verdict);
        }
        self.advance();
    }

    /// Takes the verdict on the current hunk back.
    pub fn undecide(&mut self) {
        if let Some(id) = self.current_id() {
            self.verdicts.remove(&id);
        }
    }

    /// Goes to the next hunk without a verdict, from the current one on and then from the first.
    pub fn advance(&mut self) {
        let open: Vec<bool> =
            self.hunks().map(|(_, hunk)| self.verdict(hunk.id).is_none()).collect();
        let from = (self.current..open.len()).chain(0..self.current);
        if let Some(next) = from.into_iter().find(|index| open[*index]) {
            self.select(next);
        }
    }

    /// Goes to a hunk.
    pub fn select(&mut self, index: usize) {
        self.current = index.min(self.count().saturating_sub(1));
        self.reveal = true;
    }

    /// Goes to the hunk before or after.
    pub fn step(&mut self, down: bool) {
        let index = if down { self.current + 1 } else { self.current.saturating_sub(1) };
        self.select(index);
    }

    /// Begins a comment on the current hunk.
    pub fn open_field(&mut self) {
        let text = self.current_id().and_then(|id| self.comment(id)).unwrap_or_default();
        self.field = Some(Editor::with(text));
    }

    /// Keeps the comment; an empty one is none.
    pub fn close_field(&mut self) {
        if let (Some(field), Some(id)) = (self.field.take(), self.current_id()) {
            let text = field.expanded().trim().to_owned();
            if text.is_empty() {
                self.comments.remove(&id);
            } else {
                self.comments.insert(id, text);
            }
            self.laid = None;
        }
    }

    /// One decision for each hunk. A hunk without a verdict counts as rejected, as in the protocol.
    pub fn decisions(&self) -> Vec<Decision> {
        let decision = |(_, hunk): (usize, &Hunk)| Decision {
            hunk: hunk.id,
            verdict: self.verdict(hunk.id).unwrap_or(Verdict::Reject),
            comment: self.comments.get(&hunk.id).cloned(),
        };
        self.hunks().map(decision).collect()
    }

    /// Lays the hunks out in `columns` x `height` cells and brings the current one into the window.
    pub fn lay_out(&mut self, columns: usize, height: usize, theme: &Theme) {
        if self.laid != Some(columns) {
            self.rows = self.lay_rows(columns, theme);
            self.laid = Some(columns);
            self.reveal = true;
        }
        self.reveal |= self.height != height;
        self.height = height;
        if std::mem::take(&mut self.reveal) {
            self.reveal_current();
        }
        self.top = self.top.min(self.rows.len().saturating_sub(height));
    }

    /// Lays out anew at the next frame.
    pub fn restyle(&mut self) {
        self.laid = None;
    }

    fn lay_rows(&self, columns: usize, theme: &Theme) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut number = 0;
        for (index, file) in self.review.files.iter().enumerate() {
            if index > 0 {
                rows.push(Row::Blank);
            }
            rows.push(Row::File(index));
            rows.extend(file.notes.iter().map(|note| Row::Note(clean_line(note))));
            let pen = Pen::new(theme, columns, last_line(file));
            for hunk in &file.hunks {
                rows.push(Row::Head(number));
                if self.comments.contains_key(&hunk.id) {
                    rows.push(Row::Comment(number));
                }
                rows.extend(pen.hunk(hunk).into_iter().map(|line| Row::Body(number, line)));
                number += 1;
            }
        }
        rows
    }

    fn reveal_current(&mut self) {
        let own = |row: &Row| match row {
            Row::Head(hunk) | Row::Body(hunk, _) | Row::Comment(hunk) => *hunk == self.current,
            Row::File(_) | Row::Note(_) | Row::Blank => false,
        };
        let Some(first) = self.rows.iter().position(own) else {
            return;
        };
        let last = self.rows.iter().rposition(own).unwrap_or(first);
        // The head of the file belongs to its first hunk.
        let mut first = first;
        while first > 0 && matches!(self.rows[first - 1], Row::File(_) | Row::Note(_)) {
            first -= 1;
        }
        if first < self.top || last - first >= self.height {
            self.top = first;
        } else if last >= self.top + self.height {
            self.top = last + 1 - self.height;
        }
    }

    /// Moves the window by rows.
    pub fn scroll(&mut self, rows: isize) {
        let last = self.rows.len().saturating_sub(self.height);
        self.top = self.top.saturating_add_signed(rows).min(last);
    }

    /// Moves the window by a page.
    pub fn scroll_page(&mut self, down: bool) {
        let page = isize::try_from(self.height.saturating_sub(2).max(1)).unwrap_or(1);
        self.scroll(if down { page } else { -page });
    }

    /// Goes to the hunk under row `row` of the window.
    pub fn click(&mut self, row: usize) {
        if let Some(Row::Head(hunk) | Row::Body(hunk, _) | Row::Comment(hunk)) =
            self.rows.get(self.top + row)
        {
            self.current = *hunk;
        }
    }

    /// Rows in the window.
    pub fn window(&self) -> &[Row] {
        let end = (self.top + self.height).min(self.rows.len());
        self.rows.get(self.top..end).unwrap_or_default()
    }

    /// Rows above and below the window.
    pub fn hidden(&self) -> (usize, usize) {
        (self.top, self.rows.len().saturating_sub(self.top + self.height))
    }
}

fn last_line(file: &FileDiff) -> usize {
    let ends = file.hunks.iter().map(|hunk| {
        let changed = hunk.old.len().max(hunk.new.len());
        hunk.old_start.max(hunk.new_start) + changed + hunk.after.len()
    });
    ends.max().unwrap_or(1)
}

/// What happens to a file, in words.
pub fn change_words(file: &FileDiff) -> String {
    match &file.change {
        Change::Create => "new file".into(),
        Change::Modify => "modified".into(),
        Change::Delete => "deleted".into(),
        Change::Rename { from } => format!("renamed from {}", clean_line(from)),
    }
}

/// Lines that come and lines that go.
pub fn counts(hunks: &[Hunk]) -> (usize, usize) {
    let added = hunks.iter().map(|hunk| hunk.new.len()).sum();
    let removed = hunks.iter().map(|hunk| hunk.old.len()).sum();
    (added, removed)
}
