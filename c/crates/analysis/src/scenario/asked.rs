use std::path::PathBuf;

use preemptlab_model::KernelRef;
use preemptlab_scenario::{Model, Scenario};

/// A scenario, or a variant of one, and the file that it is from.
#[derive(Clone)]
pub struct Loaded {
    /// Path of the file.
    pub path: PathBuf,
    /// Scenario in the file.
    pub scenario: Scenario,
}

/// Conditions under which scenarios are played.
#[derive(Clone, Copy, Debug)]
pub struct Under<'a> {
    /// The kernel, in whatever flavour.
    pub kernel: &'a KernelRef,
    /// The models, the first of which the others are compared with.
    pub models: &'a [Model],
}

impl Under<'_> {
    pub(super) fn kernel_of(self, model: Model) -> KernelRef {
        self.kernel.in_flavour(model.flavour())
    }
}
