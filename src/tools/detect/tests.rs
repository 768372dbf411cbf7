//! Detection on small made-up projects.

use super::*;

/// The commands found in a folder with these files: tests, then lint, then type check.
fn found(files: &[(&str, &str)]) -> (Vec<String>, Vec<String>, Vec<String>) {
    let temp = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = temp.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        if path.to_string_lossy().contains("bin/") {
            std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755))
                .unwrap();
        }
    }
    let workspace = Workspace::open(temp.path()).unwrap();
    let names = |runs: Vec<FindingRun>| runs.into_iter().map(|run| run.shown).collect();
    let tests = super::tests(&workspace, None).into_iter().map(|run| run.shown).collect();
    (tests, names(lints(&workspace)), names(typechecks(&workspace)))
}

const UNITTEST: &str = "import unittest\n";

/// Files of a project, and the test commands found in it.
type Case = (&'static [(&'static str, &'static str)], &'static [&'static str]);

const CASES: &[Case] = &[
    (&[("a.txt", "")], &[]),
    (&[("Cargo.toml", "")], &["cargo test"]),
    (&[("test_a.py", UNITTEST)], &["python3 -m unittest"]),
    (&[("a.py", "def test(): pass")], &[]),
    (&[("tests/__init__.py", ""), ("tests/test_a.py", UNITTEST)], &["python3 -m unittest"]),
    (&[("tests/test_a.py", UNITTEST)], &["python3 -m unittest discover -s tests"]),
    (&[("test_a.py", "import pytest\n")], &["pytest"]),
    (&[("test_a.py", "def test_a():\n    assert True\n")], &["pytest"]),
    (&[("test_a.py", UNITTEST), ("conftest.py", "")], &["pytest"]),
    (&[("test_a.py", UNITTEST), ("pyproject.toml", "[tool.pytest.ini_options]\n")], &["pytest"]),
    (&[("test_a.py", UNITTEST), ("pyproject.toml", "[tool.pytester]\n")], &["python3 -m unittest"]),
    (&[("test_a.py", UNITTEST), ("setup.cfg", "[tool:pytest]\n")], &["pytest"]),
    (&[("package.json", r#"{"scripts":{"test":"node --test"}}"#)], &["npm test"]),
    (
        &[(
            "package.json",
            r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#,
        )],
        &[],
    ),
    (&[("package.json", "{}"), ("a.test.mjs", "")], &["node --test"]),
    (&[("package.json", "not json")], &[]),
    (&[("Cargo.toml", ""), ("test_a.py", UNITTEST)], &["cargo test", "python3 -m unittest"]),
    (&[(".gitignore", "v/\n"), ("v/test_a.py", UNITTEST)], &[]),
];

#[test]
fn test_commands_are_found_by_what_a_project_has() {
    for (files, expected) in CASES {
        assert_eq!(found(files).0, *expected, "{files:?}");
    }
}

#[test]
fn runners_are_asked_for_json_only_where_that_is_safe() {
    let program = |script: &str| {
        let temp = tempfile::tempdir().unwrap();
        let text = serde_json::json!({ "scripts": { "test": script } }).to_string();
        std::fs::write(temp.path().join("package.json"), text).unwrap();
        let runs = super::tests(&Workspace::open(temp.path()).unwrap(), Some("shop"));
        (runs[0].program.clone(), runs[0].format, runs[0].shown.clone())
    };
    let shown = "npm test shop".to_owned();
    assert_eq!(
        program("jest --coverage"),
        (argv(["npm", "test", "--", "--json", "shop"]), TestFormat::Jest, shown.clone())
    );
    let any = argv(["npm", "test", "--", "shop"]);
    assert_eq!(program("jest && echo done"), (any.clone(), TestFormat::Any, shown.clone()));
    assert_eq!(program("mocha"), (any, TestFormat::Any, shown));
}

#[test]
fn filters_become_what_the_runner_understands() {
    let temp = tempfile::tempdir().unwrap();
    std::fs::create_dir(temp.path().join("tests")).unwrap();
    std::fs::write(temp.path().join("tests/test_a.py"), "import unittest\n").unwrap();
    let workspace = Workspace::open(temp.path()).unwrap();
    let shown = |filter| super::tests(&workspace, Some(filter))[0].shown.clone();
    assert_eq!(shown("test_one"), "python3 -m unittest discover -s tests -k test_one");
    assert_eq!(shown("tests/test_a.py"), "python3 -m unittest tests/test_a.py");
    assert_eq!(shown("test_a.TestA.test_one"), "python3 -m unittest test_a.TestA.test_one");
    std::fs::write(temp.path().join("pytest.ini"), "").unwrap();
    assert_eq!(shown("one and two"), "pytest -k one and two");
    assert_eq!(shown("tests/test_a.py::test_one"), "pytest tests/test_a.py::test_one");
}

#[test]
fn linters_and_checkers_of_the_project_itself_are_used() {
    let python = [
        ("a.py", ""),
        (".venv/bin/ruff", "#!/bin/sh\n"),
        (".venv/bin/mypy", "#!/bin/sh\n"),
        (".venv/bin/pyright", "#!/bin/sh\n"),
    ];
    let (_, lint, types) = found(&python);
    assert_eq!((lint, types), (vec!["ruff check".into()], vec!["mypy".into()]));
    let (_, _, types) = found(&[&python[..], &[("pyrightconfig.json", "{}")]].concat());
    assert_eq!(types, ["pyright"]);
    let (_, lint, types) = found(&[
        ("node_modules/.bin/eslint", ""),
        ("node_modules/.bin/tsc", ""),
        ("eslint.config.mjs", ""),
        ("tsconfig.json", "{}"),
    ]);
    assert_eq!((lint, types), (vec!["eslint".into()], vec!["tsc --noEmit".into()]));
    let (_, lint, types) = found(&[("Cargo.toml", "")]);
    assert_eq!((lint, types), (vec!["cargo clippy".into()], vec!["cargo check".into()]));
}
