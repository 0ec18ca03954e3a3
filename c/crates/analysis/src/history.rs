//! The kernels of recordings in the order of their versions: from recordings to the values that
//! `stats::history` relates.

use std::{cmp::Ordering, collections::BTreeSet};

use preemptlab_experiment::Recording;
use preemptlab_model::{
    CellCost, Digest, Instants, KernelRef, MeasuredCell, Metric, MetricName, PreemptMode, Role,
    kernel_order, nearest,
};
use preemptlab_stats::{History, HistoryCause, HistoryKernel, Margins, history as related};
use preemptlab_workload::Workload;

use crate::{
    Compared, Error, Result,
    explain::{Chosen, Explanation, has_realtime_probe, latest},
    mixed::differences,
};

/// A kernel as it was used: two builds under one name are two kernels.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Used {
    kernel: KernelRef,
    label: Option<String>,
    image: Option<Digest>,
}

/// A kernel with its cells.
struct Found {
    used: Used,
    release: Option<String>,
    cells: Vec<MeasuredCell>,
}

impl Found {
    /// Adds a cell, unless another recording has it: of these there is one measurement and not two.
    fn add(&mut self, cell: MeasuredCell) {
        let is_it = |of: &&mut MeasuredCell| of.is_counterpart_of(&cell);
        match self.cells.iter_mut().find(is_it) {
            Some(known) if known.result.is_err() => *known = cell,
            Some(_) => (),
            None => self.cells.push(cell),
        }
    }
}

/// Returns the history of the kernels of recordings. Without `metrics` it has the usual ones, and those
/// that a folder's workload declares.
///
/// # Errors
///
/// When a trace cannot be read, their machines differ, no cell was measured, there is one kernel
/// only, or no cell has a metric that was asked for.
pub fn history(compared: &Compared, metrics: &[MetricName], margins: &Margins) -> Result<History> {
    refuse(&compared.recordings())?;
    let (mut found, known) = found(compared, metrics);
    if let Some(metric) = metrics.iter().find(|metric| !known.contains(metric)) {
        let metric = metric.to_string();
        let names: Vec<String> = known.iter().map(ToString::to_string).collect();
        let hint = nearest(&metric, names.iter().map(String::as_str));
        let hint = hint.map(|nearest| format!("; did you mean `{nearest}`?")).unwrap_or_default();
        let message = format!("no cell has the metric `{}`{hint}", metric.escape_debug());
        return Err(Error::Unusable(message));
    }
    margins.check(compared.cells().all())?;
    let is_measured = |of: &&Found| of.cells.iter().any(|cell| cell.result.is_ok());
    match found.iter().filter(is_measured).count() {
        0 => {
            let cells = found.iter().flat_map(|of| &of.cells);
            let reason = cells.filter_map(|cell| cell.result.as_ref().err()?.reason()).next();
            let reason = reason.unwrap_or("none was executed yet");
            return Err(Error::Unmeasured(format!("no cell was measured: {reason}")));
        }
        1 => {
            let only = found.iter().find(is_measured).map(|of| of.used.kernel.to_string());
            return Err(Error::Unusable(format!(
                "{} is the only kernel that was measured, and a history needs two: name further \
                 recordings, or run the experiment with more kernels (--kernel)",
                only.unwrap_or_default()
            )));
        }
        _ => {}
    }
    in_order(&mut found);
    let names = names(&found);
    let all_series = all_series(&found);
    let mut kernels = Vec::new();
    for ((found, name), series) in found.into_iter().zip(names).zip(all_series) {
        let kernel = HistoryKernel {
            series,
            line: found.used.kernel.line(),
            absent: absent(&found),
            causes: causes(compared, &found.used)?,
            release: found.release,
            name,
        };
        kernels.push((kernel, found.cells));
    }
    let mut history = related(kernels, margins);
    history.caption = caption(compared);
    if history.steps.is_empty() {
        return Err(Error::Unusable(
            "no two neighbouring kernels have a workload, mode and seed in common: record them with one \
             experiment"
                .to_owned(),
        ));
    }
    Ok(history)
}

/// Refuses recordings of different machines: a change between two kernels would be that of the machine.
fn refuse(recordings: &[&Recording]) -> Result<()> {
    let Some((first, others)) = recordings.split_first() else { return Ok(()) };
    for other in others {
        let [one, another] = [first, other].map(|recording| recording.manifest());
        let [machine, same] = [one, another].map(|manifest| &manifest.experiment.machine);
        let differs = match machine == same {
            true if one.backend == another.backend => continue,
            true => "they have other kinds of time".to_owned(),
            false => differences(machine, same),
        };
        return Err(Error::Unusable(format!(
            "the machines of {} and {} differ ({differs}), and a change between their kernels could be \
             the machine's: record both with one machine",
            first.path().display(),
            other.path().display()
        )));
    }
    Ok(())
}

/// Names the kind of time of the cells.
fn caption(compared: &Compared) -> String {
    let is_virtual = |recording: &Recording| recording.manifest().backend.is_vm();
    if !compared.recordings().into_iter().all(is_virtual) {
        return "Times are those of the machine that measured, with whatever else it did."
            .to_owned();
    }
    let costs = compared.cells().all().iter().filter_map(|cell| cell.cost.clone());
    let caption = CellCost::caption(&costs.collect());
    format!(
        "{caption} Compare ratios, orders and causes; microseconds are not a promise about hardware."
    )
}

/// Finds the cells by kernel, with the metrics that are shown; and the names of all metrics.
fn found(compared: &Compared, metrics: &[MetricName]) -> (Vec<Found>, Vec<MetricName>) {
    let mut found: Vec<Found> = Vec::new();
    let mut known: Vec<MetricName> = Vec::new();
    for (recording, cells) in compared.parts() {
        for cell in cells {
            let used = used(recording, &cell.factors.kernel);
            let mut own = cell.clone();
            if let Ok(all) = &mut own.result {
                for metric in &*all {
                    if !known.contains(&metric.name) {
                        known.push(metric.name.clone());
                    }
                }
                *all = chosen(std::mem::take(all), &shown(recording, cell, metrics));
            }
            match found.iter_mut().find(|of| of.used == used) {
                Some(of) => of.add(own),
                None => {
                    let release = release(recording, &used.kernel);
                    found.push(Found { used, release, cells: vec![own] });
                }
            }
        }
    }
    (found, known)
}

/// Returns the names of the metrics that are shown of a cell.
fn shown(recording: &Recording, cell: &MeasuredCell, metrics: &[MetricName]) -> Vec<MetricName> {
    if !metrics.is_empty() {
        return metrics.to_vec();
    }
    let mut shown: Vec<MetricName> = MetricName::history().collect();
    let workloads = &recording.manifest().experiment.workload;
    // The numbers that its author declares are those that the workload is about.
    if let Some(Workload::Folder(_)) = workloads.get(cell.factors.workload.as_str()) {
        let names = cell.result.iter().flatten().map(|metric| &metric.name);
        shown.extend(names.filter(|name| name.role() == Role::Work).cloned());
    }
    shown
}

fn chosen(mut all: Vec<Metric>, shown: &[MetricName]) -> Vec<Metric> {
    let place = |metric: &Metric| shown.iter().position(|name| *name == metric.name);
    all.retain(|metric| place(metric).is_some());
    all.sort_by_key(place);
    all
}

fn used(recording: &Recording, kernel: &KernelRef) -> Used {
    let manifest = recording.manifest();
    Used {
        kernel: kernel.clone(),
        label: manifest.experiment.factors.label(kernel).map(ToString::to_string),
        image: manifest.kernel(kernel).map(|kernel| kernel.image_sha256),
    }
}

fn release(recording: &Recording, kernel: &KernelRef) -> Option<String> {
    let release = recording.manifest().kernel(kernel).map(|kernel| kernel.release.clone());
    release.filter(|release| !release.is_empty())
}

/// Puts the lines in the order of their first kernels, and the kernels of a line in that of their
/// versions. Kernels without an order of versions keep the recordings' order.
fn in_order(found: &mut [Found]) {
    let mut lines: Vec<String> = Vec::new();
    for of in &*found {
        let line = of.used.kernel.line();
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    let place = |of: &Found| lines.iter().position(|known| *known == of.used.kernel.line());
    // The sort is stable.
    found.sort_by(|a, b| {
        let [one, other] = [a, b].map(|of| &of.used.kernel);
        let [release, another] = [a, b].map(|of| of.release.as_deref().unwrap_or_default());
        let by_release = || match one.version() {
            Some(_) => kernel_order(release, another),
            None => Ordering::Equal,
        };
        place(a).cmp(&place(b)).then_with(|| one.version_order(other)).then_with(by_release)
    });
}

/// Returns the label of a kernel, or the part of its name that the line does not tell.
fn series(used: &Used) -> String {
    used.label.clone().unwrap_or_else(|| used.kernel.place_in_line())
}

/// Returns the series of the kernels. Of two in a line that are one series, releases are named.
fn all_series(found: &[Found]) -> Vec<String> {
    let place = |of: &Found| (of.used.kernel.line(), series(&of.used));
    let named = found.iter().map(|of| {
        let is_single = found.iter().filter(|other| place(other) == place(of)).count() == 1;
        match &of.release {
            Some(release) if !is_single => release.clone(),
            _ => series(&of.used),
        }
    });
    named.collect()
}

/// Returns the names of the kernels. Where two builds have one name, the release tells them apart.
fn names(found: &[Found]) -> Vec<String> {
    let short = |of: &Found| match &of.used.label {
        Some(label) => format!("{label} ({})", of.used.kernel),
        None => of.used.kernel.to_string(),
    };
    let mut names: Vec<String> = Vec::new();
    for of in found {
        let mut name = short(of);
        if found.iter().filter(|other| short(other) == name).count() > 1 {
            name += &format!(" {}", of.release.as_deref().unwrap_or("not available"));
        }
        let known = names.iter().filter(|known| known.starts_with(&name)).count();
        if known > 0 {
            name += &format!(" #{}", known + 1);
        }
        names.push(name);
    }
    names
}

/// Returns the reason why a kernel was unavailable; `None` for one that a recording has.
fn absent(found: &Found) -> Option<String> {
    if found.used.image.is_some() || found.cells.iter().any(|cell| cell.result.is_ok()) {
        return None;
    }
    let mut reasons = found.cells.iter().filter_map(|cell| cell.result.as_ref().err());
    reasons.find_map(|why| why.reason().map(str::to_owned))
}

/// Finds, for each mode of a kernel, the traced cells with the worst wakeup and the worst bound of the
/// real-time probe, and says why they were late.
fn causes(compared: &Compared, of: &Used) -> Result<Vec<HistoryCause>> {
    let mut traced: Vec<(&Recording, &MeasuredCell)> = Vec::new();
    let mut ids = BTreeSet::new();
    for (recording, cells) in compared.parts() {
        let traces = recording.traces();
        if used(recording, &of.kernel) != *of || !traces.exists() {
            continue;
        }
        for ((_, planned), cell) in recording.planned().zip(cells) {
            let Some(id) = cell.id.filter(|_| cell.is_completed()) else { continue };
            if cell.factors.kernel == of.kernel
                && traces.contains(id)
                && has_realtime_probe(recording, planned)
                && ids.insert(id)
            {
                traced.push((recording, cell));
            }
        }
    }
    let mut causes = Vec::new();
    for mode in PreemptMode::ALL {
        let of_mode = || {
            let cells = traced.iter().map(|(_, cell)| *cell);
            cells.filter(|cell| cell.factors.preempt == mode)
        };
        let recording_of = |cell: &MeasuredCell| {
            traced.iter().find(|(_, of)| of.id == cell.id).map(|(recording, _)| *recording)
        };
        let read = |cell: &MeasuredCell| match recording_of(cell) {
            Some(recording) => Ok(Chosen::read(recording, cell)?.map(|cell| (recording, cell))),
            None => Ok::<_, Error>(None),
        };
        let Some((recording, cell)) = latest(of_mode()).map(read).transpose()?.flatten() else {
            continue;
        };
        let sentence = explained(recording, &cell, |explained| Some(explained.sentence()))?;
        causes.extend(sentence.map(|sentence| cause(&cell, false, sentence)));
        let bound_ns = |cell: &MeasuredCell| cell.instants.as_ref().map(Instants::bound_ns);
        let bounded = of_mode().filter(|cell| cell.instants.is_some());
        let bounded = bounded.reduce(|a, b| if bound_ns(b) > bound_ns(a) { b } else { a });
        let most_ns = bounded.and_then(bound_ns);
        let bounded = bounded.map(read).transpose()?.flatten();
        let (Some(most_ns), Some((recording, cell))) = (most_ns, bounded) else { continue };
        let sentence = explained(recording, &cell, |explained| explained.bound_sentence())?;
        let sentence = sentence.map(|sentence| of_bound(most_ns, &sentence));
        causes.extend(sentence.map(|sentence| cause(&cell, true, sentence)));
    }
    Ok(causes)
}

fn cause(cell: &Chosen, is_bound: bool, sentence: String) -> HistoryCause {
    HistoryCause {
        preempt: cell.factors.preempt,
        workload: cell.factors.workload.to_string(),
        is_bound,
        sentence,
    }
}

/// Says how large the bound is, and why the worst instant is one.
fn of_bound(most_ns: u64, sentence: &str) -> String {
    let sentence = sentence.replacen("due then", "due at the worst instant", 1);
    format!("The bound is {:.1} us. {sentence}", most_ns as f64 / 1e3)
}

/// Explains the worst wakeup of a cell; `None` for one whose trace has none, such as that of a user's
/// own program.
fn explained(
    recording: &Recording,
    cell: &Chosen,
    said: impl Fn(&Explanation<'_>) -> Option<String>,
) -> Result<Option<String>> {
    match Explanation::new(recording, cell, false, 1) {
        Ok(explanation) => Ok(said(&explanation)),
        Err(Error::Unusable(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(names: &[&str]) -> Vec<Found> {
        let found = names.iter().map(|name| Found {
            used: Used { kernel: name.parse().unwrap(), label: None, image: None },
            release: None,
            cells: Vec::new(),
        });
        found.collect()
    }

    #[test]
    fn kernels_stand_by_line_and_version() {
        let mut odd = found(&[
            "debian:7.2",
            "debian:6.12-rt",
            "debian:6.9",
            "git:/src/linux@v7",
            "debian:6.12",
            "debian:6.1-rt",
            "git:/src/linux@v6",
            "source:6.12+HZ_1000=y",
            "debian:6.12-rc6",
            "debian:6.1.100+deb12",
        ]);
        in_order(&mut odd);
        let names: Vec<String> = odd.iter().map(|of| of.used.kernel.to_string()).collect();
        assert_eq!(
            names,
            [
                "debian:6.1.100+deb12",
                "debian:6.9",
                "debian:6.12-rc6",
                "debian:6.12",
                "debian:7.2",
                "debian:6.1-rt",
                "debian:6.12-rt",
                "git:/src/linux@v7",
                "git:/src/linux@v6",
                "source:6.12+HZ_1000=y",
            ]
        );
        assert_eq!(series(&odd[7].used), "v7");
        assert_eq!(odd[9].used.kernel.line(), "source +HZ_1000=y");
    }

    #[test]
    fn two_builds_of_a_name_are_told_apart() {
        let mut twice = found(&["debian:6.12", "debian:6.12"]);
        twice[0].release = Some("6.12.1".into());
        twice[1].release = Some("6.12.2".into());
        assert_eq!(names(&twice), ["debian:6.12 6.12.1", "debian:6.12 6.12.2"]);
        assert_eq!(all_series(&twice), ["6.12.1", "6.12.2"]);
        twice[1].release = Some("6.12.1".into());
        assert_eq!(names(&twice), ["debian:6.12 6.12.1", "debian:6.12 6.12.1 #2"]);
    }
}
