//! What the end-to-end tests share: a home of their own, sample repositories, a terminal.

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::io::{Read, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Long enough for a slow machine under load; never reached when things work.
const PATIENCE: Duration = Duration::from_secs(400);

/// Folders of one test: nothing is read from or written to the real home.
pub struct Home {
    dir: tempfile::TempDir,
}

impl Home {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// A repository with these files, committed.
    pub fn repository(&self, name: &str, files: &[(&str, &str)]) -> PathBuf {
        let root = self.path().join(name);
        for (path, text) in files {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        commit_all(&root);
        root
    }

    /// A copy of the sample project, committed.
    pub fn sample(&self) -> PathBuf {
        let root = self.path().join("sample");
        copy(&fixture("sample-project"), &root);
        commit_all(&root);
        root
    }

    /// A script for `--script`.
    pub fn script(&self, text: &str) -> PathBuf {
        let path = self.path().join("script.json");
        std::fs::write(&path, text).unwrap();
        path
    }

    fn variables(&self) -> Vec<(&'static str, String)> {
        let below = |name: &str| self.path().join(name).to_string_lossy().into_owned();
        vec![
            ("HOME", below("home")),
            ("XDG_CONFIG_HOME", below("config")),
            ("XDG_STATE_HOME", below("state")),
            ("XDG_CACHE_HOME", below("cache")),
            ("TERM", "xterm-256color".into()),
            ("LANG", "C.UTF-8".into()),
        ]
    }

    /// Runs the program to its end.
    pub fn run(&self, cwd: &Path, arguments: &[&str]) -> Output {
        self.command(cwd, arguments).output().unwrap()
    }

    /// The program, ready to start.
    pub fn command(&self, cwd: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tessera"));
        command.current_dir(cwd).args(arguments).env_remove("TESSERA_MODEL");
        command.envs(self.variables());
        command
    }

    /// Runs the program in a pseudo-terminal.
    pub fn terminal(&self, cwd: &Path, arguments: &[&str], size: (u16, u16)) -> Terminal {
        let (cols, rows) = size;
        let pty = native_pty_system()
            .openpty(PtySize { rows, cols, pixel_width: 0, pixel_height: 0 })
            .unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_tessera"));
        command.cwd(cwd);
        command.args(arguments);
        command.env_remove("TESSERA_MODEL");
        for (name, value) in self.variables() {
            command.env(name, value);
        }
        let child = pty.slave.spawn_command(command).unwrap();
        Terminal::new(pty.master, child, size)
    }
}

/// A file or folder of `tests/fixtures`.
pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// The bundled model.
pub fn demo_model() -> String {
    fixture("demo-model/tessera-demo.gguf").to_string_lossy().into_owned()
}

pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Makes a repository of a folder and commits everything.
pub fn commit_all(root: &Path) {
    for arguments in [
        &["init", "-q", "-b", "main"][..],
        &["add", "-A"],
        &["-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "start"],
    ] {
        let done = Command::new("git").current_dir(root).args(arguments).status().unwrap();
        assert!(done.success(), "git {arguments:?}");
    }
}

fn cells(count: u16) -> NonZero<u16> {
    NonZero::new(count).unwrap()
}

/// The program in a pseudo-terminal, with the screen a person would see.
pub struct Terminal {
    master: Box<dyn MasterPty + Send>,
    child: Box<dyn Child + Send + Sync>,
    input: Box<dyn Write + Send>,
    seen: Arc<Mutex<vt100::Parser>>,
    raw: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Terminal {
    fn new(
        master: Box<dyn MasterPty + Send>,
        child: Box<dyn Child + Send + Sync>,
        (cols, rows): (u16, u16),
    ) -> Self {
        let seen = Arc::new(Mutex::new(vt100::Parser::new(cells(rows), cells(cols), 0)));
        let raw = Arc::new(Mutex::new(Vec::new()));
        let mut output = master.try_clone_reader().unwrap();
        let (screen, bytes) = (seen.clone(), raw.clone());
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 65536];
            while let Ok(count @ 1..) = output.read(&mut buffer) {
                screen.lock().unwrap().process(&buffer[..count]);
                bytes.lock().unwrap().extend_from_slice(&buffer[..count]);
            }
        });
        let input = master.take_writer().unwrap();
        Self { master, child, input, seen, raw, reader }
    }

    /// Process id of the program.
    pub fn pid(&self) -> u32 {
        self.child.process_id().unwrap()
    }

    /// Types text or control sequences.
    pub fn send(&mut self, keys: &str) -> &mut Self {
        self.input.write_all(keys.as_bytes()).unwrap();
        self.input.flush().unwrap();
        self
    }

    /// What stands on the screen.
    pub fn screen(&self) -> String {
        self.seen.lock().unwrap().screen().contents()
    }

    /// Every byte the program has written.
    pub fn raw(&self) -> Vec<u8> {
        self.raw.lock().unwrap().clone()
    }

    /// Waits until the screen satisfies `wanted`.
    pub fn wait(&mut self, what: &str, wanted: impl Fn(&str) -> bool) -> &mut Self {
        let start = Instant::now();
        loop {
            let screen = self.screen();
            if wanted(&screen) {
                return self;
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                panic!("ended with {status:?} while waiting for {what}:\n{screen}");
            }
            assert!(start.elapsed() < PATIENCE, "never saw {what}:\n{screen}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until `text` stands on the screen.
    pub fn wait_for(&mut self, text: &str) -> &mut Self {
        self.wait(&format!("{text:?}"), |screen| screen.contains(text))
    }

    /// Lets pass the moment after an overlay opens in which keys decide nothing.
    pub fn wait_grace(&mut self) -> &mut Self {
        std::thread::sleep(Duration::from_millis(700));
        self
    }

    /// Processes started by the program that are still there.
    pub fn children(&self) -> Vec<u32> {
        let path = format!("/proc/{0}/task/{0}/children", self.pid());
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
    }

    pub fn resize(&mut self, cols: u16, rows: u16) -> &mut Self {
        self.seen.lock().unwrap().screen_mut().set_size(cells(rows), cells(cols));
        self.master.resize(PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }).unwrap();
        self
    }

    /// Waits for the end, and for the last byte written, and gives the exit code.
    pub fn wait_end(&mut self) -> u32 {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap()
                && self.reader.is_finished()
            {
                return status.exit_code();
            }
            assert!(start.elapsed() < PATIENCE, "never ended:\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}
