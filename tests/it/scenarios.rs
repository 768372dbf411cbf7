//! Cases as folders: a workspace, a script of model answers, a command line, the expected tree.
//!
//! `tests/scenarios/NAME/` holds `case.toml`, `script.toml`, `before/` and `after/` (`after/` missing: the
//! tree is unchanged). The real binary runs, only the weights are played. Adding a case is adding a folder.

use super::support::{Home, commit_all, copy};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// What the case shows, in one sentence.
    about: String,
    /// The request.
    prompt: String,
    /// More arguments of `tessera exec`.
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    exit: i32,
    /// Texts that standard output must hold.
    #[serde(default)]
    out: Vec<String>,
    /// Texts that standard error must hold.
    #[serde(default)]
    err: Vec<String>,
    /// Texts that neither may hold.
    #[serde(default)]
    never: Vec<String>,
}

fn scenarios() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios")
}

/// Path -> bytes of every file but git's own.
fn tree(root: &Path) -> BTreeMap<String, Vec<u8>> {
    fn walk(root: &Path, dir: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            if name == ".git" || name.contains("__pycache__") {
                continue;
            }
            if path.is_dir() {
                walk(root, &path, files);
            } else {
                files.insert(name, std::fs::read(path).unwrap());
            }
        }
    }
    let mut files = BTreeMap::new();
    walk(root, root, &mut files);
    files
}

fn run(folder: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(folder.join("case.toml")).unwrap();
    let case: Case = toml::from_str(&text).map_err(|error| error.to_string())?;
    let home = Home::new();
    let root = home.path().join("workspace");
    copy(&folder.join("before"), &root);
    commit_all(&root);
    let script = folder.join("script.toml");
    let mut arguments = vec!["exec", "--script", script.to_str().unwrap()];
    arguments.extend(case.args.iter().map(String::as_str));
    arguments.push(&case.prompt);
    let output = home.run(&root, &arguments);
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let shown = format!("{}\n--- out\n{out}\n--- err\n{err}", case.about);
    if output.status.code() != Some(case.exit) {
        return Err(format!("exit {:?}, not {}: {shown}", output.status.code(), case.exit));
    }
    for (texts, place) in [(&case.out, &out), (&case.err, &err)] {
        if let Some(missing) = texts.iter().find(|text| !place.contains(text.as_str())) {
            return Err(format!("missing {missing:?}: {shown}"));
        }
    }
    if let Some(seen) =
        case.never.iter().find(|t| out.contains(t.as_str()) || err.contains(t.as_str()))
    {
        return Err(format!("must not be there: {seen:?}: {shown}"));
    }
    let after = folder.join("after");
    let expected = tree(&if after.exists() { after } else { folder.join("before") });
    let found = tree(&root);
    if found != expected {
        return Err(format!("the tree is {:?}: {shown}", found.keys().collect::<Vec<_>>()));
    }
    Ok(())
}

#[test]
fn every_scenario_ends_as_expected() {
    let mut folders: Vec<PathBuf> =
        std::fs::read_dir(scenarios()).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    assert!(folders.len() >= 8, "scenarios are missing");
    let faults: Vec<String> = folders
        .iter()
        .filter_map(|folder| {
            let name = folder.file_name().unwrap().to_string_lossy().into_owned();
            run(folder).err().map(|fault| format!("{name}: {fault}"))
        })
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}
