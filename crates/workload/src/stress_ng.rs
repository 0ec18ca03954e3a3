use preemptlab_model::{Cpus, MetricName, Platform, VirtualDuration, WORKS_AFTER_NS};
use preemptlab_protocol::{
    Command, CommandReport, CommandSignal, EndSignal, LoadStart, Policy, Report,
};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error, Unexpected},
};

use crate::{
    FileSystem, MeasureError, Measurements, MetricNames, Seconds, WindowTime, Workload,
    activity::activity,
    bounded::some_bounded,
    cyclictest,
    error::find,
    furnished,
    measurements::{lower, throughput},
    outcome,
    phase::Phases,
    probes::{FifoPriority, IntervalUs, ProbeSet, Probes},
    program::{Circumstances, Program, Work, command},
    stress_ng_said,
    stress_ng_yaml::{self, Stressed, TIME_RESOLUTION_S},
    stressors::{self, is_stressor},
};

/// One stressor of stress-ng, with its rate, its times and the activity of the system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StressNg {
    /// Name of the stressor, such as `matrix`; empty in a list.
    #[serde(default, deserialize_with = "stressor", skip_serializing_if = "String::is_empty")]
    pub stressor: String,
    /// Names of stressors of which each is a workload of its own; empty where there is one alone.
    #[serde(deserialize_with = "stressors::listed", skip_serializing_if = "Vec::is_empty")]
    pub stressors: Vec<String>,
    /// Those of `stressors` that are left out.
    #[serde(deserialize_with = "stressors::names", skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
    /// Time that is measured from the instant by which the stressor works, without a probe. A signal ends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<WindowTime>,
    /// The file system of the stressor's files in a window; `None` leaves it to what the stressor needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filesystem: Option<FileSystem>,
    /// Number of instances that work at the same time; by default one per CPU.
    #[serde(
        deserialize_with = "some_bounded::<_, 1, 64>",
        skip_serializing_if = "Option::is_none"
    )]
    pub instances: Option<u32>,
    /// Time that the stressor works; by default 2 s, unless there are `ops`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<Seconds>,
    /// Number of operations that all instances do together, however long they take.
    #[serde(
        deserialize_with = "some_bounded::<_, 1, 1_000_000_000>",
        skip_serializing_if = "Option::is_none"
    )]
    pub ops: Option<u32>,
    /// The policy of the instances.
    pub policy: StressPolicy,
    /// The CPUs that they may run on, in the form of `/sys/devices/system/cpu/online`; by default
    /// all.
    #[serde(deserialize_with = "some_cpus", skip_serializing_if = "Option::is_none")]
    pub cpus: Option<String>,
    /// Probes that measure wakeup latency beside the stressor, for one second less than `duration`.
    pub probes: Probes,
    /// The period of the probes.
    pub interval_us: IntervalUs,
    /// The real-time probe's priority.
    pub fifo_priority: FifoPriority,
}

/// The policy of a stressor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StressPolicy {
    /// `SCHED_OTHER` with nice 0.
    #[default]
    Other,
    /// `SCHED_FIFO` at [`FIFO_PRIORITY`].
    Fifo,
}

impl Default for StressNg {
    fn default() -> Self {
        Self {
            stressor: STRESSOR_OF_NO_NAME.to_owned(),
            stressors: Vec::new(),
            without: Vec::new(),
            window: None,
            filesystem: None,
            instances: None,
            duration: None,
            ops: None,
            policy: StressPolicy::Other,
            cpus: None,
            probes: Probes::None,
            interval_us: IntervalUs::default(),
            fifo_priority: FifoPriority::default(),
        }
    }
}

pub const PACKAGE: &str = "stress-ng";

/// Packages that libraries of stress-ng need, but load only to draw on a graphics device. With them
/// the image would be five times as large.
pub const ASSUMED_PACKAGES: [&str; 2] = ["libegl-mesa0", "mesa-libgallium"];

pub const PROBE: &str = "stress-ng";

const YAML: &str = "/tmp/stress-ng.yaml";

/// Priority of a stressor under `SCHED_FIFO`: the lowest, so that init and the main threads of the
/// probes are above it. A stressor never sleeps, so a task that is not above it does not run.
const FIFO_PRIORITY: u8 = 1;

/// Priority of the probes' main threads.
const MAIN_PRIORITY: u8 = FIFO_PRIORITY + 1;

/// Time from the start of stress-ng to that of the probes, besides the phases, in nanoseconds:
/// stress-ng starts its instances.
pub const START_NS: u64 = 400_000_000;

/// Virtual time of a cell besides the work: settling, starting stress-ng and writing its results.
pub const AROUND_WORK: VirtualDuration = VirtualDuration::from_ms(600);

/// Longest time of `ops` by default.
const OPS_TIME_MAX: Seconds = const { Seconds::new(120).unwrap() };

/// Estimate of the time of `ops`.
const OPS_TIME_ESTIMATE: Seconds = const { Seconds::new(3).unwrap() };

/// Longest time in which stress-ng may start and end, in nanoseconds. Beyond it the cell fails.
pub const START_NS_MAX: u64 = 10_000_000_000;

const DURATION: Seconds = const { Seconds::new(2).unwrap() };

/// The stressor where a workload names none.
const STRESSOR_OF_NO_NAME: &str = "matrix";

/// Time by which stress-ng's own time of a window is longer than the window, in milliseconds.
const TIMEOUT_MORE_MS: u32 = 5_000;

/// The window of a list that says none.
const WINDOW: WindowTime = const { WindowTime::from_ms(250).unwrap() };

impl Program for StressNg {
    fn packages(&self, _: &Platform) -> Vec<&str> {
        let probes = self.probes.any().then_some(cyclictest::PACKAGE);
        let furnished = self.window.map(|_| furnished::PACKAGE);
        let of_files = self.file_system().package();
        [PACKAGE].into_iter().chain(probes).chain(furnished).chain(of_files).collect()
    }

    fn modules(&self) -> Vec<&str> {
        self.file_system().modules()
    }

    fn wanted_modules(&self) -> Vec<&'static str> {
        let furnished = self.window.map(|_| furnished::MODULES);
        let of_files = self.file_system().wanted_modules();
        of_files.into_iter().chain(furnished.into_iter().flatten()).collect()
    }

    fn parameters(&self) -> Vec<String> {
        self.file_system().parameters()
    }

    fn prepare(&self, _: &Platform) -> Vec<Command> {
        self.window.map(|_| furnished::prepare(self.file_system())).unwrap_or_default()
    }

    fn assumed_packages(&self) -> Vec<&str> {
        let probes = self.probes.any().then_some(cyclictest::ASSUMED_PACKAGES);
        ASSUMED_PACKAGES.into_iter().chain(probes.into_iter().flatten()).collect()
    }

    fn work(&self, circumstances: Circumstances) -> Work {
        let Circumstances { seed, cpus } = circumstances;
        let mut phases = Phases::new(seed);
        let [settle_ns, fifo_ns, other_ns] = [(); 3].map(|()| phases.next_ns());
        let probes = self.probe_set().commands(cpus, START_NS, [fifo_ns, other_ns]);
        Work {
            limit: self.limit(cpus),
            load_start: LoadStart { written_bytes_min: 0, settle_ns },
            load: Vec::new(),
            // The probes of wakeups stand first, because a trace of the cell is read for them.
            probes: probes.into_iter().chain([self.command(seed, cpus)]).collect(),
        }
    }

    fn metric_names(&self) -> MetricNames {
        let names = self.probe_set().metric_names().numbers([MetricName::Throughput]);
        names.numbers(outcome::TIMES).numbers(STRESSOR).activity()
    }

    fn virtual_time_estimate(&self) -> VirtualDuration {
        if let Some(window) = self.window {
            return VirtualDuration::from_ns(window_end_ns(window));
        }
        let work = self.time().unwrap_or(OPS_TIME_ESTIMATE);
        VirtualDuration::from(work) + AROUND_WORK
    }

    fn measure(&self, cpus: u32, report: &Report) -> Result<Measurements, MeasureError> {
        let command = find(&report.probes, PROBE)?;
        let stressed = match self.window {
            Some(_) => self.stressed_in_window(report, command)?,
            None => self.stressed(command)?,
        };
        let latencies = self.probe_set().latencies(cpus, report)?;
        let mut numbers = vec![throughput(
            self.rate(cpus, command, &stressed),
            "ops",
            stressed.rate_resolution(),
        )];
        numbers.extend(outcome::times(command));
        let [wall, user, system] = STRESSOR;
        numbers.extend([
            lower(wall, stressed.wall_s, "s", TIME_RESOLUTION_S),
            lower(user, stressed.user_s, "s", TIME_RESOLUTION_S),
            lower(system, stressed.system_s, "s", TIME_RESOLUTION_S),
        ]);
        numbers.extend(activity(report));
        Ok(Measurements { latencies, numbers })
    }
}

impl StressNg {
    /// Checks the keys against each other, and fills those in that follow from others; each alone was checked when
    /// it was read.
    pub(crate) fn check(mut self) -> Result<Self, String> {
        self.check_list()?;
        if self.stressors.is_empty() && self.stressor.is_empty() {
            STRESSOR_OF_NO_NAME.clone_into(&mut self.stressor);
        }
        if !self.stressors.is_empty() && self.window.is_none() {
            if self.ops.is_some() || self.duration.is_some() {
                return Err(
                    "stressors of a list have a `window`, and no `ops` or `duration`".to_owned()
                );
            }
            self.window = Some(WINDOW);
        }
        let refused = match (self.window, self.ops, self.duration) {
            (None, ..) if self.filesystem.is_some() => {
                "`filesystem` is of a stressor that works alone: say `window`, too"
            }
            (Some(_), Some(_), _) => "`window` and `ops` exclude each other",
            (Some(_), _, Some(_)) => "`window` and `duration` exclude each other",
            (Some(_), ..) if self.probes.any() => {
                "`window` and `probes` exclude each other: beside probes a stressor works for a `duration`"
            }
            (_, Some(_), Some(_)) => "`ops` and `duration` exclude each other",
            (_, Some(_), None) if self.probes.any() => {
                "`probes` need a `duration`, because nobody knows how long `ops` take"
            }
            (_, None, Some(Seconds::ONE)) if self.probes.any() => {
                "beside `probes`, which measure for one second less, a `duration` is 2s or more"
            }
            _ => return Ok(self),
        };
        Err(refused.to_owned())
    }

    /// Checks that a list says which stressors it has, in one way.
    fn check_list(&self) -> Result<(), String> {
        if self.stressors.is_empty() {
            return match self.without.first() {
                Some(_) => {
                    Err("`without` leaves out some of `stressors`, and there are none".to_owned())
                }
                None => Ok(()),
            };
        }
        if !self.stressor.is_empty() {
            return Err("`stressor` and `stressors` exclude each other".to_owned());
        }
        if let Some(other) = self.without.iter().find(|name| !self.stressors.contains(name)) {
            return Err(format!("`without` names `{other}`, which is none of `stressors`"));
        }
        match self.without.len() == self.stressors.len() {
            true => Err("`without` leaves out every one of `stressors`".to_owned()),
            false => Ok(()),
        }
    }

    /// See [`Workload::listed`](crate::Workload::listed).
    pub(crate) fn listed(&self) -> Option<Vec<(String, Workload)>> {
        let of = |stressor: &String| {
            let (stressors, without) = (Vec::new(), Vec::new());
            let alone = Self { stressor: stressor.clone(), stressors, without, ..self.clone() };
            (stressor.clone(), Workload::StressNg(alone))
        };
        let named = self.stressors.iter().filter(|name| !self.without.contains(name));
        (!self.stressors.is_empty()).then(|| named.map(of).collect())
    }

    /// See [`Workload::left_out`](crate::Workload::left_out).
    pub(crate) fn left_out(&self) -> Option<String> {
        let reason = stressors::left_out(&self.stressor)?;
        Some(format!("stress-ng's {} is not executed: {reason}", self.stressor))
    }

    /// Returns the file system of the stressor's files.
    fn file_system(&self) -> FileSystem {
        match self.window {
            Some(_) => self.filesystem.unwrap_or_else(|| stressors::file_system(&self.stressor)),
            None => FileSystem::Tmpfs,
        }
    }

    /// Returns the time that the stressor works; `None` where that depends on its operations.
    fn time(&self) -> Option<Seconds> {
        self.ops.is_none().then_some(self.duration.unwrap_or(DURATION))
    }

    fn instances(&self, cpus: u32) -> u32 {
        self.instances.unwrap_or(cpus)
    }

    /// Returns the longest virtual time of the stressor. Under `SCHED_FIFO` instances that share a
    /// CPU work one after the other.
    fn limit(&self, cpus: u32) -> VirtualDuration {
        let time = match self.window {
            Some(window) => window_end_ns(window),
            None => VirtualDuration::from(self.time().unwrap_or(OPS_TIME_MAX)).as_ns(),
        };
        let turns = match (self.ops, self.policy) {
            (None, StressPolicy::Fifo) => self.instances(cpus),
            _ => 1,
        };
        VirtualDuration::from_ns(START_NS_MAX + 2 * time * u64::from(turns))
    }

    fn command(&self, seed: u64, cpus: u32) -> Command {
        let stressor = &self.stressor;
        let end = match (self.ops, self.window) {
            (Some(ops), _) => vec![format!("--{stressor}-ops={ops}"), "--timeout=0".to_owned()],
            // stress-ng asks for leave where a stressor may hang a machine; a cell has a limit. Some stressors count
            // the time themselves and end at once where there is none, so it is longer than the window.
            (None, Some(window)) => vec![
                "--pathological".to_owned(),
                format!("--timeout={}", window.seconds_at_least(TIMEOUT_MORE_MS)),
            ],
            (None, None) => vec![format!("--timeout={}", self.time().unwrap_or(DURATION))],
        };
        let needs = self.window.into_iter().flat_map(|_| stressors::options_alone(stressor));
        let what = [format!("--{stressor}={}", self.instances(cpus))]
            .into_iter()
            .chain(needs.map(str::to_owned))
            .chain(end);
        let where_ = self.cpus.iter().map(|cpus| format!("--taskset={cpus}"));
        Command {
            // The processes that stress-ng forks inherit its policy.
            policy: match self.policy {
                StressPolicy::Other => Policy::Other,
                StressPolicy::Fifo => Policy::Fifo(FIFO_PRIORITY),
            },
            unprivileged: self.window.is_some() && stressors::is_of_users(stressor),
            end: self.window.map(|window| EndSignal {
                signal: CommandSignal::Alarm,
                after_ns: window_end_ns(window),
            }),
            ..stress(self.file_system(), seed, what.chain(where_))
        }
    }

    fn probe_set(&self) -> ProbeSet {
        let time = self.time().unwrap_or(DURATION);
        ProbeSet {
            probes: self.probes,
            window: Seconds::new(time.get().saturating_sub(1)).unwrap_or(Seconds::ONE).into(),
            interval_us: self.interval_us,
            fifo_priority: self.fifo_priority,
            main_priority: MAIN_PRIORITY,
        }
    }

    /// Operations per second. stress-ng adds up the rates of its instances, as if all had worked at
    /// the same time. Under `SCHED_FIFO` those that share a CPU take turns, each from its beginning
    /// to its end, and so there the whole time counts.
    fn rate(&self, cpus: u32, command: &CommandReport, stressed: &Stressed) -> f64 {
        match self.policy {
            StressPolicy::Fifo if self.instances(cpus) > 1 => {
                stressed.ops as f64 / outcome::real_s(command)
            }
            _ => stressed.ops_per_second,
        }
    }

    /// Reads the result of a window, in which a stressor may have ended no operation.
    fn stressed_in_window(
        &self,
        report: &Report,
        command: &CommandReport,
    ) -> Result<Stressed, MeasureError> {
        let stressor = self.stressor.as_str();
        let did = in_any_number(command, &[stressor]).map(|did| did.into_iter().next());
        let window_ns = self.window.map_or(0, window_end_ns);
        let refused = match did {
            Ok(Some(did)) if command.end_ns.saturating_sub(command.start_ns) >= window_ns => {
                return Ok(did);
            }
            Ok(_) => "it ended before its window did".to_owned(),
            Err(error) => error.to_string(),
        };
        Err(MeasureError::NotWorked {
            stressor: stressor.to_owned(),
            said: stress_ng_said::reason(command, &refused),
            oom_kills: report.activity.oom_kills,
        })
    }

    /// Reads the result of a run, and checks that it did the operations that it was asked for.
    fn stressed(&self, command: &CommandReport) -> Result<Stressed, MeasureError> {
        let [stressed] = stressed(command, [self.stressor.as_str()])?;
        match self.ops {
            Some(ops) if stressed.ops < u64::from(ops) * DONE_PERCENT / 100 => {
                let done = stressed.ops;
                let contradiction = format!("{done} operations of {ops} were done");
                Err(MeasureError::Inconsistent { name: PROBE.to_owned(), contradiction })
            }
            _ => Ok(stressed),
        }
    }
}

/// Metrics of the times that stress-ng reports of its stressor.
const STRESSOR: [&str; 3] = ["stressor.wall", "stressor.user", "stressor.system"];

/// Least percentage of the operations that must have been done. A stressor loses some of the
/// operations that its processes hand each other at its end (`pipe` 100 of 6000).
const DONE_PERCENT: u64 = 95;

/// Returns the command of stress-ng with these arguments, as a fair task whose files are in a file system.
pub fn stress(
    file_system: FileSystem,
    seed: u64,
    arguments: impl Iterator<Item = String>,
) -> Command {
    let argv = [format!("/usr/bin/{PACKAGE}")].into_iter().chain(arguments).chain([
        // Replicates differ in their random numbers, configurations do not.
        format!("--seed={seed}"),
        format!("--temp-path={}", file_system.folder()),
        "--metrics".to_owned(),
        format!("--yaml={YAML}"),
    ]);
    Command { files: vec![YAML.to_owned()], ..command(PROBE, argv.collect()) }
}

/// Reads stress-ng's results of these stressors after a run that ended well.
///
/// # Errors
///
/// [`MeasureError`] when the run failed, or its results are missing, unreadable or of other
/// stressors.
pub fn stressed<const N: usize>(
    command: &CommandReport,
    stressors: [&str; N],
) -> Result<[Stressed; N], MeasureError> {
    let all = in_any_number(command, &stressors)?;
    if let Some(idle) = all.iter().position(|did| did.ops == 0) {
        return Err(has_done_nothing(command, stressors[idle]));
    }
    let yaml = outcome::file(command, YAML)?;
    all.try_into()
        .map_err(|_| outcome::unreadable(command, yaml)("it has other stressors".to_owned()))
}

/// Reads the same of any number of stressors, in their order, also of those that did no operation.
///
/// # Errors
///
/// As [`stressed`], but for an operation.
pub fn in_any_number(
    command: &CommandReport,
    stressors: &[&str],
) -> Result<Vec<Stressed>, MeasureError> {
    outcome::check_ended_well(command)?;
    let yaml = outcome::file(command, YAML)?;
    stress_ng_yaml::read(yaml, stressors).map_err(outcome::unreadable(command, yaml))
}

/// Returns the error of a stressor that did no operation.
pub fn has_done_nothing(command: &CommandReport, stressor: &str) -> MeasureError {
    let yaml = command.files.get(YAML).map_or("", String::as_str);
    outcome::unreadable(command, yaml)(format!("{stressor} has done nothing"))
}

/// Reads a stressor's name. The known names depend on the package's version; a name that is not an
/// option of stress-ng fails the cell, in stress-ng's own words.
fn stressor<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let name = String::deserialize(deserializer)?;
    if is_stressor(&name) {
        Ok(name)
    } else {
        Err(D::Error::invalid_value(Unexpected::Str(&name), &"a stressor's name, such as matrix"))
    }
}

fn some_cpus<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let list = String::deserialize(deserializer)?;
    let last = Cpus::plain(&list).ok().and_then(|cpus| cpus.last());
    if list.len() <= 64 && last.is_some_and(|last| last <= u8::MAX.into()) {
        Ok(Some(list))
    } else {
        Err(D::Error::invalid_value(Unexpected::Str(&list), &"a list of CPUs, such as 0,2-3"))
    }
}

/// Returns the time from the start of a stressor to the end of its window, in nanoseconds.
fn window_end_ns(window: WindowTime) -> u64 {
    WORKS_AFTER_NS + VirtualDuration::from(window).as_ns()
}
