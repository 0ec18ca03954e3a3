//! What a worker's store needs, in one file.
//!
//! ```text
//! seed.json                  whose it is
//! qemu/DIGEST/...            QEMU's unpacked packages
//! kernels/SHA256/vmlinuz     kernel images
//! images/SHA256              guest images
//! ```
//!
//! The file is a tar archive in one frame of zstd with a checksum. Names are sorted and nobody's times or
//! numbers are in it, so that the same content gives the same bytes.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, Read, Write},
    os::unix::fs::PermissionsExt,
    path::{Component, Path, PathBuf},
};

use preemptlab_durable::Replacement;
use preemptlab_model::Digest;
use serde::{Serialize, de::DeserializeOwned};
use tar::{Archive, Builder, EntryType, Header};

use crate::{Event, Store, StoreError, hash::sha256, whole};

/// Name of the entry that says whose seed it is.
const ABOUT: &str = "seed.json";

/// Most bytes of that entry.
const ABOUT_BYTES_MAX: u64 = 64 << 10;

/// Most bytes that a seed unpacks to: some 600 MB of four kernels.
const SEED_BYTES_MAX: u64 = 16 << 30;

/// Most memory that unpacking takes, as its logarithm.
const WINDOW_BYTES_MAX_LOG: u32 = 23;

/// zstd's own default.
const LEVEL: i32 = 3;

/// Contents of a seed, by the digests under which a store has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// The build of QEMU; `None` where no virtual machine runs.
    pub qemu: Option<Digest>,
    /// The kernels' images; several kernels may have one.
    pub kernels: BTreeSet<Digest>,
    /// The guest images; several kernels may boot one.
    pub images: BTreeSet<Digest>,
}

/// Error of a seed that cannot be made or used.
#[derive(Debug, thiserror::Error)]
pub enum SeedError {
    /// The file cannot be read or written.
    #[error("cannot {action} the seed {}: {error}", path.display())]
    Io {
        /// Action that failed, as a verb.
        action: &'static str,
        /// Path of the seed.
        path: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
    /// There is no seed.
    #[error("there is no seed {}; `preemptlab run EXPERIMENT --out RECORDING --prepare` makes it", .0.display())]
    Absent(PathBuf),
    /// The file is damaged, or no seed.
    #[error(
        "the seed {} is damaged: {reason}; make it again with --prepare, or copy it again",
        path.display()
    )]
    Damaged {
        /// Path of the seed.
        path: PathBuf,
        /// Damage, in words.
        reason: String,
    },
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Packs what a worker needs out of a store, with a word about whose it is.
///
/// # Errors
///
/// When the store lacks something, or the file cannot be written.
pub fn pack(
    store: &Store,
    contents: &Contents,
    about: &impl Serialize,
    path: &Path,
) -> Result<(), SeedError> {
    let error = |error| SeedError::Io { action: "write", path: path.to_owned(), error };
    let folder = path.parent().unwrap_or(Path::new("."));
    let written = || {
        preemptlab_durable::create_folder(folder)?;
        let mut file = Replacement::of_file(path)?;
        let mut encoder = zstd::stream::write::Encoder::new(file.file(), LEVEL)?;
        encoder.include_checksum(true)?;
        let mut archive = Builder::new(encoder);
        let about = serde_json::to_vec(about)?;
        append(&mut archive, ABOUT, 0o644, &mut about.as_slice(), about.len() as u64)?;
        if let Some(digest) = contents.qemu {
            let name = format!("qemu/{digest}");
            append_folder(&mut archive, &store.qemu(digest), &name)?;
        }
        for digest in &contents.kernels {
            let name = format!("kernels/{digest}/vmlinuz");
            append_file(&mut archive, &store.kernel_image(*digest), &name)?;
        }
        for digest in &contents.images {
            append_file(&mut archive, &store.image(*digest), &format!("images/{digest}"))?;
        }
        archive.into_inner()?.finish()?;
        file.publish()
    };
    written().map_err(error)
}

/// Reads the word about whose seed it is.
///
/// # Errors
///
/// When there is none, or it is damaged.
pub fn about<T: DeserializeOwned>(path: &Path) -> Result<T, SeedError> {
    let damaged = |reason: String| SeedError::Damaged { path: path.to_owned(), reason };
    let mut archive = open(path)?;
    let mut entries = archive.entries().map_err(|error| damaged(error.to_string()))?;
    let first = entries.next().transpose().map_err(|error| damaged(error.to_string()))?;
    let first = first.filter(|entry| *entry.path_bytes() == *ABOUT.as_bytes());
    let Some(entry) = first else { return Err(damaged("it does not say whose it is".to_owned())) };
    let mut bytes = Vec::new();
    let read = entry.take(ABOUT_BYTES_MAX).read_to_end(&mut bytes);
    read.map_err(|error| damaged(error.to_string()))?;
    serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))
}

/// Makes sure that a store has some contents, whole: unpacks a seed where something is missing or
/// damaged.
///
/// # Errors
///
/// When the seed lacks something or is damaged, or the store cannot be used.
pub fn unpack(
    store: &Store,
    contents: &Contents,
    path: &Path,
    on_event: &dyn Fn(Event),
) -> Result<(), SeedError> {
    let lock = store.lock(on_event)?;
    if has(store, contents) {
        return Ok(());
    }
    on_event(Event::Unpacking { what: "the seed".to_owned() });
    let damaged = |reason: String| SeedError::Damaged { path: path.to_owned(), reason };
    let draft = store.draft(&lock)?;
    unfold(open(path)?, draft.path()).map_err(|error| match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            SeedError::Io { action: "unpack", path: path.to_owned(), error }
        }
        _ => damaged(error.to_string()),
    })?;
    if let Some(digest) = contents.qemu {
        let from = draft.path().join(format!("qemu/{digest}"));
        if !whole::is_whole(&from) {
            return Err(damaged("its QEMU is not whole".to_owned()));
        }
        lock.fill(&store.qemu(digest), |to| {
            for entry in fs::read_dir(&from).map_err(StoreError::at(&from))? {
                let entry = entry.map_err(StoreError::at(&from))?;
                let to = to.join(entry.file_name());
                fs::rename(entry.path(), &to).map_err(StoreError::at(&to))?;
            }
            Ok::<(), StoreError>(())
        })?;
    }
    for digest in &contents.kernels {
        let from = draft.path().join(format!("kernels/{digest}/vmlinuz"));
        let to = store.kernel_image(*digest);
        let folder = store.kernel(*digest);
        preemptlab_durable::create_folder(&folder).map_err(StoreError::at(&folder))?;
        keep(&from, &to, *digest).map_err(|error| not_kept(path, &to, error))?;
    }
    for digest in &contents.images {
        let (from, to) = (draft.path().join(format!("images/{digest}")), store.image(*digest));
        keep(&from, &to, *digest).map_err(|error| not_kept(path, &to, error))?;
    }
    Ok(())
}

/// Reason why a file of a seed is not in the store.
enum NotKept {
    /// The seed has another file, or none.
    Seed(String),
    /// The store cannot be written to.
    Store(io::Error),
}

fn not_kept(seed: &Path, to: &Path, error: NotKept) -> SeedError {
    match error {
        NotKept::Seed(reason) => SeedError::Damaged { path: seed.to_owned(), reason },
        NotKept::Store(error) => StoreError::at(to)(error).into(),
    }
}

/// Moves a file whose content has this digest to its place.
fn keep(from: &Path, to: &Path, digest: Digest) -> Result<(), NotKept> {
    let name = digest.short();
    match sha256(from) {
        Ok(found) if found == digest => {}
        Ok(_) => return Err(NotKept::Seed(format!("the content of {name} is another"))),
        Err(_) => return Err(NotKept::Seed(format!("it lacks {name}"))),
    }
    let kept =
        File::open(from).and_then(|file| file.sync_all()).and_then(|()| fs::rename(from, to));
    kept.map_err(NotKept::Store)
}

/// Returns whether a store has all of it, whole.
fn has(store: &Store, contents: &Contents) -> bool {
    let is = |path: &Path, digest: &Digest| sha256(path).is_ok_and(|found| found == *digest);
    contents.qemu.is_none_or(|digest| whole::is_whole(&store.qemu(digest)))
        && contents.kernels.iter().all(|digest| is(&store.kernel_image(*digest), digest))
        && contents.images.iter().all(|digest| is(&store.image(*digest), digest))
}

type Stream = io::Take<zstd::stream::read::Decoder<'static, io::BufReader<File>>>;

fn open(path: &Path) -> Result<Archive<Stream>, SeedError> {
    let error = |error| SeedError::Io { action: "read", path: path.to_owned(), error };
    let file = match preemptlab_durable::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(SeedError::Absent(path.to_owned()));
        }
        file => file.map_err(error)?,
    };
    let mut decoder = zstd::stream::read::Decoder::new(file).map_err(error)?;
    decoder.window_log_max(WINDOW_BYTES_MAX_LOG).map_err(error)?;
    Ok(Archive::new(decoder.take(SEED_BYTES_MAX)))
}

/// Unpacks folders, files and links, none of which reaches outside of the folder.
fn unfold(mut archive: Archive<Stream>, folder: &Path) -> io::Result<()> {
    for entry in archive.entries()? {
        let mut entry = entry?;
        let is_plain = matches!(
            entry.header().entry_type(),
            EntryType::Regular | EntryType::Directory | EntryType::Symlink
        );
        let path = entry.path()?.into_owned();
        if !is_plain || !path.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(io::Error::other(format!("it holds {}", path.display())));
        }
        if !entry.unpack_in(folder)? {
            return Err(io::Error::other(format!("{} leads out of it", path.display())));
        }
    }
    // The checksum stands at the end of the frame.
    io::copy(&mut archive.into_inner(), &mut io::sink()).map(drop)
}

fn append(
    archive: &mut Builder<impl Write>,
    name: &str,
    mode: u32,
    content: &mut (impl Read + ?Sized),
    bytes: u64,
) -> io::Result<()> {
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Regular);
    header.set_mode(mode);
    header.set_size(bytes);
    header.set_mtime(0);
    archive.append_data(&mut header, name, content)
}

fn append_file(archive: &mut Builder<impl Write>, path: &Path, name: &str) -> io::Result<()> {
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    let mode = if metadata.permissions().mode() & 0o100 == 0 { 0o644 } else { 0o755 };
    append(archive, name, mode, &mut file, metadata.len())
}

fn append_folder(archive: &mut Builder<impl Write>, folder: &Path, name: &str) -> io::Result<()> {
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Directory);
    header.set_mode(0o755);
    header.set_mtime(0);
    header.set_size(0);
    archive.append_data(&mut header, format!("{name}/"), io::empty())?;
    let mut entries: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, file_type) = (entry.path(), entry.file_type()?);
        let below = entry.file_name();
        let below = below.to_str().ok_or_else(|| io::Error::other("a name that is no text"))?;
        let name = format!("{name}/{below}");
        if file_type.is_dir() {
            append_folder(archive, &path, &name)?;
        } else if file_type.is_symlink() {
            let mut header = Header::new_gnu();
            header.set_entry_type(EntryType::Symlink);
            header.set_mode(0o777);
            header.set_mtime(0);
            header.set_size(0);
            archive.append_link(&mut header, &name, fs::read_link(&path)?)?;
        } else if file_type.is_file() {
            append_file(archive, &path, &name)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    struct Made {
        folder: tempfile::TempDir,
        contents: Contents,
    }

    /// Makes a store with a QEMU, a kernel and an image.
    fn made() -> Made {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("store")).unwrap();
        let contents = Contents {
            qemu: Some(Digest::of(b"qemu")),
            kernels: [Digest::of(b"kernel")].into(),
            images: [Digest::of(b"image")].into(),
        };
        let lock = store.lock(&|_| ()).unwrap();
        lock.fill(&store.qemu(Digest::of(b"qemu")), |to| {
            fs::create_dir(to.join("bin")).unwrap();
            fs::write(to.join("bin/qemu"), "qemu").unwrap();
            symlink("bin/qemu", to.join("qemu")).unwrap();
            Ok::<(), StoreError>(())
        })
        .unwrap();
        fs::create_dir(store.kernel(Digest::of(b"kernel"))).unwrap();
        fs::write(store.kernel_image(Digest::of(b"kernel")), "kernel").unwrap();
        fs::write(store.image(Digest::of(b"image")), "image").unwrap();
        Made { folder, contents }
    }

    impl Made {
        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        fn pack(&self) -> PathBuf {
            let store = Store::open(self.path("store")).unwrap();
            pack(&store, &self.contents, &"mine", &self.path("seed")).unwrap();
            self.path("seed")
        }

        fn unpack(&self, store: &str) -> Result<Store, String> {
            let store = Store::open(self.path(store)).unwrap();
            let unpacked = unpack(&store, &self.contents, &self.path("seed"), &|_| ());
            unpacked.map(|()| store).map_err(|error| error.to_string())
        }
    }

    #[test]
    fn a_seed_grows_into_the_same_store() {
        let made = made();
        let bytes = fs::read(made.pack()).unwrap();
        assert_eq!(fs::read(made.pack()).unwrap(), bytes);
        assert_eq!(about::<String>(&made.path("seed")).unwrap(), "mine");
        let store = made.unpack("worker").unwrap();
        assert!(has(&store, &made.contents));
        let qemu = store.qemu(made.contents.qemu.unwrap());
        assert_eq!(fs::read_to_string(qemu.join("qemu")).unwrap(), "qemu");

        // A damaged store is mended.
        fs::write(store.image(Digest::of(b"image")), "imagf").unwrap();
        fs::write(qemu.join("bin/qemu"), "qemv").unwrap();
        fs::remove_file(store.kernel_image(Digest::of(b"kernel"))).unwrap();
        assert!(!has(&store, &made.contents));
        assert!(has(&made.unpack("worker").unwrap(), &made.contents));
        // What is whole needs no seed.
        fs::remove_file(made.path("seed")).unwrap();
        made.unpack("worker").unwrap();
        assert!(made.unpack("other").unwrap_err().contains("--prepare"));
    }

    #[test]
    fn a_damaged_seed_is_refused() {
        let made = made();
        let seed = made.pack();
        let bytes = fs::read(&seed).unwrap();
        for place in (0..bytes.len()).step_by(7) {
            let mut damaged = bytes.clone();
            damaged[place] ^= 0x10;
            fs::write(&seed, &damaged).unwrap();
            // A bit that no reader uses changes nothing.
            if let Ok(store) = made.unpack(&format!("at-{place}")) {
                assert!(has(&store, &made.contents), "{place}");
            }
        }
        for length in [0, 1, bytes.len() / 2, bytes.len() - 1] {
            fs::write(&seed, &bytes[..length]).unwrap();
            assert!(made.unpack(&format!("of-{length}")).is_err(), "{length}");
        }
    }

    fn hostile(entries: &[(EntryType, &str, &str)]) -> Vec<u8> {
        let mut archive = Builder::new(Vec::new());
        for (kind, name, content) in entries {
            let mut header = Header::new_gnu();
            header.set_entry_type(*kind);
            header.set_mode(0o644);
            header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
            if matches!(kind, EntryType::Symlink | EntryType::Link) {
                header.set_size(0);
                header.set_link_name_literal(content).unwrap();
                header.set_cksum();
                archive.append(&header, io::empty()).unwrap();
            } else {
                header.set_size(content.len() as u64);
                header.set_cksum();
                archive.append(&header, content.as_bytes()).unwrap();
            }
        }
        zstd::stream::encode_all(archive.into_inner().unwrap().as_slice(), 3).unwrap()
    }

    #[test]
    fn nothing_of_a_seed_reaches_outside() {
        let made = made();
        let image = format!("images/{}", Digest::of(b"image"));
        let attacks: [&[(EntryType, &str, &str)]; 6] = [
            &[(EntryType::Regular, "../escaped", "x")],
            &[(EntryType::Regular, "/tmp/preemptlab-escaped", "x")],
            &[
                (EntryType::Symlink, "out", "/tmp"),
                (EntryType::Regular, "out/preemptlab-escaped", "x"),
            ],
            &[(EntryType::Link, "images", "/etc/passwd")],
            &[(EntryType::Fifo, "images", "")],
            &[(EntryType::Regular, &image, "another content")],
        ];
        for (number, attack) in attacks.iter().enumerate() {
            fs::write(made.path("seed"), hostile(attack)).unwrap();
            let store = format!("store-{number}");
            assert!(made.unpack(&store).is_err(), "{number}");
            assert!(!made.path("escaped").exists());
            assert!(!Path::new("/tmp/preemptlab-escaped").exists());
            let left = fs::read_dir(made.path(&store).join("qemu")).unwrap().count();
            assert_eq!(left, 0, "{number}");
        }
    }
}
