//! Tests that vary on purpose every circumstance that must not matter, and compare every digest:
//! QEMU's translation cache, tracing, the host's processor, memory, environment and load.
//!
//! A small part runs with every test; `make perturb` runs the rest. Packages and snapshots are kept in
//! the user's own store, or in `PREEMPTLAB_STORE`.

#![allow(clippy::print_stdout, reason = "the table is what the suite is for")]

mod common;
mod perturbation;

use std::{
    ffi::OsString,
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::Command,
};

use common::own_store;
use perturbation::{
    ALL, AT_ONCE, BUSY, LIBRARY, NOTHING, OLD_PROCESSOR, ONE_BY_ONE, OTHERWISE, Perturbation,
    SIGNALLED, SMALL, SMALL_TRACED, STOPPED, SURROUNDINGS, TRACED,
};
use preemptlab_analysis::scenario::{Loaded, Under, batches};
use preemptlab_backend_qemu::Vm;
use preemptlab_experiment::Experiment;
use preemptlab_lab::{Kernels, Preparation, Prepared, embed};
use preemptlab_model::{Arch, CellInputs, Digest};
use preemptlab_protocol::Message;
use preemptlab_provision::{Options, Provision, Store};
use preemptlab_recording::TraceFolder;
use preemptlab_runner::{Backend, Cancel, Execution, Stop, Tracing};
use preemptlab_scenario::{Model, Scenario};
use preemptlab_trace::Kernel;

/// Varies a small part of everything, for every `make test`: a cell that fills the cache.
#[test]
fn the_cache_does_not_matter() {
    perturb(&stolen("[2]", HACKBENCH), &[SMALL_TRACED]);
}

#[test]
#[ignore = "takes long: make perturb"]
fn signals_do_not_matter() {
    perturb(&stolen("[2]", HACKBENCH), &[SIGNALLED]);
}

/// A cell that computes.
#[test]
fn neither_the_c_library_nor_surroundings_matter() {
    perturb(&experiment("[1]", ARITHMETIC), &[LIBRARY, SURROUNDINGS]);
}

#[test]
fn neither_the_cache_nor_stops_matter_to_arm64() {
    let short = HACKBENCH.replace("250ms", "100ms");
    perturb(&arm64("[2]", &short), &[SMALL_TRACED, STOPPED]);
}

/// Tests of a workload on each number of CPUs, so that any part can be run by its name, as
/// `pgbench::on_2_cpus` or `at_once`, which takes the least time.
macro_rules! workloads {
    ($($name:ident: $text:expr;)*) => {$(
        mod $name {
            use super::{ALL, AT_ONCE, OTHERWISE, experiment, perturb};

            fn on(cpus: &str, perturbations: &[super::Perturbation]) {
                perturb(&experiment(cpus, $text), perturbations);
            }

            #[test]
            #[ignore = "takes long: make perturb"]
            fn at_once_on_1_cpu() {
                on("[1]", &[AT_ONCE, OTHERWISE]);
            }

            #[test]
            #[ignore = "takes long: make perturb"]
            fn at_once_on_2_cpus() {
                on("[2]", &[AT_ONCE, OTHERWISE]);
            }

            #[test]
            #[ignore = "takes long: make perturb"]
            fn at_once_on_4_cpus() {
                on("[4]", &[AT_ONCE, OTHERWISE]);
            }

            #[test]
            #[ignore = "takes long: make perturb"]
            fn at_once_on_8_cpus() {
                on("[8]", &[AT_ONCE, OTHERWISE]);
            }

            #[test]
            #[ignore = "takes long: make perturb"]
            fn on_1_cpu() {
                on("[1]", ALL);
            }

            #[test]
            #[ignore = "takes long: make perturb"]
            fn on_2_cpus() {
                on("[2]", ALL);
            }

            #[test]
            #[ignore = "takes long: make perturb"]
            fn on_4_cpus() {
                on("[4]", ALL);
            }
        }
    )*};
}

workloads! {
    cyclictest_hackbench: "[workload.hackbench]\nkind = \"cyclictest-hackbench\"\nwindow = \"1s\"\n";
    cyclictest: "[workload.idle]\nkind = \"cyclictest\"\nwindow = \"1s\"\n";
    cyclictest_stress: super::MIXED;
    stress_matrix: "[workload.matrix]\nkind = \"stress-ng\"\nduration = \"1s\"\n";
    stress_cpu: "[workload.cpu]\nkind = \"stress-ng\"\nstressor = \"cpu\"\nduration = \"1s\"\n";
    stress_fork: "[workload.fork]\nkind = \"stress-ng\"\nstressor = \"fork\"\nduration = \"1s\"\n";
    sockperf_tcp: "[workload.tcp]\nkind = \"sockperf\"\nwindow = \"1s\"\n";
    sockperf_udp: "[workload.udp]\nkind = \"sockperf\"\nprotocol = \"udp\"\nwindow = \"1s\"\n";
    build: "[workload.build]\nkind = \"build\"\nunits = 6\n";
    pgbench: "[workload.pgbench]\nkind = \"pgbench\"\nwindow = \"1s\"\n";
    arithmetic: super::ARITHMETIC;
}

/// Tests of cells on each number of CPUs, of which each can be run by its name, as `prices::build::on_4_cpus`.
macro_rules! on_each_number_of_cpus {
    ($($name:ident: $experiment:expr, $perturbations:expr;)*) => {$(
        mod $name {
            use super::*;

            fn on(cpus: &str) {
                perturb(&$experiment(cpus), $perturbations);
            }

            #[test]
            #[ignore = "takes long: make perturb"]
            fn on_1_cpu() {
                on("[1]");
            }

            #[test]
            #[ignore = "takes long: make perturb"]
            fn on_2_cpus() {
                on("[2]");
            }

            #[test]
            #[ignore = "takes long: make perturb"]
            fn on_4_cpus() {
                on("[4]");
            }
        }
    )*};
}

/// Instructions with prices: the places where QEMU leaves its execution must not change which
/// prices are paid, and when.
mod prices {
    use super::*;

    // Not in blocks of one instruction: the cost of a repeated string instruction depends on where
    // its block begins.
    on_each_number_of_cpus! {
        hackbench: |cpus| priced(cpus, HACKBENCH),
            &[SMALL, TRACED, SMALL_TRACED, STOPPED, SIGNALLED, AT_ONCE, OTHERWISE];
        build: |cpus| priced(cpus, BUILD), &[SMALL, AT_ONCE, OTHERWISE];
    }
}

/// Caches and stolen time: the places where QEMU leaves its execution, and its further records, must not change which
/// accesses miss, and where time is stolen.
mod caches {
    use super::*;

    on_each_number_of_cpus! {
        hackbench: |cpus| cached(cpus, HACKBENCH), &[SMALL, TRACED, AT_ONCE, OTHERWISE];
    }
}

/// Guests of arm64.
mod arm64 {
    use super::*;

    const MOST: &[Perturbation] =
        &[SMALL, SMALL_TRACED, TRACED, OTHERWISE, SURROUNDINGS, STOPPED, SIGNALLED, BUSY];

    /// All circumstances, one after the other and at once. Not in blocks of one instruction, in which a register that the
    /// kernel traps has another cost: docs/arm64.md.
    fn twenty() -> Vec<Perturbation> {
        let one_after_the_other = ALL.iter().filter(|it| it.name != ONE_BY_ONE.name);
        one_after_the_other.chain(&[AT_ONCE, OTHERWISE]).copied().collect()
    }

    /// Cells that are executed twenty times.
    const BRIEF_HACKBENCH: &str =
        "[workload.hackbench]\nkind = \"cyclictest-hackbench\"\nwindow = \"50ms\"\n";

    const BRIEF_MIXED: &str =
        "[workload.mixed]\nkind = \"cyclictest\"\nload = \"mixed\"\nwindow = \"200ms\"\n";

    const BRIEF_BUILD: &str = "[workload.build]\nkind = \"build\"\nunits = 1\n";

    on_each_number_of_cpus! {
        hackbench: |cpus| arm64(cpus, HACKBENCH), MOST;
        brief_hackbench: |cpus| arm64(cpus, BRIEF_HACKBENCH), &twenty();
        brief_mixed: |cpus| arm64(cpus, BRIEF_MIXED), &twenty();
        brief_mixed_at_once: |cpus| arm64(cpus, BRIEF_MIXED), &[AT_ONCE, OTHERWISE];
        brief_build: |cpus| arm64(cpus, BRIEF_BUILD), &twenty();
        brief_hackbench_where_nothing_traps: |cpus| arm64(cpus, BRIEF_HACKBENCH).replace("server-arm64", "equal.toml"),
            &[ONE_BY_ONE, SMALL_TRACED];
        hackbench_with_caches: |cpus| arm64(cpus, HACKBENCH).replace("[machine]\n", "[machine]\ncaches = true\n"),
            &[SMALL_TRACED, AT_ONCE, OTHERWISE];
        hackbench_at_one_price: |cpus| arm64(cpus, HACKBENCH).replace("server-arm64", "instructions"),
            &[SMALL_TRACED, OTHERWISE];
        a_board: |cpus| arm64(cpus, HACKBENCH).replace("server-arm64", "raspberry-pi-4"), &[SMALL_TRACED, OTHERWISE];
        build: |cpus| arm64(cpus, BUILD), MOST;
        mixed: |cpus| arm64(cpus, MIXED), MOST;
    }

    /// Plays a scenario of ours under `voluntary`, and on the kernel with PREEMPT_RT.
    fn play(name: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name);
        let scenario = Scenario::parse(&fs::read_to_string(&path).unwrap()).unwrap();
        let loaded = [Loaded { path, scenario: scenario.on(Arch::Arm64) }];
        let kernel = "debian:6.12".parse().unwrap();
        for models in [[Model::Voluntary], [Model::Rt]] {
            let under = Under { kernel: &kernel, models: &models };
            for batch in batches(&loaded, under, false).unwrap() {
                perturb_experiment(batch.experiment, &twenty());
            }
        }
    }

    #[test]
    #[ignore = "takes long: make perturb"]
    fn a_call_that_waits() {
        play("driver-demo.toml");
    }

    #[test]
    #[ignore = "takes long: make perturb"]
    fn locks() {
        play("priority-inheritance.toml");
    }

    #[test]
    #[ignore = "takes long: make perturb"]
    fn two_cpus() {
        play("page-zeroing-preempted-smp.toml");
    }
}

/// CPUs that leave and come back, and NMIs, which only other CPUs get.
#[test]
#[ignore = "takes long: make perturb"]
fn hotplug() {
    let text = "[workload.hotplug]\nkind = \"folder\"\npath = \"hotplug\"\n";
    perturb(&experiment("[2, 4, 8]", text), &[AT_ONCE, OTHERWISE]);
}

/// Debian's 7.2 reads accessed bits all the time (`DAMON_STAT`), and QEMU's TLBs decide when they are set.
#[test]
#[ignore = "takes long: make perturb"]
fn accessed_bits() {
    let text = priced("[1]", "[workload.detour]\nkind = \"folder\"\npath = \"detour\"\n");
    perturb(&text.replace("debian:6.12", "debian:7.2"), &[STOPPED, BUSY]);
}

/// Executes one computing cell only, because one emulator in another takes minutes a cell.
#[test]
#[ignore = "takes long: make perturb"]
fn emulated_processor() {
    perturb(&experiment("[1]", ARITHMETIC), &[OLD_PROCESSOR]);
}

const ARITHMETIC: &str = "[workload.arithmetic]\nkind = \"folder\"\npath = \"arithmetic\"\n";

/// Returns an experiment of these workloads, with these CPUs.
fn experiment(cpus: &str, workloads: &str) -> String {
    format!(
        "format = 1\nname = \"perturb\"\n\
         [factors]\nkernel = [\"debian:6.12\"]\npreempt = [\"full\"]\ncpus = {cpus}\n\
         [replicates]\ncount = 1\n\
         [machine]\ncost = \"instructions\"\nmemory_mib = 1024\n{workloads}"
    )
}

/// Returns such an experiment with guests of arm64, whose generic kernel has one mode, and whose instructions have
/// prices.
fn arm64(cpus: &str, workloads: &str) -> String {
    let machine = "arch = \"arm64\"\ncost = \"server-arm64\"";
    let text = experiment(cpus, workloads).replace("cost = \"instructions\"", machine);
    text.replace("preempt = [\"full\"]", "preempt = [\"voluntary\"]")
}

/// Its fair probe is ended by a signal, because its window is a part of a second.
const HACKBENCH: &str =
    "[workload.hackbench]\nkind = \"cyclictest-hackbench\"\nwindow = \"250ms\"\n";

const BUILD: &str = "[workload.build]\nkind = \"build\"\nunits = 2\n";

const MIXED: &str = "[workload.mixed]\nkind = \"cyclictest\"\nload = \"mixed\"\nwindow = \"1s\"\n";

/// Returns such an experiment whose instructions have prices.
fn priced(cpus: &str, workloads: &str) -> String {
    experiment(cpus, workloads).replace("cost = \"instructions\"", "cost = \"fixture.toml\"")
}

/// Returns such an experiment whose machine has caches, and from whose CPUs time is stolen.
fn cached(cpus: &str, workloads: &str) -> String {
    stolen(cpus, workloads).replace("[machine]\n", "[machine]\ncaches = true\n")
}

/// Returns such an experiment from whose CPUs time is stolen.
fn stolen(cpus: &str, workloads: &str) -> String {
    priced(cpus, workloads).replace("[machine]\n", "[machine]\nstolen = true\n")
}

/// Executes every cell undisturbed and under each perturbation, and prints whether it said the same.
#[track_caller]
fn perturb(text: &str, perturbations: &[Perturbation]) {
    perturb_experiment(Experiment::parse(text).unwrap(), perturbations);
}

#[track_caller]
fn perturb_experiment(experiment: Experiment, perturbations: &[Perturbation]) {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(experiment, folder.path());
    let cells = bench.prepared.manifest.plan.cells.iter();
    let cells: Vec<_> = cells.map(|cell| (&cell.factors, cell.inputs().unwrap())).collect();
    let mut differing = Vec::new();
    for (factors, cell) in cells {
        say(&format!("{} on {} CPUs, {}: ", factors.workload, factors.cpus, factors.preempt));
        let expected = bench.digest(cell, &NOTHING).expect("an undisturbed cell");
        say(&format!("{}\n", expected.short()));
        for perturbation in perturbations {
            let verdict = match bench.digest(cell, perturbation) {
                Ok(digest) if digest == expected => "same".to_owned(),
                Ok(digest) => format!("DIFFERS: {}", digest.short()),
                Err(reason) => format!("FAILED: {reason}"),
            };
            say(&format!("    {:<48}{verdict}\n", perturbation.name));
            if verdict != "same" {
                differing.push(format!("{factors}, {}: {verdict}", perturbation.name));
            }
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

/// Prints progress, which a test run without capture shows.
fn say(text: &str) {
    print!("{text}");
    std::io::stdout().flush().unwrap();
}

/// An experiment with all that it needs, and room.
struct Bench {
    folder: PathBuf,
    prepared: Prepared,
}

impl Bench {
    fn new(experiment: Experiment, folder: &Path) -> Self {
        make_arithmetic(&folder.join("arithmetic"));
        copy(&sources("hotplug"), &folder.join("hotplug"), &["workload.toml", "hotplug.sh"]);
        let detour = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/detour");
        copy(&detour, &folder.join("detour"), &["workload.toml", "detour.c"]);
        for profile in ["fixture.toml", "equal.toml"] {
            fs::copy(sources("prices").join(profile), folder.join(profile)).unwrap();
        }
        let (experiment, folders) = embed(experiment, folder).unwrap();
        let guest = experiment.machine.arch;
        let store = Store::open(own_store()).unwrap();
        let provision = Provision::new(store, guest, Options::default(), &|_| ());
        let prepared = Preparation::new(provision, None).with_folders(&folders).resolve(experiment);
        Self { folder: folder.to_owned(), prepared: prepared.unwrap() }
    }

    /// Returns the digest of a cell under a perturbation, or the reason why it has none.
    fn digest(&self, cell: &CellInputs, perturbation: &Perturbation) -> Result<Digest, String> {
        let mut config = self.prepared.vm_config();
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        config.command.splice(0..0, words(perturbation.starter));
        config.command.extend(words(perturbation.arguments));
        // No other cell may be forked from a snapshot that was made under a perturbation.
        let own = tempfile::tempdir_in(&self.folder).unwrap();
        if perturbation.boots {
            config.snapshots = own.path().to_owned();
        }
        let vm = Vm::new(config);
        let traces = TraceFolder::new(own.path().join("traces"));
        traces.create().unwrap();
        let kernel = perturbation.is_traced.then(|| self.kernel(cell, &traces));
        let stream = traces.scratch().unwrap();
        let tracing =
            kernel.as_ref().map(|kernel| Tracing { program: kernel.program(), out: &stream });
        if !perturbation.boots {
            self.prepared.vm().prepare(&cell.snapshot, &Cancel::default()).map_err(reason)?;
        }
        let execution = perturbation
            .disturbance
            .during(|| vm.execute(cell, tracing, &Cancel::default()))
            .map_err(reason)?;
        match execution {
            Execution { message: Message::Done(_), said, console, .. } => {
                Ok(Digest::of(&[said, console].concat()))
            }
            Execution { message, .. } => Err(format!("{message:?}")),
        }
    }

    fn kernel(&self, cell: &CellInputs, folder: &TraceFolder) -> std::sync::Arc<Kernel> {
        let vm = self.prepared.vm();
        Kernels::new(&self.prepared, &vm, Some(folder)).get(cell, &Cancel::default()).unwrap()
    }
}

fn reason(stop: Stop) -> String {
    match stop {
        Stop::Cancelled => "cancelled".to_owned(),
        Stop::Host { reason } => reason,
        Stop::Failed { reason, console, .. } => {
            format!("{reason}\n{}", String::from_utf8_lossy(&console))
        }
    }
}

/// Makes the folder of the workload that computes.
fn make_arithmetic(folder: &Path) {
    let sources = sources("arithmetic");
    copy(&sources, folder, &["workload.toml"]);
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-static", "-o"]).arg(folder.join("arithmetic"));
    assert!(compiler.arg(sources.join("arithmetic.c")).status().unwrap().success());
}

/// Returns the folder of a workload's sources.
fn sources(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

fn copy(from: &Path, to: &Path, names: &[&str]) {
    fs::create_dir(to).unwrap();
    for name in names {
        fs::copy(from.join(name), to.join(name)).unwrap();
    }
}
