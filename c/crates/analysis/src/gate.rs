//! Whether a kernel is worse than another: from recordings to the values that `stats::gate` judges.

use preemptlab_experiment::{Experiment, Manifest, Recording};
use preemptlab_model::{Digest, Kernel, KernelRef, MeasuredCell, Planned, PreemptMode, nearest};
use preemptlab_stats::{Gate, GateFailure, GatePlace, GateRule, GateVerdict, Looks, gate};

use crate::{
    Error, Result,
    explain::{Chosen, Explanation, check_probe, latest},
};

/// One of the two kernels that are compared, in its recording.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// The recording of its cells.
    pub recording: &'a Recording,
    /// Cells of the recording, with their sections.
    pub cells: &'a [MeasuredCell],
    /// The kernel.
    pub kernel: &'a KernelRef,
}

impl<'a> Side<'a> {
    /// Returns the only kernel of a recording with these cells.
    ///
    /// # Errors
    ///
    /// When it has several.
    pub fn only((recording, cells): (&'a Recording, &'a [MeasuredCell])) -> Result<Self> {
        let mut kernels = recording.manifest().experiment.factors.kernels();
        let path = recording.path().display();
        match (kernels.next(), kernels.next()) {
            (Some(kernel), None) => Ok(Self { recording, cells, kernel }),
            _ => Err(Error::Unusable(format!(
                "{path} has several kernels, and a gate compares one with one: run each by itself, with \
                 `preemptlab run EXPERIMENT --kernel NAME`, or name the kernels and no recordings"
            ))),
        }
    }

    /// Returns the label and the name of the kernel.
    fn name(self) -> String {
        let experiment = &self.recording.manifest().experiment;
        named(experiment, self.kernel)
    }

    /// Says why the worst wakeup of the real-time probe was late; `None` without a trace of one.
    fn worst_wakeup(self) -> Result<Option<String>> {
        let traces = self.recording.traces();
        let is_traced = |cell: &&MeasuredCell| {
            cell.is_completed() && cell.id.is_some_and(|id| traces.contains(id))
        };
        let Some(worst) = latest(self.of_kernel().into_iter().filter(is_traced)) else {
            return Ok(None);
        };
        let worst = Chosen::read(self.recording, worst)?;
        let Some(worst) = worst.filter(|cell| check_probe(self.recording, cell, false).is_ok())
        else {
            return Ok(None);
        };
        let explanation = Explanation::new(self.recording, &worst, false, 1)?;
        Ok(Some(format!(
            "The worst wakeup of {}, {} us in {}: {}",
            self.name(),
            worst.max_us,
            worst.factors,
            explanation.sentence()
        )))
    }

    fn image(self) -> Option<Digest> {
        self.recording.manifest().kernel(self.kernel).map(|kernel| kernel.image_sha256)
    }

    /// Returns the cells of the kernel.
    fn of_kernel(self) -> Vec<&'a MeasuredCell> {
        self.cells.iter().filter(|cell| cell.factors.kernel == *self.kernel).collect()
    }
}

fn named(experiment: &Experiment, kernel: &KernelRef) -> String {
    match experiment.factors.label(kernel) {
        Some(label) => format!("{label} ({kernel})"),
        None => kernel.to_string(),
    }
}

/// Decides whether the new kernel is worse than the base. The number of looks is that of the
/// recordings.
///
/// # Errors
///
/// When a trace cannot be read, the base has no measurements, both have nothing in common, or
/// nothing has a metric that was asked for.
pub fn judged(base: Side<'_>, new: Side<'_>, rule: GateRule) -> Result<Gate> {
    let names = [base.name(), new.name()];
    check_base(base.recording.manifest(), base.kernel)?;
    let has_looks = [base, new].iter().any(|side| side.recording.until().is_some());
    let rule = GateRule { looks: if has_looks { Looks::Any } else { Looks::One }, ..rule };
    let (base_cells, new_cells) = (base.of_kernel(), new.of_kernel());
    let [of_base, of_new] = [&base_cells, &new_cells].map(|cells| cells.iter().copied());
    let mut judged = gate([&names[0], &names[1]], of_base, of_new, &rule);
    (judged.base_image, judged.new_image) = (base.image(), new.image());
    if let Some(reason) = absent(new.recording.manifest(), new.kernel) {
        return Ok(untestable(judged, GateVerdict::Worse, reason));
    }
    let measured = |cells: &[&MeasuredCell]| cells.iter().any(|cell| cell.result.is_ok());
    if !measured(&base_cells) {
        let reason = reason(&base_cells).unwrap_or_else(|| "none was executed yet".to_owned());
        let message = format!("no cell of the base {} was measured: {reason}", names[0]);
        return Err(Error::Unmeasured(message));
    }
    rule.margins.check(base_cells.iter().chain(&new_cells).copied())?;
    if judged.rows.is_empty() && judged.failures.is_empty() {
        return Err(Error::Unusable(nothing_common(&names, &base_cells, &new_cells, &rule)));
    }
    judged.notes = notes(base, new, &base_cells, &new_cells);
    if judged.verdict == GateVerdict::Worse {
        for side in [base, new] {
            judged.notes.extend(side.worst_wakeup()?);
        }
    }
    Ok(judged)
}

/// Returns the decision on two kernels that needs no cell: they are one image, the new one is unavailable,
/// or they have no mode in common.
///
/// # Errors
///
/// When the base is unavailable.
pub fn without_cells(manifest: &Manifest, kernels: [&KernelRef; 2]) -> Result<Option<Gate>> {
    let [base, new] = kernels;
    check_base(manifest, base)?;
    let names = kernels.map(|kernel| named(&manifest.experiment, kernel));
    let mut judged = gate([&names[0], &names[1]], &[], &[], &GateRule::default());
    if let Some(reason) = absent(manifest, new) {
        return Ok(Some(untestable(judged, GateVerdict::Worse, reason)));
    }
    let (Some(base), Some(new)) = (manifest.kernel(base), manifest.kernel(new)) else {
        return Ok(None);
    };
    (judged.base_image, judged.new_image) = (Some(base.image_sha256), Some(new.image_sha256));
    if base.image_sha256 == new.image_sha256 {
        judged.verdict = GateVerdict::NoWorse;
        judged.notes.push("both are the same image, to the byte: no cell can differ".to_owned());
        return Ok(Some(judged));
    }
    if common_modes([base, new], &manifest.experiment.factors.preempt).is_empty() {
        let offered = [base, new].map(|kernel| {
            let modes = kernel.modes.iter().flatten().map(|mode| mode.as_str());
            format!("{} offers {}", kernel.name, modes.collect::<Vec<_>>().join(", "))
        });
        let reason = format!("no mode is common to both: {}", offered.join("; "));
        return Ok(Some(untestable(judged, GateVerdict::Undecided, reason)));
    }
    Ok(None)
}

/// Says that a kernel is unavailable, and why; `None` where it is available.
fn absent(manifest: &Manifest, kernel: &KernelRef) -> Option<String> {
    if manifest.kernel(kernel).is_some() {
        return None;
    }
    let mut cells = manifest.plan.cells.iter();
    let reason = cells.find_map(|cell| match &cell.planned {
        Planned::Unavailable { reason } if cell.factors.kernel == *kernel => Some(reason.as_str()),
        _ => None,
    });
    let name = named(&manifest.experiment, kernel);
    Some(format!("{name} cannot be had: {}", reason.unwrap_or("it is not in the recording")))
}

fn check_base(manifest: &Manifest, base: &KernelRef) -> Result<()> {
    absent(manifest, base)
        .map_or(Ok(()), |reason| Err(Error::Unusable(format!("the base {reason}"))))
}

fn untestable(judged: Gate, verdict: GateVerdict, reason: String) -> Gate {
    let mut judged = Gate { verdict, ..judged };
    judged.failures.insert(0, GateFailure { place: None, seed: None, reason });
    judged
}

/// Returns the modes that two kernels have in common, in this order. A kernel whose modes are unknown
/// may offer each.
pub fn common_modes(kernels: [&Kernel; 2], modes: &[PreemptMode]) -> Vec<PreemptMode> {
    let offers = |kernel: &Kernel, mode: &PreemptMode| {
        kernel.modes.as_ref().is_none_or(|modes| modes.contains(mode))
    };
    let is_common = |mode: &&PreemptMode| kernels.iter().all(|kernel| offers(kernel, mode));
    modes.iter().filter(is_common).copied().collect()
}

/// Returns the first reason for which a cell has no metrics.
fn reason(cells: &[&MeasuredCell]) -> Option<String> {
    cells.iter().find_map(|cell| cell.result.as_ref().err()?.reason().map(str::to_owned))
}

fn nothing_common(
    names: &[String; 2],
    base: &[&MeasuredCell],
    new: &[&MeasuredCell],
    rule: &GateRule,
) -> String {
    let pairs = base.iter().filter(|cell| {
        let is_its = |other: &&&MeasuredCell| other.is_counterpart_of(cell);
        cell.result.is_ok() && new.iter().find(is_its).is_some_and(|other| other.result.is_ok())
    });
    let known: Vec<String> = pairs
        .flat_map(|cell| cell.result.iter().flatten())
        .map(|metric| metric.name.to_string())
        .collect();
    if let Some(metric) = rule.metrics.first()
        && !known.is_empty()
    {
        let metric = metric.to_string();
        let hint = nearest(&metric, known.iter().map(String::as_str));
        let hint = hint.map(|nearest| format!("; did you mean `{nearest}`?")).unwrap_or_default();
        return format!("no cell has the metric `{}`{hint}", metric.escape_debug());
    }
    let reason = reason(new).map(|reason| format!(": {reason}")).unwrap_or_default();
    format!(
        "{} and {} have no workload, mode and seed in common that both were measured at{reason}",
        names[0], names[1]
    )
}

/// Names the limits of the decision.
fn notes(
    base: Side<'_>,
    new: Side<'_>,
    base_cells: &[&MeasuredCell],
    new_cells: &[&MeasuredCell],
) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    let sides = [(base, base_cells, new_cells), (new, new_cells, base_cells)];
    for (side, cells, others) in sides {
        let is_measured = |cells: &[&MeasuredCell], at: &MeasuredCell| {
            cells.iter().any(|cell| cell.is_at_place_of(at) && cell.result.is_ok())
        };
        for cell in cells.iter().filter(|cell| is_measured(others, cell)) {
            let Err(why) = &cell.result else { continue };
            if is_measured(cells, cell) {
                continue;
            }
            let note = format!("not compared: {}: {}: {why}", side.name(), GatePlace::of(cell));
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    notes
}
