//! The sentences of a recommendation.

use preemptlab_analysis::advice::Advice;
use preemptlab_model::{Direction, counted, number};
use preemptlab_stats::{
    Among, Answer, Candidate, Certainty, Choice, Configuration, Constraint, Judgement, Limit,
    Objective, Obstacle, Preference, REPLICATES_MIN, Recommendation, Statistic, Verdict,
};
use preemptlab_system::tune::Proposal;

use crate::label;

/// States that nothing is recommended, and why.
pub fn no_choice(recommendation: &Recommendation) -> String {
    let of = recommendation.among.as_ref().map(|among| format!(" of {}", patterns(among)));
    let what = match recommendation.constraints.is_empty() {
        true => "was measured whole",
        false => "satisfies every requirement",
    };
    format!("No configuration{} {what}.", of.unwrap_or_default())
}

/// Returns patterns joined by "or": `debian:7.2* or */full`.
fn patterns(among: &Among) -> String {
    let patterns: Vec<String> = among.patterns.iter().map(ToString::to_string).collect();
    patterns.join(" or ")
}

/// Lists the requirements that were given, without the defaults.
pub fn asked(recommendation: &Recommendation) -> Vec<String> {
    let requirements = recommendation.constraints.iter().map(constraint);
    let objective = (!recommendation.objective.is_default).then(|| objective(recommendation));
    let among = recommendation.among.as_ref().map(|among| format!("among {}", patterns(among)));
    requirements.chain(objective).chain(among).collect()
}

/// Lists the defaults that took part in the answer, each with the option that changes it; `None`
/// where none did.
pub fn defaults(advice: &Advice) -> Option<String> {
    let Recommendation { objective: of, comparison, choice, .. } = &advice.recommendation;
    let objective = of
        .is_default
        .then(|| format!("{} (--maximize or --minimize)", objective(&advice.recommendation)));
    let has_others = choice.as_ref().is_some_and(|choice| !choice.runners_up.is_empty());
    let margin = (advice.is_margin_default && has_others)
        .then(|| format!("a margin of {} (--margin)", comparison.margins.share()));
    let baseline = (advice.is_baseline_default && is_related_to_baseline(&advice.recommendation))
        .then(|| "the first configuration as the baseline (--baseline)".to_owned());
    let defaults: Vec<String> = [objective, margin, baseline].into_iter().flatten().collect();
    let what = defaults.join(", ");
    (!defaults.is_empty())
        .then(|| format!("Not asked for, but the default, with the option to change it: {what}."))
}

fn is_related_to_baseline(recommendation: &Recommendation) -> bool {
    let is_share = |it: &Constraint| matches!(it.limit, Limit::OfBaseline(_));
    recommendation.objective.groups.len() > 1 || recommendation.constraints.iter().any(is_share)
}

/// Returns a name such as `debian:6.12/full`, with the recording where there are several.
pub fn candidate(candidate: &Candidate) -> String {
    let run = candidate.run.as_ref().map(|run| format!("{run}: ")).unwrap_or_default();
    format!("{run}{}", candidate.name())
}

/// Returns a constraint such as `wakeup.fifo.max <= 100 us`.
pub fn constraint(constraint: &Constraint) -> String {
    let Constraint { metric, comparator, limit } = constraint;
    let limit = match limit {
        Limit::Value(value) => format!("{value} {}", metric.unit),
        Limit::OfBaseline(share) => {
            format!("{}% of the baseline", (share * 1e6).round() / 1e4)
        }
    };
    format!("{} {} {limit}", metric.name, comparator.as_str())
}

pub fn headline(recommendation: &Recommendation, choice: &Choice, advice: &Advice) -> String {
    let name = candidate(&recommendation.candidates[choice.candidate]);
    let with = match &advice.settings {
        Some(Ok(Proposal { settings, .. })) => {
            let release = settings.release().map(|release| format!("kernel {release}"));
            let parameters = settings.parameters().join(" ");
            let parameters = Some(parameters).filter(|parameters| !parameters.is_empty());
            release.into_iter().chain(parameters).collect::<Vec<_>>().join(" with ")
        }
        _ => String::new(),
    };
    let with = if with.is_empty() { with } else { format!(": {with}") };
    let so_far =
        so_far(recommendation).map(|of| format!("So far, with {of}: ")).unwrap_or_default();
    let unshown = unshown(recommendation, choice);
    let but = match unshown.is_empty() {
        true => String::new(),
        false => format!(", though {} is not shown", unshown.join(" and ")),
    };
    let headline = match alike(recommendation, choice) {
        Some(alike) => {
            format!("{alike}: keep what you run if it is one of them, or run {name}{with}")
        }
        None => format!("run {name}{with}"),
    };
    capital(&format!("{so_far}{headline}{but}"))
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    characters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

/// Returns how many cells are executed, where that is not all: `18 of 54 cells`.
fn so_far(recommendation: &Recommendation) -> Option<String> {
    let groups = recommendation.comparison.groups.iter();
    let possible = groups.flat_map(|group| &group.configurations);
    let possible = possible.filter(|each| each.unavailable.is_none());
    let (all, missing) = possible
        .fold((0, 0), |(all, missing), each| (all + each.replicates, missing + each.missing));
    (missing > 0).then(|| format!("{} of {}", all - missing, counted(all, "cell")))
}

/// Returns that several configurations are as good as each other; `None` where one is better than the
/// rest, or is preferred for a requirement's metric.
fn alike(recommendation: &Recommendation, choice: &Choice) -> Option<String> {
    let Certainty::Tied { others } = choice.certainty() else { return None };
    if matches!(choice.preference, Preference::Constraint { .. }) {
        return None;
    }
    let verdicts = choice.runners_up.iter().filter_map(|each| each.objective);
    let is_hidden = verdicts.map(|it| it.verdict).any(|it| it == Verdict::WithinResolution);
    let within = match is_hidden {
        true => "the resolution of its instrument".to_owned(),
        false => recommendation.margin(&recommendation.objective.metric).to_string(),
    };
    let metric = &recommendation.objective.metric.name;
    Some(format!("{} configurations have the same {metric} within {within}", others + 1))
}

/// Lists the requirements that nothing shows the recommended configuration to break or to satisfy.
fn unshown(recommendation: &Recommendation, choice: &Choice) -> Vec<String> {
    let judgements = recommendation.candidates[choice.candidate].judgements.iter();
    let unclear = judgements.filter(|it| it.answer == Answer::Unclear);
    let mut unshown: Vec<String> =
        unclear.map(|it| constraint(&recommendation.constraints[it.constraint])).collect();
    unshown.dedup();
    unshown
}

/// Returns the value of a judgement with its unit; `no event` where there is none.
pub fn value(of: &Judgement) -> String {
    match of.statistic {
        Statistic::NoEvent => "no event".to_owned(),
        _ => format!("{} {}", number::number(of.value), of.unit),
    }
}

/// Returns the answer of a judgement: `holds`, `no event in 6 cells`, `not shown by 5940 samples`.
pub fn answer(of: &Judgement) -> String {
    match (of.answer, of.statistic, of.samples) {
        (Answer::Holds, Statistic::WorstInstant, Some(instants)) if instants > 0 => {
            let seconds = number::number(instants as f64 / 1e9);
            format!("{} at every instant of {seconds} s", Answer::Holds.as_str())
        }
        (Answer::Holds, Statistic::NoEvent, _) => format!("no event in {}", counted(of.n, "cell")),
        (Answer::Unclear, Statistic::Largest, Some(samples)) if samples > 0 => {
            format!("not shown by {}", counted(samples, "sample"))
        }
        (Answer::Unclear, Statistic::Median, _) if of.n > 1 => Answer::Unclear.as_str().to_owned(),
        (Answer::Unclear, ..) => format!("not shown by {}", counted(of.n, "cell")),
        (answer, ..) => answer.as_str().to_owned(),
    }
}

/// Says why samples within a limit on a maximum do not show that it holds, and which evidence would;
/// `None` where no limit is judged by samples.
pub fn by_samples(recommendation: &Recommendation, choice: &Choice) -> Option<String> {
    let judgements = recommendation.candidates[choice.candidate].judgements.iter();
    let mut unclear = judgements
        .filter(|it| it.answer == Answer::Unclear && it.statistic == Statistic::Largest)
        .map(|it| &recommendation.constraints[it.constraint].metric.name)
        .filter(|name| name.is_sampled_maximum());
    let first = unclear.next()?;
    let bounded = [first].into_iter().chain(unclear).any(|name| name.bound().is_some());
    let next = match bounded {
        true => {
            "; the worst instant bounds it, which cells in virtual time of this preemptlab have"
        }
        false => "",
    };
    Some(format!("A limit on a maximum is not shown by samples: the next one may exceed it{next}."))
}

/// Explains what a limit on the worst case that no replicate exceeded allows for further cells; of
/// several workloads that with the fewest replicates counts.
pub fn further_cells(recommendation: &Recommendation, choice: &Choice) -> Option<String> {
    let judgements = recommendation.candidates[choice.candidate].judgements.iter();
    let shares = judgements.filter_map(|it| Some((it.n, it.further_cells()?)));
    let most = shares.clone().map(|(n, _)| n).max()?;
    let (n, share) = shares.min_by_key(|(n, _)| *n)?;
    let none = match n {
        n if n == most => format!("None of {n} replicates exceeded the limit on the worst case"),
        n => format!(
            "None of its replicates, {n} to {most} for each workload, exceeded the limit on the \
             worst case"
        ),
    };
    let percent = (share * 100.0).ceil();
    Some(format!("{none}: with 95% confidence fewer than {percent}% of further cells do."))
}

/// Warns if the recommended configuration itself failed at times.
pub fn failures(recommendation: &Recommendation, choice: &Choice) -> Option<String> {
    let recommended = &recommendation.candidates[choice.candidate];
    let groups = recommendation.comparison.groups.iter().enumerate();
    let failures = groups.filter_map(|(index, group)| {
        let configuration = recommended.configuration(&recommendation.comparison, index)?;
        Some(format!("for {}, {}", label::group(group), label::trouble(configuration)?))
    });
    let failures = failures.collect::<Vec<_>>();
    (!failures.is_empty()).then(|| format!("Of its own replicates {}.", failures.join("; ")))
}

/// Describes the certainty that this is the best, and the reason why it is preferred to those that
/// are as good.
pub fn certainty(recommendation: &Recommendation, choice: &Choice) -> String {
    let metric = &recommendation.objective.metric.name;
    let margin = recommendation.margin(&recommendation.objective.metric);
    let among = match recommendation.constraints.is_empty() {
        true => "that was measured",
        false => "that satisfies every requirement",
    };
    let groups = recommendation.comparison.groups.iter();
    let configurations = groups.flat_map(|group| &group.configurations);
    let few = match configurations.map(Configuration::measured).max() {
        Some(n) if n < REPLICATES_MIN => {
            format!(" Fewer than {REPLICATES_MIN} replicates decide nothing.")
        }
        _ => String::new(),
    };
    let noun = match recommendation.among {
        Some(_) => "candidate",
        None => "configuration",
    };
    let others = |others: usize| match others {
        1 => format!("one other {noun}"),
        others => format!("{others} other {noun}s"),
    };
    let sure = match choice.certainty() {
        Certainty::Only => format!("How sure: there is no other {noun} to choose from."),
        Certainty::Sure => format!(
            "How sure: every other {noun} {among} is worse in {metric}, and that is decided."
        ),
        Certainty::Tied { others: count } => format!(
            "How sure: {} {} the same in {metric} within {margin}, and none {among} is better.",
            others(count),
            if count == 1 { "is" } else { "are" },
        ),
        Certainty::Undecided { others: count, more } => {
            let more = match more {
                Some(more) => format!("about {more} more replicates would tell"),
                None => "how many more replicates would tell cannot be estimated".to_owned(),
            };
            format!(
                "How sure: not sure. It has the best {metric} measured, but {} might be as good or \
                 better; {more}.{few}",
                others(count)
            )
        }
    };
    match choice.preference {
        Preference::Objective => sure,
        Preference::Constraint { constraint } => format!(
            "{sure} Of those that are the same it is preferred because it is better in {}.",
            recommendation.constraints[constraint].metric.name
        ),
        Preference::FewestChanges => {
            format!("{sure} Of those that are the same it changes the least against the baseline.")
        }
    }
}

/// Describes the constraints that stand in the way, and the configuration that comes closest.
pub fn obstacle(recommendation: &Recommendation) -> Vec<String> {
    let obstacles = recommendation.obstacles();
    let name = |index: usize| candidate(&recommendation.candidates[index]);
    let constraint =
        |obstacle: &Obstacle| constraint(&recommendation.constraints[obstacle.constraint]);
    let mut texts: Vec<String> = obstacles
        .iter()
        .filter_map(|obstacle| {
            let without = obstacle.without?;
            Some(format!(
                "The obstacle is {}: without it the choice would be {}.",
                constraint(obstacle),
                name(without)
            ))
        })
        .collect();
    if texts.is_empty() && !obstacles.is_empty() {
        let each: Vec<String> = obstacles
            .iter()
            .filter(|obstacle| obstacle.failing > 0)
            .map(|obstacle| format!("{} (fails for {})", constraint(obstacle), obstacle.failing))
            .collect();
        if !each.is_empty() {
            texts.push(format!(
                "No requirement is the obstacle alone, and dropping any one of them leaves no \
                 choice: {}.",
                each.join("; ")
            ));
        }
    }
    texts.extend(recommendation.closest().map(|closest| {
        let candidate = &recommendation.candidates[closest];
        let misses = (0..recommendation.constraints.len()).filter_map(|index| {
            let (judgement, _) = candidate.worst_failure(index)?;
            let of = &recommendation.constraints[index];
            let value = value(judgement);
            let statistic = match judgement.statistic {
                Statistic::Largest => format!("the largest of {} is {value}", judgement.n),
                Statistic::WorstInstant => {
                    format!("the worst instant of {} is {value}", counted(judgement.n, "cell"))
                }
                Statistic::NoEvent => format!("there is {value}"),
                Statistic::Median => format!("the median is {value}"),
            };
            let group = label::group(&recommendation.comparison.groups[judgement.group]);
            Some(format!("{} ({statistic} for {group})", self::constraint(of)))
        });
        format!(
            "The closest is {}, which misses {}.",
            name(closest),
            misses.collect::<Vec<_>>().join("; ")
        )
    }));
    if texts.is_empty() {
        texts.push("None of them was measured whole.".to_owned());
    }
    texts
}

/// Describes the groups of the answer, and the full names of short ones.
pub fn scope(recommendation: &Recommendation) -> String {
    let Recommendation { comparison, objective, short_names, .. } = recommendation;
    let Objective { metric, direction, .. } = objective;
    let groups: Vec<String> = comparison.groups.iter().map(label::group).collect();
    let mut scope = format!("Over {}.", groups.join(", "));
    if let Some(among) = &recommendation.among {
        let matching = recommendation.candidates.len();
        let patterns = patterns(among);
        scope += &match (matching, matching + among.left_out) {
            (1, 1) => format!(" The candidate is the only configuration; it matches {patterns}."),
            (1, all) => format!(
                " The candidate is the one of {all} configurations that matches {patterns}."
            ),
            (_, all) => format!(
                " The candidates are the {matching} of {all} configurations that match {patterns}."
            ),
        };
    }
    if objective.groups.len() > 1 {
        scope += &format!(
            " A requirement must be satisfied in each of them; {} is {} by the geometric mean of \
             its ratios to the baseline of each.",
            metric.name,
            optimized(*direction)
        );
    }
    if is_related_to_baseline(recommendation) {
        let groups = comparison.groups.iter();
        let mut baselines: Vec<String> =
            groups.filter_map(|group| Some(group.baseline()?.name().to_string())).collect();
        baselines.dedup();
        scope += &format!(" The baseline is {}.", baselines.join(", and then "));
    }
    let left_out: Vec<String> = (0..comparison.groups.len())
        .filter(|group| !objective.groups.contains(group))
        .map(|group| label::group(&comparison.groups[group]))
        .collect();
    if !left_out.is_empty() {
        scope += &format!(
            " {} is not judged in {}, where it has no ratio to a baseline or was not measured.",
            objective.metric.name,
            left_out.join(", ")
        );
    }
    for (short, full) in short_names {
        scope += &format!(" {short} is that of the real-time probe, {full}.");
    }
    scope
}

/// Returns words such as `throughput maximized`.
pub fn objective(recommendation: &Recommendation) -> String {
    let Objective { metric, direction, .. } = &recommendation.objective;
    format!("{} {}", metric.name, optimized(*direction))
}

fn optimized(direction: Direction) -> &'static str {
    match direction {
        Direction::Higher => "maximized",
        Direction::Lower => "minimized",
    }
}

/// Returns the name of a statistic of the replicates.
pub fn statistic(statistic: Statistic) -> &'static str {
    match statistic {
        Statistic::Largest => "largest",
        Statistic::WorstInstant => "worst instant",
        Statistic::NoEvent => "",
        Statistic::Median => "median",
    }
}
