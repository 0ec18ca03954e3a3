//! Commands that were repeated for a window, and their metrics that say little.

use std::collections::BTreeMap;

use preemptlab_experiment::Recording;
use preemptlab_model::{Distribution, MetricName, Name, Statistic, counted};

use crate::Cells;

/// The least runs in a cell of which a throughput says something.
const RUNS_MIN: u64 = 5;

/// The shortest time of a run in which the start of a process is not much of it, in microseconds.
const RUN_US_MIN: u64 = 5_000;

/// Runs of a command in the cells that were completed.
#[derive(Default)]
struct Runs {
    cells: usize,
    /// Cells in which no run ended.
    without: usize,
    /// Cells in which at least one run ended, and fewer than [`RUNS_MIN`].
    few: usize,
    /// Median times of a run in each cell, in microseconds.
    medians_us: Vec<u64>,
}

impl Runs {
    fn add(&mut self, count: u64, median_us: Option<u64>) {
        self.cells += 1;
        self.without += usize::from(count == 0);
        self.few += usize::from((1..RUNS_MIN).contains(&count));
        self.medians_us.extend(median_us);
    }

    fn notes(mut self, name: &Name) -> Vec<String> {
        const LONGER: &str = "a longer window (--window, or `window` in workload.toml)";
        let of = counted(self.cells, "cell");
        let mut notes = Vec::new();
        if self.without > 0 {
            notes.push(format!(
                "{name}: in {} of {of} no run of the command ended, so that its throughput is 0 there, and \
                 the latency is that beside one run; of a command that ends, {LONGER} counts runs",
                self.without
            ));
        }
        if self.few > 0 {
            notes.push(format!(
                "{name}: in {} of {of} fewer than {RUNS_MIN} runs of the command ended; {LONGER} counts more",
                self.few
            ));
        }
        self.medians_us.sort_unstable();
        if let Some(&median_us) = self.medians_us.get(self.medians_us.len() / 2)
            && median_us < RUN_US_MIN
        {
            notes.push(format!(
                "{name}: a run of the command takes {:.1} ms, of which the start of a process is much; a \
                 command that does more tells more of the program itself",
                median_us as f64 / 1e3
            ));
        }
        notes
    }
}

/// Names the repeated commands of a recording whose runs were too few or too short to say much.
pub fn notes(recording: &Recording, cells: &Cells) -> Vec<String> {
    const MEDIAN: MetricName = MetricName::Of(Distribution::Response, Statistic::Quantile(50_000));
    let workloads = &recording.manifest().experiment.workload;
    let mut all = BTreeMap::<Name, Runs>::new();
    for cell in cells.all().iter().filter(|cell| cell.result.is_ok()) {
        let name = cell.factors.workload.as_str();
        let Some((name, workload)) = workloads.get_key_value(name) else { continue };
        let runs = cell.samples.iter().find(|(of, _)| *of == Distribution::Response);
        if let Some((_, count)) = runs.filter(|_| workload.repeats_command()) {
            let median_us = cell.value(&MEDIAN).map(|us| us as u64);
            all.entry(name.clone()).or_default().add(*count, median_us);
        }
    }
    all.into_iter().flat_map(|(name, runs)| runs.notes(&name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(cells: &[(u64, Option<u64>)]) -> Vec<String> {
        let mut runs = Runs::default();
        cells.iter().for_each(|(count, median_us)| runs.add(*count, *median_us));
        runs.notes(&"xz".parse().unwrap())
    }

    #[test]
    fn runs_that_say_little_are_told() {
        assert!(notes(&[(5, Some(5_000)), (100, Some(9_000))]).is_empty());
        let [never] = &notes(&[(0, None), (0, None)])[..] else { panic!() };
        assert!(never.starts_with("xz: in 2 of 2 cells no run of the command ended"), "{never}");
        let [some, few] = &notes(&[(0, None), (4, Some(300_000)), (9, Some(90_000))])[..] else {
            panic!()
        };
        assert!(some.starts_with("xz: in 1 of 3 cells no run of the command ended"), "{some}");
        assert!(few.starts_with("xz: in 1 of 3 cells fewer than 5 runs"), "{few}");
        let [short] = &notes(&[(900, Some(950)), (800, Some(1_250)), (700, Some(1_300))])[..]
        else {
            panic!()
        };
        assert!(short.starts_with("xz: a run of the command takes 1.2 ms"), "{short}");
    }
}
