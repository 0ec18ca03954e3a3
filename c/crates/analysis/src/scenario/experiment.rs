//! From scenarios and models to experiments.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use preemptlab_experiment::{
    CostSource, Experiment, FORMAT, Factors, KernelLevel, MachineSpec, Replicates,
};
use preemptlab_model::{Arch, Digest, Name, Settings};
use preemptlab_scenario::Scenario;
use preemptlab_workload::Workload;

use super::asked::{Loaded, Under};
use crate::{Error, Result};

/// The module that does the kernel's part.
const MODULE: &str = "preemptlab_scenario";

/// Number of digits of an experiment's digest that tell its recording from those of the same name.
const DIGEST_DIGITS: usize = 8;

/// Scenarios that share their boots: the same machine, and the same modules.
pub struct Batch<'a> {
    /// Experiment that plays the scenarios.
    pub experiment: Experiment,
    /// Scenarios, whose workloads have their names, with their places on the command line.
    pub scenarios: Vec<(usize, &'a Scenario)>,
}

impl Batch<'_> {
    /// Returns the recording's folder: a scenario that was changed has another one.
    pub fn name(&self) -> String {
        let digest = Digest::of_json(&self.experiment).to_string();
        format!("{}-{}", self.experiment.name, &digest[..DIGEST_DIGITS])
    }
}

/// Puts scenarios together that can share their boots; those of different machines need several
/// recordings, and so no single folder.
///
/// # Errors
///
/// When two have one name, or several recordings are needed for one folder.
pub fn batches<'a>(
    loaded: &'a [Loaded],
    under: Under<'_>,
    is_one_folder: bool,
) -> Result<Vec<Batch<'a>>> {
    let mut groups: BTreeMap<(Arch, u32, bool), Vec<usize>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    let mut files: BTreeMap<&str, &Path> = BTreeMap::new();
    for (place, Loaded { path, scenario }) in loaded.iter().enumerate() {
        let of_family = *files.entry(scenario.family()).or_insert(path);
        if !seen.insert(scenario.name()) || of_family != path {
            let name = scenario.family();
            let message = format!(
                "{}: there is another scenario `{name}`; give one of both another name",
                path.display()
            );
            return Err(Error::Unusable(message));
        }
        let machine = (scenario.arch(), scenario.cpus(), scenario.needs_module());
        groups.entry(machine).or_default().push(place);
    }
    if is_one_folder && groups.len() > 1 {
        let message = "these scenarios are for different machines and need several recordings; \
                       leave --out away, or name them one by one";
        return Err(Error::Unusable(message.into()));
    }
    let batch = |((arch, cpus, needs_module), places): ((Arch, u32, bool), Vec<usize>)| {
        let scenarios: Vec<_> =
            places.iter().map(|place| (*place, &loaded[*place].scenario)).collect();
        let (name, description) = match &scenarios[..] {
            [(_, one)] => (name_of(one.name()), one.description().to_owned()),
            [(_, first), ..] if files.len() == 1 => {
                (name_of(first.family()), first.description().to_owned())
            }
            _ => (name_of("scenarios"), String::new()),
        };
        let workload = |(_, scenario): &(usize, &Scenario)| {
            let script = scenario.script().clone();
            let workload = preemptlab_workload::Scenario::new(script);
            (name_of(scenario.name()), Workload::Scenario(workload))
        };
        let modules = if needs_module { vec![MODULE.to_owned()] } else { Vec::new() };
        let experiment = Experiment {
            format: FORMAT,
            name,
            description,
            factors: factors(under, cpus),
            replicates: Replicates { count: 1, ..Replicates::default() },
            machine: MachineSpec {
                arch,
                prices: CostSource::of_no_name(arch),
                modules,
                ..MachineSpec::default()
            },
            workload: scenarios.iter().map(workload).collect(),
        };
        Batch { experiment, scenarios }
    };
    Ok(groups.into_iter().map(batch).collect())
}

/// Returns the name of a scenario, whose grammar is a part of that of all names.
fn name_of(name: &str) -> Name {
    name.parse().expect("a scenario's name is a name")
}

fn factors(under: Under<'_>, cpus: u32) -> Factors {
    let mut kernels = Vec::new();
    let mut modes = Vec::new();
    for model in under.models {
        let kernel = under.kernel_of(*model);
        if !kernels.contains(&kernel) {
            kernels.push(kernel);
        }
        if !modes.contains(&model.mode()) {
            modes.push(model.mode());
        }
    }
    let settings = vec![Settings::default()];
    let kernel = kernels.into_iter().map(KernelLevel::from).collect();
    Factors { kernel, preempt: modes, machine: Vec::new(), cpus: vec![cpus], settings }
}
