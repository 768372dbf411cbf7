//! Cargo projects.

use super::{FindingRun, Project, TestRun, argv};
use crate::verify::{FindingFormat, TestFormat};

pub(super) fn tests(project: &Project, filter: Option<&str>) -> Option<TestRun> {
    if !project.has("Cargo.toml") {
        return None;
    }
    // Without it the first failing binary would hide the others.
    let mut words = vec!["cargo", "test", "--no-fail-fast"];
    words.extend(filter);
    let shown = ["cargo", "test"].into_iter().chain(filter).collect::<Vec<_>>().join(" ");
    Some(TestRun { program: argv(words), shown, format: TestFormat::Cargo })
}

pub(super) fn lint(project: &Project) -> Option<FindingRun> {
    (project.has("Cargo.toml") && project.on_path("cargo-clippy")).then(|| run("clippy"))
}

pub(super) fn typecheck(project: &Project) -> Option<FindingRun> {
    project.has("Cargo.toml").then(|| run("check"))
}

fn run(command: &str) -> FindingRun {
    FindingRun {
        program: argv(["cargo", command, "--quiet", "--all-targets", "--message-format=json"]),
        shown: format!("cargo {command}"),
        format: FindingFormat::Cargo,
    }
}
