//! The pieces that can be drawn alone, and those that are too narrow for it.

use preemptlab_analysis::wakeup::Piece;

use super::geometry::Scale;

/// A narrower piece is drawn together with narrow neighbours.
const NARROW: f64 = 1.5;

/// Least width of narrow neighbours together, if there are enough of them.
const TOGETHER: f64 = 3.0;

/// Pieces that are drawn as one: a wide piece alone, or narrow neighbours. There are never more
/// than a picture has room for, however many pieces there are.
pub fn blocks<'a>(pieces: &'a [Piece<'a>], scale: Scale) -> Vec<&'a [Piece<'a>]> {
    let is_wide = |piece: &Piece| scale.width(piece.len_ns()) >= NARROW;
    let mut blocks = Vec::new();
    let mut rest = pieces;
    while let Some(first) = rest.first() {
        let is_in = |piece: &&Piece| {
            !is_wide(piece) && scale.width(piece.start_ns - first.start_ns) < TOGETHER
        };
        let count = rest.iter().take_while(is_in).count().max(1);
        let (block, others) = rest.split_at(count);
        blocks.push(block);
        rest = others;
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(lengths: &[u64]) -> Vec<usize> {
        let mut end_ns = 0;
        let piece = |ns: &u64| {
            end_ns += ns;
            Piece { start_ns: end_ns - ns, end_ns, segment: None }
        };
        let pieces: Vec<Piece> = lengths.iter().map(piece).collect();
        // A unit of the picture is 10 ns.
        let blocks = blocks(&pieces, Scale::new(Some(9_700)));
        blocks.into_iter().map(<[Piece]>::len).collect()
    }

    #[test]
    fn narrow_neighbours_are_drawn_together() {
        assert_eq!(sizes(&[100, 10, 10, 100, 10, 100]), [1, 2, 1, 1, 1]);
        assert_eq!(sizes(&[10; 8]), [3, 3, 2]);
        assert!(sizes(&[]).is_empty());
    }
}
