//! Signed lists of packages as files: those that apt keeps, and those in a capsule.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use preemptlab_model::Package;

use super::{
    release::{Index, list_path},
    signature::Keys,
};
use crate::platform::HOST;

/// The largest list that is read, in bytes. Debian's longest has 57 MB.
const LIST_BYTES_MAX: u64 = 512 << 20;

/// The largest `InRelease` that is read, in bytes.
const RELEASE_BYTES_MAX: u64 = 1 << 20;

/// A list of packages, and the signed release that names its hash.
#[derive(Debug)]
pub(crate) struct SignedList {
    pub(crate) in_release: Vec<u8>,
    pub(crate) packages: Vec<u8>,
}

/// Returns the lists of apt's private root that name packages: as few as name all that any of them names.
pub(crate) fn naming(root: &Path, packages: &[Package]) -> io::Result<Vec<SignedList>> {
    const RELEASE: &str = "_InRelease";
    let folder = root.join("state/lists");
    let entries = match fs::read_dir(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let names: BTreeSet<String> = names.collect::<io::Result<_>>()?;
    let list = list_path(HOST).trim_end_matches(".xz").replace('/', "_");
    let mut wanted: BTreeSet<String> =
        packages.iter().map(|package| package.sha256.to_string()).collect();
    let mut lists = Vec::new();
    for name in &names {
        let Some(release) = name.strip_suffix(RELEASE) else { continue };
        let list: PathBuf = folder.join(format!("{release}_{list}"));
        if !list.exists() {
            continue;
        }
        let packages = preemptlab_files::read(&list, LIST_BYTES_MAX)?;
        let before = wanted.len();
        for line in packages.split(|byte| *byte == b'\n') {
            let Some(hash) = line.strip_prefix(b"SHA256: ") else { continue };
            wanted.remove(String::from_utf8_lossy(hash).as_ref());
        }
        if wanted.len() < before {
            let in_release = preemptlab_files::read(&folder.join(name), RELEASE_BYTES_MAX)?;
            lists.push(SignedList { in_release, packages });
        }
    }
    Ok(lists)
}

/// The packages that no list has named yet, list by list. Neither the age of a list nor the present time matters:
/// Debian signed it once.
pub(crate) struct Vouching<'a> {
    left: Vec<&'a Package>,
    releases: Vec<String>,
    keys: Keys,
}

impl<'a> Vouching<'a> {
    /// Begins with no list.
    pub(crate) fn new(packages: &'a [Package]) -> Result<Self, String> {
        let keys = Keys::debian().map_err(|error| error.to_string())?;
        Ok(Self { left: packages.iter().collect(), releases: Vec::new(), keys })
    }

    /// Takes a list, or says why nobody vouches for it.
    pub(crate) fn add(&mut self, list: &SignedList) -> Result<(), String> {
        let index = Index::signed_unpacked(&list.in_release, &list.packages, &self.keys);
        let index = index.map_err(|error| error.to_string())?;
        self.left.retain(|package| !index.holds(package));
        self.releases.push(index.release.codename);
        Ok(())
    }

    /// Returns the codenames of the releases whose lists name all of the packages, or says what is missing.
    pub(crate) fn releases(self) -> Result<Vec<String>, String> {
        match (self.left.first(), self.releases.is_empty()) {
            (None, false) => Ok(self.releases),
            (None, true) => Err("no list of packages is there that Debian signed".to_owned()),
            (Some(Package { name, version, .. }), _) => Err(format!(
                "no list that Debian signed names the package {name} {version} with its hash"
            )),
        }
    }
}

/// Returns the codenames of the releases whose lists name all of these packages, or says what is missing.
pub(crate) fn vouching(lists: &[SignedList], packages: &[Package]) -> Result<Vec<String>, String> {
    let mut vouching = Vouching::new(packages)?;
    lists.iter().try_for_each(|list| vouching.add(list))?;
    vouching.releases()
}

#[cfg(test)]
mod tests {
    use preemptlab_model::Digest;

    use super::*;
    use crate::distribution::debian::signature::tests::{
        ARCHIVE, IN_2026, STRANGER, keyring, sign,
    };

    fn package(name: &str) -> Package {
        let sha256 = Digest::of(name.as_bytes());
        Package { name: name.parse().unwrap(), version: "1".parse().unwrap(), sha256 }
    }

    /// Makes the signed list of a release with these packages.
    fn list(key: &str, codename: &str, names: &[&str]) -> SignedList {
        let stanza = |name: &&str| {
            format!("Package: {name}\nVersion: 1\nSHA256: {}\n\n", package(name).sha256)
        };
        let packages: String = names.iter().map(stanza).collect();
        let release = format!(
            "Suite: stable\nCodename: {codename}\nDate: Thu, 01 Jan 2026 00:00:00 UTC\nSHA256:\n {} {} {}\n",
            Digest::of(packages.as_bytes()),
            packages.len(),
            list_path(HOST).trim_end_matches(".xz")
        );
        let in_release = sign(&release, &[(key, IN_2026)]);
        SignedList { in_release, packages: packages.into_bytes() }
    }

    #[test]
    fn only_signed_lists_vouch_and_only_for_what_they_name() {
        let by_archive = |lists: &[SignedList], packages: &[Package]| {
            let keys = Keys::read(&keyring(ARCHIVE)).unwrap();
            let mut vouching = Vouching { keys, ..Vouching::new(packages).unwrap() };
            lists.iter().try_for_each(|list| vouching.add(list))?;
            vouching.releases()
        };
        let lists =
            || vec![list(ARCHIVE, "one", &["qemu", "libc6"]), list(ARCHIVE, "two", &["zlib1g"])];
        let wanted = ["qemu", "zlib1g"].map(package);
        assert_eq!(by_archive(&lists(), &wanted).unwrap(), ["one", "two"]);
        let said = by_archive(&lists(), &["qemu", "evil"].map(package)).unwrap_err();
        assert!(said.contains("names the package evil 1"), "{said}");
        assert!(by_archive(&[], &wanted).unwrap_err().contains("the package qemu 1"));
        assert!(by_archive(&[], &[]).is_err());
        let mut changed = lists();
        changed[0].packages.push(b'\n');
        let said = by_archive(&changed, &wanted).unwrap_err();
        assert!(said.contains("not the one that the release file"), "{said}");
        let foreign = [list(STRANGER, "one", &["qemu", "zlib1g"])];
        assert!(by_archive(&foreign, &wanted).unwrap_err().contains("no accepted key"));
        // Debian's own keys signed none of these.
        assert!(vouching(&lists(), &wanted).is_err());
    }

    #[test]
    fn as_few_lists_are_taken_as_name_the_packages() {
        let root = tempfile::tempdir().unwrap();
        assert!(naming(root.path(), &[package("qemu")]).unwrap().is_empty());
        let folder = root.path().join("state/lists");
        fs::create_dir_all(&folder).unwrap();
        let suffix = list_path(HOST).trim_end_matches(".xz").replace('/', "_");
        for (name, names) in
            [("a", &["other"][..]), ("b", &["qemu", "libc6"]), ("c", &["qemu"]), ("d", &["zlib1g"])]
        {
            let list = list(ARCHIVE, name, names);
            fs::write(folder.join(format!("{name}_InRelease")), list.in_release).unwrap();
            fs::write(folder.join(format!("{name}_{suffix}")), list.packages).unwrap();
        }
        fs::write(folder.join("e_InRelease"), "a release without a list").unwrap();
        let wanted = ["qemu", "zlib1g", "unlisted"].map(package);
        let lists = naming(root.path(), &wanted).unwrap();
        let has = |list: &SignedList, text: &str| {
            String::from_utf8_lossy(&list.in_release).contains(&format!("Codename: {text}"))
        };
        assert!(lists.len() == 2 && has(&lists[0], "b") && has(&lists[1], "d"));
    }
}
