//! Real processes, looked for in `/proc` afterwards.

use super::*;

fn shell(line: &str) -> Command {
    Command {
        program: Program::Shell(line.into()),
        dir: std::env::temp_dir(),
        env: Vec::new(),
        timeout: Duration::from_secs(20),
        keep: 64 * 1024,
        split: false,
        log_dir: None,
    }
}

async fn run_it(command: Command) -> Finished {
    run(command, &CancellationToken::new(), None).await.unwrap()
}

/// Live processes with this text in their command line.
fn alive(mark: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter(|p| p.file_name().to_str().is_some_and(|n| n.parse::<u32>().is_ok()))
        .filter(|p| {
            std::fs::read(p.path().join("cmdline"))
                .is_ok_and(|line| String::from_utf8_lossy(&line).contains(mark))
        })
        .count()
}

#[tokio::test]
async fn output_keeps_the_order_of_both_streams_and_the_exit_status() {
    let done = run_it(shell("echo one; echo two >&2; echo three; exit 3")).await;
    assert_eq!(done.end, End::Exit(3));
    assert_eq!(done.output.text(), "one\ntwo\nthree\n");
    assert_eq!(done.left_behind, 0);
}

#[tokio::test]
async fn streams_can_be_kept_apart() {
    let done = run_it(Command { split: true, ..shell("echo out; echo err >&2") }).await;
    assert_eq!((done.output.text().as_str(), done.errors.text().as_str()), ("out\n", "err\n"));
}

#[tokio::test]
async fn ends_are_told_apart() {
    assert_eq!(run_it(shell("kill -SEGV $$")).await.end, End::Signal(11));
    assert_eq!(run_it(shell("kill -KILL $$")).await.end, End::Signal(9));
    assert_eq!(run_it(shell("nonsense-command")).await.end, End::Exit(127));
    let missing = Command { program: Program::Argv(vec!["no-such-program".into()]), ..shell("") };
    let error = run(missing, &CancellationToken::new(), None).await.unwrap_err();
    assert_eq!(error.to_string(), "no-such-program: command not found");
    let nowhere = Command { dir: "/no/such/folder".into(), ..shell("true") };
    let error = run(nowhere, &CancellationToken::new(), None).await.unwrap_err();
    assert!(matches!(error, ExecError::NoFolder(_)));
}

#[tokio::test]
async fn standard_input_is_empty_and_there_is_no_terminal() {
    let done = run_it(shell("read x || echo none; (: </dev/tty) 2>/dev/null || echo no-tty")).await;
    assert_eq!(done.output.text(), "none\nno-tty\n");
}

#[tokio::test]
async fn a_time_limit_ends_a_stubborn_tree() {
    let line = "trap '' TERM; echo begun; sleep 86391 & (setsid sleep 86391 &); wait; sleep 86391";
    let command = Command { timeout: Duration::from_secs(3), ..shell(line) };
    let done = run_it(command).await;
    assert_eq!(done.end, End::TimedOut);
    assert_eq!(done.output.text(), "begun\n");
    assert_eq!(alive("86391"), 0);
}

#[tokio::test]
async fn cancelling_ends_the_tree() {
    let cancel = CancellationToken::new();
    let (sender, mut live) = tokio::sync::mpsc::unbounded_channel();
    let running = run(shell("echo go; sleep 86392 | sleep 86392"), &cancel, Some(sender));
    let stopper = async {
        assert_eq!(live.recv().await.as_deref(), Some("go\n"));
        cancel.cancel();
    };
    let (done, ()) = tokio::join!(running, stopper);
    assert_eq!(done.unwrap().end, End::Cancelled);
    assert_eq!(alive("86392"), 0);
}

#[tokio::test]
async fn a_dropped_run_leaves_nothing() {
    let cancel = CancellationToken::new();
    let running = run(shell("sleep 86393 & sleep 86393"), &cancel, None);
    assert!(tokio::time::timeout(Duration::from_millis(300), running).await.is_err());
    let until = Instant::now() + Duration::from_secs(5);
    while alive("86393") > 0 && Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(alive("86393"), 0);
}

#[tokio::test]
async fn a_background_process_does_not_hold_the_result_and_is_ended() {
    for line in ["sleep 86394 & echo ok", "(setsid sleep 86394 &); echo ok"] {
        let done = run_it(shell(line)).await;
        assert_eq!((done.end, done.output.text().as_str()), (End::Exit(0), "ok\n"));
        assert_eq!(done.left_behind, 1, "{line}");
        assert_eq!(alive("86394"), 0);
    }
}

#[tokio::test]
async fn endless_output_costs_neither_memory_nor_disk() {
    let dir = tempfile::tempdir().unwrap();
    let (sender, mut live) = tokio::sync::mpsc::unbounded_channel();
    let command = Command {
        timeout: Duration::from_secs(4),
        log_dir: Some(dir.path().into()),
        ..shell("yes 0123456789")
    };
    let done = run(command, &CancellationToken::new(), Some(sender)).await.unwrap();
    assert_eq!(done.end, End::TimedOut);
    assert!(done.output.total() > 16 * 1024 * 1024, "{}", done.output.total());
    assert_eq!((done.output.head.len(), done.output.tail.len()), (32 * 1024, 32 * 1024));
    assert_eq!(std::fs::metadata(done.log.unwrap()).unwrap().len(), 8 * 1024 * 1024);
    let mut pieces = 0;
    while let Ok(piece) = live.try_recv() {
        assert!(piece.len() <= 4096);
        pieces += 1;
    }
    assert!((1..600).contains(&pieces), "{pieces}");
}

#[tokio::test]
async fn logs_are_private_and_hold_both_streams() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let command =
        Command { split: true, log_dir: Some(dir.path().into()), ..shell("echo a; echo b >&2") };
    let log = run_it(command).await.log.unwrap();
    assert_eq!(std::fs::read(&log).unwrap().len(), 4);
    assert_eq!(std::fs::metadata(&log).unwrap().permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn the_environment_is_fresh_for_each_command() {
    run_it(shell("export GIT_PAGER=./m")).await;
    let done = run_it(shell("echo $GIT_PAGER $GIT_EDITOR; pwd; echo $PWD")).await;
    let dir = std::env::temp_dir().canonicalize().unwrap();
    let dir = dir.display();
    assert_eq!(done.output.text(), format!("cat false\n{dir}\n{dir}\n"));
}

/// Not a test: what the next one kills.
#[tokio::test]
#[ignore = "run by another test in a process of its own"]
async fn helper_that_waits() {
    run_it(shell("exec sleep 86396")).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_command_does_not_outlive_a_killed_program() {
    let name = "a_command_does_not_outlive_a_killed_program";
    let this = std::thread::current().name().unwrap_or_default().to_owned();
    let helper = this.replace(name, "helper_that_waits");
    let mut program = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", &helper])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait_for(|| alive("sleep\086396") == 1).await;
    program.kill().unwrap();
    program.wait().unwrap();
    wait_for(|| alive("sleep\086396") == 0).await;
}

async fn wait_for(done: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(20);
    while !done() {
        assert!(Instant::now() < until, "it took too long");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
