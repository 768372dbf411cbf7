//! Messages sent before, to be recalled with Up and Down.
//!
//! Invariant: walking up and down again gives back the draft that was left.

use super::editor::Editor;

/// Oldest first.
#[derive(Debug, Default)]
pub struct History {
    entries: Vec<Editor>,
    /// Entry shown and the draft that was left for it.
    walk: Option<(usize, Editor)>,
}

impl History {
    /// Remembers a message; the same one twice in a row counts once.
    pub fn push(&mut self, entry: &Editor) {
        self.walk = None;
        let repeated = self.entries.last().is_some_and(|last| last.expanded() == entry.expanded());
        if !entry.is_empty() && !repeated {
            let mut entry = entry.clone();
            entry.end_of_text();
            self.entries.push(entry);
        }
    }

    /// The entry before the one shown, leaving `draft`.
    pub fn older(&mut self, draft: &Editor) -> Option<Editor> {
        let (index, kept) = match self.walk.take() {
            Some((index, kept)) => (index, kept),
            None => (self.entries.len(), draft.clone()),
        };
        let target = index.saturating_sub(1);
        let entry = (index > 0).then(|| self.entries[target].clone());
        self.walk = (index < self.entries.len() || entry.is_some()).then_some((target, kept));
        entry
    }

    /// The entry after the one shown; at the end, the draft.
    pub fn newer(&mut self) -> Option<Editor> {
        let (index, kept) = self.walk.take()?;
        match self.entries.get(index + 1) {
            Some(entry) => {
                let entry = entry.clone();
                self.walk = Some((index + 1, kept));
                Some(entry)
            }
            None => Some(kept),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn up_and_down_come_back_to_the_draft() {
        let mut history = History::default();
        assert!(history.older(&Editor::with("d")).is_none());
        for text in ["one", "two", "two"] {
            history.push(&Editor::with(text));
        }
        let text = |editor: Option<Editor>| editor.map(|e| e.text().to_owned());
        let draft = Editor::with("draft");
        assert_eq!(text(history.older(&draft)), Some("two".into()));
        assert_eq!(text(history.older(&draft)), Some("one".into()));
        assert_eq!(text(history.older(&draft)), None);
        assert_eq!(text(history.newer()), Some("two".into()));
        assert_eq!(text(history.newer()), Some("draft".into()));
        assert_eq!(text(history.newer()), None);
    }
}
