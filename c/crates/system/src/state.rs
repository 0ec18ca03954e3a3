//! The state of a machine: its abilities, its own kernel, and the settings that were put into force.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    apply::{Effect, Journal, Machine, State, effects},
    host::HostKernel,
};

/// A need of preemptlab that the machine should meet.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Check {
    /// The need.
    pub what: &'static str,
    /// Whether the machine meets it.
    pub ok: bool,
    /// The evidence.
    pub finding: String,
    /// The command that mends it.
    pub mend: Option<String>,
}

impl Check {
    /// Describes a need by the evidence that it is met, or by what is missing and the command that mends it.
    pub fn new(what: &'static str, finding: Result<String, (String, Option<String>)>) -> Self {
        match finding {
            Ok(finding) => Self { what, ok: true, finding, mend: None },
            Err((finding, mend)) => Self { what, ok: false, finding, mend },
        }
    }
}

/// A way to execute cells.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Ability {
    /// Name of the backend, as `run --backend` takes it.
    pub name: &'static str,
    /// Whether the machine can execute cells so.
    pub usable: bool,
    /// The reason.
    pub finding: String,
}

/// Settings that were put into force, and their effects.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AppliedSettings {
    /// Reason why the journal could not be read.
    pub problem: Option<String>,
    /// The verb that was killed while it changed files.
    pub interrupted: Option<String>,
    /// Effect of each setting.
    pub applied: Vec<Effect>,
}

impl AppliedSettings {
    /// Observes the settings of the machine that this runs on.
    pub fn observe(kernel: &HostKernel) -> Self {
        let machine = Machine::at(Path::new("/"));
        let journal = match Journal::load(&machine) {
            Ok(journal) => journal,
            Err(error) => {
                let problem = format!("{error}; `sudo preemptlab system show` may read it");
                return Self { problem: Some(problem), interrupted: None, applied: Vec::new() };
            }
        };
        Self {
            problem: None,
            interrupted: journal.pending.map(|pending| pending.verb),
            applied: journal
                .applied
                .map(|applied| effects(&machine, &applied, kernel))
                .unwrap_or_default(),
        }
    }

    /// Returns whether a setting is not as it was asked for.
    pub fn is_amiss(&self) -> bool {
        self.interrupted.is_some()
            || self.applied.iter().any(|effect| effect.state == State::NotInForce)
    }
}

/// The state of a machine, as a document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MachineState {
    /// Version of the document.
    pub format: u32,
    /// Ways to execute cells.
    pub backends: Vec<Ability>,
    /// Needs of the backend `vm`.
    pub checks: Vec<Check>,
    /// The kernel that runs, by its own files.
    pub kernel: HostKernel,
    /// A sentence about the name that `uname` gives the kernel, and the kernel that runs.
    pub naming: String,
    /// Settings that were put into force.
    pub settings: AppliedSettings,
}
