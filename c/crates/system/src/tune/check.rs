use preemptlab_model::{Cpus, KernelConfig, PreemptMode, Setting, without_flags};

use crate::tune::{KernelFacts, Refusal, Settings, cmdline, feature, gone, parameter::folded};

/// Result of checking settings against a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Settings that the kernel would ignore or that contradict each other.
    pub refusals: Vec<Refusal>,
    /// Notes on the settings that the kernel takes.
    pub notes: Vec<String>,
}

/// Checks whether a kernel would take settings, from its configuration. A comment beside each
/// option names the file of Linux 6.12 that reads it and its needs. `allowed` are settings that
/// the user let through by name.
pub fn check(settings: &Settings, facts: &KernelFacts, allowed: &[String]) -> Findings {
    let mut check = Check { settings, facts, allowed, findings: Findings::default() };
    if facts.config.is_none() {
        check.findings.notes.push(format!(
            "The config of {} is neither in /boot nor in /proc/config.gz: whether it takes the \
             parameters is not checked.",
            facts.release
        ));
    }
    let mut seen: Vec<&str> = Vec::new();
    for word in &settings.parameters {
        let (name, value) = split(word);
        if seen.contains(&name) {
            check.refuse(word, "it is given twice, and only one can be in force".to_owned());
        }
        seen.push(name);
        check.parameter(word, name, value);
    }
    check.housekeeping();
    for setting in &settings.run_time {
        check.run_time(setting);
    }
    check.length();
    check.findings
}

/// The refused setting where the whole command line is refused.
pub(crate) const LINE: &str = "the command line";

/// Returns the name and the value of a kernel parameter.
fn split(word: &str) -> (&str, Option<&str>) {
    match word.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (word, None),
    }
}

struct Check<'a> {
    settings: &'a Settings,
    facts: &'a KernelFacts,
    allowed: &'a [String],
    findings: Findings,
}

impl Check<'_> {
    fn refuse(&mut self, setting: &str, reason: String) {
        self.findings.refusals.push(Refusal { setting: setting.to_owned(), reason });
    }

    fn parameter(&mut self, word: &str, name: &str, value: Option<&str>) {
        if let Some(other) = self
            .facts
            .elsewhere
            .iter()
            .find(|other| split(&other.word).0 == name && folded(&other.word) != folded(word))
        {
            let reason =
                format!("{} already gives `{}`; take it out there", other.place, other.word);
            self.refuse(word, reason);
        }
        let is_allowed = self.allowed.iter().any(|allowed| allowed == word);
        let gone = word.parse().ok().filter(|_| !is_allowed);
        let gone = gone.and_then(|setting| gone::refusal(&setting, self.facts.version()));
        if let Some(reason) = gone {
            return self.refuse(word, reason);
        }
        let reason = match (name, value) {
            ("preempt", Some(mode)) => self.preempt(mode),
            // kernel/time/tick-sched.c and kernel/sched/isolation.c, `housekeeping_nohz_full_setup`.
            ("nohz_full", Some(list)) => self.needs("NO_HZ_FULL").or_else(|| self.cpus(list, true)),
            // kernel/rcu/tree_nocb.h, `rcu_nocb_setup`; without a value it offloads no CPU at boot.
            ("rcu_nocbs", list) => {
                self.needs("RCU_NOCB_CPU").or_else(|| list.and_then(|list| self.cpus(list, false)))
            }
            ("rcutree.enable_rcu_lazy", _) => self.rcu_lazy(value),
            // kernel/irq/manage.c, `setup_forced_irqthreads`.
            ("threadirqs", None) => match self.config().is_some_and(KernelConfig::is_rt) {
                true => Some("a PREEMPT_RT kernel has its interrupts in threads anyway".to_owned()),
                false => self.needs("IRQ_FORCED_THREADING"),
            },
            // kernel/sched/isolation.c, `housekeeping_isolcpus_setup`.
            ("isolcpus", Some(list)) => {
                self.needs("CPU_ISOLATION").or_else(|| self.cpus(without_flags(list), true))
            }
            // kernel/time/tick-sched.c, `skew_tick`.
            ("skew_tick", Some(_)) => self.needs("TICK_ONESHOT"),
            ("preempt" | "nohz_full" | "isolcpus" | "skew_tick", None) => {
                Some("it needs a value".to_owned())
            }
            _ => None,
        };
        if let Some(reason) = reason {
            self.refuse(word, reason);
        }
    }

    fn config(&self) -> Option<&KernelConfig> {
        self.facts.config.as_ref()
    }

    /// Returns the reason for a refusal if the kernel is built without a symbol.
    fn needs(&self, symbol: &str) -> Option<String> {
        let lacks = self.config().is_some_and(|config| !config.is_builtin(symbol));
        let release = &self.facts.release;
        lacks.then(|| format!("{release} is built without CONFIG_{symbol} and would ignore it"))
    }

    /// Checks `preempt=`: kernel/sched/core.c, `setup_preempt_mode`.
    fn preempt(&self, mode: &str) -> Option<String> {
        let mode: PreemptMode = match mode.parse() {
            Ok(mode) => mode,
            Err(error) => return Some(format!("{error}")),
        };
        let config = self.config()?;
        let release = &self.facts.release;
        let names = |modes: &[PreemptMode]| -> String {
            modes.iter().map(|mode| mode.as_str()).collect::<Vec<_>>().join(" and ")
        };
        let offered = config.offered_modes();
        if !config.is_dynamic() {
            return Some(format!(
                "{release} is built without CONFIG_PREEMPT_DYNAMIC: it is always {}",
                names(&offered)
            ));
        }
        let why = match mode {
            PreemptMode::Lazy => "lazy is there from 6.13 on",
            _ => {
                "from 7.0 on, and under PREEMPT_RT, kernels of x86 have neither none nor voluntary"
            }
        };
        (!offered.contains(&mode))
            .then(|| format!("{release} offers {} and would ignore it: {why}", names(&offered)))
    }

    /// Checks `rcutree.enable_rcu_lazy`: kernel/rcu/tree.c, from 6.9 on (commit 7f66f099de4d). It
    /// delays callbacks of offloaded CPUs only (kernel/rcu/Kconfig).
    fn rcu_lazy(&self, value: Option<&str>) -> Option<String> {
        if let Some(reason) = self.needs("RCU_LAZY") {
            return Some(reason);
        }
        let release = &self.facts.release;
        let known =
            self.facts.lazy_parameter.or(self.facts.version().map(|version| version >= (6, 9)));
        if known == Some(false) {
            return Some(format!("{release} has no such parameter; it is there from 6.9 on"));
        }
        let is_on = !matches!(value, Some("0" | "n" | "N" | "off"));
        let offloads = |word: &String| matches!(split(word).0, "rcu_nocbs" | "nohz_full");
        let offloaded = self.settings.parameters.iter().any(offloads)
            || self.facts.elsewhere.iter().any(|other| offloads(&other.word))
            || self.config().is_none_or(|config| config.is_builtin("RCU_NOCB_CPU_DEFAULT_ALL"));
        (is_on && !offloaded).then(|| {
            "callbacks are delayed on offloaded CPUs only: add --rcu-nocbs all, or a list"
                .to_owned()
        })
    }

    /// Returns the reason why a list does not fit the machine; with `spare` a CPU must be left
    /// over.
    fn cpus(&self, list: &str, spare: bool) -> Option<String> {
        let possible = self.facts.possible.as_ref();
        let last = possible.and_then(Cpus::last);
        let cpus = match Cpus::parse(list, last.unwrap_or(Cpus::LAST)) {
            Ok(cpus) => cpus,
            Err(error) => return Some(error.to_string()),
        };
        let possible = possible?;
        let outside = cpus.without(possible);
        if !outside.is_empty() {
            return Some(format!("CPU {outside} is not in this machine, which has {possible}"));
        }
        (spare && possible.without(&cpus).is_empty()).then(|| {
            "it names every CPU, and one at least must be left for everything else".to_owned()
        })
    }

    /// Checks the lists of CPUs against each other.
    fn housekeeping(&mut self) {
        let list = |name: &str| {
            let mut words = self.settings.parameters.iter().map(|word| (word, split(word)));
            let (word, (_, value)) = words.find(|(_, (found, _))| *found == name)?;
            let possible = self.facts.possible.as_ref()?;
            let cpus = Cpus::parse(without_flags(value?), possible.last()?).ok()?;
            Some((word.clone(), cpus))
        };
        let (nohz_full, isolated, nocbs) = (list("nohz_full"), list("isolcpus"), list("rcu_nocbs"));
        let Some((word, cpus)) = nohz_full else { return };
        // kernel/time/tick-sched.c, `tick_nohz_init`: the boot CPU keeps the time, unless another
        // one may do so after suspend, which x86 does not allow.
        let keeps_time = |config: &KernelConfig| {
            config.is_builtin("PM_SLEEP_SMP") && !config.is_builtin("PM_SLEEP_SMP_NONZERO_CPU")
        };
        let alone = self.facts.possible.as_ref().is_some_and(|all| all.without(&cpus).is_empty());
        if cpus.contains(0) && !alone && self.config().is_some_and(keeps_time) {
            let reason =
                "CPU 0 boots this machine and keeps its time; the kernel would take it out";
            self.refuse(&word, reason.to_owned());
        }
        if let (Some((_, isolated)), Some(possible)) = (isolated, &self.facts.possible)
            && !alone
            && !possible.without(&isolated).is_empty()
            && possible.without(&cpus.and(&isolated)).is_empty()
        {
            let reason = "together with isolcpus it leaves no CPU for everything else";
            self.refuse(&word, reason.to_owned());
        }
        if let Some((_, nocbs)) = nocbs {
            let implied = cpus.without(&nocbs);
            if !implied.is_empty() {
                self.findings.notes.push(format!(
                    "nohz_full offloads the RCU callbacks of its CPUs as well: {implied} beside \
                     those of rcu_nocbs."
                ));
            }
        }
    }

    /// Checks a feature of the scheduler: the kernel lists its features; where it cannot be asked,
    /// a list of this crate does.
    fn feature(&self, value: &str) -> Option<String> {
        let name = value.strip_prefix("NO_").unwrap_or(value);
        let Some(features) = &self.facts.features else {
            return feature::refusal(value, self.facts.version(), self.allowed);
        };
        (!features.iter().any(|it| it == name)).then(|| {
            format!("{} has no such feature, but {}", self.facts.release, features.join(", "))
        })
    }

    /// Checks that the kernel keeps the whole command line: the machine's own words, and the added
    /// ones.
    fn length(&mut self) {
        let added = self.settings.words().join(" ").len();
        let bytes = match (self.facts.cmdline_bytes, added) {
            (0, added) => added,
            (_, 0) => return,
            (there, added) => there + 1 + added,
        };
        if bytes > cmdline::bytes_max() {
            let what = match bytes == added {
                true => "it".to_owned(),
                false => format!("with the {added} characters of these settings it"),
            };
            self.refuse(LINE, cmdline::too_long(&what, bytes));
        }
    }

    fn run_time(&mut self, setting: &Setting) {
        if let Some(reason) = gone::refusal(setting, self.facts.version()) {
            return self.refuse(&setting.to_string(), reason);
        }
        let Setting::Debugfs { path, value } = setting else { return };
        let (path, value) = (path.as_str(), value.as_str());
        // kernel/sched/debug.c; until 6.14 it was optional, afterwards it depends on debugfs alone.
        let symbol = match self.facts.version() {
            Some(version) if version >= (6, 15) => "DEBUG_FS",
            _ => "SCHED_DEBUG",
        };
        let reason = match path {
            "sched/preempt" => Some("the mode is given by --preempt".to_owned()),
            "sched/base_slice_ns"
                if self.facts.version().is_some_and(|version| version < (6, 6)) =>
            {
                Some(format!("{} has no base slice; it is there from 6.6 on", self.facts.release))
            }
            "sched/base_slice_ns" if !value.parse::<u32>().is_ok_and(|ns| ns > 0) => {
                Some("it is a number of nanoseconds below 2^32".to_owned())
            }
            "sched/features" => self.feature(value),
            _ => None,
        };
        let reason =
            reason.or_else(|| path.starts_with("sched/").then(|| self.needs(symbol)).flatten());
        if let Some(reason) = reason {
            self.refuse(&setting.to_string(), reason);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tune::Elsewhere;

    /// Configuration of Debian's linux-image-6.12.117+deb13-amd64.
    const DEBIAN_6_12: &str = "CONFIG_IRQ_FORCED_THREADING=y\nCONFIG_TICK_ONESHOT=y\n\
        CONFIG_NO_HZ_FULL=y\n# CONFIG_PREEMPT_NONE is not set\nCONFIG_PREEMPT_VOLUNTARY=y\n\
        # CONFIG_PREEMPT is not set\n# CONFIG_PREEMPT_RT is not set\nCONFIG_PREEMPT_DYNAMIC=y\n\
        CONFIG_CPU_ISOLATION=y\nCONFIG_RCU_NOCB_CPU=y\nCONFIG_RCU_LAZY=y\nCONFIG_PM_SLEEP_SMP=y\n\
        CONFIG_DEBUG_FS=y\nCONFIG_SCHED_DEBUG=y\n";

    /// Configuration of Debian's linux-image-6.12.107+deb13-rt-amd64.
    const DEBIAN_6_12_RT: &str = "CONFIG_IRQ_FORCED_THREADING=y\nCONFIG_NO_HZ_FULL=y\n\
        # CONFIG_PREEMPT is not set\nCONFIG_PREEMPT_LAZY=y\nCONFIG_PREEMPT_RT=y\n\
        CONFIG_PREEMPT_DYNAMIC=y\nCONFIG_RCU_NOCB_CPU=y\nCONFIG_RCU_LAZY=y\n";

    fn facts(release: &str, config: &str) -> KernelFacts {
        KernelFacts {
            release: release.to_owned(),
            config: Some(KernelConfig::parse(config)),
            possible: Some(Cpus::up_to(7)),
            features: Some(vec!["HRTICK".to_owned(), "RUN_TO_PARITY".to_owned()]),
            ..KernelFacts::default()
        }
    }

    fn of(facts: &KernelFacts, words: &str) -> Findings {
        let (run_time, parameters): (Vec<&str>, Vec<&str>) =
            words.split(' ').partition(|word| word.contains('/') || word.starts_with("sysctl."));
        let settings = Settings {
            release: None,
            package: None,
            parameters: parameters.into_iter().map(str::to_owned).collect(),
            run_time: run_time.into_iter().map(|word| word.parse().unwrap()).collect(),
        };
        check(&settings, facts, &[])
    }

    #[test]
    fn what_a_kernel_takes_is_not_refused() {
        let debian = facts("6.12.117+deb13-amd64", DEBIAN_6_12);
        let words = "preempt=full nohz_full=2-7 rcu_nocbs=2-7 rcutree.enable_rcu_lazy=1 threadirqs \
                     isolcpus=nohz,managed_irq,6,7 skew_tick=1 quiet sched/base_slice_ns=3000000 \
                     sched/features=NO_HRTICK sysctl.kernel.sched_rt_runtime_us=-1";
        assert_eq!(of(&debian, words), Findings::default());
        assert_eq!(of(&debian, "rcutree.enable_rcu_lazy=0").refusals, []);
    }

    #[test]
    fn what_a_kernel_would_ignore_is_refused_with_the_reason() {
        let debian = facts("6.12.117+deb13-amd64", DEBIAN_6_12);
        let rt = facts("6.12.107+deb13-rt-amd64", DEBIAN_6_12_RT);
        let bare = facts("6.18.0", "CONFIG_HZ=250\nCONFIG_PREEMPT_NONE=y\n");
        let old = facts("6.1.0-56-amd64", DEBIAN_6_12);
        for (facts, word, reason) in [
            (&debian, "preempt=lazy", "offers none and voluntary and full and would ignore it"),
            (&debian, "preempt=rt", "unknown preemption mode"),
            (&rt, "preempt=none", "offers full and lazy"),
            (&rt, "threadirqs", "anyway"),
            (&bare, "preempt=full", "always none"),
            (&bare, "nohz_full=2", "without CONFIG_NO_HZ_FULL"),
            (&bare, "rcu_nocbs=2", "without CONFIG_RCU_NOCB_CPU"),
            (&bare, "threadirqs", "without CONFIG_IRQ_FORCED_THREADING"),
            (&bare, "isolcpus=2", "without CONFIG_CPU_ISOLATION"),
            (&bare, "skew_tick=1", "without CONFIG_TICK_ONESHOT"),
            (&bare, "rcutree.enable_rcu_lazy=1", "without CONFIG_RCU_LAZY"),
            (&bare, "sched/base_slice_ns=1", "without CONFIG_DEBUG_FS"),
            (&old, "rcutree.enable_rcu_lazy=0", "from 6.9 on"),
            (&old, "sched/base_slice_ns=1000000", "from 6.6 on"),
            (&debian, "rcutree.enable_rcu_lazy=1", "--rcu-nocbs"),
            (&debian, "nohz_full=0-7", "every CPU"),
            (&debian, "nohz_full=0-3", "CPU 0"),
            (&debian, "nohz_full=8", "not in this machine, which has 0-7"),
            (&debian, "nohz_full=a", "no list of CPUs"),
            (&debian, "nohz_full", "needs a value"),
            (&debian, "isolcpus=all", "every CPU"),
            (&debian, "rcu_nocbs=7-9", "CPU 8-9"),
            (&debian, "preempt=full preempt=none", "given twice"),
            (&debian, "nohz_full=1-7 isolcpus=0", "leaves no CPU"),
            (&debian, "sched/features=HRTCK", "no such feature, but HRTICK"),
            (&debian, "sched/base_slice_ns=0", "nanoseconds"),
            (&debian, "sched/preempt=full", "--preempt"),
        ] {
            let refusals = of(facts, word).refusals;
            let found = refusals.iter().any(|refusal| refusal.reason.contains(reason));
            assert!(found, "{word}: {refusals:?}");
        }
    }

    #[test]
    fn the_whole_command_line_is_checked() {
        let long = format!("quirk={}", "1".repeat(1000));
        let mut debian = facts("6.12.117+deb13-amd64", DEBIAN_6_12);
        assert_eq!(of(&debian, &long).refusals, []);
        debian.cmdline_bytes = 1040;
        assert_eq!(of(&debian, &long).refusals, []);
        debian.cmdline_bytes = 1041;
        let refusals = of(&debian, &long).refusals;
        let said = refusals[0].to_string();
        assert!(said.starts_with("the command line: with the 1006 characters"), "{said}");
        assert!(said.contains("has 2048 characters") && said.contains("keeps 2047"), "{said}");
    }

    #[test]
    fn what_is_gone_is_refused_for_the_kernel() {
        let old = facts("5.10.0-30-amd64", DEBIAN_6_12);
        let debian = facts("6.12.117+deb13-amd64", DEBIAN_6_12);
        let unknown = KernelFacts::default();
        for word in ["sysctl.kernel.sched_latency_ns=1", "sched_debug"] {
            assert_eq!(of(&old, word).refusals, []);
            assert!(of(&debian, word).refusals[0].reason.contains("since 5.13"));
            assert!(of(&unknown, word).refusals[0].reason.contains("since 5.13"));
        }
    }

    #[test]
    fn what_others_say_is_not_contradicted() {
        let mut debian = facts("6.12.117+deb13-amd64", DEBIAN_6_12);
        let elsewhere =
            |word: &str| Elsewhere { word: word.into(), place: "/etc/default/grub".into() };
        debian.elsewhere = vec![elsewhere("preempt=none"), elsewhere("rcu_nocbs=1")];
        let refusals = of(&debian, "preempt=full").refusals;
        assert!(refusals[0].to_string().contains("/etc/default/grub already gives `preempt=none`"));
        assert_eq!(of(&debian, "preempt=none rcutree.enable_rcu_lazy=1").refusals, []);
    }

    #[test]
    fn what_is_not_known_is_not_refused() {
        let unknown = KernelFacts { release: "6.12.1".to_owned(), ..KernelFacts::default() };
        let findings = of(&unknown, "preempt=lazy nohz_full=99 threadirqs");
        assert_eq!(findings.refusals, []);
        assert!(findings.notes[0].contains("not checked"));
    }

    proptest! {
        #[test]
        fn any_words_are_judged(words in "[a-z_]{1,9}(=[0-9a-z,:/-]{0,9})?( (nohz_full|isolcpus|rcu_nocbs|preempt)=[0-9a-z,-]{0,9}){0,3}") {
            let words = words.replace('/', "");
            let _ = of(&facts("6.12.1", DEBIAN_6_12), &words);
        }
    }
}
