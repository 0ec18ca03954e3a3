//! Pieces that one cause holds together: a section from its first instant to its last.

use std::{collections::HashMap, hash::Hash};

use preemptlab_analysis::wakeup::{Piece, count};
use preemptlab_trace::{Cause, Segment};

use super::text;

/// Stretch of a timeline that is shown as one: neighbouring pieces during which the kernel did not
/// switch.
#[derive(Clone, Copy, Debug)]
pub struct Stretch<'a> {
    /// Pieces of the stretch; at least one.
    pub pieces: &'a [Piece<'a>],
    /// The piece that says why the kernel did not switch.
    pub reason: Piece<'a>,
}

/// Pieces of a stretch with one cause, in one function.
#[derive(Clone, Debug)]
pub struct Part<'a> {
    /// The one with the longest segment.
    pub longest: Piece<'a>,
    /// Length of the shortest segment, in nanoseconds.
    pub min_ns: u64,
    /// Number of segments.
    pub count: u64,
    /// Total length of the segments, in nanoseconds.
    pub sum_ns: u64,
}

impl<'a> Part<'a> {
    fn new(piece: Piece<'a>) -> Self {
        let (min_ns, count, sum_ns) = (piece.min_ns(), piece.count(), piece.len_ns());
        Self { longest: piece, min_ns, count, sum_ns }
    }

    fn add(&mut self, piece: Piece<'a>) {
        self.count += piece.count();
        self.sum_ns += piece.len_ns();
        self.min_ns = self.min_ns.min(piece.min_ns());
        if piece.max_ns() > self.longest.max_ns() {
            self.longest = piece;
        }
    }
}

/// A not preemptible part of the kernel holds a stretch together where it is more than this share
/// of it, in percent. Between the end of a section and the scheduler's call are instants of it, too.
const NOT_PREEMPTIBLE_MIN: u64 = 10;

impl<'a> Stretch<'a> {
    /// Returns its start, in nanoseconds from the due time.
    pub fn start_ns(&self) -> u64 {
        self.pieces.first().map_or(0, |piece| piece.start_ns)
    }

    /// Returns its length.
    pub fn len_ns(&self) -> u64 {
        self.pieces.iter().map(Piece::len_ns).sum()
    }

    /// Returns the number of segments in it.
    pub fn count(&self) -> u64 {
        count(self.pieces)
    }

    /// Returns the work of the kernel in it: pieces with the same cause and function together, the
    /// longest sum first.
    pub fn parts(&self) -> Vec<Part<'a>> {
        let function = |piece: &Piece<'a>| piece.segment.map(|it| it.function.as_deref());
        parts(self.pieces, |piece| (piece.cause(), function(piece), piece.is_rest()))
    }
}

/// Puts pieces together that have the same key: the longest sum first, of equal ones the first.
pub fn parts<'a, K: Eq + Hash>(
    pieces: &[Piece<'a>],
    key: impl Fn(&Piece<'a>) -> K,
) -> Vec<Part<'a>> {
    let mut places: HashMap<K, usize> = HashMap::new();
    let mut parts: Vec<Part<'a>> = Vec::new();
    for piece in pieces {
        let place = *places.entry(key(piece)).or_insert(parts.len());
        match parts.get_mut(place) {
            Some(part) => part.add(*piece),
            None => parts.push(Part::new(*piece)),
        }
    }
    parts.sort_by_key(|part| std::cmp::Reverse(part.sum_ns));
    parts
}

/// Cuts pieces into stretches, in order. A piece outside of a longer stretch is a stretch by
/// itself.
pub fn stretches<'a>(pieces: &'a [Piece<'a>]) -> impl Iterator<Item = Stretch<'a>> {
    let runs =
        pieces.chunk_by(|left, right| place(left).is_some_and(|it| Some(it) == place(right)));
    runs.map(|pieces| Stretch { pieces, reason: reason(pieces) })
}

/// Returns the task and its system call, where nothing can be switched to another task.
fn place<'a>(piece: &Piece<'a>) -> Option<(u32, &'a str)> {
    let segment = piece.segment?;
    segment.cause.is_closed().then_some((segment.pid, segment.outermost()))
}

/// Returns the piece that holds a stretch together: code that is not preemptible anyway, else a
/// section in which all other pieces lie, else the longest piece.
fn reason<'a>(pieces: &[Piece<'a>]) -> Piece<'a> {
    let whole_ns: u64 = pieces.iter().map(Piece::len_ns).sum();
    let parts = parts(pieces, Piece::cause);
    let part = |cause| parts.iter().find(|part| part.longest.cause() == Some(cause));
    let section = pieces.iter().find(|piece| is_around(piece, pieces));
    let not_preemptible = part(Cause::NotPreemptible).filter(|part| {
        u128::from(part.sum_ns) * 100 >= u128::from(whole_ns) * u128::from(NOT_PREEMPTIBLE_MIN)
    });
    let longest = parts.first().map(|part| part.longest);
    not_preemptible
        .map(|part| part.longest)
        .or_else(|| section.copied())
        .or(longest)
        .unwrap_or(Piece { start_ns: 0, end_ns: 0, segment: None })
}

/// Returns whether a piece belongs to a section that had begun when the others began, or with the
/// first of them, and ended with the last of them.
fn is_around(piece: &Piece<'_>, pieces: &[Piece<'_>]) -> bool {
    let Some(section) = piece.segment.and_then(section) else { return false };
    let is_of = |other: &&Piece<'_>| other.segment.and_then(self::section) == Some(section);
    let (first, last) = (pieces.first(), pieces.iter().rev().find(is_of));
    let has_begun = first.and_then(|it| it.segment).is_some_and(|it| section.1 <= it.start_ns);
    // On the way out of it the last interrupt may be served.
    let whole_ns: u64 = pieces.iter().map(Piece::len_ns).sum();
    let end_ns = pieces.last().map_or(0, |piece| piece.end_ns);
    let is_to_end =
        last.is_some_and(|last| u128::from(end_ns - last.end_ns) * 10 <= u128::from(whole_ns));
    has_begun && is_to_end
}

/// Returns the section of a segment: the cause and its start.
fn section(segment: &Segment) -> Option<(Cause, u64)> {
    let is_section = matches!(segment.cause, Cause::IrqsOff | Cause::PreemptOff);
    // Several segments that belong to one section say since when.
    let is_one = segment.folded.is_none() || segment.since_ns.is_some();
    (is_section && is_one).then(|| (segment.cause, segment.since_ns.unwrap_or(segment.start_ns)))
}

/// Returns the place of a stretch: the task and its system call.
pub fn place_of(stretch: &Stretch<'_>) -> String {
    let Some(segment) = stretch.reason.segment else { return "not known".to_owned() };
    if stretch.pieces.len() == 1 {
        return text::place(segment);
    }
    text::place(&Segment { context: segment.outermost().to_owned(), ..segment.clone() })
}
