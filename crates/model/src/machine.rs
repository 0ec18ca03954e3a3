use serde::{Deserialize, Serialize};

use crate::Arch;

/// The virtual machine of a cell, or how much of the machine itself it has.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// The guest's architecture.
    pub arch: Arch,
    /// Virtual CPUs. With more than one, virtual time advances with the instructions of all.
    pub cpus: u32,
    /// The guest's memory, in MiB; 0 for all that the machine has.
    pub memory_mib: u32,
    /// An instruction takes `2^shift` ns of virtual time (QEMU `-icount shift=`): 1 is a machine
    /// of 500 million instructions per second. 0 where time is the machine's own.
    pub shift: u8,
}

impl Machine {
    /// Instructions per virtual second, of all CPUs together.
    pub fn instructions_per_second(&self) -> f64 {
        1e9 / f64::from(1u32 << self.shift)
    }
}
