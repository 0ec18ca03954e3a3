//! Package lists and packages without the machine's apt: downloaded and checked here, and read by the apt of
//! Debian 13, which is unpacked into the store once.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::{self, BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::SystemTime,
};

use preemptlab_model::{Arch, Digest, Package, Platform};
use serde::{Deserialize, Serialize};

use super::{AptError, LeftOut, Trouble, config, run::Programs, snapshot};
use crate::{
    Event, Keys, Mirror, Named, Options, Store, StoreError, StoreLock,
    distribution::{
        deb,
        debian::{
            release::{for_each_stanza, list_path, package, unpacked},
            suite::Suite,
        },
        web::{self, Client},
    },
    platform::HOST,
    store::{hash::sha256, kept, seen, whole::is_whole},
};

/// The addresses of the archives in apt's sources, whoever serves them. apt names the lists after them, and
/// asks nobody.
const MAIN: &str = "http://main.invalid";
const SECURITY: &str = "http://security.invalid";

/// The version of the list of apt's own packages.
const FORMAT: u32 = 2;

/// The resolver starts a program that would download, and asks it what it can do: this one is static.
const METHOD: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/method"));

/// An archive that is read without the machine's apt.
#[derive(Debug)]
pub(super) struct Own {
    /// The architecture of the packages.
    of: &'static Platform,
    mirror: Mirror,
    keys: Keys,
    client: Client,
}

impl Own {
    pub(super) fn new(of: &'static Platform, mirror: Mirror, keys: Keys, client: Client) -> Self {
        Self { of, mirror, keys, client }
    }

    /// Returns the archive that a person named, or the build of this program, with Debian's keys.
    pub(super) fn of_debian(of: &'static Platform, options: &Options) -> Result<Self, AptError> {
        let mirror = Mirror::without_apt(options.mirror.as_deref())?;
        Ok(Self::new(of, mirror, Keys::debian()?, client(options)?))
    }

    /// Returns the addresses that stand for the archives in apt's sources.
    pub(super) fn in_sources() -> Mirror {
        Mirror { main: MAIN.to_owned(), security: SECURITY.to_owned() }
    }

    /// Returns the archives.
    pub(super) fn mirror(&self) -> &Mirror {
        &self.mirror
    }

    /// Returns the settings with which apt only answers, and writes the files that they name.
    pub(super) fn settings(root: &Path) -> Result<String, StoreError> {
        let method = root.join("method");
        config::write(&method, METHOD)?;
        fs::set_permissions(&method, fs::Permissions::from_mode(0o755))
            .map_err(StoreError::at(&method))?;
        // dpkg's tables of architectures, with the rows of those that are known (dpkg-architecture(1)).
        let (cpus, tuples) = (root.join("cputable"), root.join("tupletable"));
        let row = |Platform { debian, triplet, .. }: &Platform| {
            let gnu = triplet.split('-').next().unwrap_or_default();
            format!("{debian}\t{gnu}\t({debian}|{gnu})\t64\tlittle\n")
        };
        config::write(&cpus, Arch::ALL.map(|arch| row(arch.platform())).concat())?;
        config::write(&tuples, "base-gnu-linux-<cpu>\t<cpu>\n")?;
        Ok(format!(
            "Dir::Bin::Methods::http \"{}\";\nDir::dpkg::cputable \"{}\";\n\
             Dir::dpkg::tupletable \"{}\";\n",
            method.display(),
            cpus.display(),
            tuples.display()
        ))
    }

    /// Brings the lists of every suite here, and returns the troubles with those that could not be.
    pub(super) fn refresh(&self, root: &Path, options: &Options) -> Vec<LeftOut> {
        let now = SystemTime::now();
        let bring = |suite: &'static str| {
            let once = || self.bring(root, suite, options.allow_expired, now);
            // A mirror in the midst of an update has lists that its release file does not name yet.
            let done = match once() {
                Err(Trouble::Corrupted(_)) => once(),
                done => done,
            };
            Some(LeftOut { suite: suite.to_owned(), trouble: done.err()? })
        };
        config::suites().filter_map(bring).collect()
    }

    fn bring(
        &self,
        root: &Path,
        suite: &str,
        allow_expired: bool,
        now: SystemTime,
    ) -> Result<(), Trouble> {
        let Mirror { main, security } = &self.mirror;
        let archive = if config::is_security(suite) { security } else { main };
        let published = Suite::new(&self.client, archive, suite);
        let (in_release, release) = published.release(&self.keys, allow_expired, now)?;
        let release_path = of_suite(root, suite, "InRelease");
        let (path, list) = (list_of(root, self.of, suite), list_path(self.of));
        if release.file(&list).is_some()
            && fs::read(&release_path).is_ok_and(|present| present == in_release)
            && path.is_file()
        {
            return Ok(());
        }
        let part = root.join("state/lists/partial").join(format!("{suite}.xz"));
        published.list(&release, &list, &part)?;
        let stored = unpack_list(&part, &path)
            .and_then(|()| preemptlab_files::replace(&release_path, &in_release))
            .and_then(|()| fs::remove_file(&part));
        stored.map_err(|error| match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Trouble::DiskFull,
            _ => Trouble::Other(format!("{}: {error}", path.display())),
        })
    }

    /// Provides the apt of Debian 13 for this machine, which reads the lists of every private root. Without leave to
    /// download it is there or not. The lists for this machine's architecture must be ready.
    pub(super) fn programs(
        &self,
        (store, lock): (&Store, &StoreLock),
        options: &Options,
        on_event: &dyn Fn(Event),
    ) -> Result<Programs, AptError> {
        let root = &*store.apt(HOST);
        let parts = self.parts(root)?;
        let mut digests: Vec<_> = parts.iter().map(|part| part.package.sha256).collect();
        digests.sort();
        let folder = store.resolver(Digest::of_json(&digests));
        if is_whole(&folder) {
            return Ok(Programs::Unpacked(folder));
        }
        if options.offline {
            return Ok(Programs::None);
        }
        let bytes_total = parts.iter().map(|part| part.bytes).sum();
        let mut bytes_before = 0;
        let mut debs = Vec::new();
        for part in &parts {
            let target = store.package(part.package.sha256);
            if !sha256(&target).is_ok_and(|found| found == part.package.sha256) {
                let url = format!("{}/{}", self.mirror.main, part.path);
                let mut tell = |bytes| {
                    let what = format!("apt and {} more", parts.len() - 1);
                    on_event(Event::Downloading { what, bytes: bytes_before + bytes, bytes_total });
                };
                let Part { package, bytes, .. } = part;
                let named = Named { sha256: package.sha256, bytes: *bytes };
                match (self.keep(&url, root, &target, named, &mut tell)?, &options.snapshot) {
                    (Err(Trouble::Missing), Some(archive)) => {
                        let bring = |part: &Path| {
                            let mut tell = |bytes, _| tell(bytes);
                            let files = snapshot::ask(&self.client, archive, HOST, package)?;
                            let wanted = (package, &*files);
                            snapshot::bring(&self.client, archive, wanted, part, &mut tell)
                        };
                        web::keep(&root.join("downloads"), &target, package.sha256, bring)?
                            .map_err(|trouble| of_snapshot(package, archive, trouble))?;
                    }
                    (kept, _) => kept.map_err(|trouble| AptError::Download {
                        name: named_version(package),
                        trouble,
                    })?,
                }
            }
            bytes_before += part.bytes;
            debs.push(target);
        }
        lock.fill(&folder, |draft| {
            on_event(Event::Unpacking { what: "apt".to_owned() });
            let unpacked = debs.iter().try_for_each(|deb| deb::unpack(deb, draft));
            unpacked.map_err(|error| AptError::List(error.to_string()))
        })?;
        Ok(Programs::Unpacked(folder))
    }

    /// Returns the packages of apt, from the list of Debian 13 or from what was read there before.
    fn parts(&self, root: &Path) -> Result<Vec<Part>, AptError> {
        let list = list_of(root, HOST, config::STABLE);
        let question = Digest::of_json(&(FORMAT, seen::digest(&[&list])?));
        let path = root.join("parts");
        if let Some(parts) = kept::read(&path, question) {
            return Ok(parts);
        }
        let opened = File::open(&list).map_err(StoreError::at(&list))?;
        let parts =
            parts(BufReader::new(opened)).map_err(|error| AptError::List(error.to_string()))?;
        kept::write(&path, question, &parts);
        Ok(parts)
    }

    /// Downloads a file into the store.
    pub(super) fn keep(
        &self,
        url: &str,
        root: &Path,
        target: &Path,
        named: Named,
        on_bytes: &mut dyn FnMut(u64),
    ) -> Result<Result<(), Trouble>, StoreError> {
        let folder = root.join("downloads");
        web::keep(&folder, target, named.sha256, |part| {
            self.client.save(url, part, named, on_bytes)
        })
    }

    /// Returns the address of a file whose address apt printed.
    pub(super) fn real(&self, url: &str) -> Option<String> {
        let Mirror { main, security } = &self.mirror;
        [(MAIN, main), (SECURITY, security)].into_iter().find_map(|(stands_for, archive)| {
            Some(format!("{archive}{}", url.strip_prefix(stands_for)?))
        })
    }
}

/// Prepares downloads without apt.
pub(super) fn client(options: &Options) -> Result<Client, AptError> {
    Client::new(&options.proxies).map_err(AptError::Proxy)
}

/// Returns the error of a package that neither the mirror nor an archive that keeps every version has.
pub(super) fn of_snapshot(package: &Package, archive: &str, trouble: Trouble) -> AptError {
    AptError::Snapshot { name: named_version(package), archive: archive.to_owned(), trouble }
}

/// Returns a package's name with its version, for a message.
pub(super) fn named_version(package: &Package) -> String {
    format!("{} {}", package.name, package.version)
}

/// Reads a line `'URL' FILE BYTES HASH`, and returns the file and the URL.
pub(super) fn printed(line: &str) -> Option<(&str, &str)> {
    let (url, rest) = line.strip_prefix('\'')?.split_once("' ")?;
    Some((rest.split(' ').next()?, url))
}

/// Returns the path that apt gives to a file of a suite.
fn of_suite(root: &Path, suite: &str, file: &str) -> PathBuf {
    let archive = if config::is_security(suite) { SECURITY } else { MAIN };
    let host = archive.trim_start_matches("http://");
    root.join("state/lists").join(format!("{host}_dists_{suite}_{file}"))
}

/// Returns the path of a suite's list of packages for an architecture.
pub(super) fn list_of(root: &Path, of: &Platform, suite: &str) -> PathBuf {
    of_suite(root, suite, &format!("main_binary-{}_Packages", of.debian))
}

fn unpack_list(packed: &Path, path: &Path) -> io::Result<()> {
    let mut reader = unpacked(BufReader::new(preemptlab_files::open(packed)?))?;
    let mut list = preemptlab_files::Replacement::of_file(path)?;
    io::copy(&mut reader, list.file())?;
    list.publish()
}

/// A package of apt's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    package: Package,
    /// Path of the file in the archive.
    path: String,
    bytes: u64,
}

/// Finds the packages of apt in a list: it and all libraries that it depends on. Of alternatives the first
/// that is there is taken. apt answers without its other dependencies, which are for downloads.
fn parts(list: impl BufRead) -> io::Result<Vec<Part>> {
    let mut offered = BTreeMap::new();
    for_each_stanza(list, |stanza| {
        let get = |key: &str| stanza.get(key).map(String::as_str).unwrap_or_default();
        let name = get("Package");
        if name != "apt" && get("Section") != "libs" {
            return;
        }
        let part = package(stanza).zip(get("Size").parse().ok()).map(|(package, bytes)| Part {
            package,
            path: get("Filename").to_owned(),
            bytes,
        });
        let depends = format!("{},{}", get("Pre-Depends"), get("Depends"));
        offered.extend(part.map(|part| (name.to_owned(), (part, depends))));
    })?;
    let mut chosen = BTreeSet::new();
    let mut open = vec!["apt".to_owned()];
    let mut parts = Vec::new();
    while let Some(name) = open.pop() {
        let Some((part, depends)) = offered.get(&name).filter(|_| chosen.insert(name.clone()))
        else {
            continue;
        };
        parts.push(part.clone());
        for alternatives in depends.split(',') {
            let names = alternatives
                .split('|')
                .map(|one| one.trim().split([' ', ':', '(']).next().unwrap_or_default());
            open.extend(
                names.filter(|name| offered.contains_key(*name)).take(1).map(str::to_owned),
            );
        }
    }
    match parts.is_empty() {
        true => Err(io::Error::other("it is not in the list")),
        false => {
            parts.sort_by(|a, b| a.package.name.cmp(&b.package.name));
            Ok(parts)
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
