//! QEMU's arguments, as a pure function of the inputs.
//!
//! Everything that a guest can see of the machine is fixed here or comes from the inputs: virtual
//! time counts instructions (`-icount`), the clock starts at a fixed date, random numbers come from
//! `-seed`, and no device answers asynchronously. Boot and cell must have the same devices, or the
//! snapshot cannot be loaded.
//!
//! With hardware virtualisation time is the host's: everything else stays as it is.

use std::ffi::OsString;

use preemptlab_model::SnapshotInputs;
use preemptlab_protocol::JOB_FILE;

use crate::{arch::board, topology};

/// The boot draws its random numbers from this seed, so that all cells share one past.
const BOOT_SEED: u64 = 1;

/// The bound of QEMU's cache of translated code, in MiB. QEMU's own default of 1 GiB would let a
/// process grow far beyond its guest's memory. A guest's work does not depend on the bound: a turn
/// that QEMU leaves because the cache is full continues (the turnstile's `clocks.rs`).
pub(crate) const TRANSLATION_CACHE_MIB: u32 = 128;

/// QEMU's environment in virtual time, besides the variables of the turnstile.
///
/// QEMU computes the results of some instructions of the x87 (FSIN, FCOS, FPTAN, FSINCOS) by the
/// host's mathematics library, and the GNU C library has those functions with and without fused
/// multiplication, which round differently. It takes those without on every host
/// (`glibc.cpu.hwcaps`).
pub(crate) const ENVIRONMENT: [(&str, &str); 1] =
    [("GLIBC_TUNABLES", "glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2")];

/// Files that QEMU reads and writes: descriptors that it inherits, so that its messages name no
/// file of this machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paths<'a> {
    /// Kernel image (bzImage).
    pub(crate) kernel: &'a str,
    /// Guest image (initramfs).
    pub(crate) image: &'a str,
    /// Receives the serial console.
    pub(crate) console: &'a str,
    /// Receives the results port.
    pub(crate) results: &'a str,
}

/// Purpose for which QEMU is started.
#[derive(Clone, Debug)]
pub(crate) enum Role<'a> {
    /// QEMU boots the guest.
    Boot,
    /// QEMU loads a snapshot and executes a cell.
    Cell {
        /// Seed of the guest's random numbers.
        seed: u64,
        /// Holds the job, as JSON.
        job: &'a str,
        /// The value of `-plugin`.
        plugin: Option<String>,
    },
}

/// Returns the arguments, without the program. The monitor is on standard input and output.
pub(crate) fn arguments(
    inputs: &SnapshotInputs,
    paths: Paths<'_>,
    role: Role<'_>,
) -> Vec<OsString> {
    let machine = &inputs.machine;
    let seed = match &role {
        Role::Boot => BOOT_SEED,
        Role::Cell { seed, .. } => *seed,
    };
    let board = board(machine);
    let mut arguments = Arguments::default();
    arguments
        // The turnstile knows the thread of the CPUs by its name.
        .option("-name", "debug-threads=on")
        .flag("-nodefaults")
        .flag("-no-user-config")
        .flag("-no-reboot")
        .flag("-S")
        .option("-display", "none")
        .option("-sandbox", SANDBOX)
        .option("-machine", board.machine);
    if inputs.backend.is_vm() {
        arguments
            .option("-accel", format!("tcg,tb-size={TRANSLATION_CACHE_MIB}"))
            .option("-icount", format!("shift={},sleep=off", machine.cost.shift()))
            .option("-cpu", board.cpu);
    } else {
        arguments.option("-accel", "kvm").option("-cpu", "host");
    }
    arguments.option("-smp", topology::cpus(machine)).option("-m", machine.memory_mib.to_string());
    for (option, value) in topology::nodes(machine) {
        arguments.option(option, value);
    }
    arguments
        .option("-rtc", "clock=vm,base=2026-01-01")
        .option("-seed", seed.to_string())
        .option("-kernel", paths.kernel)
        .option("-initrd", paths.image)
        .option("-append", &inputs.cmdline)
        .option("-chardev", "stdio,id=monitor,signal=off")
        .option("-mon", "chardev=monitor,mode=control")
        .option("-chardev", format!("file,id=console,path={}", paths.console))
        .option("-serial", "chardev:console")
        .option("-chardev", format!("file,id=results,path={}", paths.results));
    for (option, device) in board.devices {
        arguments.option(option, device);
    }
    arguments.option("-action", "watchdog=pause");
    if let Role::Cell { job, plugin, .. } = role {
        arguments
            .option("-incoming", "defer")
            .option("-fw_cfg", format!("name={JOB_FILE},file={job}"));
        if let Some(plugin) = plugin {
            arguments.option("-plugin", plugin);
        }
    }
    arguments.0
}

/// QEMU may not start programs, gain privileges or change its scheduling.
const SANDBOX: &str = "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny";

#[derive(Default)]
struct Arguments(Vec<OsString>);

impl Arguments {
    fn flag(&mut self, flag: &str) -> &mut Self {
        self.0.push(flag.into());
        self
    }

    fn option(&mut self, option: &str, value: impl Into<OsString>) -> &mut Self {
        self.0.push(option.into());
        self.0.push(value.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use preemptlab_model::{Arch, BackendKind, Digest, InstructionCost, Machine, QemuBuild};

    use super::*;

    fn inputs(cpus: u32, shift: u8) -> SnapshotInputs {
        let cost = InstructionCost::try_from(shift).unwrap();
        SnapshotInputs {
            backend: Default::default(),
            kernel_sha256: Digest::of(b"kernel"),
            cmdline: "console=ttyS0 quiet, panic=-1".into(),
            image_sha256: Digest::of(b"image"),
            machine: Machine {
                arch: Arch::Amd64,
                cpus,
                memory_mib: 512,
                cost,
                lookahead: None,
                topology: None,
                prices: None,
                without: Default::default(),
            },
            qemu: Some(QemuBuild { version: "10.0.13".into(), digest: Digest::of(b"qemu") }),
        }
    }

    fn lines(inputs: &SnapshotInputs, role: Role<'_>) -> String {
        let paths = Paths {
            kernel: "/proc/self/fd/5",
            image: "/proc/self/fd/6",
            console: "/proc/self/fd/7",
            results: "/proc/self/fd/8",
        };
        let mut lines = String::new();
        for word in arguments(inputs, paths, role) {
            let word = word.into_string().unwrap();
            if word.starts_with('-') && !lines.is_empty() {
                lines.push('\n');
            } else if !lines.is_empty() {
                lines.push(' ');
            }
            lines.push_str(&word);
        }
        lines + "\n"
    }

    #[test]
    fn a_boot() {
        let expected = "-name debug-threads=on\n-nodefaults\n-no-user-config\n-no-reboot\n-S\n-display none\n\
            -sandbox on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny\n\
            -machine q35,hpet=off\n-accel tcg,tb-size=128\n-icount shift=1,sleep=off\n\
            -cpu max\n-smp 1\n-m 512\n-rtc clock=vm,base=2026-01-01\n-seed 1\n\
            -kernel /proc/self/fd/5\n-initrd /proc/self/fd/6\n\
            -append console=ttyS0 quiet, panic=-1\n\
            -chardev stdio,id=monitor,signal=off\n-mon chardev=monitor,mode=control\n\
            -chardev file,id=console,path=/proc/self/fd/7\n-serial chardev:console\n\
            -chardev file,id=results,path=/proc/self/fd/8\n\
            -device isa-debugcon,iobase=0xe9,chardev=results\n\
            -device isa-debug-exit,iobase=0x501,iosize=1\n\
            -device ib700\n-action watchdog=pause\n";
        assert_eq!(lines(&inputs(1, 1), Role::Boot), expected);
    }

    #[test]
    fn a_guest_of_arm64_has_another_board() {
        let amd64 = lines(&inputs(2, 1), Role::Boot);
        let mut of_arm64 = inputs(2, 1);
        of_arm64.machine.arch = Arch::Arm64;
        let arm64 = lines(&of_arm64, Role::Boot);
        let differing: Vec<_> = arm64.lines().filter(|line| !amd64.contains(line)).collect();
        assert_eq!(
            differing,
            [
                "-machine virt,gic-version=3,highmem-ecam=off",
                "-cpu neoverse-n1",
                "-serial chardev:results",
                "-device i6300esb,addr=0x1",
                "-device pvpanic-pci,addr=0x2",
            ]
        );
    }

    #[test]
    fn a_topology_has_its_caches_and_nodes() {
        let four = lines(&inputs(4, 1), Role::Boot);
        let mut of_nodes = inputs(4, 1);
        let text = r#"{"sockets":2,"threads":2,"numa_nodes":2,"caches":{"l2":"socket"}}"#;
        of_nodes.machine.topology = Some(serde_json::from_str(text).unwrap());
        let nodes = lines(&of_nodes, Role::Boot);
        let differing: Vec<_> = nodes.lines().filter(|line| !four.contains(line)).collect();
        assert_eq!(
            differing,
            [
                "-machine q35,hpet=off,smp-cache.0.cache=l1d,smp-cache.0.topology=core,\
                 smp-cache.1.cache=l1i,smp-cache.1.topology=core,smp-cache.2.cache=l2,\
                 smp-cache.2.topology=socket,smp-cache.3.cache=l3,smp-cache.3.topology=socket",
                "-cpu max,vendor=GenuineIntel",
                "-smp 4,sockets=2,cores=1,threads=2",
                "-object memory-backend-ram,id=node0,size=256M",
                "-numa node,nodeid=0,cpus=0-1,memdev=node0",
                "-object memory-backend-ram,id=node1,size=256M",
                "-numa node,nodeid=1,cpus=2-3,memdev=node1",
            ]
        );
        // The board of arm64 tells a kernel of no caches.
        of_nodes.machine.arch = Arch::Arm64;
        let arm64 = lines(&of_nodes, Role::Boot);
        let of_topology = ["-machine", "-smp", "-object", "-numa"];
        let of_topology = |line: &&str| of_topology.iter().any(|option| line.starts_with(option));
        let machine = ["-machine virt,gic-version=3,highmem-ecam=off"];
        let expected: Vec<_> = machine.iter().chain(&differing[2..]).copied().collect();
        assert_eq!(arm64.lines().filter(of_topology).collect::<Vec<_>>(), expected);
    }

    /// The devices of boot and cell must be the same.
    #[test]
    fn a_cell_differs_from_its_boot_in_seed_and_job_only() {
        let boot = lines(&inputs(1, 1), Role::Boot);
        let role = Role::Cell { seed: u64::MAX, job: "/proc/self/fd/9", plugin: None };
        assert_eq!(
            lines(&inputs(1, 1), role),
            boot.replace("-seed 1\n", "-seed 18446744073709551615\n")
                + "-incoming defer\n\
                   -fw_cfg name=opt/preemptlab/job,file=/proc/self/fd/9\n"
        );
    }

    #[test]
    fn hardware_virtualisation_takes_the_hosts_time() {
        let tcg = lines(&inputs(2, 0), Role::Boot);
        let kvm = SnapshotInputs { backend: BackendKind::Kvm, ..inputs(2, 0) };
        let kvm = lines(&kvm, Role::Boot);
        let differing: Vec<_> = kvm.lines().filter(|line| !tcg.contains(line)).collect();
        assert_eq!(differing, ["-accel kvm", "-cpu host"]);
        assert!(!kvm.contains("icount"));
    }

    #[test]
    fn the_machine_is_what_the_inputs_say() {
        let one = lines(&inputs(1, 1), Role::Boot);
        let two = lines(&inputs(2, 0), Role::Boot);
        let differing: Vec<_> = two.lines().filter(|line| !one.contains(line)).collect();
        assert_eq!(differing, ["-icount shift=0,sleep=off", "-smp 2"]);
    }
}
