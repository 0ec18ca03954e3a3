//! An experiment under other costs of instructions.

use preemptlab_recording::Override;

use crate::{CostSource, Experiment, shipped_profiles};

/// The key of the cost of instructions.
const COST: &str = "machine.cost";

/// The key of the caches, which only some profiles describe.
const CACHES: &str = "machine.caches";

impl Experiment {
    /// Returns the costs that tell how much the experiment's verdicts owe to its own: the profiles that
    /// preemptlab has, but for its own; one of them where each instruction takes the same time.
    pub fn other_costs(&self) -> Vec<CostSource> {
        let own = &self.machine.prices;
        let others = shipped_profiles().filter(|name| *name != own.name()).map(CostSource::named);
        others.take(if own.is_instructions() { 1 } else { usize::MAX }).collect()
    }

    /// Returns the experiment under another cost, with what is not as its file says; `overrides` is what
    /// was not before.
    ///
    /// # Errors
    ///
    /// When a comparison could not tell the costs apart, in words.
    pub fn under_cost(
        &self,
        cost: CostSource,
        overrides: &[Override],
    ) -> Result<(Self, Vec<Override>), String> {
        let own = &self.machine.prices;
        if *own == cost {
            return Err(format!("the experiment's cost is `{}` already: name another", own.name()));
        }
        if own.name() == cost.name() {
            return Err(format!(
                "the experiment's own profile is named `{}`, too: give one of them another name",
                own.name()
            ));
        }
        let (before, mut overrides): (Vec<Override>, Vec<Override>) =
            overrides.iter().cloned().partition(|change| change.key == COST);
        let quoted = |cost: &CostSource| format!("{:?}", cost.name());
        let file = before.into_iter().next().map_or_else(|| quoted(own), |change| change.file);
        let run = quoted(&cost);
        if file != run {
            overrides.push(Override { key: COST.to_owned(), file, run });
        }
        let mut experiment = self.clone();
        experiment.machine.prices = cost;
        let describes_caches =
            experiment.machine.profile().is_some_and(|profile| profile.caches.is_some());
        if experiment.machine.caches && !describes_caches {
            experiment.machine.caches = false;
            let [file, run] = [true, false].map(|caches| caches.to_string());
            overrides.push(Override { key: CACHES.to_owned(), file, run });
        }
        Ok((experiment, overrides))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn experiment(machine: &str) -> Experiment {
        let text = format!(
            "format = 1\nname = \"x\"\n[factors]\nkernel = [\"debian:6.12\"]\n\
             preempt = [\"none\", \"full\"]\n[workload.a]\nkind = \"cyclictest\"\n{machine}"
        );
        Experiment::parse(&text).unwrap()
    }

    fn under(cost: &str) -> Experiment {
        experiment(&format!("[machine]\ncost = \"{cost}\"\n"))
    }

    /// Returns a shipped profile under another name.
    fn renamed(name: &str, of: &str) -> CostSource {
        let CostSource::Profile(mut profile) = CostSource::named(of) else { panic!("{of}") };
        profile.name = name.parse().unwrap();
        CostSource::Profile(profile)
    }

    #[test]
    fn the_other_costs_are_the_profiles_that_it_does_not_use() {
        let names = |experiment: &Experiment| -> Vec<String> {
            experiment.other_costs().iter().map(|cost| cost.name().to_owned()).collect()
        };
        assert_eq!(names(&experiment("")), ["amd-epyc"]);
        assert_eq!(names(&under("amd-epyc")), ["desktop-x86"]);
        assert_eq!(names(&under("desktop-x86")), ["amd-epyc"]);
        let mut own = experiment("");
        own.machine.prices = renamed("mine", "amd-epyc");
        assert_eq!(names(&own), ["amd-epyc", "desktop-x86"]);
    }

    #[test]
    fn another_cost_is_all_that_differs() {
        let desktop = || CostSource::named("desktop-x86");
        let said = |overrides: &[Override]| -> Vec<String> {
            overrides.iter().map(ToString::to_string).collect()
        };
        let (other, overrides) = under("amd-epyc").under_cost(desktop(), &[]).unwrap();
        assert_eq!(other, under("desktop-x86"));
        assert_eq!(said(&overrides), ["machine.cost = \"desktop-x86\" instead of \"amd-epyc\""]);
        let (plain, overrides) = other.under_cost(CostSource::Instructions, &overrides).unwrap();
        assert_eq!(plain, experiment(""));
        assert_eq!(said(&overrides), ["machine.cost = \"instructions\" instead of \"amd-epyc\""]);
        let own = CostSource::named("amd-epyc");
        assert_eq!(plain.under_cost(own, &overrides).unwrap(), (under("amd-epyc"), Vec::new()));
    }

    #[test]
    fn costs_that_cannot_be_told_apart_are_refused() {
        let refused = |experiment: Experiment, cost| experiment.under_cost(cost, &[]).unwrap_err();
        let said = refused(experiment(""), CostSource::Instructions);
        assert!(said.contains("cost is `instructions` already"), "{said}");
        let said = refused(under("amd-epyc"), CostSource::named("amd-epyc"));
        assert!(said.contains("cost is `amd-epyc` already"), "{said}");
        let said = refused(under("amd-epyc"), renamed("amd-epyc", "desktop-x86"));
        assert!(said.contains("profile is named `amd-epyc`, too"), "{said}");
    }
}
