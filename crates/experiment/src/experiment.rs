use indexmap::IndexMap;
use preemptlab_model::{Clocks, KernelRef, Label, Name, PreemptMode, Settings};
use preemptlab_workload::Workload;
use serde::{Deserialize, Serialize};

use crate::{CostSource, KernelLevel, MachineSpec, SpecError};

/// The version of the TOML format.
pub const FORMAT: u32 = 1;

/// An experiment: factors, replicates, machine and workloads. `docs/experiment.md` describes its
/// TOML form key by key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// The version of the format; 1.
    pub format: u32,
    /// Name of the experiment.
    pub name: Name,
    /// Question that the experiment answers.
    #[serde(default)]
    pub description: String,
    /// Factors that are varied.
    pub factors: Factors,
    /// Number of replicates of each combination, and their seed.
    #[serde(default)]
    pub replicates: Replicates,
    /// Parameters of the machine, which are the same in every cell.
    #[serde(default)]
    pub machine: MachineSpec,
    /// The workloads, by name.
    pub workload: IndexMap<Name, Workload>,
}

/// The factors; every combination of their levels, with every workload, is a configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Factors {
    /// Kernels to compare.
    pub kernel: Vec<KernelLevel>,
    /// Preemption modes to compare, on the kernels that have no modes of their own.
    #[serde(default)]
    pub preempt: Vec<PreemptMode>,
    /// Machines whose time is compared; none where all cells have that of [`MachineSpec::prices`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub machine: Vec<CostSource>,
    /// Numbers of virtual CPUs.
    #[serde(default = "one_cpu")]
    pub cpus: Vec<u32>,
    /// Levels of further settings: each is a combination of settings, and `""` has no setting.
    #[serde(default = "no_settings")]
    pub settings: Vec<Settings>,
}

impl Factors {
    /// Lists the kernels.
    pub fn kernels(&self) -> impl Iterator<Item = &KernelRef> {
        self.kernel.iter().map(|level| &level.kernel)
    }

    /// Returns the modes that a kernel is compared in.
    pub fn modes<'a>(&'a self, level: &'a KernelLevel) -> &'a [PreemptMode] {
        level.preempt.as_deref().unwrap_or(&self.preempt)
    }

    /// Returns the label of a kernel; `None` where it has none.
    pub fn label(&self, kernel: &KernelRef) -> Option<&Label> {
        self.kernel.iter().find(|level| level.kernel == *kernel)?.label.as_ref()
    }

    /// Puts other kernels in the place of those that `is_offered` does not know: of each level the first one
    /// that it knows, and that is not a level itself. A level without one keeps its kernel. Returns the
    /// pairs.
    ///
    /// # Errors
    ///
    /// That of `is_offered`.
    pub fn choose<E>(
        &mut self,
        mut is_offered: impl FnMut(&KernelRef) -> Result<bool, E>,
    ) -> Result<Vec<(KernelRef, KernelRef)>, E> {
        let mut replaced = Vec::new();
        for place in 0..self.kernel.len() {
            let or = std::mem::take(&mut self.kernel[place].or);
            if or.is_empty() || is_offered(&self.kernel[place].kernel)? {
                continue;
            }
            for other in or {
                if self.kernels().all(|known| *known != other) && is_offered(&other)? {
                    let missing = std::mem::replace(&mut self.kernel[place].kernel, other.clone());
                    replaced.push((missing, other));
                    break;
                }
            }
        }
        Ok(replaced)
    }

    /// Returns the kernel that has a label.
    pub fn labelled(&self, label: &str) -> Option<&KernelRef> {
        let is_it = |level: &&KernelLevel| level.label.as_deref() == Some(label);
        self.kernel.iter().find(is_it).map(|level| &level.kernel)
    }
}

fn no_settings() -> Vec<Settings> {
    vec![Settings::default()]
}

fn one_cpu() -> Vec<u32> {
    vec![1]
}

/// Replicates differ by their seed, which is the same for every configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Replicates {
    /// Number of replicates.
    pub count: u32,
    /// The seed of the first; the following count up from it.
    pub seed: u64,
}

impl Default for Replicates {
    fn default() -> Self {
        Self { count: 5, seed: 1 }
    }
}

impl Experiment {
    /// Reads an experiment.
    ///
    /// # Errors
    ///
    /// [`SpecError`] with the line, and the nearest valid name for a misspelt one.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        refuse_skew(text)?;
        let mut experiment: Self =
            toml::from_str(text).map_err(|error| SpecError::new(text, &error))?;
        name_machine(text, &mut experiment)?;
        experiment.workload.values_mut().for_each(Workload::name_file_system);
        experiment.workload = each_alone(text, experiment.workload)?;
        experiment.check(text)?;
        Ok(experiment)
    }

    /// Checks an experiment that was read from a recording and not from its file.
    ///
    /// # Errors
    ///
    /// The mistake and its remedy, in words.
    pub fn check_again(&self) -> Result<(), String> {
        self.check("").map_err(|SpecError { message, help, .. }| match help {
            Some(help) => format!("{message}: {help}"),
            None => message,
        })
    }

    /// Returns the experiment as its recording holds it, so that an earlier recording can continue:
    /// the clocks of several CPUs stay as the recording has them.
    pub fn with_clocks_of(mut self, recorded: &Self) -> Self {
        if let turns @ Clocks::Turns { .. } = recorded.machine.clocks {
            self.machine.clocks = turns;
        }
        self
    }

    /// Returns the experiment with the kernels that its recording chose of those that answer the same question.
    #[must_use]
    pub fn with_kernels_of(mut self, recorded: &Self) -> Self {
        for (level, chosen) in self.factors.kernel.iter_mut().zip(&recorded.factors.kernel) {
            if level.kernel == chosen.kernel || level.or.contains(&chosen.kernel) {
                level.kernel.clone_from(&chosen.kernel);
                level.or.clear();
            }
        }
        self
    }

    /// Returns the number of cells of the plan; `None` where it overflows.
    pub(crate) fn cells(&self) -> Option<usize> {
        let Factors { kernel, cpus, settings, .. } = &self.factors;
        let modes = kernel.iter().map(|level| self.factors.modes(level).len());
        let modes = modes.into_iter().try_fold(0, usize::checked_add)?;
        let machines = self.factors.machine.len().max(1);
        let levels = [self.workload.len(), machines, modes, cpus.len(), settings.len()];
        let replicates = usize::try_from(self.replicates.count).ok()?;
        levels.into_iter().try_fold(replicates, usize::checked_mul)
    }

    /// Lists the costs of instructions on the machines of the experiment, in the order of the plan.
    pub fn costs(&self) -> impl Iterator<Item = &CostSource> {
        let only = self.factors.machine.is_empty().then_some(&self.machine.prices);
        self.factors.machine.iter().chain(only)
    }

    /// Lists the same, to put a profile in the place of its path.
    pub fn costs_mut(&mut self) -> impl Iterator<Item = &mut CostSource> {
        let only = self.factors.machine.is_empty().then_some(&mut self.machine.prices);
        self.factors.machine.iter_mut().chain(only)
    }

    /// Returns the costs of instructions on the machine of a cell.
    pub fn cost_of(&self, machine: Option<&Name>) -> &CostSource {
        let is_it = |cost: &&CostSource| Some(cost.name()) == machine.map(Name::as_str);
        self.factors.machine.iter().find(is_it).unwrap_or(&self.machine.prices)
    }
}

/// Puts a workload for each stressor, `NAME-STRESSOR`, in the place of a list of stressors.
fn each_alone(
    text: &str,
    workloads: IndexMap<Name, Workload>,
) -> Result<IndexMap<Name, Workload>, SpecError> {
    let mut alone = IndexMap::new();
    for (name, workload) in workloads {
        let refuse = |message, help| {
            let tables =
                [format!("[workload.{name}]"), format!("[workload.\"{name}\"]"), name.to_string()];
            let table = tables.iter().find(|table| text.contains(*table));
            Err(SpecError::at(text, table.map_or("workload", String::as_str), message, help))
        };
        let Some(listed) = workload.listed() else {
            if alone.insert(name.clone(), workload).is_some() {
                return refuse(same_name(&name), RENAME);
            }
            continue;
        };
        for (end, workload) in listed {
            let named = format!("{name}-{end}");
            let Ok(named) = named.parse::<Name>() else {
                let message = format!("the workload `{named}` would have too long a name");
                return refuse(message, "give the list a shorter name");
            };
            if alone.contains_key(&named) {
                return refuse(same_name(&named), RENAME);
            }
            alone.insert(named, workload);
        }
    }
    Ok(alone)
}

/// Remedy where two workloads have one name.
const RENAME: &str =
    "a list of stressors has a workload NAME-STRESSOR for each: rename one of both";

fn same_name(name: &Name) -> String {
    format!("two workloads have the name `{name}`")
}

/// Gives an experiment that names no machine the default one, one that names no architecture that of the machines that
/// it names, and refuses one that names its machine twice. A recording always says which it has.
fn name_machine(text: &str, experiment: &mut Experiment) -> Result<(), SpecError> {
    let file: toml::Table = text.parse().unwrap_or_default();
    let says = |table: &str, key: &str| file.get(table).is_some_and(|of| of.get(key).is_some());
    if !says("machine", "arch") {
        let arch = experiment.costs().find_map(CostSource::profile).map(|profile| profile.arch);
        experiment.machine.arch = arch.unwrap_or_default();
    }
    if says("machine", "cost") {
        if says("factors", "machine") {
            let message = "the machine is a factor, and [machine] names one, too".to_owned();
            return Err(SpecError::at(
                text,
                "cost",
                message,
                "name all of them in [factors] machine",
            ));
        }
        return Ok(());
    }
    if says("machine", "shift") && !says("factors", "machine") {
        let message = "`shift` is the time of an instruction without a price".to_owned();
        return Err(SpecError::at(text, "shift", message, "say `cost = \"instructions\"`, too"));
    }
    if !says("factors", "machine") {
        experiment.machine.prices = CostSource::of_no_name(experiment.machine.arch);
    }
    Ok(())
}

/// Refuses a file that says how far CPUs may be apart that take turns, whatever its value.
fn refuse_skew(text: &str) -> Result<(), SpecError> {
    let says_skew = |file: toml::Table| file.get("machine")?.get("skew_us").map(drop);
    if text.parse().ok().and_then(says_skew).is_none() {
        return Ok(());
    }
    let message =
        "`skew_us` is no more: several CPUs have a clock each, and take no turns".to_owned();
    let help = "remove it, or say `lookahead_ns = 500`: how far a CPU may be ahead of the others, 20 to \
                2000 ns";
    Err(SpecError::at(text, "skew_us", message, help))
}

#[cfg(test)]
mod tests;
