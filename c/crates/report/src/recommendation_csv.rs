use preemptlab_analysis::recommendation::{runner_up, status};
use preemptlab_stats::{Answer, Candidate, Combined, Recommendation};

use crate::{recommendation_tables as tables, recommendation_words as words, table_csv};

const HEADER: [&str; 15] = [
    "run",
    "kernel",
    "preempt",
    "settings",
    "status",
    "objective",
    "value",
    "value_low",
    "value_high",
    "ratio",
    "ratio_low",
    "ratio_high",
    "verdict",
    "fails",
    "reason",
];

/// Writes a recommendation as CSV: a row per configuration, in the order of the plan.
///
/// `status` is `recommended`, `satisfies`, `fails` or `unmeasured`; `value` is that of the
/// objective, or over several workloads the geometric mean of its ratios to the baseline; `ratio`
/// is to the recommended configuration, and `verdict` is about it.
pub fn recommendation_csv(recommendation: &Recommendation) -> String {
    let header = HEADER.map(str::to_owned).to_vec();
    let candidates = recommendation.candidates.iter().enumerate();
    let rows = candidates.map(|(index, candidate)| row(recommendation, index, candidate));
    table_csv::write([header].into_iter().chain(rows))
}

fn row(recommendation: &Recommendation, index: usize, candidate: &Candidate) -> Vec<String> {
    let relation = runner_up(recommendation, index).and_then(|it| it.objective);
    let standing = candidate.standing;
    let interval = standing.and_then(|standing| standing.interval);
    let ratio_interval = relation.and_then(|relation: Combined| relation.interval);
    let fails = candidate.judgements.iter().filter(|it| it.answer == Answer::Fails);
    let mut fails: Vec<String> =
        fails.map(|it| words::constraint(&recommendation.constraints[it.constraint])).collect();
    fails.dedup();
    let troubles = tables::troubles(recommendation, candidate).into_iter();
    let mut reasons: Vec<String> = troubles.map(|(reason, _)| reason).collect();
    reasons.dedup();
    vec![
        candidate.run.clone().unwrap_or_default(),
        candidate.kernel.to_string(),
        candidate.preempt.to_string(),
        candidate.settings.to_string(),
        status(recommendation, index).to_owned(),
        recommendation.objective.metric.name.to_string(),
        text(standing.map(|standing| standing.value)),
        text(interval.map(|interval| interval.low)),
        text(interval.map(|interval| interval.high)),
        text(relation.and_then(|relation| relation.ratio)),
        text(ratio_interval.map(|interval| interval.low)),
        text(ratio_interval.map(|interval| interval.high)),
        relation
            .map(|relation| {
                relation.verdict.word(recommendation.margin(&recommendation.objective.metric))
            })
            .unwrap_or_default(),
        fails.join("; "),
        reasons.join("; "),
    ]
}

fn text(number: Option<f64>) -> String {
    number.map(|number| number.to_string()).unwrap_or_default()
}
