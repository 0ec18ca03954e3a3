//! The machine's own kernels.

use std::path::Path;

use preemptlab_experiment::Experiment;
use preemptlab_model::{BackendKind, Kernel, KernelRef};
use preemptlab_provision::Event;

use super::{Preparation, PrepareError};

impl Preparation<'_> {
    /// Gives the kernel `host` its release, so that the recording names it, whatever is booted
    /// later.
    pub(crate) fn with_running_kernel(&self, mut experiment: Experiment) -> Experiment {
        for level in &mut experiment.factors.kernel {
            if level.kernel.is_running() && self.backend == BackendKind::Host {
                let release = Some(preemptlab_system::host::release());
                level.kernel = KernelRef::Host { release };
            }
        }
        experiment
    }

    /// Puts the files of loads on tmpfs where cells are executed on the machine's own kernel, which is given no disk, and
    /// says so.
    pub(crate) fn with_files_of_host(&self, mut experiment: Experiment) -> Experiment {
        if self.backend == BackendKind::Host {
            for (name, workload) in &mut experiment.workload {
                if workload.put_files_on_tmpfs() {
                    self.provision.tell(Event::Warning(format!(
                        "the files of `{name}` are on tmpfs: the machine's own kernel is given no disk"
                    )));
                }
            }
        }
        experiment
    }

    /// Returns the kernel that a name means on a backend; `None` where it is not this machine's.
    ///
    /// # Errors
    ///
    /// [`PrepareError`] when the kernel is not installed.
    pub(crate) fn installed(
        backend: BackendKind,
        name: &KernelRef,
    ) -> Result<Option<Kernel>, PrepareError> {
        if backend != BackendKind::Host || !name.is_host() {
            return Ok(None);
        }
        let release = name.host_release().map(str::to_owned);
        let release = release.unwrap_or_else(preemptlab_system::host::release);
        let kernel = preemptlab_system::host::installed(Path::new("/"), &release)?;
        Ok(Some(Kernel { name: name.clone(), ..kernel }))
    }
}
