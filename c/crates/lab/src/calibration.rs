//! The prices of instructions on this machine.

use std::{
    io::{Read, Seek},
    path::Path,
};

use preemptlab_calibrate::{
    CalibrateError, Calibration, Counted, CountingCell, Loaded, MODULE, Machine, Place, ThisKernel,
    Times, build_tree, counting_cell, measure,
};
use preemptlab_model::Arch;
use preemptlab_provision::MICRO;
use preemptlab_runner::Stop;
use preemptlab_system::host::{HostKernel, processor};

use crate::{Blame, Error, Event, Lab, OrBlame, Part, Result};

/// Prices of this machine's instructions, and the machine of the measurement.
pub struct Calibrated {
    /// The prices, and how well they say the times of the benchmarks.
    pub calibration: Calibration,
    /// The machine.
    pub machine: Machine,
}

/// Measures micro-benchmarks on this machine, counts their instructions in a guest, and fits prices; with a
/// module also the privileged ones.
///
/// # Errors
///
/// When this machine's kernel takes no module, its times do not come again, no prices fit them, or the machine or
/// the user ends it.
pub fn calibrate(lab: &Lab<'_>, with_module: bool) -> Result<Calibrated> {
    // A machine whose kernel takes no module says so before anything is downloaded or measured.
    let tree = with_module.then(|| build_tree(Path::new("/"), &release())).transpose()?;
    let module = tree.map(|tree| build(lab, &tree)).transpose()?;
    let mut counted = count(lab, Place::Program)?;
    if module.is_some() {
        counted = counted.with(count(lab, Place::Kernel)?);
    }
    let (times, machine) = time(lab, module.as_deref())?;
    let calibration = preemptlab_calibrate::calibrate(&times, &counted)?;
    Ok(Calibrated { calibration, machine })
}

/// Returns the release of this machine's kernel.
fn release() -> String {
    HostKernel::observe(Path::new("/")).release
}

/// Builds the module of benchmarks for this machine's kernel.
fn build(lab: &Lab<'_>, tree: &Path) -> Result<Vec<u8>> {
    lab.provide(lab.open_store()?, Arch::HOST, |provision| {
        provision.module_of_tree(MODULE, &release(), tree).or_blame(Blame::Machine)
    })
}

/// Measures the benchmarks on this machine, and those of the module where there is one.
fn time(lab: &Lab<'_>, module: Option<&[u8]>) -> Result<(Times, Machine)> {
    let root = Path::new("/");
    let cancel = lab.watch.cancel()?;
    let watch = preemptlab_system::host::Watch::begin(root);
    let measured = |place| {
        let part = Part::Time(place);
        during(lab, part, || {
            measure(MICRO, place, &cancel.flag(), |passes| {
                lab.watch.on(Event::Calibrating { part, passes: Some(passes) });
            })
        })
    };
    let mut times = measured(Place::Program)?;
    if let Some(module) = module {
        // An interruption comes back as an error, and so unloads the module as well.
        let loaded = Loaded::load(ThisKernel, module)?;
        times = times.with(measured(Place::Kernel)?);
        loaded.unload()?;
    }
    let machine = Machine {
        processor: processor(root),
        release: Some(HostKernel::observe(root).release).filter(|release| !release.is_empty()),
        conditions: watch.end(root),
    };
    machine.check(&times)?;
    Ok((times, machine))
}

/// Counts the instructions of the benchmarks of a place in a guest.
fn count(lab: &Lab<'_>, place: Place) -> Result<Counted> {
    let store = lab.open_store()?;
    let CountingCell { experiment, folders } = counting_cell(MICRO, place);
    let prepared = lab.provide(store, experiment.machine.arch, |provision| {
        Ok(lab.preparation(provision).with_folders(&folders).resolve(experiment)?)
    })?;
    during(lab, Part::Count(place), || {
        let cell = prepared.manifest.plan.cells.iter().find_map(|planned| planned.inputs());
        let cell = cell.ok_or_else(|| Error::machine("the kernel of the guest cannot be had"))?;
        let failed =
            |error: std::io::Error| Error::machine(format!("no place for counts: {error}"));
        let mut counts = tempfile::tempfile().map_err(failed)?;
        let cancel = lab.watch.cancel()?;
        let execution = prepared.vm().count(cell, &counts, &cancel).map_err(stopped)?;
        let mut text = String::new();
        counts.rewind().and_then(|()| counts.read_to_string(&mut text)).map_err(failed)?;
        Ok(Counted::read(&execution.message, &text)?)
    })
}

/// Does a part of a calibration, and tells when it begins and ends.
fn during<T>(lab: &Lab<'_>, part: Part, work: impl FnOnce() -> T) -> T {
    lab.watch.on(Event::Calibrating { part, passes: None });
    let result = work();
    lab.watch.on(Event::Calibrated);
    result
}

fn stopped(stop: Stop) -> Error {
    match stop {
        Stop::Cancelled => CalibrateError::Interrupted.into(),
        Stop::Failed { reason, .. } | Stop::Host { reason } => Error::machine(reason),
    }
}
