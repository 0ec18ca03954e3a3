use preemptlab_model::{Metric, MetricName, Platform, VirtualDuration};
use preemptlab_protocol::{LoadStart, Report};
use serde::{Deserialize, Deserializer, Serialize, de::Error};

use crate::{
    FileSystem, MeasureError, Measurements, MetricNames, Seconds, WindowTime,
    activity::activity,
    cyclictest,
    error::find,
    measurements::{higher, throughput},
    phase::Phases,
    probes::{FifoPriority, IntervalUs, ProbeSet, Probes},
    program::{Circumstances, Program, Work},
    stress_ng,
    stress_ng_yaml::Stressed,
};

/// Wakeup latency without any load, or beside one of stress-ng.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CyclictestLoad {
    /// Load beside the probes.
    pub load: Load,
    /// Time that the fair probe measures, in virtual time.
    pub window: WindowTime,
    /// Probes that measure; at least one.
    #[serde(deserialize_with = "some_probes")]
    pub probes: Probes,
    /// The period of each probe.
    pub interval_us: IntervalUs,
    /// The real-time probe's priority.
    pub fifo_priority: FifoPriority,
}

/// Load beside the probes: one instance of each stressor per CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Load {
    /// No load.
    #[default]
    None,
    /// stress-ng's `cpu`, which stays in user mode.
    Cpu,
    /// All of [`MIXED`] at once.
    Mixed,
}

/// Computing, forking, switching between two tasks over a pipe, and page faults.
const MIXED: [&str; 4] = ["cpu", "fork", "switch", "fault"];

const CPU: [&str; 1] = ["cpu"];

/// Time by which the load lasts longer than the window at least, in milliseconds: its own start, and the
/// probes'.
const LOAD_MORE_MS: u32 = 600;

impl Default for CyclictestLoad {
    fn default() -> Self {
        Self {
            load: Load::None,
            window: const { WindowTime::from_ms(2000).unwrap() },
            probes: Probes::Both,
            interval_us: IntervalUs::default(),
            fifo_priority: FifoPriority::default(),
        }
    }
}

impl Program for CyclictestLoad {
    fn packages(&self, _: &Platform) -> Vec<&str> {
        let load = (self.load != Load::None).then_some(stress_ng::PACKAGE);
        [cyclictest::PACKAGE].into_iter().chain(load).collect()
    }

    fn assumed_packages(&self) -> Vec<&str> {
        let load = (self.load != Load::None).then_some(stress_ng::ASSUMED_PACKAGES);
        cyclictest::ASSUMED_PACKAGES.into_iter().chain(load.into_iter().flatten()).collect()
    }

    fn work(&self, circumstances: Circumstances) -> Work {
        let Circumstances { seed, cpus } = circumstances;
        let mut phases = Phases::new(seed);
        let [settle_ns, fifo_ns, other_ns] = [(); 3].map(|()| phases.next_ns());
        let stressors = self.stressors();
        let start_ns = if stressors.is_empty() { 0 } else { stress_ng::START_NS };
        // The load runs to its end, or else it would write no results.
        let load = (!stressors.is_empty()).then(|| {
            let instances = stressors.iter().map(|stressor| format!("--{stressor}={cpus}"));
            let time = format!("--timeout={}", self.load_time());
            stress_ng::stress(FileSystem::Tmpfs, seed, instances.chain([time]))
        });
        let probes = self.probe_set().commands(cpus, start_ns, [fifo_ns, other_ns]);
        let load_ns = VirtualDuration::from(self.load_time()).as_ns();
        Work {
            limit: VirtualDuration::from_ns(stress_ng::START_NS_MAX + 2 * load_ns),
            load_start: LoadStart { written_bytes_min: 0, settle_ns },
            load: Vec::new(),
            probes: probes.into_iter().chain(load).collect(),
        }
    }

    fn metric_names(&self) -> MetricNames {
        let names = self.probe_set().metric_names();
        let names = match self.load {
            Load::None => names,
            Load::Cpu => names.numbers([MetricName::Throughput]),
            Load::Mixed => names.numbers(MIXED.map(rate_name)),
        };
        names.activity()
    }

    fn virtual_time_estimate(&self) -> VirtualDuration {
        match self.load {
            // Nearly all of the time is idle, and so it costs the host nothing.
            Load::None => stress_ng::AROUND_WORK,
            Load::Cpu | Load::Mixed => VirtualDuration::from_ns(
                VirtualDuration::from(self.load_time()).as_ns() + stress_ng::AROUND_WORK.as_ns(),
            ),
        }
    }

    fn measure(&self, cpus: u32, report: &Report) -> Result<Measurements, MeasureError> {
        let latencies = self.probe_set().latencies(cpus, report)?;
        let stressed = || find(&report.probes, stress_ng::PROBE);
        let mut numbers = match self.load {
            Load::None => Vec::new(),
            Load::Cpu => {
                let [cpu] = stress_ng::stressed(stressed()?, CPU)?;
                vec![throughput(cpu.ops_per_second, "ops", cpu.rate_resolution())]
            }
            Load::Mixed => {
                let rates = stress_ng::stressed(stressed()?, MIXED)?;
                let rates = MIXED.iter().zip(rates);
                rates.map(|(stressor, did)| rate(stressor, did)).collect()
            }
        };
        numbers.extend(activity(report));
        Ok(Measurements { latencies, numbers })
    }
}

impl CyclictestLoad {
    fn stressors(&self) -> &'static [&'static str] {
        match self.load {
            Load::None => &[],
            Load::Cpu => &CPU,
            Load::Mixed => &MIXED,
        }
    }

    /// Returns the time of the load, which begins before the probes and ends after them.
    fn load_time(&self) -> Seconds {
        self.window.seconds_at_least(LOAD_MORE_MS)
    }

    fn probe_set(&self) -> ProbeSet {
        ProbeSet {
            probes: self.probes,
            window: self.window,
            interval_us: self.interval_us,
            fifo_priority: self.fifo_priority,
            main_priority: cyclictest::MAIN_PRIORITY,
        }
    }
}

/// Returns the rate of a stressor. The operations of different stressors have nothing in common,
/// and so they have no sum.
fn rate(stressor: &str, did: Stressed) -> Metric {
    higher(rate_name(stressor), did.ops_per_second, "ops/s", did.rate_resolution())
}

fn rate_name(stressor: &str) -> String {
    format!("stressor.{stressor}")
}

fn some_probes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Probes, D::Error> {
    match Probes::deserialize(deserializer)? {
        Probes::None => Err(D::Error::custom("without `probes` there is nothing to measure")),
        probes => Ok(probes),
    }
}
