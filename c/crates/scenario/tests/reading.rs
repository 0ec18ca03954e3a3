//! Tests of the reader: scenarios that are read, and those that are refused with the line, the
//! cause and the alternatives.

use preemptlab_protocol::script::{LockKind, Operation, Policy, Step};
use preemptlab_scenario::{Scenario, ScenarioError};
use proptest::prelude::*;

const ALL: &str = r#"format = 1
name = "all"
cpus = 2
end = "1s"
[interrupt.nic]
at = ["2ms", "10ms"]
hard = "1ms"
threaded = "2ms"
softirq = "3ms"
work = "4ms"
priority = 60
[futex.m]
pi = true
[kernel_thread."ksoftirqd/"]
policy = "fifo:49"
[thread.a]
policy = "batch:-5"
cpus = "0-1"
steps = [
  { sleep_until = "1ms" }, { sleep = "1.5ms" }, "yield",
  { futex = "n", do = [{ futex = "m", do = [{ busy = "1us" }] }] },
  { repeat = 2, do = [{ busy = "2us" }, "yield"] },
]
[thread.b]
steps = [
  { call = [
    { wait = "nic" }, "cond_resched", "might_resched", { zero_pages = 3 }, { sleep = "1ms" },
    { mutex = "l", do = [{ rt_mutex = "l", do = [{ spinlock = "l", do = [{ busy = "1ms" }] }] }] },
    { bh_off = [{ raw_spinlock = "r", do = [{ irqs_off = [{ preempt_off = [{ busy = "1ms" }] }] }] }] },
    { read_lock = "w", do = [{ busy = "1ms" }] }, { write_lock = "w", do = [{ busy = "1ms" }] },
    { repeat = 2, do = ["cond_resched"] },
  ] },
]
[[expect]]
thread = "b"
latency = "2ms"
[[expect]]
deadlock = { full = false }
"#;

fn refused(from: &str, to: &str) -> ScenarioError {
    assert!(ALL.contains(from), "{from}");
    let text = ALL.replacen(from, to, 1);
    Scenario::parse(&text).expect_err(to)
}

#[test]
fn everything_that_there_is_is_read() {
    let scenario = Scenario::parse(ALL).unwrap();
    let script = scenario.script();
    assert_eq!((scenario.cpus(), script.end_ns), (2, 1_000_000_000));
    assert_eq!(script.threads[0].policy, Policy::Batch(-5));
    assert_eq!(script.threads[1].policy, Policy::Other(0));
    assert_eq!(
        (&script.threads[0].cpus[..], &script.threads[1].cpus[..]),
        (&[0, 1][..], &[0, 1][..])
    );
    // `n` is named first.
    assert_eq!(script.futex_is_pi, [false, true]);
    assert_eq!(script.kernel_threads[0].policy, Policy::Fifo(49));
    assert_eq!(
        script.threads[0].steps,
        [
            Step::SleepUntil(1_000_000),
            Step::SleepFor(1_500_000),
            Step::Yield,
            Step::FutexLock(0),
            Step::FutexLock(1),
            Step::Busy(1_000),
            Step::FutexUnlock(1),
            Step::FutexUnlock(0),
            Step::Busy(2_000),
            Step::Yield,
            Step::Busy(2_000),
            Step::Yield,
        ]
    );
    let [Step::Call(operations)] = &script.threads[1].steps[..] else { panic!("one call") };
    assert_eq!(
        operations[..],
        [
            Operation::WaitInterrupt(0),
            Operation::CondResched,
            Operation::MightResched,
            Operation::ZeroPages(3),
            Operation::SleepFor(1_000_000),
            Operation::Lock(LockKind::Mutex, 0),
            Operation::Lock(LockKind::RtMutex, 0),
            Operation::Lock(LockKind::Spin, 0),
            Operation::Busy(1_000_000),
            Operation::Unlock(LockKind::Spin, 0),
            Operation::Unlock(LockKind::RtMutex, 0),
            Operation::Unlock(LockKind::Mutex, 0),
            Operation::BhDisable,
            Operation::Lock(LockKind::RawSpin, 0),
            Operation::IrqsDisable,
            Operation::PreemptDisable,
            Operation::Busy(1_000_000),
            Operation::PreemptEnable,
            Operation::IrqsEnable,
            Operation::Unlock(LockKind::RawSpin, 0),
            Operation::BhEnable,
            Operation::Lock(LockKind::Read, 0),
            Operation::Busy(1_000_000),
            Operation::Unlock(LockKind::Read, 0),
            Operation::Lock(LockKind::Write, 0),
            Operation::Busy(1_000_000),
            Operation::Unlock(LockKind::Write, 0),
            Operation::CondResched,
            Operation::CondResched,
        ]
    );
}

#[test]
fn what_is_misspelt_is_named_with_its_line_and_the_nearest_name() {
    for (from, to, line, help) in [
        ("[thread.a]", "[thraed.a]", 16, "did you mean `thread`?"),
        ("hard = ", "hrad = ", 7, "did you mean `hard`?"),
        ("\"yield\"", "\"yeild\"", 20, "did you mean `yield`?"),
        ("{ sleep_until", "{ sleep_untli", 20, "did you mean `sleep_until`?"),
        ("\"cond_resched\"", "\"cond_reshed\"", 27, "did you mean `cond_resched`?"),
        ("{ wait = \"nic\" }", "{ wait = \"nicc\" }", 27, "did you mean `nic`?"),
        ("\"batch:-5\"", "\"bacth:-5\"", 17, "did you mean `batch`?"),
        ("[futex.m]", "[futex.mm]", 12, "did you mean `m`?"),
        ("full = false", "ful = false", 38, "did you mean `full`?"),
        ("thread = \"b\"", "thread = \"bb\"", 35, "did you mean `b`?"),
        ("latency = ", "latncy = ", 36, "did you mean `latency`?"),
    ] {
        let error = refused(from, to);
        assert_eq!((error.line, error.help.as_deref()), (line, Some(help)), "{error}");
    }
}

#[test]
fn a_step_of_the_wrong_side_is_sent_to_the_other() {
    let error = refused("\"yield\",", "\"cond_resched\",");
    assert!(error.help.as_ref().is_some_and(|help| help.contains("call")), "{error:?}");
    let error = refused("\"cond_resched\",", "\"yield\",");
    assert!(error.help.as_ref().is_some_and(|help| help.contains("user space")), "{error:?}");
    let error = refused("\"yield\",", "{ yield = 1 },");
    assert!(error.help.as_ref().is_some_and(|help| help.contains("no value")), "{error:?}");
}

/// Each change makes no sense, and is refused with this word in the message.
#[test]
fn what_makes_no_sense_is_refused() {
    for (from, to, message) in [
        ("format = 1", "format = 2", "format is not known"),
        ("\"all\"", "\"All\"", "cannot be a name"),
        ("cpus = 2", "cpus = 2\narch = \"riscv64\"", "`arch = \"riscv64\"` is not known"),
        ("cpus = 2", "cpus = 2\narch = 1", "an integer stands here"),
        ("cpus = 2", "cpus = 9", "not possible"),
        ("cpus = 2", "cpus = \"2\"", "a string stands here"),
        ("cpus = 2", "cpus = 1", "no CPU 1"),
        ("\"0-1\"", "\"0-2\"", "no CPU 2"),
        ("\"0-1\"", "\"1-0\"", "no list of CPUs"),
        ("\"0-1\"", "\"\"", "no list of CPUs"),
        ("\"0-1\"", "\"+1\"", "no list of CPUs"),
        ("end = \"1s\"", "end = \"10ms\"", "when the scenario has ended"),
        ("end = \"1s\"", "end = \"1001s\"", "longer than"),
        ("end = \"1s\"", "end = \"0s\"", "no time"),
        ("end = \"1s\"", "end = 1", "an integer stands here"),
        ("end = \"1s\"", "", "needs the key `end`"),
        ("\"2ms\", \"10ms\"", "\"10ms\", \"2ms\"", "does not come after"),
        ("\"2ms\", \"10ms\"", "\"2ms\", \"2ms\"", "does not come after"),
        ("\"2ms\", \"10ms\"", "", "0 events"),
        ("priority = 60", "priority = 99", "not possible"),
        ("[interrupt.nic]", "[interrupt.\"irq/nic\"]", "cannot be a name"),
        ("[thread.a]", "[thread.a_name_that_is_too_long]", "cannot be a name"),
        ("[thread.b]", "[thread.a]", "duplicate"),
        ("\"batch:-5\"", "\"batch:-21\"", "not possible"),
        ("\"batch:-5\"", "\"other:20\"", "not possible"),
        ("\"batch:-5\"", "\"fifo:99\"", "not possible"),
        ("\"batch:-5\"", "\"rr:0\"", "not possible"),
        ("\"batch:-5\"", "\"rr:-1\"", "not possible"),
        ("\"batch:-5\"", "\"fifo\"", "needs a priority"),
        ("\"batch:-5\"", "\"idle:1\"", "neither"),
        ("\"ksoftirqd/\"", "\"a b\"", "no kernel thread"),
        ("sleep_until = \"1ms\"", "sleep_until = \"1s\"", "until the scenario has ended"),
        ("{ sleep = \"1.5ms\" }", "{ sleep = \"0s\" }", "no time"),
        ("{ sleep = \"1.5ms\" }", "{ sleep = \"1.5ms\", busy = \"1s\" }", "of its own"),
        ("{ sleep = \"1.5ms\" }", "{}", "nothing to do"),
        ("{ sleep = \"1.5ms\" }", "1", "an integer stands here"),
        ("{ sleep = \"1.5ms\" }", "{ sleep = \"1.5ms\", do = [] }", "has no `do`"),
        ("{ repeat = 2, do = [{ busy = \"2us\" }, \"yield\"] }", "{ repeat = 2 }", "needs a `do`"),
        (
            "{ repeat = 2, do = [{ busy = \"2us\" }, \"yield\"] }",
            "{ repeat = 2, do = [] }",
            "no step",
        ),
        ("{ repeat = 2, do = [{", "{ repeat = 0, do = [{", "not possible"),
        ("{ repeat = 2, do = [{", "{ repeat = 512, do = [{", "more than 512 steps"),
        ("{ repeat = 2, do = [\"cond", "{ repeat = 64, do = [\"cond", "more than 64 operations"),
        ("{ futex = \"m\"", "{ futex = \"n\"", "by a thread that holds it"),
        (
            "{ read_lock = \"w\", do = [{ busy = \"1ms\" }",
            "{ read_lock = \"w\", do = [{ write_lock = \"w\", do = [{ busy = \"1ms\" }] }",
            "by a thread that holds it",
        ),
        ("zero_pages = 3", "zero_pages = 0", "not possible"),
        ("thread = \"b\"", "thread = \"b\"\nwait = 2", "no wait 2"),
        ("thread = \"b\"", "thread = \"b\"\nwait = 0", "no wait 0"),
        ("latency = \"2ms\"", "", "of one thing"),
        ("latency = \"2ms\"", "latency = \"2ms\"\nwakes = \"2ms\"", "of one thing"),
        ("latency = \"2ms\"", "latency = {}", "no model"),
        ("latency = \"2ms\"", "finishes_before = \"b\"", "before itself"),
        ("latency = \"2ms\"", "latency = \"2ms\"\nkernels = [\"6.1\"]", "needs a reason"),
        ("latency = \"2ms\"", "latency = \"2ms\"\nbecause = \"x\"\nkernels = [\"6\"]", "no series"),
        ("latency = \"2ms\"", "finishes = \"2ms\"\nwait = 1", "does not belong"),
        ("deadlock = ", "thread = \"a\"\ndeadlock = ", "does not belong"),
        ("deadlock = ", "within = \"1ms\"\ndeadlock = ", "does not belong"),
    ] {
        let error = refused(from, to);
        assert!(error.message.contains(message), "{to}: {error}");
        assert!(error.message.contains("duplicate") || error.help.is_some(), "{to}: {error}");
    }
}

/// Operations that either kind of kernel forbids are refused.
#[test]
fn nothing_sleeps_where_some_kernel_forbids_it() {
    let sleeping = [
        "{ sleep = \"1ms\" }",
        "{ wait = \"nic\" }",
        "\"cond_resched\"",
        "\"might_resched\"",
        "{ mutex = \"x\", do = [{ busy = \"1ms\" }] }",
        "{ rt_mutex = \"x\", do = [{ busy = \"1ms\" }] }",
    ];
    let sleeping_with_rt = [
        "{ spinlock = \"x\", do = [{ busy = \"1ms\" }] }",
        "{ read_lock = \"x\", do = [{ busy = \"1ms\" }] }",
        "{ write_lock = \"x\", do = [{ busy = \"1ms\" }] }",
        "{ bh_off = [{ busy = \"1ms\" }] }",
    ];
    let never = [
        "{ busy = \"1ms\" }",
        "{ zero_pages = 1 }",
        "{ raw_spinlock = \"x\", do = [{ busy = \"1ms\" }] }",
        "{ preempt_off = [{ busy = \"1ms\" }] }",
    ];
    let in_section = |section: &str, operation: &str| {
        let text = ALL.replacen("{ zero_pages = 3 }", &section.replace("...", operation), 1);
        Scenario::parse(&text)
    };
    let atomic =
        ["{ preempt_off = [...] }", "{ irqs_off = [...] }", "{ raw_spinlock = \"s\", do = [...] }"];
    let atomic_without_rt = [
        "{ spinlock = \"s\", do = [...] }",
        "{ read_lock = \"s\", do = [...] }",
        "{ write_lock = \"s\", do = [...] }",
        "{ bh_off = [...] }",
    ];
    let free = ["{ mutex = \"s\", do = [...] }", "{ rt_mutex = \"s\", do = [...] }"];
    for (sections, possible, impossible) in [
        (&atomic[..], vec![&never[..]], vec![&sleeping[..], &sleeping_with_rt]),
        (&atomic_without_rt, vec![&never, &sleeping_with_rt], vec![&sleeping]),
        (&free, vec![&never, &sleeping_with_rt, &sleeping], vec![]),
    ] {
        for section in sections {
            for operation in possible.iter().copied().flatten() {
                in_section(section, operation).unwrap_or_else(|error| panic!("{section}: {error}"));
            }
            for operation in impossible.iter().copied().flatten() {
                let error = in_section(section, operation).expect_err(operation);
                assert_eq!(error.line, 27);
                assert!(error.message.contains("must not stand inside"), "{error}");
            }
        }
    }
    let error = in_section("{ irqs_off = [...] }", "{ irqs_off = [{ busy = \"1ms\" }] }");
    assert!(error.unwrap_err().message.contains("off here already"));
}

#[test]
fn there_are_limits() {
    let threads: String =
        (0..33).map(|n| format!("[thread.t{n}]\nsteps = [\"yield\"]\n")).collect();
    let text = format!("format = 1\nname = \"x\"\nend = \"1s\"\n{threads}");
    assert!(Scenario::parse(&text).unwrap_err().message.contains("33 threads"));
    let futexes: String =
        (0..17).map(|n| format!("{{ futex = \"f{n}\", do = [\"yield\"] }},")).collect();
    let text = format!("format = 1\nname = \"x\"\nend = \"1s\"\n[thread.a]\nsteps = [{futexes}]");
    let error = Scenario::parse(&text).unwrap_err();
    assert_eq!((error.line, error.message.as_str()), (5, "there are too many futexes"));
    let text = "format = 1\nname = \"x\"\nend = \"1s\"\n";
    assert_eq!(Scenario::parse(text).unwrap_err().message, "there is no thread");
    let call = "{ repeat = 500, do = [{ call = [{ repeat = 60, do = [\"cond_resched\"] }] }] }";
    let long = format!("{text}[thread.a]\nsteps = [{call}]");
    assert!(Scenario::parse(&long).unwrap_err().message.contains("when it is written out"));
    // Nested repetitions are not written out before they are found to be too much.
    let repeat = "{ repeat = 512, do = [".repeat(8) + "\"yield\"" + &"] }".repeat(8);
    let text = format!("{text}[thread.a]\nsteps = [{repeat}]");
    assert!(Scenario::parse(&text).unwrap_err().message.contains("more than 512"));
}

const VARIANTS: &str = r#"format = 1
name = "v"
description = "d"
end = "1s"
[thread.a]
policy = "fifo:10"
steps = [{ futex = "m", do = ["yield"] }]
[[expect]]
thread = "a"
latency_max = "1ms"
[[expect]]
thread = "a"
finishes = "5ms"
[variant.plain]
[variant.pi]
futex.m.pi = true
[variant.other]
thread.a.policy = "other"
[[variant.other.expect]]
thread = "a"
latency_max = { full = "2ms" }
"#;

#[test]
fn variants_are_the_file_with_their_own_tables_over_it() {
    let variants = Scenario::parse_variants(VARIANTS).unwrap();
    let names: Vec<&str> = variants.iter().map(Scenario::name).collect();
    assert_eq!(names, ["v-plain", "v-pi", "v-other"]);
    assert!(variants.iter().all(|it| it.family() == "v" && it.description() == "d"));
    let is_pi: Vec<bool> = variants.iter().map(|it| it.script().futex_is_pi[0]).collect();
    assert_eq!(is_pi, [false, true, false]);
    let policies: Vec<Policy> = variants.iter().map(|it| it.script().threads[0].policy).collect();
    assert_eq!(policies, [Policy::Fifo(10), Policy::Fifo(10), Policy::Other(0)]);
    assert_eq!(variants[1].script().threads, variants[0].script().threads);
    // The variant's own stands for the file's of the same thing.
    let lines: Vec<Vec<usize>> = variants
        .iter()
        .map(|it| it.expectations().iter().map(|expectation| expectation.line).collect())
        .collect();
    assert_eq!(lines, [vec![8, 11], vec![8, 11], vec![11, 19]]);
    let whole = Scenario::parse_variants(ALL).unwrap();
    assert_eq!((whole.len(), whole[0].variant(), whole[0].family()), (1, None, "all"));
}

#[test]
fn variants_that_make_no_sense_are_refused() {
    for (from, to, line, message) in [
        ("thread.a.policy = \"other\"", "thread.b.policy = \"other\"", 18, "no thread `b`"),
        ("futex.m.pi", "futex.n.pi", 16, "no thread takes the futex `n`"),
        ("futex.m.pi = true", "futex.m.pie = true", 16, "no key `pie`"),
        ("futex.m.pi = true", "futex = 5", 16, "an integer"),
        ("futex.m.pi = true", "futex.m = 5", 16, "an integer"),
        ("futex.m.pi = true", "end = \"2s\"", 16, "a variant has no key `end`"),
        ("futex.m.pi = true", "variant.x = {}", 16, "a variant has no key `variant`"),
        ("futex.m.pi = true", "interrupt.nic.hard = \"1ms\"", 16, "no interrupt `nic`"),
        ("[variant.pi]", "[variant.PI]", 15, "`PI` cannot be a name"),
        ("[variant.pi]", "[variant.a-name-of-17-or-x]", 15, "cannot be a name"),
        ("latency_max = { full", "wakse = { full", 21, "no key `wakse`"),
        (
            "latency_max = { full = \"2ms\" }",
            "latency_max = \"2ms\"\nwithin = \"1ms\"",
            22,
            "`within`",
        ),
        (
            "[variant.plain]",
            "[variant]
plain = 3",
            15,
            "an integer",
        ),
    ] {
        assert!(VARIANTS.contains(from), "{from}");
        let error = Scenario::parse_variants(&VARIANTS.replacen(from, to, 1)).expect_err(to);
        assert!(error.to_string().contains(message), "{to}: {error}");
        assert_eq!(error.line, line, "{to}: {error}");
    }
    let many: String = (0..9)
        .map(|n| {
            format!(
                "[variant.v{n}]
"
            )
        })
        .collect();
    let error = Scenario::parse_variants(&format!("{VARIANTS}{many}")).unwrap_err();
    assert!(error.message.contains("12 variants"), "{error}");
    let long = VARIANTS.replacen("\"v\"", &format!("\"{}\"", "v".repeat(60)), 1);
    assert!(Scenario::parse_variants(&long).unwrap_err().message.contains("cannot be a name"));
}

proptest! {
    /// Any damage to a text with variants ends likewise.
    #[test]
    fn no_text_with_variants_is_too_much(at in 0..VARIANTS.len(), remove in 0..40_usize, insert in "[\\[\\]{}\"=,a-z0-9.: \n-]{0,8}") {
        let end = (at + remove).min(VARIANTS.len());
        let text = format!("{}{insert}{}", &VARIANTS[..at], &VARIANTS[end..]);
        match Scenario::parse_variants(&text) {
            Ok(variants) => prop_assert!(!variants.is_empty()),
            Err(error) => prop_assert!(error.span.end <= text.len()),
        }
    }

    /// Any damage to a text ends with a scenario, or with an error that has a place in it.
    #[test]
    fn no_text_is_too_much(at in 0..ALL.len(), remove in 0..40_usize, insert in "[\\[\\]{}\"=,a-z0-9.: \n-]{0,8}") {
        let end = (at + remove).min(ALL.len());
        let text = format!("{}{insert}{}", &ALL[..at], &ALL[end..]);
        if let Err(error) = Scenario::parse(&text) {
            prop_assert!(error.line >= 1 && error.line <= text.lines().count() + 1);
            prop_assert!(error.span.end <= text.len());
        }
    }
}
