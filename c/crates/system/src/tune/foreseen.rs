//! Faults of settings that are known before a guest boots with them.

use preemptlab_model::{self as model, Setting};

use crate::tune::{
    ActsOn, Board, KernelFacts, Refusal, Settings, check, check::LINE, feature, gone, known,
    misplaced, parameter,
};

/// A guest that is to have settings.
#[derive(Clone, Debug)]
pub struct Guest {
    /// Facts about its kernel.
    pub facts: KernelFacts,
    /// The virtual machine.
    pub board: Board,
    /// Whether the kernel is Debian's or built from Debian's source. A tree of the user's own may
    /// have settings that Linux lacks.
    pub is_of_debian: bool,
}

/// Returns the settings that a guest would not have, and those that change nothing in its virtual
/// machine, each with the reason. The guest proves the others.
pub fn foreseen(settings: &model::Settings, guest: &Guest) -> Vec<Refusal> {
    let mut refusals: Vec<Refusal> = Vec::new();
    let mut refuse = |refusal: Refusal| {
        if refusals.iter().all(|it| it.setting != refusal.setting) {
            refusals.push(refusal);
        }
    };
    for setting in settings.iter() {
        if let Some(reason) = reason(setting, guest) {
            refuse(Refusal { setting: setting.to_string(), reason });
        }
    }
    let mut parameters: Vec<String> = settings.parameters().map(ToString::to_string).collect();
    // The kernel takes `-` for `_`, and the check has the names with `_`.
    for word in &mut parameters {
        let end = word.find('=').unwrap_or(word.len());
        let (name, value) = word.split_at(end);
        *word = format!("{}{value}", name.replace('-', "_"));
    }
    let run_time = settings.iter().filter(|it| it.write().is_some() && !is_feature(it)).cloned();
    let checked =
        Settings { release: None, package: None, parameters, run_time: run_time.collect() };
    let allowed: Vec<String> = match guest.is_of_debian {
        true => Vec::new(),
        false => checked.words(),
    };
    // Only the code that plans the boot knows its whole line.
    let found = check(&checked, &guest.facts, &allowed).refusals.into_iter();
    found.filter(|refusal| refusal.setting != LINE).for_each(&mut refuse);
    refusals
}

/// The feature file is a list that only the kernel itself has whole.
fn is_feature(setting: &Setting) -> bool {
    matches!(setting, Setting::Debugfs { path, .. } if ["sched/features", "sched/preempt"].contains(&path.as_str()))
}

fn reason(setting: &Setting, guest: &Guest) -> Option<String> {
    let series = guest.facts.version();
    if guest.is_of_debian && series.is_some() {
        if let Some(reason) = gone::refusal(setting, series) {
            return Some(reason);
        }
        if let (Setting::Debugfs { value, .. }, Some(series), true) =
            (setting, series, is_feature(setting))
        {
            return feature::lacking(value.as_str(), series);
        }
    }
    let lacking = |acts_on: Option<ActsOn>, value: Option<&str>| {
        let lacking = acts_on?.lacking(value, guest.board)?;
        Some(format!("this virtual machine cannot be asked, since {lacking}"))
    };
    let (name, value) = match setting {
        Setting::Parameter { name, value } => (name.as_str(), value.as_ref()),
        Setting::Sysctl { name, .. } => {
            return lacking(known::acts_on_at_run_time(name.as_str()), None);
        }
        Setting::Debugfs { path, .. } => {
            return lacking(known::acts_on_at_run_time(path.as_str()), None);
        }
        Setting::Lab(_) => return None,
    };
    let value = value.map(model::Value::as_str);
    let misplaced = misplaced::refusal(name, value).filter(|_| guest.is_of_debian);
    misplaced
        .or_else(|| parameter::ignored(name, value))
        .or_else(|| lacking(known::acts_on(name), value))
}

#[cfg(test)]
mod tests {
    use preemptlab_model::Cpus;

    use super::*;

    fn guest(release: &str, cpus: u32) -> Guest {
        Guest {
            facts: KernelFacts {
                release: release.to_owned(),
                possible: Some(Cpus::up_to(cpus - 1)),
                ..KernelFacts::default()
            },
            board: Board { cpus, threads: 1, numa_nodes: 1, has_hpet: false, is_translated: true },
            is_of_debian: true,
        }
    }

    fn of(settings: &str, guest: &Guest) -> Vec<String> {
        foreseen(&settings.parse().unwrap(), guest).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_a_guest_can_be_asked_is_left_to_it() {
        let settings = "nohz_full=1 isolcpus=domain,nohz,managed_irq,1 rcu_nocbs=1 threadirqs \
                        skew_tick=1 irqaffinity=0 nohz=on nowatchdog nosoftlockup rcu_nocb_poll \
                        rcutree.kthread_prio=99 audit=0 thp_anon=64K:always mitigations=off \
                        transparent_hugepage=never sysctl.kernel.sched_rt_runtime_us=-1 \
                        sched/features=NO_HRTICK sched/base_slice_ns=3000000 lab.hpet";
        assert_eq!(of(settings, &guest("6.12.118+deb13-amd64", 2)), [] as [&str; 0]);
    }

    #[test]
    fn what_the_machine_lacks_is_named_for_each_word() {
        let folklore = "acpi_irq_nobalance numa_balancing=disable cpufreq.off=1 nosmt nmi_watchdog=0 \
                        processor.max_cstate=0 intel_idle.max_cstate=0 intel_pstate=disable \
                        hpet=disable mce=off";
        let said = of(folklore, &guest("6.12.1", 2));
        assert_eq!(said.len(), folklore.split_whitespace().count(), "{said:#?}");
        assert!(said.iter().all(|it| it.contains("cannot be asked, since ")), "{said:#?}");
        let at_run_time = "sysctl.kernel.nmi_watchdog=0 sched/numa_balancing/scan_delay_ms=1";
        assert_eq!(of(at_run_time, &guest("6.12.1", 2)).len(), 2);
        let one = of("skew_tick=1", &guest("6.12.1", 1));
        assert!(one[0].contains("it has one CPU"), "{one:?}");
    }

    #[test]
    fn what_the_kernel_has_not_is_named() {
        let debian = guest("6.12.118+deb13-amd64", 2);
        for (setting, said) in [
            ("kthread_cpus=0", "patch"),
            ("timer_migration=0", "sysctl.kernel.timer_migration=0"),
            ("sched_rt_runtime=-1", "sysctl.kernel.sched_rt_runtime_us=-1"),
            ("isolcpus=domain", "list of CPUs is missing"),
            ("rcu_nocb_poll=1024", "takes no value"),
            ("nosmap", "since 5.18"),
            ("sysctl.kernel.sched_min_granularity_ns=1", "since 5.13"),
            ("sched/min_granularity_ns=1", "since 6.6"),
            ("sched/features=NO_START_DEBIT", "not there from 6.6 on"),
            ("nohz_full=2", "CPU 2 is not in this machine, which has 0-1"),
            ("nohz-full=0-1", "it names every CPU"),
        ] {
            let refusals = of(setting, &debian);
            assert!(refusals.len() == 1 && refusals[0].contains(said), "{setting}: {refusals:?}");
        }
        assert_eq!(of("sched/min_granularity_ns=1", &guest("6.1.0-56-amd64", 2)), [] as [&str; 0]);
    }

    #[test]
    fn a_tree_of_the_users_own_may_have_what_linux_has_not() {
        let own = Guest { is_of_debian: false, ..guest("6.12.0-patched", 2) };
        for setting in ["kthread_cpus=0", "timer_migration=0", "nosmap"] {
            assert_eq!(of(setting, &own), [] as [&str; 0], "{setting}");
        }
        assert_eq!(of("nosmt", &own).len(), 1);
    }
}
