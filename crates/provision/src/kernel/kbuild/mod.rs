//! Kernels built from Debian's source packages, for configurations that no package offers.
//!
//! Source, configuration and compiler come from Debian's packages, and not from the machine. The
//! build holds neither its time nor its place, so every user gets the same bytes. Modules are off:
//! a guest has no disk and no network device, and modules take hours to build.

pub(crate) mod config;
mod configure;
mod error;
pub(crate) mod kit;
mod lab;
mod make;
#[cfg(test)]
mod tests;
mod tools;
mod tree;

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use preemptlab_model::{ConfigBase, Configured, Digest, Flavour, KernelRef, Package};
use serde::Serialize;

pub use self::error::KbuildError;
pub(crate) use self::{
    configure::{Configuration, RunMake},
    kit::Kit,
    lab::lab,
    make::{Make, remove_if_there},
    tools::{BuiltWith, Tools},
};
use crate::{
    Event, KernelError, PackageError, Store, StoreError, StoreLock,
    distribution::{Candidate, Distribution, Packages, debian::sources},
    kernel::toolchain::{self, Programs, Toolchain},
    store::whole::is_whole,
};

/// Counts up when the same packages are to become another kernel.
const RECIPE: u32 = 2;

/// Files of a kernel that was built, in its folder.
pub(crate) const CONFIG_FILE: &str = "config";
pub(crate) const BUILTIN_FILE: &str = "modules.builtin";
pub(crate) const IMAGE_FILE: &str = "image";
const LOG_FILE: &str = "log";

/// A kernel as a person names it: its name, and the parts of the name.
pub(crate) struct Wanted<'a> {
    pub(crate) name: &'a KernelRef,
    pub(crate) version: &'a str,
    pub(crate) configured: &'a Configured,
    /// The text of the configuration that it starts from; `None` for Debian's.
    pub(crate) base: Option<&'a str>,
}

/// Kernel to be built: its resolved packages, and its configuration.
pub(crate) struct Recipe {
    name: KernelRef,
    configured: Configured,
    source: Candidate,
    config: Candidate,
    /// The configuration that it starts from.
    base: String,
    /// The compiler, as `gcc-14`.
    compiler: String,
    toolchain: Toolchain,
}

/// A kernel whose build has finished, in the folder of its source.
struct Made {
    image: Vec<u8>,
    tree: PathBuf,
}

/// Files that are kept of a built kernel.
pub(crate) struct Built {
    /// SHA-256 of its bzImage, which is among the kernels of the store.
    pub(crate) image_sha256: Digest,
    /// Path of its configuration.
    pub(crate) config: PathBuf,
    /// The folder with its `modules.builtin`.
    pub(crate) folder: PathBuf,
}

/// Everything that the bytes of a kernel depend on.
#[derive(Serialize)]
struct Inputs<'a> {
    recipe: u32,
    source: Digest,
    config: Digest,
    flavour: &'a str,
    symbols: String,
    tools: Digest,
    /// The configuration that it starts from, where it is not that of the flavour.
    #[serde(skip_serializing_if = "Option::is_none")]
    base: Option<&'a str>,
}

impl Recipe {
    /// Resolves a kernel to the newest packages on offer, or to exactly those that a recording
    /// names.
    pub(crate) fn find(
        both: Packages<'_>,
        wanted: &Wanted<'_>,
        exactly: Option<&[Package]>,
    ) -> Result<Self, KernelError> {
        let Packages { here: debian, guest } = both;
        let [source_name, config_name] = sources::names(wanted.version);
        let (source, config, mut tools) = match exactly {
            Some(packages) => {
                let (config, mut candidates) = sources::exactly(both, packages)?;
                if *config.package.name != *config_name {
                    return Err(guest.unknown(&config_name).into());
                }
                let place = candidates.iter().position(|found| *found.package.name == *source_name);
                let place = place.ok_or_else(|| debian.unknown(&source_name))?;
                let source = candidates.remove(place);
                (source, config, Some(candidates))
            }
            None => {
                let source = sources::source(debian, wanted.version)?.map_err(|nearest| {
                    let nearest = nearest.iter().map(|version| format!("source:{version}"));
                    let left_out = debian.left_out().to_vec();
                    KernelError::Unknown {
                        name: wanted.name.clone(),
                        nearest: nearest.collect(),
                        left_out,
                    }
                })?;
                let config = sources::configurations(guest, wanted.version, &source)?;
                (source, config, None)
            }
        };
        // Whatever a kernel's configuration is, the compiler is Debian's for this source.
        let of_debian = sources::configuration(guest, &config, flavour(wanted.configured))?;
        let compiler =
            config::compiler(&of_debian, debian.guest()).ok_or_else(|| PackageError::Lacks {
                package: config.package.name.to_string(),
                what: "configuration that names its compiler".to_owned(),
            })?;
        let tools = match tools.take() {
            Some(tools) => tools,
            None => sources::compiler(debian, &compiler)?,
        };
        Ok(Self {
            name: wanted.name.clone(),
            configured: wanted.configured.clone(),
            source,
            config,
            base: wanted.base.map_or(of_debian, str::to_owned),
            compiler,
            toolchain: Toolchain::new(tools, debian.guest()),
        })
    }

    /// Returns every package that the kernel is built from and with.
    pub(crate) fn packages(&self) -> Vec<Package> {
        let sources = [&self.source, &self.config].into_iter().map(|candidate| &candidate.package);
        sources.chain(self.toolchain.packages()).cloned().collect()
    }

    /// Returns the built kernel in the store, if there is one and its image is still sound.
    pub(crate) fn built(&self, store: &Store) -> Option<Built> {
        let folder = store.build(self.digest());
        let digest = fs::read_to_string(folder.join(IMAGE_FILE)).ok()?.parse().ok()?;
        let found = crate::store::hash::sha256(&store.kernel_image(digest)).ok()?;
        if !is_whole(&folder) {
            return None;
        }
        let config = folder.join(CONFIG_FILE);
        (found == digest).then_some(Built { image_sha256: digest, config, folder })
    }

    /// Downloads everything, and unpacks the programs of the build.
    pub(crate) fn fetch(
        &self,
        debian: &dyn Distribution,
        store: &Store,
        lock: &StoreLock,
        on_event: &dyn Fn(Event),
    ) -> Result<Programs, KbuildError> {
        debian.fetch(std::slice::from_ref(&self.source))?;
        Ok(self.toolchain.unpacked(debian, store, lock, on_event)?)
    }

    /// Builds it. `keep` takes the bzImage into the store.
    pub(crate) fn build(
        &self,
        store: &Store,
        programs: &Programs,
        keep: impl Fn(&[u8]) -> Result<Digest, StoreError>,
        on_event: &dyn Fn(Event),
    ) -> Result<(), KbuildError> {
        if !toolchain::is_plain(store.root()) {
            return Err(KbuildError::Path(store.root().to_owned()));
        }
        let lock = store.lock_builds(on_event)?;
        if self.built(store).is_some() {
            // By another process, while this one waited.
            return Ok(());
        }
        let folder = store.build(self.digest());
        if folder.is_dir() {
            // Its image is gone or was spoilt.
            fs::remove_dir_all(&folder).map_err(StoreError::at(&folder))?;
        }
        lock.fill(&folder, |draft| {
            let made = self.make(store, programs, draft, &lock, on_event)?;
            self.keep_kit(store, &made, on_event)?;
            let digest = keep(&made.image)?;
            for (from, to) in [(".config", CONFIG_FILE), (BUILTIN_FILE, BUILTIN_FILE)] {
                let from = made.tree.join(from);
                fs::copy(&from, draft.join(to)).map_err(StoreError::at(&from))?;
            }
            let path = draft.join(IMAGE_FILE);
            fs::write(&path, digest.to_string()).map_err(StoreError::at(&path))?;
            fs::remove_dir_all(&made.tree).map_err(StoreError::at(&made.tree))?;
            Ok::<_, KbuildError>(())
        })?;
        remove_if_there(&self.log(store))
    }

    /// Builds it again for its kit alone, which an earlier preemptlab did not keep.
    pub(crate) fn build_kit(
        &self,
        store: &Store,
        programs: &Programs,
        on_event: &dyn Fn(Event),
    ) -> Result<(), KbuildError> {
        let lock = store.lock_builds(on_event)?;
        if self.kit(store).is_kept(store) {
            return Ok(());
        }
        let draft = store.build_draft(&lock)?;
        let made = self.make(store, programs, draft.path(), &lock, on_event)?;
        self.keep_kit(store, &made, on_event)
    }

    /// Returns the files from which modules for it are built.
    pub(crate) fn kit(&self, store: &Store) -> Kit {
        Kit::new(self.digest(), Some(&store.toolchain(self.toolchain.digest())))
    }

    fn keep_kit(
        &self,
        store: &Store,
        made: &Made,
        on_event: &dyn Fn(Event),
    ) -> Result<(), KbuildError> {
        if !kit::is_wanted(&made.tree)? {
            return Ok(());
        }
        let lock = store.lock(on_event)?;
        let (trees, guest) = ((&*made.tree, &*made.tree), self.toolchain.guest());
        Ok(self.kit(store).keep(store, &lock, trees, guest)?)
    }

    /// Returns the programs that it is built with, which may have to be unpacked.
    pub(crate) fn built_with(&self) -> BuiltWith {
        BuiltWith::Packages(self.toolchain.clone(), self.compiler.clone())
    }

    /// Unpacks the source into an empty folder, configures and compiles it there.
    fn make(
        &self,
        store: &Store,
        programs: &Programs,
        draft: &Path,
        lock: &StoreLock,
        on_event: &dyn Fn(Event),
    ) -> Result<Made, KbuildError> {
        on_event(Event::Unpacking { what: self.source.package.name.to_string() });
        let deb = store.package(self.source.package.sha256);
        let tree = tree::unpack(&deb, &self.source.package.name, draft)?;
        let log = draft.join(LOG_FILE);
        let tools = Tools::of_packages(programs, &self.compiler);
        let make = Make { tools: &tools, tree: &tree, output: None, log: &log, lock };
        let run =
            |target: &'static str, variables: &[OsString], on_step: &mut dyn FnMut()| match make
                .run(target, variables, on_step)?
            {
                true => Ok(()),
                false => {
                    let (reason, log) = make.failed(store, &self.log(store))?;
                    Err(KbuildError::Failed { target, reason, log })
                }
            };
        let configuration = Configuration {
            configured: &self.configured,
            base: &self.base,
            version: &self.version(),
            guest: tools.guest,
        };
        configuration.write(&tree, &tree, &run)?;

        let steps_expected = configuration.steps_expected();
        let mut steps = 0;
        let mut on_step = || {
            on_event(Event::Compiling { what: self.name.to_string(), steps, steps_expected });
            steps += 1;
        };
        run(tools.guest.kernel_image, &[], &mut on_step)?;
        let image = tree.join(tools.guest.image_file());
        let image = fs::read(&image).map_err(StoreError::at(&image))?;
        if kit::is_wanted(&tree)? {
            run(kit::TARGET, &[], &mut || ())?;
        }
        Ok(Made { image, tree })
    }

    /// Returns the path of a failed build's log.
    fn log(&self, store: &Store) -> PathBuf {
        store.build(self.digest()).with_extension("log")
    }

    /// Returns the kernel's own version, without that of Debian's package.
    fn version(&self) -> String {
        sources::upstream(&self.source.package.version).to_owned()
    }

    fn digest(&self) -> Digest {
        Digest::of_json(&Inputs {
            recipe: RECIPE,
            source: self.source.package.sha256,
            config: self.config.package.sha256,
            flavour: flavour(&self.configured).suffix(),
            symbols: self.configured.symbols.to_string(),
            tools: self.toolchain.digest(),
            base: match self.configured.base {
                ConfigBase::Debian(_) => None,
                ConfigBase::Lab | ConfigBase::File(_) => Some(&self.base),
            },
        })
    }
}

/// Returns the flavour whose configuration of Debian's is read.
fn flavour(configured: &Configured) -> Flavour {
    match configured.base {
        ConfigBase::Debian(flavour) => flavour,
        ConfigBase::Lab | ConfigBase::File(_) => Flavour::Generic,
    }
}
