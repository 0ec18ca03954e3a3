//! Recordings that are compared with each other must have measured the same thing.

use std::{collections::BTreeSet, path::PathBuf};

use preemptlab_experiment::Recording;
use preemptlab_model::{CellId, counted};
use serde_json::{Map, Value};

use crate::{Error, Result};

/// Opens recordings of the same workloads, with warnings of possible oversights.
///
/// # Errors
///
/// When one cannot be read, is named twice, or has another workload of the same name.
pub fn open(paths: &[PathBuf]) -> Result<(Vec<Recording>, Vec<String>)> {
    let recordings = paths.iter().map(|path| Recording::open(path));
    let recordings: Vec<Recording> = recordings.collect::<Result<_, _>>()?;
    refuse(&recordings)?;
    let warnings = machines(&recordings).into_iter().chain(shared(&recordings)).collect();
    Ok((recordings, warnings))
}

/// Refuses recordings in which one name stands for two workloads, and one that is named twice,
/// whose replicates would count twice.
fn refuse(recordings: &[Recording]) -> Result<()> {
    for (one, other) in pairs(recordings) {
        let place = |recording: &Recording| std::fs::canonicalize(recording.path()).ok();
        if place(one).is_some() && place(one) == place(other) {
            let message = format!("{} is named twice", one.path().display());
            return Err(Error::Unusable(message));
        }
        for (name, workload) in &one.manifest().experiment.workload {
            let Some(same) = other.manifest().experiment.workload.get(name) else { continue };
            if workload != same {
                return Err(Error::Unusable(format!(
                    "`{name}` is not the same workload in {} and {}: {}; take each by itself, or \
                     run them again with equal parameters",
                    one.path().display(),
                    other.path().display(),
                    differences(workload, same)
                )));
            }
        }
    }
    Ok(())
}

/// Warns of cells that two recordings share: such a cell was measured once, however often it was
/// executed.
fn shared(recordings: &[Recording]) -> Vec<String> {
    let ids = |recording: &Recording| -> BTreeSet<CellId> {
        recording.planned().filter_map(|(_, cell)| Some(cell.inputs()?.id())).collect()
    };
    let shared = pairs(recordings).filter_map(|(one, other)| {
        let count = ids(one).intersection(&ids(other)).count();
        (count > 0).then(|| {
            format!(
                "{} and {} share {}: of these there is one measurement and not two",
                one.path().display(),
                other.path().display(),
                counted(count, "cell")
            )
        })
    });
    shared.collect()
}

fn machines(recordings: &[Recording]) -> Vec<String> {
    let differing = pairs(recordings).filter_map(|(one, other)| {
        let (machine, same) =
            (&one.manifest().experiment.machine, &other.manifest().experiment.machine);
        (machine != same).then(|| {
            format!(
                "the machines of {} and {} differ: {}",
                one.path().display(),
                other.path().display(),
                differences(machine, same)
            )
        })
    });
    differing.collect()
}

/// Returns every pair of them.
fn pairs(recordings: &[Recording]) -> impl Iterator<Item = (&Recording, &Recording)> {
    let after = |at: usize| recordings.iter().skip(at + 1);
    recordings
        .iter()
        .enumerate()
        .flat_map(move |(at, one)| after(at).map(move |other| (one, other)))
}

/// Returns the keys that differ, with both values.
pub(crate) fn differences(one: &impl serde::Serialize, other: &impl serde::Serialize) -> String {
    let (Ok(Value::Object(one)), Ok(Value::Object(other))) =
        (serde_json::to_value(one), serde_json::to_value(other))
    else {
        return String::new();
    };
    differing("", &one, &other).join(", ")
}

/// Returns the differing keys of an object in another, with a prefix.
fn differing(prefix: &str, one: &Map<String, Value>, other: &Map<String, Value>) -> Vec<String> {
    let of_key = |(key, value): (&String, &Value)| {
        let same = other.get(key).unwrap_or(&Value::Null);
        match (value, same) {
            (Value::Object(one), Value::Object(other)) if key != "cost" => {
                differing(&format!("{prefix}{key}."), one, other)
            }
            _ if value == same => Vec::new(),
            _ if key == "cost" => vec![cost(value, same)],
            _ => vec![format!("{prefix}{key} is {value} and {}", said(same))],
        }
    };
    let only_there = other.iter().filter(|(key, _)| !one.contains_key(*key));
    let only_there = only_there.map(|(key, same)| match key.as_str() {
        "cost" => cost(&Value::Null, same),
        _ => format!("{prefix}{key} is {} and {same}", said(&Value::Null)),
    });
    one.iter().flat_map(of_key).chain(only_there).collect()
}

/// Returns a value, which is left out where it is the default.
fn said(value: &Value) -> String {
    if value.is_null() { "the default".to_owned() } else { value.to_string() }
}

/// Says that two profiles of prices differ.
fn cost(one: &Value, other: &Value) -> String {
    let name = |cost: &Value| cost.get("name").map_or("\"instructions\"".into(), Value::to_string);
    match [one, other].map(name) {
        [one, other] if one == other => format!("the profiles {one} have other prices"),
        [one, other] => format!("cost is {one} and {other}"),
    }
}
