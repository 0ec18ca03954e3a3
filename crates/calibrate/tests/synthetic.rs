//! Fits of machines that were made up.

use std::fmt::Write;

use preemptlab_calibrate::{
    CalibrateError, Calibration, Counted, Found, Pass, PricedClass, Times, calibrate,
};
use preemptlab_model::Arch;
use preemptlab_protocol::{counts::Counts, prices::Class};

/// Operations of a repetition.
const OPERATIONS: u64 = 1000;

/// Returns the cost of a class on the machine, in nanoseconds. Costs differ from each other and
/// from the priors.
fn cost_ns(class: Class) -> f64 {
    let assumed = match class {
        Class::Syscall | Class::Sysret => 30.0,
        Class::Cr3 => 200.0,
        Class::Locked => 3.0,
        Class::Vector => 0.2,
        _ => 0.2,
    };
    assumed * [0.6, 1.0, 1.5, 2.0][class.index() % 4]
}

/// Classes that the benchmarks execute.
const EXECUTED: [Class; 8] = [
    Class::UserPlain,
    Class::KernelPlain,
    Class::UserMemory,
    Class::KernelMemory,
    Class::Locked,
    Class::Vector,
    Class::Syscall,
    Class::Cr3,
];

/// Returns benchmarks, each of which executes much of one class and something of the others.
fn benchmarks() -> Vec<(String, Counts)> {
    let number = |seed: u64| seed.wrapping_mul(6_364_136_223_846_793_005) >> 58;
    let mixed = |at: usize| {
        let of = |(index, class): (usize, &Class)| {
            let most = if index == at % EXECUTED.len() { 2_000.0 } else { 20.0 };
            let count = most * (1 + number((at * 31 + index) as u64)) as f64;
            // Dear classes are executed less often.
            (*class, (count / cost_ns(*class)).ceil() as u64 * OPERATIONS)
        };
        (format!("mixed-{at}"), EXECUTED.iter().enumerate().map(of).collect())
    };
    (0..32).map(mixed).collect()
}

fn machine_ns(counts: &Counts) -> f64 {
    counts.iter().map(|(class, count)| *count as f64 * cost_ns(*class)).sum()
}

/// Fits the machine's times of these benchmarks; it is slower by a factor in some.
fn fitted(benchmarks: &[(String, Counts)], slower: impl Fn(&str) -> f64) -> Calibration {
    let (mut timed, mut printed, mut counted) = (String::new(), String::new(), String::new());
    for (name, counts) in benchmarks {
        let ns = (machine_ns(counts) * slower(name)) as u64;
        writeln!(timed, "{name} {OPERATIONS} {ns} {ns}").unwrap();
        writeln!(printed, "{name} {OPERATIONS}").unwrap();
        writeln!(counted, "{}", serde_json::to_string(counts).unwrap()).unwrap();
    }
    let mut times = Times::default();
    (0..2).for_each(|_| times.add(Pass::parse(&timed).unwrap()));
    calibrate(Arch::Amd64, &times, &Counted::parse(&printed, &counted).unwrap()).unwrap()
}

fn of(calibration: &Calibration, class: Class) -> PricedClass {
    calibration.classes[class.index()]
}

#[test]
fn what_instructions_cost_is_found_again() {
    let calibration = fitted(&benchmarks(), |_| 1.0);
    for class in EXECUTED {
        let found = of(&calibration, class);
        let ratio = found.cost_ns / cost_ns(class);
        assert_eq!(found.found, Found::Fitted, "{class}");
        assert!((0.9..1.1).contains(&ratio), "{class}: {} is {ratio} of what it is", found.cost_ns);
    }
    let errors = calibration.errors(false);
    assert_eq!(errors.benchmarks, 32);
    assert!(errors.mean_percent <= 3 && errors.max_percent <= 10, "{errors:?}");
}

#[test]
fn what_no_benchmark_executes_is_assumed_and_named() {
    let calibration = fitted(&benchmarks(), |_| 1.0);
    let undetermined = calibration.undetermined();
    assert_eq!(undetermined.len(), Class::X86_64.len() - EXECUTED.len());
    assert!(EXECUTED.iter().all(|class| !undetermined.contains(class)));
    assert_eq!(of(&calibration, Class::Wrmsr).cost_ns, 200.0);
    assert_eq!(of(&calibration, Class::Halt).cost_ns, 3000.0);
}

#[test]
fn what_is_held_out_changes_no_price() {
    let mut benchmarks = benchmarks();
    let counts = benchmarks[3].1.clone();
    benchmarks.push(("sort".to_owned(), counts));
    let right = fitted(&benchmarks, |_| 1.0);
    let wrong = fitted(&benchmarks, |name| if name == "sort" { 10.0 } else { 1.0 });
    assert_eq!(wrong.prices, right.prices);
    assert_eq!(wrong.errors(true).benchmarks, 1);
    assert!(right.errors(true).max_percent <= 10, "{:?}", right.errors(true));
    assert!(wrong.errors(true).max_percent > 700, "{:?}", wrong.errors(true));
}

#[test]
fn prices_are_256_to_a_nanosecond() {
    let calibration = fitted(&benchmarks(), |_| 1.0);
    for PricedClass { class, cost_ns, price, .. } in &calibration.classes {
        let exact = (cost_ns * 256.0).max(1.0);
        assert!((f64::from(price.get()) - exact).abs() <= 0.5, "{class}: {price:?}, not {exact}");
        assert_eq!(calibration.prices.of(*class), *price);
    }
}

#[test]
fn machine_and_guest_execute_the_same() {
    let mut times = Times::default();
    times.add(Pass::parse("a 1 2 3\nb 1 2 3\n").unwrap());
    let counted = Counted::parse("a 1\n", "{\"halt\":1}\n").unwrap();
    let refused = calibrate(Arch::Amd64, &times, &counted).unwrap_err();
    assert!(matches!(refused, CalibrateError::Different(ref names) if names == "b"), "{refused}");
}
