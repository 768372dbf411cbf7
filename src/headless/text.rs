//! Events as text: the answer on standard output, everything about it on standard error.

use super::level;
use crate::protocol::{Event, FileDiff, Outcome, ToolStatus, visible};
use std::io::{Result, Write};

/// Remembers just enough to keep lines whole.
#[derive(Debug, Default)]
pub(super) struct TextOutput {
    /// Answer text has been written and its last line is open.
    open: bool,
}

impl TextOutput {
    pub fn write(&mut self, event: &Event) -> Result<()> {
        match event {
            Event::TextDelta { text } => self.answer(text),
            Event::ToolStarted { title, .. } => self.aside(&format!("· {title}")),
            Event::ToolFinished { output, .. } => {
                let mark = match output.status {
                    ToolStatus::Done => "✓",
                    ToolStatus::Failed => "✗",
                    ToolStatus::Refused | ToolStatus::Stopped => "–",
                };
                self.aside(&format!("{mark} {}", output.summary))
            }
            Event::ToolRejected { problem } => self.aside(&format!("✗ {}", problem.message)),
            Event::ReviewRequested { review } => {
                self.close()?;
                for file in &review.files {
                    diff(file)?;
                }
                self.aside("nothing was written: --policy auto-edit writes edits without asking")
            }
            Event::ApprovalRequested { title, .. } => {
                self.aside(&format!("not run, nobody to ask (--policy auto runs it): {title}"))
            }
            Event::Notice { level: loud, text } => self.aside(&format!("{}: {text}", level(*loud))),
            Event::EngineFailed { message } => self.aside(&format!("error: {message}")),
            Event::StepFinished { usage, .. } => self.aside(&format!(
                "  {} prompt ({} reused) · {} thinking · {} answer tokens",
                usage.prefilled + usage.cached,
                usage.cached,
                usage.thinking,
                usage.answer
            )),
            Event::TurnFinished { outcome, .. } => {
                self.close()?;
                match outcome {
                    Outcome::Done => Ok(()),
                    Outcome::Interrupted => self.aside("interrupted"),
                    Outcome::Failed { message } => self.aside(&format!("error: {message}")),
                }
            }
            _ => Ok(()),
        }
    }

    fn answer(&mut self, text: &str) -> Result<()> {
        let mut out = std::io::stdout().lock();
        out.write_all(visible(text).as_bytes())?;
        self.open = !text.ends_with('\n');
        out.flush()
    }

    /// A line on standard error, below whatever line is open on the terminal.
    fn aside(&mut self, text: &str) -> Result<()> {
        self.close()?;
        writeln!(std::io::stderr().lock(), "{}", visible(text))
    }

    fn close(&mut self) -> Result<()> {
        if std::mem::take(&mut self.open) {
            writeln!(std::io::stdout().lock())?;
        }
        Ok(())
    }
}

fn diff(file: &FileDiff) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "--- {}", visible(&file.path))?;
    for hunk in &file.hunks {
        writeln!(
            out,
            "@@ -{},{} +{},{} @@",
            hunk.old_start,
            hunk.old.len(),
            hunk.new_start,
            hunk.new.len()
        )?;
        for line in &hunk.old {
            writeln!(out, "-{}", visible(line))?;
        }
        for line in &hunk.new {
            writeln!(out, "+{}", visible(line))?;
        }
    }
    Ok(())
}
