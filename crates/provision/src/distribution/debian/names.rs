//! Kernels by the names of their packages, which carry version and flavour.

use std::collections::BTreeSet;

use preemptlab_model::{Distro, Flavour, Platform, kernel_order, series};

use crate::distribution::Build;

/// Names of the packages of a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BuildPackages {
    /// The package with the image.
    pub(crate) image: String,
    /// The smallest package with the configuration.
    pub(crate) config: String,
    /// Whether the image's package lacks the configuration.
    pub(crate) is_config_apart: bool,
    /// The package with the modules.
    pub(crate) modules: String,
    /// The package with the headers, from which modules are built.
    pub(crate) headers: String,
    /// The dependency of the headers' package that no module is built from.
    pub(crate) assumed: String,
}

/// Packaging of a kernel of Debian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// `linux-image-*` holds the image, its configuration and the modules.
    Whole,
    /// `linux-binary-*` holds the image, `linux-base-*` the configuration, `linux-modules-*` the
    /// modules; `linux-image-*` only depends on them (from 6.19 on).
    Split,
}

/// Returns the names of a build's packages, by the names of all packages on offer.
pub(crate) fn packages_of<'a>(
    build: &Build,
    package_names: impl IntoIterator<Item = &'a str>,
) -> BuildPackages {
    let package = |kind: &str| format!("linux-{kind}-{}", build.release);
    let binary = package("binary");
    let is_split = package_names.into_iter().any(|name| name == binary);
    BuildPackages {
        image: package(if is_split { "binary" } else { "image" }),
        config: package(if is_split { "base" } else { "headers" }),
        is_config_apart: is_split,
        modules: package(if is_split { "modules" } else { "image" }),
        headers: package("headers"),
        assumed: package(if is_split { "base" } else { "image" }),
    }
}

/// Returns the build of a version and a flavour.
fn build(version: String, flavour: Flavour, guest: &Platform) -> Build {
    let release = format!("{version}{}-{}", flavour.suffix(), guest.debian);
    Build { distribution: Distro::Debian, version, flavour, release }
}

/// Returns the builds among some package names, oldest first. Packages that are not a bootable
/// build are left out: unsigned images, debug symbols and metapackages.
pub(crate) fn builds<'a>(
    package_names: impl IntoIterator<Item = &'a str>,
    guest: &Platform,
) -> Vec<Build> {
    let mut found = BTreeSet::new();
    for name in package_names {
        let Some((layout, release)) = name
            .strip_prefix("linux-binary-")
            .map(|release| (Layout::Split, release))
            .or_else(|| Some((Layout::Whole, name.strip_prefix("linux-image-")?)))
        else {
            continue;
        };
        let Some(text) = release.strip_suffix(guest.debian).and_then(|name| name.strip_suffix('-'))
        else {
            continue;
        };
        let (version, flavour) = split_flavour(text);
        // `linux-image-6.12-amd64` depends on the newest of its series; `linux-binary-7.3-amd64` is
        // a kernel.
        let metapackage = layout == Layout::Whole && series(version) == version;
        if !metapackage && version.starts_with(|c: char| c.is_ascii_digit()) {
            found.insert((version.to_owned(), flavour));
        }
    }
    let found = found.into_iter();
    let mut builds: Vec<_> =
        found.map(|(version, flavour)| build(version, flavour, guest)).collect();
    builds.sort_by(|a, b| kernel_order(&a.version, &b.version).then(a.flavour.cmp(&b.flavour)));
    builds
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
    use preemptlab_model::Arch;

    use super::*;
    use crate::distribution::{between, misspelt, nearest, newest, resolve};

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

    fn amd64() -> &'static Platform {
        Arch::Amd64.platform()
    }

    fn found(version: &str, flavour: Flavour) -> Option<String> {
        resolve(&builds(NAMES, amd64()), version, flavour).map(|build| build.release.clone())
    }

    #[test]
    fn builds_between_two_are_of_their_flavour_and_in_order() {
        let of = |version: &str, flavour| build(version.to_owned(), flavour, amd64());
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
        let builds = builds(["linux-binary-7.4-rc6-amd64", "linux-binary-7.4-amd64"], amd64());
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
        let builds = builds(NAMES, amd64());
        let packages =
            |version, flavour| packages_of(resolve(&builds, version, flavour).unwrap(), NAMES);
        let split = packages("7.2", Generic);
        assert!(split.is_config_apart);
        assert_eq!(split.image, "linux-binary-7.2.12+deb13-amd64");
        assert_eq!(split.config, "linux-base-7.2.12+deb13-amd64");
        let whole = packages("6.12", Rt);
        assert!(!whole.is_config_apart);
        assert_eq!(whole.modules, "linux-image-6.12.117+deb13-rt-amd64");
        assert_eq!(whole.config, "linux-headers-6.12.117+deb13-rt-amd64");
    }

    #[test]
    fn the_offer_has_one_row_per_series_and_flavour() {
        let rows: Vec<_> =
            newest(&builds(NAMES, amd64())).iter().map(|b| b.exact_name().to_string()).collect();
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
        let builds = builds(NAMES, amd64());
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
        let names = ["6.12.90+deb13", "7.2.12+deb13"].iter().flat_map(|version| {
            ["", "-rt", "-cloud"].map(|flavour| -> &'static str {
                format!("linux-image-{version}{flavour}-amd64").leak()
            })
        });
        let builds = builds(names, amd64());
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
