//! Kernels by the names of their packages, which carry version and flavour.

use std::collections::{BTreeMap, BTreeSet};

use preemptlab_model::{Distro, Flavour, KernelRef, kernel_order, series};

use crate::platform::GUEST;

/// A kernel build that Debian offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Build {
    /// Version of the kernel, as in the package's name: `6.12.107+deb13`.
    pub version: String,
    /// Flavour of the kernel.
    pub flavour: Flavour,
    /// Packaging of the kernel.
    pub layout: Layout,
}

/// Packaging of a kernel of Debian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// `linux-image-*` holds the image, its configuration and the modules.
    Whole,
    /// `linux-binary-*` holds the image, `linux-base-*` the configuration, `linux-modules-*` the
    /// modules; `linux-image-*` only depends on them (from 6.19 on).
    Split,
}

impl Build {
    /// Returns the release that `uname -r` prints.
    pub fn release(&self) -> String {
        format!("{}{}-{}", self.version, self.flavour.suffix(), GUEST.debian)
    }

    /// Returns the first two parts of the version: `6.12`.
    pub fn series(&self) -> &str {
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
        named(version, self.flavour)
    }

    /// Returns the name of the package with the image.
    pub(crate) fn image_package(&self) -> String {
        match self.layout {
            Layout::Whole => self.package("image"),
            Layout::Split => self.package("binary"),
        }
    }

    /// Returns the name of the package with the modules.
    pub(crate) fn modules_package(&self) -> String {
        match self.layout {
            Layout::Whole => self.package("image"),
            Layout::Split => self.package("modules"),
        }
    }

    /// Returns the name of the smallest package with the configuration.
    pub(crate) fn config_package(&self) -> String {
        match self.layout {
            Layout::Whole => self.package("headers"),
            Layout::Split => self.package("base"),
        }
    }

    /// Returns the name of the package with the headers, from which modules are built.
    pub(crate) fn headers_package(&self) -> String {
        self.package("headers")
    }

    /// Returns the dependency of the headers' package that no module is built from.
    pub(crate) fn headers_assumed(&self) -> String {
        match self.layout {
            Layout::Whole => self.package("image"),
            Layout::Split => self.package("base"),
        }
    }

    fn package(&self, kind: &str) -> String {
        format!("linux-{kind}-{}", self.release())
    }
}

/// Returns the name of a kernel of Debian's.
pub(crate) fn named(version: &str, flavour: Flavour) -> KernelRef {
    KernelRef::Packaged { distribution: Distro::Debian, version: version.to_owned(), flavour }
}

/// Returns the builds among some package names, oldest first. Packages that are no bootable build
/// are left out: unsigned images, debug symbols and metapackages.
pub(crate) fn builds<'a>(package_names: impl IntoIterator<Item = &'a str>) -> Vec<Build> {
    let mut layouts = BTreeMap::new();
    for name in package_names {
        let Some((layout, release)) = name
            .strip_prefix("linux-binary-")
            .map(|release| (Layout::Split, release))
            .or_else(|| Some((Layout::Whole, name.strip_prefix("linux-image-")?)))
        else {
            continue;
        };
        let Some(text) = release.strip_suffix(GUEST.debian).and_then(|name| name.strip_suffix('-'))
        else {
            continue;
        };
        let (version, flavour) = split_flavour(text);
        // `linux-image-6.12-amd64` depends on the newest of its series; `linux-binary-7.3-amd64` is
        // a kernel.
        let metapackage = layout == Layout::Whole && series(version) == version;
        if !metapackage && version.starts_with(|c: char| c.is_ascii_digit()) {
            let known = layouts.entry((version.to_owned(), flavour)).or_insert(layout);
            if layout == Layout::Split {
                *known = layout;
            }
        }
    }
    let mut builds: Vec<_> = layouts
        .into_iter()
        .map(|((version, flavour), layout)| Build { version, flavour, layout })
        .collect();
    builds.sort_by(|a, b| kernel_order(&a.version, &b.version).then(a.flavour.cmp(&b.flavour)));
    builds
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

fn split_flavour(text: &str) -> (&str, Flavour) {
    [Flavour::Rt, Flavour::Cloud]
        .into_iter()
        .find_map(|flavour| Some((text.strip_suffix(flavour.suffix())?, flavour)))
        .unwrap_or((text, Flavour::Generic))
}

#[cfg(test)]
mod tests {
    use Flavour::{Cloud, Generic, Rt};

    use super::*;

    const NAMES: [&str; 27] = [
        "linux-image-amd64",
        "linux-image-rt-amd64",
        "linux-image-6.12-amd64",
        "linux-image-6.12-amd64-signed-template",
        "linux-image-6.1.0-9-amd64",
        "linux-image-6.1.0-56-amd64",
        "linux-image-6.1.0-56-rt-amd64",
        "linux-image-6.12.90+deb13-amd64",
        "linux-image-6.12.90+deb13.1-amd64",
        "linux-image-6.12.117+deb13-amd64",
        "linux-image-6.12.117+deb12-amd64",
        "linux-image-6.12.117+deb13-amd64-unsigned",
        "linux-image-6.12.117+deb13-amd64-dbg",
        "linux-image-6.12.117+deb13-cloud-amd64",
        "linux-image-6.12.117+deb13-rt-amd64",
        "linux-image-7.2.9+deb13-amd64",
        "linux-binary-7.2.9+deb13-amd64",
        "linux-binary-7.2.12+deb13-amd64",
        "linux-image-7.2.12+deb13-amd64",
        "linux-binary-7.2.12+deb13-rt-amd64",
        "linux-binary-7.3-amd64",
        "linux-binary-unsigned-7.3-amd64",
        "linux-binary-7.5-amd64",
        "linux-binary-7.5.1+deb14-amd64",
        "linux-base-7.4.1+deb13-amd64",
        "linux-headers-7.4.1+deb13-amd64",
        "linux-image-7.4.1+deb13-arm64",
    ];

    fn found(version: &str, flavour: Flavour) -> Option<String> {
        resolve(&builds(NAMES), version, flavour).map(Build::release)
    }

    #[test]
    fn builds_between_two_are_of_their_flavour_and_in_order() {
        let of = |version: &str, flavour| Build {
            version: version.to_owned(),
            flavour,
            layout: Layout::Whole,
        };
        let all = [
            of("6.1.0-56", Generic),
            of("6.12.90+deb13", Generic),
            of("6.12.90+deb13", Rt),
            of("6.12.117+deb13", Generic),
            of("7.2.3+deb14", Generic),
        ];
        let versions = |first: usize, last: usize| -> Vec<String> {
            let found = between(&all, &all[first], &all[last]);
            found.into_iter().map(|build| build.version).collect()
        };
        assert_eq!(versions(1, 4), ["6.12.90+deb13", "6.12.117+deb13", "7.2.3+deb14"]);
        assert_eq!(versions(2, 2), ["6.12.90+deb13"]);
        assert!(versions(4, 0).is_empty());
    }

    #[test]
    fn a_series_means_its_newest_build() {
        for (version, flavour, release) in [
            ("6.1", Generic, "6.1.0-56-amd64"),
            ("6.12", Generic, "6.12.117+deb13-amd64"),
            ("6.12", Rt, "6.12.117+deb13-rt-amd64"),
            ("6.12", Cloud, "6.12.117+deb13-cloud-amd64"),
            ("6.12.117", Generic, "6.12.117+deb13-amd64"),
            ("7.2", Generic, "7.2.12+deb13-amd64"),
            ("7.3", Generic, "7.3-amd64"),
            ("7.5", Generic, "7.5.1+deb14-amd64"),
        ] {
            assert_eq!(found(version, flavour).as_deref(), Some(release), "{version}");
        }
    }

    #[test]
    fn a_release_is_newer_than_its_candidates() {
        let builds = builds(["linux-binary-7.4-rc6-amd64", "linux-binary-7.4-amd64"]);
        let versions: Vec<&str> = builds.iter().map(|build| build.version.as_str()).collect();
        assert_eq!(versions, ["7.4-rc6", "7.4"]);
        assert_eq!(resolve(&builds, "7.4", Generic).unwrap().version, "7.4");
    }

    #[test]
    fn an_exact_version_means_itself() {
        assert_eq!(found("6.12.90+deb13", Generic).unwrap(), "6.12.90+deb13-amd64");
        assert_eq!(found("6.12.117+deb12", Generic).unwrap(), "6.12.117+deb12-amd64");
        assert_eq!(found("6.1.0-9", Generic).unwrap(), "6.1.0-9-amd64");
    }

    #[test]
    fn what_is_not_on_offer_is_not_found() {
        for (version, flavour) in
            [("6.1.0-5", Generic), ("6.13", Generic), ("7.4", Generic), ("6.1", Cloud)]
        {
            assert_eq!(found(version, flavour), None, "{version}");
        }
    }

    #[test]
    fn the_layout_follows_from_the_packages() {
        let builds = builds(NAMES);
        let split = resolve(&builds, "7.2", Generic).unwrap();
        assert_eq!(split.layout, Layout::Split);
        assert_eq!(split.image_package(), "linux-binary-7.2.12+deb13-amd64");
        assert_eq!(split.config_package(), "linux-base-7.2.12+deb13-amd64");
        let whole = resolve(&builds, "6.12", Rt).unwrap();
        assert_eq!(whole.layout, Layout::Whole);
        assert_eq!(whole.modules_package(), "linux-image-6.12.117+deb13-rt-amd64");
        assert_eq!(whole.config_package(), "linux-headers-6.12.117+deb13-rt-amd64");
    }

    #[test]
    fn the_offer_has_one_row_per_series_and_flavour() {
        let rows: Vec<_> =
            newest(&builds(NAMES)).iter().map(|b| b.exact_name().to_string()).collect();
        assert_eq!(
            rows,
            [
                "debian:6.1.0-56",
                "debian:6.1.0-56-rt",
                "debian:6.12.117+deb13",
                "debian:6.12.117+deb13-rt",
                "debian:6.12.117+deb13-cloud",
                "debian:7.2.12+deb13",
                "debian:7.2.12+deb13-rt",
                "debian:7.3",
                "debian:7.5.1+deb14",
            ]
        );
    }

    #[test]
    fn an_unknown_name_has_neighbours() {
        let builds = builds(NAMES);
        assert_eq!(
            nearest(&builds, "6.12.100+deb13", Generic),
            [
                "debian:6.12.90+deb13",
                "debian:6.12.90+deb13.1",
                "debian:6.12.117+deb12",
                "debian:6.12.117+deb13"
            ]
        );
        assert_eq!(
            nearest(&builds, "6.13", Rt),
            ["debian:6.1-rt", "debian:6.12-rt", "debian:7.2-rt"]
        );
    }

    #[test]
    fn a_slip_of_the_keys_is_told_from_another_version() {
        let builds = builds(["6.12.90+deb13", "7.2.12+deb13"].iter().flat_map(|version| {
            ["", "-rt", "-cloud"].map(|flavour| -> &'static str {
                format!("linux-image-{version}{flavour}-amd64").leak()
            })
        }));
        let meant = |name: &str| misspelt(&builds, &name.parse().unwrap());
        for (name, wanted) in [
            ("debian:6.12-tr", Some("debian:6.12-rt")),
            ("debian:6.12rt", Some("debian:6.12-rt")),
            ("debian:7.2-clodu", Some("debian:7.2-cloud")),
            ("debian:6.12.90+dbe13", Some("debian:6.12.90+deb13")),
            ("debian:6.21", None),
            ("debian:6.13-rt", None),
        ] {
            assert_eq!(meant(name).as_deref(), wanted, "{name}");
        }
    }
}
