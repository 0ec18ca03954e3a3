//! oslat of rt-tests: a thread on each CPU that reads the time stamp counter in a loop and counts how long each
//! round took. A long one is an interruption: an interrupt, a softirq, another task. Options and output are those of
//! the versions 2.4 and 2.6, read in oslat.c and tried with both.

use preemptlab_model::{Distribution, Histogram, Metric, Platform, Probe, VirtualDuration};
use preemptlab_protocol::{Command, CommandReport, LoadStart, Report};
use serde::{Deserialize, Serialize};

use crate::{
    HistogramFile, HistogramSeries, HistogramTool, Latency, MeasureError, Measurements,
    MetricNames, Seconds,
    activity::activity,
    cyclictest,
    error::find,
    measurements::lower,
    outcome,
    phase::Phases,
    program::{Circumstances, Program, Work, command},
};

/// oslat on every CPU, with nothing beside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Oslat {
    /// Time that oslat measures, in virtual time. It counts whole seconds.
    pub window: Seconds,
}

/// Number of buckets, one per microsecond: the most that oslat has.
const BUCKETS_US: u64 = 1_024;

/// Width of a bucket in microseconds, and so the least difference that is seen.
const BUCKET_US: f64 = 1.0;

/// Time for which oslat spins before it measures, to warm the CPUs up; it has no option for that.
const PREHEAT: VirtualDuration = VirtualDuration::from_ms(1_000);

/// Virtual time of a cell besides oslat's own: its start and end.
const AROUND_WORK: VirtualDuration = VirtualDuration::from_ms(300);

/// Longest time besides oslat's own, in nanoseconds. Beyond it the cell fails.
const AROUND_WORK_NS_MAX: u64 = 10_000_000_000;

/// Most rounds of a CPU in a second of virtual time: 1 ns each.
const ROUNDS_PER_S_MAX: u64 = 1_000_000_000;

/// Number of rounds per second that took a microsecond or longer.
const INTERRUPTIONS: &str = "interruptions";

impl Default for Oslat {
    fn default() -> Self {
        Self { window: Seconds::ONE }
    }
}

impl Program for Oslat {
    fn packages(&self, _: &Platform) -> Vec<&str> {
        vec![cyclictest::PACKAGE]
    }

    fn assumed_packages(&self) -> Vec<&str> {
        cyclictest::ASSUMED_PACKAGES.to_vec()
    }

    fn work(&self, circumstances: Circumstances) -> Work {
        let delay_ns = Phases::new(circumstances.seed).next_ns();
        let probe = Command { delay_ns, ..self.command() };
        let spins_ns = self.spins().as_ns();
        Work {
            limit: VirtualDuration::from_ns(AROUND_WORK_NS_MAX + 2 * spins_ns),
            load_start: LoadStart { written_bytes_min: 0, settle_ns: 0 },
            load: Vec::new(),
            probes: vec![probe],
        }
    }

    fn metric_names(&self) -> MetricNames {
        let names = MetricNames::default().latency(&Distribution::Probe(Probe::Oslat), false);
        names.numbers([INTERRUPTIONS]).activity()
    }

    fn virtual_time_estimate(&self) -> VirtualDuration {
        self.spins() + AROUND_WORK
    }

    fn measure(&self, cpus: u32, report: &Report) -> Result<Measurements, MeasureError> {
        let probe = find(&report.probes, Probe::Oslat.declared().name)?;
        outcome::check_ended_well(probe)?;
        let (latency, interruptions) = self.read(probe, cpus)?;
        let numbers = [interruptions].into_iter().chain(activity(report)).collect();
        Ok(Measurements { latencies: vec![latency], numbers })
    }
}

impl Oslat {
    /// Returns the time for which oslat spins.
    fn spins(&self) -> VirtualDuration {
        VirtualDuration::from(self.window) + PREHEAT
    }

    fn command(&self) -> Command {
        let argv = [
            format!("/usr/bin/{}", Probe::Oslat.declared().program),
            format!("--duration={}", self.window.get()),
            format!("--bucket-size={BUCKETS_US}"),
            "--quiet".to_owned(),
            "--zero-omit".to_owned(),
        ];
        command(Probe::Oslat.declared().name, argv.into())
    }

    /// Reads the rounds of all CPUs, and the rate of those that took a microsecond or longer.
    fn read(&self, probe: &CommandReport, cpus: u32) -> Result<(Latency, Metric), MeasureError> {
        let inconsistent =
            |contradiction| MeasureError::Inconsistent { name: probe.name.clone(), contradiction };
        if probe.stdout.trim().is_empty() {
            return Err(outcome::no_result(probe));
        }
        let spun_ns = probe.end_ns.saturating_sub(probe.start_ns);
        if spun_ns < self.spins().as_ns() {
            let ms = spun_ns / 1_000_000;
            return Err(inconsistent(format!("it ended {ms} ms after its start")));
        }
        let file = HistogramFile::parse(&probe.stdout)
            .map_err(|error| outcome::unreadable(probe, &probe.stdout)(error.to_string()))?;
        if file.tool != HistogramTool::Oslat {
            return Err(inconsistent(format!("{} wrote it", file.tool.as_str())));
        }
        let measured: Vec<u32> = file.series.iter().map(|series| series.number).collect();
        if !measured.iter().copied().eq(0..cpus) {
            let contradiction = format!("{} threads measured on {cpus} CPUs", measured.len());
            return Err(inconsistent(contradiction));
        }
        for series in &file.series {
            let (name, cpu) = (probe.name.clone(), series.number);
            match series.histogram.count() {
                0 => return Err(MeasureError::NoSamples { name, cpu }),
                // A CPU with as many rounds has no time for them.
                rounds if rounds > self.rounds_max() => {
                    let seconds = self.window.get();
                    return Err(inconsistent(format!("CPU {cpu}: {rounds} rounds in {seconds} s")));
                }
                _ => {}
            }
        }
        let (rounds, avg_us) = rounded_down(&file.series);
        let short = rounds.counts().take_while(|(us, _)| *us == 0).map(|(_, count)| count);
        let interruptions = rounds.count() - short.sum::<u64>();
        let seconds = f64::from(self.window.get());
        let rate = lower(INTERRUPTIONS, interruptions as f64 / seconds, "1/s", 1.0 / seconds);
        let latency = Latency {
            of: Distribution::Probe(Probe::Oslat),
            histogram: rounds,
            resolution_us: BUCKET_US,
            avg_us,
            avg_resolution_us: BUCKET_US,
            omitted: None,
        };
        Ok((latency, rate))
    }

    /// Returns the most rounds of a CPU. Each reads the counter with a fence, and adds to a bucket.
    fn rounds_max(&self) -> u64 {
        u64::from(self.window.get()).saturating_mul(ROUNDS_PER_S_MAX)
    }
}

/// Returns the rounds of all CPUs in whole microseconds, and their mean. oslat rounds up, other latencies are
/// rounded down.
fn rounded_down(series: &[HistogramSeries]) -> (Histogram, f64) {
    let all = HistogramSeries::merged(series);
    let below = |us: u64| us.saturating_sub(1);
    let counts = all.counts().map(|(us, count)| (below(us), count));
    let rounds =
        Histogram::new(counts).with_overflow(all.overflow(), below(all.max().unwrap_or(0)));
    (rounds, (HistogramSeries::mean(series) - BUCKET_US).max(0.0))
}
