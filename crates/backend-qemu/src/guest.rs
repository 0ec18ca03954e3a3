//! The files through which a guest and the host communicate.

use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, Seek},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::fs::MetadataExt,
    },
    sync::{Mutex, PoisonError},
};

use preemptlab_model::{Digest, SnapshotInputs};
use preemptlab_protocol::{Message, frame};
use preemptlab_runner::{Cancel, Stop};

use crate::{
    Artifacts, Config,
    args::{Paths, Role, arguments},
    end::{End, Remains},
    output::{MemoryFile, inherited_path, no_memory_file},
    qemu::Qemu,
    turnstile::Turnstile,
};

/// Receiver of a guest's output.
#[derive(Debug)]
pub(crate) struct Guest {
    console: MemoryFile,
    results: MemoryFile,
}

impl Guest {
    pub(crate) fn new() -> Result<Self, Stop> {
        let file = |name| MemoryFile::new(name).map_err(no_memory_file);
        Ok(Self { console: file("console")?, results: file("results")? })
    }

    /// Starts QEMU, which inherits `files` too: the job, the snapshot.
    pub(crate) fn start<'a>(
        &self,
        config: &Config,
        inputs: &SnapshotInputs,
        role: Role<'_>,
        files: &[BorrowedFd<'_>],
        cancel: &'a Cancel,
    ) -> Result<Qemu<'a>, Stop> {
        let kernel = open_artifact(&config.artifacts, inputs.kernel_sha256, "kernel")?;
        let image = open_artifact(&config.artifacts, inputs.image_sha256, "guest image")?;
        let paths = Paths {
            kernel: &inherited_path(&kernel),
            image: &inherited_path(&image),
            console: &inherited_path(&self.console),
            results: &inherited_path(&self.results),
        };
        let wall = match &role {
            Role::Boot => config.limits.boot_wall,
            Role::Cell { .. } => config.limits.cell_wall,
        };
        let seed = match &role {
            Role::Boot => None,
            Role::Cell { seed, .. } => Some(*seed),
        };
        let own = [kernel.as_fd(), image.as_fd(), self.console.as_fd(), self.results.as_fd()];
        let inherited = [own.as_slice(), files].concat();
        let arguments = arguments(inputs, paths, role);
        let turnstile = inputs.backend.is_vm().then(|| Turnstile::new(&inputs.machine, seed));
        let turnstile = turnstile.transpose().map_err(no_memory_file)?;
        let results = self.results.as_fd();
        Qemu::start(&config.command, arguments, turnstile, &inherited, results, wall, cancel)
    }

    /// Returns whether the guest has reported that its snapshot can be taken, and nothing else.
    pub(crate) fn is_ready(&mut self) -> Result<bool, Stop> {
        let said = self.results.content().map_err(no_memory_file)?;
        Ok(matches!(frame::decode(&said).as_deref(), Ok([Message::Ready(_)])))
    }

    /// Returns the guest's output so far.
    pub(crate) fn remains(&mut self, end: End) -> Result<Remains, Stop> {
        let said = self.results.content().map_err(no_memory_file)?;
        let console = self.console.content().map_err(no_memory_file)?;
        Ok(Remains { end, said, console })
    }
}

fn open_artifact(artifacts: &Artifacts, digest: Digest, kind: &str) -> Result<File, Stop> {
    let host = |reason| Stop::Host { reason };
    let name = digest.short();
    let path = artifacts
        .get(&digest)
        .ok_or_else(|| host(format!("no {kind} with the SHA-256 {name} is at hand")))?;
    let unusable = |error| host(format!("cannot read the {kind} `{}`: {error}", path.display()));
    let mut file = File::open(path).map_err(unusable)?;
    if is_whole(&mut file, digest).map_err(unusable)? {
        return Ok(file);
    }
    // Without it the next command brings or makes it again.
    std::fs::remove_file(path).map_err(unusable)?;
    Err(host(format!(
        "the {kind} `{}` was damaged and has been removed; run the same command again, which brings \
         it here once more",
        path.display()
    )))
}

/// Returns whether a file's content has its digest. A file is read once in a process, however many
/// cells use it.
fn is_whole(file: &mut File, digest: Digest) -> io::Result<bool> {
    static KNOWN: Mutex<BTreeSet<(Digest, [i64; 4])>> = Mutex::new(BTreeSet::new());
    let metadata = file.metadata()?;
    // A file that was changed is another one.
    let (device, inode) = (metadata.dev() as i64, metadata.ino() as i64);
    let key = (digest, [device, inode, metadata.ctime(), metadata.ctime_nsec()]);
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if known().contains(&key) {
        return Ok(true);
    }
    let found = Digest::of_reader(&*file)?;
    file.rewind()?;
    if found == digest {
        known().insert(key);
    }
    Ok(found == digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_artifact_is_removed_and_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vmlinuz");
        let digest = Digest::of(b"kernel");
        let artifacts = Artifacts::from([(digest, path.clone())]);
        std::fs::write(&path, "kernel").unwrap();
        open_artifact(&artifacts, digest, "kernel").unwrap();
        std::fs::write(&path, "kernal").unwrap();
        let Err(Stop::Host { reason }) = open_artifact(&artifacts, digest, "kernel") else {
            panic!("it is damaged")
        };
        assert!(reason.contains("was damaged") && reason.contains("same command"), "{reason}");
        assert!(!path.exists());
    }
}
