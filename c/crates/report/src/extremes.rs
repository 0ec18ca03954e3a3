//! The distribution of maxima in words, or the reason why it has no fit.

use preemptlab_model::{MetricName, number};
use preemptlab_stats::{Estimate, Extreme, ExtremeFit, Group, LEVEL_CELLS, NoLevel, Summary, Tail};

use crate::label;

/// Returns the fit of a metric's maxima in words, or the reason why there is none; `None` for a
/// metric that is not a maximum.
pub fn extreme_in_words(summary: &Summary) -> Option<String> {
    Some(match summary.extreme.as_ref()? {
        Extreme::Fit { fit, level_100 } => sentence(fit, *level_100, &summary.unit),
        Extreme::Refused(reason) => reason.to_string(),
    })
}

fn sentence(fit: &ExtremeFit, level: Option<Estimate>, unit: &str) -> String {
    let level = match level {
        Some(Estimate { value, interval }) => format!(
            "one cell in {LEVEL_CELLS} exceeds {} {unit} (95%: {})",
            number::number(value),
            label::interval(Some(interval))
        ),
        None => format!("no level of one cell in {LEVEL_CELLS}: {}", NoLevel::OutOfReach),
    };
    let tail = match fit.tail {
        Tail::Bounded { end } => format!("the tail ends at {} {unit}", number::number(end)),
        Tail::Unbounded => "the tail has no end".to_owned(),
        Tail::Undecided => "whether the tail ends is undecided".to_owned(),
    };
    let Estimate { value: shape, interval } = fit.shape;
    format!(
        "{level}; {tail} (shape {shape:.2}, {:.2} to {:.2}; Anderson-Darling {:.2}, refused from \
         {:.2} on)",
        interval.low, interval.high, fit.anderson_darling, fit.anderson_darling_critical
    )
}

/// Returns the fits of every configuration of a group; those with the same words share a note.
pub fn notes(group: &Group, metric: &MetricName) -> Vec<String> {
    let mut notes: Vec<(String, Vec<String>)> = Vec::new();
    for configuration in &group.configurations {
        let Some(said) = configuration.summary(metric).and_then(extreme_in_words) else { continue };
        let name = format!("{} {}", label::kernel(configuration), label::mode(configuration));
        match notes.iter_mut().find(|(known, _)| *known == said) {
            Some((_, names)) => names.push(name),
            None => notes.push((said, vec![name])),
        }
    }
    let all = notes.len() == 1;
    let note = |(said, names): (String, Vec<String>)| {
        if all { format!("All: {said}.") } else { format!("{}: {said}.", names.join(", ")) }
    };
    notes.into_iter().map(note).collect()
}
