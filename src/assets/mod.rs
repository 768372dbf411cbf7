//! Texts that are data, not code: prompts, tool descriptions and themes. Built in, then those of the
//! user's folder, then those of the project's folder if the user trusts it; a later file replaces an
//! earlier one of the same name.
//!
//! Not here: what the texts mean (registry, theme, runtime). Invariant: a bad file costs a warning and
//! itself, never the start.

use include_dir::{Dir, include_dir};
use std::collections::BTreeMap;
use std::path::Path;

static PROMPTS: Dir = include_dir!("$CARGO_MANIFEST_DIR/prompts");
static TOOLS: Dir = include_dir!("$CARGO_MANIFEST_DIR/tools");
static THEMES: Dir = include_dir!("$CARGO_MANIFEST_DIR/themes");

/// A larger file is no text of this kind.
const MAX_BYTES: u64 = 256 * 1024;

/// Which folder a text lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssetKind {
    /// `prompts/`: what the model reads, as templates; markdown.
    Prompts,
    /// `tools/`: one tool a file; front matter and markdown.
    Tools,
    /// `themes/`: one theme a file; TOML.
    Themes,
}

impl AssetKind {
    const ALL: [Self; 3] = [Self::Prompts, Self::Tools, Self::Themes];

    fn folder(self) -> &'static str {
        match self {
            Self::Prompts => "prompts",
            Self::Tools => "tools",
            Self::Themes => "themes",
        }
    }

    fn built_in(self) -> &'static Dir<'static> {
        match self {
            Self::Prompts => &PROMPTS,
            Self::Tools => &TOOLS,
            Self::Themes => &THEMES,
        }
    }
}

/// Where a text comes from; later ones win.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// Part of the program.
    BuiltIn,
    /// The user's configuration folder.
    User,
    /// The project's folder.
    Project,
}

/// One text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asset {
    /// Path below the folder of its kind, such as `read.md`.
    pub name: String,
    /// All of it.
    pub text: String,
    /// Where it comes from.
    pub origin: Origin,
}

/// All texts, read once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assets {
    /// By folder and name.
    texts: BTreeMap<(&'static str, String), Asset>,
}

impl Assets {
    /// Only what is built in.
    pub fn built_in() -> Self {
        let mut assets = Self::default();
        for kind in AssetKind::ALL {
            assets.add_built_in(kind, kind.built_in());
        }
        assets
    }

    /// What is built in and the folders `prompts`, `tools` and `themes` of the configuration folder;
    /// with it a warning for each file that was left out.
    pub fn load(config: Option<&Path>) -> (Self, Vec<String>) {
        let mut assets = Self::built_in();
        let mut warnings = Vec::new();
        if let Some(config) = config {
            assets.add_folders(config, Origin::User, &mut warnings);
        }
        (assets, warnings)
    }

    /// Adds the same folders of a project. Only for a project that the user trusts.
    #[must_use]
    pub fn with_project(mut self, folder: &Path) -> (Self, Vec<String>) {
        let mut warnings = Vec::new();
        self.add_folders(folder, Origin::Project, &mut warnings);
        (self, warnings)
    }

    /// The prompt `name`: a path below `prompts/` without `.md`.
    pub fn prompt(&self, name: &str) -> Option<&str> {
        self.get(AssetKind::Prompts, &format!("{name}.md")).map(|asset| asset.text.as_str())
    }

    /// All themes by name (without `.toml`), sorted.
    pub fn themes(&self) -> Vec<(String, String)> {
        self.list(AssetKind::Themes)
            .filter_map(|a| Some((a.name.strip_suffix(".toml")?.to_owned(), a.text.clone())))
            .collect()
    }

    /// All texts of a kind, sorted by name.
    pub fn list(&self, kind: AssetKind) -> impl Iterator<Item = &Asset> {
        let of_kind = move |((folder, _), _): &(&(&str, String), &Asset)| *folder == kind.folder();
        self.texts.iter().filter(of_kind).map(|(_, asset)| asset)
    }

    /// One text by file name.
    pub fn get(&self, kind: AssetKind, name: &str) -> Option<&Asset> {
        self.texts.get(&(kind.folder(), name.to_owned()))
    }

    fn add_built_in(&mut self, kind: AssetKind, dir: &Dir) {
        for file in dir.files() {
            if let (Some(name), Some(text)) = (file.path().to_str(), file.contents_utf8()) {
                self.add(kind, name.to_owned(), text.to_owned(), Origin::BuiltIn);
            }
        }
        for dir in dir.dirs() {
            self.add_built_in(kind, dir);
        }
    }

    fn add_folders(&mut self, base: &Path, origin: Origin, warnings: &mut Vec<String>) {
        for kind in AssetKind::ALL {
            let mut found = Vec::new();
            read_folder(&base.join(kind.folder()), "", &mut found, warnings);
            for (name, text) in found {
                self.add(kind, name, text, origin);
            }
        }
    }

    fn add(&mut self, kind: AssetKind, name: String, text: String, origin: Origin) {
        let asset = Asset { name: name.clone(), text, origin };
        self.texts.insert((kind.folder(), name), asset);
    }
}

/// The visible files of a folder and of the folders in it, named by their path with `/`. A folder
/// that is not there is empty.
fn read_folder(
    folder: &Path,
    prefix: &str,
    found: &mut Vec<(String, String)>,
    warnings: &mut Vec<String>,
) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') {
            continue;
        }
        let name = format!("{prefix}{name}");
        // A linked folder may lead round in a ring; real ones only.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            read_folder(&path, &format!("{name}/"), found, warnings);
            continue;
        }
        match read_text(&path) {
            Ok(text) => found.push((name, text)),
            Err(reason) => warnings.push(format!("{} is left out: {reason}", path.display())),
        }
    }
}

fn read_text(path: &Path) -> Result<String, String> {
    let meta = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !meta.is_file() {
        return Err("not a regular file".to_owned());
    }
    if meta.len() > MAX_BYTES {
        return Err(format!("larger than {MAX_BYTES} bytes"));
    }
    std::fs::read_to_string(path).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_folders_replace_and_bad_files_only_warn() {
        let temp = tempfile::tempdir().unwrap();
        let (user, project) = (temp.path().join("user"), temp.path().join("project"));
        std::fs::create_dir_all(user.join("prompts/deep")).unwrap();
        std::fs::create_dir_all(user.join("tools")).unwrap();
        std::fs::create_dir_all(user.join("themes")).unwrap();
        std::fs::create_dir_all(project.join("tools")).unwrap();
        std::fs::write(user.join("tools/read.md"), "user").unwrap();
        std::fs::write(user.join("tools/mine.md"), "mine").unwrap();
        std::fs::write(user.join("tools/bad.md"), b"\xff\xfe").unwrap();
        std::fs::write(user.join("tools/.swp"), "no").unwrap();
        std::fs::write(user.join("prompts/deep/a.md"), "deep").unwrap();
        std::fs::write(user.join("themes/mine.toml"), "").unwrap();
        std::fs::write(project.join("tools/mine.md"), "project").unwrap();
        let (assets, warnings) = Assets::load(Some(&user));
        assert!(warnings.len() == 1 && warnings[0].contains("bad.md"), "{warnings:?}");
        let origin = |assets: &Assets, name| assets.get(AssetKind::Tools, name).map(|a| a.origin);
        assert_eq!(origin(&assets, "read.md"), Some(Origin::User));
        assert_eq!(origin(&assets, ".swp"), None);
        assert_eq!(origin(&assets, "edit.md"), Some(Origin::BuiltIn));
        assert_eq!(assets.prompt("deep/a"), Some("deep"));
        assert!(assets.themes().iter().any(|(name, _)| name == "mine"));
        let (assets, _) = assets.with_project(&project);
        assert_eq!(origin(&assets, "mine.md"), Some(Origin::Project));
        assert_eq!(origin(&Assets::load(None).0, "mine.md"), None);
    }

    /// A file added later is only built in after a rebuild of this file; this tells when to.
    #[test]
    fn every_file_of_the_folders_is_built_in() {
        for kind in AssetKind::ALL {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(kind.folder());
            let mut found = Vec::new();
            read_folder(&folder, "", &mut found, &mut Vec::new());
            for (name, _) in found {
                let known = Assets::built_in().get(kind, &name).is_some();
                assert!(known, "touch src/assets/mod.rs: {name}");
            }
        }
    }
}
