//! The tables of a recommendation.

use preemptlab_model::number;
use preemptlab_stats::{
    Answer, Candidate, Choice, Combined, Interval, Judgement, Margin, MetricKind, Recommendation,
    RunnerUp, Verdict,
};

use crate::{
    Cell, Column, Row, Table, Tone, label,
    recommendation_words::{self as words, candidate, constraint, statistic},
    verdict,
};

/// Returns the table of the constraints that the recommended configuration satisfies, and of its
/// objective, in each group.
pub fn why(recommendation: &Recommendation, choice: &Choice) -> Table {
    let Recommendation { comparison, objective, .. } = recommendation;
    let recommended = &recommendation.candidates[choice.candidate];
    let mut table = Table::new(
        "Why",
        [
            Column::left("requirement"),
            Column::left("workload"),
            Column::right("n"),
            Column::left("statistic"),
            Column::right("measured"),
            Column::right("95%"),
            Column::left(""),
        ],
    );
    for judgement in &recommended.judgements {
        table.rows.push(Row::Cells(judged(recommendation, judgement)));
    }
    let what = words::objective(recommendation);
    for &group in &objective.groups {
        let configuration = recommended.configuration(comparison, group);
        let Some(summary) = configuration.and_then(|it| it.summary(&objective.metric.name)) else {
            continue;
        };
        table.row([
            what.clone(),
            label::group(&comparison.groups[group]),
            summary.n.to_string(),
            "median".to_owned(),
            format!("{} {}", number::number(summary.median), summary.unit),
            label::interval(summary.interval),
            String::new(),
        ]);
    }
    if let Some(standing) = recommended.standing.filter(|_| objective.groups.len() > 1) {
        table.row([
            what,
            format!("{} workloads", standing.groups),
            String::new(),
            "mean ratio".to_owned(),
            number::ratio(standing.value),
            interval(standing.interval),
            String::new(),
        ]);
    }
    table
}

fn judged(recommendation: &Recommendation, judgement: &Judgement) -> Vec<Cell> {
    let of = &recommendation.constraints[judgement.constraint];
    let group = &recommendation.comparison.groups[judgement.group];
    vec![
        constraint(of).into(),
        label::group(group).into(),
        judgement.n.to_string().into(),
        statistic(judgement.statistic).into(),
        words::value(judgement).into(),
        label::interval(judgement.interval).into(),
        answer(judgement),
    ]
}

fn answer(judgement: &Judgement) -> Cell {
    let tone = match judgement.answer {
        Answer::Holds => Tone::Better,
        Answer::Unclear => Tone::Plain,
        Answer::Fails => Tone::Worse,
    };
    Cell::new(words::answer(judgement), tone)
}

/// Returns the table of the others that satisfy every requirement, related to the recommended one:
/// ratios above their intervals above their verdicts. `None` where there are none.
pub fn runners_up(recommendation: &Recommendation, choice: &Choice) -> Option<Table> {
    if choice.runners_up.is_empty() {
        return None;
    }
    let objective = &recommendation.objective.metric;
    let metrics: Vec<&MetricKind> =
        [objective].into_iter().chain(recommendation.constrained()).collect();
    let name = candidate(&recommendation.candidates[choice.candidate]);
    let what = match recommendation.constraints.is_empty() {
        true => "What else was measured",
        false => "What else satisfies every requirement",
    };
    let title = format!(
        "{what}; × is the ratio to {name}, below it its 95% interval and whether it is better"
    );
    let columns = metrics.iter().map(|metric| Column::right(metric.name.to_string()));
    let first = [Column::left("configuration"), Column::left("requirements")];
    let mut table = Table::new(title, first.into_iter().chain(columns));
    for runner_up in &choice.runners_up {
        let of = &recommendation.candidates[runner_up.candidate];
        let relations: Vec<Option<Combined>> = relations(runner_up).collect();
        let line = |first: [Cell; 2], cell: &dyn Fn(&MetricKind, &Combined) -> Cell| {
            let cells = metrics
                .iter()
                .zip(&relations)
                .map(|(metric, it)| it.as_ref().map(|it| cell(metric, it)).unwrap_or_default());
            first.into_iter().chain(cells).collect::<Vec<_>>()
        };
        let partial = partial(recommendation, of);
        let lines = [
            line([candidate(of).into(), requirements_hold(of)], &|_, it| ratio(it)),
            line([Cell::new(partial, Tone::Faint), Cell::default()], &|_, it| {
                Cell::new(interval(it.interval), Tone::Faint)
            }),
            line([Cell::default(), Cell::default()], &|metric, it| {
                verdict(it, recommendation.margin(metric))
            }),
        ];
        let is_said = |cells: &Vec<Cell>| cells.iter().any(|cell| !cell.text().is_empty());
        let lines = lines.into_iter().filter(is_said).enumerate();
        let row = |(index, line)| if index == 0 { Row::Cells(line) } else { Row::More(line) };
        table.rows.extend(lines.map(row));
    }
    Some(table)
}

fn relations(runner_up: &RunnerUp) -> impl Iterator<Item = Option<Combined>> {
    [runner_up.objective].into_iter().chain(runner_up.constrained.iter().copied())
}

/// Returns the note on a configuration that is not in every group.
fn partial(recommendation: &Recommendation, of: &Candidate) -> String {
    let all = recommendation.objective.groups.len();
    match of.standing {
        Some(standing) if standing.groups < all => {
            format!("  in {} of {all} workloads", standing.groups)
        }
        _ => String::new(),
    }
}

fn requirements_hold(of: &Candidate) -> Cell {
    match of.judgements.iter().any(|it| it.answer == Answer::Unclear) {
        _ if of.judgements.is_empty() => Cell::default(),
        true => "unclear".into(),
        false => Cell::new("hold", Tone::Better),
    }
}

fn ratio(combined: &Combined) -> Cell {
    Cell::new(combined.ratio.map(number::ratio).unwrap_or_default(), tone(combined.verdict))
}

/// Returns the verdict; if it is undecided, with an estimate of the further replicates that would
/// decide it.
fn verdict(combined: &Combined, margin: Margin) -> Cell {
    let text = match combined.verdict {
        Verdict::Undecided { more: Some(more) } => verdict::undecided(more),
        verdict => verdict.word(margin),
    };
    Cell::new(text, tone(combined.verdict))
}

fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Better => Tone::Better,
        Verdict::Worse => Tone::Worse,
        Verdict::WithinMargin | Verdict::WithinResolution | Verdict::Undecided { .. } => {
            Tone::Plain
        }
    }
}

fn interval(interval: Option<Interval>) -> String {
    interval.map(|Interval { low, high }| number::ratio_range(low, high)).unwrap_or_default()
}

/// Returns the table of the configurations that fail a requirement, with the worst excess; `None`
/// where there are none.
pub fn failing(recommendation: &Recommendation) -> Option<Table> {
    let mut table = Table::new(
        "What fails a requirement",
        [
            Column::left("configuration"),
            Column::right("n"),
            Column::left("statistic"),
            Column::right("measured"),
            Column::right("95%"),
            Column::left("workload"),
        ],
    );
    for (index, of) in recommendation.constraints.iter().enumerate() {
        let candidates = recommendation.candidates.iter();
        let failing = candidates.filter_map(|it| Some((it, it.worst_failure(index)?)));
        let rows: Vec<Vec<String>> = failing
            .map(|(candidate, (judgement, groups))| {
                let worst = label::group(&recommendation.comparison.groups[judgement.group]);
                let more = match groups - 1 {
                    0 => String::new(),
                    more => format!(", and {more} more"),
                };
                vec![
                    format!("  {}", self::candidate(candidate)),
                    judgement.n.to_string(),
                    statistic(judgement.statistic).to_owned(),
                    words::value(judgement),
                    label::interval(judgement.interval),
                    format!("{worst}{more}"),
                ]
            })
            .collect();
        if !rows.is_empty() {
            table.span(Cell::new(constraint(of), Tone::Strong));
        }
        rows.into_iter().for_each(|row| table.row(row));
    }
    (!table.rows.is_empty()).then_some(table)
}

/// Returns the table of the configurations without measurements, or with too few, with the reasons;
/// `None` where all have them.
pub fn unmeasured(recommendation: &Recommendation) -> Option<Table> {
    let groups = &recommendation.comparison.groups;
    // Configurations and workloads with the same reason are said together.
    let mut reasons: Vec<(String, Vec<String>, Vec<String>)> = Vec::new();
    for of in &recommendation.candidates {
        let mut of_candidate: Vec<(String, Vec<String>)> = Vec::new();
        for (reason, group) in troubles(recommendation, of) {
            let group = group.map_or_else(String::new, |group| label::group(&groups[group]));
            match of_candidate.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, of)) => of.push(group),
                None => of_candidate.push((reason, vec![group])),
            }
        }
        for (reason, workloads) in of_candidate {
            let known = reasons.iter_mut().find(|(it, of, _)| (it, of) == (&reason, &workloads));
            match known {
                Some((_, _, names)) => names.push(candidate(of)),
                None => reasons.push((reason, workloads, vec![candidate(of)])),
            }
        }
    }
    let mut table = Table::new(
        "What was not measured",
        [Column::left("configuration"), Column::left("workload"), Column::left("why")],
    );
    for (reason, workloads, names) in reasons {
        let is_everywhere = workloads.len() == groups.len() && groups.len() > 1;
        let workloads = if is_everywhere { "all".to_owned() } else { workloads.join(", ") };
        table.row([names.join(", "), workloads, reason]);
    }
    (!table.rows.is_empty()).then_some(table)
}

/// Returns every reason with its group.
pub fn troubles(recommendation: &Recommendation, of: &Candidate) -> Vec<(String, Option<usize>)> {
    let comparison = &recommendation.comparison;
    let planned = 0..comparison.groups.len();
    let mut troubles: Vec<(String, Option<usize>)> = planned
        .filter_map(|group| {
            let trouble = label::trouble(of.configuration(comparison, group)?)?;
            Some((trouble, Some(group)))
        })
        .collect();
    for missing in &of.missing {
        let is_told = troubles.iter().any(|(_, group)| *group == missing.group);
        match &missing.metric {
            Some(metric) => troubles.push((format!("has no {metric}"), missing.group)),
            None if !is_told => troubles.push(("has no measurements".into(), missing.group)),
            None => {}
        }
    }
    troubles
}
