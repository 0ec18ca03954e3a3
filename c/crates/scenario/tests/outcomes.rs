//! Tests of the outcomes of playing, of the checks of expectations, and of the score.

use preemptlab_protocol::script::{
    FORMAT, Played, PlayedEvent, PlayedStep, PlayedThread, Span, Step,
};
use preemptlab_scenario::{
    Cause, Column, Counts, Model, Outcome, Scenario, StuckOn, check, outcome, score,
};
use proptest::prelude::*;

const MS: u64 = 1_000_000;
/// Start of the scenarios, on the guest's clock.
const START_NS: u64 = 7_000 * MS;

/// Returns a span from times in milliseconds of the scenario; a span without an end was not over.
fn span(begin_ms: u64, end_ms: impl Into<Option<u64>>) -> Span {
    let at = |ms: u64| START_NS + ms * MS;
    Span { begin_ns: at(begin_ms), end_ns: end_ms.into().map(at) }
}

fn step(span: Span) -> PlayedStep {
    PlayedStep { begin_ns: span.begin_ns, end_ns: span.end_ns, operations: Vec::new() }
}

fn call(span: Span, operations: &[Span]) -> PlayedStep {
    PlayedStep { operations: operations.to_vec(), ..step(span) }
}

fn played(threads: Vec<Vec<PlayedStep>>, interrupts: Vec<Vec<PlayedEvent>>) -> Played {
    let threads = threads.into_iter().zip(100..).map(|(steps, pid)| PlayedThread { pid, steps });
    Played {
        format: FORMAT,
        start_ns: START_NS,
        end_ns: START_NS + 100 * MS,
        threads: threads.collect(),
        interrupts,
    }
}

fn parse(text: &str) -> Scenario {
    let head = "format = 1\nname = \"x\"\nend = \"100ms\"\n";
    Scenario::parse(&format!("{head}{text}")).unwrap()
}

/// Returns a scenario in which a real-time task waits for a timer, and another one for an
/// interrupt.
fn demo() -> Scenario {
    parse(
        r#"
[interrupt.nic]
at = ["2ms", "20ms"]
hard = "1ms"
softirq = "1ms"
[thread.hi]
policy = "fifo:50"
steps = [{ sleep_until = "3ms" }, { sleep = "4ms" }]
[thread.reader]
steps = [{ sleep_until = "5ms" }, { call = [{ wait = "nic" }, { busy = "1ms" }] }]
[[expect]]
thread = "hi"
wakes = { none = "6ms", full = "3ms" }
[[expect]]
thread = "hi"
wait = 2
latency = "1ms"
[[expect]]
thread = "hi"
wait = 2
latency = { none = "2ms" }
kernels = ["6.1"]
because = "it is older"
[[expect]]
thread = "hi"
finishes_before = { none = "reader" }
[[expect]]
thread = "reader"
finishes = { none = "24ms" }
within = "1ms"
[[expect]]
deadlock = { none = false, full = true }
"#,
    )
}

fn demo_played(hi_back_ms: u64) -> Played {
    let event = |at_ms, until_ms| PlayedEvent {
        fired_ns: START_NS + at_ms * MS,
        hard: Some(span(at_ms, at_ms + 1)),
        softirq: Some(span(at_ms + 1, until_ms)),
        ..PlayedEvent::default()
    };
    let hi = vec![step(span(0, hi_back_ms)), step(span(hi_back_ms, hi_back_ms + 5))];
    let reader = vec![step(span(0, 5)), call(span(5, 24), &[span(5, 22), span(22, 23)])];
    played(vec![hi, reader], vec![vec![event(2, 4), event(20, 22)]])
}

#[test]
fn waits_are_timed_from_when_they_were_over() {
    let outcome = outcome(&demo(), &demo_played(6)).unwrap();
    let wait = |thread: usize, wait: usize| outcome.threads[thread].waits[wait].clone();
    assert_eq!(wait(0, 0).due_ns, Some(3 * MS));
    assert_eq!(wait(0, 0).back_ns, Some(6 * MS));
    assert_eq!(wait(0, 0).latency_ns, Some(3 * MS));
    // A sleep counts from its own beginning.
    assert_eq!((wait(0, 1).due_ns, wait(0, 1).latency_ns), (Some(10 * MS), Some(MS)));
    // The first event was over before any thread waited.
    let nic = Cause::Interrupt { name: "nic".into(), event: Some(2) };
    assert_eq!(wait(1, 1).cause, nic);
    assert_eq!((wait(1, 1).due_ns, wait(1, 1).latency_ns), (Some(20 * MS), Some(4 * MS)));
    assert!(outcome.is_finished());
    assert_eq!(outcome.threads[1].finished_ns, Some(24 * MS));
}

#[test]
fn expectations_are_checked_by_model_and_by_kernel() {
    let (scenario, played) = (demo(), demo_played(6));
    let outcome = outcome(&scenario, &played).unwrap();
    let checked = |model, series| {
        check(&scenario, &outcome, model, series)
            .iter()
            .map(|checked| (checked.met, checked.to_string()))
            .collect::<Vec<_>>()
    };
    let of = |list: &[(bool, &str)]| -> Vec<(bool, String)> {
        list.iter().map(|(met, text)| (*met, (*text).to_owned())).collect()
    };
    let common = [
        (true, "hi finishes_before: expected hi first, found hi first"),
        (true, "reader finishes: expected 24 ms, found 24 ms"),
        (true, "deadlock: expected that all threads finish, found that all threads finish"),
    ];
    let hi = (true, "hi wakes: expected 6 ms, found 6 ms");
    let of_all = (true, "hi latency (wait 2): expected 1 ms, found 1 ms");
    let of_61 = (false, "hi latency (wait 2): expected 2 ms, found 1 ms");
    assert_eq!(checked(Model::None, "6.12"), of(&[&[hi, of_all][..], &common].concat()));
    assert_eq!(checked(Model::None, "6.1"), of(&[&[hi, of_61][..], &common].concat()));
    let late = (false, "hi wakes: expected 3 ms, found 6 ms");
    let finished = (
        false,
        "deadlock: expected that some thread never finishes, found that all threads finish",
    );
    assert_eq!(checked(Model::Full, "6.1"), of(&[late, of_all, finished]));
    // Only the expectations of every model.
    assert_eq!(checked(Model::Rt, "6.12"), of(&[of_all]));
}

#[test]
fn a_time_may_be_off_by_one_percent_and_by_50_us() {
    let scenario = demo();
    let met = |off_ns: u64| {
        let mut played = demo_played(6);
        let step = &mut played.threads[0].steps[0];
        step.end_ns = step.end_ns.map(|ns| ns - off_ns);
        let outcome = outcome(&scenario, &played).unwrap();
        check(&scenario, &outcome, Model::None, "6.12")[0].met
    };
    assert!(met(60_000));
    assert!(!met(60_001));
}

#[test]
fn the_score_is_what_a_slide_would_say() {
    let scenario = demo();
    let outcomes = [6, 3].map(|ms| outcome(&scenario, &demo_played(ms)).unwrap());
    let column = |model, outcome, switches| Column {
        model,
        outcome,
        counts: Some(Counts { switches, schedule_calls: 2 * switches }),
    };
    let columns = [column(Model::None, &outcomes[0], 5), column(Model::Full, &outcomes[1], 7)];
    let scores = score(&columns);
    assert_eq!(scores.len(), 1);
    assert_eq!((scores[0].added_switches, scores[0].added_schedule_calls), (Some(2), Some(4)));
    assert_eq!(scores[0].waits.len(), 4);
    assert_eq!(
        scores[0].to_string(),
        "  added 2 schedule with context switch\n\
         + shorter wakeup latency of hi: 0 ns, not 3 ms\n"
    );
    let back = score(&[columns[1], Column { counts: None, ..columns[0] }]);
    assert_eq!(back[0].added_switches, None);
    assert_eq!(back[0].to_string(), "- longer wakeup latency of hi: 3 ms, not 0 ns\n");
    assert!(score(&[]).is_empty());
}

#[test]
fn a_futex_can_be_had_when_its_last_holder_gives_it_back() {
    let scenario = parse(
        r#"
[thread.a]
steps = [{ futex = "m", do = [{ busy = "1ms" }] }]
[thread.b]
steps = [{ futex = "m", do = [{ busy = "1ms" }] }]
[thread.c]
steps = [{ futex = "m", do = [{ busy = "1ms" }] }]
"#,
    );
    let thread = |begin, lock, unlock, end| {
        vec![step(span(begin, lock)), step(span(lock, unlock)), step(span(unlock, end))]
    };
    // b comes in between, and c waits for it too. a is preempted while it gives the futex back.
    let played =
        played(vec![thread(0, 0, 10, 25), thread(1, 11, 20, 21), thread(2, 23, 24, 24)], vec![]);
    let outcome = outcome(&scenario, &played).unwrap();
    let found = outcome.threads.iter().map(|thread| {
        let wait = &thread.waits[0];
        let Cause::Futex { given_back_by, .. } = &wait.cause else { panic!("{wait:?}") };
        (wait.due_ns.unwrap() / MS, wait.latency_ns.unwrap() / MS, given_back_by.as_deref())
    });
    let found: Vec<_> = found.collect();
    assert_eq!(found, [(0, 0, None), (10, 1, Some("a")), (20, 3, Some("b"))]);
}

#[test]
fn a_thread_is_blocked_while_others_hold_what_it_waits_for() {
    let scenario = parse(
        r#"
[thread.a]
steps = [{ futex = "m", do = [{ busy = "1ms" }] }]
[thread.c]
steps = [{ futex = "m", do = [{ call = [{ read_lock = "w", do = [{ spinlock = "l", do = [{ busy = "1ms" }] }] }] }] }]
[thread.d]
steps = [{ call = [{ read_lock = "w", do = [{ busy = "1ms" }] }] }, { call = [{ spinlock = "l", do = [{ busy = "1ms" }] }] }]
[[expect]]
thread = "c"
blocked = "25ms"
[[expect]]
thread = "c"
blocked = "24ms"
within = "1ms"
[[expect]]
thread = "c"
blocked_max = "25ms"
[[expect]]
thread = "c"
blocked_max = "24ms"
[[expect]]
thread = "c"
latency_max = "1ms"
[[expect]]
thread = "c"
latency_max = "999us"
[[expect]]
thread = "a"
blocked_max = "0s"
"#,
    );
    let a = vec![step(span(5, 5)), step(span(5, 35)), step(span(35, 50))];
    // c waits from 10 ms on, can have it at 35 ms, and has it at 36 ms. The readers share a lock.
    let inner = [span(37, 38), span(38, 39), span(39, 40), span(40, 40), span(40, 41)];
    let c = vec![step(span(10, 36)), call(span(36, 42), &inner), step(span(42, 43))];
    let d = vec![
        call(span(30, 60), &[span(30, 31), span(31, 59), span(59, 60)]),
        call(span(60, 70), &[span(60, 61), span(61, 62), span(62, 70)]),
    ];
    let outcome = outcome(&scenario, &played(vec![a, c, d], vec![])).unwrap();
    let blocked: Vec<_> = outcome
        .threads
        .iter()
        .map(|thread| {
            let on = thread.blocked.iter();
            on.map(|on| (on.resource.to_string(), on.count, on.blocked_ns / MS)).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(blocked, [vec![], vec![("the futex m".to_owned(), 1, 25)], vec![]]);
    assert_eq!(outcome.threads[1].blocked_ns(), 25 * MS);
    let checked = check(&scenario, &outcome, Model::Full, "6.12");
    let met: Vec<bool> = checked.iter().map(|checked| checked.met).collect();
    assert_eq!(met, [true, true, true, false, true, false, true]);
    assert_eq!(checked[3].to_string(), "c blocked: expected at most 24 ms, found 25 ms");
    assert_eq!(checked[5].to_string(), "c latency: expected at most 999 us, found 1 ms");
}

const ABBA: &str = r#"
[thread.a]
steps = [{ futex = "m", do = [{ call = [{ mutex = "l", do = [{ busy = "1ms" }] }] }] }]
[thread.b]
steps = [{ call = [{ mutex = "l", do = [{ sleep = "1ms" }, { rt_mutex = "k", do = [{ busy = "1ms" }] }] }] }]
[thread.c]
steps = [{ call = [{ rt_mutex = "k", do = [{ sleep = "1ms" }, { mutex = "l", do = [{ busy = "1ms" }] }] }] }]
[thread.d]
steps = [{ sleep_until = "99ms" }, { busy = "50ms" }, { sleep = "1ms" }]
[thread.e]
steps = [{ sleep = "200ms" }, { futex = "m", do = [{ busy = "50ms" }] }]
[thread.f]
steps = [{ call = [{ read_lock = "w", do = [{ busy = "1ms" }] }] }, "yield"]
[[expect]]
deadlock = true
[[expect]]
thread = "f"
finishes_before = "a"
"#;

#[test]
fn a_deadlock_is_said_in_words() {
    let scenario = parse(ABBA);
    let takes_two = || call(span(0, None), &[span(0, 0), span(0, 1), span(1, None)]);
    let played = played(
        vec![
            vec![step(span(0, 0)), call(span(2, None), &[span(2, None)])],
            vec![takes_two()],
            vec![takes_two()],
            vec![step(span(0, 99)), step(span(99, None))],
            vec![step(span(0, None))],
            vec![call(span(0, 1), &[span(0, 0), span(0, 1), span(1, 1)])],
        ],
        vec![],
    );
    let outcome = outcome(&scenario, &played).unwrap();
    let stuck: Vec<String> = outcome
        .threads
        .iter()
        .map(|thread| thread.stuck.as_ref().map_or_else(String::new, ToString::to_string))
        .collect();
    assert_eq!(
        stuck,
        [
            "in step 2: waits for the mutex l, which b holds",
            "in step 1: waits for the rt_mutex k, which c holds",
            "in step 1: waits for the mutex l, which b holds",
            "in step 2: waits for a CPU or is not done with it",
            "in step 1: sleeps",
            "before step 2: waits for a CPU or is not done with it",
        ]
    );
    // b waits for c from 1 ms to the end, and no thread can have held the futex before a.
    let blocked: Vec<u64> = outcome.threads.iter().map(|thread| thread.blocked_ns() / MS).collect();
    assert_eq!(blocked, [98, 99, 99, 0, 0, 0]);
    let cycles: Vec<String> = outcome.cycles.iter().map(ToString::to_string).collect();
    assert_eq!(
        cycles,
        ["b waits for the rt_mutex k, which c holds; c waits for the mutex l, which b holds"]
    );
    let checked = check(&scenario, &outcome, Model::Full, "6.12");
    assert_eq!(checked.iter().map(|checked| checked.met).collect::<Vec<_>>(), [true, false]);
    assert!(serde_json::to_string(&outcome).unwrap().contains("\"class\":\"rt_mutex\""));
}

#[test]
fn readers_do_not_keep_each_other_from_a_lock() {
    let scenario = parse(
        r#"
[thread.r]
steps = [{ call = [{ read_lock = "w", do = [{ busy = "90ms" }, { busy = "90ms" }] }] }]
[thread.w]
steps = [{ call = [{ write_lock = "w", do = [{ busy = "1ms" }] }] }]
[thread.s]
steps = [{ call = [{ read_lock = "w", do = [{ busy = "1ms" }] }] }]
"#,
    );
    let waits = || vec![call(span(1, None), &[span(1, None)])];
    let holds = vec![call(span(0, None), &[span(0, 0), span(0, None)])];
    let outcome = outcome(&scenario, &played(vec![holds, waits(), waits()], vec![])).unwrap();
    let stuck = |thread: usize| outcome.threads[thread].stuck.clone().unwrap();
    assert_eq!(stuck(0).on, StuckOn::Cpu);
    assert_eq!(stuck(1).holders, ["r"]);
    assert!(stuck(2).holders.is_empty());
    assert!(outcome.cycles.is_empty());
}

#[test]
fn what_cannot_be_the_scenario_is_refused() {
    type Change = fn(&mut Played);
    let changes: [(Change, &str); 15] = [
        (|p| p.format = 2, "format 2"),
        (|p| p.end_ns = 1, "ended before it started"),
        (|p| p.threads.truncate(1), "1 threads"),
        (|p| p.interrupts.clear(), "0 interrupt lines"),
        (|p| p.threads[0].steps.push(step(span(50, 51))), "3 steps of 2"),
        (|p| p.threads[0].steps[0].begin_ns = 5, "step 1 begins before its time"),
        (|p| p.threads[0].steps[1].end_ns = Some(5), "step 2 ends before it begins"),
        (|p| p.threads[0].steps[0].end_ns = None, "the one before it never ended"),
        (|p| p.threads[0].steps[0].operations.push(span(0, 0)), "1 operations of 0"),
        (|p| p.threads[1].steps[1].operations.truncate(1), "1 operations where 2"),
        (|p| p.threads[1].steps[1].operations[1].end_ns = None, "ended before its operations"),
        (|p| p.threads[1].steps[1].operations[1] = span(22, 90), "ended before its operations"),
        (|p| p.interrupts[0][1].fired_ns = START_NS, "event 2 fires before its time"),
        (|p| p.interrupts[0][1].work = Some(span(22, 22)), "the line has not got"),
        (|p| p.interrupts[0][1].hard = Some(span(1, 22)), "before its time"),
    ];
    let scenario = demo();
    for (change, message) in changes {
        let mut played = demo_played(6);
        change(&mut played);
        let error = outcome(&scenario, &played).unwrap_err();
        assert!(error.to_string().contains(message), "{message}: {error}");
    }
}

fn any_span() -> impl Strategy<Value = Span> {
    (any_ns(), proptest::option::of(any_ns()))
        .prop_map(|(begin_ns, end_ns)| Span { begin_ns, end_ns })
}

fn any_ns() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), 0..30_u64, Just(u64::MAX), any::<u64>()]
}

fn any_step() -> impl Strategy<Value = PlayedStep> {
    (any_span(), proptest::collection::vec(any_span(), 0..4))
        .prop_map(|(span, operations)| PlayedStep { operations, ..step(span) })
}

fn any_event() -> impl Strategy<Value = PlayedEvent> {
    let part = || proptest::option::of(any_span());
    (any_ns(), part(), part(), part(), part()).prop_map(
        |(fired_ns, hard, threaded, softirq, work)| PlayedEvent {
            fired_ns,
            hard,
            threaded,
            softirq,
            work,
        },
    )
}

/// Returns steps that follow each other as they must, and end anywhere. Their operations are those
/// of the script, so that the code after the validation is reached.
fn plausible(scenario: &Scenario, ns: &[u64], cuts: &[usize]) -> Played {
    let mut ns = ns.iter().copied().cycle();
    let mut next = move |clock: &mut u64| {
        let begin_ns = *clock;
        *clock = clock.saturating_add(ns.next().unwrap_or(0));
        (begin_ns, *clock)
    };
    let threads = scenario.script().threads.iter().zip(cuts.iter().cycle()).map(|(thread, cut)| {
        let mut clock = START_NS;
        let mut steps = Vec::new();
        let mut left = *cut;
        for step in &thread.steps {
            if left == 0 {
                break;
            }
            left -= 1;
            let begin_ns = clock;
            let mut operations = Vec::new();
            let of_step = if let Step::Call(operations) = step { operations.len() } else { 0 };
            for _ in 0..of_step {
                if left == 0 {
                    break;
                }
                left -= 1;
                let (begin_ns, end_ns) = next(&mut clock);
                operations.push(Span { begin_ns, end_ns: (left > 0).then_some(end_ns) });
            }
            let is_over = operations.len() == of_step && left > 0;
            let end_ns = is_over.then(|| next(&mut clock).1);
            steps.push(PlayedStep { begin_ns, end_ns, operations });
            if end_ns.is_none() {
                break;
            }
        }
        steps
    });
    let interrupts = vec![Vec::new(); scenario.script().interrupts.len()];
    played(threads.collect(), interrupts)
}

fn look_at_everything(scenario: &Scenario, outcome: &Outcome) {
    for model in Model::ALL {
        for checked in check(scenario, outcome, model, "6.1") {
            assert!(!checked.to_string().is_empty());
        }
    }
    let column = |model| Column { model, outcome, counts: None };
    assert_eq!(score(&[column(Model::None), column(Model::Rt)])[0].to_string(), "");
    for cycle in &outcome.cycles {
        assert!(cycle.links.len() > 1, "{cycle}");
    }
    serde_json::to_string(outcome).unwrap();
}

proptest! {
    /// Any report of a guest is an outcome or an error.
    #[test]
    fn no_guest_is_too_much(
        threads in proptest::collection::vec(proptest::collection::vec(any_step(), 0..4), 2),
        events in proptest::collection::vec(any_event(), 0..4),
        start_ns in any_ns(),
        end_ns in any_ns(),
    ) {
        let scenario = demo();
        let played = Played { start_ns, end_ns, ..played(threads, vec![events]) };
        if let Ok(outcome) = outcome(&scenario, &played) {
            look_at_everything(&scenario, &outcome);
        }
    }

    /// A report in order has an outcome, wherever each thread stops.
    #[test]
    fn what_is_in_order_has_an_outcome(
        ns in proptest::collection::vec(prop_oneof![0..3 * MS, Just(u64::MAX)], 1..20),
        cuts in proptest::collection::vec(0..12_usize, 6),
    ) {
        let scenario = parse(ABBA);
        let played = plausible(&scenario, &ns, &cuts);
        let outcome = outcome(&scenario, &played).unwrap();
        look_at_everything(&scenario, &outcome);
        for (thread, played) in outcome.threads.iter().zip(&played.threads) {
            prop_assert_eq!(thread.finished_ns.is_none(), thread.stuck.is_some());
            prop_assert!(thread.stuck.as_ref().is_none_or(|stuck| stuck.step <= played.steps.len() + 1));
        }
    }
}

/// A thread that comes to a period after its time is late from that time on, and not from when it
/// came.
#[test]
fn a_period_that_begins_late_is_late() {
    let scenario = Scenario::parse(include_str!("cases/late-period.toml")).unwrap();
    let server =
        vec![step(span(0, 17)), step(span(17, 18)), step(span(18, 18)), step(span(18, 19))];
    let client = vec![step(span(0, 9)), step(span(9, 17))];
    let threads = scenario.script().threads.iter().map(|thread| match thread.name.as_str() {
        "server" => server.clone(),
        _ => client.clone(),
    });
    let outcome = outcome(&scenario, &played(threads.collect(), vec![])).unwrap();
    let server = outcome.threads.iter().find(|thread| thread.name == "server").unwrap();
    let waits: Vec<_> = server.waits.iter().map(|wait| (wait.due_ns, wait.latency_ns)).collect();
    assert_eq!(waits, [(Some(10 * MS), Some(7 * MS)), (Some(15 * MS), Some(3 * MS))]);
    let checked = check(&scenario, &outcome, Model::Full, "6.12");
    assert_eq!(
        checked.iter().map(|it| (it.met, it.to_string())).collect::<Vec<_>>(),
        [(false, "server latency (wait 2): expected at most 100 us, found 3 ms".to_owned())]
    );
}
