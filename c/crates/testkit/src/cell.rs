use preemptlab_model::{
    Arch, BackendKind, CellInputs, Digest, InstructionCost, Machine, PreemptMode, QemuBuild,
    SnapshotInputs,
};
use preemptlab_protocol::{FORMAT, Job, LoadStart};

/// Returns a machine with `cpus` CPUs, on which every instruction takes the same time.
pub fn machine(cpus: u32) -> Machine {
    Machine {
        arch: Arch::Amd64,
        cpus,
        memory_mib: 512,
        cost: InstructionCost::default(),
        lookahead: None,
        topology: None,
        prices: None,
        without: Default::default(),
    }
}

/// Returns a cell in virtual time with one CPU, in a mode, that has nothing to do.
pub fn cell(preempt: PreemptMode) -> CellInputs {
    CellInputs {
        snapshot: SnapshotInputs {
            backend: BackendKind::Vm,
            kernel_sha256: Digest::of(b"kernel"),
            cmdline: "quiet".to_owned(),
            image_sha256: Digest::of(b"image"),
            machine: machine(1),
            qemu: Some(QemuBuild { version: "0".to_owned(), digest: Digest::of(b"qemu") }),
        },
        job: Job {
            format: FORMAT,
            seed: 1,
            preempt: preempt.as_str().to_owned(),
            hz: None,
            settings: vec![],
            skew_ns: None,
            limit_ns: 1,
            load_start: LoadStart { written_bytes_min: 0, settle_ns: 0 },
            load: vec![],
            probes: vec![],
        },
    }
}
