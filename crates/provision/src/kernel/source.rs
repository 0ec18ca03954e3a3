//! `source:VERSION`: kernels built from Debian's source.

use preemptlab_model::{Arch, ConfigBase, Configured, Kernel, KernelRef, Package, Symbols};

use super::provisioned::{
    KernelError, KernelSource, ProvisionedKernel, keep_image, kit_of, read_base, read_bounded,
    read_config,
};
use crate::{
    KbuildError, StoreLock, arch,
    kernel::{
        kbuild::{Built, Recipe, Wanted, lab},
        modules::ModuleSource,
    },
    supplies::Supplies,
};

/// A series or a version of Debian's source, and how it is configured.
pub(super) struct FromSource<'a> {
    pub(super) name: &'a KernelRef,
    pub(super) version: &'a str,
    pub(super) configured: &'a Configured,
}

impl KernelSource for FromSource<'_> {
    fn resolve(&self, supplies: &Supplies<'_>) -> Result<ProvisionedKernel, KernelError> {
        self.find(supplies, None)
    }

    fn pin(
        &self,
        supplies: &Supplies<'_>,
        recorded: &Kernel,
    ) -> Result<ProvisionedKernel, KernelError> {
        let kernel = self.find(supplies, Some(&recorded.packages))?;
        if kernel.kernel.image_sha256 != recorded.image_sha256 {
            let reason = "this preemptlab builds another kernel from the same packages; use the one \
                          that made the recording";
            return Err(KernelError::NotAgain(reason));
        }
        Ok(kernel)
    }

    fn keep_kit(&self, supplies: &Supplies<'_>, built: &Kernel) -> Result<(), KernelError> {
        let Supplies { store, on_event, .. } = supplies;
        let lock = supplies.lock()?;
        let recipe = self.recipe(supplies, &lock, Some(&built.packages))?;
        let programs = supplies
            .with(Arch::HOST, &lock, |debian| recipe.fetch(debian, store, &lock, on_event))?;
        drop(lock);
        Ok(recipe.build_kit(store, &programs, on_event)?)
    }

    fn check(&self, supplies: &Supplies<'_>) -> Result<(), KernelError> {
        self.base(supplies.arch).map(drop)
    }

    fn is_own(&self) -> bool {
        matches!(self.configured.base, ConfigBase::File(_))
    }

    fn is_built(&self) -> bool {
        true
    }
}

impl FromSource<'_> {
    /// Returns the configuration that it starts from; `None` for Debian's.
    fn base(&self, arch: Arch) -> Result<Option<String>, KernelError> {
        Ok(match &self.configured.base {
            ConfigBase::Debian(_) => None,
            ConfigBase::Lab => Some(lab(arch)),
            ConfigBase::File(path) => Some(harmless(&read_base(path, arch)?)),
        })
    }

    fn recipe(
        &self,
        supplies: &Supplies<'_>,
        lock: &StoreLock,
        exactly: Option<&[Package]>,
    ) -> Result<Recipe, KernelError> {
        let base = self.base(supplies.arch)?;
        let wanted = Wanted {
            name: self.name,
            version: self.version,
            configured: self.configured,
            base: base.as_deref(),
        };
        supplies.with_both(lock, |packages| Recipe::find(packages, &wanted, exactly))
    }

    /// Builds it from the newest packages or from exactly these, unless the store has it. The store's
    /// lock is not held while it is built.
    fn find(
        &self,
        supplies: &Supplies<'_>,
        exactly: Option<&[Package]>,
    ) -> Result<ProvisionedKernel, KernelError> {
        let Supplies { store, on_event, .. } = supplies;
        let lock = supplies.lock()?;
        let recipe = self.recipe(supplies, &lock, exactly)?;
        if recipe.built(store).is_none() {
            if !supplies.builds {
                return Err(KbuildError::NotBuilt.into());
            }
            let programs = supplies
                .with(Arch::HOST, &lock, |debian| recipe.fetch(debian, store, &lock, on_event))?;
            drop(lock);
            let keep = |image: &[u8]| {
                let _lock = supplies.lock()?;
                keep_image(store, image)
            };
            recipe.build(store, &programs, keep, on_event)?;
        }
        let built = recipe.built(store).ok_or(KbuildError::NotBuilt)?;
        kernel(supplies, self.name, &recipe, built)
    }
}

/// Returns the lines of a configuration that a name could say as well. An experiment of a stranger
/// may bring the file, and the other texts of a configuration name files of this machine, or reach
/// a shell.
fn harmless(config: &str) -> String {
    let is_harmless = |line: &&str| {
        let line = match line.strip_prefix("# ").and_then(|line| line.strip_suffix(" is not set")) {
            Some(name) => format!("{name}=n"),
            // A module is switched off like every other one.
            None => line.strip_suffix("=m").map_or((*line).to_owned(), |name| format!("{name}=n")),
        };
        let symbol = line.strip_prefix("CONFIG_").unwrap_or_default();
        symbol.split('=').count() == 2 && format!("+{symbol}").parse::<Symbols>().is_ok()
    };
    config.lines().filter(is_harmless).flat_map(|line| [line, "\n"]).collect()
}

fn kernel(
    supplies: &Supplies<'_>,
    name: &KernelRef,
    recipe: &Recipe,
    built: Built,
) -> Result<ProvisionedKernel, KernelError> {
    let image = supplies.store.kernel_image(built.image_sha256);
    let bytes = read_bounded(&image)?;
    let release_of = arch::of(supplies.arch).release_of;
    let release =
        release_of(&bytes).map_err(|error| KernelError::Image { path: image.clone(), error })?;
    let config = read_config(&built.config)?;
    let kernel =
        Kernel::new(name.clone(), release, built.image_sha256, recipe.packages(), config.as_ref());
    // The folder holds no module, and says which symbols are built in.
    let modules = ModuleSource::Folder(built.folder);
    let headers = kit_of(config.as_ref(), recipe.kit(&supplies.store), recipe.built_with());
    Ok(ProvisionedKernel { kernel, image, config, modules, headers })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_name_could_say_is_taken_of_a_file() {
        let taken = "CONFIG_SMP=y\n# CONFIG_PREEMPT is not set\nCONFIG_EXT4_FS=m\nCONFIG_HZ=250\n\
                     CONFIG_START=0x1f\nCONFIG_LOCALVERSION=\"-mine\"\n";
        assert_eq!(harmless(taken), taken);
        for line in [
            "CONFIG_CC_VERSION_TEXT=\"$(touch canary)\"",
            "CONFIG_LOCALVERSION=\"`touch canary`\"",
            "CONFIG_INITRAMFS_SOURCE=\"/etc\"",
            "CONFIG_SYSTEM_TRUSTED_KEYS=\"/etc/shadow\"",
            "CONFIG_CMDLINE=\"a\"+INITRAMFS_SOURCE=\"/etc\"",
            "CONFIG_A=y+B=\"x\"",
            "CONFIG_A=$(shell x)",
            "CONFIG_HZ=`x`",
            "# a comment",
            "$(shell x)",
            "",
        ] {
            assert_eq!(harmless(line), "", "{line}");
        }
    }
}
