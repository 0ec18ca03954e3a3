//! The time of commands with everything in the store, and the time of `run` until QEMU continues
//! its first cell. The first call of each fetches missing inputs.

#![allow(missing_docs, clippy::print_stdout, reason = "a benchmark is a program of its own")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// Longest time of each that we aim at.
const AIM: Duration = Duration::from_millis(500);

const TIMES: usize = 15;

/// One cell of one virtual second.
const ONE: &str = "format = 1\nname = \"one\"\n[factors]\nkernel = [\"debian:6.12\"]\n\
    preempt = [\"full\"]\n[replicates]\ncount = 1\n\
    [machine]\ncost = \"instructions\"\n[workload.processes]\n\
    kind = \"cyclictest-hackbench\"\nwindow = \"1s\"\n";

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let one = folder.path().join("one.toml");
    fs::write(&one, ONE).expect("a file");
    let (one, out) = (one.to_str().expect("text"), folder.path().join("out"));
    let out = out.to_str().expect("text");
    let studies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let quick = studies.join("quick.toml");
    let quick = quick.to_str().expect("text");

    let to_its_end = |arguments: &[&str]| {
        let status = command(arguments).status().expect("the binary");
        assert!(status.success(), "{arguments:?} failed");
    };
    measure("plan studies/quick.toml", || to_its_end(&["run", "-n", quick]));
    measure("kernels", || to_its_end(&["kernels"]));
    measure("run of a finished experiment", || to_its_end(&["run", one, "--out", out]));
    measure("run of a finished experiment in a new folder", || {
        fs::remove_dir_all(out).expect("a recording");
        to_its_end(&["run", one, "--out", out]);
    });
    let mut first = Vec::new();
    for _ in 0..TIMES {
        fs::remove_dir_all(out).expect("a recording");
        let started = Instant::now();
        let mut child = command(&["run", one, "--out", out, "--no-cache"]).spawn().expect("it");
        first.push(until_qemu(&mut child, started));
        assert!(child.wait().expect("a child").success());
    }
    tell("run, until its first cell", first);
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_preemptlab"));
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Calls something once more than it counts.
fn measure(name: &str, each: impl Fn()) {
    each();
    let walls = (0..TIMES).map(|_| {
        let started = Instant::now();
        each();
        started.elapsed()
    });
    tell(name, walls.collect());
}

fn tell(name: &str, mut walls: Vec<Duration>) {
    walls.sort();
    let (median, largest) = (walls[walls.len() / 2], walls[walls.len() - 1]);
    println!(
        "{name}: median {:.3} s, largest {:.3} s, {:.2} of the {:.1} s that it may take",
        median.as_secs_f64(),
        largest.as_secs_f64(),
        median.as_secs_f64() / AIM.as_secs_f64(),
        AIM.as_secs_f64()
    );
}

/// Returns the time until a child of the command is QEMU with a machine.
fn until_qemu(child: &mut Child, started: Instant) -> Duration {
    // proc_pid_task_children(5)
    let children = PathBuf::from(format!("/proc/{}/task", child.id()));
    loop {
        for task in fs::read_dir(&children).into_iter().flatten().flatten() {
            let ids = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            for id in ids.split_whitespace() {
                let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
                let line = String::from_utf8_lossy(&line);
                if line.contains("qemu-system") && line.contains("-machine") {
                    return started.elapsed();
                }
            }
        }
        assert!(child.try_wait().expect("a child").is_none(), "no QEMU was started");
        std::thread::sleep(Duration::from_millis(1));
    }
}
