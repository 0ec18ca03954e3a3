//! The configuration: its layers, and mistakes in them.

use std::{fs, process::Command};

use crate::common::{Desk, Finished};
use serde_json::Value;

/// Executes a command in the desk's folder, with the user's file at `config/preemptlab/config.toml`.
fn run(desk: &Desk, arguments: &[&str]) -> Finished {
    Finished::new(command(desk, arguments).output().unwrap())
}

fn command(desk: &Desk, arguments: &[&str]) -> Command {
    let mut command = desk.command(arguments);
    command.env("XDG_CONFIG_HOME", desk.path("config"));
    command
}

fn desk() -> Desk {
    let desk = Desk::new();
    fs::create_dir_all(desk.path("config/preemptlab")).unwrap();
    desk
}

#[test]
fn every_setting_is_shown_with_the_place_that_sets_it() {
    let desk = desk();
    desk.write(
        "config/preemptlab/config.toml",
        "mirror = \"http://mirror.invalid/debian\"\njobs = 1\n",
    );
    desk.write("preemptlab.toml", "jobs = 2\n");
    let shown =
        run(&desk, &["util", "config", "--set", "qemu=/opt/qemu"]).succeeds().stdout.clone();
    for line in [
        "mirror = \"http://mirror.invalid/debian\"    # ",
        "jobs = 2    # ",
        "qemu = \"/opt/qemu\"    # the command line or the environment\n",
        "# allow_expired = false    # default: ",
        "\n[kubernetes]\n",
    ] {
        assert!(shown.contains(line), "{line:?} is not in {shown}");
    }
    assert!(shown.contains("/preemptlab.toml\n") && shown.contains("/config.toml\n"), "{shown}");
    assert!(shown.contains(&format!("store = \"{}\"", desk.path("store").display())), "{shown}");
}

#[test]
fn margins_of_a_project_are_those_of_each_command() {
    let desk = desk();
    let check = concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies/check");
    let margin = |more: &[&str]| {
        let arguments = [&["compare", check, "--format", "json"], more].concat();
        let document: Value =
            serde_json::from_str(&run(&desk, &arguments).succeeds().stdout).unwrap();
        document["margin"].as_f64().unwrap()
    };
    assert_eq!(margin(&[]), 0.05);
    desk.write("preemptlab.toml", "margins = [\"40%\"]\n");
    assert_eq!(margin(&[]), 0.4);
    assert_eq!(margin(&["--set", "margins=30%"]), 0.3);
    assert_eq!(margin(&["--margin", "20%"]), 0.2);
}

#[test]
fn a_mistake_ends_every_command_that_reads_the_configuration() {
    let desk = desk();
    desk.write("preemptlab.toml", "\njob = 2\n");
    for arguments in [&["util", "config"][..], &["run", "-n", "x.toml"], &["kernels"]] {
        run(&desk, arguments)
            .fails(2, &["unknown field `job`", "preemptlab.toml:2:1", "did you mean `jobs`?"]);
    }
    run(&desk, &["util", "completions", "bash"]).succeeds();
    desk.write("preemptlab.toml", "qemu = \"./qemu\"\n");
    run(&desk, &["run", "-n", "x.toml"]).fails(
        2,
        &["a project cannot set `qemu`", "set it in your own configuration", "util config"],
    );
}

#[test]
fn a_mistake_in_an_assignment_says_what_is_meant() {
    let desk = desk();
    for (assignment, said) in [
        ("mirro=x", "did you mean `mirror`?"),
        ("jobs=many", "`jobs` takes a value such as 2"),
        ("jobs=0", "nonzero"),
        ("margins=throughput=2%", "with --margin"),
    ] {
        run(&desk, &["kernels", "--set", assignment]).fails(2, &[said]);
    }
    for (option, said) in [("--mirror", "--set mirror=URL"), ("--qemu", "--set qemu=PATH")] {
        run(&desk, &["run", "x.toml", option, "x"]).fails(2, &["written today", said]);
    }
}
