//! The decision of `run --until` after each look at the results: replicates are added where they
//! are needed.

use preemptlab_model::{Factors, MetricName, counted, nearest, of_machine};
use preemptlab_stats::{Baseline, Comparison, Group, Needed, needed};

use crate::{Result, named::no_metric};

/// A look at the results.
#[derive(Debug)]
pub struct Look {
    /// Number of undecided comparisons.
    pub undecided: usize,
    /// Replicates that would decide them; where there are none, more would not help.
    pub needed: Vec<Needed>,
}

impl Look {
    /// Looks at a comparison, of which these metrics are to be decided; without any, the most telling
    /// ones.
    pub fn at(comparison: &Comparison, metrics: &[String]) -> Self {
        Self {
            undecided: undecided(metrics, comparison),
            needed: needed(comparison, |group, metric| decides(metrics, group, metric)),
        }
    }

    /// Counts the cells that are needed.
    pub fn cells(&self) -> u32 {
        self.needed.iter().map(|needed| needed.more).sum()
    }

    /// Lists the added replicates by configuration: `debian:6.12/none +3`.
    pub fn added(&self) -> String {
        let words = self.needed.iter().map(|Needed { factors, more, .. }| {
            let Factors { workload, kernel, preempt, settings, machine, .. } = factors.clone();
            let of = of_machine(machine.as_ref());
            format!("{} {workload}{of} +{more}", Baseline { kernel, preempt, settings })
        });
        words.collect::<Vec<_>>().join(", ")
    }

    /// States the conclusion where no replicate is needed.
    pub fn conclusion(&self) -> String {
        match self.undecided {
            0 => "every comparison is decided".to_owned(),
            _ => format!("{}: more replicates would not help", self.open()),
        }
    }

    /// States which comparisons stay open: `2 comparisons stay undecided`.
    pub fn open(&self) -> String {
        let stay = if self.undecided == 1 { "stays" } else { "stay" };
        format!("{} {stay} undecided", counted(self.undecided, "comparison"))
    }

    /// States the cells that the undecided comparisons need:
    /// `1 comparison is undecided; 4 more cells`.
    pub fn wanted(&self) -> String {
        let are = if self.undecided == 1 { "is" } else { "are" };
        let undecided = counted(self.undecided, "comparison");
        format!("{undecided} {are} undecided; {}", counted(self.cells(), "more cell"))
    }
}

/// Returns whether a metric of a group is to be decided.
fn decides(metrics: &[String], group: &Group, metric: &MetricName) -> bool {
    if metrics.is_empty() {
        group.metrics.iter().any(|info| info.headline && info.name == *metric)
    } else {
        metrics.iter().any(|each| *metric == **each)
    }
}

fn undecided(metrics: &[String], comparison: &Comparison) -> usize {
    let of_group = |group: &Group| {
        let summaries = group.configurations.iter().flat_map(|each| &each.summaries);
        summaries
            .filter(|summary| decides(metrics, group, &summary.name))
            .filter(|summary| summary.effect.is_some_and(|effect| !effect.verdict.is_decided()))
            .count()
    };
    comparison.groups.iter().map(of_group).sum()
}

/// Refuses a metric that nothing has.
///
/// # Errors
///
/// When there is one; its nearest is named.
pub fn check_metrics(metrics: &[String], comparison: &Comparison) -> Result<()> {
    let known: Vec<String> =
        comparison.groups.iter().flat_map(Group::metrics).map(ToString::to_string).collect();
    for metric in metrics {
        if !known.is_empty() && !known.contains(metric) {
            let hint = nearest(metric, known.iter().map(String::as_str))
                .map(|nearest| format!("; did you mean `{nearest}`?"))
                .unwrap_or_default();
            return Err(no_metric(metric, &hint));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(undecided: usize, more: u32) -> Look {
        let factors = Factors {
            workload: "hackbench".into(),
            kernel: "debian:6.12".parse().unwrap(),
            preempt: preemptlab_model::PreemptMode::Full,
            machine: None,
            cpus: 1,
            settings: preemptlab_model::Settings::default(),
            replicate: 1,
        };
        Look { undecided, needed: vec![Needed { factors, replicates: 4 + more, more }] }
    }

    #[test]
    fn one_comparison_and_one_cell_are_singular() {
        let one = look(1, 1);
        assert_eq!(one.wanted(), "1 comparison is undecided; 1 more cell");
        assert_eq!(one.open(), "1 comparison stays undecided");
        let several = look(2, 3);
        assert_eq!(several.wanted(), "2 comparisons are undecided; 3 more cells");
        let conclusion = "2 comparisons stay undecided: more replicates would not help";
        assert_eq!(several.conclusion(), conclusion);
    }
}
