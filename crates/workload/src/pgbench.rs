use preemptlab_model::{Distribution, MetricName, Platform, VirtualDuration};
use preemptlab_protocol::{Command, CommandSignal, LoadStart, Report};
use serde::{Deserialize, Serialize};

use crate::{
    Latency, MeasureError, Measurements, MetricNames, WindowTime,
    activity::activity,
    bounded::bounded,
    error::find,
    measurements::throughput,
    pgbench_result::{Expected, Transactions},
    pgbench_server::{self, BIN, DATABASE, SOCKETS, USER},
    phase::Phases,
    program::{Circumstances, Program, Work, command},
};

/// Transactions on a PostgreSQL server, driven by pgbench: their rate and their latencies.
///
/// The server is initialised and started before the snapshot, so every cell continues with the same
/// server, whose data are in its memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Pgbench {
    /// Time in which pgbench starts transactions, in virtual time; the clients connect first,
    /// within it.
    pub window: WindowTime,
    /// Sessions, each of which sends its next transaction when it has the answer to the last one.
    #[serde(deserialize_with = "bounded::<_, 1, 64>")]
    pub clients: u32,
    /// Content of a transaction.
    pub mode: PgbenchMode,
    /// Protocol by which statements are sent.
    pub protocol: PgbenchProtocol,
    /// The size of the database: 100 000 accounts each, some 16 MB.
    #[serde(deserialize_with = "bounded::<_, 1, 100>")]
    pub scale: u32,
}

/// pgbench's built-in scripts, named as it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PgbenchMode {
    /// Three updates, a query and an insertion, like TPC-B; clients contend for the branches.
    #[default]
    TpcbLike,
    /// The transaction of TPC-B without the updates of branches and tellers, and so without
    /// contention.
    SimpleUpdate,
    /// One query by primary key per transaction.
    SelectOnly,
}

impl PgbenchMode {
    const fn as_str(self) -> &'static str {
        match self {
            Self::TpcbLike => "tpcb-like",
            Self::SimpleUpdate => "simple-update",
            Self::SelectOnly => "select-only",
        }
    }
}

/// Protocol by which pgbench sends a statement, under pgbench's own names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PgbenchProtocol {
    /// Text, which the server parses and plans each time.
    #[default]
    Simple,
    /// By the name of a statement that was prepared once per session.
    Prepared,
}

impl PgbenchProtocol {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Simple => "simple",
            Self::Prepared => "prepared",
        }
    }
}

impl Default for Pgbench {
    fn default() -> Self {
        Self {
            window: const { WindowTime::from_ms(2000).unwrap() },
            clients: 4,
            mode: PgbenchMode::default(),
            protocol: PgbenchProtocol::default(),
            scale: 1,
        }
    }
}

const PROBE: &str = "pgbench";

/// File that holds the latencies of all threads in the end. Each thread writes a file `LOG.PID` or
/// `LOG.PID.THREAD`, whose name cannot be known before.
const LOG: &str = "/tmp/pgbench_log";

/// Virtual time of a cell besides the window: starting, the last transactions, collecting the logs.
const AROUND_WINDOW: VirtualDuration = VirtualDuration::from_ms(100);

/// Longest time besides the window, in nanoseconds. Beyond it the cell fails.
const AROUND_WINDOW_NS_MAX: u64 = 10_000_000_000;

/// Longest time from pgbench's start to the first transaction, in nanoseconds.
const BEGINS_WITHIN_NS: u64 = 50_000_000;

/// Time that a pgbench which a signal ends is told to work beyond the window, in milliseconds.
const UNREACHED_MS: u32 = 4_000;

/// A time that no window reaches, in seconds. With progress reports pgbench says the mean of the
/// latencies; without, it divides the time by the transactions.
const NO_PROGRESS_S: u32 = 1_000_000;

impl Program for Pgbench {
    fn packages(&self, _: &Platform) -> Vec<&str> {
        pgbench_server::PACKAGES.into()
    }

    fn assumed_packages(&self) -> Vec<&str> {
        pgbench_server::ASSUMED_PACKAGES.into()
    }

    fn prepare(&self, _: &Platform) -> Vec<Command> {
        pgbench_server::prepare(self.scale)
    }

    fn work(&self, circumstances: Circumstances) -> Work {
        let mut phases = Phases::new(circumstances.seed);
        Work {
            limit: VirtualDuration::from_ns(
                AROUND_WINDOW_NS_MAX + 2 * VirtualDuration::from(self.window).as_ns(),
            ),
            load_start: LoadStart { written_bytes_min: 0, settle_ns: 0 },
            load: Vec::new(),
            probes: vec![self.command(circumstances, phases.next_ns())],
        }
    }

    fn metric_names(&self) -> MetricNames {
        MetricNames::default()
            .latency(&Distribution::Response, false)
            .numbers([MetricName::Throughput])
            .activity()
    }

    fn virtual_time_estimate(&self) -> VirtualDuration {
        VirtualDuration::from(self.window) + AROUND_WINDOW
    }

    fn measure(&self, _cpus: u32, report: &Report) -> Result<Measurements, MeasureError> {
        let probe = find(&report.probes, PROBE)?;
        let expected = Expected { clients: self.clients, window: self.window };
        let Transactions { latencies, avg_us, per_second } =
            Transactions::read(probe, LOG, expected)?;
        let of = Distribution::Response;
        // Transactions are counted whole.
        let one = 1e6 / self.window.as_us() as f64;
        let throughput = throughput(per_second, "transactions", one);
        let response = Latency {
            of,
            histogram: latencies,
            resolution_us: LOG_RESOLUTION_US,
            avg_us,
            avg_resolution_us: LOG_RESOLUTION_US,
            omitted: None,
        };
        Ok(Measurements {
            latencies: vec![response],
            numbers: std::iter::once(throughput).chain(activity(report)).collect(),
        })
    }
}

/// pgbench logs latencies in whole microseconds.
const LOG_RESOLUTION_US: f64 = 1.0;

impl Pgbench {
    fn command(&self, circumstances: Circumstances, delay_ns: u64) -> Command {
        let Circumstances { seed, cpus } = circumstances;
        // pgbench in words of its own, so that nothing has to be quoted.
        let script = format!("\"$@\" && /usr/bin/busybox cat {LOG}.* >{LOG}");
        let end = self.window.end(CommandSignal::Alarm, BEGINS_WITHIN_NS);
        // The shell gets the signal, too.
        let script = if end.is_some() { format!("trap '' ALRM; {script}") } else { script };
        let unreached_ms = if end.is_some() { UNREACHED_MS } else { 0 };
        let seconds = self.window.seconds_at_least(unreached_ms).get();
        let argv =
            ["/bin/sh".to_owned(), "-c".to_owned(), script, PROBE.to_owned()].into_iter().chain([
                format!("{BIN}/pgbench"),
                format!("--host={SOCKETS}"),
                format!("--username={USER}"),
                format!("--builtin={}", self.mode.as_str()),
                format!("--protocol={}", self.protocol.as_str()),
                format!("--client={}", self.clients),
                format!("--jobs={}", self.clients.min(cpus)),
                format!("--time={seconds}"),
                format!("--random-seed={seed}"),
                // The database is as it was initialised.
                "--no-vacuum".to_owned(),
                "--log".to_owned(),
                format!("--log-prefix={LOG}"),
                format!("--progress={NO_PROGRESS_S}"),
                DATABASE.to_owned(),
            ]);
        Command {
            unprivileged: true,
            delay_ns,
            files: vec![LOG.to_owned()],
            end,
            ..command(PROBE, argv.collect())
        }
    }
}
