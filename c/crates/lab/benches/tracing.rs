//! The cost of tracing: the time of a traced cell against one without, the speed of the decoder
//! against that of other tools, the size of traces.
//!
//! `make bench` runs it on the first replicate of the configurations of `studies/quick.toml` whose
//! load is processes.

#![allow(missing_docs, clippy::print_stdout, reason = "a benchmark is a program of its own")]

mod common;

use std::{
    fs::File,
    io::Seek,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use common::{children_cpu, prepare};
use preemptlab_lab::Kernels;
use preemptlab_model::CellInputs;
use preemptlab_recording::TraceFolder;
use preemptlab_runner::{Backend, Cancel, Tracing};
use preemptlab_trace::{Decoder, Item, Kernel};

/// Events that every decoder gets.
const EVENTS: usize = 1_000_000;

/// Executions of each cell, with and without a trace, in turn.
const ROUNDS: usize = 2;

fn main() {
    if std::env::args().any(|argument| argument == "--touch") {
        touch_pages();
        return;
    }
    let prepared = prepare();
    let (vm, cancel) = (prepared.vm(), Cancel::default());
    let temporary = tempfile::tempdir().expect("a temporary folder");
    let folder = TraceFolder::new(temporary.path().join("traces"));
    folder.create().expect("a folder of traces");
    let kernels = Kernels::new(&prepared, &vm, Some(&folder));

    let cells = prepared.manifest.plan.cells.iter();
    let first =
        cells.filter(|cell| cell.factors.replicate == 1 && cell.factors.workload == "processes");
    let (mut walls, mut cpus, mut different) = (Vec::new(), Vec::new(), 0);
    let mut decoded = None;
    for planned in first {
        let Some(cell) = planned.inputs() else { continue };
        vm.prepare(&cell.snapshot, &cancel).expect("a snapshot");
        let kernel = kernels.get(cell, &cancel).expect("a kernel that can be traced");
        let (mut plain, mut traced) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let stream = folder.scratch().expect("room");
            let (without, cost) = timed(|| vm.execute(cell, None, &cancel).expect("a cell"));
            plain.push(cost);
            let tracing = Tracing { program: kernel.program(), out: &stream };
            let (with, cost) = timed(|| vm.execute(cell, Some(tracing), &cancel).expect("a cell"));
            traced.push(cost);
            different += usize::from(with != without);
            decoded.get_or_insert((stream, kernel.clone(), cell.clone()));
        }
        let ratio = |part: fn(&Cost) -> Duration| {
            median(traced.iter().map(part).collect()).as_secs_f64()
                / median(plain.iter().map(part).collect()).as_secs_f64()
        };
        let (wall, cpu) = (ratio(|cost| cost.wall), ratio(|cost| cost.cpu));
        println!("{}: traced/plain wall {wall:.3}, CPU {cpu:.3}", planned.factors);
        walls.push(wall);
        cpus.push(cpu);
    }
    walls.sort_by(f64::total_cmp);
    cpus.sort_by(f64::total_cmp);
    println!(
        "traced against plain, {} cells: wall median {:.3}, maximum {:.3}; CPU median {:.3}, \
         maximum {:.3}; {different} differ in their bytes",
        walls.len(),
        walls[walls.len() / 2],
        walls[walls.len() - 1],
        cpus[cpus.len() / 2],
        cpus[cpus.len() - 1]
    );
    assert_eq!(different, 0, "tracing changes a cell");
    let (stream, kernel, cell) = decoded.expect("a cell");
    decode(stream, &kernel, &cell);
    peers(temporary.path());
}

struct Cost {
    wall: Duration,
    cpu: Duration,
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Cost) {
    let (started, before) = (Instant::now(), children_cpu());
    let done = work();
    (done, Cost { wall: started.elapsed(), cpu: children_cpu() - before })
}

fn median(mut durations: Vec<Duration>) -> Duration {
    durations.sort();
    durations[durations.len() / 2]
}

/// Measures the decoder on its own, on as many events as the other tools get.
fn decode(mut stream: File, kernel: &Kernel, cell: &CellInputs) {
    let bytes = stream.metadata().expect("a file").len();
    let mut walls: Vec<Duration> = Vec::new();
    let mut all = 0;
    for _ in 0..5 {
        stream.rewind().expect("a file");
        let mut decoder = Decoder::new(&stream, kernel.program()).expect("a trace");
        let started = Instant::now();
        let mut events = 0;
        while let Some(item) = decoder.next_item().expect("a whole trace") {
            if matches!(item, Item::Event(_)) {
                events += 1;
                if events == EVENTS {
                    walls.push(started.elapsed());
                }
            }
        }
        all = events;
    }
    let wall = median(walls);
    println!(
        "decoder: {:.1} million events/s; a trace of {} has {all} events in {:.1} MB",
        EVENTS as f64 / wall.as_secs_f64() / 1e6,
        cell.job.preempt,
        bytes as f64 / 1e6
    );
}

/// Measures `trace-cmd report` and `perf script` on as many page faults, where the machine allows
/// recording them.
fn peers(folder: &Path) {
    let itself = std::env::current_exe().expect("a path");
    let (perf, trace) = (folder.join("perf.data"), folder.join("trace.dat"));
    let record_perf = Command::new("perf")
        .args(["record", "-q", "-e", "page-faults", "-c", "1", "-o"])
        .arg(&perf)
        .arg(&itself)
        .arg("--touch")
        .stderr(Stdio::null())
        .status();
    report("perf script", record_perf, Command::new("perf").args(["script", "-i"]).arg(&perf));
    let record_trace = Command::new("trace-cmd")
        .args(["record", "-q", "-e", "exceptions:page_fault_user", "-o"])
        .arg(&trace)
        .arg(&itself)
        .arg("--touch")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    report(
        "trace-cmd report",
        record_trace,
        Command::new("trace-cmd").args(["report", "-i"]).arg(&trace),
    );
}

fn report(name: &str, recorded: std::io::Result<std::process::ExitStatus>, command: &mut Command) {
    if !recorded.is_ok_and(|status| status.success()) {
        println!("{name}: nothing can be recorded here");
        return;
    }
    let started = Instant::now();
    let output = command.stderr(Stdio::null()).output().expect("a report");
    let wall = started.elapsed().as_secs_f64();
    let lines = output.stdout.iter().filter(|byte| **byte == b'\n').count();
    println!("{name}: {:.2} million events/s ({lines} lines)", lines as f64 / wall / 1e6);
}

/// Causes as many page faults as the decoders get events.
fn touch_pages() {
    const PAGES: usize = 25_000;
    const PAGE_BYTES: usize = 4096;
    for _ in 0..EVENTS / PAGES {
        let mut memory: Vec<u8> = Vec::with_capacity(PAGES * PAGE_BYTES);
        for page in memory.spare_capacity_mut().chunks_mut(PAGE_BYTES) {
            page[0].write(1);
        }
        std::hint::black_box(&memory);
    }
}
