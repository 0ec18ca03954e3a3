//! The meaning of colours and marks.

use super::geometry::{TEXT_CHAR, coordinate, width_of};

const ROW: f64 = 21.0;

/// Width of a symbol, with the room to its words.
pub const SWATCH: f64 = 24.0;

/// An entry of a legend.
pub struct Entry<S> {
    /// Draws the symbol around a point.
    pub symbol: S,
    /// Meaning of the symbol.
    pub words: &'static str,
}

/// Returns a legend between two edges, and its height.
pub fn legend<S: Fn(f64, f64) -> String>(
    entries: impl Iterator<Item = Entry<S>>,
    [left, right]: [f64; 2],
    top: f64,
) -> (String, f64) {
    let mut svg = String::new();
    let (mut x, mut y) = (left, top + 12.0);
    for Entry { symbol, words } in entries {
        let width = SWATCH + 4.0 + width_of(words, TEXT_CHAR) + 16.0;
        if x + width > right + 16.0 {
            (x, y) = (left, y + ROW);
        }
        svg += &format!(
            "{}<text x=\"{}\" y=\"{}\">{words}</text>\n",
            symbol(x + SWATCH / 2.0 - 3.0, y - 4.0),
            coordinate(x + SWATCH),
            coordinate(y)
        );
        x += width;
    }
    (svg, y - top + 4.0)
}
