//! The cells of a decision: look after look, until it is decided or the budget ends.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use preemptlab_analysis::{
    Cells, Keep,
    gate::{Side, common_modes, judged, without_cells},
};
use preemptlab_experiment::{
    KernelLevel, Manifest, Overrides, Recording, RecordingWriter, add_replicates,
};
use preemptlab_lab::Preparation;
use preemptlab_model::{BackendKind, Digest, Factors, KernelRef, RECORDING_FORMAT, counted};
use preemptlab_recording::Until;
use preemptlab_report::human;
use preemptlab_stats::{Gate, GateRule, GateVerdict, Looks};

use super::options::GateArgs;
use crate::{
    args::kernel_level,
    budget::Budget,
    exit,
    lab::{self, Wanted},
    output::Output,
    session::{Execute, Session},
};

/// The experiment of a gate that is given none.
const EXPERIMENT: &str = include_str!("../../../../../studies/gate.toml");

/// What that experiment is called in errors.
const EXPERIMENT_PATH: &str = "studies/gate.toml";

/// Labels of the two kernels, unless they have others.
pub const LABELS: [&str; 2] = ["base", "new"];

/// Runs both kernels at the same seeds, and decides.
pub fn decide(
    args: &GateArgs,
    rule: &GateRule,
    store: Option<PathBuf>,
    output: &Output,
) -> exit::Result<Gate> {
    let levels = [level(&args.base, LABELS[0])?, level(&args.new, LABELS[1])?];
    let names = [levels[0].kernel.clone(), levels[1].kernel.clone()];
    let is_one = names[0] == names[1];
    let kernels = if is_one { &levels[..1] } else { &levels[..] };
    let overrides = Overrides {
        kernels: kernels.to_vec(),
        preempt: args.preempt.clone(),
        seed: args.seed,
        ..Overrides::default()
    };
    let mut wanted = match &args.experiment {
        Some(path) => lab::experiment(path, &overrides)?,
        None => lab::parsed(EXPERIMENT.to_owned(), Path::new(EXPERIMENT_PATH), &overrides)?,
    };
    let manifest = resolved(args, &wanted, store.clone(), output)?;
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
        if args.experiment.is_none() && args.preempt.is_empty() {
            modes.truncate(1);
        }
    }
    let out = match &args.out {
        Some(out) => out.clone(),
        // A tree that was edited since is another kernel, and has another recording.
        None => {
            let digest = Digest::of_json(&(&wanted.experiment, &manifest.kernels));
            lab::chosen(format!("gate-{}", digest.short()))
        }
    };
    let Wanted { experiment, folders, overrides } = wanted;
    let session = Session {
        experiment,
        folders,
        overrides,
        out: &out,
        store,
        machines: &args.machines,
        packages: &args.packages,
        backend: BackendKind::Vm,
        no_cache: false,
        retry_failed: false,
        trace: !args.no_trace,
        engine: None,
    };
    session.open(output, |writer, jobs, execute| {
        check_first_look(args.budget, writer.recording())?;
        let gate = looks(args, rule, &names, writer, jobs, output, execute)?;
        output.note(format!(
            "recorded in {0}; next: preemptlab compare {0}, preemptlab explain {0}",
            out.path().display()
        ));
        Ok(gate)
    })
}

/// Reads a kernel, which has this label unless it has another.
fn level(text: &str, label: &str) -> exit::Result<KernelLevel> {
    let level = kernel_level(text).map_err(exit::unusable)?;
    let label = level.label.or_else(|| label.parse().ok());
    Ok(KernelLevel { label, ..level })
}

/// Builds or fetches the kernels, and returns the recording that would begin with them.
fn resolved(
    args: &GateArgs,
    wanted: &Wanted,
    store: Option<PathBuf>,
    output: &Output,
) -> exit::Result<Manifest> {
    let store = lab::store(store)?;
    lab::with_provision(store, &args.packages, output, |provision| {
        let provision = provision.with_build_scripts(args.machines.allow_build_scripts);
        let lab =
            Preparation::new(provision, args.machines.qemu.clone()).with_folders(&wanted.folders);
        Ok(lab.resolve(wanted.experiment.clone())?.manifest)
    })
}

/// Refuses a budget of fewer cells than the first look has. A recording that has all of its cells executes
/// none.
fn check_first_look(budget: Budget, recording: &Recording) -> exit::Result<()> {
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
            Err(exit::failure(exit::CELLS_FAILED, message))
        }
        Budget::Cells(_) | Budget::Time(_) => Ok(()),
    }
}

/// Executes the planned cells, decides, plans more, and so on.
fn looks(
    args: &GateArgs,
    rule: &GateRule,
    names: &[KernelRef; 2],
    writer: &mut RecordingWriter,
    jobs: usize,
    output: &Output,
    execute: &mut Execute<'_>,
) -> exit::Result<Gate> {
    let started = Instant::now();
    loop {
        let (_, cell_wall) = execute(writer)?;
        let recording = writer.recording();
        let cells = Cells::read(&[recording], Keep::Sections)?;
        let [base, new] =
            names.each_ref().map(|kernel| Side { recording, cells: cells.all(), kernel });
        let gate = judged(base, new, rule.clone())?;
        let needed = match gate.verdict {
            GateVerdict::Undecided => needed(&gate, writer, names),
            GateVerdict::NoWorse | GateVerdict::Worse => Vec::new(),
        };
        if needed.is_empty() {
            return Ok(gate);
        }
        let planned = recording.planned().count();
        let more: usize = needed.iter().map(|(_, _, more)| more).sum();
        let rounds = u32::try_from(more.div_ceil(jobs)).unwrap_or(u32::MAX);
        let wall: Duration = cell_wall * rounds;
        let what = format!(
            "look {}: not decided; {} more would take about {}",
            gate.looks,
            counted(more, "cell"),
            human(wall)
        );
        if !args.budget.allows(planned + more, started.elapsed() + wall) {
            output.note(format!("{what}, which the budget does not allow"));
            return Ok(gate);
        }
        output.note(what);
        if recording.until().is_none() {
            writer.begin_until(&until(rule))?;
        }
        let wanted: Vec<(Factors, u32)> =
            needed.into_iter().map(|(factors, replicates, _)| (factors, replicates)).collect();
        if add_replicates(writer, &wanted)? == 0 {
            return Ok(gate);
        }
    }
}

/// Returns the configurations that need more replicates: one of their cells, how many they need in all,
/// and how many of these they lack.
fn needed(
    gate: &Gate,
    writer: &RecordingWriter,
    names: &[KernelRef; 2],
) -> Vec<(Factors, u32, usize)> {
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
            let planned = writer.recording().planned().map(|(_, cell)| &cell.factors);
            let planned: Vec<&Factors> = planned.filter(of_it).collect();
            let Some(first) = planned.first() else { continue };
            let count = u32::try_from(planned.len()).unwrap_or(u32::MAX);
            let next = Looks::next(count);
            needed.push(((*first).clone(), next, (next - count) as usize));
        }
    }
    needed
}

/// Returns the rule that the recording keeps, so that `compare` knows that there are looks.
fn until(rule: &GateRule) -> Until {
    Until {
        format: RECORDING_FORMAT,
        margin: rule.margins.share.share(),
        metrics: rule.metrics.iter().map(ToString::to_string).collect(),
        baseline: None,
    }
}
