//! Which buffers tell what a miss costs, and what it does.

use preemptlab_protocol::caches::{Penalties, Penalty};

use super::{
    loads::{Buffer, Kind, LINE_BYTES, LoadTimes, Reached},
    reason::NoCaches,
    told::ToldCaches,
    translations::Tlbs,
};
use crate::price::PRICE_PER_NS;

const PAGE_BYTES: u64 = 4096;

/// The most memory of a buffer.
const MEMORY_BYTES_MAX: u64 = 1 << 30;

/// A buffer of several times the second cache is in another one if its loads take less than this share of those from memory.
const HIDDEN_SHARE: f64 = 0.5;

/// A buffer has at most so large a part of the memory that is available.
const MEMORY_PART: u64 = 4;

/// The buffers, each by the number of its lines, which is a power of two, and the entries of the TLBs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Of which the first cache holds all.
    l1: u64,
    /// Of which the second one does, and not the first.
    l2: u64,
    /// Of which the third one does, and not the second; without a third, none does.
    l3: u64,
    /// As large as may be.
    memory: u64,
    /// Pages whose translations the first TLB holds.
    few: u64,
    /// Pages whose translations the second TLB holds, and not the first.
    near: u64,
    /// Pages whose translations neither holds.
    far: u64,
    tlbs: Tlbs,
    /// Whether there is a third cache.
    has_l3: bool,
}

impl Plan {
    /// Chooses the buffers for a machine with these sizes and so much available memory.
    ///
    /// # Errors
    ///
    /// [`NoCaches`] where no buffer lies between two of the sizes, or memory is too small.
    pub fn of(told: &ToldCaches, tlbs: Tlbs, available_bytes: u64) -> Result<Self, NoCaches> {
        let (l1d, l2) = (told.l1d.bytes, told.l2.bytes);
        let (dtlb, stlb) = (u64::from(tlbs.dtlb.entries), u64::from(tlbs.stlb.entries));
        // Where a processor has translations of 4 KiB alone, its first TLB holds those of such a buffer.
        let second = floor(l2 / 2).min(floor(dtlb * PAGE_BYTES)).max(ceil(2 * l1d));
        // A virtual machine may not have the whole last cache that it tells, so the buffer is small beside it.
        let last = floor((8 * l2).min(told.l3.map_or(u64::MAX, |l3| l3.bytes / 4 * 3)));
        let memory = floor(MEMORY_BYTES_MAX.min(available_bytes / MEMORY_PART));
        let near = floor((stlb / 2).min(l1d / LINE_BYTES / 2)).max(ceil(dtlb + 1));
        // The pages of the buffer in the last cache, if they are so many, have the translations of that buffer.
        let far =
            floor((4 * stlb).min(l2 / LINE_BYTES / 2).min(last / PAGE_BYTES)).max(ceil(2 * stlb));
        for (is_between, nearer, farther) in [
            (second < l2, "first cache", "second one"),
            (last > l2, "second cache", "third one"),
            (near < stlb, "first TLB", "second one"),
        ] {
            if !is_between {
                return Err(NoCaches::Between { nearer, farther });
            }
        }
        if memory <= last || memory < far * PAGE_BYTES {
            return Err(NoCaches::Memory { available_bytes });
        }
        let [l1, l2, l3, memory] = [floor(l1d / 2), second, last, memory].map(|it| it / LINE_BYTES);
        Ok(Self {
            l1,
            l2,
            l3,
            memory,
            few: floor(dtlb / 2),
            near,
            far,
            tlbs,
            has_l3: told.l3.is_some(),
        })
    }

    /// Returns the buffers, in the order in which they are measured.
    pub fn buffers(&self) -> Vec<Buffer> {
        let Self { l1, l2, l3, memory, few, near, far, .. } = *self;
        let of = |kind| move |lines| Buffer { kind, lines };
        let lines = [l1, l2, l3, memory].map(of(Kind::Lines)).into_iter();
        let spread = [near, far].map(of(Kind::Spread));
        lines.chain(spread).chain([few, near, far].map(of(Kind::Pages))).collect()
    }

    /// Returns the bytes of the buffer in memory.
    pub fn memory_bytes(&self) -> u64 {
        self.memory * LINE_BYTES
    }

    /// Returns the penalties that follow from the times of its buffers.
    ///
    /// # Errors
    ///
    /// [`NoCaches::Hidden`]: there is a third cache, and the kernel tells none.
    ///
    /// # Panics
    ///
    /// When they are times of other buffers.
    pub fn penalties(&self, times: &LoadTimes) -> Result<Penalties, NoCaches> {
        let waits = self.beyond(times, Reached::Chained);
        if !self.has_l3 && waits.l3_ns < HIDDEN_SHARE * waits.memory_ns {
            return Err(NoCaches::Hidden { bytes: self.l3 * LINE_BYTES });
        }
        let overlaps = self.beyond(times, Reached::Independent);
        let streams = self.beyond(times, Reached::InSequence);
        let penalty = |of: fn(&Beyond) -> f64| {
            let [waits, overlaps, streams] = [&waits, &overlaps, &streams].map(of).map(in_256ths);
            let penalty = Penalty::new(waits, overlaps.min(waits), streams.min(waits));
            penalty.expect("it is within the bounds of a penalty")
        };
        Ok(Penalties {
            l2: penalty(|beyond| beyond.l2_ns),
            l3: self.has_l3.then(|| penalty(|beyond| beyond.l3_ns)),
            memory: penalty(|beyond| beyond.memory_ns),
            stlb: penalty(|beyond| beyond.stlb_ns),
            walk: penalty(|beyond| beyond.walk_ns),
        })
    }

    /// Returns what loads take beyond those that hit the first cache.
    ///
    /// A chain goes round in one order, so a set that forgets what was used longest ago never has the next line:
    /// each load of a buffer that is larger than a cache misses it.
    fn beyond(&self, times: &LoadTimes, reached: Reached) -> Beyond {
        let of = |kind, lines| {
            // Where a line is takes another time to find for each page than in a row.
            let first = match kind {
                Kind::Lines => Buffer { kind, lines: self.l1 },
                Kind::Spread | Kind::Pages => Buffer { kind: Kind::Pages, lines: self.few },
            };
            times.ns(Buffer { kind, lines }, reached) - times.ns(first, reached)
        };
        let is_foreseen = reached == Reached::InSequence;
        // The lines of the near pages are in the first cache.
        let near_left_ns = of(Kind::Spread, self.near).max(0.0);
        let l2_left_ns =
            if self.pages(self.l2) > self.tlbs.dtlb.entries { near_left_ns } else { 0.0 };
        let l2_ns =
            (of(Kind::Lines, self.l2) - if is_foreseen { 0.0 } else { l2_left_ns }).max(0.0);
        // Those of the far ones are in the second.
        let far_left_ns = (of(Kind::Spread, self.far) - l2_ns).max(0.0);
        let beyond_l2 = |lines| {
            let left_ns = match self.pages(lines) {
                _ if is_foreseen => 0.0,
                pages if pages > self.tlbs.stlb.entries => far_left_ns,
                _ => near_left_ns,
            };
            of(Kind::Lines, lines) - left_ns
        };
        let of_tlb = |ns: f64| if is_foreseen { 0.0 } else { ns };
        Beyond {
            l2_ns,
            l3_ns: beyond_l2(self.l3),
            memory_ns: beyond_l2(self.memory),
            stlb_ns: of_tlb(of(Kind::Pages, self.near)),
            // The line of the page table is in the second cache, too.
            walk_ns: of_tlb(of(Kind::Pages, self.far) - 2.0 * l2_ns),
        }
    }

    /// Returns how many pages of 4 KiB so many lines in a row have.
    fn pages(&self, lines: u64) -> u32 {
        u32::try_from(lines * LINE_BYTES / PAGE_BYTES).unwrap_or(u32::MAX)
    }
}

/// Times beyond those of a load that hits the first cache, in nanoseconds.
struct Beyond {
    l2_ns: f64,
    l3_ns: f64,
    memory_ns: f64,
    stlb_ns: f64,
    walk_ns: f64,
}

/// Returns a time in 1/256 ns, within the bounds of a penalty.
fn in_256ths(ns: f64) -> u32 {
    (ns * PRICE_PER_NS).round().clamp(0.0, f64::from(Penalty::MAX)) as u32
}

/// Returns the largest power of two that is no larger; 1 for 0.
fn floor(number: u64) -> u64 {
    1 << number.max(1).ilog2()
}

/// Returns the least power of two that is no smaller.
fn ceil(number: u64) -> u64 {
    number.next_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caches::{Tlb, Told};

    fn told(kib: [u64; 3]) -> ToldCaches {
        let [l1d, l2, l3] = kib.map(|kib| Told { bytes: kib << 10, ways: 8 });
        ToldCaches { cpu: 0, l1d, l1i: l1d, l2, l3: Some(l3) }
    }

    fn tlbs(dtlb: u32, stlb: u32) -> Tlbs {
        let of = |entries| Tlb { entries, ways: Some(8) };
        Tlbs { dtlb: of(dtlb), stlb: of(stlb) }
    }

    const XEON_KIB: [u64; 3] = [48, 2048, 300 << 10];

    /// The bytes of the buffers of lines, and the pages of the others.
    fn chosen(kib: [u64; 3], tlbs: Tlbs, available_mib: u64) -> Result<[u64; 6], NoCaches> {
        let plan = Plan::of(&told(kib), tlbs, available_mib << 20)?;
        let lines =
            [plan.l1, plan.l2, plan.l3, plan.memory].map(|lines| (lines * LINE_BYTES) >> 10);
        let [l1, l2, l3, memory] = lines;
        Ok([l1, l2, l3, memory >> 10, plan.near, plan.far])
    }

    #[test]
    fn buffers_lie_between_the_sizes() {
        // An Intel Xeon, an AMD EPYC of Zen 4, and an Intel Core i7-8700K.
        let of = |kib, tlbs| chosen(kib, tlbs, 1 << 14).unwrap();
        assert_eq!(of(XEON_KIB, tlbs(96, 2048)), [16, 256, 16 << 10, 1024, 256, 4096]);
        let zen4 = of([32, 1024, 32 << 10], tlbs(72, 3072));
        assert_eq!(zen4, [16, 256, 8 << 10, 1024, 256, 8192]);
        assert_eq!(of([32, 256, 12 << 10], tlbs(64, 1536)), [16, 128, 2 << 10, 1024, 256, 4096]);
    }

    #[test]
    fn memory_is_a_part_of_what_is_available() {
        let memory_mib = |available| chosen(XEON_KIB, tlbs(96, 2048), available).map(|it| it[3]);
        assert_eq!(memory_mib(4096).unwrap(), 1024);
        assert_eq!(memory_mib(4095).unwrap(), 512);
        // Smaller than what the processor says of its last cache.
        assert_eq!(memory_mib(512).unwrap(), 128);
        for available in [0, 64] {
            let refused = memory_mib(available).unwrap_err().to_string();
            assert!(
                refused.starts_with(&format!("{available} MiB of memory are available")),
                "{refused}"
            );
        }
    }

    #[test]
    fn sizes_that_are_too_near_to_each_other_are_refused() {
        let said = |kib, tlbs| chosen(kib, tlbs, 1 << 14).unwrap_err().to_string();
        assert!(said([48, 64, 4096], tlbs(64, 2048)).contains("first cache is too large beside"));
        assert!(
            said([32, 2048, 2048], tlbs(64, 2048)).contains("second cache is too large beside")
        );
        assert!(said([32, 2048, 8192], tlbs(64, 64)).contains("first TLB is too large beside"));
    }

    /// A Raspberry Pi 4.
    fn pi() -> Plan {
        let told = ToldCaches { l3: None, ..told([32, 1024, 0]) };
        Plan::of(&told, tlbs(32, 1024), 1 << 31).unwrap()
    }

    #[test]
    fn a_machine_without_a_third_cache_has_the_same_buffers() {
        let plan = pi();
        let bytes = [plan.l1, plan.l2, plan.l3, plan.memory].map(|lines| lines * LINE_BYTES);
        assert_eq!(bytes, [16 << 10, 128 << 10, 8 << 20, 512 << 20]);
        let ns = |last_ns: f64| {
            let mut ns = [[2.0; 3]; 9];
            (ns[1], ns[2], ns[3]) = ([14.0; 3], [last_ns; 3], [130.0; 3]);
            ns
        };
        let penalties = plan.penalties(&times(&plan, ns(120.0))).unwrap();
        assert_eq!((penalties.l3, penalties.last()), (None, penalties.l2));
        assert_eq!(penalties.memory.waits(), 128 * 256);
        // A hypervisor may hide what the processor has.
        let refused = plan.penalties(&times(&plan, ns(30.0))).unwrap_err().to_string();
        assert!(refused.contains("a cache that holds 8 MiB"), "{refused}");
    }

    /// Makes up the program's output: of each buffer in the order of a plan the times of a load, in ns.
    fn times(plan: &Plan, loads_ns: [[f64; 3]; 9]) -> LoadTimes {
        let mut text = "huge 0 0\n".to_owned();
        for (buffer, ns) in plan.buffers().iter().zip(loads_ns) {
            let [chained, independent, sequence] = ns.map(|ns| (ns * 1e6).round());
            let words = buffer.to_string().replace(':', " ");
            text += &format!("{words} 1000000 {chained} {independent} {sequence}\n");
        }
        let mut times = LoadTimes::new(plan.buffers());
        times.add(&text).unwrap();
        times
    }

    fn waits_ns(penalties: &Penalties) -> [f64; 5] {
        let Penalties { l2, l3, memory, stlb, walk } = penalties;
        [l2, &l3.unwrap(), memory, stlb, walk].map(|penalty| f64::from(penalty.waits()) / 256.0)
    }

    #[test]
    fn penalties_are_beyond_a_load_that_hits_the_first_cache() {
        let plan = Plan::of(&told(XEON_KIB), tlbs(96, 2048), 1 << 34).unwrap();
        // Pages of 2 MiB miss no TLB.
        let penalties = plan.penalties(&times(
            &plan,
            [
                [2.0, 0.5, 0.25],
                [6.0, 0.75, 0.5],
                [42.0, 2.5, 1.25],
                [102.0, 8.5, 2.25],
                [2.0, 0.5, 1.0],
                [6.0, 0.75, 2.0],
                [2.0, 0.5, 1.0],
                [4.5, 0.625, 3.0],
                [18.0, 3.0, 9.0],
            ],
        ));
        let penalties = penalties.unwrap();
        assert_eq!(waits_ns(&penalties), [4.0, 40.0, 100.0, 2.5, 8.0]);
        let of = |penalty: Penalty| (penalty.overlaps(), penalty.streams());
        assert_eq!((of(penalties.l2), of(penalties.last())), ((64, 64), (512, 256)));
        assert_eq!(of(penalties.memory), (2048, 512));
        assert_eq!((of(penalties.stlb), of(penalties.walk)), ((32, 0), (512, 0)));
    }

    #[test]
    fn translations_that_pages_of_2_mib_leave_are_no_part_of_a_line() {
        let plan = Plan::of(&told(XEON_KIB), tlbs(96, 2048), 1 << 34).unwrap();
        // The host of a virtual machine has pages of 4 KiB, or the kernel has no larger ones.
        let penalties = plan.penalties(&times(
            &plan,
            [
                [2.0, 0.5, 0.25],
                [6.0, 0.75, 0.5],
                [54.0, 4.75, 1.25],
                [114.0, 10.75, 2.25],
                [4.5, 0.625, 1.0],
                [18.0, 3.0, 2.0],
                [2.0, 0.5, 1.0],
                [4.5, 0.625, 3.0],
                [18.0, 3.0, 9.0],
            ],
        ));
        let penalties = penalties.unwrap();
        assert_eq!(waits_ns(&penalties), [4.0, 40.0, 100.0, 2.5, 8.0]);
        assert_eq!((penalties.last().overlaps(), penalties.memory.overlaps()), (512, 2048));
    }

    #[test]
    fn whatever_was_measured_is_within_the_bounds_of_a_profile() {
        let plan = Plan::of(&told(XEON_KIB), tlbs(96, 2048), 1 << 34).unwrap();
        let mut ns = [[50.0, 900.0, 900.0]; 9];
        // The first cache is the slowest, and memory takes a second.
        (ns[0], ns[3]) = ([100.0, 1.0, 1.0], [1e5, 1e5, 1e5]);
        let penalties = plan.penalties(&times(&plan, ns)).unwrap();
        assert_eq!(waits_ns(&penalties)[0], 0.0);
        assert_eq!((penalties.l2.overlaps(), penalties.l2.streams()), (0, 0));
        assert_eq!(penalties.memory.waits(), Penalty::MAX);
    }
}
