//! File access by folder handle: every part is opened without following links, so a folder that is
//! swapped for a link between the check and the use ends in an error, never outside the root.
//!
//! Paths here are those of a [`Place`](super::Place): relative, `/` between parts, no links.

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, Stat};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

/// An open folder somewhere in the root.
pub(super) struct Folder(OwnedFd);

/// Splits a place into its folder and its name.
pub(super) fn split(place: &str) -> (&str, &str) {
    place.rsplit_once('/').unwrap_or(("", place))
}

const AS_FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl Folder {
    /// Opens the root by its canonical path.
    pub(super) fn root(root: &Path) -> io::Result<Self> {
        Ok(Self(rustix::fs::open(root, AS_FOLDER, Mode::empty())?))
    }

    /// Opens the folder `place` below this one.
    pub(super) fn open(self, place: &str) -> io::Result<Self> {
        parts(place).try_fold(self, |folder, part| folder.child(part))
    }

    /// As [`Folder::open`]; makes what is missing and adds it, as places, to `made`.
    pub(super) fn open_or_make(self, place: &str, made: &mut Vec<String>) -> io::Result<Self> {
        let mut at = String::new();
        parts(place).try_fold(self, |folder, part| {
            if !at.is_empty() {
                at.push('/');
            }
            at.push_str(part);
            match folder.child(part) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    rustix::fs::mkdirat(&folder.0, part, Mode::from_raw_mode(0o777))?;
                    made.push(at.clone());
                    folder.child(part)
                }
                opened => opened,
            }
        })
    }

    fn child(&self, part: &str) -> io::Result<Self> {
        Ok(Self(rustix::fs::openat(&self.0, part, AS_FOLDER, Mode::empty())?))
    }

    /// What `name` is, without following a link; `None` when there is nothing.
    pub(super) fn stat(&self, name: &str) -> io::Result<Option<Stat>> {
        match rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(rustix::io::Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a regular file for reading. Never blocks, not even on a pipe.
    pub(super) fn open_file(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(&self.0, name, flags, Mode::empty())?);
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        Ok(file)
    }

    /// The whole content of a regular file.
    pub(super) fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.open_file(name)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Makes a new file with this content and, if given, exactly these permissions.
    pub(super) fn create(&self, name: &str, bytes: &[u8], mode: Option<u32>) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.0, name, flags, Mode::from_raw_mode(0o666))?;
        let mut file = File::from(file);
        file.write_all(bytes)?;
        if let Some(mode) = mode {
            rustix::fs::fchmod(&file, Mode::from_raw_mode(mode & 0o7777))?;
        }
        file.sync_all()
    }

    /// Replaces the content of a file and keeps the file itself, for files with several names.
    pub(super) fn overwrite(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(rustix::fs::openat(&self.0, name, flags, Mode::empty())?);
        file.write_all(bytes)?;
        file.set_len(bytes.len() as u64)?;
        file.sync_all()
    }

    /// Puts `from` where nothing is. Fails when something is there.
    pub(super) fn place(&self, from: &str, to: &str) -> io::Result<()> {
        match rustix::fs::renameat_with(&self.0, from, &self.0, to, RenameFlags::NOREPLACE) {
            Ok(()) => Ok(()),
            Err(
                rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS | rustix::io::Errno::NOTSUP,
            ) => {
                // The file system has no such rename: check, then rename.
                if self.stat(to)?.is_some() {
                    return Err(io::ErrorKind::AlreadyExists.into());
                }
                Ok(rustix::fs::renameat(&self.0, from, &self.0, to)?)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Swaps two files in one step. `Ok(false)` where the file system cannot.
    pub(super) fn swap(&self, a: &str, b: &str) -> io::Result<bool> {
        match rustix::fs::renameat_with(&self.0, a, &self.0, b, RenameFlags::EXCHANGE) {
            Ok(()) => Ok(true),
            Err(
                rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS | rustix::io::Errno::NOTSUP,
            ) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Puts `from` in the place of `to`.
    pub(super) fn replace(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.0, from, &self.0, to)?)
    }

    /// Removes a file.
    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// Removes a folder if it is empty.
    pub(super) fn remove_folder(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::REMOVEDIR)?)
    }

    /// Makes renames in this folder last through a power cut. Some file systems cannot; then there
    /// is nothing more to do.
    pub(super) fn sync(&self) {
        let _ = rustix::fs::fsync(&self.0);
    }
}

fn parts(place: &str) -> impl Iterator<Item = &str> {
    place.split('/').filter(|part| !part.is_empty())
}
