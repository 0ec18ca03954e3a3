//! The ends of a search: commits of a repository, or the kernels that Debian packaged.

use std::path::{Path, PathBuf};

use preemptlab_analysis::bisection::short;
use preemptlab_files::OutFolder;
use preemptlab_model::{Arch, Digest, KernelRef};
use preemptlab_provision::check_owner;

use super::{
    Claim, Ends, Search,
    range::{KernelRange, reversed},
};
use crate::{Blame, Error, Lab, OrBlame, PrepareError, Result, chosen};

/// Two ends of a search.
#[derive(Clone, Copy, Debug)]
pub enum Between<'a> {
    /// Revisions of a repository.
    Commits {
        /// The one that is as it should be.
        good: &'a str,
        /// A later one that is worse.
        bad: &'a str,
        /// The repository, which is only read.
        repository: &'a Path,
        /// The configuration of its kernels.
        config: Option<&'a str>,
    },
    /// Packaged kernels.
    Kernels(&'a KernelRange),
}

/// Commits that are searched.
pub enum Searched {
    /// Commits of this repository.
    Commits(PathBuf),
    /// Packaged kernels; each has a commit of a made-up history.
    Kernels(Vec<(String, KernelRef)>),
}

impl Searched {
    /// Opens a search among kernels of an architecture. Returns also its folder.
    pub fn open(
        lab: &Lab<'_>,
        between: &Between<'_>,
        guest: Arch,
        out: Option<&Path>,
        question: String,
    ) -> Result<(Self, Search, OutFolder)> {
        let folder = |inputs: Digest| match out {
            Some(out) => OutFolder::named(out),
            None => chosen(format!("bisect-{}", inputs.short())),
        };
        match *between {
            Between::Kernels(range) => {
                let names = packaged(lab, range, guest)?;
                let texts: Vec<String> = names.iter().map(ToString::to_string).collect();
                let out = folder(Digest::of_json(&(&texts, &question)));
                let claim = Claim::new(&out)?;
                let (repository, commits) = claim.line(&texts)?;
                let [good, .., bad] = &commits[..] else {
                    return Err(Error::user(format!("{range} holds fewer than two kernels")));
                };
                let ends = Ends { good: good.clone(), bad: bad.clone(), question };
                let search = Search::open(claim, &repository, ends)?;
                Ok((Self::Kernels(commits.into_iter().zip(names).collect()), search, out))
            }
            Between::Commits { good, bad, repository, config } => {
                check(repository, config, lab.allow_build_scripts)?;
                let [good, bad] = Search::ends(repository, good, bad)?;
                let ends = [&good, &bad].map(|end| kernel_in(repository, end, config));
                check_sources(lab, &ends, guest)?;
                let out = folder(Digest::of_json(&(&good, &bad, &question)));
                let ends = Ends { good, bad, question };
                let search = Search::open(Claim::new(&out)?, repository, ends)?;
                Ok((Self::Commits(repository.to_owned()), search, out))
            }
        }
    }

    /// Returns the name of the kernel of a commit.
    pub fn kernel(&self, commit: &str, config: Option<&str>) -> String {
        match self {
            Self::Commits(repository) => kernel_in(repository, commit, config),
            Self::Kernels(_) => self.name(commit),
        }
    }

    /// Returns the usual name of a commit: the start of its name, or its packaged kernel.
    pub fn name(&self, commit: &str) -> String {
        match self {
            Self::Commits(_) => short(commit).to_owned(),
            Self::Kernels(kernels) => {
                let kernel = kernels.iter().find(|(of, _)| of == commit);
                kernel.map(|(_, name)| name.to_string()).unwrap_or_default()
            }
        }
    }

    /// Returns the name of a step's folder.
    pub fn folder(&self, commit: &str) -> String {
        self.name(commit).replace(':', "-")
    }

    /// Returns the word for one of them.
    pub const fn noun(&self) -> &'static str {
        match self {
            Self::Commits(_) => "commit",
            Self::Kernels(_) => "kernel",
        }
    }
}

/// Returns the name of the kernel of a commit of a repository.
pub fn kernel_in(repository: &Path, commit: &str, config: Option<&str>) -> String {
    let config = config.map(|config| format!(",config={config}")).unwrap_or_default();
    format!("git:{}@{commit}{config}", repository.display())
}

/// Refuses a repository whose kernels cannot be named, or that others can write to, before anything is
/// written.
fn check(repository: &Path, config: Option<&str>, build_scripts: bool) -> Result<()> {
    let kernel: KernelRef = kernel_in(repository, "HEAD", config).parse().or_blame(Blame::User)?;
    match build_scripts {
        true => Ok(()),
        false => check_owner(&kernel).or_blame(Blame::User),
    }
}

/// Refuses kernels that cannot be built for guests of an architecture, before anything is written.
fn check_sources(lab: &Lab<'_>, names: &[String], guest: Arch) -> Result<()> {
    let kernels = names.iter().map(|name| name.parse().or_blame(Blame::User));
    let kernels = kernels.collect::<Result<Vec<KernelRef>>>()?;
    lab.provide(lab.open_store()?, guest, |provision| {
        Ok(provision.check_sources(&kernels).map_err(PrepareError::from)?)
    })
}

/// Lists the packaged kernels of a range, the oldest first.
fn packaged(lab: &Lab<'_>, range: &KernelRange, guest: Arch) -> Result<Vec<KernelRef>> {
    let kernels = lab.provide(lab.open_store()?, guest, |provision| {
        provision.builds_between(range.ends.each_ref()).or_blame(Blame::User)
    })?;
    match kernels.len() {
        0 => Err(Error::user(format!("{range}: {}", reversed(range)))),
        1 => Err(Error::user(format!("{range} is one kernel: nothing lies between its ends"))),
        _ => Ok(kernels),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_called_by_its_name() {
        let name: KernelRef = "debian:6.12.107+deb13-rt".parse().unwrap();
        let commit = "1".repeat(40);
        let kernels = Searched::Kernels(vec![(commit.clone(), name)]);
        assert_eq!(kernels.kernel(&commit, None), "debian:6.12.107+deb13-rt");
        assert_eq!(kernels.folder(&commit), "debian-6.12.107+deb13-rt");
        let commits = Searched::Commits("l".into());
        assert_eq!(
            commits.kernel(&commit, Some("lab+A=y")),
            format!("git:l@{commit},config=lab+A=y")
        );
        assert_eq!(commits.name(&commit), "1".repeat(12));
    }
}
