//! Packages through apt, in a private root: its own configuration, lists, status and cache.

mod answers;
mod config;
mod error;
mod every;
mod fetch;
mod lists;
mod machine;
mod own;
mod run;
mod snapshot;
mod stanza;
#[cfg(test)]
mod tests;
mod wanted;

use std::path::PathBuf;

use preemptlab_model::{Arch, Package, PackageName, Platform};

pub(crate) use self::error::LeftOutNote;
pub(crate) use self::every::read_in_every_way;
pub(crate) use self::lists::Lists;
#[cfg(test)]
pub(crate) use self::stanza::Architecture;
use self::{
    answers::{Answers, is_unknown},
    run::Root,
    stanza::{Stanza, stanzas},
    wanted::Wanted,
};
pub use self::{
    error::{AptError, LeftOut, Trouble},
    stanza::Candidate,
};
use super::names;
use crate::{
    Event, Options, PackageError, Store, StoreLock,
    distribution::{Build, BuildPackages, Distribution, Kernels},
};

/// The beginning of the names of kernels' packages.
const KERNELS: &str = "linux-";

/// The private apt root, locked and with its lists ready.
pub(crate) struct Apt<'a> {
    store: &'a Store,
    root: Root<'a>,
    answers: Answers<'a>,
    lists: &'a Lists,
    /// The architecture of the packages.
    of: Arch,
    guest: &'static Platform,
    options: &'a Options,
    on_event: &'a dyn Fn(Event),
}

impl<'a> Apt<'a> {
    /// Creates the interface to the packages of an architecture. `path` is the store's apt root for it.
    pub(crate) fn new(
        store: &'a Store,
        (path, lock): (&'a std::path::Path, &'a StoreLock),
        lists: &'a Lists,
        (of, guest): (Arch, &'static Platform),
        options: &'a Options,
        on_event: &'a dyn Fn(Event),
    ) -> Self {
        let root = Root { path, lock, programs: &lists.programs };
        let answers = Answers::new(root);
        Self { store, root, answers, lists, of, guest, options, on_event }
    }

    fn show_all(&self, wanted: &[Wanted]) -> Result<Vec<Candidate>, AptError> {
        let found = self.find_all(wanted)?.into_iter().zip(wanted);
        found.map(|(found, wanted)| found.ok_or_else(|| self.missing(wanted))).collect()
    }

    fn find_all(&self, wanted: &[Wanted]) -> Result<Vec<Option<Candidate>>, AptError> {
        let mut arguments = vec!["show"];
        // Preferring a version takes apt some time, which one version does not need.
        if wanted.iter().any(|wanted| wanted.version.is_none()) {
            arguments.push("--no-all-versions");
        }
        let output = self.answers.ask("apt-cache", &run::arguments(&arguments, wanted))?;
        if !output.success && !is_unknown(&output) {
            return Err(failed("apt-cache", &output.stderr));
        }
        let shown: Vec<_> =
            stanzas(&output.stdout).filter_map(|s| Candidate::from_stanza(&s)).collect();
        let found = wanted
            .iter()
            .map(|wanted| shown.iter().find(|candidate| wanted.is(&candidate.package)).cloned());
        Ok(found.collect())
    }

    /// Returns a dpkg status in which these packages are installed. One that no suite has, as a library of another
    /// architecture, is left out: nothing depends on it.
    fn installed(&self, assumed: &[Wanted]) -> Result<String, AptError> {
        let arguments = run::arguments(&["show", "--no-all-versions"], assumed);
        let output = self.answers.ask("apt-cache", &arguments)?;
        let found: Vec<_> = stanzas(&output.stdout).collect();
        let mut status = String::new();
        for wanted in assumed {
            let is_it = |stanza: &&Stanza<'_>| {
                stanza.get("Package").is_some_and(|name| wanted.name == *name)
            };
            let Some(stanza) = found.iter().find(is_it) else { continue };
            // On hold, or apt would install the very same version where a package depends on exactly
            // that.
            status.push_str("Status: hold ok installed\n");
            for key in ["Package", "Version", "Architecture", "Multi-Arch", "Provides"] {
                if let Some(value) = stanza.get(key) {
                    status.push_str(&format!("{key}: {value}\n"));
                }
            }
            status.push('\n');
        }
        Ok(status)
    }

    fn missing(&self, wanted: &Wanted) -> AptError {
        self.unknown(&wanted.to_string())
    }

    fn unresolved(&self, wanted: &[Wanted], stderr: &str) -> AptError {
        let is_unknown = |wanted: &&Wanted| {
            let name = &wanted.name;
            stderr.contains(&format!("Unable to locate package {name}"))
                || stderr.contains(&format!("Package '{name}' has no installation candidate"))
        };
        match wanted.iter().find(is_unknown) {
            Some(wanted) => self.missing(wanted),
            None if Trouble::classify(stderr) == Trouble::DiskFull => failed("apt-get", stderr),
            None => AptError::Unsatisfiable {
                names: wanted.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
                reason: stderr.trim().to_owned(),
                left_out: self.left_out().to_vec(),
            },
        }
    }
}

impl Kernels for Apt<'_> {
    fn builds(&self) -> Result<Vec<Build>, PackageError> {
        let names = self.names(KERNELS)?;
        Ok(names::builds(names.iter().map(|name| name.as_str()), self.guest))
    }

    fn left_out(&self) -> &[LeftOut] {
        &self.lists.left_out
    }
}

impl Distribution for Apt<'_> {
    fn guest(&self) -> &'static Platform {
        self.guest
    }

    fn packages_of(&self, builds: &[&Build]) -> Result<Vec<BuildPackages>, AptError> {
        let names = self.names(KERNELS)?;
        let names = || names.iter().map(|name| name.as_str());
        Ok(builds.iter().map(|build| names::packages_of(build, names())).collect())
    }

    fn names(&self, prefix: &'static str) -> Result<Vec<PackageName>, AptError> {
        let output = self.answers.ask("apt-cache", &["pkgnames", prefix])?;
        if !output.success {
            return Err(failed("apt-cache", &output.stderr));
        }
        Ok(output.stdout.lines().filter_map(|name| name.parse().ok()).collect())
    }

    fn find(&self, names: &[&str]) -> Result<Vec<Option<Candidate>>, AptError> {
        self.find_all(&Wanted::all(names)?)
    }

    fn versions(&self, name: &str) -> Result<Vec<Candidate>, AptError> {
        let wanted = Wanted::all(&[name])?;
        let output = self.answers.ask("apt-cache", &run::arguments(&["show"], &wanted))?;
        let mut found: Vec<_> =
            stanzas(&output.stdout).filter_map(|s| Candidate::from_stanza(&s)).collect();
        // apt takes an unknown name for a pattern.
        found.retain(|candidate| wanted.iter().all(|wanted| wanted.is(&candidate.package)));
        found.sort_by(|a, b| b.package.version.order(&a.package.version));
        Ok(found)
    }

    fn exact(&self, packages: &[Package]) -> Result<Vec<Candidate>, AptError> {
        let wanted: Vec<Wanted> = packages.iter().map(Wanted::exactly).collect();
        let offered = match self.find_all(&wanted) {
            // Without lists the store may still have them.
            Err(AptError::Offline(_)) => vec![None; packages.len()],
            offered => offered?,
        };
        let found = offered.into_iter().zip(packages);
        let found: Vec<_> =
            found.map(|(found, package)| found.filter(|found| found.package == *package)).collect();
        let lost = found.iter().zip(packages).filter(|(found, _)| found.is_none());
        self.keep(&lost.map(|(_, package)| package).collect::<Vec<_>>())?;
        let kept = found.into_iter().zip(packages);
        Ok(kept.map(|(found, package)| found.unwrap_or_else(|| self.kept(package))).collect())
    }

    fn closure(&self, names: &[&str], assumed: &[&str]) -> Result<Vec<Candidate>, AptError> {
        let status = self.root.path.join("status.assumed");
        let (wanted, assumed) = (Wanted::all(names)?, Wanted::all(assumed)?);
        let mut arguments = vec!["install".to_owned(), "--simulate".into(), "-qq".into()];
        let mut installed = None;
        if !assumed.is_empty() {
            installed = Some(self.installed(&assumed)?);
            arguments.push(format!("-oDir::State::status={}", status.display()));
            // Else the cache for the empty status would have to be built again each time.
            arguments.push("-oDir::Cache::pkgcache=".to_owned());
            // Otherwise apt also takes packages that have the same source package as a new one.
            arguments.push("-oAPT::Get::Upgrade-By-Source-Package=false".to_owned());
        }
        let installed = installed.as_ref().map(|installed| (&*status, &**installed));
        let arguments = run::arguments(&arguments, &wanted);
        let output = self.answers.ask_with("apt-get", &arguments, installed)?;
        if !output.success {
            return Err(self.unresolved(&wanted, &output.stderr));
        }
        let mut chosen: Vec<_> = output.stdout.lines().filter_map(chosen).collect();
        chosen.sort();
        // apt takes an unknown name for a pattern, and installs every package that fits.
        let is_there =
            |name: &PackageName| chosen.iter().chain(&assumed).any(|present| present.name == *name);
        match wanted.iter().find(|wanted| !is_there(&wanted.name)) {
            Some(missing) => Err(self.missing(missing)),
            None => self.show_all(&chosen),
        }
    }

    fn fetch_each(&self, wanted: &[Candidate]) -> Result<Vec<Result<PathBuf, AptError>>, AptError> {
        self.bring(wanted)
    }

    fn unknown(&self, name: &str) -> AptError {
        AptError::Unknown { name: name.to_owned(), left_out: self.left_out().to_vec() }
    }
}

fn failed(program: &'static str, stderr: &str) -> AptError {
    AptError::Failed { program, trouble: Trouble::classify(stderr) }
}

/// Returns the package in a line `Inst NAME (VERSION SUITE [ARCH])` of a simulated installation.
fn chosen(line: &str) -> Option<Wanted> {
    let mut words = line.strip_prefix("Inst ")?.split_whitespace();
    let name = words.next()?.parse().ok()?;
    let version = words.find_map(|word| word.strip_prefix('('))?.parse().ok()?;
    Some(Wanted { name, version: Some(version) })
}
