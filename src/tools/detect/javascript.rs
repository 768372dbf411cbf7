//! JavaScript and TypeScript projects: the scripts of `package.json`, eslint, tsc.

use super::{FindingRun, Project, TestRun, argv};
use crate::verify::{FindingFormat, TestFormat};
use serde_json::Value;

/// Where a project keeps its own programs.
const BIN: &[&str] = &["node_modules/.bin"];

pub(super) fn tests(project: &Project, filter: Option<&str>) -> Option<TestRun> {
    let script = script(project, "test");
    let Some(script) = script.filter(|script| !script.contains("no test specified")) else {
        return node_tests(project, filter);
    };
    let (manager, dashes) = manager(project);
    let (extra, format) = readable(&script);
    let mut words = vec![manager, "test"];
    let more: Vec<&str> = extra.iter().copied().chain(filter).collect();
    if !more.is_empty() {
        words.extend(dashes.then_some("--"));
    }
    words.extend(more);
    let shown = [manager, "test"].into_iter().chain(filter).collect::<Vec<_>>().join(" ");
    Some(TestRun { program: argv(words), shown, format })
}

/// Test files without a script: node's own runner finds them.
fn node_tests(project: &Project, filter: Option<&str>) -> Option<TestRun> {
    let ends = [".test.js", ".test.mjs", ".test.cjs"];
    if !project.files().iter().any(|path| ends.iter().any(|end| path.ends_with(end))) {
        return None;
    }
    let filter = filter.map(|name| match project.has(name) {
        true => name.to_owned(),
        false => format!("--test-name-pattern={name}"),
    });
    let words: Vec<&str> = ["node", "--test"].into_iter().chain(filter.as_deref()).collect();
    Some(TestRun { shown: words.join(" "), program: argv(words), format: TestFormat::Any })
}

fn script(project: &Project, name: &str) -> Option<String> {
    let package: Value = serde_json::from_str(&project.text("package.json")).ok()?;
    package["scripts"][name].as_str().map(str::to_owned)
}

/// The package manager by its lock file, and whether it wants `--` before arguments for the script.
fn manager(project: &Project) -> (&'static str, bool) {
    let known = [("pnpm-lock.yaml", ("pnpm", false)), ("yarn.lock", ("yarn", false))];
    let found = known.iter().find(|(lock, _)| project.has(lock)).map(|(_, manager)| *manager);
    found.filter(|(name, _)| project.on_path(name)).unwrap_or(("npm", true))
}

/// Options that make a runner write JSON. Only where the script is that one command: with more
/// around it there is no telling where the options would go.
fn readable(script: &str) -> (&'static [&'static str], TestFormat) {
    let simple = !script.contains(['&', '|', ';', '>', '<', '$', '`']);
    match script.split_whitespace().next() {
        Some("jest") if simple => (&["--json"], TestFormat::Jest),
        Some("vitest") if simple => (&["--run", "--reporter=json"], TestFormat::Jest),
        Some(_) | None => (&[], TestFormat::Any),
    }
}

pub(super) fn lint(project: &Project) -> Option<FindingRun> {
    let eslint = project.own_program(BIN, "eslint")?;
    let configured = project.files().iter().any(|path| {
        !path.contains('/') && (path.starts_with("eslint.config.") || path.starts_with(".eslintrc"))
    });
    configured.then(|| FindingRun {
        program: argv([eslint.as_str(), "--format", "json", "."]),
        shown: "eslint".to_owned(),
        format: FindingFormat::Eslint,
    })
}

pub(super) fn typecheck(project: &Project) -> Option<FindingRun> {
    let tsc = project.own_program(BIN, "tsc").filter(|_| project.has("tsconfig.json"))?;
    Some(FindingRun {
        program: argv([tsc.as_str(), "--noEmit", "--pretty", "false"]),
        shown: "tsc --noEmit".to_owned(),
        format: FindingFormat::Lines,
    })
}
