//! Time that is stolen from virtual CPUs: it is what the profile says, a cause of its own, and the same again.

use crate::common::{Desk, Finished};
use serde_json::Value;

/// Gaps in a second of each CPU, and their length.
const PER_S: f64 = 800.0;
const LENGTH_NS: u64 = 150_000;

/// Measures a real-time task beside hackbench on two CPUs with a trace; the machine's profile is that of tests.
fn record(desk: &Desk, name: &str, is_stolen: bool) {
    let fixture = include_str!("../../lab/tests/prices/fixture.toml");
    let (prices, _) = fixture.split_once("[stolen]").unwrap();
    let lengths = vec![LENGTH_NS.to_string(); 16].join(", ");
    desk.write(
        "stolen.toml",
        &format!("{prices}[stolen]\nper_s = {PER_S}\nlengths_ns = [{lengths}]\n"),
    );
    desk.write(
        &format!("{name}.toml"),
        &format!(
            "format = 1\nname = \"stolen\"\n[factors]\nkernel = [\"debian:6.12\"]\npreempt = [\"full\"]\ncpus = [2]\n\
             [machine]\ncost = \"stolen.toml\"\nstolen = {is_stolen}\n[replicates]\ncount = 1\n\
             [workload.hackbench]\nkind = \"cyclictest-hackbench\"\nwindow = \"150ms\"\n"
        ),
    );
    let file = format!("{name}.toml");
    let arguments = ["run", &file, "--trace", "--out", name];
    Finished::new(desk.lasting_command(&arguments).output().unwrap()).succeeds();
}

fn json(desk: &Desk, arguments: &[&str]) -> Value {
    let finished = Finished::new(desk.lasting_command(arguments).output().unwrap());
    serde_json::from_str(&finished.succeeds().stdout).unwrap()
}

/// Returns the length and the causes of the timeline of each of the worst wakeups.
fn wakeups(desk: &Desk, name: &str) -> Vec<(u64, Vec<(String, u64)>)> {
    let document = json(desk, &["explain", name, "--worst", "40", "--format", "json"]);
    let wakeups = document["worst"].as_array().unwrap_or_else(|| panic!("{document}"));
    let of = |wakeup: &Value| {
        let segments = wakeup["segments"].as_array().unwrap_or_else(|| panic!("{wakeup}"));
        let segment = |segment: &Value| {
            let ns = |key: &str| segment[key].as_u64().unwrap();
            (segment["cause"].as_str().unwrap().to_owned(), ns("end_ns") - ns("start_ns"))
        };
        let segments: Vec<(String, u64)> = segments.iter().map(segment).collect();
        (segments.iter().map(|(_, ns)| ns).sum(), segments)
    };
    wakeups.iter().map(of).collect()
}

#[test]
fn stolen_time_is_a_cause_of_its_own_and_the_same_again() {
    let desk = Desk::new();
    record(&desk, "without", false);
    record(&desk, "with", true);
    let stolen = |name: &str| {
        let wakeups = wakeups(&desk, name);
        let of = |(latency_ns, segments): &(u64, Vec<(String, u64)>)| {
            let stolen = segments.iter().filter(|(cause, _)| cause == "stolen");
            (*latency_ns, stolen.map(|(_, ns)| *ns).sum::<u64>())
        };
        wakeups.iter().map(of).collect::<Vec<_>>()
    };
    assert!(stolen("without").iter().all(|(_, stolen_ns)| *stolen_ns == 0));
    // A wakeup comes into a gap with a probability of one eighth, and so do more than 40 of 500. Some wait for a lock whose
    // owner has lost its CPU.
    let with = stolen("with");
    let mostly = with.iter().filter(|(latency_ns, stolen_ns)| stolen_ns * 2 > *latency_ns).count();
    assert!(mostly >= 30, "{with:?}");
    assert!(with.iter().all(|(_, stolen_ns)| *stolen_ns <= 2 * LENGTH_NS), "{with:?}");
    let said = Finished::new(desk.lasting_command(&["explain", "with"]).output().unwrap());
    assert!(said.succeeds().stdout.contains("time was stolen"), "{said:?}");
    let again = Finished::new(desk.lasting_command(&["verify", "with"]).output().unwrap());
    assert!(again.succeeds().stdout.contains("1 same"), "{again:?}");
}
