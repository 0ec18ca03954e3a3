//! The prices of instructions on this machine.

use std::{
    io::{Read, Seek},
    path::Path,
};

use preemptlab_calibrate::{
    CalibrateError, Calibration, Counted, Cpus, Figures, Loaded, MODULE, Machine, MachineCaches,
    MicroCell, Moved, NoCaches, NoTransfer, OneCpu, Pair, PairPass, PairTimes, Place, Reach, Site,
    Solution, Stolen, Target, ThisKernel, Times, Unsolved, build_tree, counting_cell, pair_cell,
    solve,
};
use preemptlab_model::{Arch, GuestCpu};
use preemptlab_provision::micro;
use preemptlab_runner::Stop;
use preemptlab_system::host::{HostKernel, load, processor};

use crate::{Blame, Error, Event, Lab, OrBlame, Part, Result};

/// Prices of this machine's instructions, and the machine of the measurement.
pub struct Calibrated {
    /// The prices, and how well they say the times of the benchmarks.
    pub calibration: Calibration,
    /// The machine.
    pub machine: Machine,
    /// The processor of its guests, where it is not the one that all have.
    pub cpu: Option<GuestCpu>,
    /// Time that something takes from its CPUs.
    pub stolen: Stolen,
    /// What two CPUs do for each other.
    pub between: Between,
    /// Its caches, or why none are known.
    pub caches: Result<MachineCaches, NoCaches>,
    /// Cost of a line that another CPU has written, or why that is not known.
    pub moved: Result<Moved, NoTransfer>,
}

/// What two CPUs do for each other, as far as there are two.
pub enum Between {
    /// There is but one CPU.
    OneCpu(OneCpu),
    /// It was measured.
    Measured {
        /// The CPUs.
        pair: Pair,
        /// Its times on the machine.
        times: PairTimes,
        /// What they tell.
        solution: Result<Solution, Unsolved>,
    },
}

/// Times of the machine.
struct Measured {
    /// Of the benchmarks of one CPU.
    times: Times,
    /// Of two CPUs, where there are two.
    between: Result<(Pair, PairTimes), OneCpu>,
    stolen: Stolen,
    caches: Result<MachineCaches, NoCaches>,
    machine: Machine,
}

/// Measures micro-benchmarks on this machine, or on the one that a command reaches, counts their instructions in a guest, and fits prices; with a
/// module also the privileged ones. Then it measures the exchanges of two CPUs, and executes them in a guest of two
/// CPUs until their prices are found. The last measurements are the costs of misses of caches.
///
/// # Errors
///
/// When this machine's kernel takes no module, its times do not come again, no prices fit them, or the machine or
/// the user ends it.
pub fn calibrate(lab: &Lab<'_>, with_module: bool, reach: Option<Reach>) -> Result<Calibrated> {
    // A machine whose kernel takes no module says so before anything is downloaded or measured.
    let tree = with_module.then(|| build_tree(Path::new("/"), &release())).transpose()?;
    let module = tree.map(|tree| build(lab, &tree)).transpose()?;
    let flag = lab.watch.cancel()?.flag();
    let site = match reach {
        Some(reach) => Site::reached_by(reach, &flag)?,
        None => Site::here(micro(Arch::HOST), &flag)?,
    };
    let (arch, cpu) = (site.arch(), site.guest_cpu());
    let target = Target { program: micro(arch), arch, cpu };
    let mut counted = count(lab, target, Place::Program)?;
    if module.is_some() {
        counted = counted.with(count(lab, target, Place::Kernel)?);
    }
    let Measured { times, between, stolen, caches, machine } = time(lab, &site, module.as_deref())?;
    let mut calibration = preemptlab_calibrate::calibrate(arch, &times, &counted)?;
    let moved = match &between {
        Ok((pair, times)) => Moved::of(*pair, times),
        Err(_) => Err(NoTransfer::OneCpu),
    };
    let between = match between {
        Ok((pair, times)) => {
            let solution = match stolen.check() {
                Ok(()) => between_cpus_of_a_guest(lab, target, &calibration, &times)?,
                Err(too_much) => Err(too_much),
            };
            if let Ok(solution) = &solution {
                calibration = calibration.with_solved(&solution.costs_ns);
            }
            Between::Measured { pair, times, solution }
        }
        Err(only) => Between::OneCpu(only),
    };
    Ok(Calibrated { calibration, machine, cpu, stolen, between, caches, moved })
}

/// Returns the release of this machine's kernel.
fn release() -> String {
    HostKernel::observe(Path::new("/")).release
}

/// No kernel's release is longer (uname(2)).
const RELEASE_BYTES_MAX: u64 = 256;

/// Returns the release of the kernel of a machine whose files are below `root` (proc_sys_kernel(5)).
fn release_of(root: &Path) -> Option<String> {
    let bytes = preemptlab_files::read(&root.join("proc/sys/kernel/osrelease"), RELEASE_BYTES_MAX);
    let text = String::from_utf8(bytes.ok()?).ok()?;
    Some(text.trim().to_owned()).filter(|release| !release.is_empty())
}

/// Builds the module of benchmarks for this machine's kernel.
fn build(lab: &Lab<'_>, tree: &Path) -> Result<Vec<u8>> {
    lab.provide(lab.open_store()?, Arch::HOST, |provision| {
        provision.module_of_tree(MODULE, &release(), tree).or_blame(Blame::Machine)
    })
}

/// Measures the benchmarks on a machine, and those of the module where there is one.
fn time(lab: &Lab<'_>, site: &Site, module: Option<&[u8]>) -> Result<Measured> {
    let (root, program) = (site.root(), site.program());
    let flag = lab.watch.cancel()?.flag();
    let watch = preemptlab_system::host::Watch::begin(root);
    let told = |part| move |passes| lab.watch.on(Event::Calibrating { part, passes: Some(passes) });
    let measured = |place| {
        let part = Part::Time(place);
        during(lab, part, || program.measure(place, &flag, told(part)))
    };
    let mut times = measured(Place::Program)?;
    if let Some(module) = module {
        // An interruption comes back as an error, and so unloads the module as well.
        let loaded = Loaded::load(ThisKernel, module)?;
        times = times.with(measured(Place::Kernel)?);
        loaded.unload()?;
    }
    let (between, stolen) = match Cpus::choose(root, site.cpus()) {
        Cpus::Two(pair) => {
            let part = Part::Between;
            let measured = during(lab, part, || program.measure_two(pair, &flag, told(part)));
            let (times, stolen) = measured?;
            (Ok((pair, times)), stolen)
        }
        Cpus::One(only) => {
            let part = Part::Gaps;
            let measured = during(lab, part, || program.measure_gaps(only.cpu, &flag, told(part)));
            (Err(only), measured?)
        }
    };
    let cpu = match &between {
        Ok((pair, _)) => pair.cpu,
        Err(only) => only.cpu,
    };
    let caches = during(lab, Part::Caches, || {
        let available_bytes = load(root).available_mib.unwrap_or(0) << 20;
        MachineCaches::measure(site, cpu, available_bytes, &flag, told(Part::Caches))
    });
    if let Err(NoCaches::Failed(CalibrateError::Interrupted)) = caches {
        return Err(CalibrateError::Interrupted.into());
    }
    site.look(&flag)?;
    let machine = Machine {
        processor: processor(root),
        release: release_of(root),
        conditions: watch.end(root),
    };
    machine.check(&times)?;
    Ok(Measured { times, between, stolen, caches, machine })
}

/// Executes in a guest of two CPUs what was measured between two of this machine, until the prices are found
/// with which it takes as long.
///
/// # Errors
///
/// When the user ends it. A guest that does not measure is a reason why no price is found.
fn between_cpus_of_a_guest(
    lab: &Lab<'_>,
    target: Target<'_>,
    calibration: &Calibration,
    times: &PairTimes,
) -> Result<Result<Solution, Unsolved>> {
    let store = lab.open_store()?;
    let MicroCell { experiment, folders } = pair_cell(target);
    let prepared = lab.provide(store, experiment.machine.arch, |provision| {
        Ok(lab.preparation(provision).with_folders(&folders).resolve(experiment)?)
    })?;
    let cell = prepared.manifest.plan.cells.iter().find_map(|planned| planned.inputs());
    let cell = cell.ok_or_else(|| Error::machine("the kernel of the guest cannot be had"))?;
    let (vm, cancel) = (prepared.vm(), lab.watch.cancel()?);
    let solution = during(lab, Part::Solve, || {
        solve(calibration, &Figures::of_machine(times), |prices| {
            let execution = vm.execute_priced(cell, prices, &cancel).map_err(stopped)?;
            let pass = PairPass::read(&execution.message);
            pass.map(|pass| Figures::of_guest(&pass)).map_err(Error::from)
        })
    });
    match solution {
        Err(error) if error.blame() == Blame::Interrupted => Err(error),
        solution => Ok(solution.map_err(|error| Unsolved::Guest(error.to_string()))),
    }
}

/// Counts the instructions of the benchmarks of a place in a guest.
fn count(lab: &Lab<'_>, target: Target<'_>, place: Place) -> Result<Counted> {
    let store = lab.open_store()?;
    let MicroCell { experiment, folders } = counting_cell(target, place);
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
