//! The probes, which measure latencies. All code that follows, names, shows or decides by a probe
//! reads its declaration here.

use preemptlab_protocol::Job;

/// Most bytes of the name that the kernel gives a process: `TASK_COMM_LEN` without the NUL.
const COMM_BYTES_MAX: usize = 15;

/// The program that plays scenarios. It measures nothing, and traces explain the wakeups of its threads.
const PLAYER: &str = "player";

/// Time from the start of a load that no probe accompanies to the instant from which it is measured, in
/// nanoseconds: its processes work by then. Where a signal ends such a load, its window ends.
pub const WORKS_AFTER_NS: u64 = 100_000_000;

/// Probe: a tool, with the policy of its measuring threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Probe {
    /// cyclictest under `SCHED_FIFO`.
    Fifo,
    /// cyclictest under `SCHED_OTHER`.
    Other,
    /// oslat under `SCHED_OTHER`.
    Oslat,
}

/// Everything that is known of a probe before it measures.
#[derive(Clone, Copy, Debug)]
pub struct Declaration {
    /// Name of the probe among the commands of a cell: `fifo`.
    pub name: &'static str,
    /// Distribution of its samples: `wakeup.fifo`.
    pub distribution: &'static str,
    /// Name of the distribution for people: `FIFO wakeup`.
    pub title: &'static str,
    /// Meaning of a sample, which continues a sentence: `how late a task ran`.
    pub meaning: &'static str,
    /// Word for its samples: `wakeups`.
    pub samples: &'static str,
    /// Name of its program, by which the kernel calls its process.
    pub program: &'static str,
    /// Whether its measuring threads are real-time tasks.
    pub is_realtime: bool,
    /// Threads that sleep until a timer wakes them.
    pub woken: Woken,
}

/// Threads of a process that sleep until a timer wakes them, so that a trace explains why they were late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// None.
    None,
    /// Every thread.
    All,
    /// Every thread but the first, which waits for the others.
    Workers,
}

impl Probe {
    /// The probes that there are. Of several that would do, the first is meant.
    pub const ALL: [Self; 3] = [Self::Fifo, Self::Other, Self::Oslat];

    /// Returns the probe's declaration.
    pub const fn declared(self) -> Declaration {
        match self {
            Self::Fifo => Declaration {
                name: "fifo",
                distribution: "wakeup.fifo",
                title: "FIFO wakeup",
                meaning: "how late cyclictest ran after its timer was due, as a real-time task (SCHED_FIFO)",
                samples: "wakeups",
                program: "cyclictest",
                is_realtime: true,
                woken: Woken::Workers,
            },
            Self::Other => Declaration {
                name: "other",
                distribution: "wakeup.other",
                title: "OTHER wakeup",
                meaning: "how late cyclictest ran after its timer was due, as an ordinary task (SCHED_OTHER)",
                is_realtime: false,
                ..Self::Fifo.declared()
            },
            Self::Oslat => Declaration {
                name: "oslat",
                distribution: "interruption",
                title: "interruption",
                meaning: "how long oslat, which only reads the clock in a loop, was kept from its next round, as an ordinary task (SCHED_OTHER)",
                samples: "rounds",
                program: "oslat",
                is_realtime: false,
                woken: Woken::None,
            },
        }
    }

    /// Lists the real-time probes, or the fair ones.
    pub fn of_policy(is_realtime: bool) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |probe| probe.declared().is_realtime == is_realtime)
    }

    /// Returns whether a timer wakes the probe, so that traces explain why it was late.
    pub fn is_woken(self) -> bool {
        self.declared().woken != Woken::None
    }
}

/// Process whose wakeups a trace tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeProcess {
    /// Name that the kernel gives it.
    pub comm: String,
    /// Whether its first thread only waits for the others.
    pub first_waits: bool,
}

impl ProbeProcess {
    /// Returns the process that a job measures wakeups with: that of a declared probe where there is one, else
    /// that of the first command. Probes start under a policy of the guest's choice and set their own: which
    /// of several is meant, its priority tells.
    pub fn of(job: &Job) -> Option<Self> {
        let declared =
            || Probe::ALL.into_iter().filter(|probe| probe.is_woken()).map(Probe::declared);
        let mut programs = job.probes.iter().filter_map(|probe| probe.argv.first());
        let is_declared = |program: &&String| {
            declared().any(|probe| {
                program.strip_suffix(probe.program).is_some_and(|it| it.ends_with('/'))
            })
        };
        let program = programs.clone().find(is_declared).or_else(|| programs.next())?;
        let name = program.rsplit('/').find(|part| !part.is_empty())?;
        let comm: String = name.chars().take(COMM_BYTES_MAX).collect();
        let first_waits = comm == PLAYER
            || declared().any(|probe| probe.woken == Woken::Workers && probe.program == comm);
        Some(Self { comm, first_waits })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use preemptlab_protocol::{Command, FORMAT, LoadStart, Policy};

    use super::*;

    fn process(programs: &[&str]) -> Option<(String, bool)> {
        let command = |program: &&str| Command {
            name: "probe".to_owned(),
            argv: vec![(*program).to_owned(), "--argument".to_owned()],
            unprivileged: false,
            policy: Policy::Other,
            ordinary_threads: 0,
            delay_ns: 0,
            files: Vec::new(),
            end: None,
        };
        let job = Job {
            format: FORMAT,
            seed: 1,
            preempt: "full".to_owned(),
            hz: None,
            settings: Vec::new(),
            skew_ns: None,
            limit_ns: 1,
            load_start: LoadStart { written_bytes_min: 0, settle_ns: 0 },
            load: Vec::new(),
            probes: programs.iter().map(command).collect(),
        };
        ProbeProcess::of(&job).map(|process| (process.comm, process.first_waits))
    }

    #[test]
    fn traces_follow_the_declared_probe_or_the_first_command() {
        let of = |programs: &[&str]| process(programs);
        let named = |comm: &str, first_waits| Some((comm.to_owned(), first_waits));
        assert_eq!(of(&[]), None);
        assert_eq!(of(&["/usr/bin/sockperf", "/usr/bin/cyclictest"]), named("cyclictest", true));
        assert_eq!(of(&["/workload/servo", "/workload/xcyclictest"]), named("servo", false));
        assert_eq!(of(&["/player"]), named("player", true));
        assert_eq!(of(&["/workload/a-name-of-20-letters"]), named("a-name-of-20-le", false));
        // No timer wakes it.
        assert_eq!(of(&["/usr/bin/oslat", "/usr/bin/cyclictest"]), named("cyclictest", true));
        assert_eq!(of(&["/usr/bin/oslat"]), named("oslat", false));
    }

    #[test]
    fn declarations_are_of_one_probe_each() {
        let declared = Probe::ALL.map(Probe::declared);
        let parts = declared.map(|of| [of.name, of.distribution, of.title, of.meaning]);
        for part in 0..4 {
            let each: BTreeSet<&str> = parts.iter().map(|parts| parts[part]).collect();
            assert_eq!(each.len(), Probe::ALL.len(), "{each:?}");
        }
    }
}
