use std::collections::BTreeSet;

use preemptlab_protocol::caches::Groups;
use serde::{Deserialize, Serialize};

use crate::{Arch, InstructionCost, Lookahead, Precaution, Pricing, Topology};

/// The virtual machine of a cell, or how much of the machine itself it has.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Architecture of the guest.
    pub arch: Arch,
    /// Virtual CPUs. With more than one, each has a clock of its own.
    pub cpus: u32,
    /// The guest's memory, in MiB; 0 for all that the machine has.
    pub memory_mib: u32,
    /// Virtual time of an instruction; with prices, of a count.
    #[serde(rename = "shift")]
    pub cost: InstructionCost,
    /// How far the clocks of several CPUs may be apart; only a machine of several CPUs in virtual
    /// time has it.
    #[serde(rename = "lookahead_ns", default, skip_serializing_if = "Option::is_none")]
    pub lookahead: Option<Lookahead>,
    /// Sockets, cores, threads, caches and NUMA nodes; `None` for cores without further structure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology: Option<Topology>,
    /// Costs of instructions; `None` where each takes the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<Box<Pricing>>,
    /// Precautions that it goes without.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub without: BTreeSet<Precaution>,
}

impl Machine {
    /// Returns which CPUs are near to each other; `None` where no line moves at a price of its own.
    pub fn groups(&self) -> Option<Groups> {
        self.prices.as_ref()?.of.caches.as_ref()?.transfers?;
        Some(Topology::groups(self.topology, self.cpus))
    }
}
