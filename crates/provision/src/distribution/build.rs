//! Builds of kernels in packages, and the one that a name means.

use std::collections::BTreeSet;

use preemptlab_model::{Distro, Flavour, KernelRef, kernel_order, series};

/// A build of a kernel that a distribution offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Build {
    /// The distribution.
    pub distribution: Distro,
    /// Version of the kernel, as in the package's name: `6.12.107+deb13`.
    pub version: String,
    /// Flavour of the kernel.
    pub flavour: Flavour,
    /// The release that `uname -r` prints.
    pub release: String,
}

impl Build {
    /// Returns the first two parts of the version: `6.12`.
    pub(crate) fn series(&self) -> &str {
        series(&self.version)
    }

    /// Returns the name that means this build for as long as it is on offer.
    pub fn exact_name(&self) -> KernelRef {
        self.named(&self.version)
    }

    /// Returns the name that means the newest build of this series and flavour.
    pub fn series_name(&self) -> KernelRef {
        self.named(self.series())
    }

    fn named(&self, version: &str) -> KernelRef {
        let (distribution, flavour) = (self.distribution, self.flavour);
        KernelRef::Packaged { distribution, version: version.to_owned(), flavour }
    }
}

/// Returns the build that a name means: the one of exactly this version, or the newest of the
/// series.
pub(crate) fn resolve<'a>(
    builds: &'a [Build],
    version: &str,
    flavour: Flavour,
) -> Option<&'a Build> {
    let mut matching = builds.iter().filter(|build| {
        let rest = build.version.strip_prefix(version);
        build.flavour == flavour
            && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '+', '~', '-']))
    });
    let exact = matching.clone().find(|build| build.version == version);
    exact.filter(|_| series(version) != version).or_else(|| matching.next_back())
}

/// Returns the builds of a flavour from one to another, both included, the oldest first; none where the
/// first is the newer one.
pub(crate) fn between(builds: &[Build], first: &Build, last: &Build) -> Vec<Build> {
    let is_between = |build: &&Build| {
        build.flavour == first.flavour
            && kernel_order(&build.version, &first.version).is_ge()
            && kernel_order(&build.version, &last.version).is_le()
    };
    builds.iter().filter(is_between).cloned().collect()
}

/// Returns the newest build of each series and flavour.
pub(crate) fn newest(builds: &[Build]) -> Vec<Build> {
    let mut seen = BTreeSet::new();
    let mut newest: Vec<_> = builds
        .iter()
        .rev()
        .filter(|build| seen.insert((build.series(), build.flavour)))
        .cloned()
        .collect();
    newest.sort_by(|a, b| kernel_order(a.series(), b.series()).then(a.flavour.cmp(&b.flavour)));
    newest
}

/// Returns valid names near one that is not: versions of the same series, or else other series.
pub(crate) fn nearest(builds: &[Build], version: &str, flavour: Flavour) -> Vec<String> {
    let same_flavour = || builds.iter().filter(|build| build.flavour == flavour);
    let mut near: Vec<_> = same_flavour().filter(|b| b.series() == series(version)).collect();
    let mut name: fn(&Build) -> KernelRef = Build::exact_name;
    let mut key: fn(&Build) -> &str = |build| &build.version;
    if near.is_empty() {
        near = same_flavour().collect();
        near.dedup_by_key(|build| build.series());
        name = Build::series_name;
        key = Build::series;
    }
    let place = near.partition_point(|build| kernel_order(key(build), version).is_lt());
    let around = place.saturating_sub(2)..near.len().min(place + 2);
    near[around].iter().map(|build| name(build).to_string()).collect()
}

/// Returns the name of a build or of a series on offer that has the same digits as one that is not:
/// a slip of the keys, such as `debian:6.12-tr`.
pub(crate) fn misspelt(builds: &[Build], name: &KernelRef) -> Option<String> {
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    let name = name.to_string();
    let offered = builds.iter().flat_map(|build| [build.series_name(), build.exact_name()]);
    let same: Vec<String> = offered
        .map(|offered| offered.to_string())
        .filter(|offered| digits(offered) == digits(&name))
        .collect();
    preemptlab_model::nearest(&name, same.iter().map(String::as_str)).map(str::to_owned)
}
