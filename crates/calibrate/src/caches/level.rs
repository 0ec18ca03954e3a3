//! The levels of a machine's caches, as they are shown.

use preemptlab_protocol::caches::{CacheSize, Caches, Penalty, TlbSize};

use super::{measured::MachineCaches, told::Told, translations::Tlb};
use crate::price::PRICE_PER_NS;

/// Where a load finds its line, or its translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// Data in the first cache.
    FirstData,
    /// Instructions there.
    FirstInstructions,
    /// The second cache.
    Second,
    /// The third cache.
    Third,
    /// Memory.
    Memory,
    /// The first TLB.
    FirstTlb,
    /// The second TLB.
    SecondTlb,
    /// The page table.
    PageTable,
}

/// The size of a cache in bytes, or that of a TLB in translations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Bytes, or translations.
    pub amount: u64,
    /// Ways; `None` where nobody tells them.
    pub ways: Option<u32>,
}

/// The time of a load beyond one that hits the first cache, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BeyondNs {
    /// Where the CPU waits for it.
    pub waits: f64,
    /// Where it overlaps another one.
    pub overlaps: f64,
    /// Where it was foreseen.
    pub streams: f64,
}

/// A level: its size, as it was found and as a profile holds it, and the time of a load from there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Which one it is.
    pub holder: Holder,
    /// Its size; of memory, that of the buffer; `None` for the page table.
    pub found: Option<Size>,
    /// The size in a profile, where that has one.
    pub held: Option<Size>,
    /// The time of a load from there, where it is not that of the first cache.
    pub beyond_ns: Option<BeyondNs>,
}

impl MachineCaches {
    /// Returns all levels that there are.
    pub fn levels(&self) -> Vec<Level> {
        let caches = self.of_profile(None);
        let Caches { l1d, l1i, l2, l3, dtlb, stlb, penalties, .. } = caches;
        let (told, tlbs) = (self.told, self.tlbs);
        let size = |amount: u64, ways| Some(Size { amount, ways: Some(ways) });
        let cache = |holder, told: Told, held: CacheSize, penalty| Level {
            holder,
            found: size(told.bytes, told.ways),
            held: size(held.bytes().into(), held.ways()),
            beyond_ns: penalty,
        };
        let tlb = |holder, found: Tlb, held: TlbSize, penalty| Level {
            holder,
            found: Some(Size { amount: found.entries.into(), ways: found.ways }),
            held: size(held.entries().into(), held.ways()),
            beyond_ns: penalty,
        };
        let buffer = Some(Size { amount: self.memory_bytes, ways: None });
        let other =
            |holder, found, penalty| Level { holder, found, held: None, beyond_ns: penalty };
        let of = |penalty| Some(BeyondNs::of(penalty));
        let third = told.l3.zip(l3).zip(penalties.l3);
        let third =
            third.map(|((told, held), penalty)| cache(Holder::Third, told, held, of(penalty)));
        let nearer = [
            cache(Holder::FirstData, told.l1d, l1d, None),
            cache(Holder::FirstInstructions, told.l1i, l1i, None),
            cache(Holder::Second, told.l2, l2, of(penalties.l2)),
        ];
        let farther = [
            other(Holder::Memory, buffer, of(penalties.memory)),
            tlb(Holder::FirstTlb, tlbs.dtlb, dtlb, None),
            tlb(Holder::SecondTlb, tlbs.stlb, stlb, of(penalties.stlb)),
            other(Holder::PageTable, None, of(penalties.walk)),
        ];
        nearer.into_iter().chain(third).chain(farther).collect()
    }
}

impl BeyondNs {
    fn of(penalty: Penalty) -> Self {
        let [waits, overlaps, streams] = [penalty.waits(), penalty.overlaps(), penalty.streams()]
            .map(|it| f64::from(it) / PRICE_PER_NS);
        Self { waits, overlaps, streams }
    }
}
