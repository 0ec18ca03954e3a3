//! The turnstile (the library `preemptlab-turnstile`), as QEMU is given it.

use std::{
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd},
};

use preemptlab_model::{Lookahead, Machine};
use preemptlab_protocol::stolen::{Quantiles, Stolen};

use crate::output::{MemoryFile, inherited_path};

/// The library, as the build script made it.
pub(crate) const LIBRARY: &[u8] =
    include_bytes!(concat!(env!("OUT_DIR"), "/libpreemptlab_turnstile.so"));

/// The files of the turnstile, which QEMU inherits.
#[derive(Debug)]
pub(crate) struct Turnstile {
    library: MemoryFile,
    /// File to which the library writes its findings, one a line.
    found: MemoryFile,
    /// For several CPUs, and for one whose instructions have prices.
    lookahead: Option<Lookahead>,
    /// Seed and distribution of the time that is stolen from the CPUs.
    stolen: Option<(u64, Stolen)>,
}

impl Turnstile {
    /// Returns the turnstile for a machine. No time is stolen without a seed: all cells share a boot.
    pub(crate) fn new(machine: &Machine, seed: Option<u64>) -> io::Result<Self> {
        // One CPU waits for no other.
        let lookahead = machine.lookahead.or(machine.prices.as_ref().map(|_| Lookahead::default()));
        Ok(Self {
            library: MemoryFile::with_content("turnstile", LIBRARY)?,
            found: MemoryFile::new("turnstile found")?,
            lookahead,
            stolen: seed.zip(machine.prices.as_ref().and_then(|pricing| pricing.of.stolen.clone())),
        })
    }

    /// Returns the variables that the loader and the library read.
    /// `results` is the file of the results port.
    pub(crate) fn environment(&self, results: BorrowedFd<'_>) -> Vec<(&'static str, String)> {
        let lookahead = self.lookahead.map(|it| ("PREEMPTLAB_LOOKAHEAD_NS", it.ns().to_string()));
        let mut variables = vec![
            ("LD_PRELOAD", inherited_path(&self.library)),
            ("PREEMPTLAB_TURNSTILE", self.found.as_fd().as_raw_fd().to_string()),
            ("PREEMPTLAB_RESULTS", results.as_raw_fd().to_string()),
        ];
        variables.extend(lookahead);
        variables.extend(self.stolen.iter().map(|(seed, stolen)| {
            let lengths = stolen.lengths_ns().map(|ns| format!(" {ns}")).concat();
            let timers = stolen.timer_ns().into_iter().flat_map(Quantiles::pairs);
            let timers: String = timers.map(|(share, ns)| format!(" {share}:{ns}")).collect();
            ("PREEMPTLAB_STOLEN", format!("{seed} {}{lengths}{timers}", stolen.per_s()))
        }));
        variables
    }

    pub(crate) fn files(&self) -> [BorrowedFd<'_>; 2] {
        [self.library.as_fd(), self.found.as_fd()]
    }

    /// Returns whether the library is in its place. A loader only warns of a library that it cannot
    /// preload, and a static program has no loader. A QEMU that answers has started the thread of
    /// its CPUs.
    pub(crate) fn is_in_place(&mut self) -> bool {
        self.said().lines().any(|line| line == "ready")
    }

    /// Returns the symbols that the library needs and this QEMU does not export.
    pub(crate) fn lacks(&mut self) -> Option<String> {
        self.said().lines().find_map(|line| line.strip_prefix("lacks ").map(str::to_owned))
    }

    fn said(&mut self) -> String {
        let content = self.found.content().unwrap_or_default();
        String::from_utf8_lossy(&content).into_owned()
    }
}
