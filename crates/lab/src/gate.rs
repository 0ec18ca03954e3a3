//! Whether a kernel is worse than another.

use std::path::{Path, PathBuf};

use preemptlab_analysis::{
    Cells, Compared, GivenRule, Keep, Notice,
    gate::{Side, common_modes, judged, without_cells},
};
use preemptlab_experiment::{KernelLevel, Manifest, Overrides, Recording, RecordingWriter};
use preemptlab_files::OutFolder;
use preemptlab_model::{
    Arch, BackendKind, Digest, Factors, KernelRef, MetricName, PreemptMode, RECORDING_FORMAT,
    counted,
};
use preemptlab_recording::Until;
use preemptlab_stats::{Gate, GateRule, GateVerdict, Looks, Needed};

use crate::{
    Asked, Blame, Budget, Error, Event, Execution, Lab, Result, Wanted, chosen,
    execution::open,
    kernel_level,
    looks::{Question, looks},
};

/// The experiment of a gate that is given none.
const EXPERIMENT: &str = include_str!("../../../studies/gate.toml");

/// The name of that experiment in errors.
const EXPERIMENT_PATH: &str = "studies/gate.toml";

/// The experiment of a gate beside many loads.
const ATLAS: &str = include_str!("../../../studies/gate-atlas.toml");

/// The name of that experiment in errors.
const ATLAS_PATH: &str = "studies/gate-atlas.toml";

/// Labels of the two kernels, unless they have others.
pub const LABELS: [&str; 2] = ["base", "new"];

/// Two kernels, or two recordings of one each, and the question about them.
#[derive(Clone, Debug)]
pub struct GateRequest<'a> {
    /// The kernel that the other is compared with, or its recording.
    pub base: &'a str,
    /// The kernel that may be worse, or its recording.
    pub new: &'a str,
    /// The experiment of both.
    pub experiment: GateExperiment<'a>,
    /// The rule of the decision.
    pub rule: GateRule,
    /// The cost of the decision.
    pub budget: Budget,
    /// The modes in which they are compared; without any, the experiment's.
    pub preempt: &'a [PreemptMode],
    /// The architecture of the guests; `None` for the experiment's.
    pub arch: Option<Arch>,
    /// The seed of the first pair of cells.
    pub seed: Option<u64>,
    /// Keeps traces, which explain a worse kernel's worst wakeup.
    pub trace: bool,
    /// The recording's folder.
    pub out: Option<OutFolder>,
}

/// Experiment of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateExperiment<'a> {
    /// The gate's own: beside hackbench.
    Own,
    /// The gate's own beside many loads, of which sections decide.
    Atlas,
    /// That of a file.
    File(&'a Path),
}

impl<'a> From<Option<&'a Path>> for GateExperiment<'a> {
    fn from(file: Option<&'a Path>) -> Self {
        file.map_or(Self::Own, Self::File)
    }
}

/// Decides whether a kernel is worse than another. Two kernels are run at the same seeds, look after look.
///
/// # Errors
///
/// When a kernel or a recording cannot be used, the budget is too small for the first look, or the machine or
/// the user ends it.
pub fn gate(lab: &Lab<'_>, request: &GateRequest<'_>) -> Result<Gate> {
    let is_recording = |text: &str| preemptlab_recording::exists(Path::new(text));
    match (is_recording(request.base), is_recording(request.new)) {
        (true, true) => of_recordings(lab, request),
        (false, false) => of_kernels(lab, request),
        (is_base, _) => {
            let recording = if is_base { request.base } else { request.new };
            Err(Error::user(format!(
                "{recording} is a recording and the other is none: name two kernels, or two recordings"
            )))
        }
    }
}

fn of_recordings(lab: &Lab<'_>, request: &GateRequest<'_>) -> Result<Gate> {
    let GateRequest { experiment, seed, preempt, arch, .. } = *request;
    let is_own = experiment == GateExperiment::Own;
    if !is_own || seed.is_some() || !preempt.is_empty() || arch.is_some() {
        let message = "two recordings are compared as they are: leave EXPERIMENT, --atlas, --seed, \
                       --preempt and --arch out";
        return Err(Error::user(message));
    }
    let paths = [request.base, request.new].map(PathBuf::from);
    let (compared, notices) = Compared::open(&paths, Keep::Sections, GivenRule::default())?;
    for notice in notices {
        lab.watch.on(match notice {
            Notice::Warning(text) => Event::Warning(text),
            Notice::Note(text) => Event::Note(text),
        });
    }
    let sides = compared.parts().map(Side::only).collect::<Result<Vec<_>, _>>()?;
    Ok(judged(sides[0], sides[1], request.rule.clone())?)
}

/// Runs both kernels at the same seeds, and decides.
fn of_kernels(lab: &Lab<'_>, request: &GateRequest<'_>) -> Result<Gate> {
    let levels = [level(request.base, LABELS[0])?, level(request.new, LABELS[1])?];
    let names = [levels[0].kernel.clone(), levels[1].kernel.clone()];
    let is_one = names[0] == names[1];
    let kernels = if is_one { &levels[..1] } else { &levels[..] };
    let overrides = Overrides {
        kernels: kernels.to_vec(),
        preempt: request.preempt.to_vec(),
        arch: request.arch,
        seed: request.seed,
        ..Overrides::default()
    };
    let mut wanted = wanted(request.experiment, &overrides)?;
    let manifest = resolved(lab, &wanted)?;
    if let Some(gate) = without_cells(&manifest, [&names[0], &names[1]])? {
        // Of one kernel an experiment keeps one label.
        let [_, new] = &levels;
        let named = new.label.as_ref().map(|label| format!("{label} ({})", new.kernel));
        let new = named.filter(|_| is_one).unwrap_or_else(|| gate.new.clone());
        return Ok(Gate { new, ..gate });
    }
    if let (Some(base), Some(new)) = (manifest.kernel(&names[0]), manifest.kernel(&names[1])) {
        let modes = &mut wanted.experiment.factors.preempt;
        *modes = common_modes([base, new], modes);
        // A gate's own experiment names them in the order of preference.
        let is_own = !matches!(request.experiment, GateExperiment::File(_));
        if is_own && request.preempt.is_empty() {
            modes.truncate(1);
        }
    }
    let out = match &request.out {
        Some(out) => out.clone(),
        // A tree that was edited since is another kernel, and has another recording.
        None => {
            let digest = Digest::of_json(&(&wanted.experiment, &manifest.kernels));
            chosen(format!("gate-{}", digest.short()))
        }
    };
    let execution = Execution {
        wanted,
        out: &out,
        backend: BackendKind::Vm,
        no_cache: false,
        retry_failed: false,
        trace: request.trace,
        engine: None,
    };
    let rule = rule(request);
    let question = IsWorse { rule: &rule, names: &names, budget: request.budget };
    let (_, gate) = open(lab, &execution, |writer, bench| {
        Ok(looks(lab, &question, Some(request.budget), writer, bench)?.1)
    })?;
    let out = out.path();
    lab.note(format!(
        "recorded in {0}; next: preemptlab compare {0}, preemptlab explain {0}",
        out.display()
    ));
    Ok(gate)
}

/// Returns the rule of the decision. Beside many loads the sections decide, with the latency that they make, where the
/// user names no metric.
fn rule(request: &GateRequest<'_>) -> GateRule {
    let mut rule = request.rule.clone();
    if request.experiment == GateExperiment::Atlas && rule.metrics.is_empty() {
        rule.metrics = vec![MetricName::BOUND_P99_9];
    }
    rule
}

/// Reads the experiment of a file, or one of the gate's own.
pub(crate) fn wanted(experiment: GateExperiment<'_>, overrides: &Overrides) -> Result<Wanted> {
    let own = |text: &str, path| Wanted::parse(text.to_owned(), Path::new(path), overrides);
    match experiment {
        GateExperiment::File(path) => Wanted::read(path, overrides),
        GateExperiment::Own => own(EXPERIMENT, EXPERIMENT_PATH),
        GateExperiment::Atlas => own(ATLAS, ATLAS_PATH),
    }
}

/// Reads a kernel, which has this label unless it has another.
fn level(text: &str, label: &str) -> Result<KernelLevel> {
    let level = kernel_level(text).map_err(Error::user)?;
    let label = level.label.or_else(|| label.parse().ok());
    Ok(KernelLevel { label, ..level })
}

/// Builds or fetches the kernels, and returns the recording that would begin with them.
fn resolved(lab: &Lab<'_>, wanted: &Wanted) -> Result<Manifest> {
    lab.provide(lab.open_store()?, wanted.experiment.machine.arch, |provision| {
        let preparation = lab.preparation(provision).with_folders(&wanted.folders);
        Ok(preparation.resolve(wanted.experiment.clone())?.manifest)
    })
}

/// Question whether the second of two kernels is worse than the first.
struct IsWorse<'a> {
    rule: &'a GateRule,
    names: &'a [KernelRef; 2],
    budget: Budget,
}

impl Question for IsWorse<'_> {
    type Answer = Gate;

    fn begin(&self, writer: &mut RecordingWriter) -> Result<()> {
        check_first_look(self.budget, writer.recording())
    }

    fn judge(&self, writer: &mut RecordingWriter) -> Result<Gate> {
        let recording = writer.recording();
        let cells = Cells::read(&[recording], Keep::Sections)?;
        let cells = cells.all();
        let [base, new] = self.names.each_ref().map(|kernel| Side { recording, cells, kernel });
        Ok(judged(base, new, self.rule.clone())?)
    }

    fn needed(&self, gate: &Gate, recording: &Recording) -> Vec<Needed> {
        match gate.verdict {
            GateVerdict::Undecided => needed(gate, recording, self.names),
            GateVerdict::NoWorse | GateVerdict::Worse => Vec::new(),
        }
    }

    fn keep(&self, writer: &mut RecordingWriter) -> Result<()> {
        match writer.recording().until() {
            Some(_) => Ok(()),
            None => Ok(writer.begin_until(&until(self.rule))?),
        }
    }

    fn asked<'a>(&self, gate: &'a Gate) -> (u32, Asked<'a>) {
        (gate.looks, Asked::Kernels(gate))
    }
}

/// Refuses a budget of fewer cells than the first look has. A recording that has all of its cells executes
/// none.
fn check_first_look(budget: Budget, recording: &Recording) -> Result<()> {
    let (mut planned, mut missing) = (0, 0);
    for (_, cell) in recording.planned().filter(|(_, cell)| cell.inputs().is_some()) {
        planned += 1;
        missing += usize::from(recording.record(cell)?.is_none());
    }
    match budget {
        Budget::Cells(most) if missing > 0 && planned > most => {
            let message = format!(
                "the budget is too small to decide: the first look has {} of both kernels, every workload \
                 and mode together, and --budget allows {most}; give it {planned} or more",
                counted(planned, "cell")
            );
            Err(Error::new(Blame::Cells, message))
        }
        Budget::Cells(_) | Budget::Time(_) => Ok(()),
    }
}

/// Returns the configurations that need more replicates.
fn needed(gate: &Gate, recording: &Recording, names: &[KernelRef; 2]) -> Vec<Needed> {
    let mut needed = Vec::new();
    for place in gate.open_places() {
        for kernel in names {
            let of_it = |factors: &&Factors| {
                let Factors { workload, machine, cpus, preempt, settings, .. } = *factors;
                factors.kernel == *kernel
                    && (workload, machine, *cpus, *preempt, settings)
                        == (
                            &place.workload,
                            &place.machine,
                            place.cpus,
                            place.preempt,
                            &place.settings,
                        )
            };
            let planned = recording.planned().map(|(_, cell)| &cell.factors);
            let planned: Vec<&Factors> = planned.filter(of_it).collect();
            let Some(first) = planned.first() else { continue };
            let count = u32::try_from(planned.len()).unwrap_or(u32::MAX);
            let (factors, replicates) = ((*first).clone(), Looks::next(count));
            needed.push(Needed { factors, replicates, more: replicates - count });
        }
    }
    needed
}

/// Returns the rule that the recording keeps, so that `compare` knows that there are looks.
fn until(rule: &GateRule) -> Until {
    Until {
        format: RECORDING_FORMAT,
        margins: rule.margins.given().iter().map(ToString::to_string).collect(),
        metrics: rule.metrics.iter().map(ToString::to_string).collect(),
        baseline: None,
    }
}
