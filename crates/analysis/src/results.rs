//! Results of machines and of virtual time, from recordings and from files.

use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroU32,
    path::{Path, PathBuf},
};

use indexmap::IndexMap;
use preemptlab_experiment::{Recording, results};
use preemptlab_files::read;
use preemptlab_model::{
    BackendKind, CellCost, Cpus, FifoWakeups, MeasuredCell, MeasuredMachine, MetricName, Name,
    Outcome, Prediction, Profile, Release, Replicates, Results, ResultsOf, WorkloadResults,
    counted,
};

use crate::{Cells, Error, Keep, Result};

/// The largest file of results, in bytes; one of 16 workloads has 4 KB.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// Significant digits of a value in a file: more than machines give again.
const DIGITS: usize = 5;

/// Reads results of files, and those that recordings in virtual time predict; `None` where no path is a file of
/// results.
///
/// # Errors
///
/// When a file or a recording cannot be read, or does not hold results.
pub fn open(paths: &[PathBuf]) -> Result<Option<Vec<Results>>> {
    let texts: Vec<Option<String>> = paths.iter().map(|path| text(path)).collect();
    if texts.iter().all(Option::is_none) {
        return Ok(None);
    }
    let mut all = Vec::new();
    for (path, text) in paths.iter().zip(texts) {
        match text {
            Some(text) => all.push(parse(path, &text)?),
            None if path.is_file() => {
                return Err(Error::unusable(format!(
                    "{} is no file of results, and only recordings in virtual time stand beside those of machines",
                    path.display()
                )));
            }
            None => all.extend(predictions(&Recording::open(path)?)?),
        }
    }
    Ok(Some(all))
}

/// Returns the text of a file of results, by its ending and the key that each has.
fn text(path: &Path) -> Option<String> {
    let is_toml = path.extension().is_some_and(|ending| ending == "toml");
    let bytes = is_toml.then(|| read(path, FILE_BYTES_MAX).ok()).flatten()?;
    let text = String::from_utf8(bytes).ok()?;
    let is_key =
        |line: &str| line.split_once('=').is_some_and(|(key, _)| key.trim() == "experiment");
    text.lines().any(is_key).then_some(text)
}

fn parse(path: &Path, text: &str) -> Result<Results> {
    results(text).map_err(|error| {
        let help = error.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
        Error::unusable(format!("{} cannot be read as results: {error}{help}", path.display()))
    })
}

/// Returns the results of the machine on whose own kernel a recording was made, with the profile that was
/// calibrated there.
///
/// # Errors
///
/// When the recording is of another kind of time, of several boots or configurations, or lacks a workload.
pub fn of_machine(recording: &Recording, profile: Profile) -> Result<Results> {
    let (path, backend) = (recording.path().display(), recording.manifest().backend);
    if backend != BackendKind::Host {
        return Err(Error::unusable(format!(
            "{path} was made with --backend {backend}, and the results of a machine are those of its own kernel: \
             record the experiment with `kernel = [\"host\"]` and --backend host, as root"
        )));
    }
    let cells = Cells::read(&[recording], Keep::Metrics)?;
    let all: Vec<&MeasuredCell> = cells.all().iter().collect();
    let workloads = workloads(recording, &all)?;
    let boots: BTreeSet<_> =
        all.iter().filter_map(|cell| cell.conditions.as_ref()).map(|of| &of.boot_id).collect();
    if boots.len() > 1 {
        return Err(Error::unusable(format!(
            "{path} was made in {} boots, of one machine or of several, and results are of one: record it in one boot",
            boots.len()
        )));
    }
    let values = workloads.values().map(|of| of.throughput_per_s.values().len()).max();
    let replicates = u32::try_from(values.unwrap_or_default()).unwrap_or(u32::MAX);
    let machine = machine(recording, &all, replicates).ok_or_else(|| {
        Error::unusable(format!(
            "{path} does not tell its kernel's release and its CPUs: record it with this version"
        ))
    })?;
    let of = ResultsOf::Machine { machine, profile: Box::new(profile) };
    of_experiment(recording, of, workloads)
}

/// Returns what is known of the machine of a recording; `None` where its cells do not tell.
fn machine(
    recording: &Recording,
    cells: &[&MeasuredCell],
    replicates: u32,
) -> Option<MeasuredMachine> {
    let first = cells.iter().find(|cell| cell.is_completed())?;
    let kernel = recording.manifest().kernel(&first.factors.kernel);
    let release = first.release.as_ref()?;
    // The rest may name who built it.
    let numbers = release.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(release.len());
    let release: Release = release[..numbers].trim_end_matches('.').parse().ok()?;
    Some(MeasuredMachine {
        cpus: cpus(recording)?,
        release,
        hz: kernel.and_then(|kernel| kernel.hz).and_then(NonZeroU32::new),
        preempt: first.observed.unwrap_or(first.factors.preempt),
        hypervisor: first.conditions.as_ref()?.hypervisor,
        replicates: NonZeroU32::new(replicates)?,
    })
}

/// Returns how many CPUs were online in the first finished cell.
fn cpus(recording: &Recording) -> Option<NonZeroU32> {
    let online = recording.cells().find_map(|cell| match cell.ok()?.1?.outcome {
        Outcome::Completed { report, .. } => Some(report.system.cpus_online),
        _ => None,
    });
    let cpus = Cpus::plain(online?.trim()).ok()?;
    NonZeroU32::new(u32::try_from(cpus.iter().count()).ok()?)
}

/// Returns what a recording in virtual time predicts, by each cost of instructions that it has.
///
/// # Errors
///
/// When the recording is of another kind of time or of several configurations, or lacks a workload.
pub fn predictions(recording: &Recording) -> Result<Vec<Results>> {
    let (path, backend) = (recording.path().display(), recording.manifest().backend);
    if !backend.is_vm() {
        return Err(Error::unusable(format!(
            "{path} was made with --backend {backend}, and only virtual time predicts machines; `preemptlab system \
             submit {path} PROFILE --out FILE` writes the results of a machine"
        )));
    }
    let cells = Cells::read(&[recording], Keep::Metrics)?;
    let mut costs: BTreeMap<Option<&CellCost>, Vec<&MeasuredCell>> = BTreeMap::new();
    for cell in cells.all() {
        costs.entry(cell.cost.as_ref()).or_default().push(cell);
    }
    let of_cost = |(cost, cells): (Option<&CellCost>, Vec<&MeasuredCell>)| {
        let of = cost.and_then(CellCost::prices_of);
        let of = ResultsOf::Prediction(Prediction {
            profile: of.map(|of| of.profile.clone()),
            caches: of.is_some_and(|of| of.has_caches),
            stolen: of.is_some_and(|of| of.has_stolen),
        });
        of_experiment(recording, of, workloads(recording, &cells)?)
    };
    costs.into_iter().map(of_cost).collect()
}

fn of_experiment(
    recording: &Recording,
    of: ResultsOf,
    workloads: IndexMap<Name, WorkloadResults>,
) -> Result<Results> {
    let experiment = recording.manifest().experiment.name.clone();
    let results = Results::new(experiment, of, workloads);
    results.map_err(|error| Error::unusable(format!("{}: {error}", recording.path().display())))
}

/// Returns the results of each workload of a recording, of these cells.
fn workloads(
    recording: &Recording,
    cells: &[&MeasuredCell],
) -> Result<IndexMap<Name, WorkloadResults>> {
    let path = recording.path().display();
    let names = recording.manifest().experiment.workload.keys();
    let mut workloads = IndexMap::new();
    let mut lacking = Vec::new();
    for name in names {
        let its: Vec<&MeasuredCell> =
            cells.iter().copied().filter(|cell| cell.factors.workload == name.as_str()).collect();
        if let [first, rest @ ..] = &its[..]
            && !rest.iter().all(|cell| cell.factors.is_replicate_of(&first.factors))
        {
            return Err(Error::unusable(format!(
                "{path} has several configurations of {name}, and results are of one: record the experiment with one \
                 level of each factor"
            )));
        }
        let found =
            workload(&its).map_err(|error| Error::unusable(format!("{path}: {name}: {error}")))?;
        match found {
            Some(of) => drop(workloads.insert(name.clone(), of)),
            None => lacking.push(name.to_string()),
        }
    }
    match lacking.is_empty() {
        true => Ok(workloads),
        false => Err(Error::unusable(format!(
            "{path} lacks the throughput of {}: {}; `preemptlab run {path}` executes what is missing",
            counted(lacking.len(), "workload"),
            lacking.join(", ")
        ))),
    }
}

/// Returns the results of a workload by its replicates; `None` without throughput.
fn workload(
    cells: &[&MeasuredCell],
) -> Result<Option<WorkloadResults>, preemptlab_model::ResultsError> {
    let values = |metric: &MetricName| {
        let values = cells.iter().filter_map(|cell| cell.value(metric)).map(rounded);
        let values: Vec<f64> = values.collect();
        (!values.is_empty()).then(|| Replicates::try_from(values)).transpose()
    };
    let Some(throughput_per_s) = values(&MetricName::Throughput)? else { return Ok(None) };
    let fifo = [MetricName::FIFO_P50, MetricName::FIFO_P99, MetricName::FIFO_MAX];
    let [p50, p99, max] = fifo.each_ref().map(values);
    let wakeup_fifo_us = match (p50?, p99?, max?) {
        (Some(p50), Some(p99), Some(max)) => Some(FifoWakeups { p50, p99, max }),
        _ => None,
    };
    Ok(Some(WorkloadResults { throughput_per_s, wakeup_fifo_us }))
}

/// Rounds a value to the digits of a file.
fn rounded(value: f64) -> f64 {
    format!("{value:.*e}", DIGITS - 1).parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use preemptlab_experiment::profile;
    use preemptlab_testkit::recorded::{Cell, TWO_MODES, record_on};
    use tempfile::TempDir;

    use super::*;

    const ONE_MODE: &str = "preempt = [\"none\"]\n[replicates]\ncount = 3\n\
        [workload.load]\nkind = \"cyclictest-hackbench\"\nwindow = \"1s\"\n";

    fn shipped() -> Profile {
        profile(include_str!("../../../profiles/amd-epyc.toml")).unwrap()
    }

    fn recording(
        backend: BackendKind,
        text: &str,
        cell: impl Fn(&str, u32) -> Cell,
    ) -> (TempDir, Recording) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        record_on(backend, &path, text, cell);
        let recording = Recording::open(&path).unwrap();
        (folder, recording)
    }

    #[test]
    fn a_recording_of_the_machine_gives_its_results() {
        let later = |_: &str, replicate| match replicate {
            1 => Cell::Measured,
            2 => Cell::Failed,
            _ => Cell::Later(100),
        };
        let (_folder, recording) = recording(BackendKind::Host, ONE_MODE, later);
        let found = of_machine(&recording, shipped()).unwrap();
        assert_eq!(found.experiment, "made");
        let ResultsOf::Machine { machine, profile } = &found.of else { panic!() };
        assert_eq!((machine.cpus.get(), machine.replicates.get()), (1, 2));
        assert!(machine.release.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'));
        assert!(machine.hypervisor);
        assert_eq!(profile.name, "amd-epyc");
        let (name, load) = found.workloads.first().unwrap();
        assert_eq!((name.as_str(), load.throughput_per_s.values().len()), ("load", 2));
        let max = load.wakeup_fifo_us.as_ref().unwrap().max.values();
        assert_eq!(max[1], max[0] + 100.0, "the replicates keep their order");
    }

    #[test]
    fn virtual_time_predicts() {
        let (_folder, recording) = recording(BackendKind::Vm, ONE_MODE, |_, _| Cell::Measured);
        let [found] = &predictions(&recording).unwrap()[..] else { panic!() };
        let ResultsOf::Prediction(of) = &found.of else { panic!() };
        assert_eq!(of.profile.as_deref(), Some("server-x86"), "the machine of no name");
        assert_eq!(found.workloads["load"].throughput_per_s.values().len(), 3);
    }

    #[test]
    fn what_gives_no_results_has_its_reason_and_the_next_step() {
        let whole = |_: &str, _| Cell::Measured;
        for (backend, text, cell, said) in [
            (BackendKind::Vm, ONE_MODE, whole as fn(&str, u32) -> Cell, "--backend host, as root"),
            (BackendKind::Host, TWO_MODES, whole, "several configurations of load"),
            (
                BackendKind::Host,
                ONE_MODE,
                |_, _| Cell::Missing,
                "lacks the throughput of 1 workload: load",
            ),
            (BackendKind::Host, ONE_MODE, |_, _| Cell::Failed, "executes what is missing"),
        ] {
            let (_folder, recording) = recording(backend, text, cell);
            let refused = of_machine(&recording, shipped()).unwrap_err().to_string();
            assert!(refused.contains(said), "{refused}");
        }
        let (_folder, recording) = recording(BackendKind::Host, ONE_MODE, whole);
        let refused = predictions(&recording).unwrap_err().to_string();
        assert!(refused.contains("`preemptlab system submit "), "{refused}");
    }

    #[test]
    fn only_a_file_with_the_key_is_taken_for_results() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let sound = include_str!("../../../docs/fidelity/machines/amd-epyc.toml");
        let (machine, broken) = (file("m.toml", sound), file("b.toml", "experiment = \"x\"\n"));
        let (experiment, histogram) = (file("e.toml", "format = 1\n"), file("h.txt", sound));
        assert_eq!(open(&[experiment.clone(), histogram.clone()]).unwrap(), None);
        assert_eq!(open(std::slice::from_ref(&machine)).unwrap().unwrap().len(), 1);
        for (paths, said) in [
            (
                [&machine, &broken],
                "b.toml cannot be read as results: line 1: missing field `format`",
            ),
            ([&machine, &histogram], "h.txt is no file of results"),
        ] {
            let refused = open(&paths.map(Clone::clone)).unwrap_err().to_string();
            assert!(refused.contains(said), "{refused}");
        }
        let absent = folder.path().join("absent");
        assert!(open(&[machine, absent]).is_err());
    }
}
