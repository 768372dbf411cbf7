//! Tracing to a file in the state folder, never to the screen. `TESSERA_LOG` sets the filter.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use tracing_subscriber::EnvFilter;

/// Starts logging to `folder/tessera.log`. A log that cannot be written is not worth stopping for.
pub fn init(folder: &Path) {
    let Ok(file) = open(folder) else { return };
    let filter = EnvFilter::try_from_env("TESSERA_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    let subscriber =
        tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_writer(file);
    // A second call (tests in one process) keeps the first subscriber.
    let _ = subscriber.try_init();
}

fn open(folder: &Path) -> std::io::Result<File> {
    std::fs::create_dir_all(folder)?;
    let path = folder.join("tessera.log");
    // One file, started anew when it has grown, so that logs never fill a disk.
    let fresh = std::fs::metadata(&path).is_ok_and(|data| data.len() > 4 << 20);
    let mut options = OpenOptions::new();
    options.create(true).write(true).mode(0o600);
    if fresh {
        options.truncate(true)
    } else {
        options.append(true)
    };
    options.open(path)
}
