//! Kernels in packages that somebody downloaded: Debian's own, as it is and as an rpm, are the kernels of
//! Debian's name.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::common::{Desk, Finished, lasting_store, tree};
use preemptlab_testkit::packages::Package;
use serde_json::Value;

/// One cell of one virtual second, with a module of the kernel.
const ONE: &str = r#"format = 1
name = "one"

[factors]
kernel = ["debian:6.12"]
preempt = ["full"]

[replicates]
count = 1

[machine]
cost = "instructions"
modules = ["dummy"]

[workload.processes]
kind = "cyclictest-hackbench"
window = "1s"
"#;

fn run(desk: &Desk, arguments: &[&str]) -> Finished {
    Finished::new(desk.lasting_command(arguments).output().unwrap())
}

/// Returns the kernel and the guest image of a recording, without the names.
fn of_recording(folder: &Path) -> (Value, Value) {
    let text = fs::read_to_string(folder.join("recording.json")).unwrap();
    let mut recording: Value = serde_json::from_str(&text).unwrap();
    let mut kernel = recording["kernels"][0].take();
    kernel.as_object_mut().unwrap().remove("name").unwrap();
    (kernel, recording["images"][0]["sha256"].take())
}

/// Makes an rpm of what a `.deb` has of a kernel, and of one of its modules.
fn as_rpm(desk: &Desk, deb: &Path, release: &str) -> Vec<u8> {
    let unpacked = desk.path("unpacked");
    let done = Command::new("dpkg-deb").arg("-x").args([deb, &unpacked]).status().unwrap();
    assert!(done.success());
    let modules = format!("lib/modules/{release}");
    let usr = if unpacked.join("usr/lib/modules").is_dir() { "usr/" } else { "" };
    let files = [
        (format!("boot/vmlinuz-{release}"), format!("lib/modules/{release}/vmlinuz")),
        (format!("boot/config-{release}"), format!("lib/modules/{release}/config")),
        (format!("{usr}{modules}/modules.builtin"), format!("{modules}/modules.builtin")),
        (
            format!("{usr}{modules}/kernel/drivers/net/dummy.ko.xz"),
            format!("{modules}/kernel/drivers/net/dummy.ko.xz"),
        ),
    ];
    let package = Package {
        pack: |bytes| zstd::encode_all(bytes, 1).unwrap(),
        ..Package::new("kernel-core", "6.12.0-1.fc41", "x86_64")
    };
    let package = files.into_iter().fold(package, |package, (from, to)| {
        let bytes =
            fs::read(unpacked.join(&from)).unwrap_or_else(|error| panic!("{from}: {error}"));
        package.with(&format!("./{to}"), &bytes)
    });
    package.rpm()
}

#[test]
#[ignore = "takes long: a part of make nightly"]
fn debians_package_is_the_kernel_of_debians_name() {
    let desk = Desk::new();
    desk.write("debian.toml", ONE);
    run(&desk, &["run", "debian.toml", "--out", "debian"]).succeeds();
    let (kernel, image) = of_recording(&desk.path("debian"));
    let sha256 = kernel["packages"][0]["sha256"].as_str().unwrap();
    let deb: PathBuf = lasting_store().join("packages").join(format!("{sha256}.deb"));
    fs::copy(&deb, desk.path("linux-image.deb")).unwrap();
    desk.write("deb.toml", &ONE.replace("debian:6.12", "package:linux-image.deb"));
    run(&desk, &["run", "deb.toml", "--out", "deb", "--no-cache"]).succeeds();
    assert_eq!(of_recording(&desk.path("deb")), (kernel.clone(), image.clone()));
    let cells = |out: &str| tree(&desk.path(out).join("cells"));
    assert!(cells("deb") == cells("debian"), "the cells differ");

    let release = kernel["release"].as_str().unwrap();
    let rpm = as_rpm(&desk, &deb, release);
    fs::write(desk.path("kernel-core.rpm"), &rpm).unwrap();
    desk.write("rpm.toml", &ONE.replace("debian:6.12", "package:kernel-core.rpm"));
    run(&desk, &["run", "rpm.toml", "--out", "rpm"]).succeeds();
    let (mut of_rpm, image_of_rpm) = of_recording(&desk.path("rpm"));
    assert_eq!(of_rpm["packages"][0]["name"], "kernel-core");
    of_rpm["packages"] = kernel["packages"].clone();
    assert_eq!((of_rpm, image_of_rpm), (kernel, image));
    assert!(cells("rpm") == cells("debian"), "the cells differ");

    // Another file under the name is refused, although the store has the image.
    fs::write(desk.path("linux-image.deb"), &rpm).unwrap();
    for verb in [&["run", "deb.toml", "--out", "deb"][..], &["verify", "deb"]] {
        run(&desk, verb).fails(2, &["linux-image.deb", "is not what the recording was made with"]);
    }
    fs::remove_file(desk.path("linux-image.deb")).unwrap();
    run(&desk, &["verify", "deb"]).succeeds();
}
