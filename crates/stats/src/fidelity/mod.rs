//! How well virtual time, or another machine, predicts the workloads of a machine.

mod document;

use libm::{exp, log};
use preemptlab_model::{
    FifoWakeups, MeasuredMachine, Replicates, Results, ResultsOf, WorkloadResults,
};

pub use document::{
    FIDELITY_FORMAT, Fidelity, FidelityError, FidelityMachine, FidelityRatio, FidelityRelation,
    FidelitySource, FidelityWakeups, FidelityWorkload,
};

use crate::summary::median;

/// The name of the prediction in which each instruction takes the same time.
const INSTRUCTIONS: &str = "instructions";

/// The fewest workloads that two sources must share: a pair.
const SHARED_MIN: usize = 2;

/// Reason why results cannot be set beside each other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unrelated {
    /// There is no machine.
    #[error(
        "none of these is a machine: name a file that `preemptlab system submit` wrote; docs/fidelity/machines has some"
    )]
    NoMachine,
    /// There is nothing but one machine.
    #[error(
        "nothing predicts the machine {0}: name a recording of the same experiment in virtual time, or another machine"
    )]
    Alone(String),
    /// They are of two experiments.
    #[error("{0} is of the experiment `{1}` and {2} of `{3}`: name results of one experiment")]
    Experiments(String, String, String, String),
    /// Two have one name.
    #[error("two of these are called {0}: name one of them")]
    Twice(String),
    /// They share too little.
    #[error(
        "{0} and {1} share {2} of the workloads, and a pair needs {SHARED_MIN}: run the whole experiment"
    )]
    Shared(String, String, usize),
}

/// Relates results of one experiment: each machine to virtual time and to the other machines.
///
/// # Errors
///
/// When there is no machine or nothing beside it, the results are of several experiments, two have one name,
/// or two share fewer than two workloads.
pub fn fidelity(results: &[Results]) -> Result<Fidelity, Unrelated> {
    let mut sources: Vec<FidelitySource> = results.iter().map(FidelitySource::new).collect();
    check(results, &sources)?;
    sources.sort_by_key(|source| source.machine.is_some());
    let is_machine = |at: &usize| sources[*at].machine.is_some();
    let mut relations = Vec::new();
    for machine in (0..sources.len()).filter(is_machine) {
        for by in (0..sources.len()).filter(|by| *by != machine) {
            relations.push(FidelityRelation::new(&sources, machine, by)?);
        }
    }
    let experiment = results.first().map(|of| of.experiment.to_string()).unwrap_or_default();
    Ok(Fidelity { format: FIDELITY_FORMAT, experiment, sources, relations })
}

fn check(results: &[Results], sources: &[FidelitySource]) -> Result<(), Unrelated> {
    let machine = sources.iter().find(|source| source.machine.is_some());
    let machine = machine.ok_or(Unrelated::NoMachine)?;
    if sources.len() == 1 {
        return Err(Unrelated::Alone(machine.name.clone()));
    }
    for (at, source) in sources.iter().enumerate() {
        let (one, other) = (&results[0].experiment, &results[at].experiment);
        if one != other {
            let [first, name] = [&sources[0], source].map(FidelitySource::title);
            return Err(Unrelated::Experiments(first, one.to_string(), name, other.to_string()));
        }
        if sources[..at].iter().any(|earlier| earlier.title() == source.title()) {
            return Err(Unrelated::Twice(source.title()));
        }
    }
    Ok(())
}

impl FidelitySource {
    fn new(results: &Results) -> Self {
        let (name, machine) = match &results.of {
            ResultsOf::Machine { machine, profile } => {
                let description = profile.machine.to_string();
                (profile.name.to_string(), Some(FidelityMachine::new(description, machine)))
            }
            ResultsOf::Prediction(of) => {
                let name =
                    of.prices_of().map_or_else(|| INSTRUCTIONS.to_owned(), |of| of.to_string());
                (name, None)
            }
        };
        let workloads = results.workloads.iter().map(|(name, of)| FidelityWorkload::new(name, of));
        Self { name, machine, workloads: workloads.collect() }
    }

    /// Returns its name, which tells a machine from a profile of the same name.
    pub fn title(&self) -> String {
        match self.machine {
            Some(_) => format!("the machine {}", self.name),
            None => self.name.clone(),
        }
    }
}

impl FidelityMachine {
    fn new(description: String, machine: &MeasuredMachine) -> Self {
        Self {
            description,
            cpus: machine.cpus.get(),
            release: machine.release.to_string(),
            hz: machine.hz.map(Into::into),
            preempt: machine.preempt,
            hypervisor: machine.hypervisor,
            replicates: machine.replicates.get(),
        }
    }
}

impl FidelityWorkload {
    fn new(name: &str, of: &WorkloadResults) -> Self {
        let middle = |of: &Replicates| median(of.values()).unwrap_or_default();
        let wakeups = |FifoWakeups { p50, p99, max }: &FifoWakeups| FidelityWakeups {
            p50: middle(p50),
            p99: middle(p99),
            max: middle(max),
        };
        Self {
            workload: name.to_owned(),
            throughput_per_s: of.throughput_per_s.values().iter().copied().fold(0.0, f64::max),
            wakeup_fifo_us: of.wakeup_fifo_us.as_ref().map(wakeups),
        }
    }

    /// Returns the ratio of a prediction of the workload to it.
    fn predicted_by(&self, by: &Self) -> FidelityRatio {
        let shares = |of: &FidelityWakeups, by: &FidelityWakeups| FidelityWakeups {
            p50: by.p50 / of.p50,
            p99: by.p99 / of.p99,
            max: by.max / of.max,
        };
        let wakeups = self.wakeup_fifo_us.as_ref().zip(by.wakeup_fifo_us.as_ref());
        FidelityRatio {
            workload: self.workload.clone(),
            throughput: by.throughput_per_s / self.throughput_per_s,
            wakeup_fifo: wakeups.map(|(of, by)| shares(of, by)),
        }
    }
}

impl FidelityRelation {
    fn new(sources: &[FidelitySource], machine: usize, by: usize) -> Result<Self, Unrelated> {
        let predicted = |of: &FidelityWorkload| {
            let its = sources[by].workloads.iter().find(|its| its.workload == of.workload)?;
            Some(of.predicted_by(its))
        };
        let ratios: Vec<FidelityRatio> =
            sources[machine].workloads.iter().filter_map(predicted).collect();
        if ratios.len() < SHARED_MIN {
            let [of, by] = [machine, by].map(|at| sources[at].title());
            return Err(Unrelated::Shared(of, by, ratios.len()));
        }
        let logs: Vec<f64> = ratios.iter().map(|ratio| log(ratio.throughput)).collect();
        let pairs = logs.iter().enumerate();
        let pairs = pairs.flat_map(|(at, one)| logs[at + 1..].iter().map(move |other| one - other));
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        Ok(Self {
            machine,
            by,
            pairs: FidelityError::new(pairs),
            workloads: FidelityError::new(logs.iter().copied()),
            factor: exp(-mean),
            with_factor: FidelityError::new(logs.iter().map(|log| log - mean)),
            ratios,
        })
    }
}

impl FidelityError {
    /// Sums up errors from the logarithms of ratios; there is at least one.
    fn new(logs: impl Iterator<Item = f64>) -> Self {
        let sizes: Vec<f64> = logs.map(f64::abs).collect();
        let within = |limit: f64| sizes.iter().filter(|size| **size <= log(limit)).count();
        Self {
            mean: exp(sizes.iter().sum::<f64>() / sizes.len() as f64),
            max: exp(sizes.iter().copied().fold(0.0, f64::max)),
            within_20_percent: within(1.20),
            within_25_percent: within(1.25),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use preemptlab_model::{Arch, Name, Prediction, PreemptMode};
    use serde_json::{Map, json};

    use super::*;

    fn results(of: ResultsOf, throughputs: &[(&str, &[f64])]) -> Results {
        let workloads = throughputs.iter().map(|(name, values)| {
            let throughput_per_s = values.to_vec().try_into().unwrap();
            let of = WorkloadResults { throughput_per_s, wakeup_fifo_us: None };
            (name.parse::<Name>().unwrap(), of)
        });
        Results::new("made".parse().unwrap(), of, workloads.collect()).unwrap()
    }

    fn machine(name: &str) -> ResultsOf {
        let classes = Arch::Amd64.platform().price_classes.iter();
        let prices: Map<String, _> = classes.map(|class| (class.to_string(), json!(256))).collect();
        let profile = json!({
            "format": 2, "name": name, "arch": "amd64", "machine": "a machine", "prices": prices
        });
        let machine = MeasuredMachine {
            cpus: NonZeroU32::MIN,
            release: "6.12".parse().unwrap(),
            hz: None,
            preempt: PreemptMode::None,
            hypervisor: false,
            replicates: NonZeroU32::new(3).unwrap(),
        };
        ResultsOf::Machine { machine, profile: serde_json::from_value(profile).unwrap() }
    }

    fn prediction(profile: Option<&str>) -> ResultsOf {
        let profile = profile.map(|name| name.parse().unwrap());
        ResultsOf::Prediction(Prediction { profile, caches: false, stolen: false })
    }

    fn near(found: f64, wanted: f64) -> bool {
        (found / wanted - 1.0).abs() < 1e-12
    }

    /// Three workloads that are predicted as ×2, ×2 and ×4: two pairs are ×2 off, and one is right.
    #[test]
    fn errors_are_those_of_pairs_and_what_a_factor_leaves() {
        let of = results(machine("m"), &[("a", &[1.0, 3.0, 2.0]), ("b", &[5.0]), ("c", &[7.0])]);
        let by = results(prediction(None), &[("c", &[28.0]), ("a", &[6.0]), ("b", &[10.0])]);
        let found = fidelity(&[of, by]).unwrap();
        let names: Vec<_> = found.sources.iter().map(FidelitySource::title).collect();
        assert_eq!(names, ["instructions", "the machine m"]);
        let [relation] = &found.relations[..] else { panic!("{found:?}") };
        assert_eq!((relation.machine, relation.by), (1, 0));
        let ratios: Vec<f64> = relation.ratios.iter().map(|ratio| ratio.throughput).collect();
        assert_eq!(ratios, [2.0, 2.0, 4.0], "the best replicate counts");
        let cube_root = libm::cbrt;
        assert!(near(relation.pairs.mean, cube_root(4.0)) && near(relation.pairs.max, 2.0));
        assert_eq!(relation.pairs.within_20_percent, 1);
        assert!(near(relation.workloads.mean, cube_root(16.0)));
        assert!(near(relation.factor, 1.0 / cube_root(16.0)));
        // Two are ×2^(1/3) too slow then, one ×2^(2/3) too fast.
        assert!(near(relation.with_factor.mean, cube_root(2.0_f64.powf(4.0 / 3.0))));
        assert!(near(relation.with_factor.max, cube_root(4.0)));
        let within = |of: FidelityError| (of.within_20_percent, of.within_25_percent);
        assert_eq!((within(relation.workloads), within(relation.with_factor)), ((0, 0), (0, 0)));
    }

    #[test]
    fn an_error_is_within_a_limit_that_it_equals() {
        let within = |ratio: f64| {
            let error = FidelityError::new([log(ratio)].into_iter());
            (error.within_20_percent, error.within_25_percent)
        };
        for (ratio, wanted) in [
            (1.0, (1, 1)),
            (1.2, (1, 1)),
            (1.21, (0, 1)),
            (0.8, (0, 1)),
            (1.25, (0, 1)),
            (0.79, (0, 0)),
        ] {
            assert_eq!(within(ratio), wanted, "{ratio}");
        }
    }

    #[test]
    fn each_machine_is_related_to_all_else() {
        let of = |of: ResultsOf| results(of, &[("a", &[1.0]), ("b", &[2.0])]);
        let all = [of(machine("m")), of(prediction(Some("m"))), of(machine("n"))];
        let found = fidelity(&all).unwrap();
        let related: Vec<_> = found.relations.iter().map(|it| (it.machine, it.by)).collect();
        assert_eq!(related, [(1, 0), (1, 2), (2, 0), (2, 1)]);
        assert!(found.relations.iter().all(|it| it.pairs.max == 1.0 && it.factor == 1.0));
    }

    #[test]
    fn what_cannot_be_related_has_its_reason() {
        let of = |of: ResultsOf| results(of, &[("a", &[1.0]), ("b", &[2.0])]);
        let few = results(prediction(None), &[("b", &[1.0]), ("c", &[1.0])]);
        let other = Results { experiment: "other".parse().unwrap(), ..of(prediction(None)) };
        for (all, said) in [
            (vec![], "none of these is a machine"),
            (vec![of(prediction(None))], "none of these is a machine"),
            (vec![of(machine("m"))], "nothing predicts the machine m"),
            (vec![of(machine("m")), other], "instructions of `other`"),
            (vec![of(machine("m")), of(machine("m"))], "two of these are called the machine m"),
            (
                vec![of(machine("m")), few],
                "the machine m and instructions share 1 of the workloads",
            ),
        ] {
            let refused = fidelity(&all).unwrap_err().to_string();
            assert!(refused.contains(said), "{refused}");
        }
    }
}
