use preemptlab_model::{BackendKind, InstructionCost};
use preemptlab_stats::{Comparison, Group};

/// Writes the caption of a comparison: the facts about virtual and host time that a reader of the
/// numbers needs.
pub fn caption(comparison: &Comparison) -> String {
    let has = |kind: BackendKind| comparison.groups.iter().any(|group| group.backend == kind);
    let (host, kvm) = (has(BackendKind::Host), has(BackendKind::Kvm));
    let real = match (host, kvm) {
        (true, true) => "host and kvm",
        (true, false) => "host",
        (false, true) => "kvm",
        (false, false) => return virtual_caption(comparison),
    };
    let real = format!(
        "Times of {real} are those of the machine that measured, with whatever else it did: they hold \
         for it, and no run says the same again."
    );
    if !has(BackendKind::Vm) {
        return real;
    }
    format!(
        "{} {real} A difference between a virtual and a real microsecond says nothing: compare ratios \
         and orders, each within its own kind of time.",
        virtual_caption(comparison)
    )
}

fn virtual_caption(comparison: &Comparison) -> String {
    let mut caption = InstructionCost::caption(&comparison.costs);
    caption += " Compare ratios, orders and causes; microseconds are not a promise about hardware.";
    let is_wide = |group: &Group| group.backend.is_vm() && group.cpus > 1;
    if comparison.groups.iter().any(is_wide) {
        caption += " With several CPUs, time advances with the instructions of all of them, and no \
            CPU is ahead of another by more than the experiment's `skew_us` (10 us unless it says \
            otherwise): see docs/virtual-time.md.";
    }
    caption
}
