//! The marks above a lane: named instants and stretches, and arrows where the thread was woken.

use preemptlab_analysis::wakeup::name;

use super::geometry::{CELL, CELLS, LEFT, PLOT, x};
use crate::{
    lanes::{
        LaneMark,
        cells::cell_of,
        place::{Gap, Label, joined, place},
        rows::Row,
    },
    svg::{SMALL_CHAR, coordinate, width_of},
    timeline::seconds,
    xml::escape,
};

/// A line of labels, and how many there are at most.
const LINE: f64 = 13.0;
const LINES: usize = 3;

/// Distances between labels.
const GAP: Gap = Gap { to_mark: 6, to_text: 5 };

/// Returns the marks of a lane that begins at `top`, and the distance of its bar below that.
pub fn marks(row: &Row<'_>, woken: &[u64], end_ns: u64, top: f64) -> (String, f64) {
    let at = |ns: u64| x(ns, end_ns);
    let whole = |ns: u64| cell_of(ns, end_ns, CELLS) as i64 * CELL as i64;
    let (instants, stretches): (Vec<&LaneMark<'_>>, Vec<_>) =
        row.marks.iter().partition(|mark| mark.end_ns.is_none());
    let named = joined(instants.iter().map(|mark| (whole(mark.start_ns), name(mark.label))));
    let label = |(x, text): &(i64, String)| Label {
        x: *x,
        width: width_of(text, SMALL_CHAR).ceil() as i64,
    };
    let labels: Vec<Label> = named.iter().map(label).collect();
    let in_the_way: Vec<i64> = woken.iter().map(|ns| whole(*ns)).collect();
    let placed = place(&labels, &in_the_way, PLOT as i64, GAP, LINES);
    let lines = placed.iter().flatten().map(|it| it.line + 1).max().unwrap_or(0);
    let lines = lines.max(usize::from(!woken.is_empty() || !instants.is_empty()));
    let stretch_lines = lines_of(&stretches);
    let stretch_count = stretch_lines.iter().flatten().map(|line| line + 1).max().unwrap_or(0);
    let above = (lines + stretch_count) as f64 * LINE + if lines > 0 { 2.0 } else { 0.0 };
    let y = top + above;
    // The top of a line of labels.
    let top_of = |line: usize| y + 1.0 - LINE * (line + 1) as f64;

    let mut svg = String::new();
    for mark in &instants {
        let place = labels.iter().position(|label| label.x == whole(mark.start_ns));
        let line = place.and_then(|place| placed[place]).map_or(0, |it| it.line);
        svg += &format!(
            "<g><title>{} at {}</title><path class=\"mark dashed\" d=\"M{} {}V{}\"/></g>\n",
            escape(&name(mark.label)),
            seconds(mark.start_ns),
            coordinate(at(mark.start_ns)),
            coordinate(top_of(line)),
            coordinate(y)
        );
    }
    for ((x, text), placed) in named.iter().zip(placed) {
        let Some(placed) = placed else { continue };
        let (class, start) = match placed.start < *x {
            true => (" end", x - GAP.to_mark),
            false => ("", x + GAP.to_mark),
        };
        svg += &format!(
            "<text class=\"small over{class}\" x=\"{}\" y=\"{}\">{}</text>\n",
            coordinate(LEFT + start as f64),
            coordinate(top_of(placed.line) + LINE - 5.0),
            escape(text)
        );
    }
    for (mark, line) in stretches.iter().zip(stretch_lines) {
        let Some(line) = line else { continue };
        let middle = y - lines as f64 * LINE - (line as f64 + 0.5) * LINE - 2.0;
        svg += &stretch(mark, at(mark.start_ns), at(mark.end_ns.unwrap_or(0)), middle);
    }
    svg += &arrows(woken, end_ns, y);
    (svg + "\n", above)
}

/// Draws a named stretch, from edge to edge, with its name where it has room.
fn stretch(mark: &LaneMark<'_>, from: f64, to: f64, y: f64) -> String {
    let to = to.max(from + 1.0);
    let words = name(mark.label);
    let (left, right) = (from + 0.5, (to - 0.5).max(from + 0.5));
    let middle = from.midpoint(to);
    let room = width_of(&words, SMALL_CHAR) / 2.0 + 2.0;
    let has_text = room + 4.0 <= middle - from;
    // The line leaves its name free.
    let lines = if has_text {
        vec![(left, middle - room), (middle + room, right)]
    } else {
        vec![(left, right)]
    };
    let lines = lines
        .into_iter()
        .map(|(from, to)| format!("M{} {}H{}", coordinate(from), coordinate(y), coordinate(to)));
    let ends = [left, right].map(|x| format!("M{} {}v6", coordinate(x), coordinate(y - 3.0)));
    let mut svg = format!(
        "<g><title>{}, from {} to {}</title><path class=\"line\" d=\"{}\"/>",
        escape(&words),
        seconds(mark.start_ns),
        seconds(mark.end_ns.unwrap_or(mark.start_ns)),
        ends.into_iter().chain(lines).collect::<String>()
    );
    if has_text {
        svg += &format!(
            "<text class=\"small middle\" x=\"{}\" y=\"{}\">{}</text>",
            coordinate(middle),
            coordinate(y + 3.5),
            escape(&words)
        );
    }
    svg + "</g>\n"
}

/// Returns the line of each stretch: the first in which no other one is at that time.
fn lines_of(stretches: &[&LaneMark<'_>]) -> Vec<Option<usize>> {
    let mut taken: Vec<Vec<(u64, u64)>> = vec![Vec::new(); LINES];
    let lines = stretches.iter().map(|mark| {
        let (from, to) = (mark.start_ns, mark.end_ns.unwrap_or(0).max(mark.start_ns));
        let is_free =
            |line: &Vec<(u64, u64)>| line.iter().all(|(start, end)| to <= *start || from >= *end);
        let line = taken.iter().position(is_free)?;
        taken[line].push((from, to));
        Some(line)
    });
    lines.collect()
}

/// Draws the arrows of a lane's wakeups, down to its bar.
fn arrows(woken: &[u64], end_ns: u64, y: f64) -> String {
    let arrows = woken.iter().map(|ns| {
        let title = format!("woken at {}", seconds(*ns));
        format!("<g><title>{title}</title>{}</g>", arrow(x(*ns, end_ns), y))
    });
    arrows.collect()
}

/// Draws an arrow down to a bar.
pub fn arrow(x: f64, y: f64) -> String {
    let (x, top) = (coordinate(x), coordinate(y - 12.0));
    format!(
        "<path class=\"mark\" d=\"M{x} {top}v6\"/><path class=\"head\" d=\"M{x} {}l-3.5 -6h7z\"/>",
        coordinate(y)
    )
}
