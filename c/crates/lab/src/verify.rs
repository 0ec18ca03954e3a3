//! Whether a recording says the same again.

use std::{collections::BTreeSet, fs};

use preemptlab_cluster::Workplace;
use preemptlab_experiment::{Derived, Recording};
use preemptlab_recording::Claim;
use preemptlab_runner::Verdict;
use preemptlab_stats::Comparison;

use crate::{
    Blame, Execution, Lab, OnEngine, OrBlame, Result, Wanted, execution::execute, meter::Meter,
};

/// Executes cells of a recording again on this machine, all or a number that are spread evenly, and
/// compares.
///
/// # Errors
///
/// When something that they need is unavailable, or the machine or the user ends it.
pub fn verify(lab: &Lab<'_>, recording: &Recording, cells: Option<usize>) -> Result<Vec<Verdict>> {
    // Before anything is asked for in its name.
    let recording = Derived::check(recording).or_blame(Blame::User)?;
    let cancel = lab.watch.cancel()?;
    let prepared = lab.pinned(recording)?;
    let jobs = lab.jobs();
    let meter = Meter::new(lab.watch, &prepared, false, jobs);
    let on_event = |event: preemptlab_runner::Event<'_>| meter.on_event(&event);
    let vm = prepared.vm();
    let verdicts = preemptlab_runner::verify(recording, &vm, cells, jobs, &on_event, &cancel);
    meter.finish();
    Ok(verdicts?)
}

/// Compares the effect of the clocks' lookahead on the measurements of several CPUs.
///
/// # Errors
///
/// Those of [`verify`].
pub fn sensitivity(lab: &Lab<'_>, recording: &Recording) -> Result<Comparison> {
    let derived = Derived::check(recording).or_blame(Blame::User)?;
    let cancel = lab.watch.cancel()?;
    let prepared = lab.pinned(derived)?;
    let jobs = lab.jobs();
    let meter = Meter::new(lab.watch, &prepared, false, jobs);
    let on_event = |event: preemptlab_runner::Event<'_>| meter.on_event(&event);
    let vm = prepared.vm();
    let executed = preemptlab_runner::sensitivity(derived, &vm, jobs, &on_event, &cancel);
    meter.finish();
    let executed = executed?.into_iter();
    let executed = executed.map(|cell| (cell.factors, cell.lookahead, cell.record)).collect();
    Ok(preemptlab_analysis::sensitivity(recording, executed)?)
}

/// Executes the cells of the plan by an engine into a recording beside this one, and compares. The other
/// recording goes where all are the same.
///
/// # Errors
///
/// Those of [`execute`].
pub fn verify_elsewhere(
    lab: &Lab<'_>,
    recording: &Recording,
    engine: OnEngine<'_>,
) -> Result<Vec<Verdict>> {
    // Before anything is asked for in its name.
    let derived = Derived::check(recording).or_blame(Blame::User)?;
    let manifest = recording.manifest();
    let workplace = Workplace::of(recording.path());
    let name = workplace.root().with_extension("again");
    let folder = workplace.folder().beside(&name.file_name().unwrap_or_default().to_string_lossy());
    let out = folder.path();
    let execution = Execution {
        wanted: Wanted {
            experiment: manifest.experiment.clone(),
            folders: derived.folders()?,
            overrides: manifest.overrides.clone(),
        },
        out: &folder,
        backend: manifest.backend,
        no_cache: true,
        retry_failed: false,
        trace: false,
        engine: Some(engine),
    };
    // With exactly the kernels and packages of this one.
    drop(Claim::new(&folder)?.open(manifest)?);
    let ran = execute(lab, &execution)?;
    let planned: BTreeSet<_> = manifest.plan.executable().iter().map(|it| it.id()).collect();
    let mut verdicts = preemptlab_runner::against(recording, ran.writer.recording())?;
    // Cells of looks are not planned there, and a failed cell cannot say the same again.
    verdicts.retain(|verdict| planned.contains(&verdict.id) && verdict.recorded.is_ok());
    drop(ran);
    if verdicts.iter().all(Verdict::is_same) {
        for folder in [&out, Workplace::of(&out).root()] {
            fs::remove_dir_all(folder).or_blame(Blame::Machine)?;
        }
    } else {
        lab.note(format!("the other recording stays: {}/", out.display()));
    }
    Ok(verdicts)
}
