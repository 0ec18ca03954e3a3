use preemptlab_model::Arch;
use preemptlab_protocol::script::{Operation, Script, Step};

use crate::{Expectation, names::Names};

/// A scenario. `docs/scenario-format.md` describes its TOML form key by key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    pub(crate) name: String,
    pub(crate) variant: Option<Variant>,
    pub(crate) description: String,
    pub(crate) arch: Arch,
    pub(crate) cpus: u32,
    pub(crate) script: Script,
    pub(crate) names: Names,
    pub(crate) expectations: Vec<Expectation>,
}

/// A variant of a scenario's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Name of the file's scenario.
    pub of: String,
    /// Name of the variant.
    pub name: String,
}

impl Scenario {
    /// Returns its name; that of a variant is `SCENARIO-VARIANT`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns its variant, where the file has variants.
    pub fn variant(&self) -> Option<&Variant> {
        self.variant.as_ref()
    }

    /// Returns the name of its file's scenario, which all variants share.
    pub fn family(&self) -> &str {
        self.variant.as_ref().map_or(&self.name, |variant| &variant.of)
    }

    /// Returns its description.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Returns the architecture of its machine.
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// Returns the scenario on a machine of another architecture.
    pub fn on(self, arch: Arch) -> Self {
        Self { arch, ..self }
    }

    /// Returns the number of CPUs of its machine.
    pub fn cpus(&self) -> u32 {
        self.cpus
    }

    /// Returns the script for the player.
    pub fn script(&self) -> &Script {
        &self.script
    }

    /// Returns its expectations.
    pub fn expectations(&self) -> &[Expectation] {
        &self.expectations
    }

    /// Returns whether it needs the module `preemptlab_scenario`, for system calls of operations or
    /// for interrupts.
    pub fn needs_module(&self) -> bool {
        let calls = |step: &Step| matches!(step, Step::Call(_));
        !self.script.interrupts.is_empty()
            || self.script.threads.iter().any(|thread| thread.steps.iter().any(calls))
    }
}

/// Returns whether a step is a wait: a sleep, a futex, or a system call that sleeps or waits for an
/// interrupt. Waits of a thread are counted in this order, even those that take no time, so that
/// the N-th is the same one under every model.
pub(crate) fn is_wait(step: &Step) -> bool {
    match step {
        Step::SleepUntil(_) | Step::SleepFor(_) | Step::FutexLock(_) => true,
        Step::Call(operations) => operations.iter().any(|operation| {
            matches!(operation, Operation::SleepFor(_) | Operation::WaitInterrupt(_))
        }),
        Step::Busy(_) | Step::Yield | Step::FutexUnlock(_) => false,
    }
}
