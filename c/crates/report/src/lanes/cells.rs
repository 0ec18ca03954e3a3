//! A lane as a row of cells of equal length.

use std::{cmp::Reverse, collections::BTreeMap};

use super::{look::Look, span::Span};

/// Content of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    pub look: Look,
    /// The span of this look that has the largest part in the cell; `None` where nothing is.
    pub span: Option<usize>,
}

/// Returns the cells of spans that follow each other, on an axis of `end_ns`.
///
/// A cell shows a look that occurs in it, and of several looks the one with the largest debt: the
/// part of a look that a cell does not show is carried on. So short spans are shown in proportion
/// to their sum. A span that no cell would show gets one cell of a neighbour that has others, the
/// longest first; so a short one is seen, and hides no longer one.
pub fn cells(spans: &[Span], end_ns: u64, width: usize) -> Vec<Cell> {
    let parts = parts(spans, end_ns, width);
    let mut owed: BTreeMap<Look, i128> = BTreeMap::new();
    let mut cells = Vec::with_capacity(width);
    for part in &parts {
        let mut looks: BTreeMap<Look, i128> = BTreeMap::new();
        for (index, length) in part {
            *looks.entry(spans[*index].look).or_default() += *length;
        }
        let covered: i128 = looks.values().sum();
        *looks.entry(Look::Nothing).or_default() += i128::from(end_ns) - covered;
        for (look, length) in &looks {
            *owed.entry(*look).or_default() += length;
        }
        let occurring = looks.iter().filter(|(_, length)| **length > 0);
        let shown = occurring.max_by_key(|(look, length)| (owed[*look], **length));
        let look = shown.map_or(Look::Nothing, |(look, _)| *look);
        *owed.entry(look).or_default() -= i128::from(end_ns);
        let of_look = part.iter().filter(|(index, _)| spans[*index].look == look);
        let span = of_look.max_by_key(|(index, length)| (*length, Reverse(*index)));
        cells.push(Cell { look, span: span.map(|(index, _)| *index) });
    }
    let mut counts = vec![0_usize; spans.len()];
    for index in cells.iter().filter_map(|cell: &Cell| cell.span) {
        counts[index] += 1;
    }
    for (index, place) in unseen(spans, &parts, &cells) {
        match cells[place].span {
            Some(owner) if counts[owner] < 2 => continue,
            Some(owner) => counts[owner] -= 1,
            None => {}
        }
        cells[place] = Cell { look: spans[index].look, span: Some(index) };
        counts[index] = 1;
    }
    cells
}

/// Returns the spans that no cell shows, the longest first, each with the cell that it has the
/// largest part of.
fn unseen(spans: &[Span], parts: &[Vec<(usize, i128)>], cells: &[Cell]) -> Vec<(usize, usize)> {
    let mut best: BTreeMap<usize, (i128, usize)> = BTreeMap::new();
    let mut is_seen = vec![false; spans.len()];
    for (place, part) in parts.iter().enumerate() {
        for (index, length) in part {
            is_seen[*index] |= cells[place].look == spans[*index].look;
            let best = best.entry(*index).or_insert((*length, place));
            if *length > best.0 {
                *best = (*length, place);
            }
        }
    }
    let mut unseen: Vec<(usize, usize)> = best
        .into_iter()
        .filter(|(index, _)| !is_seen[*index] && spans[*index].look != Look::Nothing)
        .map(|(index, (_, place))| (index, place))
        .collect();
    unseen.sort_by_key(|(index, _)| (Reverse(spans[*index].len_ns()), *index));
    unseen
}

/// Returns the spans in each cell, with the length of the cell that they cover: a cell is `end_ns`
/// long, and a nanosecond as long as there are cells.
fn parts(spans: &[Span], end_ns: u64, width: usize) -> Vec<Vec<(usize, i128)>> {
    let mut parts = vec![Vec::new(); width];
    let whole = i128::from(end_ns);
    for (index, span) in spans.iter().enumerate() {
        let mut at = i128::from(span.start_ns) * width as i128;
        let end = i128::from(span.end_ns.min(end_ns)) * width as i128;
        while at < end {
            let cell = at / whole;
            let edge = end.min((cell + 1) * whole);
            parts[cell as usize].push((index, edge - at));
            at = edge;
        }
    }
    parts
}

/// Returns the cells of spans that are drawn over others: at least one each.
pub fn covered(spans: &[Span], end_ns: u64, width: usize) -> Vec<Option<Look>> {
    let mut covered = vec![None; width];
    for span in spans {
        let place = |ns: u64| cell_of(ns, end_ns, width);
        // Cells of which it covers half.
        let half_ns = end_ns / width as u64 / 2;
        let from_ns = span.start_ns.saturating_add(half_ns);
        let to_ns = span.end_ns.saturating_sub(half_ns + 1);
        let (first, last) = if from_ns <= to_ns {
            (place(from_ns), place(to_ns))
        } else {
            let middle = place(span.start_ns.midpoint(span.end_ns));
            (middle, middle)
        };
        for cell in &mut covered[first..=last] {
            *cell = (*cell).max(Some(span.look));
        }
    }
    covered
}

/// Returns the cell of an instant; the end of the axis is in the last.
pub fn cell_of(ns: u64, end_ns: u64, width: usize) -> usize {
    let cell = u128::from(ns.min(end_ns)) * width as u128 / u128::from(end_ns);
    (cell as usize).min(width.saturating_sub(1))
}

/// Cells that follow each other and show the same, with their places.
pub fn runs<'a>(cells: &'a [Cell], spans: &'a [Span]) -> impl Iterator<Item = (usize, &'a [Cell])> {
    let what = |cell: &Cell| cell.span.map(|index| spans[index].what.as_str());
    let mut at = 0;
    cells.chunk_by(move |left, right| left.look == right.look && what(left) == what(right)).map(
        move |run| {
            at += run.len();
            (at - run.len(), run)
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(lengths: &[(Look, u64)], end_ns: u64, width: usize) -> String {
        let mut at_ns = 0;
        let spans: Vec<Span> = lengths
            .iter()
            .map(|(look, ns)| {
                at_ns += ns;
                Span { start_ns: at_ns - ns, end_ns: at_ns, look: *look, what: String::new() }
            })
            .collect();
        cells(&spans, end_ns, width).iter().map(|cell| cell.look.glyph()).collect()
    }

    #[test]
    fn cells_are_to_scale() {
        use Look::{Kernel, Sleeping, Waiting};
        assert_eq!(drawn(&[(Sleeping, 30), (Waiting, 20), (Kernel, 10)], 100, 10), "···╱╱▓    ");
        assert_eq!(drawn(&[], 100, 4), "    ");
    }

    #[test]
    fn what_is_short_is_seen_and_hides_nothing() {
        use Look::{Kernel, Sleeping, User, Waiting};
        assert_eq!(drawn(&[(Sleeping, 3000), (Kernel, 1), (User, 2)], 10_000, 10), "···█      ");
        assert_eq!(drawn(&[(Kernel, 505), (Waiting, 10), (Kernel, 485)], 1000, 10), "▓▓▓▓▓╱▓▓▓▓");
        // The one cell of the longer span stays its own.
        assert_eq!(drawn(&[(Sleeping, 70), (User, 30)], 100, 1), "·");
    }

    #[test]
    fn many_short_spans_are_as_long_as_their_sum() {
        use Look::{Sleeping, User};
        let row = drawn(&[(User, 1), (Sleeping, 3)].repeat(1000), 4000, 40);
        assert_eq!(row.matches('█').count(), 10, "{row}");
    }

    #[test]
    fn what_is_drawn_over_has_a_cell_at_least() {
        let span = |start_ns, end_ns| Span {
            start_ns,
            end_ns,
            look: Look::PreemptOff,
            what: String::new(),
        };
        let places = |spans: &[Span]| -> Vec<usize> {
            let covered = covered(spans, 1000, 10);
            (0..10).filter(|place| covered[*place].is_some()).collect()
        };
        assert_eq!(places(&[span(200, 400)]), [2, 3]);
        assert_eq!(places(&[span(510, 511)]), [5]);
        assert_eq!(places(&[span(999, 1000)]), [9]);
        assert_eq!(places(&[span(260, 420)]), [3]);
    }
}
