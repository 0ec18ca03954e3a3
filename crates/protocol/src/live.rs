/// Where a cell on the machine's own kernel finds the /proc of the machine, in which the kernel's
/// own threads are: that of its process namespace has none.
pub const MACHINE_PROC: &str = "/run/machine/proc";
