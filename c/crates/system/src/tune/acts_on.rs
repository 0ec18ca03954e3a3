//! The targets of kernel parameters, and those that a virtual machine lacks.

/// Target of a kernel parameter. A machine that lacks it takes the word and changes nothing, so a
/// measurement there says nothing about the parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActsOn {
    /// The kernel's own code, which every machine executes.
    Kernel,
    /// The idling of a processor.
    Idle,
    /// Other CPUs than the first.
    SeveralCpus,
    /// Several threads of a core.
    Threads,
    /// Several NUMA nodes.
    Nodes,
    /// Idle states of the processor, deeper than its halt.
    IdleStates,
    /// Frequencies of the processor.
    Frequencies,
    /// Sensors of heat.
    Thermal,
    /// Counters of the processor's events, whose overflow is the interrupt of the hard lockup
    /// detector.
    Counters,
    /// Errors that the hardware reports.
    HardwareErrors,
    /// The exception by which a processor reports locked accesses across cache lines.
    SplitLocks,
    /// The HPET.
    Hpet,
    /// The clock that the kernel reads.
    ClockSource,
    /// The processor's time stamp counter.
    TimeStampCounter,
    /// Links of PCI Express.
    PcieLinks,
    /// An IOMMU.
    Iommu,
    /// Interrupts that ACPI routes, without an I/O APIC.
    RoutedInterrupts,
    /// EFI's services.
    Efi,
    /// The messages on the console.
    Console,
}

/// Parts of a virtual machine on which parameters act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Board {
    /// Number of CPUs.
    pub cpus: u32,
    /// Number of threads of each core.
    pub threads: u32,
    /// Number of NUMA nodes.
    pub numa_nodes: u32,
    /// Whether the board has an HPET.
    pub has_hpet: bool,
    /// Whether QEMU's translator is the processor, and not the host's own.
    pub is_translated: bool,
}

impl ActsOn {
    /// Returns what a virtual machine lacks, so that a parameter with this value changes nothing
    /// there; `None` where it can change something.
    ///
    /// The machine is QEMU's q35 without any device of its own choice
    /// (crates/backend-qemu/src/args.rs). Linux 6.12 says there: `cpuidle/current_driver` is none,
    /// `cpufreq/` is empty, "Perf NMI watchdog permanently disabled", `class/iommu` is empty, the
    /// firmware is not EFI, and the four devices of PCI have no link.
    pub(crate) fn lacking(self, value: Option<&str>, board: Board) -> Option<&'static str> {
        let translated = board.is_translated;
        match self {
            Self::Kernel => None,
            Self::SeveralCpus if board.cpus < 2 => Some("it has one CPU"),
            Self::Threads if board.threads < 2 => {
                Some("each of its cores has one thread (`threads` of [machine.topology] adds more)")
            }
            Self::Nodes if board.numa_nodes < 2 => {
                Some("it has one NUMA node (`numa_nodes` of [machine.topology] adds more)")
            }
            Self::Idle if value != Some("poll") => Some(HALTS),
            Self::IdleStates => Some(HALTS),
            Self::Frequencies => Some("its processor has one frequency, and no driver for it"),
            Self::Thermal => Some("nothing of it grows hot"),
            Self::Counters if translated => {
                Some("its processor has no counters of events, and so no NMI watchdog")
            }
            Self::HardwareErrors => Some("its hardware has no errors to report"),
            Self::SplitLocks if translated => Some("its processor does not report split locks"),
            Self::Hpet if !board.has_hpet => Some(NO_HPET),
            Self::ClockSource if value == Some("hpet") && !board.has_hpet => Some(NO_HPET),
            Self::ClockSource if value == Some("kvm-clock") && translated => {
                Some("its hypervisor is not KVM")
            }
            Self::TimeStampCounter
                if translated && board.cpus > 1 && value.is_some_and(is_trusted) =>
            {
                Some("with several CPUs it is booted with `tsc=reliable` anyway")
            }
            Self::PcieLinks => Some("it has no link of PCI Express"),
            Self::Iommu => Some("it has no IOMMU"),
            Self::RoutedInterrupts => {
                Some("its interrupts go through the I/O APIC, where ACPI balances none")
            }
            Self::Efi => Some("its firmware is no EFI"),
            Self::Console => Some("it is booted with `quiet` anyway"),
            Self::SeveralCpus
            | Self::Threads
            | Self::Nodes
            | Self::Idle
            | Self::Counters
            | Self::SplitLocks
            | Self::Hpet
            | Self::ClockSource
            | Self::TimeStampCounter => None,
        }
    }
}

const HALTS: &str = "its processor has no idle state but the halt, and no driver for others";
const NO_HPET: &str = "its board has no HPET (the setting lab.hpet adds one)";

/// Returns whether a value of `tsc=` ends the comparison of the counter with another clock.
fn is_trusted(value: &str) -> bool {
    matches!(value, "reliable" | "nowatchdog")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Board =
        Board { cpus: 1, threads: 1, numa_nodes: 1, has_hpet: false, is_translated: true };

    #[test]
    fn a_larger_machine_can_be_asked_more() {
        let larger =
            Board { cpus: 4, threads: 2, numa_nodes: 2, has_hpet: true, is_translated: false };
        for (acts_on, value) in [
            (ActsOn::SeveralCpus, None),
            (ActsOn::Threads, None),
            (ActsOn::Nodes, None),
            (ActsOn::Counters, None),
            (ActsOn::Hpet, None),
            (ActsOn::ClockSource, Some("hpet")),
            (ActsOn::ClockSource, Some("kvm-clock")),
        ] {
            assert!(acts_on.lacking(value, SMALL).is_some(), "{acts_on:?}");
            assert_eq!(acts_on.lacking(value, larger), None, "{acts_on:?}");
        }
    }

    #[test]
    fn some_values_change_something_where_others_do_not() {
        assert_eq!(ActsOn::Idle.lacking(Some("poll"), SMALL), None);
        assert!(ActsOn::Idle.lacking(Some("nomwait"), SMALL).is_some());
        assert_eq!(ActsOn::TimeStampCounter.lacking(Some("reliable"), SMALL), None);
        let two = Board { cpus: 2, ..SMALL };
        assert!(ActsOn::TimeStampCounter.lacking(Some("reliable"), two).is_some());
        assert_eq!(ActsOn::TimeStampCounter.lacking(Some("unstable"), two), None);
        assert_eq!(ActsOn::ClockSource.lacking(Some("acpi_pm"), SMALL), None);
    }
}
