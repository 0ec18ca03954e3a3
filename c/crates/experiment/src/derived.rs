//! The check that a plan is that of its experiment. A recording may come from a stranger: the cells
//! that are executed again are those of its experiment, and not others that a stranger wrote beside
//! it.

use std::{collections::BTreeMap, ops::Deref, path::PathBuf};

use preemptlab_model::{KernelRef, Planned, PlannedCell};
use serde::Serialize;
use serde_json::Value;

use crate::{CostSource, Manifest, Recording, Resolved, plan::laid_out, replicate};

/// Recording whose every cell follows from its experiment: only such a recording is executed.
#[derive(Clone, Copy, Debug)]
pub struct Derived<'a>(&'a Recording);

/// Error of a recording whose cells do not follow from its experiment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} is not what its experiment comes to: {what}; nothing of it is executed: run the \
     experiment anew into another folder", path.display()
)]
pub struct NotOfExperiment {
    /// Folder of the recording.
    pub path: PathBuf,
    /// First difference, in words.
    pub what: String,
}

impl<'a> Derived<'a> {
    /// Derives every cell's inputs again from the experiment and its pinned inputs, and compares
    /// them with those of the recording.
    ///
    /// # Errors
    ///
    /// When a cell differs.
    pub fn check(recording: &'a Recording) -> Result<Self, NotOfExperiment> {
        let added = recording.planned().filter(|(look, _)| *look > 0).map(|(_, planned)| planned);
        match check(recording.manifest(), added) {
            Ok(()) => Ok(Self(recording)),
            Err(what) => Err(NotOfExperiment { path: recording.path().to_owned(), what }),
        }
    }

    /// Returns the recording.
    pub fn recording(self) -> &'a Recording {
        self.0
    }
}

impl Deref for Derived<'_> {
    type Target = Recording;

    fn deref(&self) -> &Recording {
        self.0
    }
}

fn check<'a>(
    manifest: &Manifest,
    added: impl Iterator<Item = &'a PlannedCell>,
) -> Result<(), String> {
    let Manifest { experiment, plan: recorded, .. } = manifest;
    experiment.check_again()?;
    if experiment.costs().any(|cost| matches!(cost, CostSource::File(_))) {
        return Err("it names a profile and does not hold it".to_owned());
    }
    // Before a plan of any size is laid out.
    if experiment.cells() != Some(recorded.cells.len()) {
        return Err("the plan has another number of cells than the experiment".to_owned());
    }
    let resolved = resolved(manifest)?;
    let derived = laid_out(experiment, &resolved);
    for (cell, derived) in recorded.cells.iter().zip(&derived.cells) {
        same(cell, derived)?;
    }
    let mut firsts = BTreeMap::new();
    for cell in &recorded.cells {
        firsts.entry(configuration(cell)).or_insert(cell);
    }
    for cell in added {
        let first = firsts.get(&configuration(cell)).copied();
        let derived = first.and_then(|first| replicate(experiment, first, cell.factors.replicate));
        let derived = derived.ok_or_else(|| {
            format!("{}, which was added after a look, is no cell of the experiment", cell.factors)
        })?;
        same(cell, &derived)?;
    }
    Ok(())
}

/// Returns the factors without the replicate.
fn configuration(cell: &PlannedCell) -> preemptlab_model::Factors {
    preemptlab_model::Factors { replicate: 0, ..cell.factors.clone() }
}

/// Returns the recording's values of the experiment's names: no more than these, and each once.
fn resolved(manifest: &Manifest) -> Result<Resolved, String> {
    let Manifest { experiment, kernels, backend, qemu, images, plan, .. } = manifest;
    let wanted: Vec<&KernelRef> = experiment.factors.kernels().collect();
    let mut resolved = Resolved {
        kernels: BTreeMap::new(),
        configs: BTreeMap::new(),
        unavailable: BTreeMap::new(),
        images: BTreeMap::new(),
        backend: *backend,
        qemu: qemu.as_ref().map(|qemu| qemu.build.clone()),
    };
    for kernel in kernels {
        let is_wanted = wanted.contains(&&kernel.name);
        if !is_wanted || resolved.kernels.insert(kernel.name.clone(), kernel.clone()).is_some() {
            return Err(format!("the experiment has no kernel {} besides", kernel.name));
        }
    }
    for image in images {
        let key = (image.kernel.clone(), image.workload.clone());
        let is_wanted = resolved.kernels.contains_key(&image.kernel)
            && experiment.workload.contains_key(image.workload.as_str());
        if !is_wanted || resolved.images.insert(key, image.sha256).is_some() {
            let (kernel, workload) = (&image.kernel, &image.workload);
            return Err(format!(
                "the experiment needs no image of {workload} for {kernel} besides"
            ));
        }
    }
    for name in wanted {
        if !resolved.kernels.contains_key(name) {
            let reason = reason(&plan.cells, name);
            resolved.unavailable.insert(name.clone(), reason);
            continue;
        }
        for workload in experiment.workload.keys() {
            if !resolved.images.contains_key(&(name.clone(), workload.to_string())) {
                return Err(format!("the image of {workload} for {name} is missing"));
            }
        }
    }
    Ok(resolved)
}

/// Returns the reason why a kernel was not available, which only the plan holds.
fn reason(cells: &[PlannedCell], kernel: &KernelRef) -> String {
    let of_it = cells.iter().filter(|cell| cell.factors.kernel == *kernel);
    let mut reasons = of_it.filter_map(|cell| match &cell.planned {
        Planned::Unavailable { reason } => Some(reason.clone()),
        Planned::Execute(_) => None,
    });
    reasons.next().unwrap_or_default()
}

/// Compares everything of two cells, except the words in which one cannot exist. A recorded cell that
/// is unavailable is not executed, whatever the reason: that may be a kernel's configuration, which
/// no recording holds.
fn same(cell: &PlannedCell, derived: &PlannedCell) -> Result<(), String> {
    let field = match (&cell.planned, &derived.planned) {
        _ if cell.factors != derived.factors => place(&cell.factors, &derived.factors),
        (Planned::Execute(cell), Planned::Execute(derived)) => {
            if cell == derived {
                return Ok(());
            }
            place(cell, derived)
        }
        (Planned::Unavailable { .. }, _) => return Ok(()),
        _ => "whether it can be executed".to_owned(),
    };
    Err(format!("the cell {} is not that of the experiment, in `{field}`", derived.factors))
}

/// Returns the path of the first field in which two values differ: `job.load.0.argv.1`.
fn place(one: &impl Serialize, other: &impl Serialize) -> String {
    let value = |of: Result<Value, _>| of.unwrap_or(Value::Null);
    let (one, other) = (value(serde_json::to_value(one)), value(serde_json::to_value(other)));
    let mut path = Vec::new();
    descend(&one, &other, &mut path);
    path.join(".")
}

fn descend(one: &Value, other: &Value, path: &mut Vec<String>) {
    let null = &Value::Null;
    let next = match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let mut keys: Vec<&String> = one.keys().chain(other.keys()).collect();
            keys.sort_unstable();
            keys.into_iter().find(|key| one.get(*key) != other.get(*key)).map(|key| {
                (key.clone(), one.get(key).unwrap_or(null), other.get(key).unwrap_or(null))
            })
        }
        (Value::Array(one), Value::Array(other)) => {
            let places = 0..one.len().max(other.len());
            places
                .map(|at| (at, one.get(at), other.get(at)))
                .find(|(_, one, other)| one != other)
                .map(|(at, one, other)| {
                    (at.to_string(), one.unwrap_or(null), other.unwrap_or(null))
                })
        }
        _ => None,
    };
    if let Some((name, one, other)) = next {
        path.push(name);
        descend(one, other, path);
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use preemptlab_model::{
        Clocks, Digest, Kernel, PreemptMode, QemuBuild, RECORDING_FORMAT, seal, unseal,
    };
    use preemptlab_recording::{Image, QemuUsed, Until};

    use super::*;
    use crate::{Experiment, RecordingWriter, add_replicates, manifest as manifest_of};

    fn manifest(name: &str) -> Manifest {
        let text = format!(
            "format = 1\nname = \"{name}\"\n[factors]\nkernel = [\"debian:6.12\"]\n\
             preempt = [\"none\", \"lazy\"]\n[workload.hackbench]\nkind = \"cyclictest-hackbench\"\n"
        );
        let kernel: KernelRef = "debian:6.12".parse().unwrap();
        manifest_of(
            Experiment::parse(&text).unwrap(),
            vec![Kernel {
                name: kernel.clone(),
                release: "6.12.1".into(),
                image_sha256: Digest::of(b"kernel"),
                packages: vec![],
                rt: Some(false),
                modes: Some(vec![PreemptMode::None]),
                hz: Some(250),
                source: None,
            }],
            QemuUsed {
                build: QemuBuild { version: "10.0".into(), digest: Digest::of(b"qemu") },
                packages: vec![],
            },
            vec![Image {
                sha256: Digest::of(b"image"),
                kernel,
                workload: "hackbench".into(),
                packages: vec![],
            }],
        )
    }

    fn until(margin: &str) -> Until {
        let margins = vec![margin.to_owned()];
        Until { format: RECORDING_FORMAT, margins, metrics: vec![], baseline: None }
    }

    #[test]
    fn replicates_are_added_look_by_look_and_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let manifest = manifest("one");
        let mut writer = RecordingWriter::open(&path, &manifest).unwrap();
        writer.begin_until(&until("1%")).unwrap();
        let none = manifest.plan.cells[0].factors.clone();
        assert_eq!(add_replicates(&mut writer, &[(none.clone(), 7)]).unwrap(), 2);
        assert_eq!(add_replicates(&mut writer, &[(none.clone(), 7)]).unwrap(), 0);
        assert_eq!(add_replicates(&mut writer, &[(none, 8)]).unwrap(), 1);
        drop(writer);

        let mut again = RecordingWriter::open(&path, &manifest).unwrap();
        let planned: Vec<_> = again
            .recording()
            .planned()
            .map(|(look, cell)| (look, cell.factors.replicate))
            .collect();
        assert_eq!(planned[10..], [(1, 6), (1, 7), (2, 8)]);
        let seeds =
            again.recording().planned().filter_map(|(_, cell)| Some(cell.inputs()?.job.seed));
        assert_eq!(seeds.collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7, 8]);
        again.begin_until(&until("1%")).unwrap();
        let error = again.begin_until(&until("5%")).unwrap_err();
        assert!(error.to_string().contains("begun with 1%"), "{error}");
    }

    #[test]
    fn what_cannot_exist_gets_no_replicates() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = manifest("one");
        let mut writer = RecordingWriter::open(&folder.path().join("run"), &manifest).unwrap();
        let lazy = manifest.plan.cells[5].factors.clone();
        assert_eq!(add_replicates(&mut writer, &[(lazy, 9)]).unwrap(), 0);
    }

    /// Returns the text of a manifest whose keys are sorted, with a workload's `kind` first, where
    /// it is read.
    fn kind_first(text: &str) -> String {
        let kind = "\"kind\":\"cyclictest-hackbench\",";
        let Some((before, after)) = text.split_once("\"workload\":{\"") else { return text.into() };
        let after = after.replacen(kind, "", 1).replacen(":{", &format!(":{{{kind}"), 1);
        format!("{before}\"workload\":{{\"{after}")
    }

    /// Changes the plan of a recording, and returns the error.
    fn foreign(change: impl FnOnce(&mut serde_json::Value)) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let mut writer = RecordingWriter::open(&path, &manifest("one")).unwrap();
        writer.begin_until(&until("1%")).unwrap();
        let none = writer.recording().manifest().plan.cells[0].factors.clone();
        add_replicates(&mut writer, &[(none, 6)]).unwrap();
        Derived::check(writer.recording()).unwrap();
        drop(writer);
        let files = ["recording.json", "looks/001.json"].map(|file| path.join(file));
        let mut all: serde_json::Value = files
            .iter()
            .map(|file| -> serde_json::Value {
                let mut bytes = fs::read(file).unwrap();
                unseal(&mut bytes).unwrap();
                serde_json::from_slice(&bytes).unwrap()
            })
            .collect();
        change(&mut all);
        for (file, value) in files.iter().zip(all.as_array().unwrap()) {
            fs::write(file, seal(kind_first(&value.to_string()).into_bytes())).unwrap();
        }
        let recording = Recording::open(&path);
        let executed = recording.as_ref().map(Derived::check);
        match executed {
            Ok(Err(error)) => error.to_string(),
            other => panic!("it was taken: {other:?}"),
        }
    }

    #[test]
    fn a_plan_that_is_not_the_experiments_is_not_executed() {
        let inputs = "/0/plan/1/planned/execute";
        let at = |place: &str| format!("{inputs}/{place}");
        let value = |value: &serde_json::Value| value.clone();
        for (place, change, word) in [
            (at("snapshot/cmdline"), serde_json::json!("init=/bin/sh"), "snapshot.cmdline"),
            (at("snapshot/machine/memory_mib"), 4096.into(), "snapshot.machine.memory_mib"),
            (at("snapshot/image_sha256"), serde_json::json!("0".repeat(64)), "image_sha256"),
            (at("snapshot/kernel_sha256"), serde_json::json!("0".repeat(64)), "kernel_sha256"),
            (at("job/seed"), 77.into(), "job.seed"),
            (at("job/limit_ns"), 1.into(), "job.limit_ns"),
            (at("job/probes/0/argv/0"), "/bin/sh".into(), "job.probes.0.argv.0"),
            (at("job/load/0/argv/0"), "/bin/sh".into(), "job.load.0.argv.0"),
            ("/1/cells/0/planned/execute/job/seed".into(), 1.into(), "job.seed"),
            (
                "/0/experiment/machine/cmdline".into(),
                serde_json::json!(["a=1"]),
                "snapshot.cmdline",
            ),
            ("/0/experiment/machine/memory_mib".into(), 1.into(), "the memory must be"),
            ("/0/experiment/replicates/count".into(), 6.into(), "another number of cells"),
            ("/0/images".into(), serde_json::json!([]), "is missing"),
            ("/0/kernels/0/name".into(), "debian:6.1".into(), "no kernel debian:6.1"),
        ] {
            let said = foreign(|all| {
                let found = all.pointer_mut(&place).unwrap_or_else(|| panic!("no {place}"));
                assert_ne!(value(found), change);
                *found = change;
            });
            assert!(said.contains(word), "{place}: {said}");
        }
    }

    /// A recording of cells whose CPUs took turns is read, follows from its experiment, and the file
    /// without the bound of the turns continues it.
    #[test]
    fn a_recording_of_turns_is_that_of_its_experiment() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let Manifest { experiment: mut file, kernels, qemu, images, .. } = manifest("turns");
        // Such recordings are of the time when instructions had one price.
        file.machine.prices = crate::CostSource::Instructions;
        let mut recorded = file.clone();
        recorded.factors.cpus = vec![1, 2];
        recorded.machine.clocks = Clocks::Turns { skew_us: 10 };
        let manifest = manifest_of(recorded.clone(), kernels, qemu.unwrap(), images);
        let bytes = || {
            let mut bytes = fs::read(path.join("recording.json")).unwrap();
            unseal(&mut bytes).unwrap();
            String::from_utf8(bytes).unwrap()
        };
        drop(RecordingWriter::open(&path, &manifest).unwrap());
        let first = bytes();
        let machine =
            r#""machine":{"memory_mib":512,"shift":1,"skew_us":10,"cmdline":[],"modules":[]}"#;
        assert!(first.contains(machine), "{first}");
        assert!(first.contains("\"skew_ns\":10000") && !first.contains("lookahead"), "{first}");
        let recording = Recording::open(&path).unwrap();
        Derived::check(&recording).unwrap();
        drop(RecordingWriter::open(&path, recording.manifest()).unwrap());
        assert_eq!(bytes(), first);
        let mut again = file;
        again.factors.cpus = vec![1, 2];
        assert_ne!(again, recorded);
        assert_eq!(again.with_clocks_of(&recorded), recorded);
    }

    /// A recording of an older preemptlab still follows from its experiment.
    #[test]
    fn the_recording_that_lasts_is_that_of_its_experiment() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/check");
        Derived::check(&Recording::open(&path).unwrap()).unwrap();
    }
}
