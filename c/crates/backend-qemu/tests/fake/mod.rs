//! A fake QEMU, so that the lifecycle can be tested without one.
#![allow(dead_code, reason = "every test file uses a part of it")]

use std::{ffi::OsString, fs, path::PathBuf, time::Duration};

use preemptlab_backend_qemu::{Config, Limits, Vm};
use preemptlab_model::{CellInputs, Digest, PreemptMode};
use preemptlab_protocol::{FORMAT, Message, Report, System, frame};

/// Time that no test takes, however busy the machine is.
pub const LONG: Duration = Duration::from_secs(3600);

/// The folder that the fake QEMU works in.
pub struct Fake {
    pub folder: PathBuf,
}

impl Fake {
    /// Creates a fake QEMU in a new folder, or in one of another process.
    pub fn new(folder: PathBuf) -> Self {
        let message = |message| frame::encode(&message).unwrap();
        fs::write(folder.join("ready"), message(Message::Ready(System::default()))).unwrap();
        fs::write(folder.join("done"), message(done())).unwrap();
        Self { folder }
    }

    /// Returns a backend whose QEMU behaves like this.
    pub fn vm(&self, behaviour: &str, wall: Duration) -> Vm {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fake/qemu.sh");
        let folder = self.folder.clone();
        let command = vec!["/bin/sh".into(), script.into(), folder.into(), behaviour.into()];
        self.vm_with(command, wall)
    }

    /// Returns a backend that runs this command.
    pub fn vm_with(&self, command: Vec<OsString>, wall: Duration) -> Vm {
        Vm::new(Config {
            command,
            artifacts: ["kernel", "image"]
                .map(|name| {
                    let path = self.folder.join(name);
                    fs::write(&path, name).unwrap();
                    (Digest::of(name.as_bytes()), path)
                })
                .into(),
            snapshots: self.snapshots(),
            limits: Limits { boot_wall: wall, cell_wall: wall },
        })
    }

    pub fn snapshots(&self) -> PathBuf {
        self.folder.join("snapshots")
    }

    /// Returns the names in the folder of snapshots.
    pub fn snapshot_names(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.snapshots()) else { return Vec::new() };
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// Returns the lines that a fake QEMU wrote to a file.
    pub fn lines(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.folder.join(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Returns the processes of fake QEMUs that still exist, zombies included.
    pub fn left(&self) -> Vec<String> {
        let mut pids = self.lines("pids");
        pids.retain(|pid| PathBuf::from(format!("/proc/{pid}")).exists());
        pids
    }
}

pub fn done() -> Message {
    Message::Done(Report {
        format: FORMAT,
        system: System::default(),
        window: Default::default(),
        activity: Default::default(),
        kernel_threads_ns: Default::default(),
        load: vec![],
        probes: vec![],
    })
}

pub fn cell() -> CellInputs {
    preemptlab_testkit::cell(PreemptMode::Full)
}
