use preemptlab_model::{Arch, MetricName, Platform, VirtualDuration};
use preemptlab_protocol::{Command, CommandReport, LoadStart, Report};
use serde::{Deserialize, Serialize};

use crate::{
    MeasureError, Measurements, MetricNames, WindowTime,
    activity::{activity_of_every_thread, count},
    bounded::{bounded, some_bounded},
    cyclictest,
    error::find,
    measurements::throughput,
    outcome,
    phase::Phases,
    probes::{FifoPriority, IntervalUs, ProbeSet, Probes},
    program::{Circumstances, Program, Work, command},
};

/// make and gcc compile newlib, a C library for embedded systems.
///
/// A translation unit is three processes, the driver, the compiler and the assembler, and needs
/// nothing but newlib's headers and the compiler's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Build {
    /// Number of translation units that are compiled, in the order of the makefile.
    #[serde(deserialize_with = "bounded::<_, 1, 300>")]
    pub units: u32,
    /// Number of compilers that run at the same time; by default one more than CPUs.
    #[serde(
        deserialize_with = "some_bounded::<_, 1, 64>",
        skip_serializing_if = "Option::is_none"
    )]
    pub jobs: Option<u32>,
    /// gcc's level of optimization.
    #[serde(deserialize_with = "bounded::<_, 0, 3>")]
    pub optimize: u32,
    /// Probes that measure wakeup latency during the build.
    pub probes: Probes,
    /// Time that the probes measure; the build must last longer.
    pub window: WindowTime,
    /// The period of the probes.
    pub interval_us: IntervalUs,
    /// The real-time probe's priority.
    pub fifo_priority: FifoPriority,
}

impl Default for Build {
    fn default() -> Self {
        Self {
            units: 24,
            jobs: None,
            optimize: 0,
            probes: Probes::None,
            window: const { WindowTime::from_ms(3000).unwrap() },
            interval_us: IntervalUs::RARE,
            fifo_priority: FifoPriority::default(),
        }
    }
}

/// Packages of the guest besides the compiler: the shell and tar, make, and the sources.
const PACKAGES: [&str; 4] = ["busybox", "make", "binutils", "newlib-source"];

/// Packages that only C++, the sanitizers, the linker, gdb and documentation need.
const ASSUMED_PACKAGES: [&str; 19] = [
    "binutils-common",
    "gcc-14-base",
    "libasan8",
    "libatomic1",
    "libcc1-0",
    "libctf-nobfd0",
    "libctf0",
    "libgcc-s1",
    "libgomp1",
    "libgprofng0",
    "libhwasan0",
    "libitm1",
    "libjansson4",
    "liblsan0",
    "libquadmath0",
    "libstdc++6",
    "libtsan2",
    "libubsan1",
    "python3",
];

const BUILD: &str = "build";

/// The part behind the triplet in the line that make prints when it compiles a translation unit.
const COMPILES: &str = "-gcc-14 ";

/// Script for guests of the triplet `{triplet}` that unpacks the sources, writes its argument as the makefile, and removes two large
/// parts that no build needs: the sources' archive and the compiler's parts for optimizing at link
/// time.
const PREPARE: &str = "set -e
busybox mkdir /tmp/all
cd /tmp/all
busybox tar -xJf /usr/src/newlib/*.tar.xz
busybox mv */newlib /tmp/newlib
cd /tmp/newlib
busybox rm -r /tmp/all /usr/src/newlib
busybox rm -f /usr/libexec/gcc/{triplet}/14/lto* /usr/bin/{triplet}-lto-dump-14
printf %s \"$1\" > makefile
for folder in $(busybox sed -n 's/^FOLDERS := //p' makefile); do
	busybox mkdir -p /tmp/out/$folder
done
";

const MAKEFILE: &str = include_str!("newlib.mk");

/// Time from the start of the build to the start of the probes, besides the phases, in nanoseconds:
/// make reads its makefile.
const START_NS: u64 = 100_000_000;

/// Rough time to compile one translation unit; below it, the longest time allowed.
const UNIT_ESTIMATE: VirtualDuration = VirtualDuration::from_ms(210);
const UNIT_MAX: VirtualDuration = VirtualDuration::from_ms(3_000);

/// Virtual time of a cell besides the build: settling, starting and ending.
const AROUND_BUILD: VirtualDuration = VirtualDuration::from_ms(300);

/// Metrics of the build that are counts.
const COUNTS: [&str; 3] = ["build.forks", "build.voluntary_switches", "build.involuntary_switches"];

/// Least limit of a cell, so that the probes have their time.
const LEAST: VirtualDuration = VirtualDuration::from_ms(20_000);

impl Program for Build {
    fn packages(&self, guest: &Platform) -> Vec<&str> {
        let [shell, make, others @ ..] = PACKAGES;
        let probes = self.probes.any().then_some(cyclictest::PACKAGE);
        let first = [shell, make, guest.compiler_package];
        first.into_iter().chain(others).chain(probes).collect()
    }

    fn assumed_packages(&self) -> Vec<&str> {
        ASSUMED_PACKAGES.into()
    }

    fn prepare(&self, guest: &Platform) -> Vec<Command> {
        let argv = ["/usr/bin/busybox", "sh", "-c", PREPARE, "sh", MAKEFILE];
        let argv = argv.map(|word| word.replace("{triplet}", guest.triplet));
        vec![command(BUILD, argv.into())]
    }

    fn work(&self, circumstances: Circumstances) -> Work {
        let Circumstances { seed, cpus } = circumstances;
        let mut phases = Phases::new(seed);
        let [settle_ns, build_ns, fifo_ns, other_ns] = [(); 4].map(|()| phases.next_ns());
        let jobs = self.jobs.unwrap_or(cpus + 1);
        let argv = [
            "/usr/bin/make".to_owned(),
            "--directory=/tmp/newlib".to_owned(),
            "--no-print-directory".to_owned(),
            "--no-builtin-rules".to_owned(),
            format!("--jobs={jobs}"),
            format!("UNITS={}", self.units),
            format!("OPTIMIZE={}", self.optimize),
        ];
        let build = Command { delay_ns: build_ns, ..command(BUILD, argv.into()) };
        let probes = self.probe_set().commands(cpus, START_NS, [fifo_ns, other_ns]);
        let most_ns = u64::from(self.units) * UNIT_MAX.as_ns();
        Work {
            limit: VirtualDuration::from_ns(most_ns) + LEAST,
            load_start: LoadStart { written_bytes_min: 0, settle_ns },
            load: Vec::new(),
            probes: [build].into_iter().chain(probes).collect(),
        }
    }

    fn metric_names(&self) -> MetricNames {
        let names = self.probe_set().metric_names().numbers([MetricName::Throughput]);
        names.numbers(outcome::TIMES).numbers(COUNTS).activity()
    }

    fn virtual_time_estimate(&self) -> VirtualDuration {
        let build_ns = u64::from(self.units) * UNIT_ESTIMATE.as_ns();
        VirtualDuration::from_ns(build_ns) + AROUND_BUILD
    }

    fn measure(&self, cpus: u32, report: &Report) -> Result<Measurements, MeasureError> {
        let build = find(&report.probes, BUILD)?;
        self.check(build)?;
        if let Some(probe) = report.probes.iter().find(|probe| probe.end_ns > build.end_ns) {
            return Err(inconsistent(format!(
                "it ended before the probe {} did; give it more units, or the probes a shorter \
                 window",
                probe.name
            )));
        }
        let latencies = self.probe_set().latencies(cpus, report)?;
        if build.end_ns <= build.start_ns {
            return Err(inconsistent("it took no time".to_owned()));
        }
        let mut numbers = vec![throughput(
            f64::from(self.units) / outcome::real_s(build),
            "units",
            // The units are given, and their time is known to the nanosecond.
            0.0,
        )];
        numbers.extend(outcome::times(build));
        numbers.extend(activity_of_every_thread(report));
        let [forks, voluntary, involuntary] = COUNTS;
        numbers.extend([
            count(forks, report.activity.forks),
            count(voluntary, build.voluntary_switches),
            count(involuntary, build.involuntary_switches),
        ]);
        Ok(Measurements { latencies, numbers })
    }
}

impl Build {
    fn probe_set(&self) -> ProbeSet {
        ProbeSet {
            probes: self.probes,
            window: self.window,
            interval_us: self.interval_us,
            fifo_priority: self.fifo_priority,
            main_priority: cyclictest::MAIN_PRIORITY,
        }
    }

    /// Checks that make ended well and compiled the wanted number of translation units.
    fn check(&self, build: &CommandReport) -> Result<(), MeasureError> {
        outcome::check_ended_well(build)?;
        let compiles = |line: &&str| {
            let behind = |arch: Arch| line.strip_prefix(arch.platform().triplet);
            Arch::ALL.into_iter().filter_map(behind).any(|rest| rest.starts_with(COMPILES))
        };
        let units = build.stdout.lines().filter(compiles).count();
        if u32::try_from(units) != Ok(self.units) {
            let wanted = self.units;
            return Err(inconsistent(format!("it compiled {units} of {wanted} translation units")));
        }
        Ok(())
    }
}

fn inconsistent(contradiction: String) -> MeasureError {
    MeasureError::Inconsistent { name: BUILD.to_owned(), contradiction }
}
