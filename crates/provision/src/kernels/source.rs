//! `source:VERSION`: kernels built from Debian's source.

use preemptlab_model::{Flavour, Kernel, KernelRef, Package, Symbols};
use preemptlab_symbols::release_of;

use super::kernel::{
    KernelError, KernelSource, ProvisionedKernel, keep_image, read_bounded, read_config,
};
use crate::{
    KbuildError, Store,
    kbuild::{Built, Recipe},
    kmod::Headers,
    modules::ModuleSource,
    supplies::Supplies,
};

/// A series or a version of Debian's source, and how it is configured.
pub(super) struct FromSource<'a> {
    pub(super) name: &'a KernelRef,
    pub(super) version: &'a str,
    pub(super) flavour: Flavour,
    pub(super) symbols: &'a Symbols,
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
}

impl FromSource<'_> {
    /// Builds it from the newest packages or from exactly these, unless the store has it. The store's
    /// lock is not held while it is built.
    fn find(
        &self,
        supplies: &Supplies<'_>,
        exactly: Option<&[Package]>,
    ) -> Result<ProvisionedKernel, KernelError> {
        let Supplies { store, on_event, .. } = supplies;
        let wanted = (self.name, self.version, self.flavour, self.symbols);
        let lock = supplies.lock()?;
        let recipe = supplies.with_apt(&lock, |apt| Recipe::find(apt, wanted, exactly))?;
        if recipe.built(store).is_none() {
            if !supplies.builds {
                return Err(KbuildError::NotBuilt.into());
            }
            let programs =
                supplies.with_apt(&lock, |apt| recipe.fetch(apt, store, &lock, on_event))?;
            drop(lock);
            let keep = |image: &[u8]| {
                let _lock = supplies.lock()?;
                keep_image(store, image)
            };
            recipe.build(store, &programs, keep, on_event)?;
        }
        let built = recipe.built(store).ok_or(KbuildError::NotBuilt)?;
        kernel(store, self.name, &recipe, built)
    }
}

fn kernel(
    store: &Store,
    name: &KernelRef,
    recipe: &Recipe,
    built: Built,
) -> Result<ProvisionedKernel, KernelError> {
    let image = store.kernel_image(built.image_sha256);
    let bytes = read_bounded(&image)?;
    let release =
        release_of(&bytes).map_err(|error| KernelError::BzImage { path: image.clone(), error })?;
    let config = read_config(&built.config)?;
    let kernel =
        Kernel::new(name.clone(), release, built.image_sha256, recipe.packages(), config.as_ref());
    // The folder holds no module, and says which symbols are built in.
    let modules = ModuleSource::Folder(built.folder);
    let reason = "of a kernel that is built from source no build tree is kept";
    Ok(ProvisionedKernel { kernel, image, config, modules, headers: Headers::None(reason.into()) })
}
