//! Real results of sockperf, 3.7 (which Debian 12 and 13 have) and 3.10, over the loopback interface
//! of a network namespace of its own.

use crate::common::{cell, command, inputs, named, read, report};
use preemptlab_model::{Distribution, PreemptMode};
use preemptlab_protocol::{CommandReport, Exit, Report};
use preemptlab_workload::{Measurements, Workload};
use proptest::prelude::*;

const TCP: &str = include_str!("data/sockperf-3.7-tcp.out");
const TCP_3_10: &str = include_str!("data/sockperf-3.10-tcp.out");
const UDP: &str = include_str!("data/sockperf-3.7-udp.out");
const UDP_3_10: &str = include_str!("data/sockperf-3.10-udp.out");
const UDP_LARGE: &str = include_str!("data/sockperf-3.7-udp-large.out");
const UDP_LARGE_3_10: &str = include_str!("data/sockperf-3.10-udp-large.out");
const SNMP: &str = include_str!("data/sockperf-3.7-udp.snmp");
const SNMP_3_10: &str = include_str!("data/sockperf-3.10-udp.snmp");
const PING_PONG: &str = include_str!("data/sockperf-3.7-ping-pong.csv");
const PING_PONG_3_10: &str = include_str!("data/sockperf-3.10-ping-pong.csv");

const COUNTERS: &str = "/proc/net/snmp";
const LOG: &str = "/tmp/sockperf.csv";

fn workload(parameters: &str) -> Workload {
    read(&format!("kind = \"sockperf\"\n{parameters}")).unwrap()
}

fn client(stdout: &str, files: &[(&str, &str)]) -> CommandReport {
    CommandReport {
        stdout: stdout.to_owned(),
        files: files.iter().map(|(path, text)| (path.to_string(), text.to_string())).collect(),
        ..command("client", Exit::Code(0))
    }
}

fn ran(client: CommandReport) -> Report {
    report(vec![command("server", Exit::Stopped)], vec![client])
}

fn measure(parameters: &str, report: &Report) -> Result<Measurements, String> {
    let workload = workload(parameters);
    let measured = workload.measure(&cell(&workload, 1), report);
    named(&workload, measured).map_err(|error| error.to_string())
}

const STREAM: &str = "probes = \"none\"\n";
const DATAGRAMS: &str = "probes = \"none\"\nprotocol = \"udp\"\n";
const EXCHANGE: &str = "mode = \"ping-pong\"\n";

/// Lists the metrics that are sockperf's own.
fn listed(measurements: &Measurements) -> Vec<String> {
    let metrics = measurements.metrics().into_iter();
    metrics
        .take_while(|metric| metric.name != "context_switches")
        .map(|m| {
            format!("{} {:.2} {}, {} is better", m.name, m.value, m.unit, m.direction.as_str())
        })
        .collect()
}

#[test]
fn a_stream_counts_what_was_sent() {
    for (stdout, rate) in [(TCP, 85152), (TCP_3_10, 174814)] {
        let measured = measure(STREAM, &ran(client(stdout, &[]))).unwrap();
        assert_eq!(
            listed(&measured),
            [format!("throughput {rate}.00 messages/s, higher is better")]
        );
        assert!(measured.numbers.iter().any(|metric| metric.name == "kthread.total"));
    }
}

#[test]
fn datagrams_count_where_they_arrive() {
    let measured = measure(DATAGRAMS, &ran(client(UDP, &[(COUNTERS, SNMP)]))).unwrap();
    assert_eq!(
        listed(&measured),
        [
            "throughput 20634.42 messages/s, higher is better",
            "sent 33712.00 messages/s, higher is better",
            "loss 38.79 %, lower is better",
        ]
    );
    let measured = measure(DATAGRAMS, &ran(client(UDP_3_10, &[(COUNTERS, SNMP_3_10)]))).unwrap();
    assert_eq!(
        listed(&measured),
        [
            "throughput 17823.00 messages/s, higher is better",
            "sent 29339.00 messages/s, higher is better",
            "loss 39.25 %, lower is better",
        ]
    );
}

#[test]
fn a_large_message_is_one_datagram() {
    for stdout in [UDP_LARGE, UDP_LARGE_3_10] {
        let total = stdout.split_once("Total of ").unwrap().1.split(' ').next().unwrap();
        let counters = format!("Udp: InDatagrams OutDatagrams\nUdp: {total} {total}\n");
        let measured = measure(DATAGRAMS, &ran(client(stdout, &[(COUNTERS, &counters)]))).unwrap();
        assert_eq!(listed(&measured)[2], "loss 0.00 %, lower is better");
    }
}

#[test]
fn every_round_trip_is_a_response() {
    let measured = measure(EXCHANGE, &ran(client("", &[(LOG, PING_PONG)]))).unwrap();
    let response = &measured.latencies[0];
    assert_eq!(response.of, Distribution::Response);
    // As sockperf itself has them.
    let said = |marker: &str| {
        let (_, valid) = PING_PONG.split_once("[Valid Duration]").unwrap();
        let rest = valid.split_once(marker).unwrap().1.trim_start();
        rest.split([' ', '\n']).next().unwrap().parse::<f64>().unwrap()
    };
    assert_eq!(response.histogram.count() as f64, said("ReceivedMessages="));
    assert_eq!(response.histogram.max(), Some(said("<MAX> observation =") as u64));
    assert_eq!(response.histogram.min(), Some(said("<MIN> observation =") as u64));
    assert_eq!(response.histogram.quantile(50_000), Some(said("percentile 50.000 =") as u64));
    assert!((response.avg_us - said("avg-latency=")).abs() < 0.001, "{}", response.avg_us);
    let rate = said("ReceivedMessages=") / said("RunTime=");
    assert!((measured.numbers[0].value / rate - 1.0).abs() < 0.002);
    assert_ne!(measured.numbers[1].name, "loss");

    let udp = format!("{EXCHANGE}protocol = \"udp\"\n");
    let measured = measure(&udp, &ran(client("", &[(LOG, PING_PONG_3_10)]))).unwrap();
    assert_eq!(measured.numbers[1].name, "loss");
    assert_eq!(measured.numbers[1].value, 0.0);
}

#[test]
fn a_client_or_a_server_that_failed_is_refused() {
    let mut report = ran(client(TCP, &[]));
    report.load[0].exit = Exit::Code(3);
    assert!(measure(STREAM, &report).unwrap_err().contains("the load server did not last"));
    let mut report = ran(client(TCP, &[]));
    report.probes[0].exit = Exit::Code(3);
    report.probes[0].stdout =
        "sockperf: ERROR: Can`t connect socket (errno=111 Connection refused)\n".to_owned();
    let said = measure(STREAM, &report).unwrap_err();
    assert!(said.contains("with status 3") && said.contains("Connection refused"), "{said}");
    let said = measure(EXCHANGE, &ran(client("", &[]))).unwrap_err();
    assert!(said.contains("the probe client wrote no result"), "{said}");
    // In the throughput mode there are probes unless none are wanted.
    let said = measure("", &ran(client(TCP, &[]))).unwrap_err();
    assert!(said.contains("lacks fifo"), "{said}");
}

#[test]
fn results_that_contradict_themselves_are_refused() {
    for (from, to, said) in [
        ("Total of", "Total in", "it has no `Total of`"),
        ("Message Rate is", "Message Rate was", "it has no `Summary: Message Rate is`"),
        ("Message Rate is ", "Message Rate is 9", "are not 9"),
        ("Message Rate is ", "Message Rate is -", "is not what sockperf writes"),
        (" messages sent in ", " messages sent in x", "is not what sockperf writes"),
    ] {
        assert!(TCP.contains(from), "{from}");
        let error = measure(STREAM, &ran(client(&TCP.replace(from, to), &[]))).unwrap_err();
        assert!(error.contains(said), "{to}: {error}");
    }
    for (from, to, said) in [
        ("Udp:", "Xdp:", "it counts no datagrams"),
        ("InDatagrams", "Datagrams", "it has no InDatagrams"),
        (" 34025 ", " 35000 ", "the kernel sent 35000 datagrams for 34025 messages"),
        ("Udp: 20826", "Udp: 34026", "of 34025 datagrams 34026 were received"),
        ("Udp: 20826", "Udp: 0", "of 34025 datagrams 0 were received"),
    ] {
        assert!(SNMP.contains(from), "{from}");
        let counters = SNMP.replace(from, to);
        let report = ran(client(UDP, &[(COUNTERS, &counters)]));
        let error = measure(DATAGRAMS, &report).unwrap_err();
        assert!(error.contains(said), "{to}: {error}");
    }
    for (from, to, said) in [
        ("[Valid Duration]", "[Total]", "it has no `[Valid Duration]`"),
        ("# dropped", "# lost", "it has no `# dropped messages =`"),
        ("\n7, ", "\n8, ", "is not what sockperf writes"),
        ("\n7, ", "\n7, -", "is not what sockperf writes"),
        ("\n7, ", "\n7, 1", "is not what sockperf writes"),
        ("packet, txTime", "packet, time", "its end is missing after 0 messages"),
    ] {
        assert!(PING_PONG.contains(from), "{from}");
        let log = PING_PONG.replacen(from, to, 1);
        let error = measure(EXCHANGE, &ran(client("", &[(LOG, &log)]))).unwrap_err();
        assert!(error.contains(said), "{to}: {error}");
    }
    let cut = PING_PONG.rsplit_once("\n-").unwrap().0;
    let error = measure(EXCHANGE, &ran(client("", &[(LOG, cut)]))).unwrap_err();
    assert!(error.contains("its end is missing"), "{error}");
    let (log, _) = cut.rsplit_once('\n').unwrap();
    let error =
        measure(EXCHANGE, &ran(client("", &[(LOG, &format!("{log}\n---\n"))]))).unwrap_err();
    assert!(error.contains("are logged"), "{error}");
}

#[test]
fn the_job_of_a_seed_never_changes() {
    let argv = |parameters: &str| {
        let job = workload(parameters).job(inputs(1, PreemptMode::None, 1));
        let client = job.probes.iter().filter(|command| command.name == "client");
        let commands = job.load.iter().chain(client);
        commands.map(|command| command.argv.join(" ")).collect::<Vec<_>>()
    };
    assert_eq!(
        argv("message_bytes = 1024"),
        [
            "/usr/bin/sockperf server --ip=127.0.0.1 --port=11111 --tcp",
            "/usr/bin/sockperf throughput --ip=127.0.0.1 --port=11111 --tcp --msg-size=1024 --time=3",
        ]
    );
    assert_eq!(
        argv("protocol = \"udp\"\nmode = \"ping-pong\""),
        [
            "/usr/bin/sockperf server --ip=127.0.0.1 --port=11111",
            "/usr/bin/sockperf ping-pong --ip=127.0.0.1 --port=11111 --msg-size=64 --time=2 \
             --full-log=/tmp/sockperf.csv",
        ]
    );
    let job = workload("").job(inputs(1, PreemptMode::None, 1));
    let names: Vec<_> = job.probes.iter().map(|command| command.name.as_str()).collect();
    assert_eq!(names, ["fifo", "other", "client"]);
    assert!(job.probes[0].delay_ns >= 2_500_000_000);
    assert_eq!((job.load_start.written_bytes_min, job.limit_ns), (200, 16_000_000_000));
}

#[test]
fn keys_are_checked() {
    for (parameters, said) in [
        ("protocol = \"sctp\"", "unknown variant `sctp`"),
        ("mode = \"under-load\"", "unknown variant `under-load`"),
        ("message_bytes = 13", "a number from 14 to 65507"),
        ("message_bytes = 65508", "a number from 14 to 65507"),
        ("msg_size = 64", "unknown field `msg_size`"),
    ] {
        let error = read(&format!("kind = \"sockperf\"\n{parameters}")).unwrap_err();
        assert!(error.contains(said), "{parameters}: {error}");
    }
    let workload = workload("protocol = \"udp\"\nmode = \"ping-pong\"\nprobes = \"fifo\"");
    let json = serde_json::to_string(&workload).unwrap();
    assert_eq!(serde_json::from_str::<Workload>(&json).unwrap(), workload);
}

fn damage(text: &str, from: usize, length: usize, with: &str) -> String {
    let mut damaged: Vec<char> = text.chars().collect();
    let from = from % (damaged.len() + 1);
    let to = (from + length).min(damaged.len());
    damaged.splice(from..to, with.chars());
    damaged.into_iter().collect()
}

proptest! {
    /// A result with any damage is read or refused, and every number in it is finite.
    #[test]
    fn damaged_results_do_no_harm(from in 0usize..30_000, length in 0usize..60, with in "\\PC{0,12}") {
        let hurt = |text: &str| damage(text, from, length, &with);
        for (parameters, report) in [
            (STREAM, ran(client(&hurt(TCP), &[]))),
            (DATAGRAMS, ran(client(&hurt(UDP), &[(COUNTERS, SNMP)]))),
            (DATAGRAMS, ran(client(UDP, &[(COUNTERS, &hurt(SNMP))]))),
            (EXCHANGE, ran(client("", &[(LOG, &hurt(PING_PONG))]))),
        ] {
            if let Ok(measured) = measure(parameters, &report) {
                prop_assert!(measured.metrics().iter().all(|metric| metric.value.is_finite()));
            }
        }
    }
}
