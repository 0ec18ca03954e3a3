mod tlbs;

use preemptlab_protocol::prices::Class;

pub(super) use tlbs::tlbs;

/// Returns the time of an instruction of a class on a processor of today at some 3.5 GHz, in nanoseconds, by
/// tables of latencies and throughputs and rounded. CPUID and ports have the time of a hypervisor. A timer's
/// interrupt has a time between those of hardware (0.3 us) and of a hypervisor in a hypervisor (13 us).
pub(super) const fn prior_ns(class: Class) -> f64 {
    match class {
        Class::UserPlain => 0.1,
        Class::KernelPlain => 0.15,
        Class::UserMemory => 0.15,
        Class::KernelMemory => 0.3,
        Class::UserBranch => 0.2,
        Class::KernelBranch => 0.3,
        Class::Indirect => 2.0,
        Class::Locked => 3.0,
        Class::Multiply => 0.4,
        Class::Divide => 3.0,
        Class::Vector => 0.2,
        Class::X87 => 1.0,
        Class::StringByte => 0.02,
        Class::StringWord => 0.1,
        Class::StringCompare => 0.5,
        Class::StringStart => 5.0,
        Class::Syscall | Class::Sysret => 30.0,
        Class::Iret | Class::EntryFault | Class::EntryException => 150.0,
        Class::EntryTimer => 2000.0,
        Class::EntryIpi | Class::EntryDevice => 1000.0,
        Class::Wrmsr => 200.0,
        Class::Rdmsr => 100.0,
        Class::Cr3 => 200.0,
        Class::Invlpg => 150.0,
        Class::Port | Class::Cpuid => 2000.0,
        Class::Rdtsc => 9.0,
        Class::Swapgs | Class::Fence => 5.0,
        Class::Flags => 2.0,
        Class::Xsave => 20.0,
        Class::Pause => 15.0,
        Class::Halt => 3000.0,
        Class::System => 50.0,
        // Of arm64, none of which is executed here.
        Class::EntryIrq
        | Class::EntrySync
        | Class::Eret
        | Class::Counter
        | Class::Timer
        | Class::Gic
        | Class::Ttbr
        | Class::Mrs
        | Class::Msr
        | Class::Tlbi
        | Class::DcZva
        | Class::Isb => 0.0,
    }
}
