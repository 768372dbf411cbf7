//! Git's view of the working tree, through libgit2 only: no helper that a repository names (hooks,
//! filters, text conversion, fsmonitor) can run, and nothing is locked or written.

use super::Workspace;
use git2::{
    BranchType, Delta, DiffFormat, DiffOptions, Repository, Status, StatusOptions, StatusShow, Tree,
};

/// What HEAD points to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Head {
    /// A branch with commits.
    Branch(String),
    /// A branch without a commit.
    Unborn(String),
    /// A commit on no branch; the short name of the commit.
    Detached(String),
}

impl Head {
    /// The branch or the short commit.
    pub fn label(&self) -> &str {
        match self {
            Self::Branch(name) | Self::Unborn(name) | Self::Detached(name) => name,
        }
    }
}

/// Git could not answer.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// The root is not a git worktree.
    #[error("this folder is not a git repository")]
    None,
    /// No such revision.
    #[error("unknown revision: {0}")]
    Revision(String),
    /// What libgit2 said.
    #[error("git: {}", .0.message())]
    Git(#[from] git2::Error),
}

impl Workspace {
    /// What HEAD points to; `None` outside of git or when HEAD is damaged.
    pub fn head(&self) -> Option<Head> {
        let repository = self.repository().ok()?;
        if let Ok(head) = repository.head() {
            if repository.head_detached().unwrap_or(false) {
                let short = head.peel_to_commit().ok()?.as_object().short_id().ok()?;
                return Some(Head::Detached(short.as_str().ok()?.to_owned()));
            }
            return Some(Head::Branch(head.shorthand().ok()?.to_owned()));
        }
        let reference = repository.find_reference("HEAD").ok()?;
        let target = reference.symbolic_target().ok()??;
        Some(Head::Unborn(target.strip_prefix("refs/heads/").unwrap_or(target).to_owned()))
    }

    /// Changed files in the form of `git status --short`: two letters, a blank, the path; sorted.
    ///
    /// # Errors
    /// [`GitError`]
    pub fn git_status(&self) -> Result<Vec<String>, GitError> {
        let repository = self.repository()?;
        let mut options = StatusOptions::new();
        options
            .show(StatusShow::IndexAndWorkdir)
            .include_untracked(true)
            .renames_head_to_index(true)
            .exclude_submodules(true)
            .update_index(false);
        let statuses = repository.statuses(Some(&mut options))?;
        let mut lines: Vec<String> = statuses
            .iter()
            .filter(|entry| !entry.status().is_ignored())
            .map(|entry| {
                let path = String::from_utf8_lossy(entry.path_bytes()).into_owned();
                let letters = letters(entry.status());
                match entry.head_to_index().filter(|d| d.status() == Delta::Renamed) {
                    Some(delta) => {
                        let old = delta.old_file().path_bytes().unwrap_or_default();
                        format!("{letters} {} -> {path}", String::from_utf8_lossy(old))
                    }
                    None => format!("{letters} {path}"),
                }
            })
            .collect();
        lines.sort();
        Ok(lines)
    }

    /// The changes of the working tree, staged or not, against HEAD (or `revision`) as a unified
    /// diff; untracked files included. `place` limits it to a file or folder.
    ///
    /// # Errors
    /// [`GitError`]
    pub fn git_diff(
        &self,
        place: Option<&str>,
        revision: Option<&str>,
    ) -> Result<String, GitError> {
        let repository = self.repository()?;
        let tree = base_tree(&repository, revision)?;
        let mut options = DiffOptions::new();
        options
            .include_untracked(true)
            .recurse_untracked_dirs(true)
            .show_untracked_content(true)
            .ignore_submodules(true)
            .disable_pathspec_match(true)
            .update_index(false);
        if let Some(place) = place.filter(|place| !place.is_empty()) {
            options.pathspec(place);
        }
        let mut diff =
            repository.diff_tree_to_workdir_with_index(tree.as_ref(), Some(&mut options))?;
        diff.find_similar(None)?;
        let mut text = Vec::new();
        diff.print(DiffFormat::Patch, |_, _, line| {
            if matches!(line.origin(), '+' | '-' | ' ') {
                text.push(line.origin() as u8);
            }
            text.extend_from_slice(line.content());
            true
        })?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// The last `count` commits from HEAD, newest first: short id, date, author, first line. `place`
    /// limits it to commits that changed that file or folder.
    ///
    /// # Errors
    /// [`GitError`]
    pub fn git_log(&self, count: usize, place: Option<&str>) -> Result<Vec<String>, GitError> {
        let repository = self.repository()?;
        if repository.head().is_err() {
            return Ok(Vec::new());
        }
        let mut walk = repository.revwalk()?;
        walk.push_head()?;
        let mut lines = Vec::new();
        for id in walk {
            if lines.len() == count {
                break;
            }
            let commit = repository.find_commit(id?)?;
            if let Some(place) = place.filter(|place| !place.is_empty())
                && !touches(&commit, place)?
            {
                continue;
            }
            lines.push(format!(
                "{} {} {}: {}",
                commit.as_object().short_id()?.as_str().unwrap_or_default(),
                date(commit.time().seconds()),
                String::from_utf8_lossy(commit.author().name_bytes()),
                String::from_utf8_lossy(commit.summary_bytes().unwrap_or_default()),
            ));
        }
        Ok(lines)
    }

    /// Names of the local branches, sorted.
    ///
    /// # Errors
    /// [`GitError`]
    pub fn git_branches(&self) -> Result<Vec<String>, GitError> {
        let repository = self.repository()?;
        let mut names = Vec::new();
        for branch in repository.branches(Some(BranchType::Local))? {
            let (branch, _) = branch?;
            names.push(String::from_utf8_lossy(branch.name_bytes()?).into_owned());
        }
        names.sort();
        Ok(names)
    }
}

/// The tree to compare with; `None` is the empty tree of a repository without commits.
fn base_tree<'r>(
    repository: &'r Repository,
    revision: Option<&str>,
) -> Result<Option<Tree<'r>>, GitError> {
    match revision {
        Some(name) => {
            let object = repository
                .revparse_single(name)
                .map_err(|_| GitError::Revision(name.to_owned()))?;
            Ok(Some(object.peel_to_tree()?))
        }
        None => match repository.head() {
            Ok(head) => Ok(Some(head.peel_to_tree()?)),
            Err(_) => Ok(None),
        },
    }
}

/// True when the entry at `place` differs from that of the first parent.
fn touches(commit: &git2::Commit, place: &str) -> Result<bool, git2::Error> {
    let at = |tree: Tree| tree.get_path(std::path::Path::new(place)).ok().map(|e| e.id());
    let here = at(commit.tree()?);
    let there = match commit.parents().next() {
        Some(parent) => at(parent.tree()?),
        None => None,
    };
    Ok(here != there)
}

fn letters(status: Status) -> String {
    if status.is_conflicted() {
        return "UU".to_owned();
    }
    let pick = |pairs: &[(Status, char)]| {
        pairs.iter().find(|(flag, _)| status.contains(*flag)).map_or(' ', |(_, letter)| *letter)
    };
    let index = pick(&[
        (Status::INDEX_NEW, 'A'),
        (Status::INDEX_RENAMED, 'R'),
        (Status::INDEX_MODIFIED, 'M'),
        (Status::INDEX_DELETED, 'D'),
        (Status::INDEX_TYPECHANGE, 'T'),
    ]);
    let tree = pick(&[
        (Status::WT_NEW, '?'),
        (Status::WT_MODIFIED, 'M'),
        (Status::WT_DELETED, 'D'),
        (Status::WT_RENAMED, 'R'),
        (Status::WT_TYPECHANGE, 'T'),
    ]);
    if tree == '?' { "??".to_owned() } else { format!("{index}{tree}") }
}

/// `YYYY-MM-DD` in UTC of seconds since 1970. Howard Hinnant, "chrono-Compatible Low-Level Date
/// Algorithms", `civil_from_days`.
fn date(seconds: i64) -> String {
    let days = seconds.div_euclid(86_400) + 719_468;
    let era = days.div_euclid(146_097);
    let doe = days.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = doy - (153 * mp + 2) / 5 + 1;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    let year = yoe + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}
