//! The benchmarks that no price is fitted to.

/// Names of the benchmarks that are held out of the fit: one of each kind. The list is fixed, so that the
/// quality of predictions cannot influence it.
pub const HELD_OUT: [&str; 12] = [
    "futex-ping-pong",
    "heap",
    "memory-file-4096",
    "pipe-1024",
    "read-zero-1024",
    "shared-fault",
    "sort",
    "stat",
    "tcp-1024",
    "thread",
    "udp-8192",
    "unix-1024",
];

/// Benchmarks of the module that no price is fitted to, because prices are those of warm caches.
pub const COLD: [&str; 1] = ["kernel-switch-cold"];

/// Benchmarks of the module that take part in nothing: the guest in which instructions are counted has one
/// CPU.
pub const TIMED_ALONE: [&str; 1] = ["kernel-other-ipi"];

/// Returns whether a benchmark is held out of the fit.
pub fn is_held_out(name: &str) -> bool {
    HELD_OUT.contains(&name) || COLD.contains(&name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use preemptlab_micro::benchmarks;

    use super::*;

    #[test]
    fn what_is_held_out_is_there_and_much_is_left() {
        let names: BTreeSet<_> = benchmarks().map(|benchmark| benchmark.name).collect();
        for name in HELD_OUT {
            assert!(names.contains(name), "there is no benchmark `{name}`");
        }
        assert!(HELD_OUT.is_sorted());
        assert!(names.len() >= 4 * HELD_OUT.len(), "{} benchmarks", names.len());
    }
}
