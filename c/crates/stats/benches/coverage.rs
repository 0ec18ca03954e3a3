//! Measures how often the intervals hold the truth of experiments whose truth is known, and how
//! often a difference is found where there is none. Prints the tables of docs/statistics.md.

#![allow(missing_docs, clippy::print_stdout, reason = "a benchmark is a program of its own")]

use preemptlab_model::{
    BackendKind, Direction, Factors, MeasuredCell, Metric, PreemptMode, Settings,
};
use preemptlab_stats::{Looks, MedianBootstrap, Rule, Share, Verdict, compare};
use rand_distr::{Distribution, LogNormal, Normal, Pareto, StudentT};
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};

/// Experiments per number: the standard error of a coverage of 95 % is 0.15 points.
const EXPERIMENTS: usize = 20_000;

/// Experiments per number where each of them continues until it is decided.
const SEQUENCES: usize = 2_000;

/// Largest number of replicates of a sequence.
const REPLICATES_MAX: u32 = 120;

const REPLICATES: [u32; 17] = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 20, 25, 30, 50];

/// A distribution of positive values, and its median.
struct Known {
    name: &'static str,
    median: f64,
    draw: Box<dyn Fn(&mut Xoshiro256PlusPlus) -> f64>,
}

fn known() -> Vec<Known> {
    let normal = Normal::new(10.0, 1.0).unwrap();
    let log_normal = LogNormal::new(0.0, 0.5).unwrap();
    let pareto = Pareto::new(1.0, 1.5).unwrap();
    let student = StudentT::new(3.0).unwrap();
    vec![
        Known {
            name: "normal, cv 10 %",
            median: 10.0,
            draw: Box::new(move |random| normal.sample(random)),
        },
        Known {
            name: "log-normal, sigma 0.5",
            median: 1.0,
            draw: Box::new(move |random| log_normal.sample(random)),
        },
        Known {
            name: "Student's t, 3 degrees",
            median: 50.0,
            draw: Box::new(move |random| f64::max(50.0 + student.sample(random), 0.01)),
        },
        Known {
            name: "Pareto, index 1.5",
            median: 2.0_f64.powf(1.0 / 1.5),
            draw: Box::new(move |random| pareto.sample(random)),
        },
    ]
}

fn main() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    coverage(&mut random);
    fixed(&mut random);
    sequences(&mut random);
}

fn sample(known: &Known, n: u32, random: &mut Xoshiro256PlusPlus) -> Vec<f64> {
    (0..n).map(|_| (known.draw)(random)).collect()
}

fn coverage(random: &mut Xoshiro256PlusPlus) {
    println!("Coverage of the 95 % intervals, of a median and of a ratio of two, in per cent:\n");
    let all = known();
    header(&all, "replicates");
    for n in REPLICATES {
        print!("| {n} |");
        for known in &all {
            let mut held = [0_u32; 2];
            for _ in 0..EXPERIMENTS {
                let [one, other] = [(); 2].map(|()| {
                    MedianBootstrap::new(&sample(known, n, random)).expect("it has values")
                });
                held[0] += u32::from(one.interval().contains(known.median));
                let ratio = one.ratio_interval(&other).expect("the values are positive");
                held[1] += u32::from(ratio.contains(1.0));
            }
            let percent = held.map(|held| f64::from(held) * 100.0 / EXPERIMENTS as f64);
            print!(" {:.1}, {:.1} |", percent[0], percent[1]);
        }
        println!();
    }
}

/// Measures how often a fixed number of replicates ends in `better` or `worse` although the medians
/// are equal: with equal distributions, and with one that is three times as wide.
fn fixed(random: &mut Xoshiro256PlusPlus) {
    println!("\nDifferences found where there is none, in per cent of single comparisons:");
    println!("equal distributions, and one spread three times as wide about the same median:\n");
    let all = known();
    header(&all, "replicates");
    for n in REPLICATES.into_iter().filter(|n| *n >= 5) {
        print!("| {n} |");
        for known in &all {
            let mut found = [0_u32; 2];
            for _ in 0..SEQUENCES {
                let one = sample(known, n, random);
                let other = sample(known, n, random);
                let wide: Vec<f64> =
                    other.iter().map(|v| known.median * (v / known.median).powi(3)).collect();
                for (found, other) in found.iter_mut().zip([&other, &wide]) {
                    let cells = cells(&one, other, 0, 0);
                    *found +=
                        u32::from(is_difference(verdict(&cells, Looks::One, Share::COMPARISON)));
                }
            }
            let percent = found.map(|found| f64::from(found) * 100.0 / SEQUENCES as f64);
            print!(" {:.1}, {:.1} |", percent[0], percent[1]);
        }
        println!();
    }
}

/// Measures the results of comparisons without a difference when replicates are added until they
/// are decided.
fn sequences(random: &mut Xoshiro256PlusPlus) {
    println!(
        "\nThe same with `--until`, from 5 to {REPLICATES_MAX} replicates: better or worse, same,"
    );
    println!("undecided at the end, in per cent, and the mean number of replicates:\n");
    let all = known();
    header(&all, "margin");
    for margin in ["1%", "5%", "20%"] {
        print!("| {margin} |");
        let margin: Share = margin.parse().expect("it is a margin");
        for known in &all {
            let (mut ends, mut replicates) = ([0_u32; 3], 0);
            for _ in 0..SEQUENCES {
                let (verdict, n) = sequence(known, margin, random);
                let end = match verdict {
                    Verdict::Better | Verdict::Worse => 0,
                    Verdict::WithinMargin | Verdict::WithinResolution => 1,
                    Verdict::Undecided { .. } => 2,
                };
                ends[end] += 1;
                replicates += n;
            }
            let [wrong, same, open] = ends.map(|n| f64::from(n) * 100.0 / SEQUENCES as f64);
            let mean = f64::from(replicates) / SEQUENCES as f64;
            print!(" {wrong:.1}, {same:.1}, {open:.1}; n = {mean:.0} |");
        }
        println!();
    }
}

fn sequence(known: &Known, margin: Share, random: &mut Xoshiro256PlusPlus) -> (Verdict, u32) {
    let (mut n, mut look, mut all) = (0, 0, Vec::new());
    let mut next = 5;
    loop {
        let (one, other) = (sample(known, next - n, random), sample(known, next - n, random));
        all.extend(cells(&one, &other, n, look));
        n = next;
        let verdict = verdict(&all, Looks::Any, margin);
        next = Looks::next(n);
        if verdict.is_decided() || next > REPLICATES_MAX {
            return (verdict, n);
        }
        look += 1;
    }
}

fn is_difference(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Better | Verdict::Worse)
}

fn verdict(cells: &[MeasuredCell], looks: Looks, margin: Share) -> Verdict {
    let rule = Rule { looks, margins: margin.into(), ..Rule::default() };
    let comparison = compare(cells, rule).expect("there is a baseline");
    let effect = comparison.groups[0].configurations[1].summaries[0].effect;
    effect.expect("both have values").verdict
}

/// Cells of two modes with these values, after `before` others.
fn cells(one: &[f64], other: &[f64], before: u32, look: u32) -> Vec<MeasuredCell> {
    let of = |mode: PreemptMode, values: &[f64]| -> Vec<MeasuredCell> {
        let cell = |(replicate, value): (u32, &f64)| MeasuredCell {
            look,
            ..MeasuredCell::new(
                BackendKind::Vm,
                Factors {
                    workload: "simulated".into(),
                    kernel: "debian:6.12".parse().expect("it is a name"),
                    preempt: mode,
                    machine: None,
                    cpus: 1,
                    settings: Settings::default(),
                    replicate,
                },
                Ok(vec![Metric {
                    name: "value".into(),
                    value: *value,
                    unit: "us".to_owned(),
                    direction: Direction::Lower,
                    resolution: 0.0,
                }]),
            )
        };
        (before + 1..).zip(values).map(cell).collect()
    };
    [of(PreemptMode::None, one), of(PreemptMode::Full, other)].concat()
}

fn header(all: &[Known], first: &str) {
    let names: Vec<&str> = all.iter().map(|known| known.name).collect();
    println!("| {first} | {} |", names.join(" | "));
    println!("|--:|{}", "--:|".repeat(all.len()));
}
