//! The figures that the README names: identity, the cost of a fork, the share of QEMU, memory.
//!
//! `make bench` runs it on `studies/quick.toml`. The number of repetitions of each of the four
//! identity rounds (one and two jobs, idle and busy machine) is its argument; 5 by default, which
//! makes 20 executions of every cell and takes an hour or two; 0 leaves the rounds out.

#![allow(missing_docs, clippy::print_stdout, reason = "a benchmark is a program of its own")]

mod common;

use std::{
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{Duration, Instant},
};

use common::{children_cpu, prepare};
use preemptlab_experiment::{Derived, RecordingWriter};
use preemptlab_model::CellInputs;
use preemptlab_runner::{Backend, Cancel, Event, run, verify};

fn main() {
    let rounds = std::env::args().find_map(|argument| argument.parse().ok()).unwrap_or(5);
    let prepared = prepare();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let writer = RecordingWriter::open(folder.path(), &prepared.manifest).expect("a recording");
    let options = preemptlab_runner::Options {
        jobs: 2,
        cache: None,
        retry_failed: false,
        traces: None,
        order: preemptlab_runner::Order::Planned,
        only: None,
    };
    let (vm, cancel) = (prepared.vm(), Cancel::default());

    let (started, before) = (Instant::now(), children_cpu());
    let memory = Memory::default();
    let summary = std::thread::scope(|scope| {
        scope.spawn(|| memory.watch());
        let summary = run(&writer, &vm, &options, &|_| (), &cancel).expect("a run");
        memory.done.store(true, Ordering::Relaxed);
        summary
    });
    let (wall, cpu) = (started.elapsed().as_secs_f64(), (children_cpu() - before).as_secs_f64());
    println!("quick, 2 jobs: {wall:.0} s, {summary:?}");
    println!("QEMU had {:.1} % of wall time x jobs", 100.0 * cpu / (2.0 * wall));
    println!(
        "largest QEMU: {} MiB, of which the guest has {}",
        memory.peak_kib.load(Ordering::Relaxed) >> 10,
        prepared.manifest.experiment.machine.memory_mib
    );

    fork(&vm, prepared.manifest.plan.executable()[0]);
    for (jobs, busy) in [(1, false), (2, false), (1, true), (2, true)] {
        identity(&writer, &vm, jobs, busy, rounds);
    }
}

/// Measures restore and teardown, with a cell whose job the guest refuses as soon as it has read
/// it.
fn fork(vm: &dyn Backend, cell: &CellInputs) {
    let mut cell = cell.clone();
    cell.job.format = u32::MAX;
    vm.prepare(&cell.snapshot, &Cancel::default()).expect("a snapshot");
    let mut walls: Vec<Duration> = (0..20)
        .map(|_| {
            let started = Instant::now();
            vm.execute(&cell, None, &Cancel::default()).expect("a refused cell");
            started.elapsed()
        })
        .collect();
    walls.sort();
    println!(
        "restore and teardown of a refused cell, 20 times: median {:.3} s, maximum {:.3} s",
        walls[10].as_secs_f64(),
        walls[19].as_secs_f64()
    );
}

/// Executes every cell again and again, and prints the number of digests and the host's time.
fn identity(writer: &RecordingWriter, vm: &dyn Backend, jobs: usize, busy: bool, rounds: usize) {
    if rounds == 0 {
        return;
    }
    let hogs: Vec<Hog> = if busy { (0..2).map(|_| Hog::start()).collect() } else { Vec::new() };
    let recording = Derived::check(writer.recording()).expect("it was planned here");
    let (mut same, mut different) = (0, 0);
    let before = children_cpu();
    let mut wall = Duration::ZERO;
    for _ in 0..rounds {
        let started = Instant::now();
        let verdicts = verify(recording, vm, None, jobs, &|_: Event<'_>| (), &Cancel::default())
            .expect("a verification");
        wall += started.elapsed();
        for verdict in verdicts {
            if verdict.is_same() {
                same += 1;
            } else {
                different += 1;
                println!("DIFFERENT: {} {}", verdict.factors, verdict.id);
            }
        }
    }
    let cpu = children_cpu() - before;
    drop(hogs);
    println!(
        "identity, {jobs} jobs, {} machine, {rounds} rounds: {same} same, {different} different; \
         QEMU had {:.1} % of wall time x jobs",
        if busy { "busy" } else { "idle" },
        100.0 * cpu.as_secs_f64() / (wall.as_secs_f64() * jobs as f64)
    );
    assert_eq!(different, 0, "a cell is not deterministic");
}

/// The largest resident set that any child of this process had.
#[derive(Default)]
struct Memory {
    peak_kib: AtomicU64,
    done: AtomicBool,
}

impl Memory {
    /// Looks at every process now and then; `VmHWM` is a process's own maximum (proc(5)).
    fn watch(&self) {
        let parent = format!("PPid:\t{}", std::process::id());
        while !self.done.load(Ordering::Relaxed) {
            for entry in std::fs::read_dir("/proc").expect("procfs").flatten() {
                let Ok(status) = std::fs::read_to_string(entry.path().join("status")) else {
                    continue;
                };
                if !status.lines().any(|line| line == parent) {
                    continue;
                }
                let peak = status.lines().find_map(|line| {
                    line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok()
                });
                self.peak_kib.fetch_max(peak.unwrap_or(0), Ordering::Relaxed);
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

/// A process that keeps one CPU busy.
struct Hog(Child);

impl Hog {
    fn start() -> Self {
        let child = Command::new("sha256sum")
            .arg("/dev/zero")
            .stdout(Stdio::null())
            .spawn()
            .expect("sha256sum");
        Self(child)
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
