//! A blind test of `preemptlab gate`: kernels with slowdowns and preempt-off sections of known size,
//! and equal kernels with another layout. Prints the table of docs/gate.md.
//!
//! The gate is told two commits and nothing else. Commits, kernels and cells follow from the seed, so
//! an interrupted test continues where it was, and one with more trials executes only the new ones.
//!
//! | variable | default | |
//! |---|---|---|
//! | `PREEMPTLAB_GATE_TRIALS` | 1 | trials of each kind |
//! | `PREEMPTLAB_GATE_KINDS` | all | kinds, with commas: `slower-3,section-20,layout` |
//! | `PREEMPTLAB_GATE_SEED` | 1 | another one makes other trials |

#![allow(missing_docs, clippy::print_stdout, reason = "a benchmark is a program of its own")]

#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../tests/source/mod.rs"]
mod source;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;
use source::{Change, HOT, Hot, Source, random};

/// Calls of a function between two sections: some 60 of them a second, so that those of 100 us cost less
/// than 1 % of the throughput.
const EVERY: u32 = 20_000;

/// Time of a message, in nanoseconds, per cent of which a slowdown takes. It is measured first.
type MessageNs = f64;

/// Change to a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Messages take this many per cent longer.
    Slower(u32),
    /// A function keeps preemption off for this number of microseconds.
    Section(u64),
    /// Nothing but another layout.
    Layout,
}

const KINDS: [Kind; 7] = [
    Kind::Slower(1),
    Kind::Slower(3),
    Kind::Slower(10),
    Kind::Section(5),
    Kind::Section(20),
    Kind::Section(100),
    Kind::Layout,
];

impl Kind {
    fn name(self) -> String {
        match self {
            Self::Slower(percent) => format!("slower-{percent}"),
            Self::Section(us) => format!("section-{us}"),
            Self::Layout => "layout".to_owned(),
        }
    }

    fn words(self) -> String {
        match self {
            Self::Slower(percent) => format!("{percent}% longer per message"),
            Self::Section(us) => format!("{us} us with preemption off"),
            Self::Layout => "another layout".to_owned(),
        }
    }
}

/// One kernel that is judged.
struct Trial {
    kind: Kind,
    number: u32,
    at: Hot,
    random: u64,
}

/// The gate's answer about a trial.
struct Said {
    verdict: String,
    /// Functions whose sections make the kernel worse.
    functions: Vec<String>,
    /// Change of the throughput, a share.
    throughput: Option<f64>,
    cells: u64,
    cpu_s: f64,
}

fn main() {
    let number = |name: &str, default| {
        let text = env::var(name).ok();
        text.map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text}")))
    };
    let trials: u32 = number("PREEMPTLAB_GATE_TRIALS", 1);
    let seed: u32 = number("PREEMPTLAB_GATE_SEED", 1);
    let kinds = env::var("PREEMPTLAB_GATE_KINDS").ok();
    let kinds: Vec<Kind> = match &kinds {
        None => KINDS.to_vec(),
        Some(names) => names
            .split(',')
            .map(|name| KINDS.into_iter().find(|kind| kind.name() == name).expect(name))
            .collect(),
    };

    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let source = Source::open(folder);
    let runs = folder.join("bench-gate");
    fs::create_dir_all(&runs).expect("a folder");
    let message_ns = message_ns(&source, &runs);
    println!("A message takes {:.2} us of virtual time.\n", message_ns / 1e3);

    let mut all = Vec::new();
    for number in 0..trials {
        for kind in &kinds {
            let random = random(&(seed, kind.name(), number));
            let at = HOT[random as usize % HOT.len()];
            all.push(Trial { kind: *kind, number, at, random });
        }
    }
    // The order tells nothing of the kind either. Trials of one number share the base's seeds.
    all.sort_by_key(|trial| (trial.number, trial.random));
    let mut done = Vec::new();
    for trial in all {
        let said = judged(&source, &runs, &trial, message_ns);
        println!("{}", line(&trial, &said));
        done.push((trial, said));
    }
    println!("\n{}", table(&kinds, &done));
}

/// Measures how long a message takes on the base.
fn message_ns(source: &Source, runs: &Path) -> MessageNs {
    let (base, again) = (source.base(), Change::Layout { seed: 0 });
    let again = source.commit("trial", &base, "trial", &again);
    let (gate, _) = gate(source, &base, &again, 1, &runs.join("base"));
    1e9 / throughput(&gate)["base"].as_f64().expect("messages a second")
}

/// Commits a trial's kernel and lets the gate judge it.
fn judged(source: &Source, runs: &Path, trial: &Trial, message_ns: MessageNs) -> Said {
    let at = trial.at;
    let change = match trial.kind {
        Kind::Slower(percent) => {
            let ns = message_ns * f64::from(percent) / 100.0;
            Change::Slower { at, ns: ns.round() as u64 }
        }
        Kind::Section(us) => Change::Section { at, ns: us * 1000, every: EVERY },
        Kind::Layout => Change::Layout { seed: trial.random },
    };
    let base = source.base();
    // Nothing in the commit's name tells its kind.
    let commit = source.commit("trial", &base, "trial", &change);
    // Two trials may put the same change into the same function, at other seeds.
    let out = runs.join(format!("{}-{}", &commit[..12], trial.number));
    let (gate, cpu_s) = gate(source, &base, &commit, 1 + 1000 * trial.number, &out);
    let sections = gate["sections"].as_array().into_iter().flatten();
    let worse = sections.filter(|section| section["is_worse"] == true);
    Said {
        verdict: gate["verdict"].as_str().unwrap_or_default().to_owned(),
        functions: worse.filter_map(|of| Some(of["function"].as_str()?.to_owned())).collect(),
        throughput: throughput(&gate)["change"].as_f64(),
        cells: gate["cells"].as_u64().unwrap_or_default(),
        cpu_s,
    }
}

fn throughput(gate: &Value) -> &Value {
    let mut rows = gate["rows"].as_array().into_iter().flatten();
    rows.find(|row| row["metric"] == "throughput").unwrap_or(&Value::Null)
}

/// Compares two commits. Returns the document, and the seconds of the processor that it took.
fn gate(source: &Source, base: &str, new: &str, seed: u32, out: &PathBuf) -> (Value, f64) {
    let before = children_cpu_s();
    let output = Command::new(env!("CARGO_BIN_EXE_preemptlab"))
        .args(["gate", &source.kernel(base), &source.kernel(new), "--format", "json"])
        .args(["--seed", &seed.to_string(), "--out"])
        .arg(out)
        .stderr(Stdio::inherit())
        .output()
        .expect("the binary");
    let cpu_s = children_cpu_s() - before;
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 1 | 3)), "the gate failed with {code:?}");
    let gate: Value = serde_json::from_slice(&output.stdout).expect("a document");
    // A kernel that does not build does not count as a regression.
    assert!(gate["failures"].as_array().is_some_and(Vec::is_empty), "{}", gate["failures"]);
    (gate, cpu_s)
}

/// Returns the processor time of the children that have ended (proc_pid_stat(5): cutime and cstime).
fn children_cpu_s() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("it");
    let behind_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = behind_name.split_whitespace().skip(13).take(2);
    ticks.map(|ticks| ticks.parse::<f64>().expect("a number")).sum::<f64>() / 100.0
}

fn line(trial: &Trial, said: &Said) -> String {
    let percent = said.throughput.map_or("-".to_owned(), |of| format!("{:+.2}%", of * 100.0));
    format!(
        "{} #{} in {}: {}; throughput {percent}; sections: {}; {} cells, {:.0} s",
        trial.kind.name(),
        trial.number,
        if trial.kind == Kind::Layout { "all" } else { trial.at.function },
        said.verdict,
        if said.functions.is_empty() { "-".to_owned() } else { said.functions.join(", ") },
        said.cells,
        said.cpu_s
    )
}

/// Returns the table of all trials.
fn table(kinds: &[Kind], done: &[(Trial, Said)]) -> String {
    let mut text =
        "| in the kernel | trials | worse | 95% interval | undecided | function named | \
                    throughput | cells | CPU time |\n|---|---|---|---|---|---|---|---|---|\n"
            .to_owned();
    for kind in kinds {
        let of: Vec<&(Trial, Said)> =
            done.iter().filter(|(trial, _)| trial.kind == *kind).collect();
        let count = |is: &dyn Fn(&Trial, &Said) -> bool| {
            of.iter().filter(|(trial, said)| is(trial, said)).count()
        };
        let mean = |value: &dyn Fn(&Said) -> f64| {
            of.iter().map(|(_, said)| value(said)).sum::<f64>() / of.len() as f64
        };
        let worse = count(&|_, said| said.verdict == "worse");
        let open = count(&|_, said| said.verdict == "undecided");
        let named = match kind {
            Kind::Section(_) => {
                let is = |trial: &Trial, said: &Said| {
                    said.functions.iter().any(|name| name == trial.at.function)
                };
                count(&is).to_string()
            }
            Kind::Slower(_) | Kind::Layout => "-".to_owned(),
        };
        let [low, high] = wilson(worse, of.len());
        text += &format!(
            "| {} | {} | {worse} | {:.0} to {:.0}% | {open} | {named} | {:+.2}% | {:.0} | {:.0} s |\n",
            kind.words(),
            of.len(),
            low * 100.0,
            high * 100.0,
            mean(&|said| said.throughput.unwrap_or(0.0)) * 100.0,
            mean(&|said| said.cells as f64),
            mean(&|said| said.cpu_s)
        );
    }
    text
}

/// Returns the 95 % interval of a probability (Wilson, Journal of the American Statistical Association
/// 22, 1927).
fn wilson(found: usize, all: usize) -> [f64; 2] {
    let (n, z) = (all as f64, 1.959_964);
    let share = found as f64 / n;
    let middle = share + z * z / (2.0 * n);
    let half = z * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    [middle - half, middle + half].map(|end| (end / (1.0 + z * z / n)).clamp(0.0, 1.0))
}
