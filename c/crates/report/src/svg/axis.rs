//! The axis of time below lanes.

use super::geometry::coordinate;

/// Draws an axis of virtual time from one edge to the other, with marks at these places and a caption.
pub fn time_axis(
    [left, right]: [f64; 2],
    y: f64,
    marks: impl Iterator<Item = (f64, String)>,
    caption: &str,
) -> String {
    let (from, to, at) = (coordinate(left), coordinate(right), coordinate(y));
    let mut svg = format!("<path class=\"line\" d=\"M{from} {at}H{to}\"/>\n");
    for (x, label) in marks {
        let x = coordinate(x);
        svg += &format!(
            "<path class=\"line\" d=\"M{x} {at}v5\"/><text class=\"small middle\" x=\"{x}\" \
             y=\"{}\">{label}</text>\n",
            coordinate(y + 17.0)
        );
    }
    svg + &format!(
        "<text class=\"small faint middle\" x=\"{}\" y=\"{}\">{caption}</text>\n",
        coordinate(left.midpoint(right)),
        coordinate(y + 33.0)
    )
}

/// Draws the lines of an axis behind lanes.
pub fn grid(marks: impl Iterator<Item = f64>, top: f64, bottom: f64) -> String {
    let lines = marks.map(|x| {
        let (x, top, bottom) = (coordinate(x), coordinate(top), coordinate(bottom));
        format!("<path class=\"grid\" d=\"M{x} {top}V{bottom}\"/>")
    });
    format!("<g>{}</g>\n", lines.collect::<String>())
}
