//! Whether a trace is right: real kernels hold themselves non-preemptible for durations that are
//! known (kmod/hold), and every one of these holds has to be found again.
//!
//! Packages and snapshots are kept in the user's own store, or in `PREEMPTLAB_STORE`, so that only
//! the first run on a machine downloads and boots.

use std::{collections::BTreeMap, io::Read, ops::Range};

use crate::common::{Desk, Finished};
use preemptlab_experiment::Recording;
use preemptlab_model::{Arch, CellRecord, Outcome};
use preemptlab_protocol::trace::stream::SiteKind;
use preemptlab_trace::{Decoder, Ended, Event, Item, Kernel, Machine, SectionKind};

/// The module's durations, in nanoseconds, in its order.
const DURATIONS_NS: [u64; 5] = [5_000, 20_000, 100_000, 1_000_000, 5_000_000];

/// The module sleeps at least this long between two holds.
const GAP_NS: u64 = 7_000_000;

/// Tolerance of a hold, in nanoseconds: the instructions between the section's ends and the TSC
/// that the module waits by.
const TOLERANCE_NS: u64 = 1_000;

/// The guest measures the rate of its TSC, by which the module waits, to one part in this number.
const CALIBRATION_PART: u64 = 100_000;

/// Longest time to wake ksoftirqd, in nanoseconds, when an interrupt came in the softirq and has
/// raised another one that cannot be served at once: that time is still a part of the softirq.
const KSOFTIRQD_NS: u64 = 6_000;

/// Longest time of an IRET, in nanoseconds: where it has a price, it comes behind its event.
const IRET_NS: u64 = 1_000;

/// Time from the first hold to where every CPU has returned to user space, in nanoseconds. Before its first
/// return the plugin does not know a CPU's `preempt_count`, and records no stack where a section
/// ends.
const SETTLING_NS: u64 = 300_000_000;

/// Kind of a hold, in the module's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Preempt,
    Irq,
    Spin,
    RawSpin,
    Softirq,
}

const KINDS: [Kind; 5] = [Kind::Preempt, Kind::Irq, Kind::Spin, Kind::RawSpin, Kind::Softirq];

impl Kind {
    /// Returns the function that waits.
    fn function(self) -> &'static str {
        match self {
            Self::Preempt => "preemptlab_hold_preempt",
            Self::Irq => "preemptlab_hold_irq",
            Self::Spin => "preemptlab_hold_spin",
            Self::RawSpin => "preemptlab_hold_raw_spin",
            Self::Softirq => "preemptlab_hold_softirq",
        }
    }

    /// Returns the kind of section that a trace and a timeline must name.
    fn section(self) -> (SectionKind, &'static str) {
        match self {
            Self::Preempt | Self::Spin | Self::RawSpin => (SectionKind::PreemptOff, "preempt_off"),
            Self::Irq => (SectionKind::IrqsOff, "irqs_off"),
            Self::Softirq => (SectionKind::Softirq, "softirq"),
        }
    }

    /// Returns whether it turns anything off: with PREEMPT_RT a `spinlock_t` sleeps, and a tasklet runs
    /// in a thread; without PREEMPT_COUNT, as in the generic 6.12 of arm64, nothing counts what is not preempted anyway.
    fn holds(self, is_realtime: bool, is_counted: bool) -> bool {
        match self {
            Self::Irq => true,
            Self::Preempt | Self::RawSpin => is_counted,
            Self::Spin => is_counted && !is_realtime,
            Self::Softirq => !is_realtime,
        }
    }

    fn of(function: &str) -> Option<Self> {
        KINDS.into_iter().find(|kind| kind.function() == function)
    }
}

/// A section that is the module's.
#[derive(Clone, Copy, Debug)]
struct Hold {
    kind: Kind,
    section: SectionKind,
    ns: (u64, u64),
    /// End of the last interrupt that came in the hold; the start of the hold where there was none.
    resumed_ns: u64,
}

impl Hold {
    /// Returns the difference between the section's length and the duration.
    fn off_by_ns(&self, duration_ns: u64) -> i64 {
        (self.ns.1 - self.ns.0) as i64 - duration_ns as i64
    }

    /// Returns whether the hold has that duration. Interrupts are handled in it and do not make it
    /// longer, since the module looks at the clock; but the last one may end after it should. When
    /// the tasklet has waited it wakes the module's thread, and after a long time ksoftirqd too.
    fn is_of(&self, duration_ns: u64) -> bool {
        let due_ns = self.ns.0 + duration_ns - duration_ns / CALIBRATION_PART;
        let part_ns = if self.kind == Kind::Softirq { duration_ns / 100 } else { 0 };
        let is_interrupted = self.kind == Kind::Softirq && self.resumed_ns > self.ns.0;
        let woken_ns = if is_interrupted { KSOFTIRQD_NS } else { 0 };
        let resumed_ns = self.resumed_ns + IRET_NS;
        let until_ns = due_ns.max(resumed_ns) + part_ns.max(woken_ns).max(TOLERANCE_NS);
        (due_ns..=until_ns).contains(&self.ns.1)
    }
}

/// Findings of a trace about the module.
#[derive(Debug, Default)]
struct Found {
    /// Holds, in the order in which they end.
    holds: Vec<Hold>,
    /// All sections of a millisecond or more, of any function.
    long: Vec<(SectionKind, Range<u64>)>,
}

/// Reads a whole trace.
fn found(trace: impl Read, kernel: &Kernel) -> Found {
    let mut decoder = Decoder::new(trace, kernel.program()).unwrap();
    let mut machine = Machine::default();
    let mut found = Found::default();
    let mut last: Option<(Ended, Event)> = None;
    // Each CPU has a clock, interrupts and softirqs.
    let mut resumed_ns: BTreeMap<u32, u64> = BTreeMap::new();
    let mut tasklets: BTreeMap<u32, Hold> = BTreeMap::new();
    loop {
        let item = decoder.next_item().unwrap();
        let words = if let Some(Item::Stack(words)) = &item { *words } else { &[] };
        // The words on the stack follow the event that ends a section, where it was long.
        if let Some((ended, event)) = last.take() {
            let Ended { kind: section, since, end_ns, softirq, .. } = ended;
            let ns = (since.ns, end_ns);
            let resumed_ns = resumed_ns.get(&event.cpu).copied().unwrap_or(0).max(since.ns);
            let hold = |kind| Hold { kind, section, ns, resumed_ns };
            if end_ns - since.ns >= 1_000_000 {
                found.long.push((section, since.ns..end_ns));
            }
            let who = who(kernel, &ended, &event, words);
            if let Some(softirq) = softirq {
                let is_tasklet = kernel.tracepoint(softirq).name == "tasklet_action";
                if is_tasklet {
                    tasklets.entry(event.cpu).or_insert_with(|| hold(Kind::Softirq));
                }
            } else if who == Some("hold_by_tasklet") {
                // It turns softirqs off and on again, which serves the tasklet.
                let tasklet = tasklets.remove(&event.cpu);
                found.holds.extend(tasklet.filter(|tasklet| tasklet.ns.0 >= since.ns));
            } else if let Some(kind) = who.and_then(Kind::of) {
                found.holds.push(hold(kind));
            }
        }
        match item {
            Some(Item::Task(task)) => machine.describe(task).unwrap(),
            Some(Item::Stack(_)) => {}
            Some(Item::Event(event)) => {
                if event.site.kind == SiteKind::ExceptionReturn {
                    resumed_ns.insert(event.cpu, event.ns);
                }
                last = machine.follow(kernel, &event).map(|ended| (ended, event));
            }
            None => break,
        }
    }
    found
}

/// Returns the function that a section belongs to: the one in which it begins, or the one that
/// called the function of a lock in which it begins.
fn who<'a>(kernel: &'a Kernel, ended: &Ended, event: &Event, words: &[u64]) -> Option<&'a str> {
    let is_wrapper = |function: &&str| {
        ["_raw_", "__raw_", "__local_bh_"].iter().any(|prefix| function.starts_with(prefix))
    };
    let inner = [ended.since.address, event.site.address].map(|at| kernel.function(at));
    let outer = words.iter().filter_map(|word| kernel.caller(*word));
    inner.into_iter().flatten().chain(outer).find(|function| !is_wrapper(function))
}

fn experiment(kernel: &str, modes: &[&str], cpus: u32, cost: &str) -> String {
    format!(
        r#"format = 1
name = "truth"

[factors]
kernel = ["{kernel}"]
preempt = {modes:?}
cpus = [{cpus}]

[replicates]
count = 1

[machine]
modules = ["preemptlab_hold"]
{cost}

[workload.processes]
kind = "cyclictest-hackbench"
window = "1s"
"#
    )
}

/// Runs the binary with the store that lasts.
fn run(desk: &Desk, arguments: &[&str]) -> Finished {
    Finished::new(desk.lasting_command(arguments).output().unwrap())
}

/// Returns the finished cells of a recording, by the names of their modes.
fn cells(recording: &Recording) -> Vec<(String, CellRecord)> {
    let cells = recording.cells().map(|cell| {
        let (planned, record) = cell.unwrap();
        (planned.factors.preempt.to_string(), record.unwrap())
    });
    cells.collect()
}

#[test]
fn every_hold_is_found_and_blamed() {
    check("debian:6.12", &["full"], 1);
    check("debian:6.12-rt", &["full"], 1);
}

#[test]
#[ignore = "takes long: a part of make nightly"]
fn every_hold_is_found_and_blamed_in_further_modes() {
    check("debian:6.12", &["none", "voluntary"], 1);
    check("debian:7.2", &["full", "lazy"], 1);
}

/// The module's thread holds the CPU that it is on, which need not be the probe's.
#[test]
#[ignore = "takes long: a part of make nightly"]
fn every_hold_is_found_and_blamed_on_two_cpus() {
    check("debian:6.12", &["full"], 2);
}

/// Instructions with prices: the holds have the same lengths, because they are read off a clock.
#[test]
#[ignore = "takes long: a part of make nightly"]
fn every_hold_is_found_and_blamed_where_instructions_have_prices() {
    check_with_prices("debian:6.12", &["full"], 1);
}

#[test]
#[ignore = "takes long: a part of make nightly"]
fn every_hold_is_found_and_blamed_on_two_cpus_where_instructions_have_prices() {
    check_with_prices("debian:6.12", &["full"], 2);
}

/// A miss comes between two instructions, and a trace has the time of both.
#[test]
#[ignore = "takes long: a part of make nightly"]
fn every_hold_is_found_and_blamed_where_caches_are_modelled() {
    check_with_caches("debian:6.12", &["full"], 1);
}

#[test]
#[ignore = "takes long: a part of make nightly"]
fn every_hold_is_found_and_blamed_on_two_cpus_where_caches_are_modelled() {
    check_with_caches("debian:6.12", &["full"], 2);
}

/// Debian's kernels for arm64 have one mode each.
#[test]
#[ignore = "takes long: a part of make nightly"]
fn every_hold_of_arm64_is_found_and_blamed() {
    check_of_arm64("debian:6.12-rt", "full", 1, "server-arm64");
}

#[test]
#[ignore = "takes long: a part of make nightly"]
fn every_hold_of_arm64_is_found_and_blamed_under_lazy() {
    check_of_arm64("debian:7.3", "lazy", 1, "instructions");
}

#[test]
#[ignore = "takes long: a part of make nightly"]
fn every_hold_of_arm64_is_found_and_blamed_on_two_cpus() {
    check_of_arm64("debian:7.3", "lazy", 2, "raspberry-pi-4");
    check_of_arm64("debian:6.12-rt", "full", 2, "server-arm64");
}

#[test]
#[ignore = "takes long: a part of make nightly"]
fn every_hold_of_arm64_is_found_and_blamed_where_caches_are_modelled() {
    let machine = "arch = \"arm64\"\ncost = \"server-arm64\"\ncaches = true";
    check_at_cost("debian:6.12-rt", &["full"], 2, machine);
}

/// Interrupts and softirqs are all that the generic 6.12 of arm64 turns off.
#[test]
#[ignore = "takes long: a part of make nightly"]
fn every_hold_of_arm64_is_found_without_preempt_count() {
    let desk = Desk::new();
    let machine = "arch = \"arm64\"\ncost = \"server-arm64\"";
    desk.write("truth.toml", &experiment("debian:6.12", &["voluntary"], 1, machine));
    run(&desk, &["run", "truth.toml", "--out", "traced", "--trace"]).succeeds();
    let recording = Recording::open(&desk.path("traced")).unwrap();
    let [(_, record)] = &cells(&recording)[..] else { panic!("one cell") };
    check_trace(&recording, "debian:6.12 voluntary", record);
}

fn check(kernel: &str, modes: &[&str], cpus: u32) {
    check_at_cost(kernel, modes, cpus, "cost = \"instructions\"");
}

fn check_of_arm64(kernel: &str, mode: &str, cpus: u32, cost: &str) {
    check_at_cost(kernel, &[mode], cpus, &format!("arch = \"arm64\"\ncost = \"{cost}\""));
}

fn check_with_prices(kernel: &str, modes: &[&str], cpus: u32) {
    check_at_cost(kernel, modes, cpus, "cost = \"fixture.toml\"");
}

fn check_with_caches(kernel: &str, modes: &[&str], cpus: u32) {
    check_at_cost(kernel, modes, cpus, "cost = \"fixture.toml\"\ncaches = true");
}

/// Runs one cell in each mode with and without a trace, and finds every hold in the traces.
fn check_at_cost(kernel: &str, modes: &[&str], cpus: u32, cost: &str) {
    let desk = Desk::new();
    desk.write("fixture.toml", include_str!("../../lab/tests/prices/fixture.toml"));
    desk.write("truth.toml", &experiment(kernel, modes, cpus, cost));
    run(&desk, &["run", "truth.toml", "--out", "traced", "--trace"]).succeeds();
    run(&desk, &["run", "truth.toml", "--out", "plain", "--no-cache"]).succeeds();

    let recording = Recording::open(&desk.path("traced")).unwrap();
    let plain = cells(&Recording::open(&desk.path("plain")).unwrap());
    let traced = cells(&recording);
    assert_eq!(traced.len(), modes.len());
    for ((mode, record), (_, plain)) in traced.iter().zip(&plain) {
        let cell = format!("{kernel} {mode}");
        let digest = record.outcome.digest();
        assert!(digest.is_some(), "{cell}: {:?}", record.outcome);
        assert_eq!((record.id, digest), (plain.id, plain.outcome.digest()), "{cell}");
        check_trace(&recording, &cell, record);
        let explained = run(&desk, &["explain", "traced", "--cell", &cell, "--format", "json"]);
        let (function, latency_ns) = check_explanation(&cell, &explained.succeeds().stdout);
        let ranked = run(&desk, &["explain", "traced", "ranking", "--format", "json"]);
        check_ranking(&cell, &explained.stdout, &ranked.succeeds().stdout);
        let change = format!("cut={function}:100us");
        let what_if = ["explain", "traced", "what-if", &change, "--cell", &cell];
        let patched = run(&desk, &[&what_if[..], &["--format", "json"]].concat());
        check_patched(&cell, latency_ns, &patched.succeeds().stdout);
        let census =
            run(&desk, &["explain", "traced", "census", "--cell", &cell, "--format", "json"]);
        check_census(&cell, mode, latency_ns, &census.succeeds().stdout);
    }
}

/// Checks that every hold has its kind and its length, and that none is missing between the first
/// and the last.
fn check_trace(recording: &Recording, cell: &str, record: &CellRecord) {
    let Outcome::Completed { report, .. } = &record.outcome else { unreachable!() };
    let is_realtime = report.system.realtime;
    assert_eq!(is_realtime, cell.contains("-rt"), "{cell}");
    let traces = recording.traces();
    assert_eq!(traces.findings(record.id).unwrap().unwrap().miscounts, 0, "{cell}");
    let arch = record.inputs.snapshot.machine.arch;
    let is_arm64 = arch == Arch::Arm64;
    let kernel = traces.kernel(record.inputs.snapshot.id(), arch).unwrap().unwrap();
    let Found { mut holds, long } = found(traces.stream(record.id).unwrap().unwrap(), &kernel);
    if record.inputs.snapshot.machine.cpus > 1 {
        let begun_ns = holds.first().map_or(0, |hold| hold.ns.0);
        holds.retain(|hold| hold.ns.0 >= begun_ns + SETTLING_NS);
    }

    // The module's table, over and over: a round of the trace begins wherever it may.
    let table = DURATIONS_NS.into_iter().flat_map(|ns| KINDS.into_iter().map(move |k| (k, ns)));
    let is_counted = is_realtime || !is_arm64 || !cell.contains("6.12");
    let holds_any = |(kind, _): &(Kind, u64)| kind.holds(is_realtime, is_counted);
    let table: Vec<(Kind, u64)> = table.filter(holds_any).collect();
    let first = holds.first().unwrap_or_else(|| panic!("{cell}: no hold"));
    let start = table.iter().position(|(kind, ns)| *kind == first.kind && first.is_of(*ns));
    let start = start.unwrap_or_else(|| panic!("{cell}: {first:?}"));
    let expected = table.iter().cycle().skip(start);
    for (hold, (kind, ns)) in holds.iter().zip(expected.clone()) {
        let at = hold.ns.0;
        assert_eq!((hold.kind, hold.section), (*kind, kind.section().0), "{cell} at {at} {ns}");
        assert!(hold.is_of(*ns), "{cell}: {hold:?} is off by {} ns", hold.off_by_ns(*ns));
    }
    assert!(holds.len() >= 3 * table.len(), "{cell}: only {} holds", holds.len());

    if is_realtime {
        check_preemptible(cell, &holds, expected.map(|(_, ns)| *ns), &long);
    }
}

/// Checks the holds that have no effect under PREEMPT_RT: between their neighbours there was the
/// time for the hold and for the module's pauses, and nothing was off for that long.
fn check_preemptible(
    cell: &str,
    holds: &[Hold],
    durations_ns: impl Iterator<Item = u64>,
    long: &[(SectionKind, Range<u64>)],
) {
    let mut checked = 0;
    for (pair, ns) in holds.windows(2).zip(durations_ns) {
        let [before, after] = pair else { unreachable!() };
        // The hold between them comes before `spin` is over, or before `softirq` is.
        if !matches!(before.kind, Kind::Irq | Kind::RawSpin) {
            continue;
        }
        let between = before.ns.1..after.ns.0;
        let lasted_ns = between.end - between.start;
        assert!(lasted_ns >= 2 * GAP_NS + ns, "{cell}: {lasted_ns} ns between {pair:?}");
        let off = long
            .iter()
            .find(|(_, section)| section.start >= between.start && section.end <= between.end);
        assert_eq!(off, None, "{cell}: between {pair:?}");
        checked += 1;
    }
    assert!(checked >= 3 * DURATIONS_NS.len(), "{cell}: only {checked}");
}

/// Checks the explanation: a hold of 5 ms delayed the worst wakeup, and `explain` must name it. Returns the
/// function whose section that is, and the wakeup's latency, in nanoseconds.
fn check_explanation(cell: &str, json: &str) -> (&'static str, u64) {
    let json: serde_json::Value = serde_json::from_str(json).unwrap();
    let worst = &json["worst"][0];
    let ns = |value: &serde_json::Value, name: &str| value[name].as_u64().unwrap();
    let latency_ns = ns(worst, "latency_ns");
    assert!((4_000_000..6_000_000).contains(&latency_ns), "{cell}: {latency_ns} ns");

    let segments = worst["segments"].as_array().unwrap();
    let mut at_ns = ns(worst, "due_ns");
    for segment in segments {
        assert_eq!(ns(segment, "start_ns"), at_ns, "{cell}: {segment}");
        at_ns = ns(segment, "end_ns");
    }
    assert_eq!(at_ns - ns(worst, "due_ns"), latency_ns, "{cell}");

    let length_ns = |segment: &&serde_json::Value| ns(segment, "end_ns") - ns(segment, "start_ns");
    let longest = segments.iter().max_by_key(length_ns).unwrap();
    let function = longest["function"].as_str().unwrap_or_default();
    let kind = Kind::of(function).unwrap_or_else(|| panic!("{cell}: {worst:#}"));
    assert_eq!(longest["cause"], kind.section().1, "{cell}: {longest:#}");
    assert_eq!(longest["comm"], "preemptlab_hold", "{cell}: {longest:#}");
    // A tasklet is served by its softirq.
    let section = if kind == Kind::Softirq { "tasklet_action" } else { kind.function() };
    (section, latency_ns)
}

/// Checks that each section in the worst wakeups of a cell is in the ranking of its configuration, with its
/// function and at least as long.
fn check_ranking(cell: &str, explained: &str, ranked: &str) {
    let explained: serde_json::Value = serde_json::from_str(explained).unwrap();
    let ranked: serde_json::Value = serde_json::from_str(ranked).unwrap();
    let configuration = cell.replace(' ', "/");
    let all = ranked["configurations"].as_array().unwrap();
    let of_cell = all.iter().find(|it| it["configuration"] == *configuration).unwrap();
    let max_ns = |kind: &serde_json::Value, function: &serde_json::Value| {
        let sections = of_cell["sections"].as_array().unwrap();
        let section = sections.iter().find(|it| it["kind"] == *kind && it["function"] == *function);
        section.and_then(|it| it["max_ns"].as_u64()).unwrap_or(0)
    };
    let mut count = 0;
    for wakeup in explained["worst"].as_array().unwrap() {
        // Pieces of a section have its start in common.
        let mut sections: BTreeMap<String, (&serde_json::Value, u64)> = BTreeMap::new();
        for segment in wakeup["segments"].as_array().unwrap() {
            let ns = |key: &str| segment[key].as_u64();
            if !["irqs_off", "preempt_off"].map(Into::into).contains(&segment["cause"]) {
                continue;
            }
            let (start_ns, end_ns) = (ns("start_ns").unwrap(), ns("end_ns").unwrap());
            let longest_ns = segment["folded"]["max_ns"].as_u64();
            let (since_ns, ns) = match (ns("since_ns"), longest_ns) {
                (Some(since_ns), _) => (since_ns, end_ns - start_ns),
                (None, longest_ns) => (start_ns, longest_ns.unwrap_or(end_ns - start_ns)),
            };
            let name = format!("{} {} {since_ns}", segment["cause"], segment["function"]);
            sections.entry(name).or_insert((segment, 0)).1 += ns;
        }
        for (name, (segment, ns)) in &sections {
            let max_ns = max_ns(&segment["cause"], &segment["function"]);
            assert!(max_ns >= *ns, "{cell}: {name} of {ns} ns, in the ranking {max_ns} ns");
        }
        count += sections.len();
    }
    assert!(count > 0, "{cell}: no section delayed a wakeup");
}

/// Checks that without the hold the worst wakeup is as early as the others.
fn check_patched(cell: &str, latency_ns: u64, json: &str) {
    let json: serde_json::Value = serde_json::from_str(json).unwrap();
    let worst = &json["worst"][0];
    assert_eq!(worst["latency_ns"], latency_ns, "{cell}");
    let after_ns = worst["latency_ns_after"].as_u64().unwrap();
    assert!(after_ns < 1_000_000, "{cell}: {after_ns} ns of {latency_ns} ns: {json:#}");
    // Holds of other kinds are as long.
    assert!(json["after"]["max_ns"].as_u64() <= json["before"]["max_ns"].as_u64(), "{cell}");
}

/// Checks that `cond_resched()` is called where the mode needs it and nowhere else, by functions of the
/// kernel, and that no call ends a hold.
fn check_census(cell: &str, mode: &str, latency_ns: u64, json: &str) {
    let json: serde_json::Value = serde_json::from_str(json).unwrap();
    let configuration = &json["configurations"][0];
    let sites = configuration["sites"].as_array().unwrap();
    let polls = mode == "none" || mode == "voluntary";
    assert_eq!(!sites.is_empty(), polls, "{cell}: {configuration:#}");
    let longest_ns = configuration["longest_ns"].as_u64().unwrap();
    assert!(longest_ns > latency_ns / 2, "{cell}: {longest_ns}");
    assert!(configuration["longest_ns_without_all"].as_u64() >= Some(longest_ns), "{cell}");
    for site in sites {
        let name = site["site"].as_str().unwrap();
        assert!(name.contains("+0x") && !name.starts_with("preemptlab_hold"), "{cell}: {site}");
        assert!(site["ended_ns_max"].as_u64() <= Some(longest_ns), "{cell}: {site}");
        assert!(site["without_ns_max"].as_u64() >= site["ended_ns_max"].as_u64(), "{cell}: {site}");
    }
}
