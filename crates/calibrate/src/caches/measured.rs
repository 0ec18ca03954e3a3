use std::sync::atomic::AtomicBool;

use preemptlab_protocol::caches::{CacheSize, Caches, Penalties, Prefetcher, Streams};

use super::{
    plan::Plan,
    reason::NoCaches,
    told::{Told, ToldCaches},
    transfer::Moved,
    translations::{Steps, Tlbs},
};
use crate::{Passes, Site, arch, sysfs};

/// Passes over the buffers whose times tell the sizes of TLBs.
const STEP_PASSES: usize = 4;

/// Passes over the buffers whose times tell penalties, if they come again, and after which they have not.
const PASSES: (usize, usize) = (6, 16);

/// Accesses between two misses that overlap, as `amd-epyc` assumes them.
const OVERLAP_ACCESSES: u16 = 128;

/// Instructions that a prefetcher follows, and the equal distances that it learns from: the same.
const PREFETCHER: (u32, u8) = (64, 2);

/// The caches of a machine, and what was measured of them.
#[derive(Clone, Debug)]
pub struct MachineCaches {
    /// Their sizes, as the kernel tells them.
    pub told: ToldCaches,
    /// Whether all CPUs that are online have caches of these sizes.
    pub alike: bool,
    /// The TLBs, as the processor tells them, or as times show them.
    pub tlbs: Tlbs,
    /// Costs of misses.
    pub penalties: Penalties,
    /// The bytes of the buffer of which each load was one from memory.
    pub memory_bytes: u64,
    /// How much of the memory in which lines were loaded had pages of 2 MiB, and how much was to have them.
    pub huge_bytes: (u64, u64),
}

impl MachineCaches {
    /// Measures the caches of a CPU of a machine which has so much memory available. Tells after each pass how many are done, and how many may follow.
    ///
    /// # Errors
    ///
    /// [`NoCaches`]: sizes are unknown, times do not come again, the program fails, or the user cancels.
    pub fn measure(
        site: &Site,
        cpu: usize,
        available_bytes: u64,
        is_cancelled: &AtomicBool,
        on_pass: impl Fn(Passes),
    ) -> Result<Self, NoCaches> {
        let (program, root) = (site.program(), site.root());
        let told = ToldCaches::read(root, cpu)?;
        let online = sysfs::list(&root.join("sys/devices/system/cpu/online")).unwrap_or_default();
        let alike = online.iter().all(|other| told.are_those_of(root, *other));
        let measured =
            |buffers, passes| program.measure_loads(cpu, buffers, passes, is_cancelled, &on_pass);
        let tlbs = match arch::tlbs(site.arch(), &program.translations(cpu, is_cancelled)?)? {
            Some(tlbs) => tlbs,
            None => {
                let steps = Steps::of(&told);
                steps.tlbs(&measured(steps.buffers(), (STEP_PASSES, STEP_PASSES))?)?
            }
        };
        let plan = Plan::of(&told, tlbs, available_bytes)?;
        let times = measured(plan.buffers(), PASSES)?;
        if let Some((buffer, percent)) = times.differing().first().copied() {
            return Err(NoCaches::Unsteady { buffer, percent });
        }
        Ok(Self {
            told,
            alike,
            tlbs,
            penalties: plan.penalties(&times)?,
            memory_bytes: plan.memory_bytes(),
            huge_bytes: times.huge_bytes(),
        })
    }

    /// Returns whether the buffer in memory could be in the last cache.
    pub fn memory_fits_last(&self) -> bool {
        self.memory_bytes <= self.told.last().bytes
    }

    /// Returns the caches as a profile holds them, with the price of a line that moves between CPUs where there is
    /// one.
    pub fn of_profile(&self, moved: Option<Moved>) -> Caches {
        let size = |told: Told| CacheSize::nearest(told.bytes, told.ways);
        let (streams, training) = PREFETCHER;
        let streams = Streams::try_from(streams).expect("it is a power of two");
        Caches {
            overlap_accesses: OVERLAP_ACCESSES,
            l1d: size(self.told.l1d),
            l1i: size(self.told.l1i),
            l2: size(self.told.l2),
            l3: self.told.l3.map(size),
            dtlb: self.tlbs.dtlb.size(),
            stlb: self.tlbs.stlb.size(),
            prefetcher: Prefetcher { streams, training },
            penalties: self.penalties,
            transfers: moved.map(Moved::transfers),
        }
    }
}
