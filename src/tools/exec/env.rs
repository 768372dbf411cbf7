//! The environment of a command: the user's, without secrets and without what would steer git or
//! open an editor. A fresh one for every command, so nothing carries over from the last.

use std::ffi::OsString;
use std::time::{SystemTime, UNIX_EPOCH};

/// Carried by everything a command starts, so that stragglers can be found (see `child`).
pub(super) const COOKIE: &str = "TESSERA_COMMAND";

/// Set for every command. An editor that fails at once is better than one that waits for keys, and
/// than one that silently accepts what git proposes. Python's byte code files compare whole seconds
/// and sizes, which an edit right after a run defeats; they would also litter the working tree.
pub(super) const FIXED: &[(&str, &str)] = &[
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("CARGO_TERM_COLOR", "never"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("EDITOR", "false"),
    ("VISUAL", "false"),
    ("GIT_EDITOR", "false"),
    ("GIT_SEQUENCE_EDITOR", "false"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("PYTHONUNBUFFERED", "1"),
    ("PYTHONDONTWRITEBYTECODE", "1"),
];

/// Parts of a name (between `_`) that mark its value as a secret.
const SECRET_PARTS: &[&str] = &[
    "TOKEN",
    "SECRET",
    "SECRETS",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "CREDENTIALS",
    "APIKEY",
    "PAT",
    "COOKIE",
];
/// Two parts in a row that do.
const SECRET_PAIRS: &[(&str, &str)] = &[
    ("API", "KEY"),
    ("ACCESS", "KEY"),
    ("PRIVATE", "KEY"),
    ("ENCRYPTION", "KEY"),
    ("AUTH", "KEY"),
];
/// Would make git look at another repository, or run a helper, than the folder says.
const STEERS: &[&str] = &[
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_EXTERNAL_DIFF",
    "GIT_ASKPASS",
    "SSH_ASKPASS",
    "FORCE_COLOR",
    "CLICOLOR_FORCE",
    "COLUMNS",
    "LINES",
];

/// The variables that a command may see.
pub fn scrubbed(
    vars: impl IntoIterator<Item = (OsString, OsString)>,
) -> impl Iterator<Item = (OsString, OsString)> {
    vars.into_iter().filter(|(name, _)| {
        let name = name.to_string_lossy().to_ascii_uppercase();
        !is_secret(&name) && !STEERS.contains(&name.as_str())
    })
}

fn is_secret(name: &str) -> bool {
    let parts: Vec<&str> = name.split('_').collect();
    parts.iter().any(|part| SECRET_PARTS.contains(part))
        || parts.windows(2).any(|two| SECRET_PAIRS.contains(&(two[0], two[1])))
}

/// A value no other command has at the same time.
pub(super) fn cookie() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos());
    let random = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), now);
    format!("{}-{now:x}-{random:x}", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_and_redirections_are_left_out_and_the_rest_stays() {
        let kept = |name: &str| scrubbed([(name.into(), "x".into())]).count() == 1;
        for name in [
            "AWS_SECRET_ACCESS_KEY",
            "GITHUB_TOKEN",
            "OPENAI_API_KEY",
            "DB_PASSWORD",
            "my_token",
            "GIT_DIR",
            "GIT_EXTERNAL_DIFF",
            "AWS_ACCESS_KEY_ID",
        ] {
            assert!(!kept(name), "{name}");
        }
        for name in
            ["PATH", "HOME", "PATHEXT", "TOKENIZERS_PARALLELISM", "XDG_CONFIG_HOME", "MONKEY"]
        {
            assert!(kept(name), "{name}");
        }
    }

    #[test]
    fn cookies_differ() {
        assert_ne!(cookie(), cookie());
    }
}
