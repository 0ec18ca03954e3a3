//! A bar of characters, drawn to scale.

use std::collections::BTreeMap;

use preemptlab_analysis::wakeup::Piece;
use preemptlab_trace::Cause;

use super::cause;

/// Part of a column that each cause covers, in nanoseconds times the number of columns.
type Column = BTreeMap<Option<Cause>, i128>;

/// Returns the cause that each of `width` columns shows; nothing when the pieces have no length.
///
/// A column shows a cause that occurs in it, and of several the one with the largest debt: the part
/// of a cause that a column does not show is carried on, so that many short pieces are shown as
/// often as their sum asks for. A cause that would get no column at all gets the one of which it
/// has the largest part, unless that is another's only one.
pub fn columns(pieces: &[Piece], width: usize) -> Vec<Option<Cause>> {
    let whole: i128 = pieces.iter().map(|piece| i128::from(piece.len_ns())).sum();
    if whole == 0 {
        return Vec::new();
    }
    let parts = parts(pieces, width, whole);
    let mut owed: Column = BTreeMap::new();
    let mut columns: Vec<Option<Cause>> = Vec::with_capacity(width);
    for part in &parts {
        for (cause, length) in part {
            *owed.entry(*cause).or_default() += length;
        }
        let shown = part.iter().max_by_key(|(cause, length)| (owed[*cause], **length));
        let shown = shown.and_then(|(cause, _)| *cause);
        *owed.entry(shown).or_default() -= whole;
        columns.push(shown);
    }
    for cause in owed.into_keys() {
        show(cause, &parts, &mut columns);
    }
    columns
}

/// Returns the parts of each column.
fn parts(pieces: &[Piece], width: usize, whole: i128) -> Vec<Column> {
    let mut parts = vec![Column::new(); width];
    // A column is `whole` wide, and a nanosecond as wide as there are columns.
    let mut at = 0_i128;
    for piece in pieces {
        let end = at + i128::from(piece.len_ns()) * width as i128;
        while at < end {
            let index = at / whole;
            let edge = end.min((index + 1) * whole);
            *parts[index as usize].entry(piece.cause()).or_default() += edge - at;
            at = edge;
        }
    }
    parts
}

fn show(cause: Option<Cause>, parts: &[Column], columns: &mut [Option<Cause>]) {
    if columns.contains(&cause) {
        return;
    }
    let count = |cause| columns.iter().filter(|column| **column == cause).count();
    let best = (0..columns.len())
        .filter(|index| parts[*index].contains_key(&cause) && count(columns[*index]) > 1)
        .max_by_key(|index| (parts[*index][&cause], std::cmp::Reverse(*index)));
    if let Some(index) = best {
        columns[index] = cause;
    }
}

/// Draws the bar, with colours if they are wanted.
pub fn bar(pieces: &[Piece], width: usize, color: bool) -> String {
    let columns = columns(pieces, width);
    let stretches = columns.chunk_by(|left, right| left == right).map(|stretch| {
        let glyphs = cause::glyph(stretch[0]).to_string().repeat(stretch.len());
        paint(stretch[0], &glyphs, color)
    });
    stretches.collect()
}

/// Returns a text in a cause's colours.
pub fn paint(cause: Option<Cause>, text: &str, color: bool) -> String {
    let style = if color { cause::ansi(cause) } else { anstyle::Style::new() };
    format!("{style}{text}{style:#}")
}

#[cfg(test)]
mod tests {
    use preemptlab_trace::Segment;

    use super::*;

    fn drawn(lengths: &[(Cause, u64)], width: usize) -> String {
        let mut end_ns = 0;
        let segments: Vec<Segment> = lengths
            .iter()
            .map(|(cause, ns)| {
                end_ns += ns;
                Segment {
                    start_ns: end_ns - ns,
                    end_ns,
                    cause: *cause,
                    cpu: None,
                    other_cpu: None,
                    function: None,
                    callers: Vec::new(),
                    comm: String::new(),
                    pid: 0,
                    context: String::new(),
                    since_ns: None,
                    folded: None,
                }
            })
            .collect();
        let pieces = segments.iter().map(|segment| Piece {
            start_ns: segment.start_ns,
            end_ns: segment.end_ns,
            segment: Some(segment),
        });
        bar(&pieces.collect::<Vec<_>>(), width, false)
    }

    #[test]
    fn columns_are_to_scale() {
        use Cause::{HardIrq, NotPreemptible, Return};
        assert_eq!(
            drawn(&[(HardIrq, 200), (NotPreemptible, 700), (Return, 100)], 10),
            "hhnnnnnnn>"
        );
    }

    #[test]
    fn many_short_pieces_are_as_long_as_their_sum() {
        use Cause::{FairShare, IrqsOff};
        // A thousand times 3 ns and 1 ns: a quarter of forty columns.
        let pieces = [(FairShare, 3), (IrqsOff, 1)].repeat(1000);
        let bar = drawn(&pieces, 40);
        assert_eq!(bar.matches('d').count(), 10, "{bar}");
        assert_eq!(bar.matches('f').count(), 30, "{bar}");
        assert!(!bar.contains("fffff") && !bar.contains("dd"), "{bar}");
    }

    #[test]
    fn a_cause_is_shown_where_it_was_and_only_there() {
        use Cause::{NotPreemptible, Return, Softirq};
        assert_eq!(
            drawn(&[(NotPreemptible, 500), (Softirq, 1), (NotPreemptible, 490), (Return, 9)], 10),
            "nnnnnsnnn>"
        );
    }

    #[test]
    fn fewer_columns_than_causes_show_the_longest() {
        use Cause::{HardIrq, NotPreemptible, Return};
        assert_eq!(drawn(&[(HardIrq, 1), (NotPreemptible, 98), (Return, 1)], 1), "n");
        assert_eq!(drawn(&[], 10), "");
        assert_eq!(drawn(&[(HardIrq, 0)], 10), "");
    }
}
