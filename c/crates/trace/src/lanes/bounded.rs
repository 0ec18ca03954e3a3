//! Stretches, sections and instants in bounded memory, whatever a trace holds.

use super::lane::{Instant, LaneState, Section};

/// Most stretches of a lane, most sections, and most instants.
const STRETCHES_MAX: usize = 4096;

/// Stretch whose name is still to be written out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece<W> {
    pub start_ns: u64,
    pub end_ns: u64,
    pub state: LaneState,
    pub cpu: Option<u32>,
    pub what: W,
}

impl<W> Piece<W> {
    fn len_ns(&self) -> u64 {
        self.end_ns - self.start_ns
    }
}

/// Pieces without gaps. When they become too many, those that are shorter than a grain are joined,
/// each with those of its state in the same grain of time; the grain grows as it has to.
#[derive(Debug)]
pub struct Pieces<W> {
    list: Vec<Piece<W>>,
    grain_ns: u64,
    /// Number of pieces that were joined at this grain. To do it again would move them farther.
    done: usize,
    left_out: u64,
}

impl<W> Default for Pieces<W> {
    fn default() -> Self {
        Self { list: Vec::new(), grain_ns: 0, done: 0, left_out: 0 }
    }
}

impl<W: Copy + PartialEq> Pieces<W> {
    /// Adds a piece that begins where the last one ends.
    pub fn push(&mut self, piece: Piece<W>) {
        if piece.end_ns <= piece.start_ns {
            return;
        }
        match self.list.last_mut() {
            Some(last)
                if (last.state, last.cpu, last.what) == (piece.state, piece.cpu, piece.what) =>
            {
                last.end_ns = piece.end_ns;
            }
            _ => self.list.push(piece),
        }
        if self.list.len() > STRETCHES_MAX {
            self.coarsen();
        }
    }

    /// Returns the pieces, and the number of those that were joined with others.
    pub fn finish(self) -> (Vec<Piece<W>>, u64) {
        (self.list, self.left_out)
    }

    fn coarsen(&mut self) {
        let (Some(first), Some(last)) = (self.list.first(), self.list.last()) else { return };
        let least_ns = (last.end_ns - first.start_ns) / STRETCHES_MAX as u64;
        if self.grain_ns > 0 {
            self.join(self.done);
        }
        // Half of the room has to become free, or the next piece would ask for it again.
        while self.list.len() > STRETCHES_MAX / 2 {
            self.grain_ns = self.grain_ns.saturating_mul(2).max(least_ns).max(1);
            self.join(0);
        }
    }

    /// Joins the short pieces of each grain, from a place in the list on.
    fn join(&mut self, from: usize) {
        let (grain_ns, count) = (self.grain_ns, self.list.len());
        let mut joined: Vec<Piece<W>> = self.list[..from].to_vec();
        let is_together = |left: &Piece<W>, right: &Piece<W>| {
            let is_short = left.len_ns() < grain_ns && right.len_ns() < grain_ns;
            is_short && left.start_ns / grain_ns == right.start_ns / grain_ns
        };
        for group in self.list[from..].chunk_by(is_together) {
            let from = joined.len();
            let mut at_ns = group[0].start_ns;
            for piece in group {
                // The first piece of a state gives the context.
                match joined[from..].iter_mut().find(|other| other.state == piece.state) {
                    Some(other) => other.end_ns += piece.len_ns(),
                    None => joined.push(*piece),
                }
            }
            // One after the other again, in the order of their first appearance.
            for piece in &mut joined[from..] {
                let len_ns = piece.len_ns();
                (piece.start_ns, piece.end_ns) = (at_ns, at_ns + len_ns);
                at_ns += len_ns;
            }
        }
        self.left_out += (count - joined.len()) as u64;
        self.done = joined.len();
        self.list = joined;
    }
}

/// Sections, of which the longest are kept.
#[derive(Debug, Default)]
pub struct Sections {
    list: Vec<Section>,
    left_out: u64,
}

impl Sections {
    pub fn push(&mut self, section: Section) {
        if section.end_ns > section.start_ns {
            self.list.push(section);
        }
        if self.list.len() > 2 * STRETCHES_MAX {
            self.thin();
        }
    }

    /// Returns the sections in order, and the number of those that are missing.
    pub fn finish(mut self) -> (Vec<Section>, u64) {
        self.thin();
        (self.list, self.left_out)
    }

    fn thin(&mut self) {
        let len_ns = |section: &Section| section.end_ns - section.start_ns;
        self.left_out += self.list.len().saturating_sub(STRETCHES_MAX) as u64;
        self.list.sort_by_key(|section| (std::cmp::Reverse(len_ns(section)), section.start_ns));
        self.list.truncate(STRETCHES_MAX);
        self.list.sort_by_key(|section| (section.start_ns, section.kind));
    }
}

/// Instants, of which every second is left out when they become too many.
#[derive(Debug, Default)]
pub struct Instants {
    list: Vec<Instant>,
    left_out: u64,
}

impl Instants {
    pub fn push(&mut self, instant: Instant) {
        self.list.push(instant);
        if self.list.len() > STRETCHES_MAX {
            let count = self.list.len();
            let mut is_kept = false;
            self.list.retain(|_| {
                is_kept = !is_kept;
                is_kept
            });
            self.left_out += (count - self.list.len()) as u64;
        }
    }

    pub fn last_mut(&mut self) -> Option<&mut Instant> {
        self.list.last_mut()
    }

    /// Returns the instants in order, and the number of those that are missing.
    pub fn finish(mut self) -> (Vec<Instant>, u64) {
        self.list.sort_by_key(|instant| instant.ns);
        (self.list, self.left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::SectionKind;

    /// A thread runs for 1 of 10 ns.
    #[test]
    fn too_many_stretches_keep_what_they_add_up_to() {
        let mut pieces = Pieces::default();
        for round in 0..100_000_u64 {
            let ns = round * 10;
            let piece =
                |start_ns, end_ns, state| Piece { start_ns, end_ns, state, cpu: None, what: () };
            pieces.push(piece(ns, ns + 1, LaneState::User));
            pieces.push(piece(ns + 1, ns + 10, LaneState::Sleeping));
        }
        pieces.push(Piece {
            start_ns: 1_000_000,
            end_ns: 2_000_000,
            state: LaneState::Runnable,
            cpu: None,
            what: (),
        });
        let (list, left_out) = pieces.finish();
        assert!(list.len() <= STRETCHES_MAX, "{}", list.len());
        assert!(left_out > 190_000, "{left_out}");
        assert!(list.windows(2).all(|pair| pair[0].end_ns == pair[1].start_ns));
        let sum = |state| -> u64 {
            list.iter().filter(|piece| piece.state == state).map(Piece::len_ns).sum()
        };
        assert_eq!(sum(LaneState::User), 100_000);
        assert_eq!(sum(LaneState::Sleeping), 900_000);
        assert_eq!(list.last().map(|piece| piece.start_ns), Some(1_000_000));
        // They are where they were, to a grain: a tenth of each tenth.
        for tenth in 0..10_u64 {
            let is_in = |piece: &&Piece<()>| piece.start_ns / 100_000 == tenth;
            let here = list.iter().filter(is_in).filter(|piece| piece.state == LaneState::User);
            let sum: u64 = here.map(Piece::len_ns).sum();
            assert!((9_500..10_500).contains(&sum), "{tenth}: {sum}");
        }
    }

    #[test]
    fn the_longest_sections_stay() {
        let mut sections = Sections::default();
        for round in 0..20_000_u64 {
            let start_ns = round * 1_000;
            let len_ns = if round % 10 == 0 { 500 } else { 5 };
            let kind = SectionKind::PreemptOff;
            sections.push(Section { start_ns, end_ns: start_ns + len_ns, kind });
        }
        let (list, left_out) = sections.finish();
        assert_eq!((list.len(), left_out), (STRETCHES_MAX, 20_000 - STRETCHES_MAX as u64));
        assert!(list.is_sorted_by_key(|section| section.start_ns));
        assert_eq!(list.iter().filter(|it| it.end_ns - it.start_ns == 500).count(), 2_000);
    }
}
