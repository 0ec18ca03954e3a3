//! `tree:PATH` and `git:PATH@REVISION`: kernels of the user's own source.

use std::path::Path;

use preemptlab_model::{
    ConfigBase, Configured, Digest, Flavour, Kernel, KernelRef, KernelSource as Source, Package,
};

use super::provisioned::{
    KernelError, KernelSource, ProvisionedKernel, keep_image, kit_of, read_base, read_bounded,
    read_config,
};
use crate::{
    KbuildError, PackageError, Repository, Stranger, TreeError, arch,
    distribution::{Packages, debian::sources},
    kernel::{
        kbuild::{BuiltWith, CONFIG_FILE, Tools, config, lab},
        ktree::{Checkout, Job, Tree, stranger_of_repository, stranger_of_tree},
        modules::ModuleSource,
        toolchain::Toolchain,
    },
    supplies::Supplies,
};

/// A working tree, or a revision of a repository.
pub(super) struct OwnTree<'a> {
    pub(super) name: &'a KernelRef,
    pub(super) path: &'a Path,
    /// `None` for the working tree.
    pub(super) revision: Option<&'a str>,
    pub(super) configured: &'a Configured,
    pub(super) clean: bool,
    /// Whether the recording is to hold no difference from the commit.
    pub(super) nodiff: bool,
}

/// Means to configure and build a kernel.
struct Means {
    base: String,
    tools: Tools,
    tools_sha256: Digest,
    packages: Vec<Package>,
}

impl KernelSource for OwnTree<'_> {
    fn resolve(&self, supplies: &Supplies<'_>) -> Result<ProvisionedKernel, KernelError> {
        self.find(supplies, self.revision, None, false)
    }

    /// Builds the commit that a recording names, if the store lost its kernel. A working tree is as
    /// it is now.
    fn pin(
        &self,
        supplies: &Supplies<'_>,
        recorded: &Kernel,
    ) -> Result<ProvisionedKernel, KernelError> {
        let kernel = self.again(supplies, recorded, false)?;
        if kernel.kernel.image_sha256 != recorded.image_sha256 {
            return Err(KernelError::NotAgain(match self.revision {
                Some(_) => "another compiler or preemptlab builds another kernel from this commit",
                None => "the tree has changed since",
            }));
        }
        Ok(kernel)
    }

    fn keep_kit(&self, supplies: &Supplies<'_>, built: &Kernel) -> Result<(), KernelError> {
        self.again(supplies, built, true).map(drop)
    }

    fn check(&self, supplies: &Supplies<'_>) -> Result<(), KernelError> {
        let checkout = self.checkout(self.revision)?;
        if self.clean {
            let tree = Tree::open(&supplies.store, &checkout, supplies.on_event)?;
            checkout.check_clean(tree.listed()).map_err(KbuildError::from)?;
        }
        checkout.check_guest(supplies.arch).map_err(KbuildError::from)?;
        if let ConfigBase::File(path) = &self.configured.base {
            read_base(path, supplies.arch)?;
        }
        version(&checkout).map(drop)
    }

    fn is_own(&self) -> bool {
        true
    }

    fn is_built(&self) -> bool {
        true
    }

    fn stranger(&self) -> Option<Stranger> {
        // The reader of a file reports that it cannot be read.
        match self.revision {
            Some(_) => stranger_of_repository(self.path, &Repository::around(self.path).ok()?),
            None => stranger_of_tree(self.path).ok()?,
        }
    }
}

impl OwnTree<'_> {
    /// Finds the kernel of the commit that a kernel is of.
    fn again(
        &self,
        supplies: &Supplies<'_>,
        kernel: &Kernel,
        for_kit: bool,
    ) -> Result<ProvisionedKernel, KernelError> {
        let commit = kernel.source.as_ref().and_then(|source| source.revision.as_deref());
        let revision = self.revision.map(|revision| commit.unwrap_or(revision));
        self.find(supplies, revision, Some(&kernel.packages), for_kit)
    }

    fn checkout(&self, revision: Option<&str>) -> Result<Checkout, KbuildError> {
        Ok(match revision {
            Some(revision) => Checkout::of_revision(self.path, revision)?,
            None => Checkout::of_tree(self.path)?,
        })
    }

    /// Builds it, unless the store has it; for its kit, unless the store has the kit.
    fn find(
        &self,
        supplies: &Supplies<'_>,
        revision: Option<&str>,
        exactly: Option<&[Package]>,
        for_kit: bool,
    ) -> Result<ProvisionedKernel, KernelError> {
        let store = &supplies.store;
        if !crate::kernel::toolchain::is_plain(store.root()) {
            return Err(KbuildError::Path(store.root().to_owned()).into());
        }
        let checkout = self.checkout(revision)?;
        let version = version(&checkout)?;
        let means = self.means(supplies, &version, exactly)?;
        let mut tree = Tree::open(store, &checkout, supplies.on_event)?;
        if self.clean {
            checkout.check_clean(tree.listed()).map_err(KbuildError::from)?;
        }
        checkout.check_guest(supplies.arch).map_err(KbuildError::from)?;
        // The description for a recording comes first: the tree may change while it is built.
        let provenance = checkout.provenance(tree.listed()).map_err(KbuildError::from)?;
        let job = Job {
            name: self.name,
            configured: self.configured,
            base: &means.base,
            tools: &means.tools,
            tools_sha256: means.tools_sha256,
            version,
        };
        let kit = tree.kit(&job);
        if tree.built(store, &job).is_none() || for_kit && !kit.is_kept(store) {
            if !supplies.builds {
                return Err(KbuildError::NotBuilt.into());
            }
            if let Some(stranger) = tree.stranger().filter(|_| !supplies.build_scripts) {
                let (name, stranger) = (self.name.to_string(), stranger.clone());
                return Err(KbuildError::Tree(TreeError::Foreign { name, stranger }).into());
            }
            let keep = |image: &[u8]| {
                let _lock = supplies.lock()?;
                keep_image(store, image)
            };
            tree.build(store, &job, keep, supplies.on_event)?;
        }
        let built = tree.built(store, &job).ok_or(KbuildError::NotBuilt)?;

        let image = store.kernel_image(built.image_sha256);
        let bytes = read_bounded(&image)?;
        let release = (arch::of(supplies.arch).release_of)(&bytes)
            .map_err(|error| KernelError::Image { path: image.clone(), error })?;
        let config = built.folder.join(CONFIG_FILE);
        let config_sha256 = Digest::of(&read_bounded(&config)?);
        let config = read_config(&config)?;
        let mut kernel = Kernel::new(
            self.name.clone(),
            release,
            built.image_sha256,
            means.packages,
            config.as_ref(),
        );
        kernel.source = Some(Box::new(Source {
            revision: provenance.revision,
            describe: provenance.describe,
            dirty: provenance.dirty,
            tree_sha256: tree.digest(),
            compiler: built.compiler,
            config_sha256,
            defconfig: built.defconfig,
            diff: provenance.diff.filter(|_| !self.nodiff),
        }));
        let modules = ModuleSource::Folder(built.folder);
        let headers = kit_of(config.as_ref(), kit, BuiltWith::Here(means.tools));
        Ok(ProvisionedKernel { kernel, image, config, modules, headers })
    }

    /// Finds the configuration and the compiler: the machine's own, or else Debian's for the series.
    fn means(
        &self,
        supplies: &Supplies<'_>,
        version: &str,
        exactly: Option<&[Package]>,
    ) -> Result<Means, KernelError> {
        let base = match &self.configured.base {
            ConfigBase::Lab => Some(lab(supplies.arch)),
            ConfigBase::Debian(_) => None,
            ConfigBase::File(path) => Some(read_base(path, supplies.arch)?),
        };
        // A recording says which packages built its kernel.
        let own = match exactly {
            Some(packages) if packages.iter().any(|package| package.name.starts_with("gcc-")) => {
                None
            }
            _ => Tools::of_machine(supplies.guest()),
        };
        if let (Some(base), Some(tools)) = (&base, &own) {
            let (base, tools_sha256) = (base.clone(), tools.digest());
            return Ok(Means { base, tools: tools.clone(), tools_sha256, packages: Vec::new() });
        }
        let flavour = match self.configured.base {
            ConfigBase::Debian(flavour) => flavour,
            ConfigBase::Lab | ConfigBase::File(_) => Flavour::Generic,
        };
        let lock = supplies.lock()?;
        supplies.with_both(&lock, |both| {
            let Packages { here: debian, guest } = both;
            let recorded = exactly.filter(|packages| !packages.is_empty());
            let (config, mut tools) = match recorded {
                Some(packages) => {
                    let (config, tools) = sources::exactly(both, packages)?;
                    (config, Some(tools))
                }
                None => (sources::configurations_near(guest, version)?, None),
            };
            let of_debian = sources::configuration(guest, &config, flavour)?;
            let mut packages = vec![config.package.clone()];
            let (tools, tools_sha256) = match own {
                Some(tools) => {
                    let sha256 = tools.digest();
                    (tools, sha256)
                }
                None => {
                    let compiler =
                        config::compiler(&of_debian, debian.guest()).ok_or_else(|| {
                            PackageError::Lacks {
                                package: config.package.name.to_string(),
                                what: "configuration that names its compiler".to_owned(),
                            }
                        })?;
                    let candidates = match tools.take() {
                        Some(candidates) => candidates,
                        None => sources::compiler(debian, &compiler)?,
                    };
                    let toolchain = Toolchain::new(candidates, debian.guest());
                    packages.extend(toolchain.packages().cloned());
                    let programs =
                        toolchain.unpacked(debian, &supplies.store, &lock, supplies.on_event)?;
                    (Tools::of_packages(&programs, &compiler), toolchain.digest())
                }
            };
            Ok(Means { base: base.unwrap_or(of_debian), tools, tools_sha256, packages })
        })
    }
}

/// Reads the kernel's own version from its Makefile.
fn version(checkout: &Checkout) -> Result<String, KernelError> {
    let text = checkout.file("Makefile").map_err(KbuildError::from)?;
    let text = String::from_utf8_lossy(&text);
    let value = |name: &str| {
        let is_it = |line: &&str| line.split('=').next().is_some_and(|word| word.trim() == name);
        let line = text.lines().take(20).find(is_it)?;
        let number = line.split_once('=')?.1.trim();
        number.bytes().all(|byte| byte.is_ascii_digit()).then(|| number.to_owned())
    };
    match (value("VERSION"), value("PATCHLEVEL"), value("SUBLEVEL")) {
        (Some(version), Some(level), sublevel) if !version.is_empty() && !level.is_empty() => {
            let sublevel = sublevel.filter(|sublevel| !sublevel.is_empty() && sublevel != "0");
            let sublevel = sublevel.map(|sublevel| format!(".{sublevel}")).unwrap_or_default();
            Ok(format!("{version}.{level}{sublevel}"))
        }
        _ => {
            let lacks = "Makefile with a kernel's version";
            let path = checkout.folder().to_owned();
            Err(KbuildError::from(TreeError::NotAKernel { path, lacks }).into())
        }
    }
}
