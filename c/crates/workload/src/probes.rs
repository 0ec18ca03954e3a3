//! The cyclictest probes beside a load: one of real-time tasks, one of fair tasks.

use preemptlab_model::Probe;
use preemptlab_protocol::{Command, Policy, Report};
use serde::{Deserialize, Serialize};

use crate::{
    Latency, MeasureError, MetricNames, WindowTime,
    bounded::bounded,
    cyclictest::{Cyclictest, End},
    error::find,
};

/// Set of the probes that measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Probes {
    /// No probe: nothing disturbs the measured program.
    None,
    /// The one under `SCHED_FIFO`.
    Fifo,
    /// The one under `SCHED_OTHER`.
    Other,
    /// The fair and the real-time probe at once.
    Both,
}

impl Probes {
    /// Returns whether the set holds a probe.
    pub fn any(self) -> bool {
        self != Self::None
    }

    fn has(self, one: Self) -> bool {
        self == Self::Both || self == one
    }
}

/// The period of a probe, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct IntervalUs(#[serde(deserialize_with = "bounded::<_, 100, 100_000>")] u32);

impl IntervalUs {
    /// The period beside a load that frequent wakeups would slow down.
    pub const RARE: Self = Self(5_000);

    /// Returns the number of microseconds.
    pub fn get(self) -> u32 {
        self.0
    }
}

impl Default for IntervalUs {
    fn default() -> Self {
        Self(1_000)
    }
}

/// The real-time probe's priority under `SCHED_FIFO`: above the main threads of the probes, below the
/// kernel's own threads of priority 99.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FifoPriority(#[serde(deserialize_with = "bounded::<_, 3, 98>")] u32);

impl FifoPriority {
    /// Returns the scheduling policy of the probe.
    pub fn policy(self) -> Policy {
        Policy::Fifo(self.0 as u8)
    }
}

impl Default for FifoPriority {
    fn default() -> Self {
        Self(90)
    }
}

/// Time by which the fair probe starts later than the real-time one, besides the phases of both, in
/// nanoseconds. With one CPU the second to start waits for the first anyway.
const LEAD_NS: u64 = 20_000_000;

/// Time per CPU by which the real-time probe measures longer than the fair one, in microseconds:
/// the lead, the phases, and the time that the probes take to start (some 30 ms each at 500 MIPS).
const SURPLUS_US: u64 = 100_000;

/// The probes of one cell.
pub struct ProbeSet {
    /// Set of the probes.
    pub probes: Probes,
    /// Time that the probes measure; the real-time one measures a little longer when both do.
    pub window: WindowTime,
    /// The period of each.
    pub interval_us: IntervalUs,
    /// The real-time probe's priority.
    pub fifo_priority: FifoPriority,
    /// See [`Cyclictest::main_priority`].
    pub main_priority: u8,
}

impl ProbeSet {
    /// Returns the commands that measure, `delay_ns` and their phases after the earliest start of a
    /// probe.
    pub fn commands(&self, cpus: u32, delay_ns: u64, phases_ns: [u64; 2]) -> Vec<Command> {
        let later = |mut command: Command| {
            command.delay_ns += delay_ns;
            command
        };
        self.list(cpus, phases_ns).iter().map(|probe| later(probe.command())).collect()
    }

    /// Returns the latencies that the probes measured.
    ///
    /// # Errors
    ///
    /// [`MeasureError`] when a probe's report is missing or not that of a sound run.
    pub fn latencies(&self, cpus: u32, report: &Report) -> Result<Vec<Latency>, MeasureError> {
        let probes = self.list(cpus, [0, 0]);
        probes.iter().map(|probe| probe.latency(find(&report.probes, probe.name())?)).collect()
    }

    /// Returns the names of the metrics of the probes.
    pub fn metric_names(&self) -> MetricNames {
        let probes = self.list(1, [0, 0]);
        probes
            .iter()
            .fold(MetricNames::default(), |names, probe| names.latency(&probe.distribution(), true))
    }

    /// Lists the probes. The real-time probe starts first and ends last. Starting and writing
    /// results are the work of real-time tasks, so neither can be mistaken for a latency: the fair
    /// probe's work does not delay the real-time one, and while the fair one measures the other
    /// does nothing else.
    fn list(&self, cpus: u32, phases_ns: [u64; 2]) -> Vec<Cyclictest> {
        let Self { probes, window, interval_us, main_priority, .. } = *self;
        let interval_us = interval_us.get();
        let surplus_us = if probes == Probes::Both { SURPLUS_US * u64::from(cpus) } else { 0 };
        let fifo_us = window.as_us() + surplus_us;
        let fifo = Cyclictest {
            probe: Probe::Fifo,
            policy: self.fifo_priority.policy(),
            main_priority,
            delay_ns: phases_ns[0],
            cpus,
            interval_us,
            end: End::Samples(fifo_us.div_ceil(interval_us.into())),
        };
        let other = Cyclictest {
            probe: Probe::Other,
            policy: Policy::Other,
            main_priority,
            delay_ns: LEAD_NS + phases_ns[1],
            cpus,
            interval_us,
            end: End::Duration(window),
        };
        [(Probes::Fifo, fifo), (Probes::Other, other)]
            .into_iter()
            .filter_map(|(one, probe)| probes.has(one).then_some(probe))
            .collect()
    }
}
