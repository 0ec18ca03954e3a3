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
    scores: Vec<Score>,
}

#[derive(Serialize)]
struct ModelDocument<'a> {
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
        name: shown.scenario.name(),
        description: shown.scenario.description(),
        cpus: shown.scenario.cpus(),
        models: shown.columns.iter().map(model).collect(),
        scores: scores(&shown.columns),
    };
    Document { format: FORMAT, scenarios: shown.iter().map(scenario).collect() }
}

/// Returns the scores of the models against the first.
pub(super) fn scores(columns: &[Column]) -> Vec<Score> {
    let scored: Vec<Scored<'_>> = columns
        .iter()
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
    ModelDocument { model: column.model, kernel: column.kernel.to_string(), state }
}
