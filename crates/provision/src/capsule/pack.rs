//! Packing a capsule.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use preemptlab_files::Replacement;
use preemptlab_model::Package;

use super::{
    CapsuleError,
    form::{ABOUT, About, FORMAT, Needs, SOURCES},
    licences::Licences,
};
use crate::{
    Event, Store, StoreError,
    distribution::debian::signed_lists::{self, SignedList},
    platform::HOST,
    store::{archive::Packer, hash::sha256},
};

/// Level of zstd. A higher one takes a minute for the signed lists, and saves 3 % of the whole.
const LEVEL: i32 = 9;

/// Packed bytes of each unpacked megabyte of guest images, lists and JSON; packages and kernels are packed already.
const IMAGES_PER_MB: u64 = 430_000;
const LISTS_PER_MB: u64 = 205_000;
const JSON_PER_MB: u64 = 120_000;

/// Everything that a capsule is to hold.
#[derive(Debug)]
pub struct Contents {
    needs: Needs,
    recording: Vec<(String, PathBuf)>,
    lists: Vec<SignedList>,
    unlisted: Option<String>,
    licences: Licences,
    store: Store,
}

/// About how many bytes each part of a capsule takes in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bytes {
    /// QEMU's packages.
    pub qemu: u64,
    /// The kernels' images.
    pub kernels: u64,
    /// The guest images.
    pub images: u64,
    /// The lists that Debian signed.
    pub lists: u64,
    /// The recording, and the licences.
    pub recording: u64,
}

impl Bytes {
    /// Returns the sum.
    pub fn all(&self) -> u64 {
        self.qemu + self.kernels + self.images + self.lists + self.recording
    }
}

impl Contents {
    /// Collects what a store has of a recording: files by their names in the recording, and the packages of QEMU
    /// and of everything else, with their files: a distribution's and the user's own.
    pub(crate) fn collect(
        store: &Store,
        needs: Needs,
        recording: Vec<(String, PathBuf)>,
        others: &[(Package, PathBuf)],
        own: &[(Package, PathBuf)],
        on_event: &dyn Fn(Event),
    ) -> Result<Self, CapsuleError> {
        let mut licences = Licences::default();
        for package in &needs.qemu {
            licences.add_packed(package, &store.package(package.sha256))?;
        }
        for (package, deb) in others {
            on_event(Event::Packing { what: format!("the licence of {}", package.name) });
            licences.add_licence(package, deb)?;
        }
        for (package, path) in own {
            on_event(Event::Packing { what: format!("the licence of {}", package.name) });
            if !licences.add_own(package, path)? {
                on_event(Event::Warning(format!(
                    "the capsule has neither the licence nor the source of {} {}: {} is not there any more",
                    package.name,
                    package.version,
                    path.display()
                )));
            }
        }
        let lists = signed_lists::naming(&store.apt(HOST), &needs.qemu);
        let mut lists = lists.map_err(StoreError::at(&store.apt(HOST)))?;
        let unlisted = signed_lists::vouching(&lists, &needs.qemu).err();
        if unlisted.is_some() {
            // A half of a proof is none.
            lists.clear();
        }
        let store = store.clone();
        let contents = Self { needs, recording, lists, unlisted, licences, store };
        contents.check()?;
        Ok(contents)
    }

    /// Refuses files of the store that are damaged.
    fn check(&self) -> Result<(), CapsuleError> {
        for (name, digest) in self.needs.files() {
            let path = self.path(&name);
            if sha256(&path).ok() != Some(digest) {
                return Err(CapsuleError::Store(path));
            }
        }
        Ok(())
    }

    /// Returns the path of a file in the store, which has the names of a capsule.
    fn path(&self, name: &str) -> PathBuf {
        self.store.root().join(name)
    }

    /// Says why nothing in the capsule shows that Debian made its QEMU, where nothing does.
    pub fn unlisted(&self) -> Option<&str> {
        self.unlisted.as_deref()
    }

    /// Returns about how many bytes each part will take.
    ///
    /// # Errors
    ///
    /// When a file cannot be read.
    pub fn bytes(&self) -> io::Result<Bytes> {
        let packed = |bytes: u64, per_mb: u64| bytes * per_mb / 1_000_000;
        let mut bytes = Bytes::default();
        for (name, _) in self.needs.files() {
            let size = fs::metadata(self.path(&name))?.len();
            match name.split('/').next() {
                Some("packages") => bytes.qemu += size,
                Some("kernels") => bytes.kernels += size,
                _ => bytes.images += packed(size, IMAGES_PER_MB),
            }
        }
        bytes.lists = packed(self.list_bytes(), LISTS_PER_MB);
        for (name, path) in &self.recording {
            let size = fs::metadata(path)?.len();
            let is_packed = name.ends_with(".zst");
            bytes.recording += if is_packed { size } else { packed(size, JSON_PER_MB) };
        }
        let texts: usize = self.licences.texts.values().map(Vec::len).sum();
        bytes.recording += packed(texts as u64, JSON_PER_MB);
        Ok(bytes)
    }

    /// Writes the capsule, whole or not at all, and returns its size in bytes.
    ///
    /// # Errors
    ///
    /// When the file cannot be written, or `is_over` is true between two files.
    pub fn write(
        &self,
        packed_by: String,
        path: &Path,
        on_event: &dyn Fn(Event),
        is_over: &dyn Fn() -> bool,
    ) -> Result<u64, CapsuleError> {
        let written = || {
            let mut file = Replacement::begin(path)?;
            let mut packer = Packer::new(file.file(), LEVEL)?;
            let about = About { format: FORMAT, packed_by };
            packer.bytes(&serde_json::to_vec(&about)?, ABOUT)?;
            let files = self.files();
            let sizes = files.iter().map(|(_, path)| Ok(fs::metadata(path)?.len()));
            let sizes = sizes.collect::<io::Result<Vec<_>>>()?;
            let bytes_total = sizes.iter().sum::<u64>() + self.list_bytes();
            let mut bytes = 0;
            let mut tell = |more: u64| {
                on_event(Event::Writing { bytes, bytes_total });
                bytes += more;
                if is_over() { Err(io::Error::other("interrupted")) } else { Ok(()) }
            };
            for ((name, path), size) in files.iter().zip(sizes) {
                tell(size)?;
                packer.file(path, name)?;
            }
            for (number, list) in self.lists.iter().enumerate() {
                tell((list.in_release.len() + list.packages.len()) as u64)?;
                packer.bytes(&list.in_release, &format!("lists/{number}/InRelease"))?;
                packer.bytes(&list.packages, &format!("lists/{number}/Packages"))?;
            }
            for (name, text) in &self.licences.texts {
                packer.bytes(text, name)?;
            }
            packer.bytes(&serde_json::to_vec(&self.licences.sources())?, SOURCES)?;
            packer.finish()?;
            tell(0)?;
            let size = file.file().metadata()?.len();
            file.publish()?;
            Ok(size)
        };
        let error = |error| CapsuleError::Io { action: "write", path: path.to_owned(), error };
        written().map_err(error)
    }

    /// Returns the files that are packed as they are, by their names in the capsule.
    fn files(&self) -> Vec<(String, PathBuf)> {
        let of_recording =
            |(name, path): &(String, PathBuf)| (format!("recording/{name}"), path.clone());
        let needs =
            self.needs.files().into_iter().map(|(name, _)| (name.clone(), self.path(&name)));
        self.recording.iter().map(of_recording).chain(needs).collect()
    }

    fn list_bytes(&self) -> u64 {
        let lists = self.lists.iter().map(|list| list.in_release.len() + list.packages.len());
        lists.sum::<usize>() as u64
    }
}
