//! Judgements of statistics of which there is no sample.

use super::judgement::{Answer, Constraint, Judgement, Statistic};
use crate::{Group, Limit, Samples};

/// Judges a limit on a statistic of a distribution in which nothing happened. No event is beyond an
/// upper limit, as far as the windows go; there is no value that a lower limit could be compared with.
pub fn no_event(
    (constraint, of): (usize, &Constraint),
    (group, in_group): (usize, &Group),
    samples: &Samples,
) -> Option<Judgement> {
    if !samples.are_none() || !of.comparator.is_upper() {
        return None;
    }
    let limit = match of.limit {
        Limit::Value(limit) => limit,
        Limit::OfBaseline(share) => share * in_group.baseline()?.summary(&of.metric.name)?.median,
    };
    Some(Judgement {
        constraint,
        group,
        value: 0.0,
        statistic: Statistic::NoEvent,
        unit: of.metric.unit.clone(),
        limit,
        interval: None,
        n: samples.cells,
        samples: Some(0),
        answer: if samples.cells > 1 { Answer::Holds } else { Answer::Unclear },
    })
}
