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
use crate::timeline::{
    svg::{
        geometry::{LINE, WIDTH, coordinate, fitting},
        xml::escape,
    },
    title,
};

/// The axis has so many steps at most.
const STEPS_MAX: u64 = 12;

/// Draws the lanes of threads, interrupts and softirqs as an SVG.
///
/// Panels stand under each other on one axis of virtual time. Waiting for the CPU, which is the
/// latency, is hatched. The picture stands alone: it has neither scripts nor links nor fonts, and
/// follows the viewer's light or dark colours. Names, which come from a guest, are text in it and
/// nothing else.
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
        body += &grid(end_ns, top, y);
        body += &links(&rows, &drawn, end_ns);
        body.extend(drawn.into_iter().map(|lane| lane.svg));
        y += 10.0;
    }
    body += &axis(end_ns, y);
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
    let height = coordinate(y + 12.0);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"preemptlab-lanes\" width=\"{WIDTH}\" \
         height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\n\
         <title>{}</title>\n<desc>{}</desc>\n{}\
         <rect class=\"page\" width=\"{WIDTH}\" height=\"{height}\"/>\n{body}</svg>\n",
        escape(&title(text)),
        escape(&description.join("\n")),
        style::STYLE
    )
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

fn grid(end_ns: u64, top: f64, bottom: f64) -> String {
    let lines = axis::marks(end_ns, STEPS_MAX).into_iter().map(|(ns, _)| {
        let x = coordinate(x(ns, end_ns));
        let (top, bottom) = (coordinate(top), coordinate(bottom));
        format!("<path class=\"grid\" d=\"M{x} {top}V{bottom}\"/>")
    });
    format!("<g>{}</g>\n", lines.collect::<String>())
}

fn axis(end_ns: u64, y: f64) -> String {
    let (from, to, at) = (coordinate(LEFT), coordinate(LEFT + PLOT), coordinate(y));
    let mut svg = format!("<path class=\"line\" d=\"M{from} {at}H{to}\"/>\n");
    for (ns, label) in axis::marks(end_ns, STEPS_MAX) {
        let x = coordinate(x(ns, end_ns));
        svg += &format!(
            "<path class=\"line\" d=\"M{x} {at}v5\"/><text class=\"small middle\" x=\"{x}\" \
             y=\"{}\">{label}</text>\n",
            coordinate(y + 17.0)
        );
    }
    svg + &format!(
        "<text class=\"small faint middle\" x=\"{}\" y=\"{}\">virtual time since the start</text>\n",
        coordinate(LEFT + PLOT / 2.0),
        coordinate(y + 33.0)
    )
}
