use std::{num::NonZeroU32, ops::RangeInclusive};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::{Name, PreemptMode, PricesOf, Profile, is_release, text::checked_text};

/// The most workloads, and the most replicates of each.
const COUNT_MAX: usize = 1000;

/// The values of a replicate, beyond all that a benchmark counts in a second. Ratios of them are finite.
const VALUES: RangeInclusive<f64> = 1e-9..=1e15;

/// The most bytes of a kernel's release.
const RELEASE_BYTES_MAX: usize = 64;

checked_text! {
    /// Release of a machine's kernel: `6.18.44`.
    Release, is_short_release,
    "the release of a kernel: a digit, then letters, digits and `.+~_-`, 64 at most"
}

fn is_short_release(text: &str) -> bool {
    text.len() <= RELEASE_BYTES_MAX && is_release(text)
}

/// Results of an experiment's workloads, each in one configuration: as a machine gave them, or as virtual time
/// predicts them. `docs/fidelity.md` describes the TOML form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "ResultsFile", into = "ResultsFile")]
pub struct Results {
    /// Name of the experiment.
    pub experiment: Name,
    /// The machine, or the prediction.
    pub of: ResultsOf,
    /// The workloads, in the order of the experiment.
    pub workloads: IndexMap<Name, WorkloadResults>,
}

/// Origin of results.
#[derive(Clone, Debug, PartialEq)]
pub enum ResultsOf {
    /// A machine, in its own time. It has the name and the description of its profile.
    Machine {
        /// The machine while it was measured.
        machine: MeasuredMachine,
        /// The profile that was calibrated on it.
        profile: Box<Profile>,
    },
    /// Virtual time.
    Prediction(Prediction),
}

/// A machine on which workloads were measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredMachine {
    /// Number of CPUs that are online.
    pub cpus: NonZeroU32,
    /// Release of its kernel.
    pub release: Release,
    /// Ticks of its kernel in a second (`CONFIG_HZ`); `None` where nothing tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hz: Option<NonZeroU32>,
    /// Preemption mode.
    pub preempt: PreemptMode,
    /// Whether the machine is itself a guest.
    pub hypervisor: bool,
    /// Number of replicates. A workload with fewer values lacks those of the others.
    pub replicates: NonZeroU32,
}

/// Virtual time in which workloads were executed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prediction {
    /// Profile that instructions have their prices from; `None` where each takes the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Name>,
    /// Whether the profile's caches are modelled.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub caches: bool,
    /// Whether the profile's stolen time is modelled.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stolen: bool,
}

/// Results of one workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadResults {
    /// Throughput, per second.
    pub throughput_per_s: Replicates,
    /// Latencies of the real-time probe beside it, in microseconds; `None` without such a probe, and where they
    /// were not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wakeup_fifo_us: Option<FifoWakeups>,
}

/// Latencies of a real-time probe, each of every replicate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FifoWakeups {
    /// The median of a replicate.
    pub p50: Replicates,
    /// The latency that one in a hundred exceeds.
    pub p99: Replicates,
    /// The largest latency.
    pub max: Replicates,
}

/// A value of each replicate: at least one, each above 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<f64>", into = "Vec<f64>")]
pub struct Replicates(Vec<f64>);

/// The version of the format of a file of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
struct ResultsFormat;

/// Reason why values are no results.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResultsError {
    /// Another version wrote the file.
    #[error("format {0} of results is not known; this version reads format 1")]
    Format(u32),
    /// A value is none that a benchmark gives.
    #[error("results have 1 to {COUNT_MAX} values, each from {:e} to {:e}", VALUES.start(), VALUES.end())]
    Values,
    /// There are no workloads, or too many.
    #[error("results are of 1 to {COUNT_MAX} workloads, and not of {0}")]
    Workloads(usize),
    /// It is both or neither.
    #[error(
        "results are of a machine, which [machine] and [profile] describe, or of virtual time, which [prediction] \
         describes"
    )]
    Of,
    /// Only a profile has caches and stolen time.
    #[error("a prediction with caches or stolen time names the profile that has them")]
    NoProfile,
    /// There are more values than replicates.
    #[error("{0} has more values than the machine has replicates")]
    Replicates(Name),
}

/// Results as a file has them.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ResultsFile {
    format: ResultsFormat,
    experiment: Name,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    machine: Option<MeasuredMachine>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prediction: Option<Prediction>,
    workload: IndexMap<Name, WorkloadResults>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    profile: Option<Box<Profile>>,
}

impl Results {
    /// Creates results.
    ///
    /// # Errors
    ///
    /// When there is no workload or there are too many, a workload has more values than the machine has
    /// replicates, or a prediction has caches or stolen time of no profile.
    pub fn new(
        experiment: Name,
        of: ResultsOf,
        workloads: IndexMap<Name, WorkloadResults>,
    ) -> Result<Self, ResultsError> {
        if !(1..=COUNT_MAX).contains(&workloads.len()) {
            return Err(ResultsError::Workloads(workloads.len()));
        }
        match &of {
            ResultsOf::Machine { machine, .. } => {
                let is_more = |(_, of): &(&Name, &WorkloadResults)| {
                    of.replicates().any(|values| values.len() > machine.replicates.get() as usize)
                };
                if let Some((name, _)) = workloads.iter().find(is_more) {
                    return Err(ResultsError::Replicates(name.clone()));
                }
            }
            ResultsOf::Prediction(Prediction { profile: None, caches, stolen })
                if *caches || *stolen =>
            {
                return Err(ResultsError::NoProfile);
            }
            ResultsOf::Prediction(_) => {}
        }
        Ok(Self { experiment, of, workloads })
    }
}

impl Prediction {
    /// Returns where its prices are from; `None` where each instruction takes the same time.
    pub fn prices_of(&self) -> Option<PricesOf> {
        let profile = self.profile.clone()?;
        Some(PricesOf { profile, has_caches: self.caches, has_stolen: self.stolen })
    }
}

impl WorkloadResults {
    /// Lists the values of each of its metrics.
    fn replicates(&self) -> impl Iterator<Item = &[f64]> {
        let wakeups = self.wakeup_fifo_us.iter().flat_map(|of| [&of.p50, &of.p99, &of.max]);
        [&self.throughput_per_s].into_iter().chain(wakeups).map(Replicates::values)
    }
}

impl Replicates {
    /// Returns the values.
    pub fn values(&self) -> &[f64] {
        &self.0
    }
}

impl TryFrom<Vec<f64>> for Replicates {
    type Error = ResultsError;

    fn try_from(values: Vec<f64>) -> Result<Self, ResultsError> {
        let are_sound = values.iter().all(|value| VALUES.contains(value));
        match (1..=COUNT_MAX).contains(&values.len()) && are_sound {
            true => Ok(Self(values)),
            false => Err(ResultsError::Values),
        }
    }
}

impl From<Replicates> for Vec<f64> {
    fn from(replicates: Replicates) -> Self {
        replicates.0
    }
}

impl TryFrom<u32> for ResultsFormat {
    type Error = ResultsError;

    fn try_from(format: u32) -> Result<Self, ResultsError> {
        if format == 1 { Ok(Self) } else { Err(ResultsError::Format(format)) }
    }
}

impl From<ResultsFormat> for u32 {
    fn from(_: ResultsFormat) -> Self {
        1
    }
}

impl TryFrom<ResultsFile> for Results {
    type Error = ResultsError;

    fn try_from(file: ResultsFile) -> Result<Self, ResultsError> {
        let of = match (file.machine, file.profile, file.prediction) {
            (Some(machine), Some(profile), None) => ResultsOf::Machine { machine, profile },
            (None, None, Some(prediction)) => ResultsOf::Prediction(prediction),
            _ => return Err(ResultsError::Of),
        };
        Self::new(file.experiment, of, file.workload)
    }
}

impl From<Results> for ResultsFile {
    fn from(results: Results) -> Self {
        let Results { experiment, of, workloads: workload } = results;
        let (machine, profile, prediction) = match of {
            ResultsOf::Machine { machine, profile } => (Some(machine), Some(profile), None),
            ResultsOf::Prediction(prediction) => (None, None, Some(prediction)),
        };
        Self { format: ResultsFormat, experiment, machine, prediction, workload, profile }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(values: &[f64]) -> IndexMap<Name, WorkloadResults> {
        let throughput_per_s = values.to_vec().try_into().unwrap();
        let of = WorkloadResults { throughput_per_s, wakeup_fifo_us: None };
        [("load".parse().unwrap(), of)].into()
    }

    #[test]
    fn values_are_what_a_benchmark_can_give() {
        assert_eq!(Replicates::try_from(vec![0.5, 1e15]).unwrap().values(), [0.5, 1e15]);
        let nonsense = [0.0, -1.0, 1e-300, 1e16, f64::NAN, f64::INFINITY];
        for values in
            nonsense.map(|value| vec![1.0, value]).into_iter().chain([vec![], vec![1.0; 1001]])
        {
            assert_eq!(
                Replicates::try_from(values.clone()),
                Err(ResultsError::Values),
                "{values:?}"
            );
        }
    }

    #[test]
    fn releases_are_short_words() {
        for text in ["6.18.44", "7.0-rc3", "5.10.0-32-amd64"] {
            assert!(text.parse::<Release>().is_ok(), "{text}");
        }
        for text in ["", "v6.1", "6.1 x", "6.1\u{1b}[2J", "../6", &"6".repeat(65)] {
            assert!(text.parse::<Release>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn results_are_of_workloads_and_a_possible_prediction() {
        let experiment = || "prices".parse::<Name>().unwrap();
        let of = |profile: Option<&str>, caches| {
            let profile = profile.map(|name| name.parse().unwrap());
            ResultsOf::Prediction(Prediction { profile, caches, stolen: false })
        };
        let results = Results::new(experiment(), of(Some("mine"), true), one(&[1.0, 2.0])).unwrap();
        let json = serde_json::to_string(&results).unwrap();
        assert_eq!(serde_json::from_str::<Results>(&json).unwrap(), results);
        let refused = Results::new(experiment(), of(None, true), one(&[1.0]));
        assert_eq!(refused, Err(ResultsError::NoProfile));
        let refused = Results::new(experiment(), of(None, false), IndexMap::new());
        assert_eq!(refused, Err(ResultsError::Workloads(0)));
    }
}
