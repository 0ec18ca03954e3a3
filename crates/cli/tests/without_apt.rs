//! A machine without apt, dpkg and gpgv: the `PATH` is a folder with a shell alone.

use std::{fs, os::unix::fs::symlink, path::Path};

use crate::common::{Desk, Finished};

const SMALL: &str = "format = 1\nname = \"small\"\n[factors]\nkernel = [\"debian:6.12\"]\n\
    preempt = [\"full\"]\n[workload.w]\nkind = \"cyclictest-hackbench\"\n";

struct Machine {
    desk: Desk,
}

impl Machine {
    fn new() -> Self {
        let desk = Desk::new();
        desk.write("small.toml", SMALL);
        fs::create_dir(desk.path("bin")).unwrap();
        symlink("/bin/sh", desk.path("bin/sh")).unwrap();
        Self { desk }
    }

    /// Runs a command with settings, and with proxies as the environment names them.
    fn run(&self, words: &[&str], settings: &[&str], proxies: &[(&str, &str)]) -> Finished {
        let settings = settings.iter().flat_map(|setting| ["--set", setting]);
        let words: Vec<&str> = words.iter().copied().chain(settings).collect();
        let mut command = self.desk.command(&words);
        for name in [
            "http_proxy",
            "https_proxy",
            "all_proxy",
            "no_proxy",
            "HTTPS_PROXY",
            "ALL_PROXY",
            "NO_PROXY",
        ] {
            command.env_remove(name);
        }
        command.env("PATH", self.desk.path("bin")).envs(proxies.iter().copied());
        Finished::new(command.output().unwrap())
    }
}

const PLAN: [&str; 3] = ["run", "-n", "small.toml"];

#[test]
fn a_mirror_must_be_named() {
    let machine = Machine::new();
    machine.run(&PLAN, &[], &[]).fails(4, &["this machine has no apt", "--set mirror=URL"]);
    machine.run(&PLAN, &["mirror=nonsense"], &[]).fails(4, &["`nonsense` is no mirror's URL"]);
    let shown = machine.run(&["system", "show"], &[], &[]);
    assert!(shown.stdout.contains("none needed: without apt"), "{}", shown.stdout);
    assert!(shown.stdout.contains("those that preemptlab brings"), "{}", shown.stdout);
    assert!(shown.stdout.contains("this machine has no apt, whose sources"), "{}", shown.stdout);
    let named = machine.run(&["system", "show"], &["mirror=http://m.invalid/debian"], &[]);
    assert!(named.stdout.contains("http://m.invalid/debian"), "{}", named.stdout);
}

#[test]
fn a_mirror_that_is_of_no_use_is_told() {
    let machine = Machine::new();
    let empty = format!("mirror=file:{}", machine.desk.path("bin").display());
    machine.run(&PLAN, &[&empty], &[]).fails(4, &["Debian 13 cannot be had", "does not have it"]);
    machine
        .run(&PLAN, &["mirror=http://127.0.0.1:9/debian"], &[])
        .fails(4, &["127.0.0.1:9", "cannot be reached"]);
    machine
        .run(&PLAN, &["mirror=ftp://m.invalid/debian"], &[])
        .fails(4, &["`ftp:` cannot be read without apt"]);
    // A file that nobody signed, and one of another suite, which Debian signed in 2026.
    let dist = machine.desk.path("bin/dists/trixie");
    fs::create_dir_all(&dist).unwrap();
    let other = "../provision/src/distribution/debian/keys/test-bookworm-security.InRelease";
    let other = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(other)).unwrap();
    for (in_release, said) in [
        (&b"Suite: stable\nCodename: trixie\n"[..], "it is no signed text"),
        (&other, "it is the release file of bookworm-security"),
    ] {
        fs::write(dist.join("InRelease"), in_release).unwrap();
        for command in [&PLAN[..], &["kernels"], &["run", "small.toml"]] {
            let refused = machine.run(command, &[&empty], &[]);
            refused.fails(2, &["its signature cannot be verified", said]);
        }
        let lists = fs::read_dir(machine.desk.path("store/apt/state/lists")).unwrap();
        let kept = lists.map(|entry| entry.unwrap().file_name()).filter(|name| name != "partial");
        assert_eq!(kept.count(), 0);
        assert!(!machine.desk.path("runs/small").exists());
    }
}

#[test]
fn proxies_are_those_of_the_environment() {
    let machine = Machine::new();
    let mirror = ["mirror=http://mirror.invalid/debian"];
    let refuses = [("http_proxy", "http://127.0.0.1:9")];
    machine.run(&PLAN, &mirror, &refuses).fails(4, &["refused", "the network and its proxy"]);
    let wrong = [("http_proxy", "no proxy")];
    machine.run(&PLAN, &mirror, &wrong).fails(4, &["`no proxy` is no proxy's address"]);
}

#[test]
fn offline_says_what_the_store_lacks() {
    let machine = Machine::new();
    let settings = ["offline=true", "mirror=http://127.0.0.1:9/debian"];
    let said = ["the store lacks lists of packages", "without `--set offline=true`"];
    machine.run(&PLAN, &settings, &[]).fails(4, &said);
    machine.run(&[&PLAN[..], &["--offline"]].concat(), &[], &[]).fails(2, &["--set offline=true"]);
}
