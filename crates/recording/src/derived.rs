//! Whether a plan is that of its experiment. A recording may come from anybody: what is executed
//! again is what its experiment says, and not what somebody wrote beside it.

use std::collections::BTreeMap;

use preemptlab_experiment::{Experiment, Factors, Resolved};
use preemptlab_model::{KernelRef, Planned, PlannedCell};
use serde::Serialize;
use serde_json::Value;

use crate::Manifest;

/// The first thing in which the cells of a recording, with how many looks there were before each,
/// differ from what its experiment and its pinned inputs come to; `None` when nothing does.
pub fn difference<'a>(
    manifest: &Manifest,
    added: impl Iterator<Item = &'a PlannedCell>,
) -> Option<String> {
    check(manifest, added).err()
}

fn check<'a>(
    manifest: &Manifest,
    added: impl Iterator<Item = &'a PlannedCell>,
) -> Result<(), String> {
    let Manifest { experiment, plan, .. } = manifest;
    experiment.check_again()?;
    // Before a plan of any size is laid out.
    if count(experiment) != Some(plan.cells.len()) {
        return Err("the plan has another number of cells than the experiment".to_owned());
    }
    let resolved = resolved(manifest)?;
    let derived = preemptlab_experiment::plan(experiment, &resolved);
    for (cell, derived) in plan.cells.iter().zip(&derived.cells) {
        same(cell, derived)?;
    }
    let mut firsts = BTreeMap::new();
    for cell in &plan.cells {
        firsts.entry(configuration(cell)).or_insert(cell);
    }
    for cell in added {
        let first = firsts.get(&configuration(cell)).copied();
        let derived = first.and_then(|first| {
            preemptlab_experiment::replicate(experiment, first, cell.factors.replicate)
        });
        let derived = derived.ok_or_else(|| {
            format!("{}, which was added after a look, is no cell of the experiment", cell.factors)
        })?;
        same(cell, &derived)?;
    }
    Ok(())
}

/// The factors without the replicate.
fn configuration(cell: &PlannedCell) -> preemptlab_model::Factors {
    preemptlab_model::Factors { replicate: 0, ..cell.factors.clone() }
}

fn count(experiment: &Experiment) -> Option<usize> {
    let Factors { kernel, preempt, cpus, settings } = &experiment.factors;
    let levels = [kernel.len(), preempt.len(), cpus.len(), settings.len()];
    let replicates = usize::try_from(experiment.replicates.count).ok()?;
    levels
        .into_iter()
        .chain([experiment.workload.len(), replicates])
        .try_fold(1, usize::checked_mul)
}

/// What the recording says that the experiment's names stand for: no more than these, and each once.
fn resolved(manifest: &Manifest) -> Result<Resolved, String> {
    let Manifest { experiment, kernels, backend, qemu, images, plan, .. } = manifest;
    let wanted = &experiment.factors.kernel;
    let mut resolved = Resolved {
        kernels: BTreeMap::new(),
        unavailable: BTreeMap::new(),
        images: BTreeMap::new(),
        backend: *backend,
        qemu: qemu.as_ref().map(|qemu| qemu.build.clone()),
    };
    for kernel in kernels {
        let is_wanted = wanted.contains(&kernel.name);
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

/// Why a kernel was not to be had: words that nothing but the plan has.
fn reason(cells: &[PlannedCell], kernel: &KernelRef) -> String {
    let of_it = cells.iter().filter(|cell| cell.factors.kernel == *kernel);
    let mut reasons = of_it.filter_map(|cell| match &cell.planned {
        Planned::Unavailable { reason } => Some(reason.clone()),
        Planned::Execute(_) => None,
    });
    reasons.next().unwrap_or_default()
}

/// Compares everything of two cells, except the words in which one cannot exist.
fn same(cell: &PlannedCell, derived: &PlannedCell) -> Result<(), String> {
    let field = match (&cell.planned, &derived.planned) {
        _ if cell.factors != derived.factors => place(&cell.factors, &derived.factors),
        (Planned::Execute(cell), Planned::Execute(derived)) => {
            if cell == derived {
                return Ok(());
            }
            place(cell, derived)
        }
        (Planned::Unavailable { .. }, Planned::Unavailable { .. }) => return Ok(()),
        _ => "whether it can be executed".to_owned(),
    };
    Err(format!("the cell {} is not that of the experiment, in `{field}`", derived.factors))
}

/// The first field in which two values differ: `job.load.0.argv.1`.
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
