//! Timelines as a picture: a lane for each, on one axis of time.

mod geometry;
mod lane;
mod legend;
mod shares;
mod style;

use preemptlab_analysis::wakeup::{one_sentence, pieces};
use preemptlab_trace::Cause;

use self::{
    geometry::{LEFT, PLOT, Scale},
    lane::lane,
};
use super::text::MET;
use crate::{
    svg::{LANES_WIDTH as WIDTH, LINE, Picture, fitting, time_axis},
    xml::escape,
};
pub use lane::Lane;

/// Draws the time of late wakeups by cause, as an SVG.
///
/// The lanes stand under each other on one axis of virtual time that begins at their due times. Names, which
/// come from a guest, are text in it and nothing else.
pub fn timeline_svg(title: &str, lanes: &[Lane<'_>]) -> String {
    let scale = Scale::new(lanes.iter().map(|lane| lane.timeline.wakeup.latency_ns()).max());
    let mut body = String::new();
    let mut y = 20.0;
    if !title.is_empty() {
        y += 8.0;
        body += &format!(
            "<text class=\"title\" x=\"{LEFT}\" y=\"{y}\">{}</text>\n",
            escape(&fitting(title, 9.6, WIDTH - 2.0 * LEFT))
        );
        y += 12.0;
    }
    for each in lanes {
        let (svg, height) = lane(each, scale, y);
        body += &svg;
        y += height;
    }
    let caption = "virtual time since the task was due, in us";
    body += &time_axis([LEFT, LEFT + PLOT], y, scale.marks(), caption);
    y += 48.0;
    let mut pieces = lanes.iter().flat_map(|lane| pieces(lane.timeline));
    let (legend, height) = legend::legend(lanes, y);
    body += &legend;
    y += height;
    if pieces.any(|piece| piece.cause() == Some(Cause::NotPreemptible)) {
        let note = y + 13.0;
        body += &format!("<text class=\"small faint\" x=\"{LEFT}\" y=\"{note}\">{MET}</text>\n");
        y += LINE;
    }
    y += LINE / 2.0;
    let description: Vec<String> = lanes
        .iter()
        .map(|lane| format!("{}: {}", lane.caption, one_sentence(lane.timeline)))
        .collect();
    let (described, style) = (&description, &style::style());
    let size = [WIDTH, y];
    Picture { class: style::CLASS, size, title, described, style, body: &body }.svg()
}
