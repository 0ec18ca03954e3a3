//! Downloads: apt fetches and checks, then every package is checked again and moved into the store.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use preemptlab_model::{Digest, Package};

use super::{
    Apt, AptError, Candidate, Trouble,
    own::{self, Own, named_version, of_snapshot},
    run, snapshot,
    stanza::Architecture,
    wanted::Wanted,
};
use crate::{
    Event, Named, StoreError,
    distribution::web::{Client, keep},
    store::hash::sha256,
};

impl Apt<'_> {
    /// Brings packages into the store, with a result for each.
    pub(super) fn bring(
        &self,
        wanted: &[Candidate],
    ) -> Result<Vec<Result<PathBuf, AptError>>, AptError> {
        let mut missing = Vec::new();
        for candidate in wanted {
            if !self.store.has_package(candidate.package.sha256)? {
                missing.push(candidate);
            }
        }
        let mut failed = match (&self.lists.own, missing.first()) {
            (_, Some(first)) if self.options.offline => {
                let more = match missing.len() {
                    1 => String::new(),
                    all => format!(" and {} more", all - 1),
                };
                let name = named_version(&first.package);
                return Err(AptError::Offline(format!("the package {name}{more}")));
            }
            (Some(own), _) => self.download_without_apt(own, &missing)?,
            (None, _) => self.download_through_apt(&missing)?,
        };

        // The lists may name a file that the mirror has lost.
        let mut not_kept = Vec::new();
        if let Some(archive) = &self.options.snapshot {
            let lost = failed.extract_if(.., |(_, trouble)| *trouble == Trouble::Missing);
            not_kept = self.bring_lost(archive, lost.map(|(candidate, _)| candidate).collect())?;
        }

        let of = |failed: &[(&Candidate, Trouble)], candidate: &Candidate| {
            let failure = failed.iter().find(|(failed, _)| *failed == candidate);
            failure.map(|(_, trouble)| trouble.clone())
        };
        let error = |candidate: &Candidate| {
            let package = &candidate.package;
            let not_kept = of(&not_kept, candidate).zip(self.options.snapshot.as_deref());
            let not_kept =
                not_kept.map(|(trouble, archive)| of_snapshot(package, archive, trouble));
            not_kept.or_else(|| {
                let (trouble, name) = (of(&failed, candidate)?, named_version(package));
                Some(AptError::Download { name, trouble })
            })
        };
        let path = |candidate: &Candidate| self.store.package(candidate.package.sha256);
        Ok(wanted.iter().map(|it| error(it).map_or_else(|| Ok(path(it)), Err)).collect())
    }

    /// Brings packages into the store whose files the mirror has lost, and returns those that the archive does not
    /// give either.
    fn bring_lost<'c>(
        &self,
        archive: &str,
        lost: Vec<&'c Candidate>,
    ) -> Result<Vec<(&'c Candidate, Trouble)>, AptError> {
        let mut failed: Vec<(&Candidate, Trouble)> = Vec::new();
        if lost.is_empty() {
            return Ok(failed);
        }
        let client = own::client(self.options)?;
        for candidate in lost {
            let package = &candidate.package;
            let asked = match failed.last() {
                // Each would wait for it as long as the last one.
                Some((_, away @ Trouble::Unreachable(_))) => Err(away.clone()),
                _ => snapshot::ask(&client, archive, self.of.platform(), package),
            };
            let brought = match asked {
                Ok(files) => self.bring_from((&client, archive), package, &files)?,
                Err(trouble) => Err(trouble),
            };
            failed.extend(brought.err().map(|trouble| (candidate, trouble)));
        }
        Ok(failed)
    }

    fn download_through_apt<'c>(
        &self,
        missing: &[&'c Candidate],
    ) -> Result<Vec<(&'c Candidate, Trouble)>, AptError> {
        // The second download is for packages that came corrupted: proxies and mirrors in flux do
        // that.
        let mut failed = self.download(missing, &[])?;
        let corrupted: Vec<_> = failed
            .extract_if(.., |(_, trouble)| matches!(trouble, Trouble::Corrupted(_)))
            .map(|(candidate, _)| candidate)
            .collect();
        failed.extend(self.download(&corrupted, &["-oAcquire::http::No-Cache=true"])?);
        Ok(failed)
    }

    /// Downloads packages by this program alone, and returns those that did not come.
    fn download_without_apt<'c>(
        &self,
        own: &Own,
        wanted: &[&'c Candidate],
    ) -> Result<Vec<(&'c Candidate, Trouble)>, AptError> {
        let Some(first) = wanted.first() else { return Ok(Vec::new()) };
        let packages: Vec<_> = wanted.iter().map(|it| Wanted::exactly(&it.package)).collect();
        let options = ["download", "--print-uris", "-qq"];
        let output = self.root.run("apt-get", &run::arguments(&options, &packages))?;
        let urls: BTreeMap<_, _> = output.stdout.lines().filter_map(own::printed).collect();
        let mut what = first.package.name.to_string();
        if wanted.len() > 1 {
            what.push_str(&format!(" and {} more", wanted.len() - 1));
        }
        let bytes_total = wanted.iter().map(|candidate| candidate.bytes).sum();
        let mut bytes_before = 0;
        let mut failed = Vec::new();
        for &candidate in wanted {
            let Some(url) = urls.get(candidate.file_name().as_str()).and_then(|it| own.real(it))
            else {
                failed.push((candidate, Trouble::classify(&output.stderr)));
                continue;
            };
            let mut tell = |bytes| {
                let (what, bytes) = (what.clone(), bytes_before + bytes);
                (self.on_event)(Event::Downloading { what, bytes, bytes_total });
            };
            let named = Named { sha256: candidate.package.sha256, bytes: candidate.bytes };
            let target = self.store.package(named.sha256);
            if let Err(trouble) = own.keep(&url, self.root.path, &target, named, &mut tell)? {
                failed.push((candidate, trouble));
            }
            bytes_before += candidate.bytes;
        }
        let folder = self.root.path.join("downloads");
        if failed.is_empty() && folder.exists() {
            // The rest are pieces of interrupted downloads that no download resumed.
            fs::remove_dir_all(&folder).map_err(StoreError::at(&folder))?;
        }
        Ok(failed)
    }

    /// Brings packages here that the mirror does not offer: the store may hold them, or the archive that keeps
    /// every version, which is asked for all of them before the first comes.
    pub(super) fn keep(&self, packages: &[&Package]) -> Result<(), AptError> {
        let mut missing = Vec::new();
        for &package in packages {
            if !self.store.has_package(package.sha256)? {
                missing.push(package);
            }
        }
        let Some(first) = missing.first() else { return Ok(()) };
        if self.options.offline {
            return Err(AptError::Offline(format!("the package {}", named_version(first))));
        }
        let Some(archive) = &self.options.snapshot else {
            let name = Wanted::exactly(first).to_string();
            return Err(AptError::Gone { name, left_out: self.lists.left_out.clone() });
        };
        let client = own::client(self.options)?;
        let ask = |package| {
            let asked = snapshot::ask(&client, archive, self.of.platform(), package);
            asked.map_err(|trouble| of_snapshot(package, archive, trouble))
        };
        let files = missing.iter().copied().map(ask).collect::<Result<Vec<_>, _>>()?;
        for (package, files) in missing.into_iter().zip(files) {
            self.bring_from((&client, archive), package, &files)?
                .map_err(|trouble| of_snapshot(package, archive, trouble))?;
        }
        Ok(())
    }

    /// Returns a package that the store holds.
    pub(super) fn kept(&self, package: &Package) -> Candidate {
        let metadata = fs::metadata(self.store.package(package.sha256));
        Candidate {
            package: package.clone(),
            // Only a download would need it.
            architecture: Architecture::Of(self.of),
            bytes: metadata.map_or(0, |metadata| metadata.len()),
        }
    }

    /// Brings exactly this package into the store, which is one of these files of an archive.
    fn bring_from(
        &self,
        (client, archive): (&Client, &str),
        package: &Package,
        files: &[(String, u64)],
    ) -> Result<Result<(), Trouble>, StoreError> {
        let mut tell = |bytes, bytes_total| {
            let what = package.name.to_string();
            (self.on_event)(Event::Downloading { what, bytes, bytes_total });
        };
        let target = self.store.package(package.sha256);
        let wanted = (package, files);
        let bring = |part: &Path| snapshot::bring(client, archive, wanted, part, &mut tell);
        keep(&self.root.path.join("downloads"), &target, package.sha256, bring)
    }

    /// Downloads packages in one run of apt, and returns those that did not come.
    fn download<'c>(
        &self,
        wanted: &[&'c Candidate],
        options: &[&str],
    ) -> Result<Vec<(&'c Candidate, Trouble)>, AptError> {
        let Some(first) = wanted.first() else { return Ok(Vec::new()) };
        let folder = self.root.path.join("downloads");
        fs::create_dir_all(&folder).map_err(StoreError::at(&folder))?;
        let mut what = first.package.name.to_string();
        if wanted.len() > 1 {
            what.push_str(&format!(" and {} more", wanted.len() - 1));
        }
        let bytes_total = wanted.iter().map(|candidate| candidate.bytes).sum();
        let options = [&["download", "-q", "-oAPT::Status-Fd=1"], options].concat();
        let packages: Vec<Wanted> = wanted.iter().map(|c| Wanted::exactly(&c.package)).collect();
        let arguments = run::arguments(&options, &packages);
        let (_, stderr) = self.root.run_in(&folder, "apt-get", &arguments, |line| {
            if let Some(percent) = percent(line) {
                let bytes = (bytes_total as f64 * percent / 100.0) as u64;
                (self.on_event)(Event::Downloading { what: what.clone(), bytes, bytes_total });
            }
        })?;

        let mut failed = Vec::new();
        for &candidate in wanted {
            let path = folder.join(candidate.file_name());
            let trouble = match self.take_in(candidate, &path)? {
                Arrival::Here => continue,
                Arrival::Missing => trouble_of(candidate, &stderr),
                Arrival::Corrupted(found) => Trouble::Corrupted(format!(
                    "its SHA-256 starts with {}, not {}",
                    found.short(),
                    candidate.package.sha256.short()
                )),
            };
            failed.push((candidate, trouble));
        }
        if failed.is_empty() {
            // The rest are pieces of interrupted downloads that no download resumed.
            fs::remove_dir_all(&folder).map_err(StoreError::at(&folder))?;
        }
        Ok(failed)
    }

    /// Checks a downloaded package and moves it into the store.
    fn take_in(&self, candidate: &Candidate, path: &Path) -> Result<Arrival, StoreError> {
        match sha256(path) {
            Ok(digest) if digest == candidate.package.sha256 => {
                let target = self.store.package(digest);
                File::open(path)
                    .and_then(|file| file.sync_all())
                    .and_then(|()| fs::rename(path, &target))
                    .map_err(StoreError::at(&target))?;
                Ok(Arrival::Here)
            }
            Ok(digest) => {
                fs::remove_file(path).map_err(StoreError::at(path))?;
                Ok(Arrival::Corrupted(digest))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Arrival::Missing),
            Err(error) => Err(StoreError::new(path, error)),
        }
    }
}

/// Result of downloading a package.
enum Arrival {
    /// The package is in the store.
    Here,
    /// The package was not downloaded.
    Missing,
    /// The package has another hash.
    Corrupted(Digest),
}

/// Returns the progress in a line `dlstatus:ITEM:PERCENT:TEXT` (apt's doc/progress-reporting.md).
pub(super) fn percent(line: &str) -> Option<f64> {
    line.strip_prefix("dlstatus:")?.split(':').nth(1)?.parse().ok()
}

/// Returns apt's complaint about one package: the line that names its file, with the lines that
/// continue it; or else apt's first error.
pub(super) fn trouble_of(candidate: &Candidate, stderr: &str) -> Trouble {
    let name = candidate.package.name.replace('+', "%2b").replace('~', "%7e");
    let named = format!("/{name}_");
    let mut lines = stderr.lines();
    let Some(line) = lines.find(|line| line.to_lowercase().contains(&named)) else {
        let is_error = |line: &&str| line.starts_with('E') && !line.contains("/pool/");
        let error = stderr.lines().find(is_error);
        return Trouble::classify(error.unwrap_or_default());
    };
    // `E: Failed to fetch URL  REASON`
    let mut complaint = line.split_whitespace().skip(5).collect::<Vec<_>>().join(" ");
    for more in lines.take_while(|line| line.starts_with(' ')) {
        complaint.push('\n');
        complaint.push_str(more);
    }
    Trouble::classify(&complaint)
}

#[cfg(test)]
mod tests {
    use preemptlab_model::Arch;

    use super::*;

    fn candidate(name: &str) -> Candidate {
        let package = Package {
            name: name.parse().unwrap(),
            version: "1".parse().unwrap(),
            sha256: Digest::of(b""),
        };
        Candidate { package, architecture: Architecture::Of(Arch::HOST), bytes: 1 }
    }

    #[test]
    fn each_package_gets_its_own_trouble() {
        let stderr = "E: Failed to fetch http://m.invalid/pool/aa%2bb_1_amd64.deb  404  Not Found [IP: 1]\n\
            E: Failed to fetch http://m.invalid/pool/cc_1_amd64.deb  Hash Sum mismatch\n   \
            Hashes of expected file:\n\
            E: Some files failed to download\n";
        assert_eq!(trouble_of(&candidate("aa+b"), stderr), Trouble::Missing);
        let corrupted = trouble_of(&candidate("cc"), stderr);
        assert_eq!(corrupted, Trouble::Corrupted("Hash Sum mismatch".into()));
        assert!(matches!(trouble_of(&candidate("dd"), stderr), Trouble::Other(_)));
        let full = "W: odd\nE: You don't have enough free space in /x/.";
        assert_eq!(trouble_of(&candidate("dd"), full), Trouble::DiskFull);
    }

    #[test]
    fn progress_is_read() {
        assert_eq!(percent("dlstatus:1:26.6276:Retrieving file 1 of 1"), Some(26.6276));
        assert_eq!(percent("Get:1 http://m.invalid/ x [108 MB]"), None);
    }
}
