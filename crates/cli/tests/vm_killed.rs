//! `explain RUN search` and `gate` are killed in the midst of their cells: the next same command ends with the bytes of an
//! undisturbed one, and nothing else is left. Calls that change a file are killed one by one in `strace_*`.
//!
//! Packages and kernels are kept in the user's own store, or in `PREEMPTLAB_STORE`.

use std::{fs, process::Stdio, thread, time::Instant};

use crate::common::{Desk, Finished, tree};

/// Idle time costs nothing.
const IDLE: &str = r#"format = 1
name = "idle"

[factors]
kernel = ["debian:6.12"]
preempt = ["full"]

[replicates]
count = 5

[machine]
cost = "instructions"

[workload.idle]
kind = "cyclictest"
load = "none"
probes = "fifo"
window = "500ms"
"#;

/// Number of kills, spread over the time of an undisturbed command.
const KILLS: u32 = 3;

/// Kills a command that works in the folder `run` again and again, and lets it end each time.
fn kill(desk: &Desk, begin: impl Fn(), arguments: &[&str]) {
    let run = || Finished::new(desk.lasting_command(arguments).output().unwrap());
    begin();
    let started = Instant::now();
    let undisturbed = run();
    let took = started.elapsed();
    assert!([0, 1].contains(&undisturbed.code), "{}{}", undisturbed.stdout, undisturbed.stderr);
    let expected = tree(&desk.path("run"));
    for number in 0..KILLS {
        begin();
        let mut command = desk.lasting_command(arguments);
        let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = quiet.spawn().unwrap();
        thread::sleep(took * (2 * number + 1) / (2 * KILLS));
        child.kill().unwrap();
        child.wait().unwrap();
        let again = run();
        assert_eq!(again.stdout, undisturbed.stdout, "kill {number}: {}", again.stderr);
        assert_eq!(again.code, undisturbed.code, "kill {number}");
        let now = tree(&desk.path("run"));
        let differ = now.iter().filter(|file| !expected.contains(file));
        let gone = expected.iter().filter(|file| !now.contains(file));
        let paths: Vec<_> = differ.chain(gone).map(|(path, _)| path).collect();
        assert!(paths.is_empty(), "kill {number}: {paths:?} differ");
    }
}

#[test]
fn vm_a_killed_search_finds_the_same() {
    let desk = Desk::new();
    desk.write("idle.toml", IDLE);
    let run = ["run", "idle.toml", "--replicates", "2", "--trace", "--out", "recorded"];
    Finished::new(desk.lasting_command(&run).output().unwrap()).succeeds();
    let recorded = tree(&desk.path("recorded"));
    let begin = || {
        let _ = fs::remove_dir_all(desk.path("run"));
        for (name, bytes) in &recorded {
            let path = desk.path("run").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
    };
    kill(&desk, begin, &["explain", "run", "search", "--budget", "4", "--format", "json"]);
}

#[test]
#[ignore = "takes long: a part of make nightly"]
fn vm_a_killed_gate_decides_the_same() {
    let desk = Desk::new();
    desk.write("idle.toml", IDLE);
    let begin = || {
        let _ = fs::remove_dir_all(desk.path("run"));
    };
    let kernels = ["gate", "debian:6.12", "debian:6.12-rt", "idle.toml", "--out", "run"];
    let further = ["--metric", "latency.worst", "--budget", "20", "--format", "json"];
    kill(&desk, begin, &[&kernels[..], &further].concat());
}

/// Two verbs that execute the same cells at once, in one store, have the same results as each
/// alone.
#[test]
fn vm_verbs_share_a_store() {
    let desk = Desk::new();
    desk.write("idle.toml", &IDLE.replace("count = 5", "count = 5\nseed = 4000"));
    let run = ["run", "idle.toml", "--out", "one"];
    let kernels = ["gate", "debian:6.12", "debian:6.12-rt", "idle.toml", "--out", "two"];
    let gate = [&kernels[..], &["--budget", "20", "--format", "json"]].concat();
    let start = |arguments: &[&str]| {
        let mut command = desk.lasting_command(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let children = [start(&run), start(&gate)];
    let [ran, gated] = children.map(|child| Finished::new(child.wait_with_output().unwrap()));
    ran.succeeds();
    let alone = Finished::new(desk.lasting_command(&gate).output().unwrap());
    assert_eq!((&gated.stdout, gated.code), (&alone.stdout, alone.code), "{}", gated.stderr);
    Finished::new(desk.lasting_command(&["verify", "one"]).output().unwrap()).succeeds();
}
