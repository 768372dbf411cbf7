//! `git`: what has changed, and what came before. Reads only, and runs no program.

use super::{Job, Outcome, blocking, number, optional_text, plural, text};
use crate::protocol::{Args, ToolOutput};
use crate::workspace::{Head, Workspace};

/// Commits listed where the call says nothing, and at most.
const COMMITS: usize = 10;
const MOST_COMMITS: usize = 100;

pub(in crate::tools) fn title(args: &Args) -> String {
    let words = ["action", "revision", "path"].map(|name| optional_text(args, name));
    let words: Vec<&str> = words.into_iter().flatten().collect();
    format!("git {}", words.join(" "))
}

pub(in crate::tools) async fn run(job: &Job<'_>) -> Outcome {
    let action = text(job.args, "action")?.to_owned();
    let workspace = job.cx.workspace.clone();
    let place = match optional_text(job.args, "path") {
        Some(path) => Some(workspace.locate(path).map_err(|refusal| refusal.to_string())?.path),
        None => None,
    };
    let revision = optional_text(job.args, "revision").map(str::to_owned);
    let count =
        number(job.args, "count").map_or(COMMITS, |n| n.clamp(1, MOST_COMMITS as u64) as usize);
    let most = job.cx.settings.output;
    blocking(job, move |_| match action.as_str() {
        "status" => status(&workspace),
        "diff" => diff(&workspace, place.as_deref(), revision.as_deref(), most),
        "log" => log(&workspace, count, place.as_deref()),
        other => Err(format!("unknown action {other}: use status, diff or log")),
    })
    .await
}

fn status(workspace: &Workspace) -> Outcome {
    let lines = workspace.git_status().map_err(|error| error.to_string())?;
    let head = match workspace.head() {
        Some(Head::Branch(name)) => format!("branch {name}"),
        Some(Head::Unborn(name)) => format!("branch {name}, no commits yet"),
        Some(Head::Detached(commit)) => format!("detached at {commit}: commits go on no branch"),
        None => "no branch".to_owned(),
    };
    if lines.is_empty() {
        return Ok(ToolOutput::done(format!("{head}\nnothing has changed"), "clean"));
    }
    let shown: Vec<&str> = lines.iter().take(200).map(String::as_str).collect();
    let more = lines.len() - shown.len();
    let more = if more > 0 { format!("\n[{more} more]") } else { String::new() };
    let text = format!("{head}\n{}{more}", shown.join("\n"));
    Ok(ToolOutput::done(text, format!("{} changed", plural(lines.len(), "file"))))
}

fn diff(
    workspace: &Workspace,
    place: Option<&str>,
    revision: Option<&str>,
    most: usize,
) -> Outcome {
    let text = workspace.git_diff(place, revision).map_err(|error| error.to_string())?;
    if text.is_empty() {
        return Ok(ToolOutput::done("no changes", "no changes"));
    }
    let files = text.lines().filter(|line| line.starts_with("diff --git ")).count();
    let summary = format!("{} changed", plural(files, "file"));
    if text.len() <= most {
        return Ok(ToolOutput::done(text.trim_end(), summary));
    }
    let end = text[..text.floor_char_boundary(most)].rfind('\n').unwrap_or(0);
    let left = text.len() - end;
    let shown = format!("{}\n[{left} bytes left out; ask for the diff of one path]", &text[..end]);
    Ok(ToolOutput::done(shown, summary))
}

fn log(workspace: &Workspace, count: usize, place: Option<&str>) -> Outcome {
    let lines = workspace.git_log(count, place).map_err(|error| error.to_string())?;
    if lines.is_empty() {
        return Ok(ToolOutput::done("no commits", "no commits"));
    }
    Ok(ToolOutput::done(lines.join("\n"), plural(lines.len(), "commit")))
}
