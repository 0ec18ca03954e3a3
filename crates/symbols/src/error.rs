/// Reason why a text is not usable as a kernel's symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SymbolError {
    /// The text has no symbol.
    #[error("it has no symbol: the kernel was built without KALLSYMS, or the text is cut short")]
    Empty,
    /// The kernel hid its addresses from the process that read the text.
    #[error(
        "every address in it is zero: its reader lacked CAP_SYSLOG, or kernel.kptr_restrict \
         forbids to read addresses"
    )]
    Hidden,
    /// The text is longer than that of any kernel.
    #[error("it is longer than any kernel's: {0}")]
    TooLong(&'static str),
    /// A line is not `ADDRESS TYPE NAME [MODULE]`.
    #[error("line {number} is malformed: {reason}")]
    Line {
        /// The line, counted from 1.
        number: usize,
        /// The mistake in the line.
        reason: &'static str,
    },
}

/// Reason why a file is not the image of a kernel for the guest's architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    /// x86's magic is missing.
    #[error(
        "it is no bzImage (`HdrS` is missing at 0x202); name arch/x86/boot/bzImage of a build, or \
         a /boot/vmlinuz"
    )]
    NoBzImage,
    /// The boot protocol of x86 is too old to tell.
    #[error("its boot protocol is too old")]
    Protocol,
    /// arm64's magic is missing.
    #[error(
        "it is no Image of arm64 (`ARM\\x64` is missing at 0x38); name arch/arm64/boot/Image of a build, or \
         a /boot/vmlinuz"
    )]
    NoImage,
    /// It is compressed as a whole.
    #[error("it is a compressed kernel: {0}; name the plain arch/arm64/boot/Image of its build")]
    Compressed(&'static str),
    /// It is a kernel for x86, and the guest is of arm64.
    #[error("it is a kernel of amd64, and the guest is of arm64: remove `arch` from [machine]")]
    OfAmd64,
    /// It is a kernel for arm64, and the guest is of x86.
    #[error(
        "it is a kernel of arm64, and the guest is of amd64: say `arch = \"arm64\"` in [machine]"
    )]
    OfArm64,
}

/// Reason why a kernel's types cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TypesError {
    /// The image is not one of the guest's architecture, or does not say where the kernel proper is.
    #[error("the kernel's image cannot be read: {0}")]
    Image(#[from] ImageError),
    /// The image is shorter than its header says.
    #[error("the image is cut short")]
    Truncated,
    /// The kernel proper is compressed in a way that Debian does not use.
    #[error("the kernel in the image is compressed with {0}; only gzip, xz and zstd can be read")]
    Compression(&'static str),
    /// The kernel proper cannot be uncompressed.
    #[error("the kernel in the image cannot be uncompressed: {0}")]
    Unpack(String),
    /// The kernel proper is not an ELF file.
    #[error("the kernel in the image is no ELF file: {0}")]
    Elf(String),
    /// The kernel was built without its types.
    #[error("the kernel was built without DEBUG_INFO_BTF")]
    NoBtf,
    /// The types cannot be read.
    #[error("the kernel's BTF is malformed: {0}")]
    Btf(&'static str),
}
