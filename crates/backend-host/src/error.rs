use std::{io, path::PathBuf};

use preemptlab_runner::Stop;

/// Why cells cannot run on this machine's kernel.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// Only root may switch the kernel and give a probe real-time priority.
    #[error("cells on the machine's own kernel need root: sudo preemptlab run ... --backend host")]
    NotRoot,
    /// Root, but not of the machine.
    #[error(
        "this is a container ({evidence}), whose root may not switch the machine's kernel; run \
         preemptlab on the machine itself, or in a virtual machine with --backend vm"
    )]
    Container {
        /// How we know.
        evidence: String,
    },
    /// Another run is on its way.
    #[error("another run is using this machine's kernel (process {holder}); wait until it is done")]
    Busy {
        /// Its process id, or a question mark.
        holder: String,
    },
    /// The mode cannot be known.
    #[error(
        "nothing tells which preemption mode this kernel runs in: {reason}, and its configuration \
         is neither in /boot nor in /proc/config.gz"
    )]
    UnknownMode {
        /// Why the kernel cannot be asked.
        reason: String,
    },
    /// A namespace cannot be made.
    #[error("cannot {what}: {error}")]
    Namespace {
        /// What was tried.
        what: String,
        /// Why not.
        error: io::Error,
    },
    /// A file of the kernel cannot be used.
    #[error("cannot {what} {}: {error}", path.display())]
    Kernel {
        /// What was tried.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// A file of the kernel does not hold what it held before.
    #[error(
        "{} could not be given back what it held: it holds `{found}` and held `{wanted}`; write \
         that to it, or reboot",
        path.display()
    )]
    NotRestored {
        /// The file.
        path: PathBuf,
        /// What it held.
        wanted: String,
        /// What it holds.
        found: String,
    },
    /// The machine would be told what no cell may tell it.
    #[error("a cell would write to {}, which is refused: {reason}", file.escape_debug())]
    NotSettable {
        /// The file.
        file: String,
        /// Why not.
        reason: String,
    },
    /// The journal cannot be kept or read.
    #[error("the journal {} cannot be {what}: {error}", path.display())]
    Journal {
        /// What was tried.
        what: &'static str,
        /// Its path.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
}

/// Ends a run for a reason that lies with this machine.
pub(crate) fn host(reason: impl Into<String>) -> Stop {
    Stop::Host { reason: reason.into() }
}
