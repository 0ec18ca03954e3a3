//! Recordings made of the committed one: any modes, any number of replicates, any outcome.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use preemptlab_experiment::{Experiment, Recording, RecordingWriter, manifest_on};
use preemptlab_model::{
    BackendKind, CellRecord, Conditions, Digest, Factors, FailureCause, Kernel, KernelRef, Name,
    Outcome,
};
use preemptlab_recording::Image;
use tempfile::TempDir;

/// Result of a cell, by its mode and replicate.
pub enum Cell {
    /// The measurements of the committed cell.
    Measured,
    /// The measurements of the committed cell, each latency longer by this number of microseconds.
    Later(u64),
    /// A cell that used up its virtual time.
    Failed,
    /// No cell yet.
    Missing,
}

/// Writes a recording of an experiment whose kernel is that of the committed recording; `text` is
/// the experiment but for its format, name and kernel.
pub fn record(path: &Path, text: &str, cell: impl Fn(&str, u32) -> Cell) {
    record_on(BackendKind::Vm, path, text, cell);
}

/// Two modes with five replicates each, for [`record`].
pub const TWO_MODES: &str = "preempt = [\"none\", \"full\"]\n[replicates]\ncount = 5\n\
    [workload.load]\nkind = \"cyclictest-hackbench\"\nwindow = \"1s\"\n";

/// Writes a recording of [`TWO_MODES`] into a new folder; it stays until the first of both is dropped.
pub fn recorded(name: &str, cell: impl Fn(&str, u32) -> Cell) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    record(&path, TWO_MODES, cell);
    (folder, path)
}

/// Writes a recording in which the kernel of the committed recording has these names, one after the
/// other, with an image for each; a cell is made by kernel, mode and replicate.
pub fn record_kernels(
    path: &Path,
    kernels: &[&str],
    text: &str,
    cell: impl Fn(&str, &str, u32) -> Cell,
) {
    let names: Vec<KernelRef> = kernels.iter().map(|name| name.parse().unwrap()).collect();
    record_of(BackendKind::Vm, path, &names, text, cell);
}

/// Writes a recording in another kind of time, by a machine that is itself virtual and whose
/// frequency is not fixed.
pub fn record_on(backend: BackendKind, path: &Path, text: &str, cell: impl Fn(&str, u32) -> Cell) {
    record_of(backend, path, &[], text, |_, mode, replicate| cell(mode, replicate));
}

fn record_of(
    backend: BackendKind,
    path: &Path,
    names: &[KernelRef],
    text: &str,
    cell: impl Fn(&str, &str, u32) -> Cell,
) {
    let check = Recording::open(&crate::committed_recording()).unwrap();
    let sound = check.cells().next().unwrap().unwrap().1.unwrap();
    let manifest = check.manifest();
    let own = &manifest.kernels[0];
    let named = names.iter().map(|name| Kernel {
        image_sha256: Digest::of_json(&name.to_string()),
        name: name.clone(),
        ..own.clone()
    });
    let kernels: Vec<Kernel> = if names.is_empty() { vec![own.clone()] } else { named.collect() };
    let list: Vec<String> = kernels.iter().map(|kernel| format!("\"{}\"", kernel.name)).collect();
    let list = list.join(", ");
    let head = format!("format = 1\nname = \"made\"\n[factors]\nkernel = [{list}]\n");
    let experiment = Experiment::parse(&format!("{head}{text}")).unwrap();
    let image = |kernel: &Kernel, workload: &Name| Image {
        workload: workload.to_string(),
        kernel: kernel.name.clone(),
        ..manifest.images[0].clone()
    };
    let images = kernels
        .iter()
        .flat_map(|kernel| experiment.workload.keys().map(move |workload| image(kernel, workload)));
    let images = images.collect();
    let qemu = manifest.qemu.clone().filter(|_| backend != BackendKind::Host);
    let manifest =
        manifest_on(backend, experiment, (kernels, BTreeMap::new()), BTreeMap::new(), qemu, images);
    let conditions = (!backend.is_vm()).then(|| {
        Box::new(Conditions {
            hypervisor: true,
            governors: vec!["powersave".to_owned()],
            ..Conditions::default()
        })
    });
    let writer = RecordingWriter::open(path, &manifest).unwrap();
    for planned in &manifest.plan.cells {
        let Some(inputs) = planned.inputs() else { continue };
        let Factors { kernel, preempt, replicate, .. } = &planned.factors;
        let made = cell(&kernel.to_string(), preempt.as_str(), *replicate);
        let Some(outcome) = outcome(&sound, &inputs.job.preempt, made) else { continue };
        let (inputs, conditions) = (inputs.clone(), conditions.clone());
        let record = CellRecord { id: inputs.id(), inputs, conditions, outcome, ..sound.clone() };
        writer.cells().put(&record).unwrap();
    }
}

fn outcome(sound: &CellRecord, mode: &str, cell: Cell) -> Option<Outcome> {
    let later = match cell {
        Cell::Missing => return None,
        Cell::Failed => {
            let reason = "the guest used up its virtual time".to_owned();
            return Some(Outcome::Failed { cause: FailureCause::VirtualTimeLimit, reason });
        }
        Cell::Measured => 0,
        Cell::Later(us) => us,
    };
    let Outcome::Completed { digest, mut report } = sound.outcome.clone() else { panic!() };
    let modes = ["none", "voluntary", "full"]
        .map(|each| if each == mode { format!("({each})") } else { each.to_owned() });
    report.system.preempt = Some(modes.join(" "));
    // A sample of the fair probe that crosses a period would stand for one more that is missing.
    for probe in report.probes.iter_mut().filter(|probe| probe.name == "fifo") {
        for text in probe.files.values_mut() {
            *text = delayed(text, later);
        }
    }
    Some(Outcome::Completed { digest, report })
}

/// Returns cyclictest's output with every sample later by `later_us`.
fn delayed(text: &str, later_us: u64) -> String {
    let mut output: serde_json::Value = serde_json::from_str(text).unwrap();
    let thread = &mut output["thread"]["0"];
    let histogram =
        thread["histogram"].as_object().unwrap().iter().map(|(us, count)| {
            ((us.parse::<u64>().unwrap() + later_us).to_string(), count.clone())
        });
    thread["histogram"] = histogram.collect();
    for end in ["min", "max"] {
        thread[end] = (thread[end].as_u64().unwrap() + later_us).into();
    }
    thread["avg"] = (thread["avg"].as_f64().unwrap() + later_us as f64).into();
    serde_json::to_string_pretty(&output).unwrap()
}
