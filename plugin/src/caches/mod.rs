//! The caches of the machine that a profile describes.
//!
//! A line that was not used last of its set comes here. What comes out is what the CPU that executes has to
//! pay beyond the price of its instruction, in 1/256 ns. Lines are known by their physical addresses, which
//! the guest chooses; no address of the host matters.

mod prefetcher;
pub mod recent;
mod sets;
mod translations;
mod writers;

use preemptlab_protocol::caches::{Caches as Sizes, Groups, Penalty};

use self::{
    prefetcher::Prefetcher,
    recent::{FETCHED, Kept, READ, WRITTEN},
    sets::{Sets, Tag},
    translations::{Found, Translations},
    writers::Writers,
};
use crate::arch::{Reach, Spaces};

/// An access to memory.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// The virtual address.
    pub address: u64,
    /// The physical address.
    pub physical: u64,
    pub is_write: bool,
    /// Where its instruction is.
    pub instruction: u64,
    /// Whether its address was read from memory just before.
    pub is_chained: bool,
    /// The number of accesses before it.
    pub count: u64,
}

/// How a CPU takes a miss.
#[derive(Clone, Copy)]
enum Taken {
    Waits,
    Overlaps,
    Streams,
}

/// Caches of all CPUs.
pub struct Caches {
    sizes: Sizes,
    cpus: Vec<Cpu>,
    last: Sets<u32>,
    spaces: Spaces,
    /// Who has written which lines; `None` where lines that move have no price of their own.
    writers: Option<Writers>,
    /// The CPU that executes.
    cpu: usize,
}

/// A CPU's own caches.
struct Cpu {
    data: Sets<u32>,
    code: Sets<u32>,
    /// `None` where the second cache is the one that all CPUs share.
    second: Option<Sets<u32>>,
    translations: Translations,
    prefetcher: Prefetcher,
    /// The number of the access that missed last.
    missed: Option<u64>,
    /// The line of code that was fetched last.
    fetched: u32,
    /// What it has used last, while another one executes.
    kept: Kept,
}

impl Cpu {
    fn new(sizes: &Sizes, spaces: Spaces) -> Self {
        let sets =
            |size: preemptlab_protocol::caches::CacheSize| Sets::new(size.sets(), size.ways());
        Self {
            data: sets(sizes.l1d),
            code: sets(sizes.l1i),
            second: sizes.second().map(sets),
            translations: Translations::new(sizes, spaces),
            prefetcher: Prefetcher::new(sizes.prefetcher),
            missed: None,
            fetched: 0,
            kept: Kept::new(),
        }
    }

    /// Returns whether one of the caches has a line. The first ones have none that the second lacks.
    fn has(&self, line: u32) -> bool {
        match &self.second {
            Some(second) => second.has(line),
            None => self.data.has(line) || self.code.has(line),
        }
    }

    /// Removes a line from all caches, and returns whether it was there.
    fn remove(&mut self, line: u32) -> bool {
        let had = self.has(line);
        if had {
            self.data.remove(line);
            self.code.remove(line);
            if let Some(second) = &mut self.second {
                second.remove(line);
            }
            self.kept.forget(line.into());
        }
        had
    }
}

impl Caches {
    /// Makes empty caches; `groups` says which CPUs are near to each other, where there are several.
    pub fn new(sizes: Sizes, groups: Option<Groups>, spaces: Spaces) -> Self {
        let last = Sets::new(sizes.last().sets(), sizes.last().ways());
        let writers = sizes.transfers.zip(groups);
        let writers = writers.map(|(transfers, groups)| Writers::new(transfers, groups));
        Self { cpus: vec![Cpu::new(&sizes, spaces)], sizes, last, spaces, writers, cpu: 0 }
    }

    /// Has another CPU execute.
    pub fn begin(&mut self, cpu: usize) {
        if cpu == self.cpu {
            return;
        }
        while self.cpus.len() <= cpu {
            self.cpus.push(Cpu::new(&self.sizes, self.spaces));
        }
        self.cpus[self.cpu].kept.keep();
        self.cpu = cpu;
        self.cpus[cpu].kept.restore();
    }

    /// The CPU reads or writes memory, at a time that is asked for where it matters, in ns.
    pub fn access(&mut self, access: Access, now_ns: impl Fn() -> u64) -> u32 {
        let Access { address, physical, is_write, .. } = access;
        let line = (physical >> 6) as u32;
        // Nobody waits for a store.
        let arrives = if is_write { None } else { self.arrives(line) };
        let moved = if is_write { self.own(line) } else { false };
        let is_contended = match &mut self.writers {
            Some(writers) if is_write => writers.write(line, self.cpu, now_ns(), moved),
            _ => false,
        };
        let cpu = &mut self.cpus[self.cpu];
        let found = cpu.translations.look_up(address, physical);
        let evicted = cpu.data.touch_or_evict(line);
        READ.set(address >> 6);
        if is_write && !is_contended {
            WRITTEN.set(address >> 6);
        } else if !WRITTEN.has(address >> 6) {
            // Another line was used last of the set.
            WRITTEN.forget(address >> 6);
        }
        if found == Found::First && evicted.is_none() && !moved {
            return 0;
        }
        let is_foreseen = evicted.is_some()
            && cpu.prefetcher.foresees(access.instruction << 1 | u64::from(is_write), address >> 6);
        let near = u64::from(self.sizes.overlap_accesses);
        let is_near = cpu.missed.is_some_and(|missed| access.count.saturating_sub(missed) <= near);
        cpu.missed = Some(access.count);
        let taken = if is_foreseen {
            Taken::Streams
        } else if is_write || (is_near && !access.is_chained) {
            Taken::Overlaps
        } else {
            Taken::Waits
        };
        let mut penalty = match found {
            Found::First => 0,
            Found::Second => taken.of(self.sizes.penalties.stlb),
            Found::Tables(entry) => {
                taken.of(self.sizes.penalties.walk) + self.beyond(entry, false, taken)
            }
        };
        if evicted.is_some() {
            let of_line = self.beyond(line, moved, taken);
            penalty += match arrives {
                Some(arrives) => {
                    let streams = self.sizes.penalties.last();
                    let share =
                        if is_foreseen { (streams.streams(), streams.waits()) } else { (1, 1) };
                    of_line.max(arrives.cost(now_ns(), share))
                }
                None => of_line,
            };
        } else if moved {
            penalty += taken.of(self.sizes.penalties.last());
        }
        penalty
    }

    /// The CPU executes instructions of a line, by its physical number.
    pub fn fetch(&mut self, line: u64) -> u32 {
        FETCHED.set(line);
        let line = line as u32;
        let cpu = &mut self.cpus[self.cpu];
        let is_next = line == cpu.fetched.wrapping_add(1);
        cpu.fetched = line;
        if cpu.code.touch(line) {
            return 0;
        }
        // Lines in a row are fetched ahead.
        self.beyond(line, false, if is_next { Taken::Overlaps } else { Taken::Waits })
    }

    /// The CPU has another address space, whose name a register has.
    pub fn switch(&mut self, register: u64) {
        if self.cpus[self.cpu].translations.switch(register & self.spaces.name_bits) {
            forget_addresses();
        }
    }

    /// All CPUs forget the translations of the space whose name a register has.
    pub fn empty(&mut self, register: u64) {
        let name = register & self.spaces.name_bits;
        self.cpus.iter_mut().for_each(|cpu| cpu.translations.empty(name));
        self.forget_addresses(Reach::All);
    }

    /// CPUs forget all translations.
    pub fn clear_translations(&mut self, reach: Reach) {
        match reach {
            Reach::Own => self.cpus[self.cpu].translations.clear(),
            Reach::All => self.cpus.iter_mut().for_each(|cpu| cpu.translations.clear()),
        }
        self.forget_addresses(reach);
    }

    /// Some virtual addresses have another meaning now.
    pub fn forget_addresses(&mut self, reach: Reach) {
        forget_addresses();
        if reach == Reach::All {
            self.others().for_each(|cpu| cpu.kept.forget_addresses());
        }
    }

    /// Fetches what the first cache lacks; `is_elsewhere` is whether another CPU had it until now.
    fn beyond(&mut self, line: u32, is_elsewhere: bool, taken: Taken) -> u32 {
        let penalties = self.sizes.penalties;
        if let Some(second) = &mut self.cpus[self.cpu].second {
            let evicted = second.touch_or_evict(line);
            let Some(evicted) = evicted else { return taken.of(penalties.l2) };
            self.evict(evicted);
        }
        let is_elsewhere = self.share(line) || is_elsewhere;
        if self.last.touch(line) || is_elsewhere {
            taken.of(penalties.last())
        } else {
            taken.of(penalties.memory)
        }
    }

    /// The second cache has lost a line: the first ones have no line that it lacks.
    fn evict(&mut self, line: u32) {
        if line == u32::NONE {
            return;
        }
        let cpu = &mut self.cpus[self.cpu];
        if cpu.data.remove(line) {
            READ.forget(line.into());
            WRITTEN.forget(line.into());
        }
        if cpu.code.remove(line) {
            FETCHED.forget(line.into());
        }
    }

    /// When a line comes that another CPU has written and still has.
    fn arrives(&self, line: u32) -> Option<writers::Arrives> {
        let (writer, arrives) = self.writers.as_ref()?.arrives(line, self.cpu)?;
        self.cpus.get(writer)?.has(line).then_some(arrives)
    }

    /// No other CPU writes the line from now on without asking. Returns whether one has it.
    fn share(&mut self, line: u32) -> bool {
        let mut has = false;
        for cpu in self.others() {
            if cpu.has(line) {
                cpu.kept.share(line.into());
                has = true;
            }
        }
        has
    }

    /// No other CPU has the line from now on. Returns whether one had it.
    fn own(&mut self, line: u32) -> bool {
        let mut had = false;
        for cpu in self.others() {
            had |= cpu.remove(line);
        }
        had
    }

    fn others(&mut self) -> impl Iterator<Item = &mut Cpu> {
        let this = self.cpu;
        self.cpus.iter_mut().enumerate().filter(move |(cpu, _)| *cpu != this).map(|(_, cpu)| cpu)
    }
}

/// Forgets the addresses of the lines that the CPU that executes has used last.
fn forget_addresses() {
    READ.forget_all();
    WRITTEN.forget_all();
}

impl Taken {
    fn of(self, penalty: Penalty) -> u32 {
        match self {
            Self::Waits => penalty.waits(),
            Self::Overlaps => penalty.overlaps(),
            Self::Streams => penalty.streams(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use super::*;

    /// Spaces as on x86-64.
    pub(super) const SPACES: Spaces =
        Spaces { kept: 6, name_bits: !0xfff, is_emptied_by_itself: true };

    /// Caches of 128, 256 and 1024 lines, and TLBs of 16 and 128 pages.
    pub(super) fn caches() -> Sizes {
        serde_json::from_str(
            r#"{
                "overlap_accesses": 8,
                "l1d": {"bytes": 8192, "ways": 2},
                "l1i": {"bytes": 8192, "ways": 2},
                "l2": {"bytes": 16384, "ways": 4},
                "l3": {"bytes": 65536, "ways": 16},
                "dtlb": {"entries": 16, "ways": 4},
                "stlb": {"entries": 128, "ways": 4},
                "prefetcher": {"streams": 16, "training": 2},
                "penalties": {
                    "l2": {"waits": 10, "overlaps": 2, "streams": 1},
                    "l3": {"waits": 100, "overlaps": 20, "streams": 10},
                    "memory": {"waits": 1000, "overlaps": 200, "streams": 100},
                    "stlb": {"waits": 0, "overlaps": 0, "streams": 0},
                    "walk": {"waits": 0, "overlaps": 0, "streams": 0}
                }
            }"#,
        )
        .unwrap()
    }

    /// One CPU executes at a time: what it used last is of all tests.
    fn empty() -> (Caches, MutexGuard<'static, ()>) {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        Kept::new().restore();
        let mut caches = Caches::new(caches(), None, SPACES);
        // All pages of these tests are in the TLB, and the line of their table is in the second cache.
        for page in 0..16 {
            caches.access(load(page << 12 | 0xfc0), never);
        }
        (caches, alone)
    }

    /// Far from what was accessed before, by an instruction of its own.
    /// The time where none matters.
    fn never() -> u64 {
        panic!("no line moves at a price")
    }

    fn load(address: u64) -> Access {
        let physical = address;
        let count = address * 1000;
        let instruction = address;
        Access { address, physical, is_write: false, instruction, is_chained: true, count }
    }

    fn store(address: u64) -> Access {
        Access { is_write: true, ..load(address) }
    }

    #[test]
    fn a_line_costs_what_it_takes_to_fetch_it() {
        let (mut caches, _alone) = empty();
        assert_eq!(caches.access(load(0x40), never), 1000);
        assert_eq!(caches.access(load(0x78), never), 0, "the same line");
        // Two further lines of its set of two.
        assert_eq!(caches.access(load(0x1040), never), 1000);
        assert_eq!(caches.access(load(0x2040), never), 1000);
        assert_eq!(caches.access(load(0x40), never), 10);
        // Four further lines of its set in the second cache.
        (3..7).for_each(|page| assert_eq!(caches.access(load(page << 12 | 0x40), never), 1000));
        assert_eq!(caches.access(load(0x40), never), 100);
    }

    /// Two CPUs with first caches of 128 lines, and a second one of 256 that they share.
    #[test]
    fn cpus_may_share_the_second_cache() {
        let (_, _alone) = empty();
        let mut sizes = caches();
        (sizes.l3, sizes.penalties.l3) = (None, None);
        let mut caches = Caches::new(sizes, None, SPACES);
        for cpu in [1, 0] {
            caches.begin(cpu);
            for page in 0..16 {
                caches.access(load(page << 12 | 0xfc0), never);
            }
        }
        assert_eq!(caches.access(load(0x40), never), 1000);
        caches.begin(1);
        assert_eq!(caches.access(load(0x40), never), 10, "the other CPU has fetched it");
        assert_eq!(caches.access(store(0x40), never), 2, "it is taken away from there");
        caches.begin(0);
        assert!(!READ.has(1));
        assert_eq!(caches.access(load(0x40), never), 10);
        // Two further lines of its set take its place in the first cache, and it is in the second.
        assert_eq!(caches.access(load(0x1040), never), 1000);
        assert_eq!(caches.access(load(0x2040), never), 1000);
        assert_eq!(caches.access(load(0x40), never), 10);
        // Four further lines of its set in the second one.
        (3..7).for_each(|page| assert_eq!(caches.access(load(page << 12 | 0x40), never), 1000));
        assert_eq!(caches.access(load(0x40), never), 10, "CPU 1 has it in its first cache");
        caches.begin(1);
        caches.access(load(0x1040), never);
        caches.access(load(0x2040), never);
        caches.begin(0);
        for page in 3..9 {
            caches.access(load(page << 12 | 0x40), never);
        }
        assert_eq!(caches.access(load(0x40), never), 1000, "nobody has it any more");
    }

    #[test]
    fn the_line_used_last_stays() {
        let (mut caches, _alone) = empty();
        caches.access(load(0x40), never);
        caches.access(load(0x1040), never);
        assert_eq!(caches.access(load(0x40), never), 0);
        assert_eq!(caches.access(load(0x2040), never), 1000);
        assert_eq!(caches.access(load(0x40), never), 0);
        assert_eq!(caches.access(load(0x1040), never), 10);
    }

    #[test]
    fn misses_in_a_row_overlap_unless_one_waits_for_the_other() {
        let (mut caches, _alone) = empty();
        let at = |address, count, is_chained| Access { count, is_chained, ..load(address) };
        assert_eq!(
            caches.access(at(0x0040, 10_000_000_000, false), never),
            1000,
            "nothing is near"
        );
        assert_eq!(caches.access(at(0x1080, 10_000_000_008, false), never), 200);
        assert_eq!(caches.access(at(0x20c0, 10_000_000_009, true), never), 1000);
        assert_eq!(caches.access(at(0x3100, 10_000_000_018, false), never), 1000, "nine accesses");
        assert_eq!(caches.access(at(0x4140, 10_000_000_020, false), never), 200);
        assert_eq!(caches.access(store(0x5180), never), 200, "nobody waits for a store");
    }

    #[test]
    fn a_stream_is_foreseen() {
        let (mut caches, _alone) = empty();
        let mut cost =
            |line: u64| caches.access(Access { instruction: 7, ..load(line << 6) }, never);
        assert_eq!([1, 4, 7, 10, 13].map(&mut cost), [1000, 1000, 1000, 100, 100]);
        assert_eq!([14, 15].map(cost), [1000, 1000]);
    }

    #[test]
    fn code_is_fetched_ahead_and_shares_the_second_cache() {
        let (mut caches, _alone) = empty();
        assert_eq!(caches.fetch(100), 1000);
        assert_eq!(caches.fetch(101), 200);
        assert_eq!(caches.fetch(100), 0);
        assert_eq!(caches.access(load(102 << 6), never), 1000);
        assert_eq!(caches.fetch(102), 10);
        assert!(FETCHED.has(102));
    }

    #[test]
    fn a_written_line_moves_between_cpus() {
        let (mut caches, _alone) = empty();
        caches.begin(1);
        for page in 0..4 {
            caches.access(load(page << 12 | 0xfc0), never);
        }
        assert_eq!(caches.access(store(0x40), never), 200);
        assert!(WRITTEN.has(1));
        caches.begin(0);
        assert!(!WRITTEN.has(1));
        assert_eq!(caches.access(load(0x40), never), 100, "the other CPU has it");
        caches.begin(1);
        assert!(READ.has(1) && !WRITTEN.has(1), "both may read it");
        assert_eq!(caches.access(store(0x40), never), 20);
        assert_eq!(caches.access(store(0x40), never), 0);
        caches.begin(0);
        assert!(!READ.has(1));
        assert_eq!(caches.access(load(0x40), never), 100);
    }

    /// With prices of lines that move a reader waits until the writer's store could have come, and each store
    /// to a line for which CPUs fight is known.
    #[test]
    fn a_line_comes_when_it_can_have_come() {
        let (_, _alone) = empty();
        let transfers = serde_json::from_str(r#"{"complex": 25600}"#).unwrap();
        let groups = serde_json::from_str(r#"{"core": 1, "complex": 2, "socket": 2}"#).unwrap();
        let sizes = Sizes { transfers: Some(transfers), ..caches() };
        let mut caches = Caches::new(sizes, Some(groups), SPACES);
        caches.begin(1);
        for page in 0..4 {
            caches.access(load(page << 12 | 0xfc0), || 0);
        }
        caches.begin(0);
        for page in 0..4 {
            caches.access(load(page << 12 | 0xfc0), || 0);
        }
        caches.access(store(0x40), || 1000);
        assert!(WRITTEN.has(1));
        caches.begin(1);
        assert_eq!(caches.access(load(0x40), || 700), 25_600 + 300 * 256, "its writer is ahead");
        assert_eq!(caches.access(load(0x40), || 1100), 0);
        assert_eq!(caches.access(store(0x40), || 1101), 20, "nobody waits for a store");
        assert!(!WRITTEN.has(1), "the next store has to be known");
        assert_eq!(caches.access(store(0x40), || 1200), 0);
        caches.begin(0);
        assert_eq!(caches.access(load(0x40), || 1150), 25_600 + 50 * 256);
    }

    #[test]
    fn what_was_used_last_is_forgotten_with_its_line() {
        let (mut caches, _alone) = empty();
        caches.access(store(0x40), never);
        assert!(READ.has(1) && WRITTEN.has(1));
        caches.access(load(0x1040), never);
        assert!(READ.has(65) && !WRITTEN.has(1));
        caches.access(store(0x40), never);
        caches.switch(0x1000);
        assert!(!READ.has(1) && !WRITTEN.has(1));
    }

    #[test]
    fn a_translation_costs_the_line_of_its_table() {
        let sizes = Sizes {
            penalties: serde_json::from_str(
                r#"{
                    "l2": {"waits": 10, "overlaps": 2, "streams": 1},
                    "l3": {"waits": 100, "overlaps": 20, "streams": 10},
                    "memory": {"waits": 1000, "overlaps": 200, "streams": 100},
                    "stlb": {"waits": 3, "overlaps": 0, "streams": 0},
                    "walk": {"waits": 5, "overlaps": 0, "streams": 0}
                }"#,
            )
            .unwrap(),
            ..caches()
        };
        let (_, _alone) = empty();
        let mut caches = Caches::new(sizes, None, SPACES);
        assert_eq!(caches.access(load(0x0fc0), never), 1000 + 5 + 1000);
        assert_eq!(caches.access(load(0x1f80), never), 1000 + 5 + 10, "the entry beside");
        assert!((2..40).all(|page| caches.access(load(page << 12 | (page & 31) << 6), never) > 0));
        assert_eq!(caches.access(load(0x0fc0), never), 3, "only the translation was forgotten");
    }

    #[test]
    fn what_is_remapped_on_all_cpus_is_remapped_on_those_that_do_not_execute() {
        let (_, _alone) = empty();
        let spaces = Spaces { is_emptied_by_itself: false, ..SPACES };
        let mut caches = Caches::new(caches(), None, spaces);
        caches.switch(0x1000);
        caches.access(load(0x40), never);
        caches.begin(1);
        caches.switch(0x1000);
        caches.access(load(0x40), never);
        for (reach, is_known) in [(Reach::Own, true), (Reach::All, false)] {
            caches.forget_addresses(reach);
            assert!(!READ.has(1), "{reach:?}");
            caches.begin(0);
            assert_eq!(READ.has(1), is_known, "{reach:?}");
            caches.begin(1);
        }
        assert_eq!(caches.access(load(0x40), never), 0, "it has the translation");
        caches.empty(0x1000);
        assert!(caches.access(load(0x40), never) > 0);
        caches.begin(0);
        assert!(caches.access(load(0x40), never) > 0, "all CPUs forget it");
        caches.clear_translations(Reach::Own);
        caches.begin(1);
        assert_eq!(caches.access(load(0x40), never), 0);
        caches.clear_translations(Reach::All);
        caches.begin(0);
        assert!(caches.access(load(0x40), never) > 0);
    }
}
