//! The length of the kernel's command line.

use preemptlab_model::Arch;

/// Returns the longest command line that a kernel keeps, in bytes.
pub fn bytes_max() -> usize {
    Arch::HOST.platform().cmdline_bytes_max
}

/// Says that a line, or a word, is longer than a kernel keeps.
pub fn too_long(what: &str, bytes: usize) -> String {
    let (arch, max) = (Arch::HOST.platform().kernel_folder, bytes_max());
    format!(
        "{what} has {bytes} characters, and a kernel of {arch} keeps {max} of a whole command line \
         (COMMAND_LINE_SIZE): it would drop the rest without a message"
    )
}
