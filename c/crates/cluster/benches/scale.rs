//! Prints how much of a cluster 10,000 cells use, by simulation with measured costs: `make bench-scale`.

#![allow(clippy::print_stdout, reason = "the table is what it is for")]

#[path = "scale/simulation.rs"]
mod simulation;

use simulation::{Cluster, Load, execute};

const CORES: [usize; 7] = [32, 64, 128, 256, 512, 768, 1000];

/// Share of the ideal that is wanted.
const AIM: f64 = 0.75;

fn main() {
    let load = Load { cells: 10_000, boots: 4, cell_s: 6.0, spread: 0.0 };
    let cluster = Cluster::measured(32);
    table("Slurm, a task in 0.02 s", &cluster, &load);
    table("  with 40 boots", &cluster, &Load { boots: 40, ..load });
    table("  with cells of 3 to 9 s", &cluster, &Load { spread: 0.5, ..load });
    table("Slurm, a task in 0.15 s", &Cluster { dispatch_s: 0.15, ..cluster }, &load);
    table("pods, a store each", &Cluster { shares_store: false, ..cluster }, &load);
}

fn table(title: &str, cluster: &Cluster, load: &Load) {
    println!("{title}: {} cells of {} s, {} boots", load.cells, load.cell_s, load.boots);
    println!("   cores   tasks    time   share   lost to: engine   store   boots     end");
    let mut knee = None;
    for cores in CORES {
        let outcome = execute(&Cluster { cores, ..*cluster }, load);
        let lost = outcome.lost;
        let [share, engine, store, boot, tail] =
            [outcome.share, lost.dispatch, lost.store, lost.boot, lost.tail]
                .map(|share| format!("{:.1} %", share * 100.0));
        println!(
            "  {cores:6} {:7} {:5.0} s {share:>7} {engine:>17} {store:>7} {boot:>7} {tail:>7}",
            outcome.tasks, outcome.end_s
        );
        if outcome.share < AIM && knee.is_none() {
            knee = Some((cores, lost.cause()));
        }
    }
    match knee {
        Some((cores, cause)) => {
            println!(
                "  less than {:.0} % from {cores} cores on: most is lost to {cause}",
                AIM * 100.0
            );
        }
        None => println!("  at least {:.0} % throughout", AIM * 100.0),
    }
}
