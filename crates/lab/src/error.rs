use preemptlab_model::KernelRef;
use preemptlab_provision::{AptError, ImageError, KernelError, ModuleError, QemuError};

/// Why an experiment cannot be prepared.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// A kernel cannot be had.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// A kernel module cannot be had.
    #[error(transparent)]
    Module(#[from] ModuleError),
    /// QEMU cannot be had.
    #[error(transparent)]
    Qemu(#[from] QemuError),
    /// A package of the guest image cannot be had.
    #[error(transparent)]
    Packages(#[from] AptError),
    /// The guest image cannot be built.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// A recording was made with a kernel that is not the one at hand under its name.
    #[error(
        "the recording was made with {name} as {release}, which cannot be had any more: {reason}"
    )]
    KernelGone {
        /// How the experiment named it.
        name: KernelRef,
        /// What it was.
        release: String,
        /// What is there instead, or what went wrong.
        reason: String,
    },
    /// A recording was made with another QEMU.
    #[error(
        "the recording was made with QEMU {recorded}, and this is {present}; name the same build \
         with --qemu, or run the experiment anew into another folder"
    )]
    OtherQemu {
        /// The recording's build.
        recorded: String,
        /// The one at hand.
        present: String,
    },
    /// A recording was made with a guest image that this preemptlab does not build.
    #[error(
        "the recording was made with another guest image; run it with the preemptlab that made \
         it, or run the experiment anew into another folder"
    )]
    OtherImage,
}
