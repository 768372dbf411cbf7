//! The rules of ARCHITECTURE.md as tests: who may import whom, what a module must never contain, how
//! long a file may be.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Module -> modules it may import (itself is always allowed).
const IMPORTS: &[(&str, &[&str])] = &[
    ("protocol", &[]),
    ("edit", &["protocol"]),
    ("verify", &["protocol"]),
    ("engine", &["protocol"]),
    ("agent", &["protocol"]),
    ("paths", &[]),
    ("config", &["protocol", "paths"]),
    ("assets", &["protocol", "paths"]),
    ("session", &["protocol", "paths"]),
    ("workspace", &["protocol", "edit", "paths"]),
    ("tools", &["protocol", "edit", "verify", "workspace", "assets"]),
    (
        "runtime",
        &[
            "protocol",
            "edit",
            "verify",
            "engine",
            "agent",
            "paths",
            "config",
            "assets",
            "session",
            "workspace",
            "tools",
        ],
    ),
    ("tui", &["protocol", "config", "assets"]),
    ("headless", &["protocol"]),
    ("logging", &[]),
    ("cli", &["protocol"]),
];

/// Module -> texts that must not occur in it (outside tests).
const FORBIDDEN: &[(&str, &[&str])] = &[
    ("protocol", &["std::fs", "tokio", "async fn", "std::process"]),
    ("edit", &["std::fs", "tokio", "async fn", "std::process"]),
    ("verify", &["std::fs", "tokio", "async fn", "std::process"]),
    ("engine", &["std::process", "ratatui"]),
    ("agent", &["std::fs", "tokio", "async fn", "Instant", "SystemTime", "rand::", "std::process"]),
    ("workspace", &["ratatui", "crossterm"]),
    ("session", &["ratatui", "crossterm"]),
    ("tools", &["ratatui", "crossterm"]),
    ("runtime", &["ratatui", "crossterm"]),
    (
        "tui",
        &["std::fs", "git2", "std::process::Command", "Color::Rgb(", "Color::Red", "Color::Green"],
    ),
    ("headless", &["ratatui", "crossterm"]),
];

/// Only `tools/exec` starts processes.
const SPAWNER: &str = "tools/exec";

const CAP: usize = 500;

/// Files over the cap when the rule was made; may shrink or go, never grow or come.
const OVER_CAP: &[(&str, usize)] = &[];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Every source file: path below `src`, text without its test module.
fn sources() -> Vec<(String, String)> {
    fn walk(dir: &Path, files: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, files);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                files.push(path);
            }
        }
    }
    let mut files = Vec::new();
    walk(&root(), &mut files);
    files.sort();
    assert!(files.len() > 20, "the sources were not found");
    files
        .into_iter()
        .map(|path| {
            let name = path.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/");
            (name, fs::read_to_string(path).unwrap())
        })
        .collect()
}

/// The part of a file that ships.
fn shipped(text: &str) -> &str {
    text.find("#[cfg(test)]\nmod tests {").map_or(text, |at| &text[..at])
}

fn is_test_file(name: &str) -> bool {
    test_modules()
        .iter()
        .any(|module| name == format!("{module}.rs") || name.starts_with(&format!("{module}/")))
}

/// Modules declared below `#[cfg(test)]`, as paths below `src` without their ending.
fn test_modules() -> &'static BTreeSet<String> {
    static FOUND: OnceLock<BTreeSet<String>> = OnceLock::new();
    FOUND.get_or_init(|| {
        let mut found = BTreeSet::new();
        for (name, text) in sources() {
            let folder = match name.trim_end_matches(".rs") {
                "lib" | "main" => String::new(),
                path => format!("{}/", path.trim_end_matches("/mod")),
            };
            let lines: Vec<&str> = text.lines().collect();
            for pair in lines.windows(2).filter(|pair| pair[0].trim() == "#[cfg(test)]") {
                if let Some((_, module)) = pair[1].split_once("mod ") {
                    found
                        .extend(module.strip_suffix(';').map(|module| format!("{folder}{module}")));
                }
            }
        }
        found
    })
}

fn module_of(name: &str) -> &str {
    name.split('/').next().unwrap_or(name).trim_end_matches(".rs")
}

fn code_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim_start().starts_with("//"))
}

#[test]
fn modules_import_only_what_the_table_allows() {
    let modules: BTreeSet<&str> = IMPORTS.iter().map(|(module, _)| *module).collect();
    let mut faults = Vec::new();
    for (name, text) in sources().iter().filter(|(name, _)| !is_test_file(name)) {
        let module = module_of(name);
        let Some((_, allowed)) = IMPORTS.iter().find(|(known, _)| *known == module) else {
            assert!(
                ["main", "lib", "app"].contains(&module),
                "{name}: add the module to the table"
            );
            continue;
        };
        for line in code_lines(shipped(text)) {
            for part in line.split("crate::").skip(1) {
                let used: String =
                    part.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                if used != module && modules.contains(used.as_str()) && !allowed.contains(&&*used) {
                    faults.push(format!("{name} imports {used}"));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn modules_stay_clear_of_what_is_not_theirs() {
    let mut faults = Vec::new();
    for (name, text) in sources().iter().filter(|(name, _)| !is_test_file(name)) {
        for (_, words) in FORBIDDEN.iter().filter(|(module, _)| *module == module_of(name)) {
            for line in code_lines(shipped(text)) {
                faults.extend(
                    words
                        .iter()
                        .filter(|w| line.contains(**w))
                        .map(|w| format!("{name}: {w}: {line}")),
                );
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn only_one_place_starts_processes() {
    let faults: Vec<_> = sources()
        .into_iter()
        .filter(|(name, _)| !name.starts_with(SPAWNER) && !is_test_file(name))
        .filter(|(_, text)| code_lines(shipped(text)).any(|line| line.contains("Command::new(")))
        .map(|(name, _)| name)
        .collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn every_file_says_what_it_is() {
    let faults: Vec<_> = sources()
        .into_iter()
        .filter(|(_, text)| !text.starts_with("//!"))
        .map(|(name, _)| name)
        .collect();
    assert!(faults.is_empty(), "no //! at the top: {faults:#?}");
}

#[test]
fn files_stay_short() {
    for (name, text) in sources().iter().filter(|(name, _)| !is_test_file(name)) {
        let lines = shipped(text).lines().count();
        let cap = OVER_CAP.iter().find(|(file, _)| file == name).map_or(CAP, |(_, cap)| *cap);
        assert!(lines <= cap, "{name} has {lines} lines (cap {cap}): name its second subject");
    }
    for (name, _) in OVER_CAP {
        assert!(root().join(name).exists(), "{name} is gone: take it off the list");
    }
}

#[test]
fn main_stays_thin() {
    let text = fs::read_to_string(root().join("main.rs")).unwrap();
    assert!(text.lines().count() <= 40);
}

#[test]
fn code_that_ships_never_unwraps() {
    let mut faults = Vec::new();
    for (name, text) in sources().iter().filter(|(name, _)| !is_test_file(name)) {
        for line in code_lines(shipped(text)) {
            if [".unwrap()", ".expect(", "todo!(", "unimplemented!("]
                .iter()
                .any(|w| line.contains(w))
            {
                faults.push(format!("{name}: {}", line.trim()));
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn architecture_page_stays_short() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("ARCHITECTURE.md");
    assert!(fs::read_to_string(page).unwrap().lines().count() <= 200);
}
