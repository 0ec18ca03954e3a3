//! The rows of a timeline's table: the pieces in order, or equal pieces together when those are too
//! many to be read.

use preemptlab_analysis::wakeup::{Piece, causes};
use preemptlab_trace::Segment;

use super::{
    stretch::{Part, Stretch, parts, stretches},
    turns::{Turns, alike},
};

/// Largest number of rows; more are too many to be read in order.
const ROWS_MAX: usize = 16;

/// Number of rows from which on a stretch becomes one row, with its parts.
const STRETCH_MIN: usize = 3;

/// Length below which a piece that is less than a hundredth of the whole is left out. Equal pieces
/// are left out if all of them are less than a hundredth.
const SHORT_NS: u64 = 500;

/// Rows of a list in order, and the sum of those that are left out.
pub struct Listed<T> {
    /// Rows of the list.
    pub rows: Vec<T>,
    /// Pieces that are left out.
    pub others: Others,
}

/// Pieces that are not listed one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Others {
    /// Number of rows' worth of them: segments, or kinds of segments.
    pub count: u64,
    /// Total length of the pieces.
    pub sum_ns: u64,
    /// Length of the longest piece.
    pub max_ns: u64,
}

/// The rows of a timeline.
pub enum Rows<'a> {
    /// The steps of the wakeup, in order.
    Steps(Listed<Step<'a>>),
    /// Turns of tasks; alike ones together.
    Turns(Listed<Turns<'a>>),
    /// Pieces; alike ones together.
    Parts(Listed<Part<'a>>),
}

/// Step of a wakeup, as a row.
pub enum Step<'a> {
    /// A single piece.
    Piece(Piece<'a>),
    /// Pieces that one reason holds together.
    Stretch(Stretch<'a>),
}

impl Step<'_> {
    /// Returns its start, in nanoseconds from the due time.
    pub fn start_ns(&self) -> u64 {
        match self {
            Self::Piece(piece) => piece.start_ns,
            Self::Stretch(stretch) => stretch.start_ns(),
        }
    }

    /// Returns its length.
    pub fn len_ns(&self) -> u64 {
        match self {
            Self::Piece(piece) => piece.len_ns(),
            Self::Stretch(stretch) => stretch.len_ns(),
        }
    }

    /// Returns the number of segments that it stands for where it is left out, and the length of the
    /// longest.
    fn others(&self) -> Others {
        let (count, max_ns) = match self {
            Self::Piece(piece) => (piece.count(), piece.max_ns()),
            Self::Stretch(stretch) => (stretch.count(), stretch.len_ns()),
        };
        Others { count, sum_ns: self.len_ns(), max_ns }
    }
}

/// Returns the rows of pieces: the steps in order, if they are few enough to be read, and else
/// equal pieces together. Where the main cause is that other tasks ran, the rows are those tasks.
pub fn rows<'a>(pieces: &'a [Piece<'a>]) -> Rows<'a> {
    let whole_ns: u64 = pieces.iter().map(Piece::len_ns).sum();
    let is_long = |ns| !is_short(ns, whole_ns);
    let steps = steps(pieces, is_long);
    // Where segments of several calls are one piece, neither their order nor the turns are known.
    let has_gaps = pieces.iter().any(Piece::has_gaps);
    if !has_gaps && steps.iter().filter(|step| is_long(step.len_ns())).count() <= ROWS_MAX {
        return Rows::Steps(list(steps, Step::others, |ns| is_short(ns, whole_ns)));
    }
    let is_small = |ns| is_small(ns, whole_ns);
    match causes(pieces).first() {
        Some((Some(cause), _)) if cause.is_decision() && !has_gaps => {
            Rows::Turns(list(alike(pieces), |turns| one_other(turns.sum_ns), is_small))
        }
        _ => Rows::Parts(list(kinds(pieces), |part| one_other(part.sum_ns), is_small)),
    }
}

/// Returns the steps; a stretch is one where it would be many.
fn steps<'a>(pieces: &'a [Piece<'a>], is_long: impl Fn(u64) -> bool) -> Vec<Step<'a>> {
    let steps = stretches(pieces).flat_map(|stretch| {
        let long = stretch.pieces.iter().filter(|piece| is_long(piece.len_ns())).count();
        let steps: Vec<Step<'a>> = match long {
            STRETCH_MIN.. => vec![Step::Stretch(stretch)],
            _ => stretch.pieces.iter().copied().map(Step::Piece).collect(),
        };
        steps
    });
    steps.collect()
}

/// Pieces by cause, function and program.
fn kinds<'a>(pieces: &[Piece<'a>]) -> Vec<Part<'a>> {
    parts(pieces, |piece| {
        let names = |it: &'a Segment| (it.function.as_deref(), it.comm.as_str());
        (piece.cause(), piece.segment.map(names), piece.is_rest())
    })
}

/// Returns the parts of a stretch.
pub fn parts_of<'a>(stretch: &Stretch<'a>, whole_ns: u64) -> Listed<Part<'a>> {
    list(stretch.parts(), |part| one_other(part.sum_ns), |ns| is_short(ns, whole_ns))
}

fn is_short(ns: u64, whole_ns: u64) -> bool {
    ns < SHORT_NS && is_small(ns, whole_ns)
}

fn is_small(ns: u64, whole_ns: u64) -> bool {
    u128::from(ns) * 100 < u128::from(whole_ns)
}

/// Returns a row that counts as one where it is left out.
fn one_other(sum_ns: u64) -> Others {
    Others { count: 1, sum_ns, max_ns: sum_ns }
}

/// Leaves out short rows, and of too many rows the shortest ones.
fn list<T>(all: Vec<T>, other: impl Fn(&T) -> Others, is_short: impl Fn(u64) -> bool) -> Listed<T> {
    let len_ns = |row: &T| other(row).sum_ns;
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
            let Others { count, sum_ns, max_ns } = other(&row);
            listed.others.count += count;
            listed.others.sum_ns += sum_ns;
            listed.others.max_ns = listed.others.max_ns.max(max_ns);
        }
    }
    listed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(lengths: &[u64]) -> (Vec<u64>, Others) {
        let whole_ns = lengths.iter().sum();
        let listed = list(lengths.to_vec(), |ns| one_other(*ns), |ns| is_short(ns, whole_ns));
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
        assert!(rows.iter().all(|ns| *ns >= 1084), "{rows:?}");
        assert_eq!(others.count, 84);
        assert_eq!(rows.iter().sum::<u64>() + others.sum_ns, lengths.iter().sum::<u64>());
    }
}
