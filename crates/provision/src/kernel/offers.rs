//! The kernels that a distribution offers.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use preemptlab_model::KernelConfig;

use super::{
    packaged::image_in,
    provisioned::{KernelError, read_config, write},
};
use crate::{
    Event, PackageError, Store,
    distribution::{
        self, Build, Candidate, Distribution,
        deb::{self, Content},
    },
};

/// A row of the available kernels.
#[derive(Clone, Debug)]
pub struct Offer {
    /// The newest build of its series and flavour.
    pub build: Build,
    /// Configuration of the build, or the reason why it cannot be read.
    pub config: Result<KernelConfig, String>,
}

/// Returns the newest build of each series and flavour with its configuration.
pub(crate) fn offered(
    packages: &dyn Distribution,
    store: &Store,
    on_event: &dyn Fn(Event),
) -> Result<Vec<Offer>, KernelError> {
    let builds = distribution::newest(&packages.builds()?);
    let of_builds = packages.packages_of(&builds.iter().collect::<Vec<_>>())?;
    let mut names: Vec<&str> = of_builds.iter().map(|names| &*names.config).collect();
    names.extend(of_builds.iter().map(|names| &*names.image));
    let mut found = packages.find(&names)?;
    let images = found.split_off(builds.len());

    let path = |candidate: &Candidate| store.config_of_package(candidate.package.sha256);
    let new: Vec<_> = found.iter().flatten().filter(|c| !path(c).is_file()).cloned().collect();
    let mut failures = BTreeMap::new();
    for (candidate, fetched) in new.iter().zip(packages.fetch_each(&new)?) {
        on_event(Event::Unpacking { what: candidate.package.name.to_string() });
        let kept = fetched
            .map_err(KernelError::from)
            .and_then(|deb| keep_config(&deb, candidate, &path(candidate)));
        if let Err(error) = kept {
            failures.insert(candidate.package.sha256, error.to_string());
        }
    }

    let offers = builds.into_iter().zip(of_builds).zip(found).zip(images);
    let offers = offers.map(|(((build, names), found), image)| {
        let path = match &found {
            Some(candidate) => path(candidate),
            // A build that was unpacked before has its configuration in the store.
            None => match image.and_then(|image| image_in(store, &image)) {
                Some(digest) => store.kernel(digest).join("config"),
                None => PathBuf::new(),
            },
        };
        let config = match read_config(&path) {
            Ok(Some(config)) => Ok(config),
            Ok(None) => Err(found
                .and_then(|candidate| failures.remove(&candidate.package.sha256))
                .unwrap_or_else(|| format!("the mirror has no `{}`", names.config))),
            Err(error) => Err(error.to_string()),
        };
        Offer { build, config }
    });
    Ok(offers.collect())
}

/// Writes the configuration in a package to a file of the store.
fn keep_config(deb: &Path, candidate: &Candidate, path: &Path) -> Result<(), KernelError> {
    let is_config = |path: &str| {
        path.starts_with("usr/src/linux-headers-") && path.ends_with("/.config")
            || path.contains("lib/modules/") && path.ends_with("/config")
            || path.starts_with("boot/config-")
    };
    let entries = deb::read(deb, is_config)?;
    match entries.first().map(|entry| &entry.content) {
        Some(Content::File(bytes)) => Ok(write(path, bytes)?),
        _ => Err(PackageError::Lacks {
            package: candidate.package.name.to_string(),
            what: "configuration".to_owned(),
        }
        .into()),
    }
}
