//! Packages through apt, in a private root: its own configuration, lists, status and cache.

mod answers;
mod config;
mod error;
mod fetch;
mod lists;
mod machine;
mod run;
mod stanza;
#[cfg(test)]
mod tests;

use preemptlab_model::Package;

pub(crate) use self::error::LeftOutNote;
pub(crate) use self::lists::Lists;
use self::{
    answers::{Answers, is_unknown},
    run::Root,
    stanza::stanzas,
};
pub use self::{
    error::{AptError, LeftOut, Trouble},
    stanza::Candidate,
};
use crate::{Event, Store, StoreLock, names};

/// The private apt root, locked and with its lists ready.
pub(crate) struct Apt<'a> {
    store: &'a Store,
    root: Root<'a>,
    answers: Answers<'a>,
    lists: &'a Lists,
    on_event: &'a dyn Fn(Event),
}

impl<'a> Apt<'a> {
    /// `path` is the store's apt root.
    pub(crate) fn new(
        store: &'a Store,
        path: &'a std::path::Path,
        lock: &'a StoreLock,
        lists: &'a Lists,
        on_event: &'a dyn Fn(Event),
    ) -> Self {
        let root = Root { path, lock };
        Self { store, root, answers: Answers::new(store, root), lists, on_event }
    }

    /// The suites that take no part.
    pub(crate) fn left_out(&self) -> &[LeftOut] {
        &self.lists.left_out
    }

    /// The names of all packages that start like this.
    pub(crate) fn names(&self, prefix: &str) -> Result<Vec<String>, AptError> {
        let output = self.answers.ask("apt-cache", &["pkgnames", prefix])?;
        if !output.success {
            return Err(failed("apt-cache", &output.stderr));
        }
        Ok(output.stdout.lines().map(str::to_owned).collect())
    }

    /// The preferred version of each package, in the order of the names. A name may carry a
    /// version, as in `zlib1g=1:1.3`.
    pub(crate) fn show<N: AsRef<str>>(&self, names: &[N]) -> Result<Vec<Candidate>, AptError> {
        let found = self.find(names)?.into_iter().zip(names);
        found.map(|(found, name)| found.ok_or_else(|| self.unknown(name.as_ref()))).collect()
    }

    /// The same, with nothing where no suite has the package.
    pub(crate) fn find<N: AsRef<str>>(
        &self,
        names: &[N],
    ) -> Result<Vec<Option<Candidate>>, AptError> {
        let mut arguments: Vec<_> = names.iter().map(AsRef::as_ref).collect();
        // Preferring a version takes apt some time, which is saved where there is no choice.
        if arguments.iter().any(|name| !name.contains('=')) {
            arguments.insert(0, "--no-all-versions");
        }
        arguments.insert(0, "show");
        let output = self.answers.ask("apt-cache", &arguments)?;
        if !output.success && !is_unknown(&output) {
            return Err(failed("apt-cache", &output.stderr));
        }
        let shown: Vec<_> =
            stanzas(&output.stdout).filter_map(|s| Candidate::from_stanza(&s)).collect();
        let found = names.iter().map(|name| {
            let (name, version) = match name.as_ref().split_once('=') {
                Some((name, version)) => (name, Some(version)),
                None => (name.as_ref(), None),
            };
            let is_it = |package: &Package| {
                package.name == name && version.is_none_or(|version| version == package.version)
            };
            shown.iter().find(|candidate| is_it(&candidate.package)).cloned()
        });
        Ok(found.collect())
    }

    /// Every version of a package, the newest first.
    pub(crate) fn versions(&self, name: &str) -> Result<Vec<Candidate>, AptError> {
        let output = self.answers.ask("apt-cache", &["show", name])?;
        let mut found: Vec<_> =
            stanzas(&output.stdout).filter_map(|s| Candidate::from_stanza(&s)).collect();
        found.sort_by(|a, b| names::compare(&b.package.version, &a.package.version));
        Ok(found)
    }

    /// Exactly these packages; one that has other content than named counts as unknown.
    pub(crate) fn exact(&self, packages: &[Package]) -> Result<Vec<Candidate>, AptError> {
        let names: Vec<String> = packages
            .iter()
            .map(|package| format!("{}={}", package.name, package.version))
            .collect();
        let candidates = self.show(&names)?;
        match candidates.iter().zip(packages).find(|(found, wanted)| found.package != **wanted) {
            Some((_, wanted)) => Err(self.unknown(&format!("{}={}", wanted.name, wanted.version))),
            None => Ok(candidates),
        }
    }

    /// The packages with everything they depend on, sorted by name, as apt resolves them where
    /// nothing is installed except the `assumed` packages.
    pub(crate) fn closure(
        &self,
        names: &[&str],
        assumed: &[&str],
    ) -> Result<Vec<Candidate>, AptError> {
        let status = self.root.path.join("status.assumed");
        let mut arguments = vec!["install".to_owned(), "--simulate".into(), "-qq".into()];
        let mut installed = None;
        if !assumed.is_empty() {
            installed = Some(self.installed(assumed)?);
            arguments.push(format!("-oDir::State::status={}", status.display()));
            // Else the cache for the empty status would have to be built again each time.
            arguments.push("-oDir::Cache::pkgcache=".to_owned());
            // Else apt takes what has the same source package as something new along.
            arguments.push("-oAPT::Get::Upgrade-By-Source-Package=false".to_owned());
        }
        arguments.extend(names.iter().copied().map(str::to_owned));
        let installed = installed.as_ref().map(|installed| (&*status, &**installed));
        let output = self.answers.ask_with("apt-get", &arguments, installed)?;
        if !output.success {
            return Err(self.unresolved(names, &output.stderr));
        }
        let mut chosen: Vec<_> = output.stdout.lines().filter_map(chosen).collect();
        chosen.sort();
        self.show(&chosen)
    }

    /// A dpkg status in which these packages are installed.
    fn installed(&self, names: &[&str]) -> Result<String, AptError> {
        let mut arguments = vec!["show", "--no-all-versions"];
        arguments.extend(names);
        let output = self.answers.ask("apt-cache", &arguments)?;
        let found: Vec<_> = stanzas(&output.stdout).collect();
        let mut status = String::new();
        for name in names {
            let stanza = found.iter().find(|stanza| stanza.get("Package") == Some(name));
            let stanza = stanza.ok_or_else(|| self.unknown(name))?;
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

    /// No suite has this package.
    pub(crate) fn unknown(&self, name: &str) -> AptError {
        AptError::Unknown { name: name.to_owned(), left_out: self.left_out().to_vec() }
    }

    fn unresolved(&self, names: &[&str], stderr: &str) -> AptError {
        let is_unknown = |name: &&&str| {
            stderr.contains(&format!("Unable to locate package {name}"))
                || stderr.contains(&format!("Package '{name}' has no installation candidate"))
        };
        match names.iter().find(is_unknown) {
            Some(name) => self.unknown(name),
            None if Trouble::classify(stderr) == Trouble::DiskFull => failed("apt-get", stderr),
            None => AptError::Unsatisfiable {
                names: names.join(", "),
                reason: stderr.trim().to_owned(),
                left_out: self.left_out().to_vec(),
            },
        }
    }
}

fn failed(program: &'static str, stderr: &str) -> AptError {
    AptError::Failed { program, trouble: Trouble::classify(stderr) }
}

/// `NAME=VERSION` from a line `Inst NAME (VERSION SUITE [ARCH])` of a simulated installation.
fn chosen(line: &str) -> Option<String> {
    let mut words = line.strip_prefix("Inst ")?.split_whitespace();
    let name = words.next()?;
    let version = words.find_map(|word| word.strip_prefix('('))?;
    Some(format!("{name}={version}"))
}
