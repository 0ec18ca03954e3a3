use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use preemptlab_files::OutFolder;
use preemptlab_model::Shard;

/// Suffix of the work folder's name.
const SUFFIX: &str = ".shards";

/// Paths of files that several machines need beside a recording. Nothing of it is a part of the recording,
/// whose bytes do not tell how many machines made it.
///
/// ```text
/// RUN.shards/seed.tar.zst     QEMU, kernels and images: a worker's store
/// RUN.shards/parts/3-of-8/    the part of a shard
/// RUN.shards/engine.json      jobs, hosts and times
/// RUN.shards/log/             what the engine's tasks printed
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workplace {
    root: PathBuf,
}

impl Workplace {
    /// Returns the paths beside the recording in a folder.
    pub fn of(recording: &Path) -> Self {
        let name = recording.file_name().map(OsString::from);
        // A path that ends in `..` or is `.` has no name of its own.
        let (parent, mut name) = match name {
            Some(name) => (recording.parent().unwrap_or(Path::new("")).to_owned(), name),
            None => {
                let real = recording.canonicalize().unwrap_or_else(|_| recording.to_owned());
                let name = real.file_name().map(OsString::from).unwrap_or_default();
                (real.parent().unwrap_or(Path::new("/")).to_owned(), name)
            }
        };
        name.push(SUFFIX);
        Self { root: parent.join(name) }
    }

    /// Returns the work folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the work folder as one to write to.
    pub fn folder(&self) -> OutFolder {
        let name = self.root.file_name().unwrap_or_default();
        OutFolder::chosen(self.root.parent().unwrap_or(Path::new(".")), name)
    }

    /// Returns the archive of a worker's needs.
    pub fn seed(&self) -> PathBuf {
        self.root.join("seed.tar.zst")
    }

    /// Returns the folder of the parts.
    pub fn parts(&self) -> PathBuf {
        self.root.join("parts")
    }

    /// Returns the folder of a shard's part in a look at the results.
    pub fn part(&self, look: u32, shard: Shard) -> PathBuf {
        let (index, count) = (shard.index(), shard.count());
        let look = if look == 0 { String::new() } else { format!("look-{look:03}-") };
        self.parts().join(format!("{look}{index}-of-{count}"))
    }

    /// Returns that folder as one to write to.
    pub fn part_folder(&self, look: u32, shard: Shard) -> OutFolder {
        let part = self.part(look, shard);
        self.folder().join("parts").join(part.file_name().unwrap_or_default())
    }

    /// Returns the file of the engine's jobs.
    pub fn engine(&self) -> PathBuf {
        self.root.join("engine.json")
    }

    /// Returns the folder of the output of the engine's tasks.
    pub fn log(&self) -> PathBuf {
        self.root.join("log")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_folder_stands_beside_the_recording() {
        let workplace = Workplace::of(Path::new("runs/quick/"));
        assert_eq!(workplace.root(), Path::new("runs/quick.shards"));
        let shard = "3/8".parse().unwrap();
        let parts = Path::new("runs/quick.shards/parts");
        assert_eq!(workplace.part(0, shard), parts.join("3-of-8"));
        assert_eq!(workplace.part(2, shard), parts.join("look-002-3-of-8"));
        assert_eq!(Workplace::of(Path::new("quick")).root(), Path::new("quick.shards"));
        let here = std::env::current_dir().unwrap();
        let name = format!("{}.shards", here.file_name().unwrap().to_str().unwrap());
        assert_eq!(Workplace::of(Path::new(".")).root(), here.parent().unwrap().join(name));
    }
}
