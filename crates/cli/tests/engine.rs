//! `run --engine slurm` where Slurm is absent, refuses, or is asked for what it cannot do. Nothing is
//! prepared before that is found out.

mod common;

use std::{fs, os::unix::fs::PermissionsExt};

use common::{Desk, Finished};

const EXPERIMENT: &str = r#"
format = 1
name = "small"
[factors]
kernel = ["debian:6.12"]
preempt = ["full"]
[workload.processes]
kind = "cyclictest-hackbench"
hackbench = "process"
window = "1s"
"#;

/// Desk with an experiment and a folder of programs in the place of Slurm's.
struct Site {
    desk: Desk,
}

impl Site {
    fn new() -> Self {
        let desk = Desk::new();
        desk.write("small.toml", EXPERIMENT);
        fs::create_dir(desk.path("bin")).unwrap();
        Self { desk }
    }

    /// Puts a script in the place of a program.
    fn program(&self, name: &str, script: &str) {
        let path = self.desk.write(&format!("bin/{name}"), &format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn run(&self, arguments: &[&str]) -> Finished {
        let arguments = [&["run", "small.toml", "--out", "out"], arguments].concat();
        let mut command = self.desk.command(&arguments);
        command.env("PATH", self.desk.path("bin"));
        Finished::new(command.output().unwrap())
    }

    /// Checks that a command ends with a code and a text, and has begun nothing.
    fn refuses(&self, arguments: &[&str], code: i32, text: &str) {
        self.run(arguments).fails(code, &[text]);
        assert!(!self.desk.path("out").exists(), "{arguments:?}");
        assert!(!self.desk.path("store").exists(), "{arguments:?}");
    }
}

#[test]
fn a_machine_without_slurm_says_so() {
    Site::new().refuses(&["--engine", "slurm"], 4, "on this machine");
}

#[test]
fn verify_and_scenario_say_so_too() {
    let site = Site::new();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = |name: &str| root.join(name).to_str().unwrap().to_owned();
    let (check, scenario) = (path("studies/check"), path("scenarios/driver-demo.toml"));
    for arguments in [&["verify", &check][..], &["scenario", &scenario, "--out", "out"]] {
        let mut command = site.desk.command(&[arguments, &["--engine", "slurm"]].concat());
        command.env("PATH", site.desk.path("bin"));
        Finished::new(command.output().unwrap()).fails(4, &["on this machine"]);
        let mut command = site.desk.command(&[arguments, &["--tasks", "2"]].concat());
        command.env("PATH", site.desk.path("bin"));
        Finished::new(command.output().unwrap()).fails(2, &["--engine"]);
    }
    assert!(!site.desk.path("out").exists());
    assert!(!root.join("studies/check.again").exists());
}

#[test]
fn a_cluster_that_is_none_is_told_in_its_own_words() {
    let site = Site::new();
    site.program(
        "scontrol",
        "echo 'scontrol: fatal: Could not establish a configuration source\\033[2J' >&2; exit 1",
    );
    site.refuses(&["--engine", "slurm"], 4, "Could not establish a configuration source");
    site.refuses(&["--engine", "slurm"], 4, "log in to one that does");
}

#[test]
fn options_that_do_not_fit_are_refused_before_anything_is_done() {
    let site = Site::new();
    let slurm = ["--engine", "slurm"];
    for (arguments, text) in [
        (&["--engine-arg=short"][..], "is no option of sbatch"),
        (&["--engine-arg=--array=1-3"], "preemptlab itself sets sbatch's --array"),
        (&["--engine-arg=--wrap=rm"], "preemptlab itself sets sbatch's --wrap"),
        (&["--jobs", "2"], "cannot be used with"),
        (&["--shard", "1/2"], "cannot be used with"),
        (&["--detach", "--attach"], "cannot be used with"),
        (&["--tasks", "0"], "invalid value"),
        (&["--tasks", "100001"], "invalid value"),
        (&["--twice", "0%"], "is no share"),
        (&["--backend", "kvm"], "only virtual time is the same on several machines"),
    ] {
        site.refuses(&[&slurm, arguments].concat(), 2, text);
    }
    for arguments in [&["--tasks", "2"][..], &["--detach"], &["--attach"], &["--engine-arg=-px"]] {
        site.refuses(arguments, 2, "--engine");
    }
    site.refuses(&["--engine", "pbs"], 2, "is no engine");
    site.refuses(&["--twice", "1%"], 2, "--engine");
}
