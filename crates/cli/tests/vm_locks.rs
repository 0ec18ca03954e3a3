//! What several CPUs do with one lock and with each other's memory: nothing that is impossible.

use std::fs;

use crate::common::{Desk, Finished, median};
use serde_json::Value;

/// Runs `studies/smp` once on so many CPUs, with the prices of `server-x86`, and returns the metrics.
fn measure(desk: &Desk, cpus: u32, caches: bool) -> impl Fn(&str) -> f64 + use<> {
    if !desk.path("smp").exists() {
        fs::create_dir(desk.path("smp")).unwrap();
        desk.write("smp/smp.c", include_str!("../../../studies/smp/smp.c"));
        desk.write("smp/workload.toml", include_str!("../../../studies/smp/workload.toml"));
    }
    let name = format!("on-{cpus}-{caches}");
    let file = format!("{name}.toml");
    desk.write(
        &file,
        &format!(
            "format = 1\nname = \"smp\"\n[factors]\nkernel = [\"debian:6.12\"]\npreempt = [\"full\"]\n\
             cpus = [{cpus}]\n[machine]\ncaches = {caches}\n[replicates]\ncount = 1\n\
             [workload.smp]\nkind = \"folder\"\npath = \"smp\"\n"
        ),
    );
    let finished =
        |arguments: &[&str]| Finished::new(desk.lasting_command(arguments).output().unwrap());
    finished(&["run", &file, "--out", &name]).succeeds();
    let compared = finished(&["compare", &name, "--format", "json"]);
    let document: Value = serde_json::from_str(&compared.succeeds().stdout).unwrap();
    let configuration = document["groups"][0]["configurations"][0].clone();
    move |metric| median(&configuration, metric)
}

/// No lock lets its threads do more than each does alone, and no two are inside at a time. Where lines
/// move at a price, nobody sees a time that is later than its own.
fn check(cpus: u32, caches: bool) {
    let desk = Desk::new();
    let median = measure(&desk, cpus, caches);
    for lock in
        ["spinlock_two", "spinlock_all", "ticket_two", "ticket_all", "mutex_two", "mutex_all"]
    {
        let of_bound = median(lock);
        assert!(
            of_bound > 0.0 && of_bound <= 1.0,
            "{lock} on {cpus} CPUs: {of_bound} of its bound"
        );
    }
    let scaling = median("scaling") / f64::from(cpus);
    assert!((0.95..1.05).contains(&scaling), "{scaling} for each CPU");
    if caches {
        assert_eq!(median("backward_share").to_bits(), 0, "time goes back");
    }
}

#[test]
#[ignore = "takes long: a part of make nightly"]
fn two_cpus_share_a_lock() {
    check(2, false);
}

#[test]
fn two_cpus_share_a_lock_whose_line_moves() {
    check(2, true);
}

#[test]
#[ignore = "takes long: a part of make nightly"]
fn eight_cpus_share_a_lock() {
    check(8, false);
    check(8, true);
}
