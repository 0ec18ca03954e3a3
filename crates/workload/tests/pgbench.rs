//! Tests of the reader of pgbench: real results of the versions 15 and 17, and the same with
//! damage.

use crate::common::{self, inputs, named};
use preemptlab_model::{Arch, CellInputs, PreemptMode};
use preemptlab_protocol::{CommandReport, Exit, Report, Window};
use preemptlab_workload::{
    MeasureError, Measurements, Pgbench, PgbenchMode, PgbenchProtocol, WindowTime, Workload,
};
use proptest::prelude::*;

/// Output of pgbench, its log, and its number of clients.
type Said = (&'static str, &'static str, u32);

const PGBENCH_15: Said =
    (include_str!("data/pgbench-15-1-thread.out"), include_str!("data/pgbench-15-1-thread.log"), 4);
const PGBENCH_15_2_THREADS: Said = (
    include_str!("data/pgbench-15-2-threads.out"),
    include_str!("data/pgbench-15-2-threads.log"),
    3,
);
const PGBENCH_17: Said =
    (include_str!("data/pgbench-17-1-thread.out"), include_str!("data/pgbench-17-1-thread.log"), 4);
const PGBENCH_17_2_THREADS: Said = (
    include_str!("data/pgbench-17-2-threads.out"),
    include_str!("data/pgbench-17-2-threads.log"),
    3,
);

/// Output of a pgbench whose server was stopped after half of the window.
const DIED: (&str, &str) =
    (include_str!("data/pgbench-17-died.out"), include_str!("data/pgbench-17-died.err"));

fn workload(clients: u32) -> Workload {
    Workload::Pgbench(Pgbench {
        window: WindowTime::from_ms(1_000).unwrap(),
        clients,
        ..Pgbench::default()
    })
}

fn cell(workload: &Workload) -> CellInputs {
    common::cell(workload, 1)
}

fn report(cell: &CellInputs, out: &str, log: &str) -> Report {
    let probe = &cell.job.probes[0];
    let window = Window { start_ns: 5_000_000_000, end_ns: 6_200_000_000 };
    let result = CommandReport {
        start_ns: window.start_ns,
        end_ns: window.end_ns,
        stdout: out.to_owned(),
        stderr: "pgbench: setting random seed to 1\n".to_owned(),
        files: [(probe.files[0].clone(), log.to_owned())].into(),
        ..common::command(&probe.name, Exit::Code(0))
    };
    let mut report = Report { window, ..common::report(vec![], vec![result]) };
    report.activity.context_switches = 2_000;
    report
}

fn measure(clients: u32, out: &str, log: &str) -> Result<Measurements, MeasureError> {
    let workload = workload(clients);
    let cell = cell(&workload);
    named(&workload, workload.measure(&cell, &report(&cell, out, log)))
}

/// Returns the error of a report with a change.
fn refused(change: impl FnOnce(&mut CommandReport)) -> String {
    let workload = workload(4);
    let cell = cell(&workload);
    let mut report = report(&cell, PGBENCH_17.0, PGBENCH_17.1);
    change(&mut report.probes[0]);
    workload.measure(&cell, &report).unwrap_err().to_string()
}

#[test]
fn every_metric_of_real_output() {
    let (out, log, clients) = PGBENCH_17;
    let metrics = measure(clients, out, log).unwrap().metrics();
    let listed: Vec<_> = metrics
        .iter()
        .map(|metric| {
            let (name, value) = (&metric.name, metric.value);
            format!("{name} {value:.2} {}, {} is better", metric.unit, metric.direction.as_str())
        })
        .collect();
    assert_eq!(
        listed[..8],
        [
            "response.min 612.00 us, lower is better",
            "response.avg 21874.76 us, lower is better",
            "response.p50 13178.00 us, lower is better",
            "response.p99 107929.00 us, lower is better",
            "response.p99.9 142647.00 us, lower is better",
            "response.max 142647.00 us, lower is better",
            "throughput 165.68 transactions/s, higher is better",
            "context_switches 2000.00 events, lower is better",
        ]
    );
}

#[test]
fn both_versions_and_several_threads_are_read() {
    // The first transaction of each client does not count.
    for (said, count, tps) in [
        (PGBENCH_15, 270 - 4, 279.075825),
        (PGBENCH_15_2_THREADS, 184 - 3, 184.160772),
        (PGBENCH_17, 169 - 4, 165.675392),
        (PGBENCH_17_2_THREADS, 151 - 3, 148.471822),
    ] {
        let measurements = measure(said.2, said.0, said.1).unwrap();
        assert_eq!(measurements.latencies[0].histogram.count(), count);
        assert_eq!(measurements.numbers[0].value, tps);
    }
}

#[test]
fn a_pgbench_that_failed_is_refused_with_its_words() {
    let said = refused(|probe| {
        probe.exit = Exit::Code(2);
        probe.stdout = DIED.0.to_owned();
        probe.stderr = DIED.1.to_owned();
        probe.files.clear();
    });
    assert!(said.contains("the probe pgbench failed, it ended with status 2"), "{said}");
    assert!(said.contains("error: Run was aborted"), "{said}");
    let said = refused(|probe| probe.exit = Exit::Signal(9));
    assert!(said.contains("by signal 9"), "{said}");
}

#[test]
fn a_run_without_transactions_is_refused() {
    for log in [None, Some(""), Some("\n")] {
        let said = refused(|probe| {
            let file = std::mem::take(&mut probe.files).into_keys().next().unwrap();
            probe.files = log.map(|log| (file, log.to_owned())).into_iter().collect();
        });
        assert!(said.contains("the probe pgbench wrote no result"), "{said}");
    }
}

#[test]
fn a_run_that_ended_before_its_window_is_refused() {
    let workload = Workload::Pgbench(Pgbench { clients: 4, ..Pgbench::default() });
    let cell = cell(&workload);
    let report = report(&cell, PGBENCH_17.0, PGBENCH_17.1);
    let said = workload.measure(&cell, &report).unwrap_err().to_string();
    assert!(said.contains("it ended after 1.072 s, before its 2s"), "{said}");
}

#[test]
fn summaries_that_contradict_the_log_are_refused() {
    let (out, log, clients) = PGBENCH_17;
    for (from, to, said) in [
        ("processed: 169", "processed: 170", "170 transactions, 169 in the log"),
        (
            "processed: 169",
            "processed: many",
            "`number of transactions actually processed:` is not",
        ),
        ("processed: 169", "processed:", "is not followed by a number"),
        ("failed transactions: 0", "failed transactions: 3", "3 transactions failed"),
        ("of clients: 4", "of clients: 5", "5 clients where 4 were to be"),
        ("average = 23.245", "average = 23.247", "a mean latency of 23247 us, 23244.8 us"),
        ("average = 23.245", "average = -nan", "`latency average =` is not followed by a number"),
        ("tps = 165.675392", "tps = inf", "`tps =` is not followed by a number"),
        ("tps = 165.675392", "tps = 0.000000", "inf s by its rate, it ran for 1.200 s"),
        ("tps = 165.675392", "tps = 200", "before its 1s"),
        ("tps =", "tqs =", "it lacks `tps =`"),
    ] {
        assert!(out.contains(from), "{from}");
        let error = measure(clients, &out.replacen(from, to, 1), log).unwrap_err().to_string();
        assert!(error.contains(said), "{to}: {error}");
    }
}

#[test]
fn damaged_logs_are_refused() {
    let (out, log, clients) = PGBENCH_17;
    let first = log.lines().next().unwrap();
    let words: Vec<_> = first.split(' ').collect();
    let failed = format!("{} {} failed 0 1795276989 900694", words[0], words[1]);
    let with_lag = format!("{first} 0");
    let cut = &first[..first.len() - 8];
    for (line, said) in [
        (failed.as_str(), "line 1 is `"),
        (with_lag.as_str(), "line 1 is `"),
        (cut, "line 1 is `"),
        ("", "line 1 is ``"),
        ("4 1 2000 0 1795276989 900694", "line 1 is `4 1 2000"),
        ("0 1 99999999999999999999 0 1795276989 900694", "line 1 is `0 1 9999"),
        ("0 1 18446744073709551615 0 1795276989 900694", "a mean latency of 23245 us"),
    ] {
        let error = measure(clients, out, &log.replacen(first, line, 1)).unwrap_err().to_string();
        assert!(error.contains(said), "{line}: {error}");
    }
    let shorter = &log[first.len() + 1..];
    let error = measure(clients, out, shorter).unwrap_err().to_string();
    assert!(error.contains("169 transactions, 168 in the log"), "{error}");
}

#[test]
fn a_session_with_one_transaction_has_no_response() {
    let out = PGBENCH_17.0.replace("processed: 169", "processed: 2");
    let out = out.replace("average = 23.245", "average = 3.000").replace("165.675392", "1.900000");
    let log = "0 1 2000 0 1795276989 900694\n1 1 4000 0 1795276989 904025\n";
    let error = measure(4, &out, log).unwrap_err().to_string();
    assert!(error.contains("no session came to its second transaction"), "{error}");
}

#[test]
fn the_commands_of_a_seed_never_change() {
    let pgbench = Pgbench {
        clients: 16,
        mode: PgbenchMode::SelectOnly,
        protocol: PgbenchProtocol::Prepared,
        scale: 3,
        ..Pgbench::default()
    };
    let workload = Workload::Pgbench(pgbench);
    let job = workload.job(inputs(7, PreemptMode::None, 2));
    let prepare = workload.prepare(Arch::Amd64);
    let commands: Vec<_> = prepare.iter().chain(&job.probes).map(|c| c.argv.join(" ")).collect();
    assert_eq!(
        commands,
        [
            "/usr/lib/postgresql/17/bin/initdb --pgdata=/tmp/postgresql --username=postgres \
             --auth=trust --no-locale --encoding=UTF8 --no-sync --set=autovacuum=off \
             --set=listen_addresses= --set=unix_socket_directories=/tmp",
            "/bin/sh -c exec /usr/lib/postgresql/17/bin/pg_ctl --pgdata=/tmp/postgresql --wait \
             start >&2",
            "/usr/lib/postgresql/17/bin/pgbench --host=/tmp --username=postgres --initialize \
             --scale=3 --quiet postgres",
            "/bin/sh -c \"$@\" && /usr/bin/busybox cat /tmp/pgbench_log.* >/tmp/pgbench_log \
             pgbench /usr/lib/postgresql/17/bin/pgbench --host=/tmp --username=postgres \
             --builtin=select-only --protocol=prepared --client=16 --jobs=2 --time=2 \
             --random-seed=7 --no-vacuum --log --log-prefix=/tmp/pgbench_log --progress=1000000 \
             postgres",
        ]
    );
    assert!(prepare.iter().chain(&job.probes).all(|command| command.unprivileged));
    assert!(job.probes[0].delay_ns < 4_000_000);
}

#[test]
fn one_snapshot_serves_every_number_of_clients() {
    let few = Pgbench { clients: 1, ..Pgbench::default() };
    let many = Pgbench { clients: 16, mode: PgbenchMode::SelectOnly, ..Pgbench::default() };
    assert_eq!(
        Workload::Pgbench(few).prepare(Arch::Amd64),
        Workload::Pgbench(many).prepare(Arch::Amd64)
    );
}

proptest! {
    /// Cuts and flips bytes at random: there may be an error, but no panic, and nothing that is
    /// not finite.
    #[test]
    fn damaged_output_never_panics(
        said in prop::sample::select(vec![PGBENCH_15, PGBENCH_17_2_THREADS]),
        cuts in (0usize..600, 0usize..9_000),
        changes in prop::collection::vec((0usize..9_000, any::<char>()), 0..4),
    ) {
        let (out, log, clients) = said;
        let mut texts = [out, log].map(|text| text.chars().collect::<Vec<_>>());
        texts[0].truncate(cuts.0);
        texts[1].truncate(cuts.1);
        for (index, change) in changes {
            let text = &mut texts[index % 2];
            let length = text.len().max(1);
            if let Some(there) = text.get_mut(index / 2 % length) {
                *there = change;
            }
        }
        let [out, log] = texts.map(String::from_iter);
        if let Ok(measurements) = measure(clients, &out, &log) {
            prop_assert!(measurements.metrics().iter().all(|metric| metric.value.is_finite()));
        }
    }
}
