//! Tests that bad input gets a clear error: the cause, and the next command.

use std::fs;

use crate::common::Desk;
use preemptlab_testkit::packages::{Kind, Package};

const SMALL: &str = r#"format = 1
name = "small"

[factors]
kernel = ["debian:6.12"]
preempt = ["none", "full"]

[workload.hackbench]
kind = "cyclictest-hackbench"
"#;

fn desk() -> Desk {
    let desk = Desk::new();
    desk.write("small.toml", SMALL);
    desk
}

#[test]
fn a_mistake_in_an_experiment_is_shown_in_its_line() {
    desk().replays("experiment");
}

#[test]
fn a_kernel_that_cannot_be_is_refused_before_any_download() {
    let desk = desk();
    let image = "./boot/vmlinuz-6.12.1";
    let of = |name: &str, arch: &str| Package::new(name, "6.12.1-1", arch);
    let modules = of("linux-modules-6.12.1", "amd64").with("./lib/modules/6.12.1/a.ko.xz", b"");
    let meta = of("linux-image-amd64", "amd64").needing("linux-image-6.12.1");
    let arm64 = of("linux-image-6.12.1", "arm64").with(image, b"MZ");
    let gzip = of("linux-image-6.12.1", "amd64").with(image, b"\x1f\x8b\x08");
    let climbs = of("kernel-core", "x86_64").with("./lib/modules/../../../etc/passwd", b"");
    let device = of("kernel-core", "x86_64").with_entry(image, Kind::Device, b"");
    let aarch64 = of("kernel-core", "aarch64");
    let files = [
        ("modules.deb", modules.deb()),
        ("meta.deb", meta.deb()),
        ("arm64.deb", arm64.deb()),
        ("gzip.deb", gzip.deb()),
        ("short.deb", gzip.deb()[..700].to_vec()),
        ("climbs.rpm", climbs.rpm()),
        ("device.rpm", device.rpm()),
        ("aarch64.rpm", aarch64.rpm()),
    ];
    for (name, bytes) in files {
        fs::write(desk.path(name), bytes).unwrap();
    }
    desk.replays("kernels");
}

#[test]
fn a_store_and_a_qemu_that_cannot_be_used_are_named() {
    desk().replays("machine");
}

#[test]
fn a_path_of_another_kind_is_told_from_the_one_that_was_meant() {
    desk().replays("paths");
}

/// The words of apt differ between its versions.
#[test]
fn a_mirror_that_is_down_is_named() {
    let desk = desk();
    // Nothing listens on the discard port of this machine.
    desk.run(&["run", "small.toml", "--set", "mirror=http://127.0.0.1:9/debian"])
        .fails(4, &["127.0.0.1:9"]);
}

#[test]
fn completions_and_man_pages_come_from_the_same_definitions() {
    let desk = Desk::new();
    for shell in ["bash", "zsh", "fish"] {
        let finished = desk.run(&["util", "completions", shell]);
        assert!(finished.succeeds().stdout.contains("no-cache"), "{shell}");
    }
    let finished = desk.run(&["util", "man", "man"]);
    assert!(finished.succeeds().stdout.contains("man/preemptlab-run.1"));
    let page = fs::read_to_string(desk.path("man/preemptlab-run.1")).unwrap();
    assert!(page.contains("retry\\-failed"));
}
