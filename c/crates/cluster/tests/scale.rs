//! Tests of how much of a cluster a plan uses, by the simulation of `make bench-scale`.

#[path = "../benches/scale/simulation.rs"]
mod simulation;

use simulation::{Cluster, Load, execute};

const LOAD: Load = Load { cells: 10_000, boots: 4, cell_s: 6.0, spread: 0.0 };

#[test]
fn three_quarters_of_512_cores_execute_cells() {
    for boots in [1, 4, 40] {
        let outcome = execute(&Cluster::measured(512), &Load { boots, ..LOAD });
        assert!(outcome.share > 0.75, "{boots} boots: {outcome:?}");
    }
    // Between full waves of tasks the share falls little.
    for cores in (544..=992).step_by(64) {
        let outcome = execute(&Cluster::measured(cores), &LOAD);
        assert!(outcome.share > 0.6, "{cores} cores: {outcome:?}");
    }
    for cores in [32, 64, 128, 256] {
        for boots in [1, 4, 40] {
            let outcome = execute(&Cluster::measured(cores), &Load { boots, ..LOAD });
            assert!(outcome.share > 0.8, "{cores} cores, {boots} boots: {outcome:?}");
        }
    }
}

#[test]
fn the_time_of_cores_is_spent_on_cells_or_lost_to_a_cause() {
    let slow = Cluster { dispatch_s: 0.15, ..Cluster::measured(1000) };
    let pods = Cluster { shares_store: false, ..Cluster::measured(256) };
    for cluster in [Cluster::measured(32), slow, pods] {
        let outcome = execute(&cluster, &Load { spread: 0.5, ..LOAD });
        let lost = outcome.lost;
        let whole = outcome.share + lost.dispatch + lost.store + lost.boot + lost.tail;
        assert!((whole - 1.0).abs() < 1e-9, "{outcome:?}");
    }
    let cause = execute(&slow, &LOAD).lost.cause();
    assert!(cause.contains("one task after the other") || cause.contains("the last"), "{cause}");
}

#[test]
fn without_costs_cells_alone_take_time() {
    let free = Cluster { dispatch_s: 0.0, seed_s: 0.0, boot_s: 0.0, ..Cluster::measured(100) };
    let load = Load { boots: 1, ..LOAD };
    let outcome = execute(&free, &load);
    assert!((outcome.end_s - 600.0).abs() < 1e-9 && outcome.share == 1.0, "{outcome:?}");
    // Slurm arrays have no more tasks.
    assert!(outcome.tasks <= 1000, "{outcome:?}");
}
