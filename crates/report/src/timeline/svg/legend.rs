//! The meaning of the colours and marks of a picture.

use std::collections::BTreeSet;

use preemptlab_analysis::wakeup::{is_imagined, pieces};

use super::{
    geometry::{LEFT, WIDTH, coordinate},
    lane::{Lane, Mark, mark},
    style::{fill, ink},
    xml::escape,
};
use crate::timeline::cause::{all, glyph, words};

const COLUMNS: usize = 6;
const ROW: f64 = 20.0;

/// Returns the legend of the causes that the lanes have, and its height.
pub fn legend(lanes: &[Lane], top: f64) -> (String, f64) {
    let pieces = lanes.iter().flat_map(|lane| pieces(lane.timeline));
    let occurring: BTreeSet<_> = pieces.map(|piece| piece.cause()).collect();
    let causes = all().filter(|cause| occurring.contains(cause)).map(|cause| {
        let glyph = glyph(cause).to_string();
        let swatch = move |x: f64, y: f64| {
            format!(
                "<rect {} x=\"{}\" y=\"{}\" width=\"18\" height=\"13\"/><text class=\"code middle \
                 {}\" x=\"{}\" y=\"{}\">{}</text>",
                fill(cause),
                coordinate(x),
                coordinate(y - 10.5),
                ink(cause),
                coordinate(x + 9.0),
                coordinate(y - 0.5),
                escape(&glyph)
            )
        };
        (Box::new(swatch) as Box<dyn Fn(f64, f64) -> String>, words(cause))
    });
    let has_marks = lanes.iter().any(|lane| !is_imagined(lane.timeline));
    let marks = Mark::ALL.into_iter().filter(|_| has_marks).map(|kind| {
        let symbol = move |x: f64, y: f64| mark(kind, x + 9.0, y - 4.0);
        (Box::new(symbol) as Box<dyn Fn(f64, f64) -> String>, kind.words())
    });
    let mut svg = String::new();
    let mut rows = 0;
    for (index, (symbol, words)) in causes.chain(marks).enumerate() {
        let x = LEFT + (index % COLUMNS) as f64 * (WIDTH - 2.0 * LEFT) / COLUMNS as f64;
        rows = index / COLUMNS + 1;
        let y = top + (rows - 1) as f64 * ROW + 12.0;
        svg += &format!(
            "{}<text x=\"{}\" y=\"{}\">{words}</text>\n",
            symbol(x, y),
            coordinate(x + 24.0),
            coordinate(y)
        );
    }
    (svg, rows as f64 * ROW)
}
