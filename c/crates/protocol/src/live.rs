//! What the host and the first process of a cell on the machine's own kernel agree on.

/// Where the cell's root holds the filter of system calls for its commands: instructions of 8 bytes
/// each, as seccomp(2) takes them.
pub const FILTER_FILE: &str = "/cell.filter";

/// How many user ids and group ids a cell has, from 0 on, where they are not the machine's.
pub const IDS: u32 = 1 << 16;
