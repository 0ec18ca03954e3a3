//! The axis of kernels, which all panels of a picture share.

use preemptlab_stats::{History, HistoryPanel};

use super::geometry::{INSET, LEFT, PLOT};

/// Series from the left to the right, and the place of each kernel among them.
#[derive(Clone, Debug, Default)]
pub struct Axis {
    /// Names of the series.
    pub series: Vec<String>,
    /// Place of each kernel of the history.
    pub places: Vec<usize>,
}

impl Axis {
    /// Returns the middle of a place.
    pub fn x(&self, place: usize) -> f64 {
        match self.series.len() {
            0 | 1 => LEFT + PLOT / 2.0,
            _ => LEFT + INSET + place as f64 * self.step(),
        }
    }

    /// Returns the distance between two places.
    pub fn step(&self) -> f64 {
        (PLOT - 2.0 * INSET) / self.series.len().saturating_sub(1).max(1) as f64
    }
}

/// Merges the lines of kernels into one axis: equal series of two lines share a place, and each line
/// keeps its order. An unavailable kernel has a place too.
pub fn axis(history: &History, panels: &[&HistoryPanel]) -> Axis {
    let is_shown = |at: usize| {
        let has_value = || panels.iter().flat_map(|panel| &panel.points).any(|of| of.kernel == at);
        history.kernels[at].absent.is_some() || has_value() || is_troubled(history, at)
    };
    let mut series: Vec<String> = Vec::new();
    // Kernels of one line never share a place.
    let mut last: Option<(&str, usize)> = None;
    for (at, kernel) in history.kernels.iter().enumerate() {
        if !is_shown(at) {
            continue;
        }
        let after = last.filter(|(line, _)| *line == kernel.line).map_or(0, |(_, at)| at + 1);
        let known = series[after.min(series.len())..].iter().position(|of| *of == kernel.series);
        let place = known.map_or_else(
            || {
                // The first kernel of a line has nothing before it: an unknown one is put at the end.
                let end = if after == 0 { series.len() } else { after };
                series.insert(end, kernel.series.clone());
                end
            },
            |at| after + at,
        );
        last = Some((kernel.line.as_str(), place));
    }
    let places = places(history, &series);
    Axis { series, places }
}

fn is_troubled(history: &History, at: usize) -> bool {
    history.troubles.iter().any(|trouble| trouble.kernel == at)
}

/// Returns the place of each kernel: of its series, after that of the kernel before it in its line.
fn places(history: &History, series: &[String]) -> Vec<usize> {
    let mut places = Vec::new();
    let mut last: Option<(&str, usize)> = None;
    for kernel in &history.kernels {
        let after = last.filter(|(line, _)| *line == kernel.line).map_or(0, |(_, at)| at + 1);
        let found = series.iter().skip(after).position(|of| *of == kernel.series);
        let place = found.map(|at| after + at);
        if let Some(place) = place {
            last = Some((kernel.line.as_str(), place));
        }
        places.push(place.unwrap_or(0));
    }
    places
}

#[cfg(test)]
mod tests {
    use preemptlab_stats::{HistoryKernel, Margins, history};

    use super::*;

    #[test]
    fn lines_share_the_places_of_their_series() {
        let kernel = |(series, line): (&str, &str)| HistoryKernel {
            series: series.to_owned(),
            line: line.to_owned(),
            absent: Some("no package".to_owned()),
            ..HistoryKernel::default()
        };
        let kernels = [
            ("6.1", "generic"),
            ("6.12", "generic"),
            ("7.2", "generic"),
            ("6.1", "-rt"),
            ("6.9", "-rt"),
            ("7.2", "-rt"),
            ("7.2", "-rt"),
        ];
        let kernels = kernels.map(|of| (kernel(of), Vec::new())).to_vec();
        let axis = axis(&history(kernels, &Margins::gate()), &[]);
        assert_eq!(axis.series, ["6.1", "6.9", "6.12", "7.2", "7.2"]);
        assert_eq!(axis.places, [0, 2, 3, 0, 1, 3, 4]);
    }
}
