use super::loads::Buffer;
use crate::CalibrateError;

/// Reason why a profile describes no caches.
#[derive(Debug, thiserror::Error)]
pub enum NoCaches {
    /// The kernel does not tell a size.
    #[error(
        "the kernel does not tell the {cache} of CPU {cpu} (/sys/devices/system/cpu/cpu{cpu}/cache)"
    )]
    NotTold {
        /// The CPU.
        cpu: usize,
        /// The cache whose size is missing.
        cache: &'static str,
    },
    /// Loads show a cache that the kernel does not tell.
    #[error(
        "the kernel tells no third cache, and the times of loads show a cache that holds {} MiB", bytes >> 20
    )]
    Hidden {
        /// Bytes that it holds at least.
        bytes: u64,
    },
    /// The model has lines of another length.
    #[error("CPU {cpu} has lines of {line_bytes} bytes, and a profile describes lines of 64")]
    Lines {
        /// The CPU.
        cpu: usize,
        /// Its bytes of a line.
        line_bytes: u32,
    },
    /// Two sizes are too near to each other to be measured apart.
    #[error("the {nearer} is too large beside the {farther} to measure what it lacks")]
    Between {
        /// The smaller one.
        nearer: &'static str,
        /// The larger one.
        farther: &'static str,
    },
    /// Too little memory is available.
    #[error("{} MiB of memory are available, too few to measure what the last cache lacks", available_bytes >> 20)]
    Memory {
        /// Memory that is available.
        available_bytes: u64,
    },
    /// No size of a TLB follows from times.
    #[error(
        "the processor does not tell its TLBs, and the times of loads show no two steps; calibrate when the host is idle"
    )]
    Steps,
    /// The times do not come again.
    #[error(
        "the time of a load ({}) does not come again: two halves differ by {percent:.0}%; calibrate when \
         the host is idle",
        buffer.described()
    )]
    Unsteady {
        /// The buffer of the load.
        buffer: Buffer,
        /// The difference.
        percent: f64,
    },
    /// Nothing could be measured.
    #[error(transparent)]
    Failed(#[from] CalibrateError),
}
