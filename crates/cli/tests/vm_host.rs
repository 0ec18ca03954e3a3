//! The backend `host`, on a machine whose kernel can be switched: a virtual one, in which this very
//! program is the first process and preemptlab the second.
//!
//! Its root is the workload's guest image, which has the C library that both need. Packages and
//! kernels are kept in the user's own store, or in `PREEMPTLAB_STORE`.

use std::{
    ffi::OsString,
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::common::{Desk, lasting_store};
use crate::inherited;
use crate::inside;
use cpio::newc;
use preemptlab_experiment::{Experiment, RecordingWriter};
use preemptlab_lab::{Preparation, embed};
use preemptlab_model::{Arch, BackendKind};
use preemptlab_provision::{Options, Provision, Store};

/// Cells of one second in every mode, once with a setting that is switched at run time, too.
const EXPERIMENT: &str = r#"format = 1
name = "inside"

[factors]
kernel = ["debian:6.12"]
preempt = ["none", "voluntary", "full"]
settings = ["", "sched/base_slice_ns=1500000"]

[replicates]
count = 2

[machine]
cost = "instructions"

[workload.processes]
kind = "cyclictest-hackbench"
window = "1s"
groups = 1
"#;

/// A cell whose command tries to get out.
const HOSTILE: &str = r#"format = 1
name = "hostile"

[factors]
kernel = ["debian:6.12"]
preempt = ["full"]

[replicates]
count = 1

[machine]
cost = "instructions"

[workload.hostile]
kind = "folder"
path = "hostile"
"#;

const DEFINITION: &str = r#"format = 1
limit = "60s"

[[probe]]
name = "attempts"
argv = ["/workload/cell"]

[[metric]]
name = "attempts"
unit = "attempts"
better = "higher"
from = "attempts.stdout"
pattern = '^attempts (\d+)$'
"#;

/// A cell whose command prints its own attributes at its start.
const INHERITED: &str = r#"format = 1
name = "inherited"

[factors]
kernel = ["debian:6.12"]
preempt = ["full"]

[replicates]
count = 1

[workload.inherited]
kind = "folder"
path = "inherited"
"#;

const INHERITED_DEFINITION: &str = r#"format = 1

[[probe]]
name = "first"
argv = ["/workload/cell"]

[[metric]]
name = "printed"
unit = "programs"
better = "higher"
from = "first.stdout"
pattern = '^printed (\d)$'
"#;

/// Machine that is booted.
struct Machine {
    qemu: Vec<OsString>,
    kernel: PathBuf,
    initrd: PathBuf,
}

/// Times in the machine are virtual: each is a number of instructions, whatever this machine does
/// beside it.
#[test]
#[ignore = "takes long: a part of make nightly"]
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

/// Fetches all inputs, and packs the machine's root: recordings that wait for their kernel, and the
/// parts of the store that they need. The machine has no network.
fn prepare(desk: &Desk) -> Machine {
    let store = Store::open(lasting_store()).unwrap();
    let on_event = |_| ();
    let provision =
        || Provision::new(store.clone(), Arch::default(), Options::default(), &on_event);
    let qemu = provision().qemu(None).unwrap().command;
    let mut own = Archive::default();
    own.folder("store").folder("store/images").folder("newroot");
    for (name, definition) in [("hostile", DEFINITION), ("inherited", INHERITED_DEFINITION)] {
        let folder = desk.path(name);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("workload.toml"), definition).unwrap();
        let program = folder.join("cell");
        if name == "hostile" {
            compile(&program)
        } else {
            inherited::compile(&program)
        }
        own.folder(name);
        for file in ["workload.toml", "cell"] {
            own.file(&format!("{name}/{file}"), &fs::read(folder.join(file)).unwrap());
        }
    }
    let mut booted = None;
    for (name, experiment) in
        [("inside", EXPERIMENT), ("hostile", HOSTILE), ("inherited", INHERITED)]
    {
        let path = desk.write(&format!("{name}.toml"), experiment);
        let experiment = Experiment::parse(experiment).unwrap();
        let (experiment, folders) = embed(experiment, path.parent().unwrap()).unwrap();
        let lab = Preparation::new(provision(), None).on(BackendKind::Host).with_folders(&folders);
        let manifest = lab.resolve(experiment).unwrap().manifest;
        let recording = format!("recording-{name}");
        drop(RecordingWriter::open(&desk.path(&recording), &manifest).unwrap());
        let json = fs::read(desk.path(&format!("{recording}/recording.json"))).unwrap();
        own.folder(&recording).file(&format!("{recording}/recording.json"), &json);
        own.file(&format!("{name}.toml"), &fs::read(&path).unwrap());
        let image = fs::read(store.image(manifest.images[0].sha256)).unwrap();
        own.file(&format!("store/images/{}", manifest.images[0].sha256), &image);
        booted.get_or_insert((image, store.kernel_image(manifest.kernels[0].image_sha256)));
    }
    own.file("first", &fs::read(std::env::current_exe().unwrap()).unwrap());
    own.file("preemptlab", &fs::read(env!("CARGO_BIN_EXE_preemptlab")).unwrap());
    // The kernel unpacks one archive after the other, each from a multiple of four bytes.
    let (mut initrd, kernel) = booted.unwrap();
    initrd.resize(initrd.len().next_multiple_of(4), 0);
    initrd.extend(own.finish());
    let path = desk.path("initrd");
    fs::write(&path, initrd).unwrap();
    Machine { qemu, kernel, initrd: path }
}

/// Compiles the program that tries to get out.
fn compile(program: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile/cell.c");
    let built = Command::new("gcc")
        .args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-static", "-o"])
        .args([program, &source])
        .status();
    assert!(built.unwrap().success());
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

/// Boots the machine and waits for its end; returns its output. Its clocks count instructions, of 8
/// ns each, and jump where it sleeps; it ends itself if that takes too long.
fn boot(machine: &Machine, console: &Path) -> String {
    let (program, fixed) = machine.qemu.split_first().unwrap();
    let serial = format!("file:{}", console.display());
    let append = "console=ttyS0 quiet panic=-1 rdinit=/first -- vm_host::first_process --exact --ignored \
                  --nocapture";
    let mut qemu = Command::new(program);
    qemu.args(fixed)
        .args(["-machine", "q35", "-accel", "tcg,thread=single", "-icount", "shift=3,sleep=off"])
        .args(["-rtc", "clock=vm", "-cpu", "max", "-smp", "2", "-m", "2048", "-nodefaults"])
        .args(["-display", "none", "-no-reboot", "-serial", &serial])
        .arg("-kernel")
        .arg(&machine.kernel)
        .arg("-initrd")
        .arg(&machine.initrd)
        .args(["-append", append])
        .stdin(Stdio::null());
    assert!(qemu.status().unwrap().success());
    String::from_utf8_lossy(&fs::read(console).unwrap()).replace('\r', "")
}
