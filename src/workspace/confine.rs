//! From a path as the model writes it to a place inside the root, or a clear refusal.
//!
//! The walk follows symbolic links itself, part by part, the way the kernel would, so that what is
//! checked is where the path really leads. Invariant: a [`Place`] has no link, no `..` and no
//! protected part left in it; whatever cannot be resolved is refused.

use std::collections::VecDeque;
use std::fs::FileType;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

/// Links followed in one path before it counts as a loop; Linux stops at the same number.
const MAX_LINKS: usize = 40;

/// What is at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A pipe, device or socket.
    Special,
    /// Nothing yet.
    Missing,
}

/// A place inside the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Relative to the root, `/` between parts, links resolved; empty for the root itself.
    pub path: String,
    /// What is there.
    pub kind: Kind,
    /// A symbolic link on the way leads to nothing.
    pub dangling: bool,
}

/// Why a path is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Empty, or holds a NUL byte.
    #[error("the path is empty or holds a NUL byte")]
    BadText,
    /// Leads out of the root, by `..`, an absolute path or a link.
    #[error("{path} is outside the project; use a path relative to its root")]
    OutsideRoot {
        /// As given.
        path: String,
    },
    /// Belongs to git.
    #[error("{path} is protected: files of git are not touched here; use the git tool")]
    Protected {
        /// As given.
        path: String,
    },
    /// Goes through something that is not a folder, or through `..` of a missing one.
    #[error("{path}: {part} is not a folder")]
    NotAFolder {
        /// As given.
        path: String,
        /// The part that is no folder.
        part: String,
    },
    /// Cannot be resolved: link loop, no permission, name too long.
    #[error("{path} cannot be resolved: {reason}")]
    Unresolvable {
        /// As given.
        path: String,
        /// What the system said.
        reason: String,
    },
}

impl Refusal {
    /// The machine-readable code, the same that edits are refused with.
    pub fn code(&self) -> &'static str {
        match self {
            Self::BadText => "bad_text",
            Self::OutsideRoot { .. } => "outside_root",
            Self::Protected { .. } => "protected",
            Self::NotAFolder { .. } | Self::Unresolvable { .. } => "no_such_file",
        }
    }
}

/// The folder that everything is confined to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fence {
    /// Absolute and canonical.
    pub(super) root: PathBuf,
    /// The root as the user spelled it, if that differs.
    pub(super) alias: Option<PathBuf>,
    /// Absolute, canonical; nothing in or below them may be touched.
    pub(super) protected: Vec<PathBuf>,
}

enum Step {
    Up,
    Down(String),
}

impl Fence {
    /// Resolves `path`, relative to the root or absolute and inside it.
    pub(super) fn locate(&self, path: &str) -> Result<Place, Refusal> {
        if path.is_empty() || path.contains('\0') {
            return Err(Refusal::BadText);
        }
        let mut walk = Walk { fence: self, given: path, parts: Vec::new(), links: Vec::new() };
        let mut todo = walk.steps(Path::new(path), true)?;
        let (mut kind, mut dangling) = (Kind::Folder, false);
        while let Some(step) = todo.pop_front() {
            match step {
                Step::Up => walk.up(kind)?,
                Step::Down(name) => {
                    if kind != Kind::Folder && kind != Kind::Missing {
                        return Err(walk.not_a_folder());
                    }
                    walk.parts.push(name);
                    kind = walk.look(&mut todo)?;
                    walk.check_protected()?;
                    dangling |= kind == Kind::Missing && walk.links.contains(&todo.len());
                    continue;
                }
            }
            kind = Kind::Folder;
        }
        Ok(Place { path: walk.parts.join("/"), kind, dangling })
    }

    /// The absolute path of a place.
    pub(super) fn absolute(&self, place: &str) -> PathBuf {
        if place.is_empty() { self.root.clone() } else { self.root.join(place) }
    }
}

struct Walk<'a> {
    fence: &'a Fence,
    given: &'a str,
    parts: Vec<String>,
    /// For each link followed, how many steps were left after it.
    links: Vec<usize>,
}

impl Walk<'_> {
    /// The steps of a path; an absolute one must begin with the root, part by part.
    fn steps(&self, path: &Path, typed: bool) -> Result<VecDeque<Step>, Refusal> {
        let below = if path.is_absolute() {
            let alias = self.fence.alias.as_deref().filter(|_| typed);
            path.strip_prefix(&self.fence.root)
                .ok()
                .or_else(|| alias.and_then(|alias| path.strip_prefix(alias).ok()))
                .ok_or_else(|| self.outside())?
        } else {
            path
        };
        below
            .components()
            .filter(|part| !matches!(part, Component::CurDir))
            .map(|part| match part {
                Component::ParentDir => Ok(Step::Up),
                Component::Normal(name) => match name.to_str() {
                    Some(name) => Ok(Step::Down(name.to_owned())),
                    None => Err(self.unresolvable("a link holds a name that is not UTF-8")),
                },
                Component::CurDir | Component::RootDir | Component::Prefix(_) => {
                    Err(self.outside())
                }
            })
            .collect()
    }

    fn up(&mut self, kind: Kind) -> Result<(), Refusal> {
        if kind != Kind::Folder {
            return Err(self.not_a_folder());
        }
        match self.parts.pop() {
            Some(_) => Ok(()),
            None => Err(self.outside()),
        }
    }

    /// What is at the current place. A link is replaced by the steps of its target.
    fn look(&mut self, todo: &mut VecDeque<Step>) -> Result<Kind, Refusal> {
        let here = self.here();
        let found = match std::fs::symlink_metadata(&here) {
            Ok(found) => found.file_type(),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Kind::Missing),
            Err(error) if error.kind() == ErrorKind::NotADirectory => {
                return Err(self.not_a_folder());
            }
            Err(error) => return Err(self.unresolvable(&error.to_string())),
        };
        if !found.is_symlink() {
            return Ok(kind_of(found));
        }
        self.links.push(todo.len());
        if self.links.len() > MAX_LINKS {
            return Err(self.unresolvable("too many levels of symbolic links"));
        }
        let target = std::fs::read_link(&here).map_err(|e| self.unresolvable(&e.to_string()))?;
        let mut steps = self.steps(&target, false)?;
        if target.is_absolute() {
            self.parts.clear();
        } else {
            self.parts.pop();
        }
        steps.append(todo);
        *todo = steps;
        Ok(Kind::Folder)
    }

    fn here(&self) -> PathBuf {
        self.parts.iter().fold(self.fence.root.clone(), |path, part| path.join(part))
    }

    /// `.git` in any spelling that some file system takes for it, and the folders git really uses.
    fn check_protected(&self) -> Result<(), Refusal> {
        let here = self.here();
        let inside_git = self.parts.iter().any(|part| is_git_name(part))
            || self.fence.protected.iter().any(|folder| here.starts_with(folder));
        if inside_git {
            return Err(Refusal::Protected { path: self.given.to_owned() });
        }
        Ok(())
    }

    fn outside(&self) -> Refusal {
        Refusal::OutsideRoot { path: self.given.to_owned() }
    }

    fn not_a_folder(&self) -> Refusal {
        Refusal::NotAFolder { path: self.given.to_owned(), part: self.parts.join("/") }
    }

    fn unresolvable(&self, reason: &str) -> Refusal {
        Refusal::Unresolvable { path: self.given.to_owned(), reason: reason.to_owned() }
    }
}

fn kind_of(found: FileType) -> Kind {
    if found.is_file() {
        Kind::File
    } else if found.is_dir() {
        Kind::Folder
    } else {
        Kind::Special
    }
}

/// Case, trailing dots and blanks, characters that HFS+ ignores and the short name are all the same
/// file to one system or another; git itself guards against the same.
fn is_git_name(part: &str) -> bool {
    let ignorable = |c: char| matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let part: String = part.chars().filter(|&c| !ignorable(c)).collect();
    let part = part.trim_end_matches(['.', ' ']);
    part.eq_ignore_ascii_case(".git") || part.eq_ignore_ascii_case("git~1")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    struct Tree {
        _temp: tempfile::TempDir,
        base: PathBuf,
        fence: Fence,
    }

    /// `base/proj` is the root; `base/proj-evil` and `base/out` lie beside it.
    fn tree() -> Tree {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        for folder in ["proj/src", "proj/.git/hooks", "proj-evil", "out", "proj/store"] {
            std::fs::create_dir_all(base.join(folder)).unwrap();
        }
        for file in ["proj/a.txt", "proj/src/b.rs", "proj-evil/x", "out/y"] {
            std::fs::write(base.join(file), file).unwrap();
        }
        let root = base.join("proj");
        let links = [
            ("in.txt", "src/b.rs"),
            ("src/up", "../a.txt"),
            ("dir", "src"),
            ("out.txt", "../out/y"),
            ("outdir", "/etc"),
            ("chain", "chain2"),
            ("chain2", "outdir"),
            ("loop", "loop2"),
            ("loop2", "loop"),
            ("nowhere", "not/there.txt"),
            ("sneaky", ".git/hooks"),
        ];
        for (name, target) in links {
            symlink(target, root.join(name)).unwrap();
        }
        symlink(root.join("src"), root.join("abs")).unwrap();
        let protected = vec![root.join(".git"), root.join("store")];
        Tree { _temp: temp, base, fence: Fence { root, alias: None, protected } }
    }

    #[test]
    fn paths_inside_lead_where_they_really_lead() {
        let tree = tree();
        let absolute = tree.base.join("proj/a.txt");
        for (given, path, kind) in [
            ("a.txt", "a.txt", Kind::File),
            ("./src/../a.txt", "a.txt", Kind::File),
            ("src", "src", Kind::Folder),
            (".", "", Kind::Folder),
            ("in.txt", "src/b.rs", Kind::File),
            ("src/up", "a.txt", Kind::File),
            ("dir/b.rs", "src/b.rs", Kind::File),
            ("dir/new/deep.rs", "src/new/deep.rs", Kind::Missing),
            ("abs/b.rs", "src/b.rs", Kind::File),
            (".gitignore", ".gitignore", Kind::Missing),
            ("-rf", "-rf", Kind::Missing),
            ("new\nline 日本.txt", "new\nline 日本.txt", Kind::Missing),
            (absolute.to_str().unwrap(), "a.txt", Kind::File),
        ] {
            let place = tree.fence.locate(given).unwrap();
            assert_eq!((place.path.as_str(), place.kind), (path, kind), "{given}");
            assert!(!place.dangling, "{given}");
        }
        assert!(tree.fence.locate("nowhere").unwrap().dangling);
    }

    #[test]
    fn everything_else_is_refused() {
        let tree = tree();
        let evil = tree.base.join("proj-evil/x");
        for (given, code) in [
            ("", "bad_text"),
            ("a\0b", "bad_text"),
            ("..", "outside_root"),
            ("../out/y", "outside_root"),
            ("src/../../proj-evil/x", "outside_root"),
            (evil.to_str().unwrap(), "outside_root"),
            ("/etc/passwd", "outside_root"),
            ("/proc/self/root/etc/passwd", "outside_root"),
            ("out.txt", "outside_root"),
            ("outdir/passwd", "outside_root"),
            ("chain/passwd", "outside_root"),
            (".git/config", "protected"),
            (".git", "protected"),
            ("src/.GIT/hooks/x", "protected"),
            (".git./config", "protected"),
            ("sneaky/post-commit", "protected"),
            ("store/config", "protected"),
            ("loop", "no_such_file"),
            ("a.txt/b", "no_such_file"),
            ("missing/../a.txt", "no_such_file"),
        ] {
            let refused = tree.fence.locate(given).map_err(|r| r.code());
            assert_eq!(refused, Err(code), "{given}");
        }
        let long = "x".repeat(5000);
        assert_eq!(tree.fence.locate(&long).map_err(|r| r.code()), Err("no_such_file"));
    }
}
