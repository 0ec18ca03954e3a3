//! A recommendation in a few lines.

use preemptlab_analysis::advice::Advice;
use preemptlab_model::{number, plain};
use preemptlab_stats::{Choice, Judgement, Recommendation, Verdict};

use crate::{label, recommendation_words as words};

/// Lines of the text at most.
const LINES_MAX: usize = 5;

/// Renders a recommendation in five lines at most, for a chat: the answer, the requirements, how sure it
/// is, the next best, and where it was measured.
pub fn recommendation_brief(advice: &Advice) -> String {
    let recommendation = &advice.recommendation;
    let mut lines = match &recommendation.choice {
        Some(choice) => vec![
            format!("{}.", words::headline(recommendation, choice, advice)),
            measured(recommendation, choice),
            words::certainty(recommendation, choice),
        ],
        None => [words::no_choice(recommendation)]
            .into_iter()
            .chain(words::obstacle(recommendation))
            .take(LINES_MAX - 1)
            .collect(),
    };
    let choice = recommendation.choice.as_ref();
    lines.extend(choice.and_then(|choice| next_best(recommendation, choice)));
    lines.push(words::scope(recommendation));
    lines.iter().map(|text| format!("{}\n", plain::line(text))).collect()
}

/// Returns the values of the recommended configuration: `wakeup.fifo.max <= 100 us: 81.2 us, holds;
/// throughput 31,200 messages/s`.
fn measured(recommendation: &Recommendation, choice: &Choice) -> String {
    let recommended = &recommendation.candidates[choice.candidate];
    let several = recommendation.comparison.groups.len() > 1;
    let requirement = |it: &Judgement| {
        let of = words::constraint(&recommendation.constraints[it.constraint]);
        let group = label::group(&recommendation.comparison.groups[it.group]);
        let group = if several { format!(" for {group}") } else { String::new() };
        let statistic = match words::statistic(it.statistic) {
            "" => String::new(),
            statistic => format!("{statistic} "),
        };
        format!("{of}{group}: {statistic}{}, {}", words::value(it), words::answer(it))
    };
    let requirements = recommended.judgements.iter().map(requirement);
    let metric = &recommendation.objective.metric;
    let objective =
        recommended.standing.map(|standing| match recommendation.objective.groups.len() {
            1 => format!("{} {} {}", metric.name, number::number(standing.value), metric.unit),
            _ => format!("{} {} of the baseline", metric.name, number::ratio(standing.value)),
        });
    format!("{}.", requirements.chain(objective).collect::<Vec<_>>().join("; "))
}

/// Returns the relation of the next best configuration to the recommended one.
fn next_best(recommendation: &Recommendation, choice: &Choice) -> Option<String> {
    let next = choice.runners_up.first()?;
    let name = words::candidate(&recommendation.candidates[next.candidate]);
    let objective = next.objective?;
    let verdict = match objective.verdict {
        Verdict::Undecided { .. } => "undecided".to_owned(),
        verdict => verdict.word(recommendation.margin(&recommendation.objective.metric)),
    };
    let ratio = objective.ratio.map(|ratio| format!("{}, ", number::ratio(ratio)));
    let metric = &recommendation.objective.metric.name;
    Some(format!("Next best: {name}, {metric} {}{verdict}.", ratio.unwrap_or_default()))
}
