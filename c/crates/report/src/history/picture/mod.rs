//! A history as pictures: one for each workload, with a panel for each metric.

mod chart;
mod geometry;
mod labels;
mod lines;
mod panel;
mod scale;
mod style;

use preemptlab_model::MetricName;
use preemptlab_stats::{History, HistoryGroup, HistoryPanel};

use self::{
    geometry::{LEFT, PLOT},
    panel::panel,
};
use super::words;
use crate::{
    file_names::file_names,
    svg::{Picture, SMALL_CHAR, VALUES_WIDTH as WIDTH, coordinate, fitting},
    xml::escape,
};

/// The words below pictures.
pub const HOW_TO_READ: &str = "In the pictures a line is a mode of a line of kernels, dashed for a line \
    other than the first. A ring marks a change point; a bar goes from the least to the largest value of \
    a seed.";

/// Metrics that are drawn of a workload that has them, in this order.
const DRAWN: [&str; 4] = ["throughput", "wakeup.fifo.p99", "wakeup.fifo.max", "wakeup.other.p99"];

/// Panels of a picture, at most.
const PANELS_MAX: usize = 4;

/// The picture of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryPicture {
    /// Workload, number of CPUs and settings.
    pub of: HistoryGroup,
    /// Title of the picture.
    pub title: String,
    /// Name of its file, which no other picture of the history has.
    pub file: String,
    /// The picture.
    pub svg: String,
}

/// Draws the pictures of a history as SVGs.
pub fn history_pictures(history: &History) -> Vec<HistoryPicture> {
    let mut groups: Vec<&HistoryGroup> = history.panels.iter().map(|panel| &panel.of).collect();
    groups.dedup();
    let names = file_names(groups.iter().map(|of| &*of.workload));
    groups
        .into_iter()
        .zip(names)
        .map(|(of, name)| {
            let title = words::group(of);
            let (svg, file) = (svg(history, of, &title), format!("{name}.svg"));
            HistoryPicture { svg, file, of: of.clone(), title }
        })
        .collect()
}

/// Returns the panels that are drawn: the usual metrics, and others where there is room.
fn drawn<'a>(history: &'a History, of: &HistoryGroup) -> Vec<&'a HistoryPanel> {
    let all: Vec<&HistoryPanel> = history.panels.iter().filter(|panel| panel.of == *of).collect();
    let usual = DRAWN.map(MetricName::from);
    let find = |name: &MetricName| all.iter().find(|panel| panel.metric == *name).copied();
    let mut drawn: Vec<&HistoryPanel> = usual.iter().filter_map(find).collect();
    let others = all.iter().filter(|panel| !usual.contains(&panel.metric)).copied();
    if drawn.len() < 2 {
        drawn.extend(others.take(PANELS_MAX - drawn.len()));
    }
    drawn
}

fn svg(history: &History, of: &HistoryGroup, title: &str) -> String {
    let panels = drawn(history, of);
    let axis = chart::axis(history, &panels);
    let mut y = 30.0;
    let mut body = format!(
        "<text class=\"title\" x=\"16\" y=\"{y}\">{}</text>\n",
        escape(&fitting(title, 9.6, WIDTH - 32.0))
    );
    let mut description = Vec::new();
    y += 8.0;
    for each in panels {
        let drawn = panel(history, each, &axis, y);
        body += &drawn.svg;
        description.push(drawn.words);
        y = drawn.bottom + 8.0;
    }
    let at = coordinate(y + 8.0);
    for (place, series) in axis.series.iter().enumerate() {
        body += &format!(
            "<text class=\"small middle\" x=\"{}\" y=\"{at}\">{}</text>\n",
            coordinate(axis.x(place)),
            escape(&fitting(series, SMALL_CHAR, axis.step() - 4.0))
        );
    }
    body += &format!(
        "<text class=\"small faint middle\" x=\"{}\" y=\"{}\">kernels, from the oldest to the newest; a \
         ring is a change point, a bar the range of the seeds</text>\n",
        coordinate(LEFT + PLOT / 2.0),
        coordinate(y + 26.0)
    );
    let (described, style) = (&description, &style::style());
    let size = [WIDTH, y + 38.0];
    Picture { class: style::CLASS, size, title, described, style, body: &body }.svg()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::testing;

    #[test]
    fn a_picture_shows_each_line_with_its_label() {
        let pictures = history_pictures(&testing::history());
        let [picture] = pictures.as_slice() else { panic!() };
        assert_eq!(picture.file, "load.svg");
        let document = roxmltree::Document::parse(&picture.svg).unwrap();
        let texts: Vec<&str> = document.descendants().filter_map(|node| node.text()).collect();
        for text in ["none", "full", "full -rt", "lazy -rt", "6.1", "6.9", "6.12", "7.2"] {
            assert!(texts.contains(&text), "no `{text}` in {texts:?}");
        }
        let rings = picture.svg.matches("class=\"ring").count();
        assert_eq!(rings, testing::history().changes().len());
    }

    #[test]
    fn files_have_names_of_their_own() {
        let mut history = testing::history();
        let mut other = history.panels[0].clone();
        other.of.cpus = 2;
        history.panels.push(other);
        let files: Vec<String> =
            history_pictures(&history).into_iter().map(|picture| picture.file).collect();
        assert_eq!(files, ["load.svg", "load-2.svg"]);
    }
}
