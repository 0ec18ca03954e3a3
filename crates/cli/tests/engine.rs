//! `cluster submit slurm` where Slurm is absent, refuses, or cannot do the task. Nothing is
//! prepared before that is found out.

use std::{fs, os::unix::fs::PermissionsExt};

use crate::common::{Desk, Finished};

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
        let arguments = [&["cluster"], arguments, &["small.toml", "--out", "out"]].concat();
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
    Site::new().refuses(&["submit", "slurm"], 4, "on this machine");
}

#[test]
fn verify_and_scenario_say_so_too() {
    let site = Site::new();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = |name: &str| root.join(name).to_str().unwrap().to_owned();
    let (check, scenario) = (path("studies/check"), path("scenarios/driver-demo.toml"));
    for arguments in [
        &["cluster", "verify", "slurm", &check][..],
        &["cluster", "submit", "slurm", &scenario, "--out", "out"],
    ] {
        let mut command = site.desk.command(arguments);
        command.env("PATH", site.desk.path("bin"));
        Finished::new(command.output().unwrap()).fails(4, &["on this machine"]);
    }
    site.desk
        .run(&["verify", &check, "--engine", "slurm"])
        .fails(2, &["cluster verify ENGINE RUN"]);
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
    site.refuses(&["submit", "slurm"], 4, "Could not establish a configuration source");
    site.refuses(&["submit", "slurm"], 4, "log in to one that does");
}

#[test]
fn options_that_do_not_fit_are_refused_before_anything_is_done() {
    let site = Site::new();
    for (arguments, text) in [
        (&["--engine-arg=short"][..], "is no option of sbatch"),
        (&["--engine-arg=--array=1-3"], "preemptlab itself sets sbatch's --array"),
        (&["--engine-arg=--wrap=rm"], "preemptlab itself sets sbatch's --wrap"),
        (&["--jobs", "2"], "an engine has machines of its own: leave --jobs out"),
        (&["--shard", "1/2"], "cluster work RUN I/N"),
        (&["--tasks", "0"], "invalid value"),
        (&["--tasks", "100001"], "invalid value"),
        (&["--twice", "0%"], "is no share"),
        (&["--backend", "kvm"], "unexpected argument"),
    ] {
        site.refuses(&[&["submit", "slurm"], arguments].concat(), 2, text);
    }
    site.refuses(&["attach", "slurm", "--detach"], 2, "--detach");
    for option in ["--tasks=2", "--detach", "--attach", "--engine-arg=-px", "--twice=1%"] {
        let finished = site.desk.run(&["run", "small.toml", option]);
        finished.fails(2, &["this is written today as `preemptlab cluster"]);
    }
    site.refuses(&["submit", "pbs"], 2, "is no engine");
}
