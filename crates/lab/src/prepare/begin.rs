use std::path::Path;

use preemptlab_experiment::{Derived, Experiment, Recording};
use preemptlab_model::{Setting, Settings, settable};
use preemptlab_recording::{Override, RecordingError};

use super::{Preparation, PrepareError, Prepared};

/// Checks whether the machine's own kernel can execute an experiment. A kernel parameter needs a
/// boot, which this function does not prepare.
///
/// # Errors
///
/// When this process lacks the rights, or the experiment holds a setting that no machine is given,
/// or a topology.
pub fn check_host(experiment: &Experiment) -> Result<(), PrepareError> {
    if experiment.machine.topology.is_some() {
        return Err(PrepareError::OwnTopology);
    }
    let levels = experiment.factors.settings.iter();
    let mut run_time = levels
        .flat_map(Settings::iter)
        .filter(|setting| !matches!(setting, Setting::Parameter { .. } | Setting::Lab(_)));
    run_time.try_for_each(settable)?;
    Ok(preemptlab_backend_host::check()?)
}

/// Describes the values with which an experiment was run.
fn made_with(overrides: &[Override]) -> String {
    let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
    match overrides.is_empty() {
        true => "made as its file says".to_owned(),
        false => format!("made with {}", overrides.join(" and ")),
    }
}

impl Preparation<'_> {
    /// Continues the recording in `out` exactly as it was begun, or begins one.
    ///
    /// # Errors
    ///
    /// When it is a recording of something else, or something that it needs is unavailable.
    pub fn begin_or_go_on(
        &self,
        experiment: Experiment,
        out: &Path,
    ) -> Result<Prepared, PrepareError> {
        let experiment = self.with_running_kernel(experiment);
        if !preemptlab_recording::exists(out) {
            return self.resolve(experiment);
        }
        let recording = Recording::open(out)?;
        let manifest = recording.manifest();
        let other = |what| PrepareError::from(RecordingError::Other { path: out.to_owned(), what });
        if manifest.backend != self.backend {
            return Err(other(format!("made with --backend {}", manifest.backend)));
        }
        let experiment = self.with_files_of_host(experiment);
        let experiment = experiment.with_clocks_of(&manifest.experiment);
        let experiment = experiment.with_kernels_of(&manifest.experiment);
        if manifest.experiment != experiment {
            let mut of_its_kernel = experiment.clone();
            of_its_kernel.factors.kernel.clone_from(&manifest.experiment.factors.kernel);
            return Err(other(if manifest.experiment == of_its_kernel {
                let names = manifest.experiment.factors.kernels().map(ToString::to_string);
                format!("on {}", names.collect::<Vec<_>>().join(", "))
            } else if manifest.experiment.name != experiment.name {
                format!("`{}`", manifest.experiment.name)
            } else if self.overrides.is_empty() && manifest.overrides.is_empty() {
                "the file was changed since".to_owned()
            } else {
                made_with(&manifest.overrides)
            }));
        }
        // Before anything is asked for in its name.
        self.go_on(Derived::check(&recording)?)
    }
}
