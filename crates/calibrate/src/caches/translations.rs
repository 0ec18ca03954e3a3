//! The sizes of TLBs that no processor tells: where the time of a load of one line of each page rises.

use preemptlab_protocol::caches::TlbSize;

use super::{
    loads::{Buffer, Kind, LINE_BYTES, LoadTimes, Reached},
    reason::NoCaches,
    told::ToldCaches,
};

/// Ways of a TLB where nobody tells them: those of the second one of recent processors.
const WAYS_ASSUMED: u32 = 16;

/// Pages of the buffers are from 2^4 on, in halves of a power of two, up to 2^13.
const POWERS: std::ops::Range<u32> = 4..13;

/// The part of a step after which a TLB has ended. A TLB that holds just all pages loses some of them to other
/// work.
const RISEN: f64 = 0.6;

/// A TLB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tlb {
    /// Translations of pages of 4 KiB that it holds.
    pub entries: u32,
    /// Those of a set; `None` where nobody tells.
    pub ways: Option<u32>,
}

impl Tlb {
    /// Returns the nearest that a profile can hold.
    pub fn size(self) -> TlbSize {
        TlbSize::nearest(self.entries.into(), self.ways.unwrap_or(WAYS_ASSUMED))
    }
}

/// The TLBs of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tlbs {
    /// The first one.
    pub dtlb: Tlb,
    /// The second one.
    pub stlb: Tlb,
}

/// The buffers that tell how large TLBs are.
pub struct Steps {
    l1: Buffer,
    l2: Buffer,
    pages: Vec<u64>,
    /// Lines of the first cache.
    l1_lines: u64,
}

impl Steps {
    /// Chooses the buffers for a machine with these caches.
    pub fn of(told: &ToldCaches) -> Self {
        let lines = |bytes: u64| Buffer { kind: Kind::Lines, lines: (bytes / LINE_BYTES).max(1) };
        let halves = |power| [2_u64, 3].map(|halves| halves << (power - 1));
        Self {
            l1: lines(told.l1d.bytes / 2),
            l2: lines((4 * told.l1d.bytes).min(told.l2.bytes / 2)),
            pages: POWERS.flat_map(halves).chain([1 << POWERS.end]).collect(),
            l1_lines: told.l1d.bytes / LINE_BYTES,
        }
    }

    /// Returns the buffers.
    pub fn buffers(&self) -> Vec<Buffer> {
        let pages = self.pages.iter().map(|pages| Buffer { kind: Kind::Pages, lines: *pages });
        [self.l1, self.l2].into_iter().chain(pages).collect()
    }

    /// Finds the TLBs by the times of the buffers.
    ///
    /// # Errors
    ///
    /// [`NoCaches::Steps`] where the times show no two steps.
    ///
    /// # Panics
    ///
    /// When they are times of other buffers.
    pub fn tlbs(&self, times: &LoadTimes) -> Result<Tlbs, NoCaches> {
        let l1_ns = times.ns(self.l1, Reached::Chained);
        let l2_ns = times.ns(self.l2, Reached::Chained) - l1_ns;
        let beyond = self.pages.iter().map(|pages| {
            let ns = times.ns(Buffer { kind: Kind::Pages, lines: *pages }, Reached::Chained);
            (*pages, ns - l1_ns - if *pages > self.l1_lines { l2_ns } else { 0.0 })
        });
        let beyond: Vec<(u64, f64)> = beyond.collect();
        find(&beyond, self.l1_lines, l1_ns).ok_or(NoCaches::Steps)
    }
}

/// Finds two steps among the times of a load, beyond one of the first cache, of so many pages. The lines of up to
/// `l1_lines` pages are in the first cache, a load of which takes `l1_ns`.
fn find(beyond: &[(u64, f64)], l1_lines: u64, l1_ns: f64) -> Option<Tlbs> {
    // A step that is less than a quarter of a load might be none.
    let low_ns = median(beyond, 1, 32)?;
    let second_ns =
        median(beyond, l1_lines / 2, l1_lines).filter(|ns| ns - low_ns > l1_ns / 4.0)?;
    let dtlb = last_before(beyond, low_ns + RISEN * (second_ns - low_ns))?;
    // Page tables are larger than the first cache's share of them, so the time rises on beyond the second step.
    let risen = last_before(beyond, 2.0 * second_ns - low_ns).filter(|risen| *risen > dtlb)?;
    let walk_ns = median(beyond, risen * 3 / 2, risen * 3)?;
    let stlb = last_before(beyond, second_ns + RISEN * (walk_ns - second_ns))?;
    let tlb = |entries| Some(Tlb { entries: u32::try_from(entries).ok()?, ways: None });
    Some(Tlbs { dtlb: tlb(dtlb)?, stlb: tlb(stlb).filter(|_| stlb > dtlb)? })
}

/// Returns the median time of the buffers from so many pages to so many.
fn median(beyond: &[(u64, f64)], from: u64, to: u64) -> Option<f64> {
    let those = beyond.iter().filter(|(pages, _)| (from..=to).contains(pages));
    let mut those: Vec<f64> = those.map(|(_, ns)| *ns).collect();
    those.sort_by(f64::total_cmp);
    those.get(those.len() / 2).copied()
}

/// Returns the most pages before the time exceeds a bound in three buffers in a row.
fn last_before(beyond: &[(u64, f64)], bound_ns: f64) -> Option<u64> {
    let exceeds = |run: &[(u64, f64)]| run.iter().all(|(_, ns)| *ns > bound_ns);
    let first = beyond.windows(3).position(exceeds)?;
    first.checked_sub(1).map(|last| beyond[last].0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The times of a load on a virtual machine of an Intel Xeon, whose processor tells no TLB: of 96 and 2048 entries by
    /// its maker. Its first cache has 768 lines, and a load takes 1.96 ns there.
    const XEON: [(u64, f64); 18] = [
        (16, 1.98),
        (24, 1.93),
        (32, 2.00),
        (48, 1.96),
        (64, 1.96),
        (96, 1.93),
        (128, 4.34),
        (192, 4.48),
        (256, 4.37),
        (384, 4.45),
        (512, 4.66),
        (768, 4.48),
        (1024, 8.61),
        (1536, 8.70),
        (2048, 16.33),
        (3072, 25.93),
        (4096, 28.99),
        (8192, 27.54),
    ];

    fn beyond(times: &[(u64, f64)]) -> Vec<(u64, f64)> {
        let of_lines = |pages| if pages > 768 { 1.96 + 4.6 } else { 1.96 };
        times.iter().map(|(pages, ns)| (*pages, ns - of_lines(*pages))).collect()
    }

    fn entries(beyond: &[(u64, f64)]) -> Option<(u32, u32)> {
        find(beyond, 768, 1.96).map(|tlbs| (tlbs.dtlb.entries, tlbs.stlb.entries))
    }

    #[test]
    fn tlbs_end_where_times_rise() {
        assert_eq!(entries(&beyond(&XEON)), Some((96, 2048)));
        // A disturbance is no step.
        let mut disturbed = XEON;
        (disturbed[3].1, disturbed[8].1) = (4.0, 40.0);
        assert_eq!(entries(&beyond(&disturbed)), Some((96, 2048)));
    }

    #[test]
    fn times_without_two_steps_tell_no_tlb() {
        let flat: Vec<_> = XEON.iter().map(|(pages, _)| (*pages, 0.01)).collect();
        assert_eq!(entries(&flat), None);
        let one_step: Vec<_> =
            XEON.iter().map(|(pages, _)| (*pages, if *pages > 96 { 2.5 } else { 0.0 })).collect();
        assert_eq!(entries(&one_step), None);
        let falling: Vec<_> = XEON.iter().map(|(pages, _)| (*pages, 1e4 / *pages as f64)).collect();
        assert_eq!(entries(&falling), None);
        assert_eq!(entries(&[]), None);
    }

    #[test]
    fn a_profile_holds_tlbs_whose_ways_nobody_tells() {
        let ways = |entries| {
            let size = Tlb { entries, ways: None }.size();
            (size.entries(), size.ways())
        };
        assert_eq!((ways(96), ways(2048), ways(1536)), ((96, 12), (2048, 16), (1536, 12)));
    }
}
