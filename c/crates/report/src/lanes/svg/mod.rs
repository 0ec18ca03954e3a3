//! Lanes as a picture.

mod geometry;
mod legend;
mod marks;
mod row;
mod style;

use preemptlab_analysis::wakeup::name;

use self::{
    geometry::{CELLS, LEFT, NAMES, PLOT, x},
    legend::Shown,
    row::{Drawn, links, row},
};
use super::{
    LanesPanel, axis, end_ns,
    look::Look,
    notes,
    rows::{Of, Row, rows},
};
use crate::{
    svg::{LANES_WIDTH as WIDTH, LINE, Picture, coordinate, fitting, grid, time_axis},
    timeline::title,
    xml::escape,
};

/// Most steps of the axis.
const STEPS_MAX: u64 = 12;

/// Draws the lanes of threads, interrupts and softirqs as an SVG.
///
/// Panels stand under each other on one axis of virtual time. Waiting for the CPU, which is the
/// latency, is hatched. Names, which come from a guest, are text in it and nothing else.
pub fn lanes_svg(text: &str, panels: &[LanesPanel<'_>]) -> String {
    let end_ns = end_ns(panels);
    let cell_ns = (end_ns / CELLS as u64).max(1);
    let mut shown = Shown::default();
    let mut body = String::new();
    let mut description = Vec::new();
    let mut y = 14.0;
    if !text.is_empty() {
        y += 14.0;
        body += &format!(
            "<text class=\"title\" x=\"{NAMES}\" y=\"{y}\">{}</text>\n",
            escape(&fitting(&title(text), 9.6, WIDTH - 2.0 * NAMES))
        );
        y += 12.0;
    }
    for panel in panels {
        let rows = rows(panel, end_ns, cell_ns);
        description.push(in_words(panel, &rows));
        y += LINE;
        body += &format!(
            "<text class=\"strong\" x=\"{NAMES}\" y=\"{}\">{}</text>\n",
            coordinate(y),
            escape(&fitting(&name(panel.title), 8.0, WIDTH - 2.0 * NAMES))
        );
        let top = y + 6.0;
        let mut drawn: Vec<Drawn> = Vec::new();
        y = top;
        for each in &rows {
            let lane = row(each, end_ns, y, &mut shown);
            y = lane.bottom;
            drawn.push(lane);
        }
        body += &grid(marks(end_ns).map(|(x, _)| x), top, y);
        body += &links(&rows, &drawn, end_ns);
        body.extend(drawn.into_iter().map(|lane| lane.svg));
        y += 10.0;
    }
    body += &time_axis([LEFT, LEFT + PLOT], y, marks(end_ns), "virtual time since the start");
    y += 48.0;
    let (legend, height) = legend::legend(&shown, y);
    body += &legend;
    y += height;
    for note in notes(panels) {
        y += LINE;
        body += &format!(
            "<text class=\"small faint\" x=\"{NAMES}\" y=\"{}\">{}</text>\n",
            coordinate(y),
            escape(&note)
        );
    }
    let (title, described, style) = (&title(text), &description, &style::style());
    let size = [WIDTH, y + 12.0];
    Picture { class: style::CLASS, size, title, described, style, body: &body }.svg()
}

/// Describes how long each thread waited for the CPU, which the picture is about.
fn in_words(panel: &LanesPanel<'_>, rows: &[Row<'_>]) -> String {
    let threads = rows.iter().filter(|row| matches!(row.of, Of::Thread(_))).map(|row| {
        let waits = || {
            let waits = row.spans.iter().filter(|span| span.look == Look::Waiting);
            waits.map(|span| span.len_ns())
        };
        match waits().max() {
            None => format!("{} never waits long for the CPU", row.name),
            Some(max_ns) => format!(
                "{} waits for the CPU for {} in all, {} at most",
                row.name,
                axis::duration(waits().sum()),
                axis::duration(max_ns)
            ),
        }
    });
    format!("{}: {}.", name(panel.title), threads.collect::<Vec<_>>().join("; "))
}

/// Returns the places of the axis's marks, with their labels.
fn marks(end_ns: u64) -> impl Iterator<Item = (f64, String)> {
    let marks = axis::marks(end_ns, STEPS_MAX).into_iter();
    marks.map(move |(ns, label)| (x(ns, end_ns), label))
}
