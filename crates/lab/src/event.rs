//! Events of an action at work, and the trait of those who watch it.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use preemptlab_calibrate::{Passes, Place};
use preemptlab_cluster::merge::Merged;
use preemptlab_model::{CellRecord, Factors};
use preemptlab_recording::RecordingError;
use preemptlab_runner::Cancel;
use preemptlab_stats::Gate;

use crate::Result;

/// Observer of an action, who may end it.
pub trait Watch: Sync {
    /// Hears of an event. Events of several threads come one at a time.
    fn on(&self, event: Event<'_>);

    /// Returns the flag that ends the action. It is asked for before anything begins that takes long.
    ///
    /// # Errors
    ///
    /// When this machine cannot tell of an interruption.
    fn cancel(&self) -> Result<Cancel>;
}

/// Event of an action.
#[derive(Debug)]
pub enum Event<'a> {
    /// Kernels and packages are looked for.
    Providing,
    /// Something is brought here.
    Provision(preemptlab_provision::Event),
    /// Everything is here, or unavailable.
    Provided,
    /// Cells are executed.
    Cells {
        /// The change.
        change: Change<'a>,
        /// The rest after it.
        left: Left,
    },
    /// No cell is executed any more, or none until the next look.
    Executed,
    /// An engine has told something of its tasks.
    Tasks {
        /// The engine's event.
        event: &'a preemptlab_cluster::engine::Event<'a>,
        /// The file of the tasks' last words, and the words, where tasks ended early.
        words: Option<(PathBuf, String)>,
        /// The rest, once it is known.
        left: Option<Left>,
    },
    /// The engine's tasks have ended without these cells.
    Unfinished(Vec<String>),
    /// Parts were joined to a recording, and not all is as it should be.
    Merged {
        /// The result of the join.
        merged: &'a Merged,
        /// The recording.
        recording: &'a Path,
    },
    /// A part of a calibration is at work.
    Calibrating {
        /// The part.
        part: Part,
        /// The passes that are done; `None` where it begins.
        passes: Option<Passes>,
    },
    /// A part of a calibration has ended.
    Calibrated,
    /// The results were looked at.
    Look(Look<'a>),
    /// A fact.
    Note(String),
    /// A possible oversight.
    Warning(String),
}

/// Change of the cells that are executed.
#[derive(Debug)]
pub enum Change<'a> {
    /// The work on this machine is known.
    Planned {
        /// Boots to make sure of.
        boots: usize,
        /// Cells that are finished already.
        finished: usize,
        /// Virtual machines at a time.
        jobs: usize,
        /// Reasons why it may take longer.
        notes: Vec<String>,
    },
    /// The work on other machines is known.
    Spread {
        /// Cells that are finished already.
        finished: usize,
        /// Tasks into which the cells are cut.
        tasks: u32,
        /// Tasks at a time.
        jobs: usize,
    },
    /// A cell in the store was damaged: it is removed, and the cell is executed again.
    Damaged(&'a RecordingError),
    /// A kernel boots, unless the store has its snapshot.
    Booting {
        /// The kernel's name; `None` where the store has its snapshot.
        kernel: Option<&'a str>,
    },
    /// A boot has ended.
    Booted,
    /// A cell begins.
    Started,
    /// A cell is finished.
    Finished {
        /// The first cell of the plan that has its inputs.
        factors: &'a Factors,
        /// Its record.
        record: &'a CellRecord,
        /// Host time that it took; `None` where another machine executed it.
        wall: Option<Duration>,
    },
}

/// Cells that are left to execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// Number of them.
    pub cells: usize,
    /// Number of cells that have failed.
    pub failed: usize,
    /// Host time that they take.
    pub wall: Duration,
    /// Whether some of their kernels have to boot first.
    pub is_booting: bool,
}

/// Look at the results, which either decide or need more cells.
#[derive(Clone, Copy, Debug)]
pub struct Look<'a> {
    /// Number of the look, from 1.
    pub number: u32,
    /// The question, as far as it is answered.
    pub asked: Asked<'a>,
    /// Number of cells that would decide it.
    pub more: usize,
    /// Host time that these take.
    pub wall: Duration,
    /// The next step.
    pub then: Then,
}

/// Question that looks answer.
#[derive(Clone, Copy, Debug)]
pub enum Asked<'a> {
    /// Which configurations differ.
    Comparisons(&'a preemptlab_analysis::looks::Look),
    /// Whether a kernel is worse than another.
    Kernels(&'a Gate),
}

/// The next step after a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// The question is answered, or more cells would not help.
    End,
    /// More cells are executed.
    More,
    /// The budget does not allow more cells.
    OverBudget,
    /// The recording takes no more cells.
    Full,
}

/// Part of a calibration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The benchmarks are measured on this machine.
    Time(Place),
    /// Their instructions are counted in a guest.
    Count(Place),
    /// What two CPUs do for each other is measured on this machine, and what is stolen from them.
    Between,
    /// What is stolen from the only CPU is measured.
    Gaps,
    /// One of its CPUs measures the cost of a miss of its caches.
    Caches,
    /// A guest of two CPUs does the same in virtual time.
    Solve,
}
