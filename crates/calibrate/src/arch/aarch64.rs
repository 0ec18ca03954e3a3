use preemptlab_protocol::prices::Class;

/// Returns the time of an instruction of a class between those of a server and of a small board, in nanoseconds, by
/// published figures and rounded (docs/cost-model.md). The delivery of an interrupt has a time between those of hardware
/// (0.1 us) and of a hypervisor.
pub(super) const fn prior_ns(class: Class) -> f64 {
    match class {
        Class::UserPlain | Class::KernelPlain => 0.3,
        Class::UserMemory | Class::KernelMemory | Class::Vector => 0.6,
        Class::UserBranch | Class::KernelBranch => 0.7,
        Class::Indirect => 2.2,
        Class::Locked => 5.0,
        Class::Multiply => 1.0,
        Class::Divide => 4.0,
        Class::Fence => 6.0,
        Class::Flags | Class::Mrs | Class::Msr => 2.0,
        Class::Counter | Class::Timer => 5.0,
        Class::Pause => 0.5,
        Class::Halt => 1500.0,
        Class::System => 25.0,
        Class::EntryIrq => 300.0,
        Class::EntrySync | Class::Eret => 20.0,
        Class::Gic => 30.0,
        Class::Ttbr => 10.0,
        Class::Tlbi => 100.0,
        Class::DcZva => 4.0,
        Class::Isb => 15.0,
        // Of x86-64, none of which is executed here.
        Class::X87
        | Class::StringByte
        | Class::StringWord
        | Class::StringCompare
        | Class::StringStart
        | Class::Syscall
        | Class::Sysret
        | Class::Iret
        | Class::EntryFault
        | Class::EntryException
        | Class::EntryTimer
        | Class::EntryIpi
        | Class::EntryDevice
        | Class::Wrmsr
        | Class::Rdmsr
        | Class::Cr3
        | Class::Invlpg
        | Class::Port
        | Class::Cpuid
        | Class::Rdtsc
        | Class::Swapgs
        | Class::Xsave => 0.0,
    }
}
