//! Where the person writes: an editor, a history, and the completion list above them.
//!
//! Keys are translated in `keymap.rs` and applied in `update/`; this holds what they act on.

mod editor;
mod history;
mod layout;
mod paste;

pub use editor::Editor;
pub use layout::Layout;

use history::History;

/// The state of the composer.
#[derive(Debug, Default)]
pub struct Composer {
    /// What is being written.
    pub editor: Editor,
    history: History,
    /// Entry chosen in the completion list.
    pub selected: usize,
    /// The completion list was closed by hand and stays so until the text changes.
    pub dismissed: bool,
}

impl Composer {
    /// Takes the message out, whole, and remembers it.
    pub fn take(&mut self) -> String {
        self.history.push(&self.editor);
        let text = self.editor.expanded();
        self.editor.clear();
        text
    }

    /// Shows an older message, if there is one.
    pub fn older(&mut self) {
        if let Some(entry) = self.history.older(&self.editor) {
            self.editor = entry;
        }
    }

    /// Shows a newer message, at the end the draft.
    pub fn newer(&mut self) {
        if let Some(entry) = self.history.newer() {
            self.editor = entry;
        }
    }

    /// The text changed: the completion list starts over.
    pub fn touched(&mut self) {
        self.selected = 0;
        self.dismissed = false;
    }
}
