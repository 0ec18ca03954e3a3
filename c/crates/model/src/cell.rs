use std::fmt;

use preemptlab_protocol::Job;
use serde::{Deserialize, Serialize};

use crate::{
    BackendKind, CellCost, Clocks, Digest, KernelRef, Machine, Name, PreemptMode, QemuBuild,
    Settings,
};

/// Everything that a boot depends on. Cells with equal inputs are forked from one snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnapshotInputs {
    /// Backend that executes the cells of the boot.
    #[serde(default, skip_serializing_if = "BackendKind::is_vm")]
    pub backend: BackendKind,
    /// SHA-256 of the kernel's bzImage, or a digest that stands for it where the machine does not
    /// have it.
    pub kernel_sha256: Digest,
    /// The kernel's command line. Of the machine's own kernel, only the parameters that the
    /// experiment asks for.
    pub cmdline: String,
    /// SHA-256 of the guest image (the initramfs, modules included).
    pub image_sha256: Digest,
    /// The virtual machine, or how much of the machine itself.
    pub machine: Machine,
    /// QEMU that runs the machine; `None` where none is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qemu: Option<QemuBuild>,
}

impl SnapshotInputs {
    /// Returns the boot's identity.
    pub fn id(&self) -> SnapshotId {
        SnapshotId(Digest::of_json(self))
    }

    /// Checks that this preemptlab can boot it.
    ///
    /// # Errors
    ///
    /// [`TookTurns`] for several CPUs in virtual time that have no clocks of their own.
    pub fn check_clocks(&self) -> Result<(), TookTurns> {
        let Machine { cpus, lookahead, .. } = self.machine;
        let takes_turns = self.backend.is_vm() && cpus > 1 && lookahead.is_none();
        if takes_turns { Err(TookTurns) } else { Ok(()) }
    }
}

/// Cell that an earlier preemptlab recorded and that this one does not execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "it was recorded when several CPUs took turns on one clock, and is not executed again: each CPU \
     has a clock of its own now; run the experiment anew into another folder"
)]
pub struct TookTurns;

/// Everything that a cell's outcome depends on: in virtual time, the same inputs give the same bytes
/// on any machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellInputs {
    /// The boot that it is forked from.
    pub snapshot: SnapshotInputs,
    /// Job of the cell, after the boot.
    pub job: Job,
}

impl CellInputs {
    /// Returns the cell's identity.
    pub fn id(&self) -> CellId {
        CellId(Digest::of_json(self))
    }

    /// Returns the cost that its time counts; `None` where time is the machine's own.
    pub fn cost(&self) -> Option<CellCost> {
        self.snapshot.backend.is_vm().then(|| CellCost::of(&self.snapshot.machine))
    }

    /// Returns what time its CPUs have; `None` where there is one, and where time is the machine's own.
    pub fn clocks(&self) -> Option<Clocks> {
        let Machine { cpus, lookahead, .. } = self.snapshot.machine;
        (self.snapshot.backend.is_vm() && cpus > 1).then(|| match (lookahead, self.job.skew_ns) {
            (Some(lookahead), _) => Clocks::Own(lookahead),
            (None, skew_ns) => {
                let skew_us = skew_ns.unwrap_or(0) / 1_000;
                Clocks::Turns { skew_us: u32::try_from(skew_us).unwrap_or(u32::MAX) }
            }
        })
    }
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Digest);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id! {
    /// The hash of a cell's inputs.
    CellId
}
id! {
    /// The hash of a boot's inputs.
    SnapshotId
}

/// A cell's place in its experiment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Factors {
    /// The workload's name in the experiment.
    pub workload: String,
    /// The kernel's name in the experiment.
    pub kernel: KernelRef,
    /// Requested mode.
    pub preempt: PreemptMode,
    /// The machine whose time the cell has, by the name of its profile; `None` where the experiment has
    /// only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Name>,
    /// Number of virtual CPUs.
    pub cpus: u32,
    /// Settings besides the mode.
    pub settings: Settings,
    /// Counts from 1; replicates differ by seed.
    pub replicate: u32,
}

impl Factors {
    /// Returns whether both differ in nothing but the replicate.
    pub fn is_replicate_of(&self, other: &Self) -> bool {
        Self { replicate: other.replicate, ..self.clone() } == *other
    }
}

/// Returns the words by which a name tells machines apart: ` of server-x86`, or nothing where an experiment
/// has only one.
pub fn of_machine(machine: Option<&Name>) -> String {
    machine.map(|machine| format!(" of {machine}")).unwrap_or_default()
}

impl fmt::Display for Factors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { workload, kernel, preempt, machine, cpus, settings, replicate } = self;
        write!(f, "{kernel} {preempt} ")?;
        if !settings.is_empty() {
            write!(f, "{settings} ")?;
        }
        write!(f, "{workload} on {cpus} CPU")?;
        if *cpus > 1 {
            f.write_str("s")?;
        }
        write!(f, "{} #{replicate}", of_machine(machine.as_ref()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arch, InstructionCost};

    /// Recordings of virtual time were made before there was any other.
    #[test]
    fn virtual_time_is_what_is_not_named() {
        let vm = SnapshotInputs {
            backend: BackendKind::Vm,
            kernel_sha256: Digest::of(b"kernel"),
            cmdline: "quiet".into(),
            image_sha256: Digest::of(b"image"),
            machine: Machine {
                arch: Arch::Amd64,
                cpus: 1,
                memory_mib: 512,
                cost: InstructionCost::default(),
                lookahead: None,
                topology: None,
                prices: None,
                without: Default::default(),
            },
            qemu: Some(QemuBuild { version: "10.0".into(), digest: Digest::of(b"qemu") }),
        };
        let text = serde_json::to_string(&vm).unwrap();
        assert!(text.starts_with("{\"kernel_sha256\":"), "{text}");
        assert_eq!(serde_json::from_str::<SnapshotInputs>(&text).unwrap(), vm);
        let host = SnapshotInputs { backend: BackendKind::Host, qemu: None, ..vm.clone() };
        assert_ne!(host.id(), vm.id());
        let text = serde_json::to_string(&host).unwrap();
        assert!(!text.contains("qemu"), "{text}");
        assert_eq!(serde_json::from_str::<SnapshotInputs>(&text).unwrap(), host);
    }
}
