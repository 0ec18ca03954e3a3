//! The tracing plugin (the crate `preemptlab-plugin`), as QEMU is given it.

use std::{
    fs::File,
    io,
    os::fd::{AsFd, BorrowedFd},
};

use preemptlab_runner::Tracing;

use crate::output::{MemoryFile, inherited_path};

/// The plugin, as the build script made it.
pub(crate) const LIBRARY: &[u8] =
    include_bytes!(concat!(env!("OUT_DIR"), "/libpreemptlab_plugin.so"));

/// The files of the plugin, which QEMU inherits.
pub(crate) struct Plugin<'a> {
    library: MemoryFile,
    program: MemoryFile,
    out: &'a File,
}

impl<'a> Plugin<'a> {
    pub(crate) fn new(Tracing { program, out }: Tracing<'a>) -> io::Result<Self> {
        let program = serde_json::to_vec(program).expect("a trace program has a JSON form");
        Ok(Self {
            library: MemoryFile::with_content("plugin", LIBRARY)?,
            program: MemoryFile::with_content("trace program", &program)?,
            out,
        })
    }

    /// Returns the value of QEMU's option `-plugin`.
    pub(crate) fn option(&self) -> String {
        let [library, program] = [&self.library, &self.program].map(inherited_path);
        format!("{library},program={program},out={}", inherited_path(self.out))
    }

    pub(crate) fn files(&self) -> [BorrowedFd<'_>; 3] {
        [self.library.as_fd(), self.program.as_fd(), self.out.as_fd()]
    }
}
