//! The cell in which the instructions of the benchmarks are counted.

use preemptlab_experiment::{CostSource, Experiment, definition};
use preemptlab_files::{Files, Folders, Node};
use preemptlab_model::{Arch, Profile, ProfileFormat};
use preemptlab_protocol::{
    Exit, Message,
    prices::{Price, Prices},
};
use preemptlab_workload::{Folder, Workload};

use crate::{CalibrateError, Counted, MODULE, Place};

/// An experiment of one cell, which executes the program of benchmarks.
#[derive(Clone, Debug)]
pub struct CountingCell {
    /// The experiment.
    pub experiment: Experiment,
    /// The folder that holds the program.
    pub folders: Folders,
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
pub fn counting_cell(program: &[u8], place: Place) -> CountingCell {
    let mut files = Files::default();
    let node = Node::File { executable: true, bytes: program.to_vec() };
    files.insert("micro", node).expect("a program is a file");
    let arguments = match place {
        Place::Program => r#""count""#,
        Place::Kernel => r#""count", "module""#,
    };
    let definition = definition(&DEFINITION.replace("ARGUMENTS", arguments));
    let definition = definition.expect("the definition is sound");
    let mut experiment = Experiment::parse(EXPERIMENT).expect("the experiment is sound");
    experiment.machine.arch = Arch::HOST;
    experiment.machine.prices = CostSource::Profile(Box::new(equal_prices()));
    if place == Place::Kernel {
        experiment.machine.modules.push(MODULE.to_owned());
    }
    let folder = Folder::with_content(files.digest(), definition);
    for workload in experiment.workload.values_mut() {
        *workload = Workload::Folder(folder.clone());
    }
    CountingCell { experiment, folders: Folders::from([(files.digest(), files)]) }
}

/// Returns a profile with which all instructions take the same time. The machine of a cell with prices hides
/// string instructions that are fast on hardware alone, so that its kernel and its programs execute the same
/// instructions as where prices are paid.
fn equal_prices() -> Profile {
    Profile {
        format: ProfileFormat,
        name: "equal".parse().expect("it is a name"),
        arch: Arch::HOST,
        machine: "a machine whose instructions all take the same time"
            .parse()
            .expect("it is plain"),
        fit: None,
        prices: Prices::new(|_| Price::ONE),
        check: None,
        caches: None,
    }
}

impl Counted {
    /// Reads the end of the counting cell and the plugin's counts.
    ///
    /// # Errors
    ///
    /// When the program did not come to its end.
    pub fn read(message: &Message, counts: &str) -> Result<Self, CalibrateError> {
        let probe = match message {
            Message::Done(report) => report.probes.first(),
            Message::Failed(failure) => return Err(CalibrateError::Guest(failure.reason.clone())),
            Message::Ready(_) => None,
        };
        let probe = probe.ok_or_else(|| CalibrateError::Guest("it says nothing".to_owned()))?;
        if probe.exit != Exit::Code(0) {
            return Err(CalibrateError::Guest(probe.stderr.trim().to_owned()));
        }
        Self::parse(&probe.stdout, counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cell_is_one_experiment() {
        for (place, modules) in [(Place::Program, &[][..]), (Place::Kernel, &["preemptlab_micro"])]
        {
            let CountingCell { experiment, folders } = counting_cell(b"\x7fELF", place);
            let [(sha256, files)] = folders.iter().collect::<Vec<_>>()[..] else { panic!() };
            assert_eq!(experiment.workload["micro"].files_sha256(), Some(*sha256));
            assert_eq!(files.iter().map(|(path, _)| path).collect::<Vec<_>>(), ["micro"]);
            assert_eq!(experiment.machine.modules, modules);
            experiment.check_again().unwrap();
        }
    }
}
