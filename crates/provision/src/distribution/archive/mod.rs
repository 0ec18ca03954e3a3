//! Archives of distributions other than Debian: Ubuntu's and Fedora's. Only kernels are taken from them, with
//! their modules and configuration. A person names the mirrors; without one nothing is asked.

pub(crate) mod error;
pub(crate) mod listed;
pub(crate) mod other;

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use preemptlab_model::{Digest, Package, Platform};
use serde::{Deserialize, Serialize};

use self::{
    error::ArchiveError,
    listed::{Found, Listed, Lists, Packages, sort},
    other::Other,
};
use super::{
    AptError, Build, Kernels, LeftOut,
    fedora::{self, Fedora},
    ubuntu::{self, Ubuntu},
    web::{Client, keep},
};
use crate::{
    Event, Keys, Named, Options, PackageError, SignatureError, Store, StoreError, StoreLock,
    Trouble, store::kept,
};

/// The version of [`Kept`].
const FORMAT: u32 = 1;

/// Lists older than this are read again.
const AGE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// The largest file of keys, in bytes.
const KEYS_BYTES_MAX: u64 = 1 << 20;

/// The archive of a distribution other than Debian, with its lists ready.
pub(crate) struct Archive {
    of: Other,
    client: Client,
    lists: Box<dyn Lists>,
    listed: Vec<Listed>,
    found: Vec<Found>,
    offline: bool,
}

/// The content of a list as the store keeps it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    /// Time at which it was read from the mirror, in seconds since 1970.
    read_unix_s: u64,
    listed: Vec<Listed>,
}

impl Archive {
    /// Returns whether a person named a mirror.
    pub(crate) fn is_named(of: Other, options: &Options) -> bool {
        match of {
            Other::Ubuntu => options.ubuntu.mirror.is_some(),
            Other::Fedora => !options.fedora.repositories.is_empty(),
        }
    }

    /// Refuses mistakes in what a person said about an archive, without asking it.
    pub(crate) fn check(
        of: Other,
        guest: &'static Platform,
        options: &Options,
    ) -> Result<(), PackageError> {
        Ok(lists(of, guest, options).map(drop)?)
    }

    /// Reads the lists of an archive, where those in the store are too old.
    pub(crate) fn open(
        of: Other,
        (store, lock): (&Store, &StoreLock),
        guest: &'static Platform,
        options: &Options,
        on_event: &dyn Fn(Event),
    ) -> Result<Self, PackageError> {
        let lists = lists(of, guest, options)?;
        let client = Client::new(&options.proxies).map_err(ArchiveError::Proxy)?;
        let mut archive = Self {
            of,
            client,
            lists,
            listed: Vec::new(),
            found: Vec::new(),
            offline: options.offline,
        };
        for name in archive.lists.names() {
            let more = archive.list(name, (store, lock), options, on_event)?;
            archive.listed.extend(more);
        }
        archive.found = archive.lists.kernels(&Packages::new(&archive.listed));
        sort(&mut archive.found);
        Ok(archive)
    }

    /// Returns the content of a list: from the store where it is fresh, or else from the mirror.
    fn list(
        &self,
        name: &str,
        (store, _lock): (&Store, &StoreLock),
        options: &Options,
        on_event: &dyn Fn(Event),
    ) -> Result<Vec<Listed>, PackageError> {
        let question = Digest::of_json(&(FORMAT, name, self.lists.inputs()));
        let path = store.archives().join(question.to_string());
        let kept: Option<Kept> = kept::read(&path, question);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
        let is_fresh = |kept: &Kept| {
            // A time in the future is that of a clock that was wrong.
            now.checked_sub(kept.read_unix_s).is_some_and(|age| age <= AGE_MAX.as_secs())
        };
        match kept {
            Some(kept) if options.offline || !options.refresh && is_fresh(&kept) => {
                return Ok(kept.listed);
            }
            None if options.offline => {
                let title = self.of.distribution().title();
                return Err(AptError::Offline(format!(
                    "the list of kernels in `{name}` of {title}"
                ))
                .into());
            }
            _ => {}
        }
        on_event(Event::Refreshing);
        let part = store.archives().join("list.part");
        let once = || self.lists.read(&self.client, name, &part);
        let read = match once() {
            // A mirror in the midst of an update has lists that do not fit each other yet.
            Err(Trouble::Corrupted(_)) => once(),
            read => read,
        };
        match fs::remove_file(&part) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(StoreError::new(&part, error).into());
            }
            _ => {}
        }
        match (read, kept) {
            (Ok(listed), _) => {
                let kept = Kept { read_unix_s: now, listed };
                kept::write(&path, question, &kept);
                Ok(kept.listed)
            }
            (Err(trouble @ Trouble::Unreachable(_)), Some(kept)) => {
                let trouble = ArchiveError::List { of: self.of, name: name.to_owned(), trouble };
                on_event(Event::Warning(format!("the package list stays as it was: {trouble}")));
                Ok(kept.listed)
            }
            (Err(trouble), _) => {
                Err(ArchiveError::List { of: self.of, name: name.to_owned(), trouble }.into())
            }
        }
    }

    /// Returns the kernels on offer, the oldest first.
    pub(crate) fn found(&self) -> &[Found] {
        &self.found
    }

    /// Returns the listed package that a recording names.
    pub(crate) fn exact(&self, package: &Package) -> Result<&Listed, PackageError> {
        let found = self.listed.iter().find(|listed| listed.package == *package);
        Ok(found.ok_or_else(|| ArchiveError::Gone { of: self.of, name: named(package) })?)
    }

    /// Brings packages into the store, in their order. One that is there is not downloaded again.
    pub(crate) fn bring(
        &self,
        wanted: &[&Listed],
        store: &Store,
        on_event: &dyn Fn(Event),
    ) -> Result<Vec<PathBuf>, PackageError> {
        let mut paths = Vec::new();
        for listed in wanted {
            let Package { name, sha256, .. } = &listed.package;
            let target = store.package(*sha256);
            paths.push(target.clone());
            if store.has_package(*sha256)? {
                continue;
            }
            if self.offline {
                let package = named(&listed.package);
                return Err(AptError::Offline(format!("the package {package}")).into());
            }
            let mut tell = |bytes| {
                let (what, bytes_total) = (name.to_string(), listed.bytes);
                on_event(Event::Downloading { what, bytes, bytes_total });
            };
            let named = Named { sha256: *sha256, bytes: listed.bytes };
            let folder = store.archives().join("downloads");
            let download = |part: &Path| {
                self.client.save(&listed.url, part, named, &mut tell)?;
                self.lists.vouch(part, listed).inspect_err(|_| drop(fs::remove_file(part)))
            };
            keep(&folder, &target, *sha256, download)?.map_err(|trouble| {
                ArchiveError::Package { of: self.of, file: listed.file().to_owned(), trouble }
            })?;
        }
        Ok(paths)
    }
}

impl Kernels for Archive {
    fn builds(&self) -> Result<Vec<Build>, PackageError> {
        Ok(self.found.iter().map(|found| found.build.clone()).collect())
    }

    /// Every list is read, or the archive is not used.
    fn left_out(&self) -> &[LeftOut] {
        &[]
    }
}

fn named(package: &Package) -> String {
    format!("{} {}", package.name, package.version)
}

/// Returns the lists of an archive, as a person named them.
fn lists(
    of: Other,
    guest: &'static Platform,
    options: &Options,
) -> Result<Box<dyn Lists>, ArchiveError> {
    Ok(match of {
        Other::Ubuntu => {
            let given = &options.ubuntu;
            let keys = keys(ubuntu::KEYS, given.keys.as_deref())?;
            Box::new(Ubuntu::new(given, keys, guest, options.allow_expired)?)
        }
        Other::Fedora => {
            let given = &options.fedora;
            let keys = keys(fedora::KEYS, given.keys.as_deref())?;
            Box::new(Fedora::new(&given.repositories, keys, guest)?)
        }
    })
}

/// Returns the keys that this program brings and those of a file that a person named, with the digest of both.
fn keys(brought: &[u8], further: Option<&Path>) -> Result<(Keys, Digest), ArchiveError> {
    let mut keys = Keys::read(brought)?;
    let mut digest = Digest::of(brought);
    if let Some(path) = further {
        let unreadable = |error| ArchiveError::KeysUnreadable { path: path.to_owned(), error };
        let bytes = preemptlab_files::read(path, KEYS_BYTES_MAX).map_err(unreadable)?;
        let unusable = |error: SignatureError| ArchiveError::Keys { path: path.to_owned(), error };
        keys.add(Keys::read(&bytes).map_err(unusable)?);
        digest = Digest::of_json(&(digest, Digest::of(&bytes)));
    }
    Ok((keys, digest))
}
