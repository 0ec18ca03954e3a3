//! The effects of settings, as the running kernel shows them.

use std::{
    fs,
    time::{Duration, Instant},
};

use crate::host::{Evidence, HostKernel};
use preemptlab_model::{Cpus, Setting};
use rustix::thread::{CpuSet, sched_setaffinity};
use schemars::JsonSchema;
use serde::Serialize;

use crate::apply::{Applied, Machine, run_time};

/// Effect of one setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Effect {
    /// The setting, as the kernel writes it.
    pub setting: String,
    /// State of the setting.
    pub state: State,
    /// Evidence of the state.
    pub evidence: String,
}

/// State of a setting after it was applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The kernel does it.
    InForce,
    /// The machine has booted since, and the setting is not in force.
    NotInForce,
    /// The setting was applied in this very boot, and takes effect at the next one.
    AfterNextBoot,
    /// The kernel has it on its command line, and shows nothing else of it.
    Unseen,
}

/// The time that a CPU is kept busy to count its ticks.
const BUSY: Duration = Duration::from_millis(200);

/// Number of attempts, because any other task on the CPU brings the tick back.
const TRIES: u32 = 3;

/// Returns the effect of each setting that was applied. The machine must be the running one.
pub fn effects(machine: &Machine, applied: &Applied, kernel: &HostKernel) -> Vec<Effect> {
    let look = Look { machine, applied, kernel };
    let release = applied.settings.release().into_iter().map(|release| {
        let seen = Some((kernel.release == release, format!("{} runs", kernel.release)));
        look.effect(&format!("kernel {release}"), seen, true)
    });
    let parameters = applied.settings.parameters().iter().map(|word| look.parameter(word));
    let run_time = applied.settings.run_time().iter().map(|setting| look.run_time(setting));
    release.chain(parameters).chain(run_time).collect()
}

struct Look<'a> {
    machine: &'a Machine,
    applied: &'a Applied,
    kernel: &'a HostKernel,
}

/// Whether a setting is in force, with the evidence; `None` where nothing shows it.
type Seen = Option<(bool, String)>;

impl Look<'_> {
    fn effect(&self, setting: &str, seen: Seen, needs_boot: bool) -> Effect {
        let booted = self.machine.boot() != self.applied.boot;
        let told = self.kernel.cmdline.split_whitespace().any(|word| word == setting);
        let (state, evidence) = match seen {
            Some((true, evidence)) => (State::InForce, evidence),
            Some((false, evidence)) if needs_boot && !booted => (State::AfterNextBoot, evidence),
            Some((false, evidence)) if needs_boot && !told => (
                State::NotInForce,
                format!("{evidence}; this boot's command line does not have it"),
            ),
            Some((false, evidence)) => (State::NotInForce, evidence),
            None if told => (
                State::Unseen,
                "it is on the command line; the kernel shows nothing else of it here".to_owned(),
            ),
            None if booted => {
                (State::NotInForce, "it is not on the command line of this boot".to_owned())
            }
            None => (State::AfterNextBoot, "it is not on the command line yet".to_owned()),
        };
        Effect { setting: setting.to_owned(), state, evidence }
    }

    fn parameter(&self, word: &str) -> Effect {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let seen = match name {
            "preempt" => self.preempt(value),
            "nohz_full" => self.nohz_full(value),
            "isolcpus" => self.isolated(value),
            "rcu_nocbs" => self.rcu_nocbs(value),
            "rcutree.enable_rcu_lazy" => self.rcu_lazy(value),
            "threadirqs" => self.threadirqs(),
            _ => None,
        };
        self.effect(word, seen, true)
    }

    fn preempt(&self, mode: &str) -> Seen {
        let active = self.kernel.mode.active?;
        let how = match self.kernel.mode.evidence {
            Evidence::Kernel => "by debugfs sched/preempt",
            Evidence::Config => "its config leaves no other",
            Evidence::Inferred => "by config and command line; as root the kernel is asked",
            Evidence::None => return None,
        };
        Some((active.as_str() == mode, format!("{active} runs, {how}")))
    }

    /// Returns the CPUs of `list` on this machine.
    fn cpus(&self, list: &str) -> Option<Cpus> {
        let possible = self.machine.line("/sys/devices/system/cpu/possible").ok()?;
        let last = Cpus::parse(&possible, 0).ok()?.last()?;
        Cpus::parse(list, last).ok()
    }

    fn nohz_full(&self, list: &str) -> Seen {
        let wanted = self.cpus(list)?;
        let taken = self.kernel.nohz_full.as_ref().and_then(|list| self.cpus(list));
        let missing = wanted.without(&taken.unwrap_or_default());
        if !missing.is_empty() {
            return Some((false, format!("sysfs nohz_full is without CPU {missing}")));
        }
        let shown = "sysfs nohz_full has them";
        let measured = wanted.iter().find_map(|cpu| Some((cpu, self.ticks(cpu)?)));
        let Some((cpu, ticks)) = measured else {
            return Some((true, format!("{shown}; their ticks cannot be counted here")));
        };
        let full = u64::from(self.kernel.hz.unwrap_or(0)) * BUSY.as_millis() as u64 / 1000;
        let evidence = format!(
            "{shown}; busy for {} ms, CPU {cpu} had {ticks} timer interrupts of {full}",
            BUSY.as_millis()
        );
        let is_stopped = full == 0 || ticks * 2 < full;
        let why = match is_stopped {
            true => "",
            false => ": another task runs there, or something holds its tick",
        };
        Some((is_stopped, format!("{evidence}{why}")))
    }

    /// Returns the fewest timer interrupts of a CPU while one thread keeps it busy; `None` where
    /// this process may not run there.
    fn ticks(&self, cpu: u32) -> Option<u64> {
        let machine = self.machine.clone();
        let measure = move || {
            let mut set = CpuSet::new();
            set.set(usize::try_from(cpu).ok()?);
            sched_setaffinity(None, &set).ok()?;
            let once = || {
                let before = timer_interrupts(&machine, cpu)?;
                let began = Instant::now();
                while began.elapsed() < BUSY {
                    std::hint::spin_loop();
                }
                timer_interrupts(&machine, cpu)?.checked_sub(before)
            };
            (0..TRIES).filter_map(|_| once()).min()
        };
        // A thread of its own, so that the affinity of this one stays.
        std::thread::spawn(measure).join().ok()?
    }

    fn isolated(&self, list: &str) -> Seen {
        let mut flags: Vec<&str> = Vec::new();
        let mut rest = list;
        while let Some((flag, after)) = rest.split_once(',')
            && flag.starts_with(|c: char| c.is_ascii_lowercase())
            && flag != "all"
        {
            flags.push(flag);
            rest = after;
        }
        if !flags.is_empty() && !flags.contains(&"domain") {
            return None;
        }
        let wanted = self.cpus(rest)?;
        let taken = self.kernel.isolated.as_ref().and_then(|list| self.cpus(list));
        let missing = wanted.without(&taken.unwrap_or_default());
        Some(match missing.is_empty() {
            true => (true, "sysfs isolated has them".to_owned()),
            false => (false, format!("sysfs isolated is without CPU {missing}")),
        })
    }

    /// Callbacks of offloaded CPUs are invoked by threads named `rcuop/N`, or `rcuos/N` where RCU is
    /// not preemptible (kernel/rcu/tree_nocb.h).
    fn rcu_nocbs(&self, list: &str) -> Seen {
        let online = self.machine.line("/sys/devices/system/cpu/online").ok()?;
        let online = self.cpus(&online)?;
        let wanted = self.cpus(list)?;
        let threads = self.threads()?;
        let has = |cpu: &u32| {
            ["rcuop", "rcuos"].iter().any(|name| threads.contains(&format!("{name}/{cpu}")))
        };
        let (there, missing): (Vec<u32>, Vec<u32>) =
            wanted.iter().filter(|cpu| online.contains(*cpu)).partition(has);
        let names =
            |cpus: &[u32]| cpus.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        Some(match missing.is_empty() {
            true => (true, format!("kernel threads rcuo*/N invoke callbacks of {}", names(&there))),
            false => (false, format!("no kernel thread invokes callbacks of {}", names(&missing))),
        })
    }

    fn rcu_lazy(&self, value: &str) -> Seen {
        let now = self.machine.line("/sys/module/rcutree/parameters/enable_rcu_lazy").ok()?;
        let on = |value: &str| matches!(value, "" | "1" | "y" | "Y" | "on");
        let evidence = format!("rcutree.enable_rcu_lazy is {now}");
        if on(&now) && on(value) && !self.threads()?.iter().any(|name| name.starts_with("rcuo")) {
            // The parameter alone does nothing (kernel/rcu/Kconfig).
            return Some((false, format!("{evidence}, and no CPU's callbacks are offloaded")));
        }
        Some((on(&now) == on(value), evidence))
    }

    /// Looks for threaded interrupt handlers, which have a thread `irq/N-NAME`
    /// (kernel/irq/manage.c). Some drivers have one anyway, and some interrupts may not have one.
    fn threadirqs(&self) -> Seen {
        let interrupts = fs::read_to_string(self.machine.path("/proc/interrupts")).ok()?;
        let cpus = interrupts.lines().next()?.split_whitespace().count();
        let handled: Vec<&str> = interrupts
            .lines()
            .filter_map(|line| {
                let (number, rest) = line.trim_start().split_once(':')?;
                let name = rest.split_whitespace().nth(cpus + 2)?;
                let is_exempt = rest.ends_with("timer") || rest.ends_with("cascade");
                let numbered = number.bytes().all(|byte| byte.is_ascii_digit());
                (numbered && !is_exempt && !name.is_empty()).then_some(number)
            })
            .collect();
        let threads = self.threads()?;
        let has = |number: &&&str| {
            threads.iter().any(|thread| thread.starts_with(&format!("irq/{number}-")))
        };
        let threaded = handled.iter().filter(has).count();
        let evidence = format!("{threaded} of {} interrupts have a thread", handled.len());
        Some((threaded > 0 && threaded * 2 >= handled.len(), evidence))
    }

    /// Returns the names of all processes, kernel threads among them.
    fn threads(&self) -> Option<Vec<String>> {
        let processes = fs::read_dir(self.machine.path("/proc")).ok()?;
        let name = |entry: fs::DirEntry| fs::read_to_string(entry.path().join("comm")).ok();
        Some(processes.flatten().filter_map(name).map(|it| it.trim().to_owned()).collect())
    }

    fn run_time(&self, setting: &Setting) -> Effect {
        let text = setting.to_string();
        let Some((path, value)) = setting.write() else {
            return self.effect(&text, None, true);
        };
        match run_time::state(self.machine, &path, value) {
            Ok(now) => {
                let is_set = now.split_whitespace().eq(value.split_whitespace());
                let was_set = self.applied.run_time.iter().any(|write| write.setting == text);
                self.effect(&text, Some((is_set, format!("{path}: {now}"))), !was_set)
            }
            Err(_) => {
                let evidence = run_time::obstacle(self.machine, &path);
                Effect { setting: text, state: State::Unseen, evidence }
            }
        }
    }
}

/// Returns the number of interrupts of a CPU's timer: the line `LOC` of /proc/interrupts on x86.
fn timer_interrupts(machine: &Machine, cpu: u32) -> Option<u64> {
    let text = fs::read_to_string(machine.path("/proc/interrupts")).ok()?;
    let column =
        text.lines().next()?.split_whitespace().position(|it| it == format!("CPU{cpu}"))?;
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix("LOC:"))?;
    line.split_whitespace().nth(column)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::tune::{Settings, Wanted};

    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Returns the effects of settings that were applied in boot `a` of a machine with these files.
    fn of(files: &[(&str, &str)], parameters: &[&str], run_time: &[&str]) -> Vec<Effect> {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "proc/sys/kernel/random/boot_id", "b\n");
        write(folder.path(), "sys/devices/system/cpu/possible", "0-3\n");
        write(folder.path(), "sys/devices/system/cpu/online", "0-3\n");
        for (path, text) in files {
            write(folder.path(), path, text);
        }
        let applied = Applied {
            settings: Settings::new(&Wanted {
                kernel: None,
                preempt: None,
                cmdline: &parameters.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>(),
                settings: &run_time.join(" ").parse().unwrap(),
                allowed: &[],
            })
            .settings,
            boot: Some("a".to_owned()),
            release: String::new(),
            files: Vec::new(),
            folders: Vec::new(),
            run_time: Vec::new(),
        };
        let kernel = HostKernel::observe(folder.path());
        effects(&Machine::at(folder.path()), &applied, &kernel)
    }

    fn states(effects: &[Effect]) -> Vec<State> {
        effects.iter().map(|effect| effect.state).collect()
    }

    #[test]
    fn what_the_kernel_does_counts_and_not_what_it_was_told() {
        use State::{InForce, NotInForce, Unseen};
        let words = [
            "preempt=full",
            "isolcpus=2-3",
            "rcu_nocbs=2-3",
            "rcutree.enable_rcu_lazy=1",
            "threadirqs",
            "skew_tick=1",
        ];
        let cmdline = ("proc/cmdline", &*format!("quiet {}\n", words.join(" ")));
        let nothing = [
            cmdline,
            ("sys/kernel/debug/sched/preempt", "none (voluntary) full\n"),
            ("sys/devices/system/cpu/isolated", "\n"),
            ("sys/module/rcutree/parameters/enable_rcu_lazy", "N\n"),
            ("proc/interrupts", "      CPU0\n  4: 1 IO-APIC 4-edge ttyS0\nLOC: 5 Local\n"),
            ("proc/7/comm", "rcuop/2\n"),
        ];
        let effects = of(&nothing, &words, &["sysctl.kernel.watchdog=1"]);
        assert_eq!(states(&effects)[..5], [NotInForce; 5], "{effects:?}");
        assert_eq!(states(&effects)[5..], [Unseen, Unseen]);
        let taken = [
            cmdline,
            ("sys/kernel/debug/sched/preempt", "none voluntary (full)\n"),
            ("sys/devices/system/cpu/isolated", "2-3\n"),
            ("sys/module/rcutree/parameters/enable_rcu_lazy", "Y\n"),
            ("proc/interrupts", nothing[4].1),
            ("proc/7/comm", "rcuop/2\n"),
            ("proc/8/comm", "rcuop/3\n"),
            ("proc/9/comm", "irq/4-ttyS0\n"),
            ("proc/sys/kernel/watchdog", "1\n"),
        ];
        let effects = of(&taken, &words, &["sysctl.kernel.watchdog=1"]);
        assert_eq!(states(&effects)[..5], [InForce; 5], "{effects:?}");
        assert_eq!(states(&effects)[5..], [Unseen, InForce]);
    }

    #[test]
    fn delaying_callbacks_takes_offloaded_ones() {
        let lazy = ("sys/module/rcutree/parameters/enable_rcu_lazy", "Y\n");
        let alone = of(&[lazy], &["rcutree.enable_rcu_lazy=1"], &[]);
        assert_eq!(states(&alone), [State::NotInForce]);
        assert!(alone[0].evidence.contains("offloaded"), "{alone:?}");
        let off = of(&[lazy], &["rcutree.enable_rcu_lazy=0"], &[]);
        assert_eq!(states(&off), [State::NotInForce]);
    }

    #[test]
    fn another_entry_was_booted() {
        let effects = of(&[("proc/cmdline", "quiet\n")], &["nohz_full=2", "skew_tick=1"], &[]);
        assert_eq!(states(&effects), [State::NotInForce; 2]);
        assert!(effects.iter().all(|it| it.evidence.contains("command line")), "{effects:?}");
    }
}
