//! Scenarios as one document.

use preemptlab_scenario::{Checked, Column as Scored, Counts, Model, Outcome, Score, score};
use preemptlab_trace::Lanes;
use serde::Serialize;

use super::{
    played::{Column, State},
    shown::Shown,
};

/// The version of the document.
const FORMAT: u32 = 1;

/// Document of all scenarios.
#[derive(Serialize)]
struct Document<'a> {
    format: u32,
    scenarios: Vec<ScenarioDocument<'a>>,
}

#[derive(Serialize)]
struct ScenarioDocument<'a> {
    name: &'a str,
    description: &'a str,
    cpus: u32,
    models: Vec<ModelDocument<'a>>,
    scores: Vec<ScoreDocument<'a>>,
}

#[derive(Serialize)]
struct ScoreDocument<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    variant: Option<&'a str>,
    #[serde(flatten)]
    score: Score,
}

#[derive(Serialize)]
struct ModelDocument<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    variant: Option<&'a str>,
    model: Model,
    kernel: String,
    #[serde(flatten)]
    state: StateDocument<'a>,
}

#[derive(Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
enum StateDocument<'a> {
    Played {
        release: &'a str,
        outcome: &'a Outcome,
        counts: Counts,
        checked: &'a [Checked],
        start_ns: u64,
        lanes: &'a Lanes,
    },
    Failed {
        reason: &'a str,
    },
    Unavailable {
        reason: &'a str,
    },
}

/// Returns everything that is known of scenarios as a document.
pub fn document<'a>(shown: &'a [Shown<'a>]) -> impl Serialize + 'a {
    let scenario = |shown: &'a Shown<'a>| ScenarioDocument {
        name: shown.scenario.family(),
        description: shown.scenario.description(),
        cpus: shown.scenario.cpus(),
        models: shown.columns.iter().map(model).collect(),
        scores: scores(&shown.columns)
            .into_iter()
            .map(|(variant, score)| ScoreDocument { variant, score })
            .collect(),
    };
    Document { format: FORMAT, scenarios: shown.iter().map(scenario).collect() }
}

/// Returns what each model added to the first and took from it, for each variant with its name.
pub fn scores(columns: &[Column]) -> Vec<(Option<&str>, Score)> {
    let mut variants: Vec<Option<&str>> = Vec::new();
    for column in columns {
        if !variants.contains(&column.variant.as_deref()) {
            variants.push(column.variant.as_deref());
        }
    }
    let of = |variant: Option<&str>| {
        let columns = columns.iter().filter(|column| column.variant.as_deref() == variant);
        scores_of(columns)
    };
    variants
        .into_iter()
        .flat_map(|variant| of(variant).into_iter().map(move |score| (variant, score)))
        .collect()
}

fn scores_of<'a>(columns: impl Iterator<Item = &'a Column>) -> Vec<Score> {
    let scored: Vec<Scored<'_>> = columns
        .filter_map(|column| {
            let played = column.played()?;
            let counts = Some(played.counts());
            Some(Scored { model: column.model, outcome: &played.outcome, counts })
        })
        .collect();
    score(&scored)
}

fn model(column: &Column) -> ModelDocument<'_> {
    let state = match &column.state {
        State::Played(played) => StateDocument::Played {
            release: &played.release,
            outcome: &played.outcome,
            counts: played.counts(),
            checked: &played.checked,
            start_ns: played.lanes.start_ns,
            lanes: &played.lanes,
        },
        State::Failed { reason } => StateDocument::Failed { reason },
        State::Unavailable { reason } => StateDocument::Unavailable { reason },
    };
    ModelDocument {
        variant: column.variant.as_deref(),
        model: column.model,
        kernel: column.kernel.to_string(),
        state,
    }
}
