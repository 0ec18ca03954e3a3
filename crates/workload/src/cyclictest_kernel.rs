use preemptlab_model::{Metric, MetricName, Platform, VirtualDuration};
use preemptlab_protocol::{Command, CommandSignal, EndSignal, LoadStart, Report};
use serde::{Deserialize, Deserializer, Serialize};

use crate::{
    FileSystem, MeasureError, Measurements, MetricNames, WindowTime,
    activity::activity,
    cyclictest,
    error::find,
    furnished,
    measurements::{higher, throughput},
    phase::Phases,
    probes::{FifoPriority, IntervalUs, ProbeSet, Probes},
    program::{Circumstances, Program, Work},
    stress_ng,
    stress_ng_yaml::Stressed,
    stressors,
};

/// Wakeup latency and throughput beside work that keeps the kernel busy: memory, processes, files, sockets.
///
/// hackbench does nothing but switch between tasks, and so it enters few of the kernel's long sections.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CyclictestKernel {
    /// Time that the fair probe measures, in virtual time.
    pub window: WindowTime,
    /// The period of each probe.
    pub interval_us: IntervalUs,
    /// The real-time probe's priority.
    pub fifo_priority: FifoPriority,
    /// Names of stress-ng's stressors, of which one instance per CPU works.
    #[serde(deserialize_with = "stressors")]
    pub stressors: Vec<String>,
    /// The file system of their files. A file without it asks for ext4; a recording without it, made before there was
    /// a choice, has tmpfs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filesystem: Option<FileSystem>,
}

/// The stressors by default.
///
/// - `mmap` unmaps thousands of mappings at once, and `vm` gives back pages that it has filled.
/// - `fork` forks processes, which end at once.
/// - `dentry` creates and removes files, whose names the kernel frees after a grace period of RCU.
/// - `sock` sends and receives over loopback, in the softirq of the network.
/// - `hdd` writes and reads files, which the kernel writes back to the disk in memory.
const STRESSORS: [&str; 6] = ["mmap", "vm", "fork", "dentry", "sock", "hdd"];

/// Stressors that end a few operations in a window, or none, or whose operations differ by more than models do: one
/// more or less would decide their rate. They do not count in the throughput where others work.
const COARSE: [&str; 13] = [
    "bigheap",
    "fallocate",
    "forkheavy",
    "itimer",
    "madvise",
    "mmap",
    "mmapmany",
    "mremap",
    "msync",
    "procfs",
    "sockpair",
    "vm",
    "yield",
];

/// Memory of a guest besides the load's, in MiB: kernel, image, probes, and a file system's journal and tables.
const AROUND_LOAD_MIB: u32 = 192;

/// Memory that XFS needs more, in MiB: a cell of 7.3 ran out of memory without it.
const XFS_MIB: u32 = 128;

/// Memory of the load for each CPU, in MiB.
const LOAD_MIB: u32 = 192;

/// The most stressors.
const STRESSORS_MAX: usize = 16;

/// Time from the start of stress-ng to that of the probes, besides the phases, in nanoseconds. Every stressor
/// works after 10 ms (6.18, full), and from then on each has as much of the CPU as later.
const START_NS: u64 = 100_000_000;

/// Time by which the load lasts longer than the window, besides the surplus of the real-time probe, in
/// nanoseconds: both probes start within it, for each CPU.
const LOAD_MORE_NS: u64 = 150_000_000;

impl Default for CyclictestKernel {
    fn default() -> Self {
        Self {
            window: const { WindowTime::from_ms(250).unwrap() },
            interval_us: IntervalUs::default(),
            fifo_priority: FifoPriority::default(),
            stressors: STRESSORS.map(str::to_owned).into(),
            filesystem: None,
        }
    }
}

impl Program for CyclictestKernel {
    fn packages(&self, _: &Platform) -> Vec<&str> {
        let of_files = self.file_system().package().map(|package| [package, furnished::PACKAGE]);
        let always = [cyclictest::PACKAGE, stress_ng::PACKAGE];
        always.into_iter().chain(of_files.into_iter().flatten()).collect()
    }

    fn modules(&self) -> Vec<&str> {
        self.file_system().modules()
    }

    fn wanted_modules(&self) -> Vec<&'static str> {
        self.file_system().wanted_modules()
    }

    fn parameters(&self) -> Vec<String> {
        self.file_system().parameters()
    }

    fn prepare(&self, _: &Platform) -> Vec<Command> {
        furnished::disk(self.file_system())
    }

    fn assumed_packages(&self) -> Vec<&str> {
        cyclictest::ASSUMED_PACKAGES.into_iter().chain(stress_ng::ASSUMED_PACKAGES).collect()
    }

    fn work(&self, circumstances: Circumstances) -> Work {
        let Circumstances { seed, cpus } = circumstances;
        let mut phases = Phases::new(seed);
        let [settle_ns, fifo_ns, other_ns] = [(); 3].map(|()| phases.next_ns());
        let instances = self.stressors.iter().map(|stressor| format!("--{stressor}={cpus}"));
        let options = stressors::options_beside(&self.stressors).map(str::to_owned);
        let arguments = instances.chain(options).chain(["--timeout=0".to_owned()]);
        let mut load = stress_ng::stress(self.file_system(), seed, arguments);
        load.end = Some(EndSignal { signal: CommandSignal::Alarm, after_ns: self.load_ns(cpus) });
        let probes = self.probe_set().commands(cpus, START_NS, [fifo_ns, other_ns]);
        Work {
            limit: VirtualDuration::from_ns(stress_ng::START_NS_MAX + 2 * self.load_ns(cpus)),
            load_start: LoadStart { written_bytes_min: 0, settle_ns },
            load: Vec::new(),
            // Ended and not killed, or it would tell nothing of its work.
            probes: probes.into_iter().chain([load]).collect(),
        }
    }

    fn metric_names(&self) -> MetricNames {
        let rates = self.stressors.iter().map(|stressor| rate_name(stressor));
        let names = self.probe_set().metric_names().numbers([MetricName::Throughput]);
        names.numbers(rates).activity()
    }

    fn virtual_time_estimate(&self) -> VirtualDuration {
        VirtualDuration::from_ns(self.load_ns(1))
    }

    fn measure(&self, cpus: u32, report: &Report) -> Result<Measurements, MeasureError> {
        let latencies = self.probe_set().latencies(cpus, report)?;
        let names = self.stressors.iter().map(String::as_str).collect::<Vec<_>>();
        let load = find(&report.probes, stress_ng::PROBE)?;
        let rates = stress_ng::in_any_number(load, &names)?;
        if let Some((stressor, _)) = self.counted(&rates).into_iter().find(|(_, did)| did.ops == 0)
        {
            return Err(stress_ng::has_done_nothing(load, stressor));
        }
        let mut numbers = vec![mean_rate(self.counted(&rates).into_iter().map(|(_, did)| did))];
        numbers.extend(names.iter().zip(&rates).map(|(stressor, did)| rate(stressor, did)));
        numbers.extend(activity(report));
        Ok(Measurements { latencies, numbers })
    }
}

impl CyclictestKernel {
    /// See [`Workload::name_file_system`](crate::Workload::name_file_system).
    pub(crate) fn name_file_system(&mut self) {
        self.filesystem.get_or_insert(FileSystem::Ext4);
    }

    /// See [`Workload::put_files_on_tmpfs`](crate::Workload::put_files_on_tmpfs).
    pub(crate) fn put_files_on_tmpfs(&mut self) -> bool {
        self.filesystem.replace(FileSystem::Tmpfs).is_some_and(|it| it != FileSystem::Tmpfs)
    }

    fn file_system(&self) -> FileSystem {
        self.filesystem.unwrap_or(FileSystem::Tmpfs)
    }

    /// Returns the least memory of a machine with `cpus` CPUs, in MiB.
    pub fn memory_mib_min(&self, cpus: u32) -> u32 {
        let of_files = if self.file_system() == FileSystem::Xfs { XFS_MIB } else { 0 };
        AROUND_LOAD_MIB + of_files + LOAD_MIB * cpus
    }

    /// Returns the rates that are a part of the throughput, with the names of their stressors.
    fn counted<'a>(&'a self, rates: &'a [Stressed]) -> Vec<(&'a str, &'a Stressed)> {
        let all = self.stressors.iter().map(String::as_str).zip(rates);
        let fine: Vec<_> = all.clone().filter(|(stressor, _)| !COARSE.contains(stressor)).collect();
        match fine.is_empty() {
            true => all.collect(),
            false => fine,
        }
    }

    /// Returns the time from the start of the load to its end, which both probes have reached by then.
    fn load_ns(&self, cpus: u32) -> u64 {
        let window = VirtualDuration::from(self.window).as_ns();
        START_NS + window + LOAD_MORE_NS * u64::from(cpus)
    }

    fn probe_set(&self) -> ProbeSet {
        ProbeSet {
            probes: Probes::Both,
            window: self.window,
            interval_us: self.interval_us,
            fifo_priority: self.fifo_priority,
            main_priority: cyclictest::MAIN_PRIORITY,
        }
    }
}

/// Returns the geometric mean of the rates, as one number for work of several kinds: where each kind is done twice
/// as fast, it doubles, and none weighs more because its operations are small.
fn mean_rate<'a>(rates: impl Iterator<Item = &'a Stressed>) -> Metric {
    let rates: Vec<&Stressed> = rates.collect();
    let count = rates.len() as f64;
    let logarithms: f64 = rates.iter().map(|did| libm::log(did.ops_per_second)).sum();
    let mean = libm::exp(logarithms / count);
    // A rate is of whole operations, and the mean moves by a part of the rate's change.
    let part =
        rates.iter().map(|did| did.rate_resolution() / did.ops_per_second).fold(0.0, f64::max);
    throughput(mean, "ops", mean * part / count)
}

/// Returns the rate of a stressor.
fn rate(stressor: &str, did: &Stressed) -> Metric {
    higher(rate_name(stressor), did.ops_per_second, "ops/s", did.rate_resolution())
}

fn rate_name(stressor: &str) -> String {
    format!("stressor.{stressor}")
}

/// Reads names of stressors, each once.
fn stressors<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    stressors::checked("stressors", Vec::deserialize(deserializer)?, STRESSORS_MAX)
}
