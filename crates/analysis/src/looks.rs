//! The decision of `run --until` after each look at the results: replicates are added where they
//! are needed.

use preemptlab_model::{Factors, MetricName, nearest};
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
            needed: needed(comparison, |metric| decides(metrics, metric)),
        }
    }

    /// Counts the cells that are needed.
    pub fn cells(&self) -> u32 {
        self.needed.iter().map(|needed| needed.more).sum()
    }

    /// Lists the added replicates by configuration: `debian:6.12/none +3`.
    pub fn added(&self) -> String {
        let words = self.needed.iter().map(|Needed { factors, more, .. }| {
            let Factors { workload, kernel, preempt, settings, .. } = factors.clone();
            format!("{} {workload} +{more}", Baseline { kernel, preempt, settings })
        });
        words.collect::<Vec<_>>().join(", ")
    }

    /// States the conclusion where no replicate is needed.
    pub fn conclusion(&self) -> String {
        match self.undecided {
            0 => "every comparison is decided".to_owned(),
            undecided => {
                format!("{undecided} comparisons stay undecided: more replicates would not help")
            }
        }
    }
}

/// Returns whether a metric is to be decided.
fn decides(metrics: &[String], metric: &MetricName) -> bool {
    if metrics.is_empty() {
        metric.is_headline()
    } else {
        metrics.iter().any(|each| *metric == **each)
    }
}

fn undecided(metrics: &[String], comparison: &Comparison) -> usize {
    let configurations = comparison.groups.iter().flat_map(|group| &group.configurations);
    configurations
        .flat_map(|configuration| &configuration.summaries)
        .filter(|summary| decides(metrics, &summary.name))
        .filter(|summary| summary.effect.is_some_and(|effect| !effect.verdict.is_decided()))
        .count()
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
