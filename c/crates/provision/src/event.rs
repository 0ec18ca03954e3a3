/// Progress of provisioning, for an observer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Another process works on the store's packages, and this one waits for it.
    Waiting,
    /// The package lists are being refreshed.
    Refreshing,
    /// Packages are being downloaded.
    Downloading {
        /// The package, or the first of them and how many follow.
        what: String,
        /// Bytes that are here.
        bytes: u64,
        /// Bytes that there will be.
        bytes_total: u64,
    },
    /// Something is being unpacked into the store.
    Unpacking {
        /// Name of the unpacked package or program.
        what: String,
    },
    /// A kernel's source is being copied into the store.
    Copying {
        /// Name of the kernel.
        what: String,
    },
    /// The scripts of a kernel's source are about to run, with the user's rights.
    RunningScripts {
        /// Name of the kernel.
        what: String,
    },
    /// A guest image is looked up, or packed if there is none yet.
    Packing {
        /// Name of the object.
        what: String,
    },
    /// A capsule is being written.
    Writing {
        /// Bytes of its content that were written, before they are compressed.
        bytes: u64,
        /// Bytes that there will be.
        bytes_total: u64,
    },
    /// A kernel module is being built.
    Building {
        /// Name of the module, with its kernel.
        what: String,
    },
    /// A kernel is being built.
    Compiling {
        /// Name of the kernel.
        what: String,
        /// Files that were made.
        steps: u32,
        /// About how many there will be.
        steps_expected: u32,
    },
    /// The work continues, and the user should know this.
    Warning(String),
}
