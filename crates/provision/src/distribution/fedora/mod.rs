//! Fedora's kernels, from repositories of rpms. Nobody signs the lists of a repository, so each package must be
//! signed itself: they only say where a package is.

mod repodata;

use std::{
    fs::File,
    io::{self, BufReader, Read},
    path::Path,
};

use flate2::read::GzDecoder;
use preemptlab_model::{Digest, Distro, Package, Platform};

pub(crate) use self::repodata::read_in_every_way;
use self::repodata::{Rpm, for_each_package, primary};
use super::{
    archive::{
        error::ArchiveError,
        listed::{Found, Listed, Lists, Packages, below, build_of},
        other::Other,
    },
    debian::{mirror::sound, release::unpacked, signature::check_signed},
    web::Client,
};
use crate::{
    Keys, PackageFault, Trouble,
    package::{Vouched, in_debian_s_words},
};

/// The certificates that sign Fedora's packages (`keys/README.md`).
pub(super) const KEYS: &[u8] = include_bytes!("keys/fedora.pgp");

/// The largest `repomd.xml`, in bytes. Fedora's have some 10,000.
const REPOMD_BYTES_MAX: u64 = 1 << 20;

/// The largest compressed list of packages, in bytes. Fedora's largest have some 20 MB.
const LIST_BYTES_MAX: u64 = 512 << 20;

/// The largest package, in bytes. Nobody signed the size that a list names.
const PACKAGE_BYTES_MAX: u64 = 1 << 30;

/// The most packages of kernels in a list. Fedora's have three of each kernel, and few kernels.
const LISTED_MAX: usize = 3_000;

/// The packages of a kernel.
const IMAGE: &str = "kernel-core";
const MODULES: [&str; 2] = ["kernel-modules-core", "kernel-modules"];

/// Fedora's repositories.
pub(super) struct Fedora {
    repositories: Vec<String>,
    keys: Keys,
    keys_digest: Digest,
    guest: &'static Platform,
}

impl Fedora {
    /// Names the repositories that a person gave.
    pub(super) fn new(
        repositories: &[String],
        (keys, keys_digest): (Keys, Digest),
        guest: &'static Platform,
    ) -> Result<Self, ArchiveError> {
        if repositories.is_empty() {
            return Err(ArchiveError::NoMirror(Other::Fedora));
        }
        let checked = |text: &String| {
            sound(text).ok_or_else(|| ArchiveError::Url { of: Other::Fedora, text: text.clone() })
        };
        let repositories = repositories.iter().map(checked).collect::<Result<_, _>>()?;
        Ok(Self { repositories, keys, keys_digest, guest })
    }

    /// Returns the package that a list names, if it is one of a kernel for the guest.
    fn listed(&self, repository: &str, rpm: &Rpm) -> Option<Listed> {
        let is_kernels = rpm.name == IMAGE || MODULES.contains(&rpm.name.as_str());
        if !is_kernels || rpm.arch != self.guest.rpm {
            return None;
        }
        let (name, version) = in_debian_s_words(&rpm.name, &rpm.version());
        let (name, version) = (name.parse().ok()?, version.parse().ok()?);
        let package = Package { name, version, sha256: rpm.sha256? };
        let bytes = rpm.bytes.filter(|bytes| *bytes <= PACKAGE_BYTES_MAX)?;
        Some(Listed { package, url: below(repository, &rpm.path)?, bytes })
    }

    fn read_list(&self, repository: &str, part: &Path, path: &str) -> io::Result<Vec<Listed>> {
        let file = BufReader::new(preemptlab_files::open(part)?);
        let list: Box<dyn Read> = match path.rsplit('.').next() {
            Some("zst") => Box::new(zstd::stream::read::Decoder::with_buffer(file)?),
            Some("gz") => Box::new(GzDecoder::new(file)),
            Some("xz") => Box::new(unpacked(file)?),
            Some("xml") => Box::new(file),
            _ => {
                let reason =
                    format!("`{path}` is compressed in another way than zstd, gzip and xz");
                return Err(io::Error::other(reason));
            }
        };
        let mut listed = Vec::new();
        for_each_package(list, |rpm| {
            if listed.len() <= LISTED_MAX {
                listed.extend(self.listed(repository, rpm));
            }
        })?;
        match listed.len() > LISTED_MAX {
            true => Err(io::Error::other("it names more kernels than a distribution has")),
            false => Ok(listed),
        }
    }

    /// Returns the kernel whose image is in a package.
    fn kernel(&self, image: &Listed, packages: &Packages<'_>) -> Option<Found> {
        let version = image.package.version.as_str();
        let release = version.split_once(':').map_or(version, |(_, version)| version);
        let build = build_of(Distro::Fedora, &format!("{release}.{}", self.guest.rpm))?;
        let of_version = |name: &&str| {
            packages.versions(name).find(|it| it.package.version == image.package.version)
        };
        let modules = MODULES.iter().filter_map(of_version);
        let packages = [image].into_iter().chain(modules).cloned().collect();
        Some(Found { build, packages, config: Some(image.clone()) })
    }
}

impl Lists for Fedora {
    fn names(&self) -> &[String] {
        &self.repositories
    }

    fn inputs(&self) -> Digest {
        Digest::of_json(&("fedora", self.guest.rpm, self.keys_digest))
    }

    fn read(&self, client: &Client, name: &str, part: &Path) -> Result<Vec<Listed>, Trouble> {
        let unreadable = |error: io::Error| Trouble::Other(format!("it cannot be read ({error})"));
        let repomd = client.get(&format!("{name}/repodata/repomd.xml"), REPOMD_BYTES_MAX)?;
        let (path, named) = primary(&repomd).map_err(unreadable)?;
        let url = below(name, &path).filter(|_| named.bytes <= LIST_BYTES_MAX);
        let url = url.ok_or_else(|| {
            Trouble::Other("its repomd.xml names no list of packages that can be used".to_owned())
        })?;
        client.save(&url, part, named, &mut |_| ())?;
        self.read_list(name, part, &path).map_err(unreadable)
    }

    fn kernels(&self, packages: &Packages<'_>) -> Vec<Found> {
        packages.versions(IMAGE).filter_map(|image| self.kernel(image, packages)).collect()
    }

    /// Checks that a key of Fedora's signed the package, and that it is the one which the list names.
    fn vouch(&self, file: &Path, listed: &Listed) -> Result<(), Trouble> {
        let damaged = |fault: PackageFault| Trouble::Corrupted(format!("it {fault}"));
        let unreadable = |error: io::Error| Trouble::Other(error.to_string());
        let mut file: File = preemptlab_files::open(file).map_err(unreadable)?;
        let rpm = Vouched::read(&mut file).map_err(damaged)?;
        check_signed(&rpm.header, &rpm.signatures, &self.keys)
            .map_err(|error| Trouble::Signature(error.to_string()))?;
        // From here on the header is Fedora's, and it has the hash of the rest.
        if Digest::of_reader(&file).map_err(unreadable)? != rpm.payload_sha256 {
            let text = "its signed header names another SHA-256 of its content";
            return Err(Trouble::Signature(text.to_owned()));
        }
        let package = rpm.facts.package(listed.package.sha256).map_err(damaged)?;
        match package == listed.package && rpm.facts.arch == self.guest.rpm {
            true => Ok(()),
            false => Err(Trouble::Other(format!(
                "it is {} {} for {}, and not what the list names",
                package.name, package.version, rpm.facts.arch
            ))),
        }
    }
}
