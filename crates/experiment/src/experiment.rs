use indexmap::IndexMap;
use preemptlab_model::{
    Clocks, KernelRef, Label, Name, PreemptMode, Profile, Settings, Topology, counted,
};
use preemptlab_protocol::caches::Distance;
use preemptlab_workload::Workload;
use serde::{Deserialize, Serialize};

use crate::{CostSource, KernelLevel, MachineSpec, SpecError, memory};

/// The version of the TOML format.
pub const FORMAT: u32 = 1;

/// The most cells of one experiment: some days on a hundred machines, and 200 MB of plan.
const CELLS_MAX: usize = 100_000;

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
        experiment.workload = each_alone(text, experiment.workload)?;
        experiment.check(text)?;
        Ok(experiment)
    }

    /// Checks an experiment that was read from a recording and not from its file.
    ///
    /// # Errors
    ///
    /// The mistake, in words.
    pub fn check_again(&self) -> Result<(), String> {
        self.check("").map_err(|error| error.message)
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

    /// Refuses an experiment that is well-formed but cannot be run.
    fn check(&self, text: &str) -> Result<(), SpecError> {
        let refuse = |needle: &str, message: &str, help: &str| {
            Err(SpecError::at(text, needle, message.to_owned(), help))
        };
        if self.format != FORMAT {
            let message = format!("format {} is not known", self.format);
            return refuse("format", &message, "this version reads format 1");
        }
        let Factors { kernel, settings, .. } = &self.factors;
        let has_no_mode = |level: &KernelLevel| self.factors.modes(level).is_empty();
        if kernel.iter().any(has_no_mode) && !text.contains("preempt") {
            let help = "for example: preempt = [\"none\", \"full\"]";
            return refuse("[factors]", "missing field `preempt`", help);
        }
        if kernel.is_empty() || kernel.iter().any(has_no_mode) || settings.is_empty() {
            return refuse(
                "[factors]",
                "a factor has no level",
                "list at least one kernel and one mode; no settings are `settings = [\"\"]`",
            );
        }
        if let Some((message, help)) = ambiguous(kernel) {
            return refuse("kernel", &message, help);
        }
        if self.workload.is_empty() {
            return refuse(
                "workload",
                "there is no workload",
                "add a table such as [workload.hackbench]",
            );
        }
        if self.workload.values().any(|workload| workload.listed().is_some()) {
            return refuse(
                "workload",
                "a list of stressors is no workload of a recording",
                "a recording has a workload for each of them",
            );
        }
        let has_no_path = |workload: &Workload| match workload {
            Workload::Folder(folder) => folder.path().is_none() && folder.files_sha256().is_none(),
            _ => false,
        };
        if self.workload.values().any(has_no_path) {
            return refuse(
                "\"folder\"",
                "the folder has no path",
                "add `path = \"my-workload\"`; see docs/workload.md",
            );
        }
        if !(1..=10_000).contains(&self.replicates.count) {
            return refuse(
                "count",
                "the number of replicates must be 1 to 10000",
                "5 is a good start",
            );
        }
        if self.cells().is_none_or(|cells| cells > CELLS_MAX) {
            let message = format!("the experiment has more than {CELLS_MAX} cells");
            let help =
                "a cell is a combination of workload, kernel, mode, CPUs, settings and replicate";
            return refuse("[factors]", &message, help);
        }
        if self.factors.cpus.iter().any(|cpus| !(1..=8).contains(cpus))
            || self.factors.cpus.is_empty()
        {
            return refuse(
                "cpus",
                "the number of CPUs must be 1 to 8",
                "for example cpus = [1, 2]",
            );
        }
        let (memory_mib, cpus) = (self.machine.memory_mib, &self.factors.cpus);
        if let Some((message, help)) = memory::too_little(memory_mib, cpus, &self.workload) {
            let named = text.contains("memory_mib").then_some("memory_mib");
            return refuse(named.unwrap_or("[workload"), &message, &help);
        }
        let topology = self.machine.topology;
        if let Some(of_it) = topology.map(Topology::cpus)
            && self.factors.cpus != [of_it]
        {
            let message = format!(
                "[machine.topology] has {}, and no other number",
                counted(of_it as usize, "CPU")
            );
            let help =
                format!("say `cpus = [{of_it}]`; another number of CPUs is another experiment");
            let needle = if text.contains("cpus") { "cpus" } else { "topology" };
            return refuse(needle, &message, &help);
        }
        self.check_machines(text)
    }

    /// Refuses machines that cannot be told apart, or cannot be as `[machine]` asks.
    fn check_machines(&self, text: &str) -> Result<(), SpecError> {
        let machines: Vec<&CostSource> = self.costs().collect();
        for (at, prices) in machines.iter().enumerate() {
            let name = prices.name();
            if machines[..at].iter().any(|other| other.name() == name) {
                let message = format!("two machines have the name `{name}`");
                return Err(SpecError::at(text, name, message, "name each machine once"));
            }
            self.machine.check(prices, text)?;
            self.check_transfers(prices, text)?;
        }
        Ok(())
    }

    /// Refuses CPUs between which a line moves at no price that the machine knows.
    fn check_transfers(&self, prices: &CostSource, text: &str) -> Result<(), SpecError> {
        let Some(Profile { name, caches: Some(caches), .. }) = prices.profile() else {
            return Ok(());
        };
        let Some(transfers) = caches.transfers.filter(|_| self.machine.caches) else {
            return Ok(());
        };
        let far = self.factors.cpus.iter().find_map(|&cpus| {
            let groups = Topology::groups(self.machine.topology, cpus);
            let distances = (1..cpus).map(|other| groups.distance(0, other));
            distances.into_iter().find(|distance| transfers.of(*distance).is_none())
        });
        let Some(distance) = far.map(Distance::as_str) else { return Ok(()) };
        let message = format!(
            "the profile {name} does not say what a line takes between CPUs of this topology (`{distance}`)"
        );
        let help = format!("add `{distance}` to its [caches.transfers], or leave the topology out");
        let needle = if text.contains("topology") { "topology" } else { "caches" };
        Err(SpecError::at(text, needle, message, &help))
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

/// Gives an experiment that names no machine the default one, and refuses one that names it twice. A
/// recording always says which it has.
fn name_machine(text: &str, experiment: &mut Experiment) -> Result<(), SpecError> {
    let file: toml::Table = text.parse().unwrap_or_default();
    let says = |table: &str, key: &str| file.get(table).is_some_and(|of| of.get(key).is_some());
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

/// Says which labels, or kernels with labels or modes of their own, cannot be told apart, and the
/// remedy.
fn ambiguous(levels: &[KernelLevel]) -> Option<(String, &'static str)> {
    for (at, level) in levels.iter().enumerate() {
        let before = &levels[..at];
        if let Some(label) = &level.label
            && before.iter().any(|other| other.label.as_ref() == Some(label))
        {
            return Some((
                format!("two kernels have the label `{label}`"),
                "give each kernel a label of its own",
            ));
        }
        let is_own = |level: &KernelLevel| level.label.is_some() || level.preempt.is_some();
        let mut same = before.iter().filter(|other| other.kernel == level.kernel);
        if same.any(|other| is_own(level) || is_own(other)) {
            return Some((
                format!("the kernel {} stands there twice", level.kernel),
                "name each kernel once, with one label and with all of its modes",
            ));
        }
    }
    None
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
mod tests {
    use super::*;

    const SMALL: &str = r#"
format = 1
name = "small"

[factors]
kernel = ["debian:6.12"]
preempt = ["none", "full"]

[workload.hackbench]
kind = "cyclictest-hackbench"
"#;

    fn error(from: &str, to: &str) -> SpecError {
        assert!(SMALL.contains(from));
        Experiment::parse(&SMALL.replace(from, to)).unwrap_err()
    }

    #[test]
    fn a_load_needs_memory_for_each_cpu() {
        let text = |machine: &str, cpus: &str| {
            format!(
                "format = 1\nname = \"x\"\n[factors]\nkernel = [\"debian:6.12\"]\npreempt = [\"none\"]\n\
                 cpus = [{cpus}]\n{machine}\n[workload.k]\nkind = \"cyclictest-kernel\"\n"
            )
        };
        Experiment::parse(&text("", "1")).unwrap();
        let error = Experiment::parse(&text("[machine]\nmemory_mib = 256", "1")).unwrap_err();
        assert_eq!(error.line, 8, "{error}");
        assert!(
            error.message.contains("`k` needs 384 MiB of memory on 1 CPU, and the machine has 256")
        );
        assert_eq!(
            error.help.unwrap(),
            "say `memory_mib = 384` in [machine], or compare fewer CPUs"
        );
        let error = Experiment::parse(&text("", "1, 4")).unwrap_err();
        assert!(error.message.contains("on 4 CPUs"), "{error}");
        Experiment::parse(&text("[machine]\nmemory_mib = 960", "4")).unwrap();
    }

    #[test]
    fn defaults_fill_what_is_not_said() {
        let experiment = Experiment::parse(SMALL).unwrap();
        assert_eq!(experiment.factors.cpus, [1]);
        assert_eq!(experiment.replicates, Replicates { count: 5, seed: 1 });
        let prices = CostSource::of_no_name(MachineSpec::default().arch);
        assert_eq!(experiment.machine, MachineSpec { prices, ..MachineSpec::default() });
    }

    #[test]
    fn an_experiment_that_names_no_machine_has_a_server() {
        let named = |text: &str| {
            let experiment = Experiment::parse(text).unwrap();
            experiment.costs().map(|cost| cost.name().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(named(SMALL), ["server-x86"]);
        let machine = |keys: &str| format!("{SMALL}[machine]\n{keys}\n");
        assert_eq!(named(&machine("memory_mib = 1024")), ["server-x86"]);
        assert_eq!(named(&machine("cost = \"instructions\"")), ["instructions"]);
        assert_eq!(named(&machine("cost = \"instructions\"\nshift = 3")), ["instructions"]);
        assert_eq!(named(&machine("cost = \"mine.toml\"")), ["mine.toml"]);
        let error = Experiment::parse(&machine("shift = 3")).unwrap_err();
        assert_eq!(error.line, 12, "{error}");
        assert!(error.help.unwrap().contains("cost = \"instructions\""));
        // A recording says its values: one of before names none, and was of one price for all.
        let json = serde_json::to_string(&Experiment::parse(SMALL).unwrap()).unwrap();
        assert!(json.contains("\"server-x86\""), "{json}");
    }

    #[test]
    fn machines_are_a_factor() {
        let levels =
            |levels: &str| SMALL.replace("preempt =", &format!("machine = [{levels}]\npreempt ="));
        let experiment = Experiment::parse(&levels("\"server-x86\", \"amd-epyc\"")).unwrap();
        assert_eq!(experiment.cells(), Some(2 * 2 * 5));
        let of: Vec<_> = crate::configurations(&experiment)
            .map(|factors| (factors.machine.unwrap().to_string(), factors.preempt.to_string()))
            .collect();
        let of: Vec<(&str, &str)> = of.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert_eq!(
            of,
            [
                ("server-x86", "none"),
                ("server-x86", "full"),
                ("amd-epyc", "none"),
                ("amd-epyc", "full")
            ]
        );
        let amd = "amd-epyc".parse().unwrap();
        assert_eq!(experiment.cost_of(Some(&amd)).name(), "amd-epyc");
        let json = serde_json::to_string(&experiment).unwrap();
        assert_eq!(serde_json::from_str::<Experiment>(&json).unwrap(), experiment);
        for (text, said) in [
            (levels("\"amd-epyc\", \"amd-epyc\""), "two machines have the name `amd-epyc`"),
            (
                format!("{}[machine]\ncost = \"amd-epyc\"\n", levels("\"server-x86\"")),
                "is a factor",
            ),
            (
                format!("{}[machine]\ncaches = true\n", levels("\"server-x86\", \"desktop-x86\"")),
                "the profile desktop-x86 has no caches",
            ),
            (levels("1"), "the file of a profile, the name of one"),
        ] {
            let error = Experiment::parse(&text).unwrap_err();
            assert!(error.message.contains(said), "{error}");
        }
    }

    #[test]
    fn a_misspelt_key_is_named_with_its_line_and_the_nearest_one() {
        let error = error("[factors]", "[factor]");
        assert_eq!((error.line, error.help.as_deref()), (5, Some("did you mean `factors`?")));
    }

    #[test]
    fn a_misspelt_mode_is_named_with_its_line_and_the_nearest_one() {
        let error = error("\"none\"", "\"nonne\"");
        assert_eq!((error.line, error.help.as_deref()), (7, Some("did you mean `none`?")));
    }

    #[test]
    fn rt_as_a_mode_is_told_to_be_a_flavour_of_the_kernel() {
        for word in ["rt", "RT", "rt-full", "PREEMPT_RT"] {
            let error = error("\"none\"", &format!("\"{word}\""));
            let help = "rt is a kernel flavour: kernel = [\"debian:6.12-rt\"]";
            assert_eq!((error.line, error.help.as_deref()), (7, Some(help)));
        }
        let text = SMALL.replace("debian:6.12", "source:7.2+HZ=9").replace("none", "rt");
        let error = Experiment::parse(&text).unwrap_err();
        assert!(error.help.unwrap().ends_with("kernel = [\"source:7.2-rt+HZ=9\"]"));
    }

    #[test]
    fn a_mode_goes_by_the_name_of_its_key() {
        let error = error("preempt =", "mode =");
        assert_eq!((error.line, error.help.as_deref()), (7, Some("did you mean `preempt`?")));
    }

    #[test]
    fn a_kernel_that_is_nearly_one_is_named() {
        for (name, wanted) in [("6.12-rt", "debian:6.12-rt"), ("debain:7.2", "debian:7.2")] {
            let error = error("debian:6.12", name);
            assert_eq!((error.line, error.help), (6, Some(format!("did you mean `{wanted}`?"))));
        }
    }

    #[test]
    fn a_kernel_has_a_label_and_modes_of_its_own() {
        let both = "\"base=debian:6.12\", { kernel = \"head=debian:7.2\", preempt = [\"lazy\"] }";
        let text = SMALL.replace("\"debian:6.12\"", both);
        let experiment = Experiment::parse(&text).unwrap();
        assert_eq!(experiment.cells(), Some((2 + 1) * 5));
        let of = |factors: preemptlab_model::Factors| (factors.kernel, factors.preempt);
        let pairs: Vec<_> = crate::configurations(&experiment).map(of).collect();
        let kernel = |name: &str| name.parse::<KernelRef>().unwrap();
        assert_eq!(
            pairs,
            [
                (kernel("debian:6.12"), PreemptMode::None),
                (kernel("debian:6.12"), PreemptMode::Full),
                (kernel("debian:7.2"), PreemptMode::Lazy),
            ]
        );
        let factors = &experiment.factors;
        assert_eq!(factors.label(&kernel("debian:7.2")).unwrap(), &"head");
        assert_eq!(factors.labelled("base"), Some(&kernel("debian:6.12")));
        let json = serde_json::to_string(&experiment).unwrap();
        assert_eq!(serde_json::from_str::<Experiment>(&json).unwrap(), experiment);
        // Where every kernel has modes of its own, the factor needs none.
        let own = "{ kernel = \"debian:6.12\", preempt = [\"none\"] }";
        let text =
            SMALL.replace("\"debian:6.12\"", own).replace("preempt = [\"none\", \"full\"]", "");
        assert_eq!(Experiment::parse(&text).unwrap().cells(), Some(5));
    }

    #[test]
    fn kernels_that_cannot_be_told_apart_are_refused() {
        for (kernels, said) in [
            ("\"a=debian:6.12\", \"a=debian:7.2\"", "two kernels have the label `a`"),
            ("\"a=debian:6.12\", \"b=debian:6.12\"", "the kernel debian:6.12 stands there twice"),
            ("\"a=debian:6.12\", \"debian:6.12\"", "stands there twice"),
            ("\"=debian:6.12\"", "`` is not a label"),
            ("\"\\u001b[2Jx=debian:6.12\"", "is not a label"),
            ("\"aaaaaaaaaaaaaaaaaaaaaaaaa=debian:6.12\"", "24 at most"),
            ("{ kernel = \"debian:6.12\", preempt = [] }", "a factor has no level"),
            ("{ kernel = \"debian:6.12\", mode = [] }", "unknown field `mode`"),
            ("{ kernel = \"debain:6.12\", preempt = [\"none\"] }", "names no kernel"),
        ] {
            let error = error("\"debian:6.12\"", kernels);
            assert!(error.message.contains(said), "{kernels}: {error}");
            assert!(!error.message.contains('\u{1b}'), "{error}");
        }
    }

    #[test]
    fn a_value_that_is_missing_comes_with_an_example() {
        for line in SMALL.lines().filter(|line| line.contains('=')) {
            let key = line.split(' ').next().unwrap();
            for to in [String::new(), format!("{key} ="), format!("{key} = {{}}")] {
                let said = error(line, &to);
                let help = said.help.as_deref().unwrap_or_default();
                let example = help.strip_prefix("for example: ");
                let is_of_key = example.is_some_and(|example| example.starts_with(key));
                assert!(is_of_key, "{to}: {said}: {help}");
            }
        }
        for (table, wanted) in [("[factors]", "[factors]"), ("[workload.hackbench]", "[workload")] {
            let text = &SMALL[..SMALL.find(table).unwrap()];
            let help = Experiment::parse(text).unwrap_err().help.unwrap();
            assert!(help.starts_with(&format!("for example:\n{wanted}")), "{help}");
        }
    }

    #[test]
    fn a_misspelt_workload_key_is_named_with_its_line() {
        let error =
            error("kind = \"cyclictest-hackbench\"", "kind = \"cyclictest-hackbench\"\ngruops = 2");
        assert!(error.line >= 9, "{error}");
        assert_eq!(error.help.as_deref(), Some("did you mean `groups`?"));
    }

    #[test]
    fn a_list_of_stressors_has_a_workload_for_each() {
        let of = |table: &str| Experiment::parse(&SMALL.replace("[workload.hackbench]", table));
        let list =
            |keys: &str| format!("[workload.os]\nkind = \"stress-ng\"\n{keys}\n[workload.x]");
        let names = |experiment: &Experiment| {
            experiment.workload.keys().map(ToString::to_string).collect::<Vec<_>>()
        };
        let experiment = of(&list("stressors = [\"mmap\", \"fork\"]")).unwrap();
        assert_eq!(names(&experiment), ["os-mmap", "os-fork", "x"]);
        assert_eq!(experiment.cells(), Some(3 * 2 * 5));
        let json = serde_json::to_string(&experiment).unwrap();
        assert_eq!(serde_json::from_str::<Experiment>(&json).unwrap(), experiment);
        let all = of(&list("stressors = \"class:os\"\nwithout = [\"clone\"]")).unwrap();
        assert_eq!(all.workload.len(), 256 + 1);
        for (table, line, said) in [
            (
                list("stressors = [\"mmap\"]").replace(".x]", ".os-mmap]"),
                12,
                "two workloads have the name `os-mmap`",
            ),
            (list("stressors = \"class:io\""), 11, "or a class: \"class:os\""),
            (list("stressors = [\"mmap\"]\nwithout = [\"fork\"]"), 9, "`without` names `fork`"),
            (
                list("stressors = [\"mmap\"]").replace(".os]", &format!(".{}]", "o".repeat(60))),
                9,
                "too long a name",
            ),
        ] {
            let error = of(&table).unwrap_err();
            assert!(error.message.contains(said) && error.line == line, "{table}: {error}");
        }
    }

    /// A stranger may have written one.
    #[test]
    fn a_recording_has_no_list_of_stressors() {
        let json = serde_json::to_string(&Experiment::parse(SMALL).unwrap()).unwrap();
        let list = json.replace(
            "{\"kind\":\"cyclictest-hackbench\"",
            "{\"kind\":\"stress-ng\",\"stressors\":[\"mmap\"]},\"x\":{\"kind\":\"cyclictest-hackbench\"",
        );
        let experiment: Experiment = serde_json::from_str(&list).unwrap();
        assert!(experiment.check_again().unwrap_err().contains("a list of stressors"));
    }

    #[test]
    fn a_folder_needs_a_path() {
        let error = error("\"cyclictest-hackbench\"", "\"folder\"");
        assert_eq!((error.line, error.message.as_str()), (10, "the folder has no path"));
        let text = SMALL.replace("\"cyclictest-hackbench\"", "\"folder\"\npth = \"mine\"");
        let error = Experiment::parse(&text).unwrap_err();
        assert_eq!((error.line, error.help.as_deref()), (11, Some("did you mean `path`?")));
    }

    #[test]
    fn the_time_of_several_cpus_is_bounded() {
        let machine = |key: &str| format!("[machine]\n{key}\n[factors]");
        let text = SMALL.replace("[factors]", &machine("lookahead_ns = 20"));
        let clocks = Experiment::parse(&text).unwrap().machine.clocks;
        assert_eq!(clocks, Clocks::Own(20.try_into().unwrap()));
        for value in ["0", "19", "2001", "4294967295"] {
            let error = error("[factors]", &machine(&format!("lookahead_ns = {value}")));
            assert_eq!(error.line, 6, "{error}");
            assert!(error.message.contains("must be 20 to 2000 ns"), "{error}");
        }
        for value in ["-1", "4294967296", "\"500\"", "0.5", "[500]", ""] {
            let error = error("[factors]", &machine(&format!("lookahead_ns = {value}")));
            assert_eq!(error.line, 6, "{error}");
            assert_eq!(error.help.as_deref(), Some("for example: lookahead_ns = 500"), "{error}");
        }
    }

    #[test]
    fn the_skew_of_turns_is_told_to_be_no_more() {
        for value in ["10", "0", "-1", "\"abc\"", "{}"] {
            let error = error("[factors]", &format!("[machine]\nskew_us = {value}\n[factors]"));
            assert_eq!((error.line, &error.message[..21]), (6, "`skew_us` is no more:"));
            assert!(error.help.unwrap().contains("lookahead_ns = 500"));
        }
        for key in ["skew_ns", "skw_us"] {
            let error = error("[factors]", &format!("[machine]\n{key} = 1\n[factors]"));
            assert!(!error.help.unwrap().contains("skew_us"));
        }
    }

    #[test]
    fn a_topology_has_the_cpus_of_the_experiment() {
        let with = |cpus: &str, topology: &str, machine: &str| {
            let text = SMALL.replace(
                "[workload",
                &format!("[machine]\n{machine}\n[machine.topology]\n{topology}\n[workload"),
            );
            Experiment::parse(&text.replace("[factors]", &format!("[factors]\n{cpus}")))
        };
        let all =
            "sockets = 2\nthreads = 2\nnuma_nodes = 2\ncaches = { l2 = \"socket\", l1 = \"core\" }";
        let experiment = with("cpus = [4]", all, "").unwrap();
        assert_eq!(experiment.machine.topology.unwrap().cpus(), 4);
        // Another socket is far, and without caches no line moves.
        with("cpus = [4]", "cores = 2\nsockets = 2", "caches = true").unwrap();
        with("cpus = [2]", "threads = 2", "").unwrap();
        for (cpus, topology, machine, said, help) in [
            ("cpus = [1, 4]", all, "", "has 4 CPUs, and no other number", "cpus = [4]"),
            ("cpus = [8]", all, "", "has 4 CPUs, and no other number", "cpus = [4]"),
            ("", all, "", "has 4 CPUs, and no other number", "cpus = [4]"),
            ("cpus = [4]", all, "memory_mib = 513", "equal parts of 513 MiB", "memory_mib"),
            (
                "cpus = [4]",
                "cores = 2\nsockets = 2",
                "cost = \"amd-epyc\"\ncaches = true",
                "does not say what a line takes between CPUs of this topology (`far`)",
                "add `far` to its [caches.transfers]",
            ),
            (
                "cpus = [2]",
                "threads = 2",
                "caches = true",
                "of this topology (`core`)",
                "add `core`",
            ),
            ("cpus = [2]", "threds = 2", "", "unknown field `threds`", "did you mean `threads`?"),
            ("cpus = [9]", "cores = 9", "", "1 to 8", ""),
            ("cpus = [1]", "cores = 0", "", "1 or more", ""),
            ("cpus = [2]", "cores = 2\nnuma_nodes = 3", "", "NUMA nodes cannot", ""),
        ] {
            let error = with(cpus, topology, machine).unwrap_err();
            assert!(error.message.contains(said) && error.line > 1, "{error}");
            assert!(error.help.unwrap_or_default().contains(help), "{cpus} {topology}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (from, to) in [
            ("format = 1", "format = 2"),
            ("[\"debian:6.12\"]", "[]"),
            ("[\"debian:6.12\"]", "[\"ubuntu:24.04\"]"),
            ("\"small\"", "\"../../x\""),
            ("\"small\"", "\"\""),
            ("\"small\"", "\"a\\u001b[2J\""),
            ("[workload.hackbench]", "[workload.\"a b\"]"),
            ("[factors]", "[machine]\nmodules = [\"../x\"]\n[factors]"),
            ("[factors]", "[machine]\nshift = 11\n[factors]"),
            ("[factors]", "[machine]\nmemory_mib = 1\n[factors]"),
            ("[factors]", "[machine]\ncmdline = [\"a b\"]\n[factors]"),
            ("[factors]", "[machine]\ncmdline = [\"preempt=full\"]\n[factors]"),
            ("[factors]", "[factors]\ncpus = [0]"),
            ("[factors]", "[factors]\ncpus = [9]"),
            ("[factors]", "[factors]\ncpus = [-1]"),
            ("[factors]", "[factors]\ncpus = []"),
            ("[factors]", "[replicates]\ncount = 0\n[factors]"),
        ] {
            error(from, to);
        }
    }
}
