//! How often `gate` finds a slowdown, and how often one that is none, by simulation: the table of
//! docs/gate.md. The noise is normal, so the rates are those of the method, and not of a kernel.

#![allow(clippy::print_stdout)]

use preemptlab_model::{
    BackendKind, Direction, Factors, MeasuredCell, Metric, PreemptMode, Settings,
};
use preemptlab_stats::{GateRule, GateVerdict, Looks, gate};
use rand_distr::{Distribution, Normal};
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};

/// Experiments for each number.
const EXPERIMENTS: u64 = 2_000;

/// Seeds of the first look, and of the last that the default budget of 60 cells allows.
const SEEDS: [u32; 2] = [6, 30];

fn cell(seed: u32, look: u32, throughput: f64) -> MeasuredCell {
    let metric = |name: &str, value, unit: &str, direction| Metric {
        name: name.into(),
        value,
        unit: unit.to_owned(),
        direction,
        resolution: 0.0,
    };
    MeasuredCell {
        look,
        sections: None,
        ..MeasuredCell::new(
            BackendKind::Vm,
            Factors {
                workload: "processes".to_owned(),
                machine: None,
                cpus: 1,
                preempt: PreemptMode::Full,
                settings: Settings::default(),
                kernel: "debian:6.12".parse().unwrap(),
                replicate: u64::from(seed) as u32,
            },
            Ok(vec![
                metric("throughput", throughput, "messages/s", Direction::Higher),
                metric("wakeup.fifo.p99", 57.0, "us", Direction::Lower),
            ]),
        )
    }
}

/// Returns the verdict of an experiment, and the number of its seeds.
fn experiment(number: u64, loss: f64, noise: f64) -> (GateVerdict, u32) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(number);
    let normal = Normal::new(0.0, noise).expect("a finite deviation");
    let mut draw = |loss: f64| 180_000.0 * (1.0 - loss) * (1.0 + normal.sample(&mut random));
    let rule = GateRule { looks: Looks::Any, ..GateRule::default() };
    let (mut base, mut new) = (Vec::new(), Vec::new());
    let [mut seeds, most] = SEEDS;
    for look in 0.. {
        for seed in base.len() as u32..seeds {
            base.push(cell(seed, look, draw(0.0)));
            new.push(cell(seed, look, draw(loss)));
        }
        let verdict = gate(["base", "new"], &base, &new, &rule).verdict;
        let next = Looks::next(seeds);
        if verdict != GateVerdict::Undecided || next > most {
            return (verdict, seeds);
        }
        seeds = next;
    }
    unreachable!("the looks end with the seeds")
}

fn main() {
    println!("| slower by | noise 1% | noise 1.5% | noise 2% |");
    println!("|--:|--:|--:|--:|");
    for loss in [0.0, 0.01, 0.03, 0.05, 0.10] {
        let columns = [0.01, 0.015, 0.02].map(|noise| {
            let all: Vec<(GateVerdict, u32)> =
                (0..EXPERIMENTS).map(|number| experiment(number, loss, noise)).collect();
            let share = |verdict: GateVerdict| {
                let count = all.iter().filter(|(of, _)| *of == verdict).count();
                count as f64 / EXPERIMENTS as f64 * 100.0
            };
            let seeds: u32 = all.iter().map(|(_, seeds)| seeds).sum();
            format!(
                "{:.1}, {:.1}, {:.1}; n = {:.0}",
                share(GateVerdict::Worse),
                share(GateVerdict::NoWorse),
                share(GateVerdict::Undecided),
                f64::from(seeds) / EXPERIMENTS as f64
            )
        });
        println!("| {}% | {} |", loss * 100.0, columns.join(" | "));
    }
}
