//! A timeline without gaps and overlaps, whatever its segments are.

use std::collections::BTreeMap;

use preemptlab_trace::{Cause, Folded, Segment, Timeline};

/// A stretch of a timeline. Times are offsets from the due time, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece<'a> {
    /// Start of the piece.
    pub start_ns: u64,
    /// End of the piece, which is later.
    pub end_ns: u64,
    /// Segment of the piece, where it is known.
    pub segment: Option<&'a Segment>,
}

impl Piece<'_> {
    /// Returns the length of the piece.
    pub fn len_ns(&self) -> u64 {
        self.end_ns - self.start_ns
    }

    /// Returns the number of segments that the piece stands for.
    pub fn count(&self) -> u64 {
        self.folded().map_or(1, |folded| folded.count)
    }

    /// Returns the length of the shortest of them.
    pub fn min_ns(&self) -> u64 {
        self.folded().map_or(self.len_ns(), |folded| folded.min_ns)
    }

    /// Returns the length of the longest of them.
    pub fn max_ns(&self) -> u64 {
        self.folded().map_or(self.len_ns(), |folded| folded.max_ns)
    }

    /// Returns whether the piece stands for segments of which the cause alone is known.
    pub fn is_rest(&self) -> bool {
        self.folded().is_some_and(|folded| folded.is_rest)
    }

    /// Returns whether segments of other tasks or calls may lie between those that the piece stands for.
    pub fn has_gaps(&self) -> bool {
        self.folded().is_some_and(|folded| folded.has_gaps)
    }

    fn folded(&self) -> Option<Folded> {
        self.segment?.folded
    }

    /// Returns its cause, where it is known.
    pub fn cause(&self) -> Option<Cause> {
        self.segment.map(|segment| segment.cause)
    }
}

/// Returns the pieces of a timeline, in order. Their lengths add up to the latency: a gap between
/// segments is a piece without one, and a segment outside of the wakeup is left out.
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

/// Returns the number of segments that pieces stand for.
pub fn count(pieces: &[Piece]) -> u64 {
    pieces.iter().map(Piece::count).sum()
}

/// Returns the total time of each cause, the longest first.
pub fn causes(pieces: &[Piece]) -> Vec<(Option<Cause>, u64)> {
    longest_first(pieces.iter().map(|piece| (piece.cause(), piece.len_ns())))
}

/// Returns the sum of each key, the largest first; of equal ones the least key first.
pub fn longest_first<K: Ord>(parts: impl Iterator<Item = (K, u64)>) -> Vec<(K, u64)> {
    let mut sums: BTreeMap<K, u64> = BTreeMap::new();
    for (key, ns) in parts {
        *sums.entry(key).or_default() += ns;
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
    sums
}
