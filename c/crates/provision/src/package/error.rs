use std::io;

/// Reason why the file of a kernel's package cannot be used. The subject of each sentence is the package.
#[derive(Debug, thiserror::Error)]
pub enum PackageFault {
    /// It is another file.
    #[error("is neither a .deb nor an .rpm: {0}")]
    Format(&'static str),
    /// A part of it is missing or makes no sense.
    #[error("is cut short or damaged: {0}")]
    Damaged(String),
    /// It is compressed in a way that distributions left behind.
    #[error("is compressed with {0}; only xz, zstd and gzip can be read")]
    Compression(&'static str),
    /// It holds source.
    #[error("is a source package; name a package that was built from it")]
    Source,
    /// It holds something that no kernel's package has.
    #[error("holds `{path}`, {why}")]
    Entry {
        /// The beginning of the entry's path.
        path: String,
        /// Reason why it is refused.
        why: &'static str,
    },
    /// It unpacks to more than any kernel's package.
    #[error("unpacks to more than {0}")]
    TooMuch(String),
    /// It is for another architecture than the guest's.
    #[error("is for {is}, and the guest is {wanted}: name the package for {wanted}")]
    Arch {
        /// Architecture of the package.
        is: String,
        /// Architecture of the guest, in the words of the package's format.
        wanted: &'static str,
    },
    /// Its image is no kernel that can be booted here.
    #[error("holds `{path}`, which is {what}; only a bzImage can be booted")]
    Image {
        /// Path of the image.
        path: String,
        /// Kind of the image, in words.
        what: String,
    },
    /// Neither it nor one beside it has a kernel.
    #[error("holds no kernel image{0}")]
    NoImage(String),
    /// It belongs to another kernel than the package beside it.
    #[error("is of the kernel {is}, and `{}` of {other}: name packages of one kernel", beside.display())]
    OtherKernel {
        /// Release of the package.
        is: String,
        /// The package that was named before.
        beside: std::path::PathBuf,
        /// Release of that package.
        other: String,
    },
    /// It holds more than one kernel.
    #[error("holds files of two kernels, {0} and {1}; a package of one kernel is expected")]
    TwoKernels(String, String),
    /// Its name or its version is none.
    #[error("says of itself that it is `{0}`, which is no package's {1}")]
    Word(String, &'static str),
    /// It was written to meanwhile.
    #[error("changed while it was read; run the command again")]
    Changed,
    /// Another file has its name now.
    #[error("had the SHA-256 {was}, and has {is}")]
    Other {
        /// The first digits of the recorded SHA-256.
        was: String,
        /// The first digits of the present SHA-256.
        is: String,
    },
}

/// Returns the fault that an error of reading a package comes from.
pub(crate) fn damaged(error: io::Error) -> PackageFault {
    match error.kind() {
        io::ErrorKind::FileTooLarge => PackageFault::TooMuch(error.to_string()),
        _ => PackageFault::Damaged(error.to_string()),
    }
}
