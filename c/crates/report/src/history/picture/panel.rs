//! One panel: its heading, its grid, its lines, and their labels.

use preemptlab_model::Direction;
use preemptlab_stats::{History, HistoryPanel};

use super::{
    chart::Axis,
    geometry::{BODY, DODGE, HEAD, LABEL, LEFT, PLOT},
    labels::apart,
    lines::{Line, Value, is_relative, lines},
    scale::Scale,
};
use crate::{
    svg::{SMALL_CHAR, VALUES_WIDTH as WIDTH, coordinate, fitting},
    xml::escape,
};

/// A drawn panel.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// Elements of the picture.
    pub svg: String,
    /// The panel in words.
    pub words: String,
    /// Lower edge of the panel.
    pub bottom: f64,
}

/// Draws a panel that begins at `top`.
pub fn panel(history: &History, panel: &HistoryPanel, axis: &Axis, top: f64) -> Drawn {
    let lines = lines(history, panel);
    let values = || lines.iter().flat_map(|line| &line.values);
    let shown = values().flat_map(|value| [value.median, value.range[0], value.range[1]]);
    let scale = Scale::new(shown, is_relative(panel));
    let bottom = top + HEAD + BODY;
    let mut svg = format!(
        "<text class=\"strong\" x=\"16\" y=\"{}\">{}</text>\n",
        coordinate(top + 16.0),
        escape(&fitting(&heading(panel, scale), 7.2, WIDTH - 32.0))
    );
    svg += &grid(axis, scale, bottom);
    let x = |index: usize, value: &Value| {
        let place = axis.places[value.kernel];
        axis.x(place) + (index as f64 - (lines.len() as f64 - 1.0) / 2.0) * dodge(axis, lines.len())
    };
    let y = |value: f64| bottom - scale.above(value);
    let labelled = ends(&lines, axis, top + HEAD, bottom, &y);
    for (index, line) in lines.iter().enumerate() {
        let at = |value: &Value| [x(index, value), y(value.median)];
        svg += &drawn(line, &at, &y);
    }
    // Above all lines.
    for ((index, line), label) in lines.iter().enumerate().zip(labelled) {
        let Some(end) = line.values.last() else { continue };
        // The labels of a kernel stand under each other, to the right of all points.
        let room = (lines.len() as f64 - 1.0) / 2.0 * dodge(axis, lines.len()) + 14.0;
        let from = axis.x(axis.places[end.kernel]) + room;
        svg += &named(line, [x(index, end), y(end.median)], [from, label]);
    }
    Drawn { svg, words: in_words(panel, &lines), bottom }
}

/// Returns the distance between neighbouring lines: less where there are many kernels.
fn dodge(axis: &Axis, lines: usize) -> f64 {
    DODGE.min(axis.step() * 0.5 / lines.max(1) as f64)
}

fn heading(panel: &HistoryPanel, scale: Scale) -> String {
    let better = match panel.better {
        Direction::Higher => "higher is better",
        Direction::Lower => "lower is better",
    };
    let of = match is_relative(panel) {
        true => "relative to the first kernel of the line".to_owned(),
        false => panel.unit.clone(),
    };
    let log = if scale.is_log() { ", logarithmic" } else { "" };
    format!("{}, {of}{log} ({better})", panel.title)
}

fn grid(axis: &Axis, scale: Scale, bottom: f64) -> String {
    let mut svg = String::new();
    for place in 0..axis.series.len() {
        let (x, top) = (coordinate(axis.x(place)), coordinate(bottom - BODY));
        svg += &format!("<path class=\"grid\" d=\"M{x} {top}V{}\"/>", coordinate(bottom));
    }
    for (value, name) in scale.marks() {
        let y = bottom - scale.above(value);
        svg += &format!(
            "<path class=\"grid\" d=\"M{} {}h{PLOT}\"/><text class=\"small faint end\" x=\"{}\" \
             y=\"{}\">{name}</text>",
            coordinate(LEFT),
            coordinate(y),
            coordinate(LEFT - 6.0),
            coordinate(y + 3.5)
        );
    }
    svg + "\n"
}

/// Returns the height of each line's label. Those of lines that end at one kernel stand apart, and
/// where other lines continue, above or below these if there is room.
fn ends(lines: &[Line], axis: &Axis, top: f64, bottom: f64, y: &impl Fn(f64) -> f64) -> Vec<f64> {
    let place = |value: &Value| axis.places[value.kernel];
    let end = |line: &Line| line.values.last().map(place);
    let mut heights = vec![0.0; lines.len()];
    for at in 0..axis.series.len() {
        let here: Vec<usize> =
            (0..lines.len()).filter(|line| end(&lines[*line]) == Some(at)).collect();
        let ends = here.iter().filter_map(|line| lines[*line].values.last());
        let ends: Vec<f64> = ends.map(|value| y(value.median)).collect();
        let first = top + LABEL / 2.0;
        let mut found = apart(&ends, first, bottom);
        let beside = lines.iter().flat_map(|line| &line.values);
        let beside = beside.filter(|value| (at..=at + 1).contains(&place(value)));
        let beside: Vec<f64> = beside.map(|value| y(value.median)).collect();
        if lines.iter().any(|line| end(line) > Some(at)) {
            let highest = found.iter().copied().fold(f64::MAX, f64::min);
            let lowest = found.iter().copied().fold(f64::MIN, f64::max);
            let up = beside.iter().copied().fold(f64::MAX, f64::min) - LABEL - lowest;
            let down = beside.iter().copied().fold(f64::MIN, f64::max) + LABEL - highest;
            let is_near = |shift: f64| shift.abs() <= 3.0 * LABEL;
            let shift = if is_near(up) && highest + up >= first {
                up
            } else if is_near(down) && lowest + down <= bottom {
                down
            } else {
                0.0
            };
            found.iter_mut().for_each(|height| *height += shift);
        }
        for (line, height) in here.into_iter().zip(found) {
            heights[line] = height;
        }
    }
    heights
}

/// Draws a line with its bars, points and rings.
fn drawn(line: &Line, at: &impl Fn(&Value) -> [f64; 2], y: &impl Fn(f64) -> f64) -> String {
    let mode = line.preempt;
    let dashed = if line.is_dashed { " dashed" } else { "" };
    let points: Vec<[f64; 2]> = line.values.iter().map(at).collect();
    let path: Vec<String> =
        points.iter().map(|[x, y]| format!("{} {}", coordinate(*x), coordinate(*y))).collect();
    let mut svg =
        format!("<g class=\"{mode}\"><path class=\"line{dashed}\" d=\"M{}\"/>", path.join("L"));
    for (value, [x, middle]) in line.values.iter().zip(points) {
        let [low, high] = value.range.map(y).map(coordinate);
        let [x, middle] = [x, middle].map(coordinate);
        svg += &format!(
            "<g><title>{}</title><path class=\"bar\" d=\"M{x} {low}V{high}\"/><circle \
             class=\"point{dashed}\" cx=\"{x}\" cy=\"{middle}\" r=\"3\"/>",
            escape(&value.words)
        );
        if value.is_change {
            svg += &format!("<circle class=\"ring\" cx=\"{x}\" cy=\"{middle}\" r=\"6.5\"/>");
        }
        svg += "</g>";
    }
    svg + "</g>\n"
}

/// Draws the label at the end of a line.
fn named(line: &Line, [x, y]: [f64; 2], [from, label]: [f64; 2]) -> String {
    // A label that does not stand at its end has a line to it.
    let leader = match (label - y).abs() > 4.0 || from - x > 20.0 {
        true => format!(
            "<path class=\"leader\" d=\"M{} {}L{} {}\"/>",
            coordinate(x + 5.0),
            coordinate(y),
            coordinate(from - 2.0),
            coordinate(label)
        ),
        false => String::new(),
    };
    format!(
        "<g class=\"{}\">{leader}<text class=\"over\" x=\"{}\" y=\"{}\">{}</text></g>\n",
        line.preempt,
        coordinate(from),
        coordinate(label + 4.0),
        escape(&fitting(&line.name, SMALL_CHAR + 0.4, WIDTH - from))
    )
}

fn in_words(panel: &HistoryPanel, lines: &[Line]) -> String {
    let lines = lines.iter().map(|line| {
        let values: Vec<&str> = line.values.iter().map(|value| value.words.as_str()).collect();
        values.join(", ")
    });
    format!("{}: {}.", panel.title, lines.collect::<Vec<_>>().join("; "))
}
