//! The meaning of the colours and marks of a picture.

use std::collections::BTreeSet;

use preemptlab_analysis::wakeup::{is_imagined, pieces};

use super::{
    geometry::LEFT,
    lane::{Lane, Mark, mark},
    style::{fill, ink},
};
use crate::{
    svg::{self, Entry, LANES_WIDTH, coordinate},
    timeline::cause::{all, glyph, words},
    xml::escape,
};

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
                coordinate(x - 9.0),
                coordinate(y - 6.5),
                ink(cause),
                coordinate(x),
                coordinate(y + 3.5),
                escape(&glyph)
            )
        };
        Entry { symbol: Box::new(swatch) as Box<dyn Fn(f64, f64) -> String>, words: words(cause) }
    });
    let has_marks = lanes.iter().any(|lane| !is_imagined(lane.timeline));
    let marks = Mark::ALL.into_iter().filter(|_| has_marks).map(|kind| Entry {
        symbol: Box::new(move |x: f64, y: f64| mark(kind, x, y)) as Box<dyn Fn(f64, f64) -> String>,
        words: kind.words(),
    });
    svg::legend(causes.chain(marks), [LEFT, LANES_WIDTH - LEFT], top)
}
