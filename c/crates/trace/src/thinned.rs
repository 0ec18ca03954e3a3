//! Pieces of time without gaps, as many as there are, in bounded memory and without a lost nanosecond.
//!
//! When the pieces become too many, those that are alike and near each other become one, which is as long
//! as they are together. Sums by each property that tells pieces apart are therefore exact at any length;
//! places are exact to a grain of time, which grows with the number of pieces.

use std::collections::HashMap;

/// Largest number of pieces that are kept.
pub(crate) const PIECES_MAX: usize = 1 << 14;

/// Piece of time that can be put together with others.
pub(crate) trait Thin: Sized {
    /// Returns the start and the end of the piece, in nanoseconds.
    fn span(&self) -> (u64, u64);

    /// Moves the piece to another place of time, in nanoseconds.
    fn move_to(&mut self, start_ns: u64, end_ns: u64);

    /// Returns whether the pieces differ in their times alone.
    fn is_alike(&self, other: &Self) -> bool;

    /// Returns a number that is the same for pieces that are alike.
    fn digest(&self) -> u64;

    /// Returns whether neighbours belong to one run, whose bounds are kept while that is possible.
    fn is_one_run(&self, next: &Self) -> bool;

    /// Takes in a piece that is alike. `has_gaps` says whether other runs may lie between the two.
    fn take_in(&mut self, other: Self, has_gaps: bool);

    /// Forgets everything about the piece but its length and the little that is summed by in any case: of
    /// such pieces, there are few that are not alike.
    fn forget(&mut self);

    fn len_ns(&self) -> u64 {
        let (start_ns, end_ns) = self.span();
        end_ns.saturating_sub(start_ns)
    }
}

/// Pieces, each of which begins where the one before ends.
#[derive(Debug)]
pub(crate) struct Thinned<P> {
    list: Vec<P>,
    /// Pieces are put together only within such a part of time, in nanoseconds; 0 while none are.
    grain_ns: u64,
    /// Number of pieces that were put together at this grain. To do it again would move them farther.
    done: usize,
    /// Whether there are too many runs to keep their bounds.
    mixes_runs: bool,
}

impl<P> Default for Thinned<P> {
    fn default() -> Self {
        Self { list: Vec::new(), grain_ns: 0, done: 0, mixes_runs: false }
    }
}

impl<P: Thin> Thinned<P> {
    /// Adds a piece.
    pub fn push(&mut self, piece: P) {
        if self.list.len() >= PIECES_MAX {
            self.coarsen();
        }
        self.list.push(piece);
    }

    /// Returns the last piece, which stands for itself alone.
    pub fn last_mut(&mut self) -> Option<&mut P> {
        self.list.last_mut()
    }

    /// Returns the pieces that may hold time since an instant.
    pub fn since_mut(&mut self, ns: u64) -> impl Iterator<Item = &mut P> {
        // Each grain has moved a piece by less than twice its length, and was half as long as the next one.
        let grain_ns = self.grain_ns.saturating_mul(4);
        let is_before = move |piece: &P| piece.span().1.saturating_add(grain_ns) <= ns;
        self.list.iter_mut().rev().take_while(move |piece| !is_before(piece))
    }

    /// Returns the pieces in order.
    pub fn finish(self) -> Vec<P> {
        self.list
    }

    /// Makes room for as many pieces again.
    fn coarsen(&mut self) {
        let span_ns = match (self.list.first(), self.list.last()) {
            (Some(first), Some(last)) => last.span().1.saturating_sub(first.span().0),
            _ => return,
        };
        self.mixes_runs |= self.list.chunk_by(P::is_one_run).count() > PIECES_MAX / 4;
        if self.grain_ns > 0 {
            self.put_together(self.done);
        }
        while self.list.len() > PIECES_MAX / 2 {
            if self.grain_ns > span_ns {
                self.put_all_together();
                return;
            }
            let least_ns = span_ns / PIECES_MAX as u64;
            self.grain_ns = self.grain_ns.saturating_mul(2).max(least_ns).max(1);
            self.put_together(0);
        }
    }

    /// Puts everything together that is alike. If even that is too much, the shortest pieces are forgotten
    /// but for their sums.
    fn put_all_together(&mut self) {
        self.mixes_runs = true;
        self.put_together(0);
        if self.list.len() <= PIECES_MAX / 2 {
            return;
        }
        let mut order: Vec<usize> = (0..self.list.len()).collect();
        order.sort_by_key(|place| std::cmp::Reverse(self.list[*place].len_ns()));
        for place in order.into_iter().skip(PIECES_MAX / 4) {
            self.list[place].forget();
        }
        self.put_together(0);
    }

    /// Puts the short pieces of each grain together, from a place in the list on, but for the last one, which
    /// may still grow.
    fn put_together(&mut self, from: usize) {
        let Some(last) = self.list.pop() else { return };
        let (grain_ns, mixes_runs) = (self.grain_ns, self.mixes_runs);
        let first_ns = self.list.first().map_or(0, |first| first.span().0);
        let grain = |piece: &P| piece.span().0.saturating_sub(first_ns) / grain_ns;
        let is_together = |left: &P, right: &P| {
            let is_short = left.len_ns() < grain_ns && right.len_ns() < grain_ns;
            is_short && grain(left) == grain(right) && (mixes_runs || left.is_one_run(right))
        };
        let rest = self.list.get(from..).unwrap_or_default();
        let sizes: Vec<usize> = rest.chunk_by(is_together).map(<[P]>::len).collect();
        let mut pieces = self.list.split_off(from.min(self.list.len())).into_iter();
        let mut joined = std::mem::take(&mut self.list);
        for size in sizes {
            if size == 1 {
                joined.extend(pieces.next());
                continue;
            }
            put_group(pieces.by_ref().take(size), mixes_runs, &mut joined);
        }
        self.done = joined.len();
        joined.push(last);
        self.list = joined;
    }
}

/// Adds the pieces of a group, each with those that are like it, in the order of their first appearance.
fn put_group<P: Thin>(group: impl Iterator<Item = P>, mixes_runs: bool, joined: &mut Vec<P>) {
    let from = joined.len();
    let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
    let mut start_ns = None;
    let mut lengths: Vec<u64> = Vec::new();
    for piece in group {
        start_ns.get_or_insert(piece.span().0);
        let places = places.entry(piece.digest()).or_default();
        let place = places.iter().find(|place| joined[**place].is_alike(&piece)).copied();
        match place {
            Some(place) => {
                lengths[place - from] += piece.len_ns();
                joined[place].take_in(piece, mixes_runs);
            }
            None => {
                places.push(joined.len());
                lengths.push(piece.len_ns());
                joined.push(piece);
            }
        }
    }
    let mut at_ns = start_ns.unwrap_or(0);
    for (piece, len_ns) in joined[from..].iter_mut().zip(lengths) {
        piece.move_to(at_ns, at_ns + len_ns);
        at_ns += len_ns;
    }
}
