//! Activity of the whole system while a workload ran: interrupts, softirqs, context switches and
//! kernel threads.

use std::collections::BTreeMap;

use preemptlab_model::{Metric, MetricName};
use preemptlab_protocol::Report;

use crate::measurements::lower;

/// Rows of `/proc/interrupts` that are reported: the local timer, whose interrupts are the ticks
/// and the expired timers, and the interrupt by which one CPU makes another reschedule.
const INTERRUPTS: [&str; 2] = [LOCAL_TIMER, "RES"];

/// The row that counts in every window. arm64's kernels number their interrupts instead.
const LOCAL_TIMER: &str = "LOC";

/// The rows of `/proc/softirqs` that are reported.
const SOFTIRQS: [&str; 2] = ["RCU", "TIMER"];

/// Most kinds of kernel threads that are reported by name.
const KERNEL_THREADS_MAX: usize = 5;

/// Most kinds where all are; a guest has some 40 kinds. The total holds the unnamed ones.
const EVERY_KERNEL_THREAD_MAX: usize = 100;

/// A kind of kernel threads that ran for no more than this part of the window is not named.
const NAMED_SHARE_MIN: f64 = 0.001;

/// A thread's name has 15 characters at most (`TASK_COMM_LEN`); only kworkers show more than that.
const NAME_CHARS_MAX: usize = 15;

/// First part of the names of kernel threads' metrics. Only a guest knows which threads exist.
pub const KERNEL_THREADS: &str = "kthread";

/// Metric of the context switches, which every cell has.
const CONTEXT_SWITCHES: &str = "context_switches";

/// Returns the names of the metrics of [`activity`], except those of kernel threads.
pub fn names() -> impl Iterator<Item = String> {
    let interrupts = INTERRUPTS.map(|name| format!("interrupts.{name}"));
    let softirqs = SOFTIRQS.map(|name| format!("softirqs.{name}"));
    [CONTEXT_SWITCHES.to_owned()].into_iter().chain(interrupts).chain(softirqs)
}

/// Returns the activity of all tasks over the window: `context_switches`, and as detail
/// `interrupts.NAME`, `softirqs.NAME`, `kthread.total` and the `kthread.NAME` that ran longest, in
/// milliseconds. An event that did not happen counts 0; a kernel thread that did not run is left
/// out, and so are interrupts that the kernel counts by other names.
pub fn activity(report: &Report) -> Vec<Metric> {
    listed(report, NAMED_SHARE_MIN, KERNEL_THREADS_MAX)
}

/// Returns the activity like [`activity`], with every kernel thread that ran.
pub fn activity_of_every_thread(report: &Report) -> Vec<Metric> {
    listed(report, 0.0, EVERY_KERNEL_THREAD_MAX)
}

fn listed(report: &Report, share_min: f64, threads_max: usize) -> Vec<Metric> {
    let activity = &report.activity;
    let mut metrics = vec![count(CONTEXT_SWITCHES, activity.context_switches)];
    let rows = [
        ("interrupts", &activity.interrupts_by_name, INTERRUPTS),
        ("softirqs", &activity.softirqs_by_name, SOFTIRQS),
    ];
    for (table, counts, names) in rows {
        if names.contains(&LOCAL_TIMER) && !counts.is_empty() && !counts.contains_key(LOCAL_TIMER) {
            continue;
        }
        metrics.extend(
            names.map(|name| {
                count(format!("{table}.{name}"), counts.get(name).copied().unwrap_or(0))
            }),
        );
    }
    metrics.extend(kernel_threads(report, share_min, threads_max));
    metrics
}

fn kernel_threads(report: &Report, share_min: f64, threads_max: usize) -> Vec<Metric> {
    let mut by_kind = BTreeMap::<String, u64>::new();
    let mut total_ns = 0u64;
    for (name, ns) in &report.kernel_threads_ns {
        let kind = by_kind.entry(kind(name)).or_default();
        *kind = kind.saturating_add(*ns);
        total_ns = total_ns.saturating_add(*ns);
    }
    let window_ns = report.window.end_ns.saturating_sub(report.window.start_ns);
    let least_ns = window_ns as f64 * share_min;
    let mut largest: Vec<_> = by_kind.into_iter().filter(|(_, ns)| *ns as f64 > least_ns).collect();
    // Kinds that ran equally long keep the order of their names.
    largest.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
    largest.truncate(threads_max);
    let named = largest.into_iter().map(|(kind, ns)| ms(format!("{KERNEL_THREADS}.{kind}"), ns));
    [ms(format!("{KERNEL_THREADS}.total"), total_ns)].into_iter().chain(named).collect()
}

/// Returns the common part of the names of threads that do the same on different CPUs or for
/// different queues: `ksoftirqd/1` is a `ksoftirqd`, `kworker/u4:2-events_unbound` a `kworker`.
fn kind(name: &str) -> String {
    let kind = name.split(['/', ':']).next().unwrap_or_default();
    let allowed = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    match kind.chars().take(NAME_CHARS_MAX).map(allowed).collect::<String>() {
        kind if kind.is_empty() || kind == "total" => format!("_{kind}"),
        kind => kind,
    }
}

/// Returns a metric that counts events; fewer are better.
pub fn count(name: impl Into<MetricName>, events: u64) -> Metric {
    lower(name, events as f64, "events", 0.0)
}

fn ms(name: String, ns: u64) -> Metric {
    lower(name, ns as f64 / 1e6, "ms", 1e-6)
}

#[cfg(test)]
mod tests {
    use preemptlab_protocol::{Activity, FORMAT, Window};

    use super::*;

    fn report(threads: &[(&str, u64)]) -> Report {
        Report {
            format: FORMAT,
            system: Default::default(),
            window: Window { start_ns: 1_000_000_000, end_ns: 3_000_000_000 },
            activity: Activity {
                context_switches: 1234,
                interrupts_by_name: [("LOC".to_owned(), 500), ("NMI".to_owned(), 1)].into(),
                softirqs_by_name: [("TIMER".to_owned(), 400)].into(),
                ..Default::default()
            },
            kernel_threads_ns: threads.iter().map(|(name, ns)| (name.to_string(), *ns)).collect(),
            load: vec![],
            probes: vec![],
        }
    }

    fn listed(threads: &[(&str, u64)]) -> Vec<String> {
        described(&activity(&report(threads)))
    }

    fn described(metrics: &[Metric]) -> Vec<String> {
        metrics.iter().map(|m| format!("{} {} {}", m.name, m.value, m.unit)).collect()
    }

    #[test]
    fn what_did_not_happen_is_zero() {
        assert_eq!(
            listed(&[]),
            [
                "context_switches 1234 events",
                "interrupts.LOC 500 events",
                "interrupts.RES 0 events",
                "softirqs.RCU 0 events",
                "softirqs.TIMER 400 events",
                "kthread.total 0 ms",
            ]
        );
    }

    #[test]
    fn interrupts_by_other_names_are_none_of_these() {
        let mut of_arm64 = report(&[]);
        let counted = [("11".to_owned(), 1791), ("IPI0".to_owned(), 71)];
        of_arm64.activity.interrupts_by_name = counted.into();
        assert_eq!(
            described(&activity(&of_arm64))[..2],
            ["context_switches 1234 events", "softirqs.RCU 0 events"]
        );
    }

    #[test]
    fn kernel_threads_of_a_kind_are_added_up_and_the_short_ones_left_out() {
        let threads = [
            ("kcompactd0", 1_999_999),
            ("kworker/0:1-events", 1_500_000),
            ("kworker/u4:0-ev", 3_000_000),
            ("rcu_preempt", 9_000_000),
        ];
        assert_eq!(
            listed(&threads)[5..],
            ["kthread.total 15.499999 ms", "kthread.rcu_preempt 9 ms", "kthread.kworker 4.5 ms"]
        );
    }

    #[test]
    fn every_thread_is_named_where_all_are_wanted() {
        let report = report(&[("pgzero", 10_000), ("rcu_preempt", 9_000_000), ("kswapd0", 0)]);
        assert_eq!(
            described(&activity_of_every_thread(&report))[5..],
            ["kthread.total 9.01 ms", "kthread.rcu_preempt 9 ms", "kthread.pgzero 0.01 ms"]
        );
    }

    #[test]
    fn names_are_few_short_and_harmless() {
        let long = "x".repeat(1000);
        let threads: Vec<_> = ["total", "/", "a b.c\u{1b}[2J", "d", "e", "f", &long]
            .into_iter()
            .map(|name| (name, 7_000_000))
            .collect();
        let listed = listed(&threads);
        assert_eq!(
            listed[5..],
            [
                "kthread.total 49 ms",
                "kthread._ 7 ms",
                "kthread._total 7 ms",
                "kthread.a_b_c__2J 7 ms",
                "kthread.d 7 ms",
                "kthread.e 7 ms",
            ]
        );
        assert!(kind(&long).len() <= NAME_CHARS_MAX);
    }
}
