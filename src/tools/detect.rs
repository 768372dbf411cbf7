//! Which commands a project has for its tests, lint and type check. Looks at files only; starts
//! nothing.

mod javascript;
mod python;
mod rust;

use super::exec::Program;
use crate::verify::{FindingFormat, TestFormat};
use crate::workspace::Workspace;
use std::path::{Path, PathBuf};

/// A command that runs tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestRun {
    /// What to start, at the root.
    pub program: Program,
    /// Its name for people and the model, without the options that only make it readable for us.
    pub shown: String,
    /// What it prints.
    pub format: TestFormat,
}

/// A command that lints or type-checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FindingRun {
    /// What to start, at the root.
    pub program: Program,
    /// Its name for people and the model.
    pub shown: String,
    /// What it prints.
    pub format: FindingFormat,
}

/// The test commands of a project, each limited to `filter` if there is one. Empty when none is found.
pub(super) fn tests(workspace: &Workspace, filter: Option<&str>) -> Vec<TestRun> {
    let project = Project::new(workspace);
    [
        rust::tests(&project, filter),
        python::tests(&project, filter),
        javascript::tests(&project, filter),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The linters of a project. Empty when none is found.
pub(super) fn lints(workspace: &Workspace) -> Vec<FindingRun> {
    let project = Project::new(workspace);
    [rust::lint(&project), python::lint(&project), javascript::lint(&project)]
        .into_iter()
        .flatten()
        .collect()
}

/// The type checkers of a project. Empty when none is found.
pub(super) fn typechecks(workspace: &Workspace) -> Vec<FindingRun> {
    let project = Project::new(workspace);
    [rust::typecheck(&project), python::typecheck(&project), javascript::typecheck(&project)]
        .into_iter()
        .flatten()
        .collect()
}

/// Files read of a project, at most this much of each.
const MAX_CONFIG: u64 = 256 * 1024;
/// Files of a project that are looked at for names.
const MAX_FILES: usize = 5_000;

/// What detection may look at.
struct Project<'a> {
    workspace: &'a Workspace,
    root: &'a Path,
    files: std::cell::OnceCell<Vec<String>>,
}

impl<'a> Project<'a> {
    fn new(workspace: &'a Workspace) -> Self {
        Self { workspace, root: workspace.root(), files: std::cell::OnceCell::new() }
    }

    fn has(&self, path: &str) -> bool {
        self.root.join(path).is_file()
    }

    /// A text file of the project; empty when it is missing, large or not inside the root.
    fn text(&self, path: &str) -> String {
        let file = self.root.join(path);
        let small = file.metadata().is_ok_and(|meta| meta.is_file() && meta.len() <= MAX_CONFIG);
        if !small {
            return String::new();
        }
        let read = self.workspace.read(path).map(|(_, bytes)| bytes).unwrap_or_default();
        String::from_utf8_lossy(&read).into_owned()
    }

    /// Paths of all files that are not ignored, as far as the bound goes.
    fn files(&self) -> &[String] {
        self.files.get_or_init(|| self.workspace.walk_files(self.root).take(MAX_FILES).collect())
    }

    /// A program of the project's own environment (as `.venv/bin`), by its absolute path.
    fn own_program(&self, folders: &[&str], name: &str) -> Option<String> {
        let mut paths = folders.iter().map(|folder| self.root.join(folder).join(name));
        paths.find(|path| is_program(path))?.to_str().map(str::to_owned)
    }

    /// A program in `PATH`. Relative entries and those inside the root do not count: a file of the
    /// repository must not pass for a tool of the user's.
    fn on_path(&self, name: &str) -> bool {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path)
            .filter(|folder: &PathBuf| folder.is_absolute() && !folder.starts_with(self.root))
            .any(|folder| is_program(&folder.join(name)))
    }
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

fn argv<S: AsRef<str>>(words: impl IntoIterator<Item = S>) -> Program {
    Program::Argv(words.into_iter().map(|word| word.as_ref().to_owned()).collect())
}

#[cfg(test)]
mod tests;
