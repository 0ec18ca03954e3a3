//! Circumstances that must not matter to a cell: QEMU's translation cache, tracing, the host's processor, memory,
//! environment and load.

mod disturbance;

use disturbance::Disturbance;

/// Circumstance that must not matter.
#[derive(Clone, Copy)]
pub struct Perturbation {
    pub name: &'static str,
    /// The program that starts QEMU, with its arguments.
    pub starter: &'static [&'static str],
    /// Arguments of QEMU, before all others: of several accelerators it takes the first.
    pub arguments: &'static [&'static str],
    pub is_traced: bool,
    /// Whether the kernel is booted under it too; else only the cell is executed.
    pub boots: bool,
    pub disturbance: Disturbance,
}

pub const NOTHING: Perturbation = Perturbation {
    name: "nothing",
    starter: &[],
    arguments: &[],
    is_traced: false,
    boots: false,
    disturbance: Disturbance::None,
};

const SMALL_CACHE: &[&str] = &["-accel", "tcg,tb-size=8"];

const LARGE_CACHE: &[&str] = &["-accel", "tcg,tb-size=1024"];

/// The cache is full again and again.
pub const SMALL: Perturbation = Perturbation {
    name: "cache of 8 MiB, the boot's too",
    arguments: SMALL_CACHE,
    boots: true,
    ..NOTHING
};

/// Code of another size, too.
pub const SMALL_TRACED: Perturbation = Perturbation {
    name: "cache of 8 MiB, traced",
    arguments: SMALL_CACHE,
    is_traced: true,
    ..NOTHING
};

pub const ONE_BY_ONE: Perturbation = Perturbation {
    name: "blocks of one instruction",
    arguments: &["-accel", "tcg,one-insn-per-tb=on"],
    ..NOTHING
};

pub const TRACED: Perturbation = Perturbation { name: "traced", is_traced: true, ..NOTHING };

/// The C library without the instructions of processors of the last ten years, and memory that is
/// never zero by luck.
const TUNABLES: &str = "GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX2,-AVX,-FMA,-FMA4,\
    -BMI2,-SSE4_1,-SSSE3,-ERMS:glibc.malloc.perturb=165:glibc.malloc.tcache_count=0:\
    glibc.malloc.arena_max=1";

pub const LIBRARY: Perturbation = Perturbation {
    name: "C library's functions and memory",
    starter: &["env", TUNABLES],
    ..NOTHING
};

pub const SURROUNDINGS: Perturbation = Perturbation {
    name: "environment, locale, time zone, umask, folder",
    starter: &[
        "env",
        "--chdir=/",
        "LC_ALL=tr_TR.UTF-8",
        "LANG=tr_TR.UTF-8",
        "TZ=Pacific/Kiritimati",
        "HOME=/nonexistent",
        "TMPDIR=/nonexistent",
        "QEMU_AUDIO_DRV=none",
        "PREEMPTLAB_ANYTHING=at-all",
        "sh",
        "-c",
        "umask 077; exec \"$@\"",
        "sh",
    ],
    boots: true,
    ..NOTHING
};

pub const STOPPED: Perturbation = Perturbation {
    name: "stopped and continued at random",
    disturbance: Disturbance::Stops,
    ..NOTHING
};

pub const BUSY: Perturbation =
    Perturbation { name: "busy host", disturbance: Disturbance::Hogs, ..NOTHING };

pub const SIGNALLED: Perturbation =
    Perturbation { name: "a storm of signals", disturbance: Disturbance::Signals, ..NOTHING };

/// Clocks that are 127 years ahead (time_namespaces(7)), and no large files.
const AHEAD: Perturbation = Perturbation {
    name: "clocks far ahead, a limit on files",
    starter: &[
        "unshare",
        "--user",
        "--map-root-user",
        "--time",
        "--monotonic",
        "4000000000",
        "--boottime",
        "4000000000",
        "sh",
        "-c",
        "ulimit -f 65536; exec \"$@\"",
        "sh",
    ],
    ..NOTHING
};

/// Clocks that begin with QEMU.
const BACK: Perturbation = Perturbation {
    name: "clocks set back",
    starter: &[
        "sh",
        "-c",
        "up=$(cut -d. -f1 /proc/uptime)
        exec unshare --user --map-root-user --time --monotonic -$up --boottime -$up \"$@\"",
        "sh",
    ],
    ..NOTHING
};

/// A library that the machine loads into every program (ld.so(8)), in a folder /etc of QEMU's own.
const PRELOADED: Perturbation = Perturbation {
    name: "ld.so.preload",
    starter: &[
        "unshare",
        "--user",
        "--map-root-user",
        "--mount",
        "sh",
        "-ec",
        "mount -t tmpfs none /mnt
        mkdir /mnt/upper /mnt/work
        mount -t overlay -o lowerdir=/etc,upperdir=/mnt/upper,workdir=/mnt/work none /etc
        /sbin/ldconfig -p | sed -n 's/.*libm.so.6 .*=> //p' | head -n 1 > /etc/ld.so.preload
        test -s /etc/ld.so.preload
        exec \"$@\"",
        "sh",
    ],
    ..NOTHING
};

/// An emulated processor of 2008, for all of QEMU. Emulation has no filter of system calls.
pub const OLD_PROCESSOR: Perturbation = Perturbation {
    name: "emulated processor of 2008",
    starter: &[
        "sh",
        "-c",
        "n=$#; while [ $n -gt 0 ]; do
            case $1 in -sandbox) shift; n=$((n - 1)) ;; *) set -- \"$@\" \"$1\" ;; esac
            shift; n=$((n - 1))
        done
        preload=$LD_PRELOAD; unset LD_PRELOAD
        exec \"$(command -v qemu-x86_64-static || echo qemu-x86_64)\" -E LD_PRELOAD=\"$preload\" \
            -cpu Nehalem \"$@\"",
        "sh",
    ],
    ..NOTHING
};

/// All circumstances that can be varied at the same time: if they make no difference together, none
/// does.
pub const AT_ONCE: Perturbation = Perturbation {
    name: "at once: all that goes together",
    starter: &[
        "setarch",
        "--addr-no-randomize",
        "--addr-compat-layout",
        "env",
        "--chdir=/",
        TUNABLES,
        "LC_ALL=tr_TR.UTF-8",
        "LANG=tr_TR.UTF-8",
        "TZ=Pacific/Kiritimati",
        "HOME=/nonexistent",
        "TMPDIR=/nonexistent",
        "PREEMPTLAB_ANYTHING=at-all",
        "sh",
        "-c",
        "umask 077
        first=$(taskset --cpu-list --pid $$ | sed 's/.*: \\([0-9]*\\).*/\\1/')
        exec taskset --cpu-list \"$first\" \"$@\"",
        "sh",
    ],
    arguments: &["-accel", "tcg,split-wx=on,tb-size=8"],
    is_traced: true,
    boots: true,
    disturbance: Disturbance::Stops,
};

/// The opposite values, where those differ from an undisturbed cell; all host CPUs together show
/// differences that one of them hides.
pub const OTHERWISE: Perturbation = Perturbation {
    name: "at once: cache of 1024 MiB, no huge pages",
    arguments: LARGE_CACHE,
    disturbance: Disturbance::NoHugePages,
    ..NOTHING
};

/// Everything, from the cheapest to the dearest.
pub const ALL: &[Perturbation] = &[
    NOTHING,
    SMALL,
    Perturbation { name: "cache of 1024 MiB", arguments: LARGE_CACHE, ..NOTHING },
    TRACED,
    SMALL_TRACED,
    Perturbation {
        name: "code mapped twice, cache of 8 MiB",
        arguments: &["-accel", "tcg,split-wx=on,tb-size=8"],
        ..NOTHING
    },
    Perturbation {
        name: "one host CPU",
        starter: &[
            "sh",
            "-c",
            "first=$(taskset --cpu-list --pid $$ | sed 's/.*: \\([0-9]*\\).*/\\1/')
            exec taskset --cpu-list \"$first\" \"$@\"",
            "sh",
        ],
        ..NOTHING
    },
    Perturbation {
        name: "no address-space randomisation",
        starter: &["setarch", "--addr-no-randomize"],
        boots: true,
        ..NOTHING
    },
    Perturbation {
        name: "older layout of the address space",
        starter: &["setarch", "--addr-compat-layout"],
        ..NOTHING
    },
    Perturbation { name: "no huge pages", disturbance: Disturbance::NoHugePages, ..NOTHING },
    LIBRARY,
    SURROUNDINGS,
    STOPPED,
    SIGNALLED,
    AHEAD,
    BACK,
    PRELOADED,
    BUSY,
    ONE_BY_ONE,
];
