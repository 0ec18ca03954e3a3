//! Ubuntu's kernels, from the lists of an archive in Debian's format, which Ubuntu signs.

use std::{
    io::{self, BufReader, Read},
    path::Path,
    time::SystemTime,
};

use flate2::read::GzDecoder;
use preemptlab_model::{Digest, Distro, Platform};

use super::{
    archive::{
        error::ArchiveError,
        listed::{Found, Listed, Lists, Packages, below, build_of},
        other::Other,
    },
    debian::{
        mirror::sound,
        release::{LIST_BYTES_MAX, for_each_stanza, package, unpacked},
        suite::Suite,
    },
    web::Client,
};
use crate::{Keys, Trouble, UbuntuArchive};

/// The certificate that signs Ubuntu's archive (`keys/README.md`).
pub(super) const KEYS: &[u8] = include_bytes!("keys/ubuntu-archive.pgp");

/// The suites of the archive where a person names none: those of the release 24.04.
const SUITES: [&str; 2] = ["noble", "noble-updates"];

/// The packages of a kernel, each before its release.
const IMAGE: &str = "linux-image-";
const UNSIGNED: &str = "linux-image-unsigned-";
const MODULES: &str = "linux-modules-";
const EXTRA: &str = "linux-modules-extra-";
const HEADERS: &str = "linux-headers-";

/// Ubuntu's archive on a mirror.
pub(super) struct Ubuntu {
    mirror: String,
    suites: Vec<String>,
    keys: Keys,
    keys_digest: Digest,
    guest: &'static Platform,
    allow_expired: bool,
}

impl Ubuntu {
    /// Names the archive of a mirror that a person gave.
    pub(super) fn new(
        given: &UbuntuArchive,
        (keys, keys_digest): (Keys, Digest),
        guest: &'static Platform,
        allow_expired: bool,
    ) -> Result<Self, ArchiveError> {
        let text = given.mirror.as_deref().ok_or(ArchiveError::NoMirror(Other::Ubuntu))?;
        let mirror = sound(text)
            .ok_or_else(|| ArchiveError::Url { of: Other::Ubuntu, text: text.to_owned() })?;
        let suites = match given.suites.as_slice() {
            [] => SUITES.map(str::to_owned).to_vec(),
            suites => suites.to_vec(),
        };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-".contains(c);
        let is_suite = |suite: &str| {
            suite.starts_with(|c: char| c.is_ascii_lowercase()) && suite.chars().all(is_plain)
        };
        match suites.iter().find(|suite| !is_suite(suite)) {
            Some(other) => Err(ArchiveError::Suite(other.escape_debug().to_string())),
            None => Ok(Self { mirror, suites, keys, keys_digest, guest, allow_expired }),
        }
    }
}

impl Lists for Ubuntu {
    fn names(&self) -> &[String] {
        &self.suites
    }

    fn inputs(&self) -> Digest {
        let Self { mirror, keys_digest, guest, allow_expired, .. } = self;
        Digest::of_json(&("ubuntu", mirror, keys_digest, guest.debian, allow_expired))
    }

    fn read(&self, client: &Client, name: &str, part: &Path) -> Result<Vec<Listed>, Trouble> {
        let suite = Suite::new(client, &self.mirror, name);
        let (_, release) = suite.release(&self.keys, self.allow_expired, SystemTime::now())?;
        let path = |ending| format!("main/binary-{}/Packages.{ending}", self.guest.debian);
        let (xz, gz) = (path("xz"), path("gz"));
        let is_gz = release.file(&xz).is_none() && release.file(&gz).is_some();
        suite.list(&release, if is_gz { &gz } else { &xz }, part)?;
        let mut listed = Vec::new();
        let mut read = || -> io::Result<()> {
            let file = BufReader::new(preemptlab_files::open(part)?);
            let list: Box<dyn Read> = match is_gz {
                true => Box::new(GzDecoder::new(file).take(LIST_BYTES_MAX + 1)),
                false => Box::new(unpacked(file)?),
            };
            for_each_stanza(BufReader::new(list), |stanza| {
                let get = |key: &str| stanza.get(key).map(String::as_str).unwrap_or_default();
                let is_kernels =
                    [IMAGE, MODULES, HEADERS].iter().any(|start| get("Package").starts_with(start));
                if !is_kernels || get("Architecture") != self.guest.debian {
                    return;
                }
                let file = below(&self.mirror, get("Filename"));
                if let (Some(package), Some(url), Ok(bytes)) =
                    (package(stanza), file, get("Size").parse())
                {
                    listed.push(Listed { package, url, bytes });
                }
            })
        };
        read().map_err(|error| Trouble::Other(format!("it cannot be read ({error})")))?;
        Ok(listed)
    }

    fn kernels(&self, packages: &Packages<'_>) -> Vec<Found> {
        let releases = packages
            .names()
            .filter_map(|name| name.strip_prefix(UNSIGNED).or_else(|| name.strip_prefix(IMAGE)));
        let mut found: Vec<Found> = Vec::new();
        for release in releases {
            if found.iter().any(|known| known.build.release == release) {
                continue;
            }
            let get = |kind: &str| packages.newest(&format!("{kind}{release}")).cloned();
            // The signed image is the unsigned one with a signature for the firmware at its end.
            let image = get(IMAGE).or_else(|| get(UNSIGNED));
            if let (Some(build), Some(image)) = (build_of(Distro::Ubuntu, release), image) {
                let modules = [MODULES, EXTRA].into_iter().filter_map(get);
                let packages = [image].into_iter().chain(modules).collect();
                found.push(Found { build, packages, config: get(HEADERS) });
            }
        }
        found
    }

    /// The signed lists vouch for the packages by their hashes.
    fn vouch(&self, _: &Path, _: &Listed) -> Result<(), Trouble> {
        Ok(())
    }
}
