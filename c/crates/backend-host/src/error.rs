use std::{io, path::PathBuf};

use preemptlab_runner::Stop;

/// Reason why cells cannot run on this machine's kernel.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The user is not root. Only root may switch the kernel and give a probe real-time priority.
    #[error("cells on the machine's own kernel need root: sudo preemptlab run ... --backend host")]
    NotRoot,
    /// Root, but not of the machine.
    #[error(
        "this is a container ({evidence}), whose root may not switch the machine's kernel; run \
         preemptlab on the machine itself, or in a virtual machine with --backend vm"
    )]
    Container {
        /// Evidence of the container.
        evidence: String,
    },
    /// Another run is on its way.
    #[error("another run is using this machine's kernel (process {holder}); wait until it is done")]
    Busy {
        /// Process that holds the kernel, by its number, or a question mark.
        holder: String,
    },
    /// The mode cannot be known.
    #[error(
        "nothing tells which preemption mode this kernel runs in: {reason}, and its configuration \
         is neither in /boot nor in /proc/config.gz"
    )]
    UnknownMode {
        /// Reason why the kernel cannot be asked.
        reason: String,
    },
    /// A namespace cannot be made.
    #[error("cannot {what}: {error}")]
    Namespace {
        /// Action that failed.
        what: String,
        /// Error of the system.
        error: io::Error,
    },
    /// A file of the kernel cannot be used.
    #[error("cannot {what} {}: {error}", path.display())]
    Kernel {
        /// Action that failed, as a verb.
        what: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
    /// A file of the kernel could not be given its earlier content.
    #[error(
        "{} could not be given back what it held: it holds `{found}` and held `{wanted}`; write \
         that to it, or reboot",
        path.display()
    )]
    NotRestored {
        /// Path of the file.
        path: PathBuf,
        /// Content before the cells.
        wanted: String,
        /// Present content.
        found: String,
    },
    /// The cell would write to a file that no cell may write to.
    #[error("a cell would write to {}, which is refused: {reason}", file.escape_debug())]
    NotSettable {
        /// Path of the file.
        file: String,
        /// Reason, in words.
        reason: String,
    },
    /// The journal cannot be kept or read.
    #[error("the journal {} cannot be {what}: {error}", path.display())]
    Journal {
        /// Action that failed, as a participle.
        what: &'static str,
        /// Path of the journal.
        path: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
}

/// Ends a run for a reason that lies with this machine.
pub(crate) fn host(reason: impl Into<String>) -> Stop {
    Stop::Host { reason: reason.into() }
}
