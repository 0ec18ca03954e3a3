//! Output of pgbench: its summary, and its log of transactions. The format is that of the versions
//! 15 and 17, read in pgbench.c and tried with both.

use preemptlab_model::Histogram;
use preemptlab_protocol::CommandReport;

use crate::{MeasureError, WindowTime, error::excerpt, outcome};

/// Arguments of pgbench that its output must agree with.
#[derive(Clone, Copy)]
pub struct Expected {
    /// Number of sessions.
    pub clients: u32,
    /// Time in which pgbench starts transactions, counted from before the clients connect.
    pub window: WindowTime,
}

/// Result of pgbench.
pub struct Transactions {
    /// Latencies of the transactions, in whole microseconds, without the first of each session,
    /// during which the server fills its caches of the session.
    pub latencies: Histogram,
    /// The mean of that, in microseconds.
    pub avg_us: f64,
    /// Transactions per second since the clients were connected, as pgbench has it.
    pub per_second: f64,
}

/// pgbench rounds the mean to a microsecond.
const ROUNDING_US: f64 = 1.0;

/// Largest difference by rounding between the window and the time that pgbench's rates imply, in
/// seconds.
const ROUNDING_S: f64 = 0.001;

impl Transactions {
    /// Reads the output of pgbench, whose log is in the file `log`.
    ///
    /// # Errors
    ///
    /// [`MeasureError`] unless every transaction was sound and all totals agree.
    pub fn read(
        probe: &CommandReport,
        log: &str,
        expected: Expected,
    ) -> Result<Self, MeasureError> {
        outcome::check_ended_well(probe)?;
        let log = outcome::file(probe, log)?;
        let unreadable = |text| outcome::unreadable(probe, text);
        let summary = Summary::read(&probe.stdout).map_err(unreadable(&probe.stdout))?;
        let logged = read_log(log, expected.clients).map_err(unreadable(log))?;
        let ran_s = probe.end_ns.saturating_sub(probe.start_ns) as f64 / 1e9;
        let latencies = summary.check(&logged, expected, ran_s).and_then(|()| later(&logged));
        let latencies = latencies.map_err(|contradiction| MeasureError::Inconsistent {
            name: probe.name.clone(),
            contradiction,
        })?;
        let avg_us = latencies.sum() as f64 / latencies.count() as f64;
        Ok(Self { latencies, avg_us, per_second: summary.per_second })
    }
}

/// A transaction as the log has it.
struct Logged {
    is_first: bool,
    latency_us: u64,
}

/// Returns the latencies of all transactions but the first of each session.
fn later(logged: &[Logged]) -> Result<Histogram, String> {
    let later = logged.iter().filter(|transaction| !transaction.is_first);
    match Histogram::new(later.map(|transaction| (transaction.latency_us, 1))) {
        none if none.count() == 0 => Err("no session came to its second transaction".to_owned()),
        histogram => Ok(histogram),
    }
}

/// The part of the summary that is used (`printResults` in pgbench.c).
struct Summary {
    clients: f64,
    processed: f64,
    failed: f64,
    latency_avg_ms: f64,
    connecting_ms: f64,
    per_second: f64,
}

impl Summary {
    fn read(text: &str) -> Result<Self, String> {
        Ok(Self {
            clients: number(text, "number of clients:")?,
            processed: number(text, "number of transactions actually processed:")?,
            failed: number(text, "number of failed transactions:")?,
            latency_avg_ms: number(text, "latency average =")?,
            connecting_ms: number(text, "initial connection time =")?,
            per_second: number(text, "tps =")?,
        })
    }

    /// Holds the summary against the log and the job.
    fn check(&self, logged: &[Logged], expected: Expected, ran_s: f64) -> Result<(), String> {
        let Self { clients, processed, failed, .. } = *self;
        if failed != 0.0 {
            return Err(format!("{failed} transactions failed"));
        }
        if clients != f64::from(expected.clients) {
            return Err(format!("{clients} clients where {} were to be", expected.clients));
        }
        if processed != logged.len() as f64 {
            return Err(format!("{processed} transactions, {} in the log", logged.len()));
        }
        let sum_us: f64 = logged.iter().map(|transaction| transaction.latency_us as f64).sum();
        let avg_us = sum_us / processed;
        let said_us = self.latency_avg_ms * 1e3;
        if (said_us - avg_us).abs() > ROUNDING_US {
            return Err(format!("a mean latency of {said_us:.0} us, {avg_us:.1} us in the log"));
        }
        let seconds = processed / self.per_second + self.connecting_ms / 1e3;
        let window = expected.window;
        if seconds < window.as_us() as f64 / 1e6 - ROUNDING_S {
            return Err(format!("it ended after {seconds:.3} s, before its {window}"));
        }
        if seconds > ran_s {
            return Err(format!("{seconds:.3} s by its rate, it ran for {ran_s:.3} s"));
        }
        Ok(())
    }
}

/// Returns the number that follows a line's beginning, without its unit.
fn number(text: &str, key: &str) -> Result<f64, String> {
    let rest = text.lines().find_map(|line| line.strip_prefix(key));
    let word = rest.ok_or_else(|| format!("it lacks `{key}`"))?.split_whitespace().next();
    word.and_then(|word| word.parse().ok())
        .filter(|number: &f64| number.is_finite() && *number >= 0.0)
        .ok_or_else(|| format!("`{key}` is not followed by a number"))
}

/// Reads the log, whose lines are `CLIENT TRANSACTION LATENCY SCRIPT SECONDS MICROSECONDS`. A
/// session's transactions count from 1.
fn read_log(log: &str, clients: u32) -> Result<Vec<Logged>, String> {
    let line = |(index, line): (usize, &str)| {
        let logged = read_line(line, clients);
        logged.ok_or_else(|| format!("line {} is `{}`", index + 1, excerpt(line)))
    };
    log.lines().enumerate().map(line).collect()
}

fn read_line(line: &str, clients: u32) -> Option<Logged> {
    let mut words = line.split(' ');
    let mut next = || words.next()?.parse::<u64>().ok();
    let [client, transaction, latency_us, _script, _seconds, _us] =
        [next()?, next()?, next()?, next()?, next()?, next()?];
    let is_sound = client < clients.into() && transaction > 0 && words.next().is_none();
    is_sound.then_some(Logged { is_first: transaction == 1, latency_us })
}
