//! Real folders and repositories.

use super::*;
use crate::edit::{ErrorCode, FileView, Node};
use crate::protocol::TurnId;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

struct Tree {
    temp: tempfile::TempDir,
    workspace: Workspace,
}

impl Tree {
    /// A folder without git that holds these files.
    fn new(files: &[(&str, &str)]) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().join("proj");
        std::fs::create_dir(&root).unwrap();
        for (path, text) in files {
            std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            std::fs::write(root.join(path), text).unwrap();
        }
        let workspace = Workspace::open(&root).unwrap();
        Self { temp, workspace }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.workspace.root().join(path)
    }

    fn text(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.path(path)).ok()
    }

    /// All files and folders below the root, sorted.
    fn all(&self) -> Vec<String> {
        fn list(dir: &Path, root: &Path, into: &mut Vec<String>) {
            for entry in std::fs::read_dir(dir).unwrap().flatten() {
                into.push(entry.path().strip_prefix(root).unwrap().display().to_string());
                if entry.file_type().unwrap().is_dir() && entry.file_name() != ".git" {
                    list(&entry.path(), root, into);
                }
            }
        }
        let mut found = Vec::new();
        list(self.workspace.root(), self.workspace.root(), &mut found);
        found.sort();
        found
    }

    fn checkpoints(&self) -> Checkpoints {
        Checkpoints::open(&self.temp.path().join("state/session")).unwrap()
    }
}

fn write(path: &str, before: Option<&str>, after: Option<&str>) -> FileWrite {
    let bytes = |text: Option<&str>| text.map(|text| text.as_bytes().to_vec());
    FileWrite { path: path.into(), before: bytes(before), after: bytes(after), mode: None }
}

/// A repository with one commit of everything in the tree.
fn commit_all(tree: &Tree) -> Repository {
    let mut options = git2::RepositoryInitOptions::new();
    options.initial_head("trunk");
    let repository = Repository::init_opts(tree.workspace.root(), &options).unwrap();
    let mut index = repository.index().unwrap();
    index.add_all(["*"], git2::IndexAddOption::DEFAULT, None).unwrap();
    index.write().unwrap();
    {
        let id = index.write_tree().unwrap();
        let content = repository.find_tree(id).unwrap();
        let when = git2::Time::new(1_700_000_000, 0);
        let who = git2::Signature::new("Ann", "ann@example.org", &when).unwrap();
        repository.commit(Some("HEAD"), &who, &who, "first\n\nbody", &content, &[]).unwrap();
    }
    repository
}

fn reopen(tree: &mut Tree) {
    tree.workspace = Workspace::open(&tree.path("")).unwrap();
}

#[test]
fn changes_are_written_and_modes_are_kept() {
    let tree = Tree::new(&[("run.sh", "old\n"), ("gone.txt", "x")]);
    std::fs::set_permissions(tree.path("run.sh"), PermissionsExt::from_mode(0o750)).unwrap();
    let made = tree
        .workspace
        .write_all(&[
            write("run.sh", Some("old\n"), Some("new\n")),
            write("a/b/c.txt", None, Some("fresh")),
            write("gone.txt", Some("x"), None),
        ])
        .unwrap();
    assert_eq!(made, ["a", "a/b"]);
    assert_eq!(tree.all(), ["a", "a/b", "a/b/c.txt", "run.sh"]);
    assert_eq!(tree.text("run.sh").unwrap(), "new\n");
    assert_eq!(std::fs::metadata(tree.path("run.sh")).unwrap().mode() & 0o7777, 0o750);
    assert_eq!(tree.workspace.remembered("run.sh").as_deref(), Some(&b"new\n"[..]));
}

#[test]
fn a_stale_file_stops_everything() {
    let tree = Tree::new(&[("a.txt", "1"), ("b.txt", "changed by the user")]);
    let writes = [
        write("a.txt", Some("1"), Some("2")),
        write("new/n.txt", None, Some("n")),
        write("b.txt", Some("1"), Some("2")),
    ];
    let error = tree.workspace.write_all(&writes).unwrap_err();
    assert!(matches!(error, WriteError::Stale(path) if path == "b.txt"));
    assert_eq!(tree.all(), ["a.txt", "b.txt"]);
    assert_eq!(tree.text("a.txt").unwrap(), "1");
}

#[test]
fn a_failure_in_the_middle_of_the_commit_puts_everything_back() {
    let tree = Tree::new(&[("a.txt", "1"), ("b.txt", "b"), ("c.txt", "c"), ("d.txt", "d")]);
    std::fs::hard_link(tree.path("d.txt"), tree.path("e.txt")).unwrap();
    let inode = std::fs::metadata(tree.path("a.txt")).unwrap().ino();
    // The second write of one file finds the first one's content: someone wrote just now.
    let writes = [
        write("a.txt", Some("1"), Some("2")),
        write("b.txt", Some("b"), None),
        write("n/new.txt", None, Some("n")),
        write("d.txt", Some("d"), Some("D")),
        write("c.txt", Some("c"), Some("first")),
        write("c.txt", Some("c"), Some("second")),
    ];
    let error = tree.workspace.write_all(&writes).unwrap_err();
    assert!(matches!(error, WriteError::Stale(path) if path == "c.txt"));
    assert_eq!(tree.all(), ["a.txt", "b.txt", "c.txt", "d.txt", "e.txt"]);
    for (path, text) in [("a.txt", "1"), ("b.txt", "b"), ("c.txt", "c"), ("d.txt", "d")] {
        assert_eq!(tree.text(path).unwrap(), text);
    }
    assert_eq!(std::fs::metadata(tree.path("a.txt")).unwrap().ino(), inode, "the same file");
}

#[test]
fn a_file_that_appears_in_the_meantime_is_not_overwritten() {
    let tree = Tree::new(&[("a.txt", "1")]);
    let writes = [write("n.txt", None, Some("one")), write("n.txt", None, Some("two"))];
    assert!(matches!(tree.workspace.write_all(&writes), Err(WriteError::Stale(_))));
    assert_eq!(tree.all(), ["a.txt"]);
}

#[test]
fn hard_links_stay_links() {
    let tree = Tree::new(&[("a.txt", "longer text")]);
    std::fs::hard_link(tree.path("a.txt"), tree.path("b.txt")).unwrap();
    let writes = [write("a.txt", Some("longer text"), Some("z"))];
    tree.workspace.write_all(&writes).unwrap();
    assert_eq!(tree.text("b.txt").unwrap(), "z");
    assert_eq!(tree.all(), ["a.txt", "b.txt"]);
}

#[test]
fn what_must_not_be_written_is_not() {
    let tree = Tree::new(&[("ro.txt", "x"), ("d/f", "x"), (".git/config", "x")]);
    let mode = PermissionsExt::from_mode(0o444);
    std::fs::set_permissions(tree.path("ro.txt"), mode).unwrap();
    symlink("/tmp", tree.path("out")).unwrap();
    let refused = |path: &str, before| {
        tree.workspace.write_all(&[write(path, before, Some("y"))]).unwrap_err()
    };
    assert!(matches!(refused("ro.txt", Some("x")), WriteError::ReadOnly(_)));
    assert!(matches!(refused("d", None), WriteError::NotRegular(_)));
    assert!(matches!(refused("out/x", None), WriteError::Refused(Refusal::OutsideRoot { .. })));
    assert!(matches!(refused(".git/x", None), WriteError::Refused(Refusal::Protected { .. })));
    assert!(matches!(refused("d/f/x", None), WriteError::Refused(_)));
}

#[test]
fn a_folder_without_write_permission_fails_whole() {
    let tree = Tree::new(&[("a.txt", "1"), ("ro/b.txt", "1")]);
    std::fs::set_permissions(tree.path("ro"), PermissionsExt::from_mode(0o555)).unwrap();
    let writes = [write("a.txt", Some("1"), Some("2")), write("ro/b.txt", Some("1"), Some("2"))];
    let result = tree.workspace.write_all(&writes);
    if rustix::process::geteuid().is_root() {
        // Permissions do not bind root: both are written.
        assert_eq!((result.is_ok(), tree.text("ro/b.txt").unwrap().as_str()), (true, "2"));
    } else {
        assert!(matches!(result, Err(WriteError::Io { path, .. }) if path == "ro/b.txt"));
        assert_eq!(tree.text("a.txt").unwrap(), "1");
    }
    std::fs::set_permissions(tree.path("ro"), PermissionsExt::from_mode(0o755)).unwrap();
    let left = tree.all().into_iter().filter(|path| path.contains(".tmp")).count();
    assert_eq!(left, 0);
}

#[test]
fn a_folder_swapped_for_a_link_never_leads_a_write_outside() {
    let tree = Tree::new(&[("d/f", "in")]);
    let outside = tree.temp.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("f"), "out").unwrap();
    let (folder, away) = (tree.path("d"), tree.path("d-away"));
    let stop = std::sync::atomic::AtomicBool::new(false);
    let order = std::sync::atomic::Ordering::Relaxed;
    let mut written = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(order) {
                std::fs::rename(&folder, &away).unwrap();
                symlink(&outside, &folder).unwrap();
                std::thread::yield_now();
                std::fs::remove_file(&folder).unwrap();
                std::fs::rename(&away, &folder).unwrap();
                std::thread::yield_now();
            }
        });
        for _ in 0..2000 {
            let done = tree.workspace.write_all(&[write("d/f", Some("in"), Some("in"))]);
            written += usize::from(done.is_ok());
        }
        stop.store(true, order);
    });
    assert!(written > 0, "no write ever met the folder");
    assert_eq!(std::fs::read_to_string(outside.join("f")).unwrap(), "out");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
}

#[test]
fn the_edit_engine_sees_the_disk() {
    let tree = Tree::new(&[("a.txt", "text"), ("d/b", "x")]);
    symlink("a.txt", tree.path("link")).unwrap();
    symlink("nowhere", tree.path("dangling")).unwrap();
    let view: &dyn FileView = &tree.workspace;
    assert_eq!(view.resolve("link").unwrap(), "a.txt");
    assert_eq!(view.resolve("dangling").unwrap_err().code, ErrorCode::NoSuchFile);
    assert_eq!(view.resolve("../x").unwrap_err().code, ErrorCode::OutsideRoot);
    assert_eq!(view.link("link").as_deref(), Some("a.txt"));
    assert_eq!(view.node("a.txt"), Node::File { bytes: b"text"[..].into(), read_only: false });
    assert_eq!((view.node("d"), view.node("none")), (Node::Directory, Node::Missing));
    assert_eq!(view.last_read("a.txt"), None);
    tree.workspace.remember("a.txt", b"text");
    assert_eq!(view.last_read("a.txt").as_deref(), Some(&b"text"[..]));
    assert_eq!(view.paths(), ["a.txt", "d/b"]);
}

#[test]
fn a_pipe_is_told_without_waiting_for_it() {
    let tree = Tree::new(&[]);
    let pipe = tree.path("pipe");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    assert!(matches!(tree.workspace.read("pipe"), Err(ReadError::Special(_))));
    assert_eq!(tree.workspace.node("pipe"), Node::Special);
}

#[test]
fn undo_restores_the_last_turn_and_then_the_one_before() {
    let tree = Tree::new(&[("a.txt", "0"), ("old.txt", "o"), ("data.csv", "untracked")]);
    let mut checkpoints = tree.checkpoints();
    let workspace = &tree.workspace;
    let (one, two) = (TurnId(1), TurnId(2));
    checkpoints.write(workspace, one, &[write("a.txt", Some("0"), Some("1"))]).unwrap();
    checkpoints.write(workspace, two, &[write("a.txt", Some("1"), Some("2"))]).unwrap();
    let second = [
        write("a.txt", Some("2"), Some("3")),
        write("n/new.txt", None, Some("n")),
        write("old.txt", Some("o"), None),
    ];
    checkpoints.write(workspace, two, &second).unwrap();
    std::fs::write(tree.path("made-by-a-script"), "x").unwrap();
    // A restart in between loses nothing.
    drop(checkpoints);
    let mut checkpoints = tree.checkpoints();
    let undone = checkpoints.undo(workspace).unwrap().unwrap();
    assert_eq!((undone.turn, undone.left.len()), (two, 0));
    assert_eq!(undone.restored, ["a.txt", "n/new.txt", "old.txt"]);
    assert_eq!(tree.text("a.txt").unwrap(), "1");
    assert_eq!(tree.all(), ["a.txt", "data.csv", "made-by-a-script", "old.txt"]);
    assert_eq!(checkpoints.undo(workspace).unwrap().unwrap().turn, one);
    assert_eq!(tree.text("a.txt").unwrap(), "0");
    assert_eq!(checkpoints.undo(workspace).unwrap(), None);
    assert!(!tree.checkpoints().can_undo());
}

#[test]
fn undo_leaves_what_the_user_has_changed_since() {
    let tree = Tree::new(&[("a.txt", "0"), ("b.txt", "0")]);
    let mut checkpoints = tree.checkpoints();
    let writes = [write("a.txt", Some("0"), Some("1")), write("b.txt", Some("0"), Some("1"))];
    checkpoints.write(&tree.workspace, TurnId(1), &writes).unwrap();
    std::fs::write(tree.path("b.txt"), "mine").unwrap();
    let undone = checkpoints.undo(&tree.workspace).unwrap().unwrap();
    assert_eq!((undone.restored, undone.left), (vec!["a.txt".into()], vec!["b.txt".into()]));
    assert_eq!(
        (tree.text("a.txt").unwrap(), tree.text("b.txt").unwrap()),
        ("0".into(), "mine".into())
    );
}

#[test]
fn a_change_that_failed_is_no_checkpoint_and_a_torn_journal_is_read() {
    let tree = Tree::new(&[("a.txt", "0")]);
    let mut checkpoints = tree.checkpoints();
    let stale = [write("a.txt", Some("other"), Some("1"))];
    assert!(checkpoints.write(&tree.workspace, TurnId(1), &stale).is_err());
    assert!(!checkpoints.can_undo() && !tree.checkpoints().can_undo());
    checkpoints.write(&tree.workspace, TurnId(2), &[write("a.txt", Some("0"), Some("1"))]).unwrap();
    let journal = tree.temp.path().join("state/session/journal.jsonl");
    let mut torn = std::fs::read(&journal).unwrap();
    torn.extend_from_slice(b"{\"entry\":\"chan\xe8");
    std::fs::write(&journal, torn).unwrap();
    let mut checkpoints = tree.checkpoints();
    let next = [write("a.txt", Some("1"), Some("2"))];
    checkpoints.write(&tree.workspace, TurnId(3), &next).unwrap();
    let mut checkpoints = tree.checkpoints();
    assert_eq!(checkpoints.undo(&tree.workspace).unwrap().unwrap().turn, TurnId(3));
    assert_eq!(checkpoints.undo(&tree.workspace).unwrap().unwrap().turn, TurnId(2));
    assert_eq!(tree.text("a.txt").unwrap(), "0");
    let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!((mode(&journal), mode(journal.parent().unwrap())), (0o600, 0o700));
}

#[test]
fn a_worktree_is_opened_at_its_top_and_git_is_read_but_not_touched() {
    let mut tree = Tree::new(&[("a.txt", "one\ntwo\n"), ("src/b.rs", "fn b() {}\n")]);
    assert!(!tree.workspace.has_git() && tree.workspace.head().is_none());
    assert!(matches!(tree.workspace.git_status(), Err(GitError::None)));
    commit_all(&tree);
    tree.workspace = Workspace::open(&tree.path("src")).unwrap();
    assert_eq!(tree.workspace.root(), tree.temp.path().canonicalize().unwrap().join("proj"));
    assert_eq!(tree.workspace.head(), Some(Head::Branch("trunk".into())));
    let index = std::fs::read(tree.path(".git/index")).unwrap();
    std::fs::write(tree.path("a.txt"), "one\n2\n").unwrap();
    std::fs::write(tree.path("日本 \n.txt"), "new\n").unwrap();
    assert_eq!(tree.workspace.git_status().unwrap(), [" M a.txt", "?? 日本 \n.txt"]);
    let diff = tree.workspace.git_diff(Some("a.txt"), None).unwrap();
    assert!(diff.contains("@@ -1,2 +1,2 @@\n one\n-two\n+2\n"), "{diff}");
    assert!(tree.workspace.git_diff(None, None).unwrap().contains("+new\n"));
    assert!(matches!(tree.workspace.git_diff(None, Some("nope")), Err(GitError::Revision(_))));
    let log = tree.workspace.git_log(5, None).unwrap();
    assert!(log.len() == 1 && log[0].ends_with(" 2023-11-14 Ann: first"), "{log:?}");
    assert_eq!(tree.workspace.git_log(5, Some("a.txt")).unwrap().len(), 1);
    assert_eq!(tree.workspace.git_log(5, Some("none")).unwrap().len(), 0);
    assert_eq!(tree.workspace.git_branches().unwrap(), ["trunk"]);
    assert_eq!(std::fs::read(tree.path(".git/index")).unwrap(), index);
}

#[test]
fn unborn_detached_and_bare_are_told_apart() {
    let mut tree = Tree::new(&[("a.txt", "x\n")]);
    let mut options = git2::RepositoryInitOptions::new();
    options.initial_head("trunk");
    Repository::init_opts(tree.path(""), &options).unwrap();
    reopen(&mut tree);
    assert_eq!(tree.workspace.head(), Some(Head::Unborn("trunk".into())));
    assert!(tree.workspace.git_diff(None, None).unwrap().contains("+x"));
    assert_eq!(tree.workspace.git_log(5, None).unwrap(), Vec::<String>::new());
    let repository = commit_all(&tree);
    let id = repository.head().unwrap().peel_to_commit().unwrap().id();
    repository.set_head_detached(id).unwrap();
    assert_eq!(tree.workspace.head(), Some(Head::Detached(id.to_string()[..7].into())));
    let bare = tree.temp.path().join("x.git");
    Repository::init_bare(&bare).unwrap();
    assert!(matches!(Workspace::open(&bare), Err(WorkspaceError::Bare(_))));
    assert!(matches!(Workspace::open(Path::new("/none")), Err(WorkspaceError::Folder { .. })));
}

#[test]
fn a_linked_worktree_is_its_own_root() {
    let tree = Tree::new(&[("a.txt", "x\n")]);
    let repository = commit_all(&tree);
    let linked = tree.temp.path().join("linked");
    repository.worktree("linked", &linked, None).unwrap();
    let workspace = Workspace::open(&linked).unwrap();
    assert_eq!(workspace.root(), linked.canonicalize().unwrap());
    assert_eq!(workspace.head(), Some(Head::Branch("linked".into())));
    std::fs::write(linked.join("a.txt"), "y\n").unwrap();
    assert_eq!(workspace.git_status().unwrap(), [" M a.txt"]);
    let main = tree.path("a.txt");
    assert!(matches!(workspace.read(main.to_str().unwrap()), Err(ReadError::Refused(_))));
    assert!(matches!(workspace.read(".git"), Err(ReadError::Refused(Refusal::Protected { .. }))));
}

#[test]
fn helpers_named_by_the_repository_do_not_run() {
    let mut tree = Tree::new(&[("a.txt", "x\n"), (".gitattributes", "*.txt filter=f diff=d\n")]);
    let repository = commit_all(&tree);
    let mark = tree.temp.path().join("mark");
    let touch = format!("touch {}; cat", mark.display());
    let mut config = repository.config().unwrap();
    for key in [
        "core.fsmonitor",
        "filter.f.clean",
        "filter.f.smudge",
        "filter.f.process",
        "diff.d.textconv",
        "diff.d.command",
        "diff.external",
        "core.pager",
        "core.editor",
    ] {
        config.set_str(key, &touch).unwrap();
    }
    reopen(&mut tree);
    std::fs::write(tree.path("a.txt"), "y\n").unwrap();
    // The attack works where nothing guards against it.
    let plain = std::process::Command::new("git").arg("diff").current_dir(tree.path("")).output();
    assert!(plain.is_ok() && mark.exists(), "plain git ran none of the helpers");
    std::fs::remove_file(&mark).unwrap();
    tree.workspace.git_status().unwrap();
    assert!(tree.workspace.git_diff(None, None).unwrap().contains("+y"));
    tree.workspace.git_log(3, None).unwrap();
    tree.workspace.write_all(&[write("a.txt", Some("y\n"), Some("z\n"))]).unwrap();
    assert!(!mark.exists());
}

#[test]
fn ignored_files_are_left_out_of_walks_unless_asked_for() {
    let tree = Tree::new(&[
        (".gitignore", "target/\n*.log\n!keep.log\n"),
        ("target/x.rs", ""),
        ("a.log", ""),
        ("keep.log", ""),
        (".github/ci.yml", ""),
        (".git/config", ""),
    ]);
    let found: Vec<String> = tree.workspace.walk_files(tree.workspace.root()).collect();
    assert_eq!(found, [".github/ci.yml", ".gitignore", "keep.log"]);
    let all = tree.workspace.walker(tree.workspace.root(), true).build().flatten();
    assert_eq!(all.filter(|entry| entry.path().ends_with("target/x.rs")).count(), 1);
}
