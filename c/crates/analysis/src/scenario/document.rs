//! Scenarios as one document.

use preemptlab_scenario::{Checked, Column as Scored, Counts, Model, Outcome, Score, score};
use preemptlab_trace::Lanes;
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    played::{Column, State},
    shown::Shown,
};

/// The version of the document.
const FORMAT: u32 = 1;

/// Scenarios and what came of playing them, as a document.
#[derive(Serialize, JsonSchema)]
pub struct ScenariosDocument<'a> {
    /// Version of the document.
    pub format: u32,
    /// The scenarios.
    pub scenarios: Vec<ScenarioDocument<'a>>,
}

/// A scenario under each model.
#[derive(Serialize, JsonSchema)]
pub struct ScenarioDocument<'a> {
    /// Name of the scenario.
    pub name: &'a str,
    /// The situation, in a sentence.
    pub description: &'a str,
    /// Number of CPUs.
    pub cpus: u32,
    /// The scenario under each model, and for each variant.
    pub models: Vec<ModelDocument<'a>>,
    /// The differences of each model from the first one.
    pub scores: Vec<ScoreDocument<'a>>,
}

/// A score, of a variant where the scenario has several.
#[derive(Serialize, JsonSchema)]
pub struct ScoreDocument<'a> {
    /// Name of the variant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<&'a str>,
    /// The score.
    #[serde(flatten)]
    pub score: Score,
}

/// A scenario under a model.
#[derive(Serialize, JsonSchema)]
pub struct ModelDocument<'a> {
    /// Name of the variant, where the scenario has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<&'a str>,
    /// The model.
    pub model: Model,
    /// Name of the kernel.
    pub kernel: String,
    /// Its outcome.
    #[serde(flatten)]
    pub state: StateDocument<'a>,
}

/// Outcome of a scenario under a model.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum StateDocument<'a> {
    /// It was played.
    Played {
        /// `uname -r`.
        release: &'a str,
        /// Outcome of the threads.
        outcome: &'a Outcome,
        /// Counts of the trace.
        counts: Counts,
        /// Expectations and their results.
        checked: &'a [Checked],
        /// Start of the scenario, which is its time 0, in virtual nanoseconds.
        start_ns: u64,
        /// Lanes of all threads and CPUs.
        lanes: &'a Lanes,
    },
    /// It was not played.
    Failed {
        /// Reason, in words.
        reason: &'a str,
    },
    /// The kernel has no such model.
    Unavailable {
        /// Reason, in words.
        reason: &'a str,
    },
}

/// Returns everything that is known of scenarios as a document.
pub fn document<'a>(shown: &'a [Shown<'a>]) -> ScenariosDocument<'a> {
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
    ScenariosDocument { format: FORMAT, scenarios: shown.iter().map(scenario).collect() }
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
