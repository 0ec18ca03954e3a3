//! What a table of a timeline lists: its segments, or the turns of tasks when segments are too many
//! to be read.

use preemptlab_trace::Cause;

use super::{
    pieces::{Piece, causes},
    turns::{Turn, turns},
};

/// How many rows are listed at most.
const ROWS_MAX: usize = 40;

/// A segment that is shorter, and less than a hundredth of the whole, is not listed. The turn of a
/// task is not if it is less than a hundredth.
const SHORT_NS: u64 = 500;

/// What is listed, in order, and what is not.
pub struct Listed<T> {
    /// The rows.
    pub rows: Vec<T>,
    /// The others.
    pub others: Others,
}

/// What is not listed one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Others {
    /// How many.
    pub count: usize,
    /// How long they are together.
    pub sum_ns: u64,
    /// How long the longest is.
    pub max_ns: u64,
}

/// The rows of a timeline.
pub enum Rows<'a> {
    /// A row per segment.
    Segments(Listed<Piece<'a>>),
    /// A row per turn of a task.
    Turns(Listed<Turn<'a>>),
}

/// The rows of pieces. Where segments are many and the main cause is that other tasks ran, the
/// question is which ones; otherwise the longest segments are listed.
pub fn rows<'a>(pieces: &'a [Piece<'a>]) -> Rows<'a> {
    let whole_ns: u64 = pieces.iter().map(Piece::len_ns).sum();
    let long = pieces.iter().filter(|piece| !is_short(piece.len_ns(), whole_ns)).count();
    let main = causes(pieces).first().and_then(|(cause, _)| *cause);
    if long > ROWS_MAX && main == Some(Cause::OtherTask) {
        let is_short = |ns| is_small(ns, whole_ns);
        return Rows::Turns(list(turns(pieces).collect(), Turn::len_ns, is_short));
    }
    Rows::Segments(list(pieces.to_vec(), Piece::len_ns, |ns| is_short(ns, whole_ns)))
}

fn is_short(ns: u64, whole_ns: u64) -> bool {
    ns < SHORT_NS && is_small(ns, whole_ns)
}

fn is_small(ns: u64, whole_ns: u64) -> bool {
    u128::from(ns) * 100 < u128::from(whole_ns)
}

/// Leaves out what is short, and of too many rows the shortest ones.
fn list<T>(all: Vec<T>, len_ns: impl Fn(&T) -> u64, is_short: impl Fn(u64) -> bool) -> Listed<T> {
    let mut order: Vec<usize> =
        (0..all.len()).filter(|index| !is_short(len_ns(&all[*index]))).collect();
    order.sort_by_key(|index| std::cmp::Reverse(len_ns(&all[*index])));
    order.truncate(ROWS_MAX);
    // A row for one other says less than the other itself.
    let mut is_listed = vec![all.len() <= order.len() + 1; all.len()];
    for index in order {
        is_listed[index] = true;
    }
    let mut listed = Listed { rows: Vec::new(), others: Others::default() };
    for (row, is_listed) in all.into_iter().zip(is_listed) {
        if is_listed {
            listed.rows.push(row);
        } else {
            listed.others.count += 1;
            listed.others.sum_ns += len_ns(&row);
            listed.others.max_ns = listed.others.max_ns.max(len_ns(&row));
        }
    }
    listed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(lengths: &[u64]) -> (Vec<u64>, Others) {
        let whole_ns = lengths.iter().sum();
        let listed = list(lengths.to_vec(), |ns| *ns, |ns| is_short(ns, whole_ns));
        (listed.rows, listed.others)
    }

    #[test]
    fn short_rows_are_summed() {
        let (rows, others) = listed(&[40_000, 300, 9_000, 499, 500]);
        assert_eq!(rows, [40_000, 9_000, 500]);
        assert_eq!(others, Others { count: 2, sum_ns: 799, max_ns: 499 });
        // 300 ns are more than a hundredth here.
        assert_eq!(listed(&[20_000, 300, 100, 100]).0, [20_000, 300]);
    }

    #[test]
    fn a_single_other_is_listed() {
        assert_eq!(listed(&[40_000, 300, 9_000]), (vec![40_000, 300, 9_000], Others::default()));
        assert_eq!(listed(&[]), (Vec::new(), Others::default()));
    }

    #[test]
    fn of_many_rows_the_longest_are_listed_in_order() {
        let lengths: Vec<u64> = (0..100).map(|index| 1000 + (index * 37) % 100).collect();
        let (rows, others) = listed(&lengths);
        assert_eq!(rows.len(), ROWS_MAX);
        assert!(rows.iter().all(|ns| *ns >= 1060), "{rows:?}");
        assert_eq!(others.count, 60);
        assert_eq!(rows.iter().sum::<u64>() + others.sum_ns, lengths.iter().sum::<u64>());
    }
}
