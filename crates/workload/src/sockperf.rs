use preemptlab_model::{Distribution, Metric, MetricName, Platform, VirtualDuration};
use preemptlab_protocol::{Command, CommandReport, CommandSignal, EndSignal, LoadStart, Report};
use serde::{Deserialize, Serialize};

use crate::{
    Latency, MeasureError, Measurements, MetricNames, Seconds, WindowTime,
    activity::activity,
    bounded::bounded,
    cyclictest,
    error::find,
    measurements::{higher, lower, throughput},
    outcome,
    phase::Phases,
    probes::{FifoPriority, IntervalUs, ProbeSet, Probes},
    program::{Circumstances, Program, Work, command},
    sockperf_output::{self, Datagrams, Exchanged},
};

/// sockperf's client and server, over the loopback interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Sockperf {
    /// Transport of the messages.
    pub protocol: Protocol,
    /// Mode of the client.
    pub mode: SockperfMode,
    /// The length of a message; 14 is sockperf's header, 65507 the most that UDP carries.
    #[serde(deserialize_with = "bounded::<_, 14, 65_507>")]
    pub message_bytes: u32,
    /// Time that the probes measure. The client works longer; without probes it works for this time.
    pub window: WindowTime,
    /// Probes that measure wakeup latency beside sockperf; by default both in the throughput mode,
    /// none in the ping-pong mode, which has response times of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probes: Option<Probes>,
    /// The period of the probes.
    pub interval_us: IntervalUs,
    /// The real-time probe's priority.
    pub fifo_priority: FifoPriority,
}

/// Transport of the messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// TCP, a stream.
    #[default]
    Tcp,
    /// UDP, datagrams.
    Udp,
}

/// Mode of sockperf's client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SockperfMode {
    /// The client sends as fast as it can, and the server does not answer.
    #[default]
    Throughput,
    /// The client sends the next message when it has the answer to the last one.
    PingPong,
}

impl SockperfMode {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::PingPong => "ping-pong",
        }
    }
}

impl Default for Sockperf {
    fn default() -> Self {
        Self {
            protocol: Protocol::Tcp,
            mode: SockperfMode::Throughput,
            message_bytes: 64,
            window: const { WindowTime::from_ms(2000).unwrap() },
            probes: None,
            interval_us: IntervalUs::default(),
            fifo_priority: FifoPriority::default(),
        }
    }
}

const PACKAGE: &str = "sockperf";

const PROGRAM: &str = "/usr/bin/sockperf";

const SERVER: &str = "server";

const CLIENT: &str = "client";

const LOG: &str = "/tmp/sockperf.csv";

/// The kernel's counters of the network's protocols; nothing but sockperf uses UDP in a guest.
const COUNTERS: &str = "/proc/net/snmp";

/// The server has written its 240 bytes when it listens, most of them before; stdout has no buffer.
const SERVER_BYTES: u64 = 200;

/// Time from the server's last line to the client, besides a phase, in nanoseconds. Nothing runs in
/// it.
const SETTLE_NS: u64 = 200_000_000;

/// Time from the client's start to that of the probes, in nanoseconds. The client calibrates its
/// clock and connects, then sleeps for 2 s, in which nothing runs, before it begins
/// (`initBeforeLoop` in client.cpp).
const START_NS: u64 = 2_500_000_000;

/// Time per CPU by which the probes end later than their start and the window, in nanoseconds.
const PROBES_NS: u64 = 200_000_000;

/// Time that a client which a signal ends is told to work beyond the window, in milliseconds. It sets memory
/// aside for all of it.
const UNREACHED_MS: u32 = 4_000;

/// Virtual time of a cell besides the client's work: starting and ending client and server.
const AROUND_WORK: VirtualDuration = VirtualDuration::from_ms(700);

/// Longest time besides the client's work, in nanoseconds. Beyond it the cell fails.
const START_NS_MAX: u64 = 10_000_000_000;

impl Program for Sockperf {
    fn packages(&self, _: &Platform) -> Vec<&str> {
        let probes = self.probes().any().then_some(cyclictest::PACKAGE);
        [PACKAGE].into_iter().chain(probes).collect()
    }

    fn assumed_packages(&self) -> Vec<&str> {
        let probes = self.probes().any().then_some(cyclictest::ASSUMED_PACKAGES);
        probes.into_iter().flatten().collect()
    }

    fn work(&self, circumstances: Circumstances) -> Work {
        let mut phases = Phases::new(circumstances.seed);
        let [settle_ns, fifo_ns, other_ns] = [(); 3].map(|()| phases.next_ns());
        let probes = self.probe_set().commands(circumstances.cpus, START_NS, [fifo_ns, other_ns]);
        let work_ns = VirtualDuration::from(self.time()).as_ns();
        Work {
            limit: VirtualDuration::from_ns(START_NS_MAX + 2 * work_ns),
            load_start: LoadStart {
                written_bytes_min: SERVER_BYTES,
                settle_ns: SETTLE_NS + settle_ns,
            },
            load: vec![self.server()],
            // The probes of wakeups stand first, because a trace of the cell is read for them.
            probes: probes.into_iter().chain([self.client(circumstances.cpus)]).collect(),
        }
    }

    fn metric_names(&self) -> MetricNames {
        let names = self.probe_set().metric_names().numbers([MetricName::Throughput]);
        let names = match self.mode {
            SockperfMode::Throughput if self.protocol == Protocol::Udp => names.numbers([SENT]),
            SockperfMode::Throughput => names,
            SockperfMode::PingPong => names.latency(&Distribution::Response, false),
        };
        let loss = (self.protocol == Protocol::Udp).then_some(LOSS);
        names.numbers(loss).activity()
    }

    fn virtual_time_estimate(&self) -> VirtualDuration {
        VirtualDuration::from(self.time()) + AROUND_WORK
    }

    fn measure(&self, cpus: u32, report: &Report) -> Result<Measurements, MeasureError> {
        find(&report.load, SERVER).and_then(outcome::check_lasted)?;
        let client = find(&report.probes, CLIENT)?;
        outcome::check_ended_well(client)?;
        let mut measurements = match self.mode {
            SockperfMode::Throughput => self.sent(client)?,
            SockperfMode::PingPong => self.exchanged(client)?,
        };
        measurements.latencies.extend(self.probe_set().latencies(cpus, report)?);
        measurements.numbers.extend(activity(report));
        Ok(measurements)
    }
}

impl Sockperf {
    fn probes(&self) -> Probes {
        self.probes.unwrap_or(match self.mode {
            SockperfMode::Throughput => Probes::Both,
            SockperfMode::PingPong => Probes::None,
        })
    }

    fn probe_set(&self) -> ProbeSet {
        ProbeSet {
            probes: self.probes(),
            window: self.window,
            interval_us: self.interval_us,
            fifo_priority: self.fifo_priority,
            main_priority: cyclictest::MAIN_PRIORITY,
        }
    }

    /// Returns the time that the client is told to work. One that a signal ends never comes to the end of
    /// it.
    fn time(&self) -> Seconds {
        let more_ms = match self.window.whole_seconds() {
            Some(_) => 1_000 * u32::from(self.probes().any()),
            None => UNREACHED_MS,
        };
        self.window.seconds_at_least(more_ms)
    }

    /// Returns the signal that ends the client after the probes.
    fn end(&self, cpus: u32) -> Option<EndSignal> {
        let probes_ns = if self.probes().any() { PROBES_NS * u64::from(cpus) } else { 0 };
        self.window.end(CommandSignal::Alarm, START_NS + probes_ns)
    }

    fn server(&self) -> Command {
        self.command(SERVER, SERVER, vec![], vec![])
    }

    fn client(&self, cpus: u32) -> Command {
        let mut arguments = vec![
            format!("--msg-size={}", self.message_bytes),
            format!("--time={}", self.time().get()),
        ];
        let files = match (self.mode, self.protocol) {
            (SockperfMode::PingPong, _) => {
                arguments.push(format!("--full-log={LOG}"));
                vec![LOG.to_owned()]
            }
            (SockperfMode::Throughput, Protocol::Udp) => vec![COUNTERS.to_owned()],
            (SockperfMode::Throughput, Protocol::Tcp) => vec![],
        };
        Command {
            end: self.end(cpus),
            ..self.command(CLIENT, self.mode.as_str(), arguments, files)
        }
    }

    fn command(
        &self,
        name: &str,
        mode: &str,
        arguments: Vec<String>,
        files: Vec<String>,
    ) -> Command {
        let tcp = (self.protocol == Protocol::Tcp).then_some("--tcp");
        let argv = [PROGRAM, mode, "--ip=127.0.0.1", "--port=11111"].into_iter().chain(tcp);
        let argv = argv.map(str::to_owned).chain(arguments).collect();
        Command { files, ..command(name, argv) }
    }

    fn sent(&self, client: &CommandReport) -> Result<Measurements, MeasureError> {
        let sent =
            sockperf_output::sent(&client.stdout).map_err(unreadable(client, &client.stdout))?;
        let numbers = match self.protocol {
            Protocol::Tcp => vec![throughput(sent.per_second, "messages", RATE_RESOLUTION)],
            Protocol::Udp => {
                let counters = outcome::file(client, COUNTERS)?;
                let datagrams = Datagrams::read(counters, sent.messages)
                    .map_err(unreadable(client, counters))?;
                vec![
                    throughput(sent.per_second * datagrams.arrived(), "messages", RATE_RESOLUTION),
                    higher(SENT, sent.per_second, "messages/s", RATE_RESOLUTION),
                    loss(1.0 - datagrams.arrived()),
                ]
            }
        };
        Ok(Measurements { latencies: Vec::new(), numbers })
    }

    fn exchanged(&self, client: &CommandReport) -> Result<Measurements, MeasureError> {
        let log = outcome::file(client, LOG)?;
        let Exchanged { latencies_us, avg_us, per_second, lost } =
            sockperf_output::exchanged(log).map_err(unreadable(client, log))?;
        let response = Latency {
            of: Distribution::Response,
            histogram: latencies_us,
            resolution_us: BUCKET_US,
            avg_us,
            avg_resolution_us: LOG_RESOLUTION_US,
            omitted: None,
        };
        let mut numbers = vec![throughput(per_second, "messages", RATE_RESOLUTION)];
        if self.protocol == Protocol::Udp {
            numbers.push(loss(lost));
        }
        Ok(Measurements { latencies: vec![response], numbers })
    }
}

/// sockperf prints its rate in whole messages per second, and the rate of its log is not known better.
const RATE_RESOLUTION: f64 = 1.0;

/// Width of a bucket of the histogram of the log's times, in microseconds.
const BUCKET_US: f64 = 1.0;

/// sockperf logs times in nanoseconds, in microseconds.
const LOG_RESOLUTION_US: f64 = 1e-3;

/// The datagrams that were sent, of which some may be lost.
const SENT: &str = "sent";

/// The part of the messages that were lost.
const LOSS: &str = "loss";

/// Returns the metric of lost messages, in percent of all, from their share.
fn loss(lost: f64) -> Metric {
    // It is a ratio of two counts.
    lower(LOSS, 100.0 * lost, "%", 0.0)
}

fn unreadable(client: &CommandReport, text: &str) -> impl FnOnce(String) -> MeasureError {
    outcome::unreadable(client, text.trim_start())
}
