use preemptlab_model::VirtualDuration;
use preemptlab_protocol::{FORMAT, Job, LoadStart, Policy, Report};
use serde::{Deserialize, Serialize};

use crate::{
    HackbenchMode, JobInputs, MeasureError, Measurements, Seconds,
    bounded::bounded,
    cyclictest::{Cyclictest, End},
    error::find,
    hackbench::Hackbench,
    phase::Phases,
};

/// Wakeup latency at `SCHED_FIFO` and at `SCHED_OTHER`, and throughput, all from one window.
///
/// A fair probe is there because the lazy mode treats real-time tasks as the full mode does: the
/// two differ for fair tasks only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CyclictestHackbench {
    /// How long the fair probe measures, in virtual time.
    pub window: Seconds,
    /// The period of each probe.
    #[serde(deserialize_with = "bounded::<_, 100, 100_000>")]
    pub interval_us: u32,
    /// The real-time probe's priority.
    #[serde(deserialize_with = "bounded::<_, 2, 98>")]
    pub fifo_priority: u32,
    /// hackbench's groups, of 40 tasks each.
    #[serde(deserialize_with = "bounded::<_, 1, 100>")]
    pub groups: u32,
    /// Whether hackbench's tasks are processes or threads.
    pub hackbench: HackbenchMode,
    /// The length of hackbench's messages.
    #[serde(deserialize_with = "bounded::<_, 1, 65_536>")]
    pub message_bytes: u32,
}

impl Default for CyclictestHackbench {
    fn default() -> Self {
        Self {
            window: const { Seconds::new(2).unwrap() },
            interval_us: 1_000,
            fifo_priority: 90,
            groups: 2,
            hackbench: HackbenchMode::Process,
            message_bytes: 100,
        }
    }
}

const LOAD: &str = "hackbench";

/// From the load's first messages to the window, besides a phase: a dozen ticks, so that every
/// task of the load has had its turns.
const SETTLE_NS: u64 = 50_000_000;

/// How much later than the real-time probe the fair one starts, besides the phases of both. With
/// one CPU the second to start waits for the first anyway.
const LEAD_NS: u64 = 20_000_000;

/// How much longer than the fair probe the real-time one measures, per CPU: the lead, the phases,
/// and the time that the probes take to start (some 30 ms each at 500 MIPS).
const SURPLUS_US: u64 = 100_000;

/// Of a cell besides the window: starting the load, settling, the surplus, ending.
const AROUND_WINDOW: VirtualDuration = VirtualDuration::from_ms(600);

/// What the load may take to start, beyond which something is wrong.
const START_NS_MAX: u64 = 10_000_000_000;

impl CyclictestHackbench {
    pub(crate) fn job(&self, inputs: JobInputs) -> Job {
        let mut phases = Phases::new(inputs.seed);
        let [settle_ns, fifo_ns, other_ns] = [(); 3].map(|()| phases.next_ns());
        let hackbench = self.hackbench();
        Job {
            format: FORMAT,
            seed: inputs.seed,
            preempt: inputs.preempt.as_str().to_owned(),
            skew_ns: inputs.skew_ns,
            limit_ns: START_NS_MAX + 2 * VirtualDuration::from(self.window).as_ns(),
            load_start: LoadStart {
                written_bytes_min: hackbench.started_bytes(),
                settle_ns: SETTLE_NS + settle_ns,
            },
            load: vec![hackbench.command(LOAD)],
            probes: self
                .probes(inputs.cpus, [fifo_ns, other_ns])
                .map(|probe| probe.command())
                .into(),
        }
    }

    pub(crate) fn virtual_time_estimate(&self) -> VirtualDuration {
        VirtualDuration::from_ns(VirtualDuration::from(self.window).as_ns() + AROUND_WINDOW.as_ns())
    }

    pub(crate) fn measure(&self, cpus: u32, report: &Report) -> Result<Measurements, MeasureError> {
        let load = find(&report.load, LOAD)?;
        let throughput = self.hackbench().throughput(load, report.window)?;
        let latencies = self
            .probes(cpus, [0, 0])
            .iter()
            .map(|probe| probe.latency(find(&report.probes, probe.name)?))
            .collect::<Result<_, _>>()?;
        Ok(Measurements { latencies, throughputs: vec![throughput] })
    }

    fn hackbench(&self) -> Hackbench {
        Hackbench { groups: self.groups, mode: self.hackbench, message_bytes: self.message_bytes }
    }

    /// The real-time probe starts first and ends last. Starting and writing results are the work of
    /// real-time tasks, and so neither can be mistaken for a latency: what the fair probe does does
    /// not delay the real-time one, and while the fair one measures the other does nothing else.
    fn probes(&self, cpus: u32, phases_ns: [u64; 2]) -> [Cyclictest; 2] {
        let interval_us = self.interval_us;
        let fifo_us = u64::from(self.window.get()) * 1_000_000 + SURPLUS_US * u64::from(cpus);
        [
            Cyclictest {
                name: "fifo",
                policy: Policy::Fifo(self.fifo_priority as u8),
                delay_ns: phases_ns[0],
                cpus,
                interval_us,
                end: End::Samples(fifo_us.div_ceil(interval_us.into())),
            },
            Cyclictest {
                name: "other",
                policy: Policy::Other,
                delay_ns: LEAD_NS + phases_ns[1],
                cpus,
                interval_us,
                end: End::Duration(self.window),
            },
        ]
    }
}
