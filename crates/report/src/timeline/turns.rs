//! Which task had the CPU when.

use preemptlab_trace::Cause;

use super::{pieces::Piece, text};

/// Neighbouring pieces of one task.
#[derive(Debug)]
pub struct Turn<'a> {
    /// Its pieces; never none.
    pub pieces: &'a [Piece<'a>],
}

impl Turn<'_> {
    /// Where it begins, in nanoseconds from the due time.
    pub fn start_ns(&self) -> u64 {
        self.pieces.first().map_or(0, |piece| piece.start_ns)
    }

    /// Where it ends.
    pub fn end_ns(&self) -> u64 {
        self.pieces.last().map_or(0, |piece| piece.end_ns)
    }

    /// How long it is.
    pub fn len_ns(&self) -> u64 {
        self.end_ns() - self.start_ns()
    }

    /// The task; nothing where it is not known.
    pub fn task(&self) -> Option<String> {
        self.pieces.first()?.segment.map(text::task)
    }

    /// What the kernel was in for the longest time, and how long.
    pub fn context(&self) -> Option<(String, u64)> {
        let segments = self.pieces.iter().filter_map(|piece| Some((piece.segment?, piece)));
        let contexts = segments.map(|(segment, piece)| (text::context(segment), piece.len_ns()));
        super::pieces::longest_first(contexts).into_iter().next()
    }

    /// What lasted longest, and how long.
    pub fn cause(&self) -> (Option<Cause>, u64) {
        super::pieces::causes(self.pieces).into_iter().next().unwrap_or_default()
    }
}

/// The turns of pieces, in order.
pub fn turns<'a>(pieces: &'a [Piece<'a>]) -> impl Iterator<Item = Turn<'a>> {
    let task = |piece: &Piece<'a>| piece.segment.map(|segment| (segment.pid, &segment.comm));
    pieces.chunk_by(move |left, right| task(left) == task(right)).map(|pieces| Turn { pieces })
}
