//! Where Tessera keeps its own files: the XDG folders, and nothing else. No other module knows them.
//!
//! Invariant: every folder made here belongs to the user alone (mode 0700).

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

const NAME: &str = "tessera";

/// The three base folders, already ending in `tessera`. Nothing is created until it is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    /// Settings, prompts, tools and themes of the user.
    pub config: PathBuf,
    /// Sessions, checkpoints and logs.
    pub state: PathBuf,
    /// Things that can be made again: snapshots of the engine, downloads.
    pub cache: PathBuf,
}

/// Neither the XDG variables nor `HOME` say where to put files.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("no home folder: set HOME, or {0} to an absolute path")]
pub struct NoHome(&'static str);

impl Paths {
    /// Reads `XDG_CONFIG_HOME`, `XDG_STATE_HOME`, `XDG_CACHE_HOME` and `HOME` of this process.
    ///
    /// # Errors
    /// [`NoHome`] when a folder cannot be named.
    pub fn from_env() -> Result<Self, NoHome> {
        Self::resolve(|name| std::env::var_os(name))
    }

    /// As [`Paths::from_env`] with any look-up. Relative values are ignored, as the XDG Base
    /// Directory Specification asks.
    ///
    /// # Errors
    /// [`NoHome`] when a folder cannot be named.
    pub fn resolve(lookup: impl Fn(&str) -> Option<OsString>) -> Result<Self, NoHome> {
        let absolute = |name: &str| lookup(name).map(PathBuf::from).filter(|p| p.is_absolute());
        let base = |name: &'static str, below: &str| {
            absolute(name)
                .or_else(|| absolute("HOME").map(|home| home.join(below)))
                .map(|folder| folder.join(NAME))
                .ok_or(NoHome(name))
        };
        Ok(Self {
            config: base("XDG_CONFIG_HOME", ".config")?,
            state: base("XDG_STATE_HOME", ".local/state")?,
            cache: base("XDG_CACHE_HOME", ".cache")?,
        })
    }

    /// All three below one folder; for tests and portable set-ups.
    pub fn under(base: &Path) -> Self {
        Self { config: base.join("config"), state: base.join("state"), cache: base.join("cache") }
    }

    /// Session logs, one file a session.
    pub fn sessions(&self) -> PathBuf {
        self.state.join("sessions")
    }

    /// Copies of file contents for undo, one folder a session.
    pub fn checkpoints(&self) -> PathBuf {
        self.state.join("checkpoints")
    }

    /// Whole outputs of commands.
    pub fn command_logs(&self) -> PathBuf {
        self.state.join("commands")
    }

    /// The developer's log.
    pub fn log(&self) -> PathBuf {
        self.state.join("tessera.log")
    }
}

/// Creates a folder and its parents for this user alone (mode 0700 for those that are made).
///
/// # Errors
/// Those of the file system. A folder that exists already keeps its mode.
pub fn private_dir(path: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder.create(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(vars: &[(&str, &str)]) -> Result<Paths, NoHome> {
        let vars: Vec<(String, OsString)> =
            vars.iter().map(|(k, v)| (k.to_string(), v.into())).collect();
        Paths::resolve(|name| vars.iter().find(|(k, _)| k == name).map(|(_, v)| v.clone()))
    }

    #[test]
    fn home_gives_the_defaults_and_variables_override_them() {
        let paths = with(&[("HOME", "/h"), ("XDG_STATE_HOME", "/s")]).unwrap();
        assert_eq!(paths.config, Path::new("/h/.config/tessera"));
        assert_eq!(paths.state, Path::new("/s/tessera"));
        assert_eq!(paths.cache, Path::new("/h/.cache/tessera"));
    }

    #[test]
    fn relative_values_do_not_count() {
        let paths = with(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "rel")]).unwrap();
        assert_eq!(paths.config, Path::new("/h/.config/tessera"));
        assert_eq!(with(&[("HOME", "here")]), Err(NoHome("XDG_CONFIG_HOME")));
    }

    #[cfg(unix)]
    #[test]
    fn folders_belong_to_the_user_alone() {
        use std::os::unix::fs::PermissionsExt;
        let temp = tempfile::tempdir().unwrap();
        let made = temp.path().join("a/b");
        private_dir(&made).unwrap();
        private_dir(&made).unwrap();
        let mode = |p: &Path| std::fs::metadata(p).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&made), mode(&temp.path().join("a"))), (0o700, 0o700));
    }
}
