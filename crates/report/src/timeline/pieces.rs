//! A timeline without gaps and overlaps, whatever its segments are.

use std::collections::BTreeMap;

use preemptlab_trace::{Cause, Segment, Timeline};

/// A stretch of a timeline. Times are offsets from the due time, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece<'a> {
    /// Where it begins.
    pub start_ns: u64,
    /// Where it ends, which is later.
    pub end_ns: u64,
    /// What is known of it.
    pub segment: Option<&'a Segment>,
}

impl Piece<'_> {
    /// How long it is.
    pub fn len_ns(&self) -> u64 {
        self.end_ns - self.start_ns
    }

    /// Its cause, where it is known.
    pub fn cause(&self) -> Option<Cause> {
        self.segment.map(|segment| segment.cause)
    }
}

/// The pieces of a timeline, in order. Their lengths add up to the latency: what no segment covers
/// is a piece without one, and what does not belong to the wakeup is left out.
pub fn pieces(timeline: &Timeline) -> Vec<Piece<'_>> {
    let latency_ns = timeline.wakeup.latency_ns();
    let offset = |ns: u64| ns.saturating_sub(timeline.wakeup.due_ns).min(latency_ns);
    let mut pieces = Vec::with_capacity(timeline.segments.len());
    let mut reached_ns = 0;
    let mut push = |start_ns, end_ns, segment| {
        if end_ns > start_ns {
            pieces.push(Piece { start_ns, end_ns, segment });
        }
    };
    for segment in &timeline.segments {
        let start_ns = offset(segment.start_ns).max(reached_ns);
        let end_ns = offset(segment.end_ns).max(start_ns);
        push(reached_ns, start_ns, None);
        push(start_ns, end_ns, Some(segment));
        reached_ns = end_ns;
    }
    push(reached_ns, latency_ns, None);
    pieces
}

/// How long each cause lasted, the longest first.
pub fn causes(pieces: &[Piece]) -> Vec<(Option<Cause>, u64)> {
    longest_first(pieces.iter().map(|piece| (piece.cause(), piece.len_ns())))
}

/// The sum of each key, the largest first; of equal ones the least key first.
pub fn longest_first<K: Ord>(parts: impl Iterator<Item = (K, u64)>) -> Vec<(K, u64)> {
    let mut sums: BTreeMap<K, u64> = BTreeMap::new();
    for (key, ns) in parts {
        *sums.entry(key).or_default() += ns;
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
    sums
}
