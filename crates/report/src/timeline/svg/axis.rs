//! The axis of time.

use super::geometry::{LEFT, PLOT, Scale, coordinate};
use crate::timeline::ticks::Ticks;

/// Largest number of steps of an axis.
const STEPS_MAX: u64 = 12;

/// Draws the axis below all lanes.
pub fn axis(scale: Scale, y: f64) -> String {
    let mut svg = line("line", [LEFT, y], [LEFT + PLOT, y]);
    for (ns, label) in marks(scale) {
        let x = scale.x(ns);
        svg += &line("line", [x, y], [x, y + 5.0]);
        svg += &format!(
            "<text class=\"small middle\" x=\"{}\" y=\"{}\">{label}</text>\n",
            coordinate(x),
            coordinate(y + 17.0)
        );
    }
    let middle = LEFT + PLOT / 2.0;
    let below = coordinate(y + 34.0);
    svg += &format!(
        "<text class=\"small faint middle\" x=\"{middle}\" y=\"{below}\">virtual time since the \
         task was due, in us</text>\n"
    );
    svg
}

/// Draws the lines of the axis behind a lane.
pub fn grid(scale: Scale, top: f64, bottom: f64) -> String {
    marks(scale).map(|(ns, _)| line("grid", [scale.x(ns), top], [scale.x(ns), bottom])).collect()
}

fn marks(scale: Scale) -> impl Iterator<Item = (u64, String)> {
    Ticks::new(scale.end_ns, STEPS_MAX).marks()
}

fn line(class: &str, from: [f64; 2], to: [f64; 2]) -> String {
    let [x1, y1] = from.map(coordinate);
    let [x2, y2] = to.map(coordinate);
    format!("<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>\n")
}
