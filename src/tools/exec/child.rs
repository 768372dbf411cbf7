//! One started process and everything below it.
//!
//! A thread of its own starts the process and waits for it. That thread matters twice: the parent
//! death signal of Linux follows the *thread* that started a process, so it must live as long as the
//! process; and the process stays a zombie until we release it, so its group id cannot be reused
//! while we still send signals to the group.

use super::{End, env};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group};
use std::io;
use std::os::unix::process::CommandExt;
use std::sync::mpsc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// A started process. Dropping it kills the whole group.
pub(super) struct Child {
    group: Pid,
    cookie: String,
    exited: oneshot::Receiver<End>,
    end: Option<End>,
    /// Dropped to let the thread collect the process.
    release: Option<mpsc::Sender<()>>,
    reaped: oneshot::Receiver<()>,
}

/// Starts a process in a session of its own: no terminal, one group, ends with this program.
pub(super) async fn start(mut command: std::process::Command, cookie: String) -> io::Result<Child> {
    let (started_tx, started) = oneshot::channel();
    let (exited_tx, exited) = oneshot::channel();
    let (reaped_tx, reaped) = oneshot::channel();
    let (release, released) = mpsc::channel::<()>();
    let parent = rustix::process::getpid();
    // SAFETY: between fork and exec only async-signal-safe system calls are made.
    unsafe {
        command.pre_exec(move || isolate(parent));
    }
    std::thread::Builder::new().name("command".into()).spawn(move || {
        let spawned = command.spawn();
        // The writing ends of the pipes go with it, else the output would never end.
        drop(command);
        let mut process = match spawned {
            Ok(process) => process,
            Err(error) => {
                let _ = started_tx.send(Err(error));
                return;
            }
        };
        let group = Pid::from_child(&process);
        if started_tx.send(Ok(group)).is_err() {
            let _ = kill_process_group(group, Signal::KILL);
        } else {
            let _ = exited_tx.send(wait_without_reaping(group));
            let _ = released.recv();
        }
        let _ = process.wait();
        let _ = reaped_tx.send(());
    })?;
    let group = started.await.map_err(|_| io::Error::other("the starting thread ended"))??;
    Ok(Child { group, cookie, exited, end: None, release: Some(release), reaped })
}

fn isolate(parent: Pid) -> io::Result<()> {
    rustix::process::setsid()?;
    #[cfg(target_os = "linux")]
    {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have ended before the line above took effect.
        if rustix::process::getppid() != Some(parent) {
            return Err(io::Error::other("the parent process has ended"));
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = parent;
    Ok(())
}

fn wait_without_reaping(pid: Pid) -> End {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    loop {
        match rustix::process::waitid(WaitId::Pid(pid), options) {
            Ok(Some(status)) => {
                return match (status.exit_status(), status.terminating_signal()) {
                    (Some(code), _) => End::Exit(code),
                    (None, signal) => End::Signal(signal.unwrap_or(0)),
                };
            }
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            // Cannot happen for a child of ours; an unknown end must not look like success.
            Err(_) => return End::Signal(0),
        }
    }
}

impl Child {
    /// How the process ended; waits until it has. May be asked again.
    pub(super) async fn ended(&mut self) -> End {
        if let Some(end) = self.end {
            return end;
        }
        let end = (&mut self.exited).await.unwrap_or(End::Signal(0));
        self.end = Some(end);
        end
    }

    /// Processes still running that the command started, itself not counted.
    pub(super) fn others(&self) -> usize {
        marked(&self.cookie).into_iter().filter(|&pid| pid != self.group).count()
    }

    /// Ends the group: politely, and after `grace` by force. Returns when all of it is gone.
    pub(super) async fn stop(&mut self, grace: Duration) {
        let until = Instant::now() + grace;
        if self.end.is_none() || self.others() > 0 {
            self.signal(Signal::TERM);
            let _ = tokio::time::timeout(grace, self.ended()).await;
            while self.others() > 0 && Instant::now() < until {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
        self.signal(Signal::KILL);
        self.ended().await;
        let until = Instant::now() + grace;
        while self.others() > 0 && Instant::now() < until {
            self.signal(Signal::KILL);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Collects the process; nothing may be sent to its group after this.
    pub(super) async fn reap(mut self) {
        self.release = None;
        let _ = (&mut self.reaped).await;
    }

    /// To the group, and to those that left the group but still carry the mark.
    fn signal(&self, signal: Signal) {
        let _ = kill_process_group(self.group, signal);
        for pid in marked(&self.cookie) {
            let _ = kill_process(pid, signal);
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.release.is_some() {
            self.signal(Signal::KILL);
        }
    }
}

/// Live processes whose environment holds the cookie. Empty where there is no `/proc`: the group
/// is all that can be found there.
fn marked(cookie: &str) -> Vec<Pid> {
    let entry = format!("{}={cookie}", env::COOKIE);
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    processes
        .flatten()
        .filter_map(|process| {
            let pid = process.file_name().to_str()?.parse().ok()?;
            let environ = std::fs::read(process.path().join("environ")).ok()?;
            let carries = environ.split(|&b| b == 0).any(|var| var == entry.as_bytes());
            carries.then(|| Pid::from_raw(pid)).flatten()
        })
        .collect()
}
