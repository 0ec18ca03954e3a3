//! Prices of two CPUs of machines that were made up.

use std::convert::Infallible;

use preemptlab_calibrate::{
    Calibration, Counted, Exchange, Figures, Found, PairPass, PairTimes, Pass, Solution, Times,
    calibrate, solve,
};
use preemptlab_model::Arch;
use preemptlab_protocol::prices::{Class, Prices};

/// What a kernel of two CPUs executes beside the interrupts and the halts, in nanoseconds.
const CALL_NS: u64 = 800;
const FUTEX_NS: u64 = 6_000;
const PIPE_NS: u64 = 9_000;

/// Returns a calibration that knows neither the interrupt of another CPU nor the halt.
fn assumed() -> Calibration {
    let mut times = Times::default();
    (0..2).for_each(|_| times.add(Pass::parse("a 1 100 100\n").unwrap()));
    calibrate(Arch::Amd64, &times, &Counted::parse("a 1\n", "{\"user_plain\":1000}\n").unwrap())
        .unwrap()
}

/// The output of the program where an interrupt and a halt have these costs. A CPU that is woken while it is about to
/// halt only loses what is left of the halt, so that a short halt costs nothing.
fn program(ipi_ns: f64, halt_ns: f64) -> String {
    let wakeups_ns = 2.0 * ipi_ns + (halt_ns - ipi_ns - 1_000.0).max(0.0);
    let [call, futex, pipe] =
        [CALL_NS as f64 + ipi_ns, FUTEX_NS as f64 + wakeups_ns, PIPE_NS as f64 + wakeups_ns]
            .map(|ns| ns.round() as u64 + 300);
    format!(
        "line-transfer 100 4000 4000 4000\ncall-alone 1 300 300 300\ncall-other 1 {call} {call} {call}\n\
         futex-between 1 {futex} {futex} {futex}\npipe-between 1 {pipe} {pipe} {pipe}\n"
    )
}

fn machine(passes: &[String]) -> Figures {
    let mut times = PairTimes::default();
    passes.iter().for_each(|text| times.add(PairPass::parse(text).unwrap()));
    Figures::of_machine(&times)
}

/// Solves for a machine, and returns how many executions it took.
fn solved(calibration: &Calibration, machine: &Figures) -> (Solution, usize) {
    let mut executions = 0;
    let execute = |prices: &Prices| -> Result<Figures, Infallible> {
        executions += 1;
        let ns = |class| f64::from(prices.of(class).get()) / 256.0;
        let text = program(ns(Class::EntryIpi), ns(Class::Halt));
        Ok(Figures::of_guest(&PairPass::parse(&text).unwrap()))
    };
    let solution = solve(calibration, machine, execute).unwrap_or_else(|never| match never {});
    (solution, executions)
}

fn twice(ipi_ns: f64, halt_ns: f64) -> Figures {
    machine(&[program(ipi_ns, halt_ns), program(ipi_ns, halt_ns)])
}

#[test]
fn what_a_call_and_a_halt_cost_is_found_again() {
    let calibration = assumed();
    for (ipi_ns, halt_ns) in
        [(8_000.0, 15_000.0), (300.0, 2_500.0), (1_000.0, 4_000.0), (50.0, 40_000.0)]
    {
        let (solution, executions) = solved(&calibration, &twice(ipi_ns, halt_ns));
        let [(Class::EntryIpi, ipi), (Class::Halt, halt)] = solution.costs_ns[..] else {
            panic!("{ipi_ns} {halt_ns}: {:?}", solution.costs_ns)
        };
        assert!((ipi - ipi_ns).abs() < 0.05 * (ipi_ns + CALL_NS as f64), "{ipi} is not {ipi_ns}");
        assert!((halt - halt_ns).abs() < 0.1 * (halt_ns + 4_000.0), "{halt} is not {halt_ns}");
        assert!(executions <= 11, "{executions} executions");
        // The round trip by pipes took no part, and is predicted.
        for compared in &solution.compared {
            let ratio = compared.model_ns.unwrap() / compared.machine_ns.unwrap();
            assert!((0.95..1.05).contains(&ratio), "{:?}: {ratio}", compared.exchange);
            assert_eq!(compared.fitted.is_none(), compared.exchange == Exchange::Pipe);
        }
    }
}

#[test]
fn prices_of_a_profile_are_those_that_were_found() {
    let calibration = assumed();
    let before = calibration.prices.clone();
    let (solution, _) = solved(&calibration, &twice(8_000.0, 15_000.0));
    let calibration = calibration.with_solved(&solution.costs_ns);
    for (class, cost_ns) in &solution.costs_ns {
        let priced = calibration.classes.iter().find(|priced| priced.class == *class).unwrap();
        assert_eq!((priced.found, priced.cost_ns), (Found::Solved, *cost_ns));
        assert!(!calibration.undetermined().contains(class));
        let exact = cost_ns * 256.0;
        assert!((f64::from(calibration.prices.of(*class).get()) - exact).abs() <= 0.5, "{class}");
    }
    let others = |class: &Class| ![Class::EntryIpi, Class::Halt].contains(class);
    for class in Class::X86_64.iter().copied().filter(others) {
        assert_eq!(calibration.prices.of(class), before.of(class), "{class}");
    }
}

#[test]
fn what_a_module_has_measured_is_kept() {
    let mut calibration = assumed();
    for priced in &mut calibration.classes {
        priced.found = Found::Fitted;
    }
    let (solution, executions) = solved(&calibration, &twice(8_000.0, 15_000.0));
    assert_eq!((solution.costs_ns, executions), (Vec::new(), 1));
    assert!(solution.compared.iter().all(|compared| compared.fitted.is_none()));
}

#[test]
fn without_a_call_nothing_is_found() {
    let without = |text: String| {
        let line = text.lines().find(|line| line.starts_with("call-other")).unwrap().to_owned();
        text.replace(&line, "call-other error 38")
    };
    let machine = machine(&[program(8e3, 15e3), program(8e3, 15e3)].map(without));
    let (solution, executions) = solved(&assumed(), &machine);
    assert_eq!((solution.costs_ns, executions), (Vec::new(), 1));
    let call = solution.compared[0];
    assert_eq!((call.exchange, call.machine_ns), (Exchange::CallOther, None));
}

#[test]
fn a_wakeup_whose_time_does_not_come_again_gives_no_halt() {
    let (calibration, steady) = (assumed(), program(8e3, 15e3));
    let other = steady.replace("28300", "90300");
    assert_ne!(other, steady);
    let machine = machine(&[steady, other]);
    let (solution, _) = solved(&calibration, &machine);
    let classes: Vec<Class> = solution.costs_ns.iter().map(|(class, _)| *class).collect();
    assert_eq!(classes, [Class::EntryIpi]);
    assert!(calibration.with_solved(&solution.costs_ns).undetermined().contains(&Class::Halt));
}

#[test]
fn a_machine_that_no_price_reaches_keeps_what_was_assumed() {
    // Faster than the kernel of the guest is without any interrupt.
    let fast = program(0.0, 0.0).replace("1100", "700").replace("6300", "2000");
    let (solution, _) = solved(&assumed(), &machine(&[fast.clone(), fast]));
    assert_eq!(solution.costs_ns, []);
    // What it shows is what the profile's prices come to.
    let call = solution.compared[0];
    assert_eq!(call.model_ns, call.assumed_ns);
    // A call that is found, and a wakeup that is not.
    let late = program(8e3, 60e6);
    let (solution, _) = solved(&assumed(), &machine(&[late.clone(), late]));
    let classes: Vec<Class> = solution.costs_ns.iter().map(|(class, _)| *class).collect();
    assert_eq!(classes, [Class::EntryIpi]);
}

#[test]
fn a_halt_that_is_too_short_to_matter_is_assumed() {
    // The other CPU is at work for longer than the assumed 3 us, and than twice as much.
    let (calibration, machine) = (assumed(), twice(8_000.0, 1.0));
    let (solution, _) = solved(&calibration, &machine);
    let classes: Vec<Class> = solution.costs_ns.iter().map(|(class, _)| *class).collect();
    assert_eq!(classes, [Class::EntryIpi]);
    assert!(calibration.with_solved(&solution.costs_ns).undetermined().contains(&Class::Halt));
}
