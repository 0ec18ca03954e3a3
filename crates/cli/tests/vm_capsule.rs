//! A capsule, whose cells are executed by a machine that has neither a store nor a network.

use std::{
    fs::{self, File},
    io::Write,
    path::Path,
    process::Command,
};

use crate::common::{Desk, Finished};

/// Returns a command without the user's store and, where the machine allows it, without a network.
fn alone(desk: &Desk, arguments: &[&str]) -> Command {
    let inner = desk.command(arguments);
    let mut apart = Command::new("unshare");
    apart.args(["--map-root-user", "--net"]);
    let is_allowed = apart.arg("true").output().is_ok_and(|output| output.status.success());
    let mut command = match is_allowed {
        true => {
            let mut command = Command::new("unshare");
            command.args(["--map-root-user", "--net"]).arg(inner.get_program());
            command
        }
        false => Command::new(inner.get_program()),
    };
    command.args(inner.get_args()).current_dir(desk.path("")).env("NO_COLOR", "1");
    command.env_remove("PREEMPTLAB_STORE").env("XDG_CACHE_HOME", desk.path("cache"));
    command
}

#[test]
fn a_capsule_is_verified_without_a_store_and_a_network() {
    let desk = Desk::new();
    let check = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/check");
    let pack = |out: &str| {
        let arguments = ["util", "pack", check.to_str().unwrap(), "--out", out];
        Finished::new(desk.lasting_command(&arguments).output().unwrap())
    };
    let packed = pack("check.capsule");
    let said = packed.succeeds().stderr.clone();
    assert!(said.contains("packing check.capsule: about ") && said.contains("QEMU "), "{said}");
    assert_eq!(packed.stdout, "check.capsule\n");
    let bytes = fs::read(desk.path("check.capsule")).unwrap();
    pack("again.capsule").succeeds();
    assert!(fs::read(desk.path("again.capsule")).unwrap() == bytes, "the bytes differ");

    let verify = |arguments: &[&str]| Finished::new(alone(&desk, arguments).output().unwrap());
    let verified = verify(&["verify", "check.capsule", "--format", "json"]);
    let document: serde_json::Value = serde_json::from_str(&verified.succeeds().stdout).unwrap();
    assert_eq!((&document["same"], &document["different"]), (&1.into(), &0.into()));
    assert_eq!(document["capsule"]["network"], false);
    assert!(!document["capsule"]["qemu_signed_in"].as_array().unwrap().is_empty(), "{document}");
    let left =
        |folder: &str| fs::read_dir(desk.path("cache/preemptlab").join(folder)).unwrap().count();
    assert_eq!(["capsules", "qemu", "kernels", "images", "packages"].map(left), [0; 5]);

    // One byte of QEMU's packages, in the capsule as it is and in one that is packed soundly again.
    let mut damaged = bytes.clone();
    damaged[bytes.len() / 4] ^= 1;
    fs::write(desk.path("check.capsule"), &damaged).unwrap();
    verify(&["verify", "check.capsule"]).fails(2, &["check.capsule is no whole capsule"]);
    let mut whole = zstd::stream::decode_all(bytes.as_slice()).unwrap();
    let deb = whole.windows(8).position(|window| window == b"!<arch>\n").unwrap();
    whole[deb + 1_000] ^= 1;
    let file = File::create(desk.path("check.capsule")).unwrap();
    let mut packed = zstd::stream::write::Encoder::new(file, 1).unwrap();
    packed.write_all(&whole).unwrap();
    packed.finish().unwrap();
    let said = verify(&["verify", "check.capsule", "--trust-qemu"]);
    said.fails(2, &["the content of packages/", "is another"]);
}
