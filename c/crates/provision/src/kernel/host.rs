//! `host`: the machine's own kernels, which no virtual machine boots.

use preemptlab_model::{Kernel, KernelRef};

use super::provisioned::{KernelError, KernelSource, ProvisionedKernel};
use crate::supplies::Supplies;

/// A kernel that is installed on this machine.
pub(super) struct OfHost<'a>(pub(super) &'a KernelRef);

impl KernelSource for OfHost<'_> {
    fn resolve(&self, _: &Supplies<'_>) -> Result<ProvisionedKernel, KernelError> {
        Err(KernelError::OfHost(self.0.clone()))
    }

    fn pin(&self, supplies: &Supplies<'_>, _: &Kernel) -> Result<ProvisionedKernel, KernelError> {
        self.resolve(supplies)
    }
}
