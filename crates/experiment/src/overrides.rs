use preemptlab_model::{Arch, PreemptMode, nearest};
use preemptlab_recording::Override;

use crate::{CostSource, Experiment, KernelLevel};

/// Values that replace those of an experiment's file, for a first look without an editor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Kernels; none leaves those of the file.
    pub kernels: Vec<KernelLevel>,
    /// Preemption modes; none leaves those of the file.
    pub preempt: Vec<PreemptMode>,
    /// Architecture of the guests. Another one than the file's has its own default machine.
    pub arch: Option<Arch>,
    /// Machines whose time is compared; none leaves those of the file.
    pub machines: Vec<CostSource>,
    /// The names of the workloads that stay; none leaves all.
    pub workloads: Vec<String>,
    /// The number of replicates.
    pub replicates: Option<u32>,
    /// The seed of the first replicate.
    pub seed: Option<u64>,
}

impl Overrides {
    /// Changes an experiment, and lists the values that differ from its file.
    ///
    /// # Errors
    ///
    /// When the experiment has no such workload, or cannot be run with these values; in words.
    pub fn apply(&self, experiment: &mut Experiment) -> Result<Vec<Override>, String> {
        let before = experiment.clone();
        let names = || before.workload.keys().map(|name| name.as_str());
        if let Some(unknown) = self.workloads.iter().find(|name| !names().any(|it| it == *name)) {
            let hint = match nearest(unknown, names()) {
                Some(nearest) => format!("did you mean `{nearest}`?"),
                None => format!("it has {}", names().collect::<Vec<_>>().join(", ")),
            };
            return Err(format!("the experiment has no workload `{unknown}`; {hint}"));
        }
        if !self.workloads.is_empty() {
            experiment
                .workload
                .retain(|name, _| self.workloads.iter().any(|it| it == name.as_str()));
        }
        replace(&mut experiment.factors.kernel, &self.kernels);
        replace(&mut experiment.factors.preempt, &self.preempt);
        if !self.preempt.is_empty() {
            experiment.factors.kernel.iter_mut().for_each(|level| level.preempt = None);
        }
        if let Some(arch) = self.arch.filter(|arch| *arch != experiment.machine.arch) {
            experiment.machine.arch = arch;
            experiment.factors.machine.clear();
            experiment.machine.prices = CostSource::of_no_name(arch);
            // They are parts of the other machine.
            experiment.machine.caches = false;
            experiment.machine.stolen = false;
        }
        match &self.machines[..] {
            [] => {}
            [only] => {
                experiment.factors.machine.clear();
                experiment.machine.prices = only.clone();
            }
            several => {
                experiment.machine.prices = CostSource::default();
                replace(&mut experiment.factors.machine, several);
            }
        }
        let replicates = &mut experiment.replicates;
        replicates.count = self.replicates.unwrap_or(replicates.count);
        replicates.seed = self.seed.unwrap_or(replicates.seed);
        experiment.check_again()?;
        Ok(differences(&before, experiment))
    }
}

/// Puts other levels in the place of a factor's, each once.
fn replace<T: Clone + PartialEq>(levels: &mut Vec<T>, others: &[T]) {
    if others.is_empty() {
        return;
    }
    levels.clear();
    for level in others {
        if !levels.contains(level) {
            levels.push(level.clone());
        }
    }
}

/// Returns the differences of two experiments, as the file would write them.
fn differences(file: &Experiment, run: &Experiment) -> Vec<Override> {
    let values = |of: &Experiment| {
        let quoted = |words: Vec<String>| {
            let words: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
            format!("[{}]", words.join(", "))
        };
        let words = |items: &[&dyn ToString]| items.iter().map(|it| it.to_string()).collect();
        let kernels: Vec<String> = of.factors.kernel.iter().map(ToString::to_string).collect();
        let preempt: Vec<&dyn ToString> = of.factors.preempt.iter().map(|it| it as _).collect();
        let workloads: Vec<&dyn ToString> = of.workload.keys().map(|it| it as _).collect();
        [
            ("factors.kernel", format!("[{}]", kernels.join(", "))),
            ("factors.preempt", quoted(words(&preempt))),
            ("machine.arch", format!("{:?}", of.machine.arch.platform().debian)),
            ("factors.machine", quoted(of.costs().map(|cost| cost.name().to_owned()).collect())),
            ("workload", quoted(words(&workloads))),
            ("replicates.count", of.replicates.count.to_string()),
            ("replicates.seed", of.replicates.seed.to_string()),
        ]
    };
    let pairs = values(file).into_iter().zip(values(run));
    let different = pairs.filter(|((_, file), (_, run))| file != run);
    different.map(|((key, file), (_, run))| Override { key: key.to_owned(), file, run }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn experiment() -> Experiment {
        let text = "format = 1\nname = \"x\"\n[factors]\nkernel = [\"debian:6.12\"]\n\
            preempt = [\"none\", \"full\"]\n[replicates]\ncount = 6\n\
            [workload.a]\nkind = \"pgbench\"\n[workload.b]\nkind = \"cyclictest\"\n";
        Experiment::parse(text).unwrap()
    }

    fn overridden(overrides: &Overrides) -> (Experiment, Vec<String>) {
        let mut experiment = experiment();
        let changes = overrides.apply(&mut experiment).unwrap();
        (experiment, changes.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn what_is_given_takes_the_place_of_what_the_file_says() {
        let (changed, said) = overridden(&Overrides {
            kernels: vec!["debian:7.2".parse().unwrap(), "debian:7.2-rt".parse().unwrap()],
            preempt: vec![PreemptMode::Lazy, PreemptMode::Lazy],
            machines: vec![CostSource::named("desktop-x86"), CostSource::named("amd-epyc")],
            workloads: vec!["b".to_owned()],
            replicates: Some(1),
            seed: Some(9),
            arch: None,
        });
        let text = "format = 1\nname = \"x\"\n[factors]\nkernel = [\"debian:7.2\", \
            \"debian:7.2-rt\"]\npreempt = [\"lazy\"]\nmachine = [\"desktop-x86\", \"amd-epyc\"]\n\
            [replicates]\ncount = 1\nseed = 9\n\
            [workload.b]\nkind = \"cyclictest\"\n";
        // As if an editor had done it.
        assert_eq!(changed, Experiment::parse(text).unwrap());
        assert_eq!(
            said,
            [
                "factors.kernel = [\"debian:7.2\", \"debian:7.2-rt\"] instead of [\"debian:6.12\"]",
                "factors.preempt = [\"lazy\"] instead of [\"none\", \"full\"]",
                "factors.machine = [\"desktop-x86\", \"amd-epyc\"] instead of [\"server-x86\"]",
                "workload = [\"b\"] instead of [\"a\", \"b\"]",
                "replicates.count = 1 instead of 6",
                "replicates.seed = 9 instead of 1",
            ]
        );
    }

    #[test]
    fn another_architecture_has_its_own_machine() {
        let (changed, said) =
            overridden(&Overrides { arch: Some(Arch::Arm64), ..Overrides::default() });
        assert_eq!(changed.machine.arch, Arch::Arm64);
        assert_eq!(
            said,
            [
                "machine.arch = \"arm64\" instead of \"amd64\"",
                "factors.machine = [\"server-arm64\"] instead of [\"server-x86\"]",
            ]
        );
        let machines = vec![CostSource::named("server-x86")];
        let both = Overrides { arch: Some(Arch::Arm64), machines, ..Overrides::default() };
        let refused = both.apply(&mut experiment()).unwrap_err();
        assert!(refused.contains("is of amd64, and the guest is of arm64"), "{refused}");
    }

    #[test]
    fn what_the_file_says_already_is_no_change() {
        let (same, said) = overridden(&Overrides { replicates: Some(6), ..Overrides::default() });
        assert_eq!((same, said.len()), (experiment(), 0));
        let (same, said) = overridden(&Overrides::default());
        assert_eq!((same, said.len()), (experiment(), 0));
    }

    #[test]
    fn one_machine_takes_the_place_of_all_of_a_factor() {
        let named = |names: &[&str]| names.iter().copied().map(CostSource::named).collect();
        let several =
            Overrides { machines: named(&["amd-epyc", "desktop-x86"]), ..Overrides::default() };
        let (mut changed, _) = overridden(&several);
        let one = Overrides { machines: named(&["desktop-x86"]), ..Overrides::default() };
        let said = one.apply(&mut changed).unwrap();
        assert_eq!(changed.costs().map(CostSource::name).collect::<Vec<_>>(), ["desktop-x86"]);
        assert!(changed.factors.machine.is_empty());
        let said: Vec<String> = said.iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            ["factors.machine = [\"desktop-x86\"] instead of [\"amd-epyc\", \"desktop-x86\"]"]
        );
    }

    #[test]
    fn what_cannot_be_run_is_refused() {
        let apply = |overrides: Overrides| overrides.apply(&mut experiment()).unwrap_err();
        let workloads =
            |name: &str| Overrides { workloads: vec![name.to_owned()], ..Overrides::default() };
        assert!(apply(workloads("aa")).contains("no workload `aa`; did you mean `a`?"));
        assert!(apply(workloads("zzz")).contains("it has a, b"));
        for count in [0, 10_001, u32::MAX] {
            let overrides = Overrides { replicates: Some(count), ..Overrides::default() };
            assert!(apply(overrides).contains("1 to 10000"));
        }
    }
}
