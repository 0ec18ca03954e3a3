//! A suite of an archive in Debian's format, as it is on a mirror: its signed release file and its lists.

use std::{
    path::Path,
    time::{Duration, SystemTime},
};

use crate::{Keys, Release, Trouble, distribution::web::Client, signed_text};

/// The largest `InRelease` file, in bytes.
const RELEASE_BYTES_MAX: u64 = 1 << 20;

/// The time by which a clock may be slow.
const SLOW_MAX: Duration = Duration::from_secs(10 * 60);

/// A suite on a mirror.
pub(crate) struct Suite<'a> {
    client: &'a Client,
    name: &'a str,
    url: String,
}

impl<'a> Suite<'a> {
    /// Names a suite of the archive at an address.
    pub(crate) fn new(client: &'a Client, archive: &str, name: &'a str) -> Self {
        Self { client, name, url: format!("{archive}/dists/{name}") }
    }

    /// Downloads the release file, which one of the keys signed for this suite and which is of this time.
    pub(crate) fn release(
        &self,
        keys: &Keys,
        allow_expired: bool,
        now: SystemTime,
    ) -> Result<(Vec<u8>, Release), Trouble> {
        let in_release = self.client.get(&format!("{}/InRelease", self.url), RELEASE_BYTES_MAX)?;
        let signed = signed_text(&in_release, keys)
            .map_err(|error| Trouble::Signature(error.to_string()))?;
        let release =
            Release::parse(&signed.text).map_err(|error| Trouble::Signature(error.to_string()))?;
        if self.name != release.suite && self.name != release.codename {
            let text = format!("it is the release file of {}", release.codename);
            return Err(Trouble::Signature(text));
        }
        if release.date > now + SLOW_MAX {
            return Err(Trouble::NotYetValid);
        }
        match release.valid_until.and_then(|until| now.duration_since(until).ok()) {
            Some(late) if !allow_expired => {
                let hours = late.as_secs() / 3600;
                Err(Trouble::Expired { since: format!("{}d {}h", hours / 24, hours % 24) })
            }
            _ => Ok((in_release, release)),
        }
    }

    /// Downloads a list that the release names, as `main/binary-amd64/Packages.xz`, to a path.
    pub(crate) fn list(&self, release: &Release, path: &str, part: &Path) -> Result<(), Trouble> {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let named = release.file(path).ok_or_else(|| {
            let arch = folder.rsplit_once("binary-").map_or("", |(_, arch)| arch);
            Trouble::Other(format!("its release file names no list for {arch}"))
        })?;
        let by_hash = format!("{}/{folder}/by-hash/SHA256/{}", self.url, named.sha256);
        let by_name = format!("{}/{path}", self.url);
        let urls = [release.by_hash.then_some(by_hash), Some(by_name)];
        let mut done = Err(Trouble::Missing);
        for url in urls.into_iter().flatten() {
            done = self.client.save(&url, part, named, &mut |_| ());
            if done != Err(Trouble::Missing) {
                break;
            }
        }
        done.map_err(|trouble| match trouble {
            Trouble::Missing => Trouble::Corrupted(
                "it lacks the list that its release file names, so it is being updated".to_owned(),
            ),
            other => other,
        })
    }
}
