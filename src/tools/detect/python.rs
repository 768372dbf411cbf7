//! Python projects: pytest where it is set up, `unittest` otherwise; ruff; mypy or pyright.

use super::{FindingRun, Project, TestRun, argv};
use crate::verify::{FindingFormat, TestFormat};

/// Test files whose imports are looked at.
const SAMPLES: usize = 40;
/// Where a project keeps its own programs.
const ENVIRONMENTS: &[&str] = &[".venv/bin", "venv/bin"];

pub(super) fn tests(project: &Project, filter: Option<&str>) -> Option<TestRun> {
    let files: Vec<&str> =
        project.files().iter().map(String::as_str).filter(|path| is_test(path)).collect();
    if files.is_empty() {
        return None;
    }
    let python = interpreter(project);
    Some(if wants_pytest(project, &files) {
        pytest(project, &python, filter)
    } else {
        unittest(project, &python, &files, filter)
    })
}

pub(super) fn lint(project: &Project) -> Option<FindingRun> {
    if !has_python(project) {
        return None;
    }
    let ruff = program(project, "ruff")?;
    Some(FindingRun {
        program: argv([ruff.as_str(), "check", "--output-format=json", "."]),
        shown: "ruff check".to_owned(),
        format: FindingFormat::Ruff,
    })
}

pub(super) fn typecheck(project: &Project) -> Option<FindingRun> {
    if !has_python(project) {
        return None;
    }
    let pyproject = project.text("pyproject.toml");
    let wants_pyright = project.has("pyrightconfig.json") || has_table(&pyproject, "tool.pyright");
    let wants_mypy = project.has("mypy.ini")
        || project.has(".mypy.ini")
        || has_table(&pyproject, "tool.mypy")
        || has_table(&project.text("setup.cfg"), "mypy");
    let pyright = || program(project, "pyright").map(|program| pyright(&program));
    let mypy = || program(project, "mypy").map(|program| mypy(&program));
    if wants_pyright && !wants_mypy { pyright().or_else(mypy) } else { mypy().or_else(pyright) }
}

fn pyright(program: &str) -> FindingRun {
    FindingRun {
        program: argv([program, "--outputjson"]),
        shown: "pyright".to_owned(),
        format: FindingFormat::Pyright,
    }
}

fn mypy(program: &str) -> FindingRun {
    let options = ["--show-column-numbers", "--no-color-output", "--no-pretty", "."];
    FindingRun {
        program: argv([program].into_iter().chain(options)),
        shown: "mypy".to_owned(),
        format: FindingFormat::Mypy,
    }
}

fn is_test(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.ends_with(".py") && (name.starts_with("test") || name.ends_with("_test.py"))
}

fn has_python(project: &Project) -> bool {
    project.files().iter().any(|path| path.ends_with(".py"))
}

/// A tool of the project's environment, else of the user's.
fn program(project: &Project, name: &str) -> Option<String> {
    project
        .own_program(ENVIRONMENTS, name)
        .or_else(|| project.on_path(name).then(|| name.to_owned()))
}

fn interpreter(project: &Project) -> String {
    let own = project.own_program(ENVIRONMENTS, "python");
    own.or_else(|| program(project, "python3")).unwrap_or_else(|| "python".to_owned())
}

fn wants_pytest(project: &Project, files: &[&str]) -> bool {
    project.has("pytest.ini")
        || has_table(&project.text("pyproject.toml"), "tool.pytest")
        || has_table(&project.text("setup.cfg"), "tool:pytest")
        || has_table(&project.text("tox.ini"), "pytest")
        || project
            .files()
            .iter()
            .any(|path| path == "conftest.py" || path.ends_with("/conftest.py"))
        || files.iter().take(SAMPLES).any(|path| is_pytest_style(&project.text(path)))
}

/// A line `[name]` or `[name.something]`.
fn has_table(text: &str, name: &str) -> bool {
    text.lines().any(|line| {
        let inner = line.trim().strip_prefix('[').and_then(|rest| rest.split(']').next());
        inner.is_some_and(|inner| {
            inner.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    })
}

/// Imports pytest, or has plain test functions, which `unittest` would not find.
fn is_pytest_style(text: &str) -> bool {
    let imports = |line: &str| line.starts_with("import pytest") || line.starts_with("from pytest");
    let unittest = text.contains("unittest");
    text.lines()
        .any(|line| imports(line.trim_start()) || (!unittest && line.starts_with("def test")))
}

fn pytest(project: &Project, python: &str, filter: Option<&str>) -> TestRun {
    let mut words = vec![python, "-m", "pytest", "-q", "--tb=short", "-rfE", "--color=no"];
    let mut shown = "pytest".to_owned();
    if let Some(filter) = filter {
        let names_a_place = project.root.join(filter.split("::").next().unwrap_or(filter)).exists();
        let option = if names_a_place { "" } else { "-k " };
        words.extend((!names_a_place).then_some("-k"));
        words.push(filter);
        shown = format!("pytest {option}{filter}");
    }
    TestRun { program: argv(words), shown, format: TestFormat::Pytest }
}

fn unittest(project: &Project, python: &str, files: &[&str], filter: Option<&str>) -> TestRun {
    let mut tail: Vec<String> = Vec::new();
    match filter {
        Some(path) if path.ends_with(".py") => tail.push(path.to_owned()),
        // A dotted name is looked up as a module; a bare word is a pattern.
        Some(name) if name.contains('.') && !name.contains('*') => tail.push(name.to_owned()),
        other => {
            if let Some(folder) = folder_without_package(project, files) {
                tail.extend(["discover".to_owned(), "-s".to_owned(), folder]);
            }
            tail.extend(other.into_iter().flat_map(|name| ["-k".to_owned(), name.to_owned()]));
        }
    }
    let shown: Vec<&str> =
        ["python3", "-m", "unittest"].into_iter().chain(tail.iter().map(String::as_str)).collect();
    let shown = shown.join(" ");
    // `-v` belongs behind `discover` and before everything else.
    let at = usize::from(tail.first().is_some_and(|word| word == "discover"));
    tail.insert(at, "-v".to_owned());
    let words = [python, "-m", "unittest"].into_iter().chain(tail.iter().map(String::as_str));
    TestRun { program: argv(words), shown, format: TestFormat::Unittest }
}

/// The folder of the tests, when discovery from the root would not go into it: `unittest` only
/// descends into packages.
fn folder_without_package(project: &Project, files: &[&str]) -> Option<String> {
    let at_root = |path: &&&str| !path.contains('/') && path.starts_with("test");
    if files.iter().any(|path| at_root(&path)) {
        return None;
    }
    let folder = files.first()?.split('/').next()?;
    (!project.has(&format!("{folder}/__init__.py"))).then(|| folder.to_owned())
}
