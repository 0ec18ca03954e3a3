//! Counts of instructions in a real guest, and calibrations that are ended on their way.
//!
//! Packages and snapshots are kept in the user's own store, or in `PREEMPTLAB_STORE`.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader, Read},
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{ExitStatus, Stdio},
    sync::atomic::AtomicBool,
};

use crate::common::{self, Desk, Finished};
use preemptlab_calibrate::{
    COLD, Counted, Exchange, MODULE, MachineCaches, MicroCell, Moved, NoCaches, PairPass, Place,
    Site, TIMED_ALONE, Target, Tlb, Tlbs, Told, ToldCaches, counting_cell, pair_cell,
};
use preemptlab_lab::{Preparation, Prepared};
use preemptlab_model::{Arch, Profile};
use preemptlab_protocol::{
    Message,
    caches::{Distance, Penalties, Penalty, Transfer},
    prices::{Class, Price, Prices},
};
use preemptlab_provision::{Options, Provision, Store, micro};
use preemptlab_runner::Cancel;
use rustix::process::{Pid, Signal, kill_process};

fn target(arch: Arch) -> Target<'static> {
    Target { program: micro(arch), arch, cpu: None }
}

fn prepared(arch: Arch, place: Place) -> Prepared {
    let MicroCell { experiment, folders } = counting_cell(target(arch), place);
    let store = Store::open(common::lasting_store()).unwrap();
    let provision = Provision::new(store, arch, Options::default(), &|_| ());
    Preparation::new(provision, None).with_folders(&folders).resolve(experiment).unwrap()
}

/// Returns the guest's output, and the counts in it.
fn count(prepared: &Prepared, file: &Path) -> (Message, String) {
    let out = File::create(file).unwrap();
    let cell = prepared.manifest.plan.cells[0].inputs().unwrap();
    let message = prepared.vm().count(cell, &out, &Cancel::default()).unwrap().message;
    let mut counts = String::new();
    File::open(file).unwrap().read_to_string(&mut counts).unwrap();
    (message, counts)
}

/// Prints the instructions of an operation, which docs/calibrate.md quotes.
fn show(counted: &Counted) {
    for (name, counts) in counted.of_operations() {
        let executed = Class::ALL.iter().filter(|class| counts[class.index()] > 0.0);
        let executed = executed.map(|class| format!("{class} {:.2}", counts[class.index()]));
        println!("{name}: {}", executed.collect::<Vec<_>>().join(", "));
    }
}

#[test]
fn instructions_are_counted_by_class_and_always_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let prepared = prepared(Arch::Amd64, Place::Program);
    let first = count(&prepared, &folder.path().join("first"));
    let counted = Counted::read(&first.0, &first.1).unwrap();
    show(&counted);
    let of = |name: &str, class: Class| counted.of_operations()[name][class.index()];

    // A loop of 48 instructions, and the two that count it down.
    assert!(
        (48.99..49.2).contains(&of("alu", Class::UserPlain)),
        "{}",
        of("alu", Class::UserPlain)
    );
    assert!((0.99..1.01).contains(&of("alu", Class::UserBranch)));
    assert!((0.99..1.05).contains(&of("null-call", Class::Syscall)));
    assert!((0.99..1.05).contains(&of("null-call", Class::Sysret)));
    assert!(of("null-call", Class::KernelPlain) > 20.0);
    assert!((1.0..1.1).contains(&of("page-fault", Class::EntryFault)));
    assert!((1.0..1.1).contains(&of("breakpoint", Class::EntryException)));
    assert!((0.9..1.5).contains(&of("timer", Class::EntryTimer)));
    assert!((1.9..2.2).contains(&of("pipe-ping-pong", Class::Cr3)));
    // The guest does not see the features with which kernels copy byte by byte.
    assert!(of("read-zero-65536", Class::StringByte) < 100.0);

    let second = count(&prepared, &folder.path().join("second"));
    assert_eq!(second, first);
}

#[test]
fn instructions_of_arm64_are_counted_by_class_and_always_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let prepared = prepared(Arch::Arm64, Place::Program);
    let first = count(&prepared, &folder.path().join("first"));
    let counted = Counted::read(&first.0, &first.1).unwrap();
    show(&counted);
    let of = |name: &str, class: Class| counted.of_operations()[name][class.index()];
    for (name, class, least, most) in [
        // A loop of 48 instructions, and the two that count it down.
        ("alu", Class::UserPlain, 48.99, 49.2),
        ("alu", Class::UserBranch, 0.99, 1.01),
        ("locked", Class::Locked, 1.99, 2.05),
        ("counter", Class::Counter, 0.99, 1.05),
        ("fences", Class::Fence, 2.99, 3.05),
        ("isb", Class::Isb, 0.99, 1.05),
        ("yield", Class::Pause, 3.99, 4.05),
        ("register", Class::Mrs, 0.99, 1.05),
        ("clear-line", Class::DcZva, 3.99, 4.05),
        ("null-call", Class::EntrySync, 0.99, 1.05),
        ("null-call", Class::Eret, 0.99, 1.05),
        ("page-fault", Class::EntrySync, 1.0, 1.1),
        // The breakpoint and the end of its handler.
        ("breakpoint", Class::EntrySync, 1.99, 2.1),
        ("timer", Class::EntryIrq, 0.9, 1.5),
        ("pipe-ping-pong", Class::Ttbr, 1.9, 20.0),
    ] {
        let count = of(name, class);
        assert!((least..most).contains(&count), "{name}: {count} of {class}");
    }
    assert!(of("null-call", Class::KernelPlain) > 20.0);
    let second = count(&prepared, &folder.path().join("second"));
    assert_eq!(second, first);
}

/// Another machine is one of arm64 that is emulated here: for its function, and not for its times.
#[test]
#[ignore = "needs qemu-aarch64-static, and takes minutes: a part of make nightly"]
fn a_machine_of_arm64_is_calibrated_from_here() {
    let desk = Desk::new();
    let run = |args: &[&str]| Finished::new(desk.lasting_command(args).output().unwrap());
    run(&["system", "calibrate", "--program", "arm64"]).succeeds();
    let by = ["system", "calibrate", "--by", "qemu-aarch64-static ./micro", "--out", "board.toml"];
    let finished = run(&by);
    if finished.code == 0 {
        let profile: Profile =
            toml::from_str(&fs::read_to_string(desk.path("board.toml")).unwrap()).unwrap();
        assert_eq!(profile.arch, Arch::Arm64);
        assert_eq!(profile.cpu, None);
        let fit = profile.fit.unwrap();
        assert_eq!((fit.held_out, fit.benchmarks > 50), (12, true));
    } else {
        // An emulator that translates code while it is measured is a machine whose times do not come again.
        assert!(finished.stderr.contains("cannot be calibrated now"), "{}", finished.stderr);
    }
}

/// Returns the benchmarks of the module, as its source names them.
fn of_module() -> Vec<&'static str> {
    let source = include_str!("../../../kmod/micro/meter.c");
    let names = source.lines().filter_map(|line| line.trim().strip_prefix("{ \""));
    names.filter_map(|rest| rest.split('"').next()).collect()
}

#[test]
fn what_the_module_executes_is_counted_and_always_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let prepared = prepared(Arch::Amd64, Place::Kernel);
    let first = count(&prepared, &folder.path().join("first"));
    let counted = Counted::read(&first.0, &first.1).unwrap();
    show(&counted);
    let counted_names: Vec<_> = counted.of_operations().keys().map(String::as_str).collect();
    let mut names = of_module();
    names.retain(|name| !TIMED_ALONE.contains(name));
    names.sort_unstable();
    assert_eq!(counted_names, names);
    let of = |name: &str, class: Class| counted.of_operations()[name][class.index()];
    for (name, class, most) in [
        ("kernel-rdmsr", Class::Rdmsr, 1.05),
        ("kernel-wrmsr", Class::Wrmsr, 1.05),
        ("kernel-cr3", Class::Cr3, 1.05),
        ("kernel-invlpg", Class::Invlpg, 1.05),
        ("kernel-flags", Class::Flags, 2.05),
        ("kernel-system", Class::System, 2.05),
        ("kernel-port", Class::Port, 1.05),
        ("kernel-self-ipi", Class::EntryIpi, 1.5),
        ("kernel-timer", Class::EntryTimer, 1.5),
        ("kernel-halt", Class::Halt, 1.05),
    ] {
        let (count, least) = (of(name, class), f64::floor(most) - 0.01);
        assert!((least..=most).contains(&count), "{name}: {count} of {class}");
    }
    // One wakeup and one switch: the CPU is not idle in between, and nothing interrupts it. Each switch
    // saves and loads GS, with two SWAPGS each.
    for class in [Class::Halt, Class::Iret, Class::EntryTimer, Class::EntryIpi] {
        assert_eq!(of("kernel-switch", class), 0.0, "{class}");
    }
    assert_eq!(of("kernel-switch", Class::Swapgs), 4.0);
    // Prices know no caches: a switch with cold ones has the instructions of any other.
    for class in [Class::KernelPlain, Class::KernelMemory, Class::KernelBranch] {
        let [cold, warm] = [COLD[0], "kernel-switch"].map(|name| of(name, class));
        assert!(warm > 50.0 && (0.8..1.25).contains(&(cold / warm)), "{class}: {cold}, {warm}");
    }
    let second = count(&prepared, &folder.path().join("second"));
    assert_eq!(second, first);
}

/// Returns the figures of two CPUs of a guest with these prices, in nanoseconds: of the call of a busy CPU, and of the
/// round trips by futex and by pipe.
fn between(prices: &Prices) -> [f64; 3] {
    let MicroCell { experiment, folders } = pair_cell(target(Arch::default()));
    let store = Store::open(common::lasting_store()).unwrap();
    let provision = Provision::new(store, Arch::default(), Options::default(), &|_| ());
    let prepared =
        Preparation::new(provision, None).with_folders(&folders).resolve(experiment).unwrap();
    let cell = prepared.manifest.plan.cells[0].inputs().unwrap();
    let execution = prepared.vm().execute_priced(cell, prices, &Cancel::default()).unwrap();
    let pass = PairPass::read(&execution.message).unwrap();
    [Exchange::CallOther, Exchange::Futex, Exchange::Pipe]
        .map(|exchange| pass.of(exchange).unwrap().quartile_ns)
}

#[test]
fn what_two_cpus_do_for_each_other_follows_their_prices() {
    let prices = |ipi_ns: u32, halt_ns: u32| {
        Prices::new(Class::X86_64, |class| {
            Price::try_from(match class {
                Class::EntryIpi => ipi_ns * 256,
                Class::Halt => halt_ns * 256,
                _ => 64,
            })
            .unwrap()
        })
    };
    let base = between(&prices(1_000, 1));
    assert_eq!(between(&prices(1_000, 1)), base);
    let [call_ns, futex_ns, pipe_ns] = base;
    // A call has one interrupt; the sender waits for it.
    let dear = between(&prices(7_500, 1));
    assert!((dear[0] - call_ns - 6_500.0).abs() < 500.0, "{base:?}, {dear:?}");
    assert!(dear[1] > futex_ns + 6_500.0 && dear[2] > pipe_ns + 6_500.0, "{base:?}, {dear:?}");
    // A halt takes longer than what the other CPU does meanwhile.
    let slow = between(&prices(1_000, 30_000));
    assert!((slow[0] - call_ns).abs() < 100.0, "{base:?}, {slow:?}");
    assert!(slow[1] > futex_ns + 20_000.0 && slow[2] > pipe_ns + 20_000.0, "{base:?}, {slow:?}");
}

/// The caches of a virtual machine of an Intel Xeon, as they were measured there.
fn recorded() -> MachineCaches {
    let told = |kib: u64, ways| Told { bytes: kib << 10, ways };
    let (l1d, l1i, l2, l3) = (told(48, 12), told(32, 8), told(2048, 16), told(307_200, 20));
    let tlb = |entries| Tlb { entries, ways: None };
    let penalty = |waits, overlaps, streams| Penalty::new(waits, overlaps, streams).unwrap();
    MachineCaches {
        told: ToldCaches { cpu: 0, l1d, l1i, l2, l3: Some(l3) },
        alike: true,
        tlbs: Tlbs { dtlb: tlb(96), stlb: tlb(2048) },
        penalties: Penalties {
            l2: penalty(997, 29, 74),
            l3: Some(penalty(29_694, 23, 559)),
            memory: penalty(56_551, 2132, 956),
            stlb: penalty(632, 95, 0),
            walk: penalty(4320, 1504, 0),
        },
        memory_bytes: 1 << 30,
        huge_bytes: (1 << 30, 1 << 30),
    }
}

/// The program prints what its reader reads, and what a busy or an unknown machine does not tell is a reason.
#[test]
#[ignore = "takes long: a part of make nightly"]
fn a_profile_with_the_caches_of_this_machine_is_that_of_a_cell() {
    let never = AtomicBool::new(false);
    let site = Site::here(micro(Arch::default()), &never).unwrap();
    let measured = MachineCaches::measure(&site, 0, 1 << 29, &never, |passes| {
        println!("{passes:?}");
    });
    let found = match measured {
        Ok(found) => found,
        Err(NoCaches::Failed(error)) => panic!("{error}"),
        Err(reason) => {
            println!("{reason}");
            recorded()
        }
    };
    println!("{found:?}");
    let transfer = Transfer::try_from(25_600).unwrap();
    let caches = found.of_profile(Some(Moved { distance: Distance::Complex, transfer }));
    let fixture = include_str!("../../lab/tests/prices/fixture.toml");
    let profile = Profile { caches: Some(caches), ..toml::from_str(fixture).unwrap() };
    let desk = Desk::new();
    desk.write("measured.toml", &toml::to_string(&profile).unwrap());
    desk.write(
        "cell.toml",
        "format = 1\nname = \"cell\"\n[factors]\nkernel = [\"debian:6.12\"]\npreempt = [\"full\"]\ncpus = [2]\n\
         [replicates]\ncount = 1\n[machine]\ncost = \"measured.toml\"\ncaches = true\n\
         [workload.processes]\nkind = \"cyclictest-hackbench\"\nwindow = \"50ms\"\n",
    );
    let run = desk.lasting_command(&["run", "cell.toml", "--out", "cell", "--no-cache"]).output();
    Finished::new(run.unwrap()).succeeds();
}

#[test]
fn the_module_builds_for_kernels_with_preempt_rt_and_for_newer_ones() {
    let store = Store::open(common::lasting_store()).unwrap();
    let provision = Provision::new(store, Arch::default(), Options::default(), &|_| ());
    for kernel in ["debian:6.12", "debian:6.12-rt", "debian:7.2"] {
        let kernel = provision.kernel(&kernel.parse().unwrap()).unwrap();
        let modules = provision.modules(&kernel, &[MODULE]).unwrap();
        assert_eq!(modules.iter().map(|module| &module.name).collect::<Vec<_>>(), [MODULE]);
    }
}

/// Sends a calibration a signal once it has said something.
#[track_caller]
fn ended_at(desk: &Desk, said: &str, signal: Signal) -> ExitStatus {
    let mut command = desk.lasting_command(&["system", "calibrate", "--out", "machine.toml"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains(said)), "it never says {said}");
    kill_process(Pid::from_child(&child), signal).unwrap();
    child.wait().unwrap()
}

#[test]
fn a_calibration_that_is_ended_leaves_what_was_there() {
    let steps = [
        "counting the instructions of micro-benchmarks in a guest",
        "measuring micro-benchmarks on the machine",
    ];
    for (step, signal) in steps.iter().flat_map(|step| [(step, Signal::INT), (step, Signal::KILL)])
    {
        for old in [None, Some("the old one")] {
            let desk = Desk::new();
            if let Some(old) = old {
                desk.write("machine.toml", old);
            }
            let status = ended_at(&desk, step, signal);
            match signal {
                Signal::KILL => assert_eq!(status.signal(), Some(9), "{step}"),
                _ => assert_eq!(status.code(), Some(130), "{step}"),
            }
            let entries = fs::read_dir(desk.path(".")).unwrap();
            let left: Vec<_> = entries
                .map(|entry| {
                    let path = entry.unwrap().path();
                    (path.file_name().unwrap().to_owned(), fs::read_to_string(path).unwrap())
                })
                .collect();
            let expected = old.map(|old| ("machine.toml".into(), old.to_owned()));
            assert_eq!(left, Vec::from_iter(expected), "{step} {signal:?}");
        }
    }
}
