//! The rules that a well-formed experiment must keep to be run.

use preemptlab_model::{KernelRef, Profile, Topology, counted};
use preemptlab_protocol::caches::Distance;
use preemptlab_workload::Workload;

use crate::{CostSource, Experiment, FORMAT, Factors, KernelLevel, SpecError, memory};

/// The most cells of one experiment: some days on a hundred machines, and 200 MB of plan.
const CELLS_MAX: usize = 100_000;

impl Experiment {
    /// Refuses an experiment that is well-formed but cannot be run.
    pub(crate) fn check(&self, text: &str) -> Result<(), SpecError> {
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
        // The machine itself has what it has.
        let is_here = self.factors.kernels().all(KernelRef::is_host);
        if !is_here
            && let Some((name, message, help)) =
                memory::too_little(memory_mib, cpus, &self.workload)
        {
            let table = format!("[workload.{name}]");
            let named = ["memory_mib", &table].into_iter().find(|named| text.contains(named));
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
