use preemptlab_model::{MetricName, Platform, VirtualDuration};
use preemptlab_protocol::{LoadStart, Report};
use serde::{Deserialize, Serialize};

use crate::{
    HackbenchMode, MeasureError, Measurements, MetricNames, WindowTime,
    bounded::bounded,
    cyclictest,
    error::find,
    hackbench::Hackbench,
    phase::Phases,
    probes::{FifoPriority, IntervalUs, ProbeSet, Probes},
    program::{Circumstances, Program, Work},
};

/// Wakeup latency at `SCHED_FIFO` and at `SCHED_OTHER`, and throughput, all from one window.
///
/// A fair probe is there because the lazy mode treats real-time tasks as the full mode does: the
/// two differ for fair tasks only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CyclictestHackbench {
    /// Time that the fair probe measures, in virtual time.
    pub window: WindowTime,
    /// The period of each probe.
    pub interval_us: IntervalUs,
    /// The real-time probe's priority.
    pub fifo_priority: FifoPriority,
    /// hackbench's groups, of 40 tasks each.
    #[serde(deserialize_with = "bounded::<_, 1, 100>")]
    pub groups: u32,
    /// Kind of hackbench's tasks: processes or threads.
    pub hackbench: HackbenchMode,
    /// The length of hackbench's messages.
    #[serde(deserialize_with = "bounded::<_, 1, 65_536>")]
    pub message_bytes: u32,
}

impl Default for CyclictestHackbench {
    fn default() -> Self {
        Self {
            window: const { WindowTime::from_ms(2000).unwrap() },
            interval_us: IntervalUs::default(),
            fifo_priority: FifoPriority::default(),
            groups: 2,
            hackbench: HackbenchMode::Process,
            message_bytes: 100,
        }
    }
}

const LOAD: &str = "hackbench";

/// Time from the load's first messages to the window, besides a phase, in nanoseconds: a dozen
/// ticks, so that every task of the load has had its turns.
const SETTLE_NS: u64 = 50_000_000;

/// Virtual time of a cell besides the window: starting the load, settling, the surplus, ending.
const AROUND_WINDOW: VirtualDuration = VirtualDuration::from_ms(600);

/// Longest time in which the load may start, in nanoseconds. Beyond it the cell fails.
const START_NS_MAX: u64 = 10_000_000_000;

impl Program for CyclictestHackbench {
    fn packages(&self, _: &Platform) -> Vec<&str> {
        vec![cyclictest::PACKAGE]
    }

    fn assumed_packages(&self) -> Vec<&str> {
        cyclictest::ASSUMED_PACKAGES.into()
    }

    fn work(&self, circumstances: Circumstances) -> Work {
        let mut phases = Phases::new(circumstances.seed);
        let [settle_ns, fifo_ns, other_ns] = [(); 3].map(|()| phases.next_ns());
        let hackbench = self.hackbench();
        Work {
            limit: VirtualDuration::from_ns(
                START_NS_MAX + 2 * VirtualDuration::from(self.window).as_ns(),
            ),
            load_start: LoadStart {
                written_bytes_min: hackbench.started_bytes(),
                settle_ns: SETTLE_NS + settle_ns,
            },
            load: vec![hackbench.command(LOAD)],
            probes: self.probes().commands(circumstances.cpus, 0, [fifo_ns, other_ns]),
        }
    }

    fn metric_names(&self) -> MetricNames {
        self.probes().metric_names().numbers([MetricName::Throughput])
    }

    fn virtual_time_estimate(&self) -> VirtualDuration {
        VirtualDuration::from(self.window) + AROUND_WINDOW
    }

    fn measure(&self, cpus: u32, report: &Report) -> Result<Measurements, MeasureError> {
        let load = find(&report.load, LOAD)?;
        let throughput = self.hackbench().throughput(load, report.window)?;
        let latencies = self.probes().latencies(cpus, report)?;
        Ok(Measurements { latencies, numbers: vec![throughput] })
    }
}

impl CyclictestHackbench {
    fn hackbench(&self) -> Hackbench {
        Hackbench { groups: self.groups, mode: self.hackbench, message_bytes: self.message_bytes }
    }

    fn probes(&self) -> ProbeSet {
        ProbeSet {
            probes: Probes::Both,
            window: self.window,
            interval_us: self.interval_us,
            fifo_priority: self.fifo_priority,
            main_priority: cyclictest::MAIN_PRIORITY,
        }
    }
}
