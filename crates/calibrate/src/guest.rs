//! The cells of a calibration: one in which the instructions of the benchmarks are counted, and one in which two
//! CPUs do what they do for each other.

use preemptlab_experiment::{CostSource, Experiment, definition};
use preemptlab_files::{Files, Folders, Node};
use preemptlab_model::{Arch, GuestCpu, Profile, ProfileFormat};
use preemptlab_protocol::{
    Exit, Message,
    prices::{Price, Prices},
};
use preemptlab_workload::{Folder, Workload};

use crate::{CalibrateError, Counted, MODULE, PairPass, Place};

/// An experiment of one cell, which executes the program of benchmarks.
#[derive(Clone, Debug)]
pub struct MicroCell {
    /// The experiment.
    pub experiment: Experiment,
    /// The folder that holds the program.
    pub folders: Folders,
}

/// What a guest has in the place of a machine.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The program of benchmarks.
    pub program: &'a [u8],
    /// The architecture.
    pub arch: Arch,
    /// The processor, where it is not the one that all guests of the architecture have.
    pub cpu: Option<GuestCpu>,
}

/// A Debian kernel whose default is to preempt where it asks for it, and one CPU. Its instructions are
/// counted and have no prices: the calibration finds these.
const EXPERIMENT: &str = r#"
format = 1
name = "calibration"
[factors]
kernel = ["debian:6.12"]
preempt = ["voluntary"]
[replicates]
count = 1
[machine]
cost = "instructions"
[workload.micro]
kind = "folder"
path = "micro"
"#;

/// How the program is executed, with `ARGUMENTS` in the place of its arguments.
const DEFINITION: &str = r#"
format = 1
[[probe]]
name = "micro"
argv = ["/workload/micro", ARGUMENTS]
[[metric]]
name = "duration"
unit = "s"
better = "lower"
from = "micro.real"
"#;

/// Lays out the cell in which the benchmarks of a place are counted.
///
/// Those of the kernel have a cell of their own: the counts of the program are the same with the module and
/// without.
///
/// # Panics
///
/// Never: its texts are tested.
pub fn counting_cell(target: Target<'_>, place: Place) -> MicroCell {
    let (arguments, modules) = match place {
        Place::Program => (r#""count""#, None),
        Place::Kernel => (r#""count", "module""#, Some(MODULE.to_owned())),
    };
    let mut cell = micro_cell(target, arguments);
    cell.experiment.machine.modules.extend(modules);
    cell
}

/// Lays out the cell in which two CPUs do for each other what is measured between two of the machine. All its
/// instructions take the same time, so that its boot is the same for every calibration.
///
/// # Panics
///
/// Never: its texts are tested.
pub fn pair_cell(target: Target<'_>) -> MicroCell {
    let mut cell = micro_cell(target, r#""between", "0", "1""#);
    cell.experiment.factors.cpus = vec![2];
    cell
}

/// Lays out a cell of one CPU that executes the program with arguments.
fn micro_cell(target: Target<'_>, arguments: &str) -> MicroCell {
    let mut files = Files::default();
    let node = Node::File { executable: true, bytes: target.program.to_vec() };
    files.insert("micro", node).expect("a program is a file");
    let definition = definition(&DEFINITION.replace("ARGUMENTS", arguments));
    let definition = definition.expect("the definition is sound");
    let mut experiment = Experiment::parse(EXPERIMENT).expect("the experiment is sound");
    experiment.machine.arch = target.arch;
    experiment.machine.prices = CostSource::Profile(Box::new(equal_prices(target)));
    let folder = Folder::with_content(files.digest(), definition);
    for workload in experiment.workload.values_mut() {
        *workload = Workload::Folder(folder.clone());
    }
    MicroCell { experiment, folders: Folders::from([(files.digest(), files)]) }
}

/// Returns a profile with which all instructions take the same time. The machine of a cell with prices hides
/// string instructions that are fast on hardware alone, so that its kernel and its programs execute the same
/// instructions as where prices are paid.
fn equal_prices(Target { arch, cpu, .. }: Target<'_>) -> Profile {
    Profile {
        format: ProfileFormat,
        name: "equal".parse().expect("it is a name"),
        arch,
        machine: "a machine whose instructions all take the same time"
            .parse()
            .expect("it is plain"),
        cpu,
        fit: None,
        prices: Prices::new(arch.platform().price_classes, |_| Price::ONE),
        check: None,
        caches: None,
        stolen: None,
    }
}

impl Counted {
    /// Reads the end of the counting cell and the plugin's counts.
    ///
    /// # Errors
    ///
    /// When the program did not come to its end.
    pub fn read(message: &Message, counts: &str) -> Result<Self, CalibrateError> {
        Self::parse(printed(message)?, counts)
    }
}

impl PairPass {
    /// Reads the end of the cell of two CPUs.
    ///
    /// # Errors
    ///
    /// When the program did not come to its end.
    pub fn read(message: &Message) -> Result<Self, CalibrateError> {
        Self::parse(printed(message)?)
    }
}

/// Returns what the program has printed in a guest.
fn printed(message: &Message) -> Result<&str, CalibrateError> {
    let probe = match message {
        Message::Done(report) => report.probes.first(),
        Message::Failed(failure) => return Err(CalibrateError::Guest(failure.reason.clone())),
        Message::Ready(_) => None,
    };
    let probe = probe.ok_or_else(|| CalibrateError::Guest("it says nothing".to_owned()))?;
    match probe.exit {
        Exit::Code(0) => Ok(&probe.stdout),
        _ => Err(CalibrateError::Guest(probe.stderr.trim().to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ELF: Target<'_> = Target { program: b"\x7fELF", arch: Arch::HOST, cpu: None };

    #[test]
    fn the_cell_is_one_experiment() {
        for (place, modules) in [(Place::Program, &[][..]), (Place::Kernel, &["preemptlab_micro"])]
        {
            let MicroCell { experiment, folders } = counting_cell(ELF, place);
            let [(sha256, files)] = folders.iter().collect::<Vec<_>>()[..] else { panic!() };
            assert_eq!(experiment.workload["micro"].files_sha256(), Some(*sha256));
            assert_eq!(files.iter().map(|(path, _)| path).collect::<Vec<_>>(), ["micro"]);
            assert_eq!(experiment.machine.modules, modules);
            experiment.check_again().unwrap();
        }
    }

    #[test]
    fn the_cell_of_two_cpus_has_two() {
        let MicroCell { experiment, .. } = pair_cell(ELF);
        assert_eq!(experiment.factors.cpus, [2]);
        experiment.check_again().unwrap();
    }
}
