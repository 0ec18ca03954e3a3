//! The plugin (the crate `preemptlab-plugin`), as QEMU is given it: for prices, for a trace, for counts.

use std::{
    fs::File,
    io,
    os::fd::{AsFd, BorrowedFd},
};

use preemptlab_model::Machine;
use preemptlab_runner::Tracing;
use serde::Serialize;

use crate::output::{MemoryFile, inherited_path};

/// The plugin, as the build script made it.
pub(crate) const LIBRARY: &[u8] =
    include_bytes!(concat!(env!("OUT_DIR"), "/libpreemptlab_plugin.so"));

/// Output of a cell's execution besides its result.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted<'a> {
    /// A trace.
    Trace(Tracing<'a>),
    /// The instructions of each class between markers of the guest.
    Counts(&'a File),
}

/// The files of the plugin, which QEMU inherits.
pub(crate) struct Plugin<'a> {
    library: MemoryFile,
    prices: Option<MemoryFile>,
    caches: Option<MemoryFile>,
    /// Which CPUs are near to each other.
    groups: Option<MemoryFile>,
    /// Trace program, and where the trace goes.
    trace: Option<(MemoryFile, &'a File)>,
    counts: Option<&'a File>,
}

impl<'a> Plugin<'a> {
    /// Returns the plugin for a cell; `None` where nothing asks for one.
    pub(crate) fn new(machine: &Machine, wanted: Option<Wanted<'a>>) -> io::Result<Option<Self>> {
        let pricing = machine.prices.as_deref();
        if pricing.is_none() && wanted.is_none() {
            return Ok(None);
        }
        let prices = pricing.map(|pricing| json("prices", &pricing.of.prices));
        let caches = pricing.and_then(|pricing| pricing.of.caches.as_ref());
        let caches = caches.map(|caches| json("caches", caches));
        let groups = machine.groups().map(|groups| json("groups", &groups));
        let (tracing, counts) = match wanted {
            Some(Wanted::Trace(tracing)) => (Some(tracing), None),
            Some(Wanted::Counts(counts)) => (None, Some(counts)),
            None => (None, None),
        };
        let trace = tracing.map(|Tracing { program, out }| {
            Ok::<_, io::Error>((json("trace program", program)?, out))
        });
        Ok(Some(Self {
            library: MemoryFile::with_content("plugin", LIBRARY)?,
            prices: prices.transpose()?,
            caches: caches.transpose()?,
            groups: groups.transpose()?,
            trace: trace.transpose()?,
            counts,
        }))
    }

    /// Returns the value of QEMU's option `-plugin`.
    pub(crate) fn option(&self) -> String {
        let mut option = inherited_path(&self.library);
        if let Some(prices) = &self.prices {
            option += &format!(",prices={}", inherited_path(prices));
        }
        if let Some(caches) = &self.caches {
            option += &format!(",caches={}", inherited_path(caches));
        }
        if let Some(groups) = &self.groups {
            option += &format!(",groups={}", inherited_path(groups));
        }
        if let Some((program, out)) = &self.trace {
            option += &format!(",program={},out={}", inherited_path(program), inherited_path(out));
        }
        if let Some(counts) = self.counts {
            option += &format!(",counts={}", inherited_path(counts));
        }
        option
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let trace = self.trace.iter().flat_map(|(program, out)| [program.as_fd(), out.as_fd()]);
        let counts = self.counts.iter().map(AsFd::as_fd);
        let prices = self.prices.iter().chain(&self.caches).chain(&self.groups).map(AsFd::as_fd);
        [self.library.as_fd()].into_iter().chain(prices).chain(trace).chain(counts)
    }

    /// Returns whether it writes a file, which may be longer than a guest may make one.
    pub(crate) fn writes(&self) -> bool {
        self.trace.is_some() || self.counts.is_some()
    }
}

/// Returns a file with the JSON form of what the plugin is told.
fn json(name: &str, told: &impl Serialize) -> io::Result<MemoryFile> {
    let text = serde_json::to_vec(told).expect("all that the plugin is told has a JSON form");
    MemoryFile::with_content(name, &text)
}
