//! `find`: files and folders by a glob, one path a line.

use super::search::glob;
use super::{Job, Outcome, blocking, flag, plural, start, text};
use crate::protocol::ToolOutput;

pub(in crate::tools) async fn run(job: &Job<'_>) -> Outcome {
    let pattern = text(job.args, "pattern")?.to_owned();
    let matcher = glob(&pattern)?;
    let place = start(job)?;
    let workspace = job.cx.workspace.clone();
    let (all, most) = (flag(job.args, "all"), job.cx.settings.matches);
    blocking(job, move |cancel| {
        let (mut found, mut count) = (Vec::new(), 0);
        let below = workspace.absolute(&place);
        for entry in workspace.walker(&below, all).build().flatten() {
            if cancel.is_cancelled() {
                break;
            }
            let Ok(path) = entry.path().strip_prefix(workspace.root()) else {
                continue;
            };
            if path.as_os_str().is_empty() || !matcher.is_match(path) {
                continue;
            }
            count += 1;
            if found.len() < most {
                let slash = if entry.file_type().is_some_and(|t| t.is_dir()) { "/" } else { "" };
                found.push(format!("{}{slash}", path.to_string_lossy()));
            }
        }
        let mut text = found.join("\n");
        if count == 0 {
            let scope = if all { "" } else { "; ignored files were left out" };
            text = format!("nothing matches {pattern}{scope}");
        } else if count > found.len() {
            text.push_str(&format!("\n[{} more; narrow the pattern]", count - found.len()));
        }
        Ok(ToolOutput::done(text, plural(count, "path")))
    })
    .await
}
