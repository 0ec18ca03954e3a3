//! cyclictest of rt-tests: a thread per CPU that sleeps until the next period and notes how late it
//! woke up. Options and output are those of the versions 2.4 to 2.6, read in cyclictest.c and
//! tried with both.

use std::{borrow::Cow, collections::BTreeMap};

use preemptlab_model::{Distribution, Histogram, Probe};
use preemptlab_protocol::{Command, CommandReport, CommandSignal, Policy};
use serde::Deserialize;

use crate::{Latency, MeasureError, WindowTime, outcome, program::command};

/// Package that holds cyclictest.
pub const PACKAGE: &str = "rt-tests";

/// Name of the program.
pub const PROGRAM: &str = Probe::Fifo.declared().program;

/// Packages that rt-tests needs for its helper scripts only, which are written in Python.
pub const ASSUMED_PACKAGES: [&str; 1] = ["python3"];

/// Buckets of the histogram, one per microsecond. Their memory is touched while the probe starts,
/// 16 bytes each and CPU, so they are no more than a fair probe can need beside a heavy load.
const BUCKETS_US: u64 = 200_000;

/// Width of a bucket, and so the least difference that is seen, in microseconds.
const BUCKET_US: f64 = 1.0;

/// The time for the start before the first sample, per CPU, in microseconds. Some 30 ms were seen with one
/// CPU of 500 MIPS, and 97 ms of a fair thread beside hackbench there.
const BEGINS_WITHIN_US: u64 = 50_000;

/// Usual priority of the main thread: above every fair task.
pub const MAIN_PRIORITY: u8 = 1;

/// Parameters of one cyclictest process.
pub struct Cyclictest {
    /// Probe that the process is.
    pub probe: Probe,
    /// The policy of the measuring threads.
    pub policy: Policy,
    /// The priority of the main thread, under `SCHED_FIFO`. It prepares the measuring threads, polls
    /// for their end and writes the result; as a fair task it would take seconds for that beside the
    /// load.
    pub main_priority: u8,
    /// Start, in nanoseconds after the earliest start of any probe.
    pub delay_ns: u64,
    /// Number of CPUs; each has one measuring thread.
    pub cpus: u32,
    /// Period of the measuring threads, in microseconds.
    pub interval_us: u32,
    /// Condition that ends the measurement.
    pub end: End,
}

/// Condition that ends the measuring threads. When the first thread ends, all do.
pub enum End {
    /// Number of samples.
    Samples(u64),
    /// At the first sample after this time.
    Duration(WindowTime),
}

impl Cyclictest {
    pub fn command(&self) -> Command {
        let (policy, priority, ordinary_threads) = match self.policy {
            // cyclictest has no threads of SCHED_DEADLINE, and no probe asks for them.
            Policy::Other | Policy::Deadline(_) => ("other", None, self.cpus),
            Policy::Fifo(priority) => ("fifo", Some(format!("--priority={priority}")), 0),
        };
        let end = match self.end {
            End::Samples(samples) => Some(format!("--loops={samples}")),
            End::Duration(window) => {
                window.whole_seconds().map(|seconds| format!("--duration={}", seconds.get()))
            }
        };
        let argv = [format!("/usr/bin/{PROGRAM}")]
            .into_iter()
            .chain([format!("--policy={policy}")])
            .chain(priority)
            .chain([
                format!("--threads={}", self.cpus),
                "--affinity".to_owned(),
                format!("--interval={}", self.interval_us),
            ])
            .chain(end)
            .chain([
                "--mlockall".to_owned(),
                "--quiet".to_owned(),
                // Otherwise cyclictest would open /dev/cpu_dma_latency and so change the latency
                // that it measures.
                "--default-system".to_owned(),
                format!("--histogram={BUCKETS_US}"),
                // The JSON file holds the histogram too, without its empty buckets. Formatting
                // all of them for a second file takes much time at the end of the window, and
                // that is left out when the file cannot be opened: it complains that this one is a
                // directory, and ends well.
                "--histfile=/".to_owned(),
                format!("--json={}", self.file()),
            ]);
        Command {
            policy: Policy::Fifo(self.main_priority),
            ordinary_threads,
            delay_ns: self.delay_ns,
            files: vec![self.file()],
            end: match self.end {
                End::Samples(_) => None,
                End::Duration(window) => {
                    window.end(CommandSignal::Terminate, self.begins_within_us() * 1_000)
                }
            },
            ..command(self.name(), argv.collect())
        }
    }

    /// Returns the time for the start before the first sample, in microseconds.
    fn begins_within_us(&self) -> u64 {
        BEGINS_WITHIN_US * u64::from(self.cpus)
    }

    /// Returns the probe's name in a report.
    pub fn name(&self) -> &'static str {
        self.probe.declared().name
    }

    /// Returns the distribution that the probe's metrics are statistics of.
    pub fn distribution(&self) -> Distribution {
        Distribution::Probe(self.probe)
    }

    fn file(&self) -> String {
        format!("/tmp/{}.json", self.name())
    }

    /// Returns the latencies that the probe measured.
    ///
    /// # Errors
    ///
    /// [`MeasureError`] when the probe failed, or its result is not that of a sound run.
    pub fn latency(&self, report: &CommandReport) -> Result<Latency, MeasureError> {
        outcome::check_ended_well(report)?;
        let text = outcome::file(report, &self.file())?;
        let output = Output::parse(text)
            .map_err(|error| outcome::unreadable(report, text)(error.to_string()))?;
        self.merge(&output)
    }

    fn merge(&self, output: &Output) -> Result<Latency, MeasureError> {
        if output.resolution_in_ns != 0 {
            return Err(self.inconsistent("its unit is not the microsecond".to_owned()));
        }
        if !output.thread.keys().copied().eq(0..self.cpus) {
            let threads = output.thread.len();
            let contradiction = format!("{threads} threads measured on {} CPUs", self.cpus);
            return Err(self.inconsistent(contradiction));
        }
        let mut all = Histogram::default();
        let (mut omitted, mut sum_us, mut longest) = (0u64, 0.0, 0u64);
        for (cpu, thread) in &output.thread {
            let (histogram, sum_us_here) = self.histogram(*cpu, thread)?;
            let omitted_here = self.omitted(&histogram);
            longest = longest.max(self.check_length(*cpu, &histogram, omitted_here)?);
            omitted = omitted.saturating_add(omitted_here);
            sum_us += sum_us_here;
            all.merge(&histogram);
        }
        // At most one sample beyond the buckets is exact; see `omitted`.
        if all.overflow() < 2 && longest < self.least_length() {
            let least = self.least_length();
            return Err(self.inconsistent(format!("no CPU has {least} periods, but {longest}")));
        }
        let avg_us = sum_us / all.count() as f64;
        let of = self.distribution();
        Ok(Latency {
            of,
            histogram: all,
            resolution_us: BUCKET_US,
            avg_us,
            // The samples were rounded down before they were added up.
            avg_resolution_us: BUCKET_US,
            omitted: Some(omitted),
        })
    }

    /// Returns the histogram of one thread and the sum of its samples in microseconds, after a check against the
    /// thread's totals.
    fn histogram(&self, cpu: u32, thread: &Thread) -> Result<(Histogram, f64), MeasureError> {
        if thread.cycles == 0 {
            return Err(MeasureError::NoSamples { name: self.name().to_owned(), cpu });
        }
        let Thread { cycles, min, max, avg, .. } = *thread;
        let buckets = Histogram::new(thread.histogram.iter().map(|(us, count)| (*us, *count)));
        let contradiction = |what: String| Err(self.inconsistent(format!("CPU {cpu}: {what}")));
        let Some(avg) = avg else {
            return contradiction(format!("{cycles} samples have no average"));
        };
        let Some(overflow) = cycles.checked_sub(buckets.count()) else {
            let buckets = buckets.count();
            return contradiction(format!("{buckets} samples in the buckets, {cycles} in all"));
        };
        let beyond = buckets.max().unwrap_or(0).max(BUCKETS_US - 1);
        if overflow > 0 && max <= beyond {
            return contradiction(format!("{overflow} samples in no bucket, yet none above {max}"));
        }
        let histogram = buckets.with_overflow(overflow, max);
        let sum_us = histogram.sum() as f64;
        let mean = sum_us / cycles as f64;
        let ends = (Some(min), Some(max));
        // The average is written with two decimals.
        let agrees =
            overflow > 0 || (histogram.min(), histogram.max()) == ends && (mean - avg).abs() < 0.01;
        if !agrees {
            return contradiction(format!(
                "its buckets do not have the minimum {min}, average {avg} and maximum {max}"
            ));
        }
        // Samples in no bucket are known by the average alone.
        let sum_us = if overflow == 0 { sum_us } else { avg * cycles as f64 };
        Ok((histogram, sum_us))
    }

    /// Periods that went by while a sample was late: cyclictest continues with the first period
    /// that is not over yet, so a sample of `n` whole periods stands for `n` more that are missing.
    /// Exact, except that of several samples beyond the last bucket only the largest is known; the
    /// others count as if they stood in the first place beyond it.
    fn omitted(&self, histogram: &Histogram) -> u64 {
        let periods = |us: u64| us / u64::from(self.interval_us);
        let in_buckets = histogram
            .counts()
            .fold(0u64, |sum, (us, count)| sum.saturating_add(periods(us).saturating_mul(count)));
        let beyond = match histogram.overflow() {
            0 => 0,
            samples => periods(histogram.max().unwrap_or(0))
                .saturating_add(periods(BUCKETS_US).saturating_mul(samples - 1)),
        };
        in_buckets.saturating_add(beyond)
    }

    /// Checks the length of a thread's run, and returns it in the unit of its end: samples, or
    /// periods with and without a sample. A run that is too long contradicts the job.
    fn check_length(
        &self,
        cpu: u32,
        histogram: &Histogram,
        omitted: u64,
    ) -> Result<u64, MeasureError> {
        let interval_us = u64::from(self.interval_us);
        let (length, most) = match self.end {
            End::Samples(samples) => (histogram.count(), samples),
            End::Duration(window) => {
                // The last sample may be late. One that is late by whole periods, to the
                // microsecond, omits one less if it is rounded up to that.
                let late = histogram.max().unwrap_or(0) / interval_us;
                let even = histogram.counts().filter(|(us, _)| us % interval_us == 0);
                let rounded: u64 = even.map(|(_, count)| count).sum();
                let excess_us = match window.whole_seconds() {
                    Some(_) => 0,
                    None => self.begins_within_us(),
                };
                let most = (window.as_us() + excess_us) / interval_us;
                let most = most.saturating_add(late) + 1;
                (histogram.count().saturating_add(omitted), most.saturating_add(rounded))
            }
        };
        if length > most {
            let contradiction = format!("CPU {cpu}: {length} periods where {most} are possible");
            return Err(self.inconsistent(contradiction));
        }
        Ok(length)
    }

    /// Returns the least length of the thread that ends first. That thread can see the end coming
    /// within the microsecond before it.
    fn least_length(&self) -> u64 {
        match self.end {
            End::Samples(samples) => samples,
            End::Duration(window) => {
                let whole = (window.as_us() / u64::from(self.interval_us)).saturating_sub(1);
                // A signal ends a window of milliseconds, however late a fair thread has begun beside the load.
                if window.whole_seconds().is_some() { whole } else { whole / 2 }
            }
        }
    }

    fn inconsistent(&self, contradiction: String) -> MeasureError {
        MeasureError::Inconsistent { name: self.name().to_owned(), contradiction }
    }
}

/// The part of cyclictest's JSON that is used (`write_stats` in cyclictest.c).
#[derive(Deserialize)]
pub(crate) struct Output {
    /// A flag, in spite of its name.
    pub(crate) resolution_in_ns: u32,
    pub(crate) thread: BTreeMap<u32, Thread>,
}

impl Output {
    /// Reads the file. The average of a thread without samples is zero divided by zero, which C writes as `nan` or `-nan`,
    /// and which is no JSON.
    ///
    /// # Errors
    ///
    /// Those of `serde_json`, for anything else that is no such file.
    pub(crate) fn parse(text: &str) -> serde_json::Result<Self> {
        let of_none = ["-nan", "nan"].map(|nan| format!("\"avg\": {nan},"));
        let mut text = Cow::Borrowed(text);
        for of_none in of_none {
            if text.contains(&of_none) {
                text = Cow::Owned(text.replace(&of_none, "\"avg\": null,"));
            }
        }
        serde_json::from_str(&text)
    }
}

#[derive(Deserialize)]
pub(crate) struct Thread {
    /// Samples by latency in microseconds, without empty buckets and without samples beyond the
    /// last bucket.
    pub(crate) histogram: BTreeMap<u64, u64>,
    /// Number of samples.
    pub(crate) cycles: u64,
    pub(crate) min: u64,
    pub(crate) max: u64,
    /// None where there is no sample.
    pub(crate) avg: Option<f64>,
}
