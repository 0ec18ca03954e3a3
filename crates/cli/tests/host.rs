//! The backend `host`, on a machine whose kernel can be switched: a virtual one, in which this very
//! program is the first process and preemptlab the second.
//!
//! Its root is the workload's guest image, which has the C library that both need. Packages and
//! kernels are kept in the user's own store, or in `PREEMPTLAB_STORE`.

mod common;
mod inside;

use std::{
    ffi::OsString,
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use common::{Desk, lasting_store};
use cpio::newc;
use preemptlab_lab::Lab;
use preemptlab_model::{BackendKind, Digest};
use preemptlab_provision::{Options, Provision, Store};
use preemptlab_recording::RecordingWriter;
use preemptlab_spec::Experiment;

/// Cells of one second in every mode, once with a setting that is switched at run time, too.
const EXPERIMENT: &str = r#"format = 1
name = "inside"

[factors]
kernel = ["debian:6.12"]
preempt = ["none", "voluntary", "full"]
settings = ["", "sched/base_slice_ns=1500000"]

[replicates]
count = 2

[workload.processes]
kind = "cyclictest-hackbench"
window = "1s"
groups = 1
"#;

/// Emulated machines are slow, and others may be busy beside this one.
const PATIENCE: Duration = Duration::from_secs(900);

/// What is booted.
struct Machine {
    qemu: Vec<OsString>,
    kernel: PathBuf,
    initrd: PathBuf,
}

#[test]
fn a_switched_kernel_is_given_back_whatever_happens() {
    let desk = Desk::new();
    let console = desk.path("console");
    let machine = prepare(&desk);
    let said = boot(&machine, &console);
    assert!(said.contains(inside::GOOD), "{said}");
    for line in said.lines().filter(|line| line.starts_with("inside: ")) {
        println!("{line}");
    }
}

/// The first process of the machine that the test above boots.
#[test]
#[ignore = "it is the first process of a virtual machine, or nothing"]
fn first_process() {
    if std::process::id() == 1 {
        inside::run();
    }
}

/// Brings everything here, and packs the machine's root: a recording that waits for its kernel, and
/// what of the store it needs. In the machine there is no network.
fn prepare(desk: &Desk) -> Machine {
    let store = Store::open(lasting_store()).unwrap();
    let on_event = |_| ();
    let provision = || Provision::new(store.clone(), Options::default(), &on_event);
    let qemu = provision().qemu(None).unwrap().command;
    let lab = Lab::new(provision(), None).on(BackendKind::Host);
    let prepared = lab.resolve(Experiment::parse(EXPERIMENT).unwrap()).unwrap();
    let manifest = &prepared.manifest;
    drop(RecordingWriter::open(&desk.path("run"), manifest).unwrap());

    let image = fs::read(store.image(manifest.images[0].sha256)).unwrap();
    let name = |digest: Digest| format!("store/images/{digest}");
    let mut own = Archive::default();
    own.folder("store").folder("store/images").folder("recording").folder("newroot");
    own.file(&name(manifest.images[0].sha256), &image);
    own.file("recording/recording.json", &fs::read(desk.path("run/recording.json")).unwrap());
    own.file("inside.toml", EXPERIMENT.as_bytes());
    own.file("first", &fs::read(std::env::current_exe().unwrap()).unwrap());
    own.file("preemptlab", &fs::read(env!("CARGO_BIN_EXE_preemptlab")).unwrap());
    // The kernel unpacks one archive after the other, each from a multiple of four bytes.
    let mut initrd = image;
    initrd.resize(initrd.len().next_multiple_of(4), 0);
    initrd.extend(own.finish());
    let path = desk.path("initrd");
    fs::write(&path, initrd).unwrap();
    Machine { qemu, kernel: store.kernel_image(manifest.kernels[0].image_sha256), initrd: path }
}

#[derive(Default)]
struct Archive(Vec<u8>);

impl Archive {
    fn folder(&mut self, path: &str) -> &mut Self {
        newc::Builder::new(path).mode(0o040_755).write(&mut self.0, 0).finish().unwrap();
        self
    }

    fn file(&mut self, path: &str, content: &[u8]) {
        let length = u32::try_from(content.len()).unwrap();
        let mut writer = newc::Builder::new(path).mode(0o100_755).write(&mut self.0, length);
        writer.write_all(content).unwrap();
        writer.finish().unwrap();
    }

    fn finish(mut self) -> Vec<u8> {
        newc::trailer(&mut self.0).unwrap();
        self.0
    }
}

/// Boots the machine and waits for its end; returns what it said.
fn boot(machine: &Machine, console: &Path) -> String {
    let (program, fixed) = machine.qemu.split_first().unwrap();
    let serial = format!("file:{}", console.display());
    let append = "console=ttyS0 quiet panic=-1 rdinit=/first -- first_process --exact --ignored \
                  --nocapture";
    let mut qemu = Command::new(program)
        .args(fixed)
        .args(["-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2"])
        .args(["-m", "2048", "-nodefaults", "-display", "none", "-no-reboot", "-serial", &serial])
        .arg("-kernel")
        .arg(&machine.kernel)
        .arg("-initrd")
        .arg(&machine.initrd)
        .args(["-append", append])
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + PATIENCE;
    while qemu.try_wait().unwrap().is_none() {
        if Instant::now() > deadline {
            qemu.kill().unwrap();
            qemu.wait().unwrap();
            break;
        }
        thread::sleep(Duration::from_millis(200));
    }
    String::from_utf8_lossy(&fs::read(console).unwrap()).replace('\r', "")
}
