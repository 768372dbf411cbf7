//! `tessera demo`: the bundled model and a fresh copy of the sample repository, nothing of the user's.

use crate::paths::{Paths, private_dir};
use anyhow::{Context, Result, bail};
use include_dir::{Dir, include_dir};
use std::path::{Path, PathBuf};

/// The bundled model; `tests/fixtures/demo-model/README.md` says what it is and how it was made.
static MODEL: &[u8] = include_bytes!("../../tests/fixtures/demo-model/tessera-demo.gguf");
static SAMPLE: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/tests/fixtures/sample-project");

/// What the demo asks for when nobody types.
pub(super) const PROMPT: &str = "Fix the failing test.";

/// Settings of the demo: one game, three tools, greedy, and a project whose tests are ours.
pub(super) fn settings(model: &Path) -> Vec<String> {
    [
        &format!("model={}", toml::Value::from(model.to_string_lossy().as_ref())),
        "profile=demo",
        "sampling.temperature=0.0",
        "approval.verify=allow",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// The model as a file in the cache folder, written when it is missing or another version.
pub(super) fn model(paths: &Paths) -> Result<PathBuf> {
    let folder = paths.cache.join("demo");
    private_dir(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let path = folder.join("tessera-demo.gguf");
    if std::fs::read(&path).is_ok_and(|bytes| bytes == MODEL) {
        return Ok(path);
    }
    let fresh = tempfile::NamedTempFile::new_in(&folder)?;
    std::fs::write(fresh.path(), MODEL)?;
    fresh.persist(&path).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// A fresh copy of the sample repository in a temporary folder that stays, so that it can be looked at.
pub(super) fn repository() -> Result<PathBuf> {
    let folder = tempfile::Builder::new().prefix("tessera-demo-").tempdir()?.keep();
    SAMPLE.extract(&folder).context("cannot write the sample repository")?;
    commit(&folder)?;
    Ok(folder)
}

/// Writes model and repository below `folder`.
pub(super) fn export(folder: &Path) -> Result<()> {
    let sample = folder.join("sample-project");
    if sample.exists() {
        bail!("{} is there already; name another folder", sample.display());
    }
    std::fs::create_dir_all(&sample)?;
    std::fs::write(folder.join("tessera-demo.gguf"), MODEL)?;
    SAMPLE.extract(&sample)?;
    commit(&sample)
}

fn commit(folder: &Path) -> Result<()> {
    let repository = git2::Repository::init_opts(
        folder,
        git2::RepositoryInitOptions::new().initial_head("main").external_template(false),
    )?;
    let mut index = repository.index()?;
    index.add_all(["*"], git2::IndexAddOption::DEFAULT, None)?;
    index.write()?;
    let tree = repository.find_tree(index.write_tree()?)?;
    let author = git2::Signature::now("Tessera demo", "demo@localhost")?;
    repository.commit(Some("HEAD"), &author, &author, "Sample project", &tree, &[])?;
    Ok(())
}
