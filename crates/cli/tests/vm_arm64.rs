//! Guests of arm64: they boot, execute cells, say the same again, and tell what their kernels did.

use std::{fs, path::Path, sync::LazyLock};

use crate::common::{Desk, Finished, median};
use crate::source::{Change, HOT, Source};
use serde_json::Value;

/// The generic kernel has one mode, the newer one another one, and neither can be changed.
const EXPERIMENT: &str = "format = 1\nname = \"arm64\"\n[factors]\n\
     kernel = [\"debian:6.12\", \"debian:7.3\"]\npreempt = [\"voluntary\", \"lazy\"]\ncpus = [1, 2]\n\
     [replicates]\ncount = 1\n\
     [workload.idle]\nkind = \"cyclictest\"\nload = \"none\"\nwindow = \"250ms\"\n";

#[test]
fn guests_of_arm64_execute_cells_and_say_the_same_again() {
    let desk = Desk::new();
    desk.write("arm64.toml", EXPERIMENT);
    let finished =
        |arguments: &[&str]| Finished::new(desk.lasting_command(arguments).output().unwrap());
    let ran = finished(&["run", "arm64.toml", "--arch", "arm64", "--out", "recording"]);
    ran.succeeds();
    assert!(!ran.stderr.contains("traced"), "{}", ran.stderr);
    let cells: Vec<Value> = fs::read_dir(desk.path("recording/cells"))
        .unwrap()
        .map(|file| serde_json::from_slice(&fs::read(file.unwrap().path()).unwrap()).unwrap())
        .collect();
    assert_eq!(cells.len(), 4, "each kernel has one of the two modes");
    for cell in cells {
        assert_eq!(cell["inputs"]["snapshot"]["machine"]["arch"], "arm64");
        let system = &cell["outcome"]["completed"]["report"]["system"];
        assert!(system["release"].as_str().unwrap().ends_with("-arm64"), "{system}");
        assert_eq!(system["clocksource"], "arch_sys_counter");
        assert_eq!(cell["console"], Value::Array(Vec::new()), "{cell}");
    }
    finished(&["verify", "recording"]).succeeds().says(&["4 same, 0 different"]);
}

#[test]
fn traces_of_arm64_name_causes_and_the_worst_instant_can_be_executed() {
    let desk = Desk::new();
    desk.write(
        "traced.toml",
        "format = 1\nname = \"traced\"\n[factors]\nkernel = [\"debian:6.12\"]\npreempt = [\"voluntary\"]\n\
         [machine]\narch = \"arm64\"\n[replicates]\ncount = 1\n\
         [workload.processes]\nkind = \"cyclictest-hackbench\"\nwindow = \"100ms\"\n",
    );
    let run = |arguments: &[&str]| Finished::new(desk.lasting_command(arguments).output().unwrap());
    run(&["run", "traced.toml", "--trace", "--out", "traced"]).succeeds();
    let explained = run(&["explain", "traced"]);
    let text = &explained.succeeds().stdout;
    for part in
        ["hard interrupt", "arch_timer", "scheduling", "return to user", "the same to the byte"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let ranking = run(&["explain", "traced", "ranking"]).succeeds().stdout.clone();
    for section in
        ["(call)     write", "(softirq)  rcu_core_si", "interrupts __wake_up_common_lock"]
    {
        assert!(ranking.contains(section), "{section}: {ranking}");
    }
    let zoom = explained.stderr.lines().find_map(|line| line.strip_prefix("next: preemptlab "));
    let zoom: Vec<&str> = zoom.unwrap().split(' ').collect();
    let zoomed = run(&zoom).succeeds().stdout.clone();
    assert!(zoomed.contains("arch_timer_handler_virt()"), "{zoomed}");
    let trace = ["explain", "traced", "trace", "--format", "ftrace", "--out", "trace.txt"];
    run(&trace).succeeds();
    let exported = fs::read_to_string(desk.path("trace.txt")).unwrap();
    assert!(exported.contains("irq_handler_entry: irq=-1 name=arch_timer"));
    let searched =
        run(&["explain", "traced", "search", "--format", "json"]).succeeds().stdout.clone();
    let searched: Value = serde_json::from_str(&searched).unwrap();
    let found = &searched["configurations"][0];
    let [computed_ns, executed_ns] = ["bound_ns", "worst_ns"].map(|it| found[it].as_f64().unwrap());
    println!("computed {computed_ns} ns, executed {executed_ns} ns");
    assert!((computed_ns - executed_ns).abs() <= (computed_ns * 0.05).max(2_000.0), "{found}");
}

/// It starts the fair probe while the real-time one measures. Under PREEMPT_RT hardly anything else takes longer.
#[test]
#[ignore = "takes long: a part of make nightly"]
fn no_wakeup_waits_for_init_to_start_the_other_probe() {
    let desk = Desk::new();
    desk.write(
        "probes.toml",
        "format = 1\nname = \"probes\"\n[factors]\nkernel = [\"debian:6.12-rt\"]\npreempt = [\"full\"]\n\
         [machine]\narch = \"arm64\"\n[replicates]\ncount = 4\n\
         [workload.processes]\nkind = \"cyclictest-hackbench\"\nwindow = \"100ms\"\n",
    );
    let run = |arguments: &[&str]| Finished::new(desk.lasting_command(arguments).output().unwrap());
    run(&["run", "probes.toml", "--trace", "--out", "probes"]).succeeds();
    for cell in ["#1", "#2", "#3", "#4"] {
        let explained = run(&["explain", "probes", "--cell", cell]);
        let text = &explained.succeeds().stdout;
        assert!(text.contains("us late") && !text.contains("more urgent task"), "{text}");
    }
}

/// 6.1 for arm64 lists functions alone, so that its clock is not found. Latency is what the probes sampled.
#[test]
fn a_kernel_that_lists_no_variables_is_measured_without_a_trace() {
    let desk = Desk::new();
    desk.write(
        "old.toml",
        &EXPERIMENT
            .replace("\"debian:6.12\", \"debian:7.3\"", "\"debian:6.1\"")
            .replace("[1, 2]", "[1]"),
    );
    let ran = Finished::new(
        desk.lasting_command(&["run", "old.toml", "--arch", "arm64", "--out", "old"])
            .output()
            .unwrap(),
    );
    ran.succeeds();
    assert!(ran.stderr.contains("lists no variables (CONFIG_KALLSYMS_ALL)"), "{}", ran.stderr);
}

/// Debian's kernels have one model each. A kernel from source has those that are switched, and modules are built for it.
#[test]
#[ignore = "builds a kernel: a part of make nightly"]
fn a_kernel_from_source_has_several_models() {
    let desk = Desk::new();
    let run = |arguments: &[&str]| Finished::new(desk.lasting_command(arguments).output().unwrap());
    desk.write(
        "models.toml",
        &EXPERIMENT
            .replace("\"debian:6.12\", \"debian:7.3\"", "\"source:6.12,config=lab\"")
            .replace("\"voluntary\", \"lazy\"", "\"none\", \"voluntary\", \"full\"")
            .replace("[1, 2]", "[1]"),
    );
    run(&["run", "models.toml", "--arch", "arm64", "--out", "models"]).succeeds();
    run(&["verify", "models"]).succeeds().says(&["3 same, 0 different"]);
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/driver-demo.toml");
    let kernel = ["--kernel", "source:6.12,config=lab", "--preempt", "none,full"];
    run(&[&["run", scenario, "--arch", "arm64"], &kernel[..]].concat()).succeeds();
}

/// Debian's source, in whose working tree no change is left.
static SOURCE: LazyLock<Source> =
    LazyLock::new(|| Source::open(Path::new(env!("CARGO_TARGET_TMPDIR"))));

/// Its cells are short.
const OF_SOURCE: &str = "format = 1\nname = \"tree\"\n[factors]\nkernel = [\"tree:LINUX\"]\npreempt = [\"full\"]\n\
     [machine]\narch = \"arm64\"\nmodules = [MODULES]\n[replicates]\ncount = 1\n\
     [workload.processes]\nkind = \"cyclictest-hackbench\"\nwindow = \"250ms\"\n";

#[test]
#[ignore = "builds a kernel: a part of make nightly"]
fn a_tree_is_built_and_built_again_for_arm64() {
    let desk = Desk::new();
    let finished =
        |arguments: &[&str]| Finished::new(desk.lasting_command(arguments).output().unwrap());
    let linux = SOURCE.path();
    let run = |modules: &str, out: &str| {
        let text = OF_SOURCE.replace("LINUX", linux.to_str().unwrap());
        desk.write("tree.toml", &text.replace("MODULES", modules));
        finished(&["run", "tree.toml", "--out", out]).succeeds();
        let read = |file: &str| {
            serde_json::from_slice(&fs::read(desk.path(out).join(file)).unwrap()).unwrap()
        };
        let recording: Value = read("recording.json");
        let kernel = &recording["kernels"][0];
        assert!(kernel["source"]["compiler"].as_str().unwrap().contains("aarch64-linux-gnu-gcc"));
        kernel["image_sha256"].as_str().unwrap().to_owned()
    };
    let core = linux.join("kernel/sched/core.c");
    let text = SOURCE.text("kernel/sched/core.c");
    fs::write(&core, &text).unwrap();
    let first = run("", "first");
    finished(&["verify", "first"]).succeeds().says(&["1 same, 0 different"]);

    // A module of preemptlab's own is built for it. It holds the kernel non-preemptible for 5 ms at most.
    assert_eq!(run("\"preemptlab_hold\"", "held"), first);
    let json = finished(&["compare", "held", "--format", "json"]).succeeds().stdout.clone();
    let json: Value = serde_json::from_str(&json).unwrap();
    let max_us = median(&json["groups"][0]["configurations"][0], "wakeup.fifo.max");
    assert!((4_000.0..6_000.0).contains(&max_us), "{max_us} us");

    fs::write(&core, format!("{text}\nconst char preemptlab_marker[] = \"marked\";\n")).unwrap();
    let second = run("", "second");
    fs::write(&core, &text).unwrap();
    assert_ne!(second, first);
}

#[test]
#[ignore = "builds some five kernels: a part of make nightly"]
fn the_commit_that_made_kernels_of_arm64_slower_is_found() {
    let desk = Desk::new();
    let unused = |path, name: &str| Change::Unused { path, name: name.to_owned() };
    let mut commits = vec![SOURCE.base()];
    for (subject, change) in [
        ("a function", unused("fs/pipe.c", "made_1")),
        ("a slower write()", Change::Delayed { at: HOT[2], ns: 200 }),
        ("another function", unused("kernel/fork.c", "made_3")),
    ] {
        let parent = commits.last().unwrap();
        commits.push(SOURCE.commit("made-for-arm64", parent, subject, &change));
    }
    let of_amd64 = OF_SOURCE
        .replace("arch = \"arm64\"\nmodules = [MODULES]\n", "")
        .replace("count = 1", "count = 6");
    desk.write("small.toml", &of_amd64);
    let range = format!("{}..{}", commits[0], commits[3]);
    let repository = SOURCE.path().to_str().unwrap();
    let bisect = ["bisect", &range, "small.toml", "--repo", repository, "--arch", "arm64"];
    let further = ["--metric", "throughput", "--format", "json"];
    let found = desk.lasting_command(&[&bisect[..], &further].concat()).output().unwrap();
    let found = Finished::new(found).succeeds().stdout.clone();
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_eq!(found["commit"]["id"], commits[2]);
    assert_eq!(found["cure"]["revert"], "cures");
}

#[test]
#[ignore = "takes long: a part of make nightly"]
fn two_kernels_of_arm64_are_compared() {
    let desk = Desk::new();
    let gate = ["gate", "debian:7.2", "debian:7.3", "--arch", "arm64", "--budget", "12"];
    let gate = Finished::new(desk.lasting_command(&gate).output().unwrap());
    assert!(gate.stdout.contains("debian:7.3") && gate.stdout.contains("lazy"), "{gate:?}");
}

/// The machine ends although a real-time task never leaves its CPU.
#[test]
fn a_program_that_never_ends_is_ended() {
    let desk = Desk::new();
    fs::create_dir(desk.path("loop")).unwrap();
    desk.write(
        "loop/workload.toml",
        "format = 1\npackages = [\"busybox-static\"]\nlimit = \"1s\"\n\
         [[probe]]\nname = \"probe\"\npolicy = \"fifo:98\"\n\
         argv = [\"/bin/busybox\", \"sh\", \"-c\", \"while :; do :; done\"]\n\
         [[metric]]\nname = \"took\"\nunit = \"s\"\nbetter = \"lower\"\nfrom = \"probe.real\"\n",
    );
    desk.write(
        "loop.toml",
        "format = 1\nname = \"loop\"\n[factors]\nkernel = [\"debian:6.12\"]\npreempt = [\"voluntary\"]\n\
         [machine]\narch = \"arm64\"\n[replicates]\ncount = 1\n\
         [workload.loop]\nkind = \"folder\"\npath = \"loop\"\n",
    );
    let ran = desk.lasting_command(&["run", "loop.toml", "--out", "recording"]).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(said.contains("the cell used up its 1000000000 ns of virtual time"), "{said}");
}

/// What arm64 lacks is said before anything is executed.
#[test]
fn what_guests_of_arm64_lack_is_said() {
    let desk = Desk::new();
    desk.write("arm64.toml", EXPERIMENT);
    let refused = |arguments: &[&str], words: &str| {
        let output = desk.lasting_command(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).replace(['\n', '│'], " ");
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(!output.status.success() && said.contains(words), "{arguments:?}: {said}");
    };
    let run = ["run", "arm64.toml", "--arch", "arm64"];
    let with = |more: &[&'static str]| [&run[..], more].concat();
    refused(&with(&["--backend", "kvm"]), "and these are of arm64: leave --backend out");
    refused(&with(&["--machine", "server-x86"]), "is of amd64, and the guest is of arm64");
    let plan = with(&["--preempt", "full", "--dry-run"]);
    let plan = Finished::new(desk.lasting_command(&plan).output().unwrap());
    assert!(plan.stdout.contains("No cell can be executed."), "{plan:?}");
    // The image of a kernel for the other architecture.
    desk.write("vmlinuz", "");
    let mut image = vec![0; 0x240];
    image[0x38..0x3c].copy_from_slice(b"ARM\x64");
    fs::write(desk.path("vmlinuz"), &image).unwrap();
    let of =
        |arch| ["run", "arm64.toml", "--kernel", "file:vmlinuz", "--arch", arch, "--out", arch];
    refused(&of("amd64"), "it is a kernel of arm64, and the guest is of amd64");
    image[0x38..0x3c].fill(0);
    image[0x202..0x206].copy_from_slice(b"HdrS");
    fs::write(desk.path("vmlinuz"), &image).unwrap();
    refused(&of("arm64"), "it is a kernel of amd64, and the guest is of arm64");
    fs::write(desk.path("vmlinuz"), [0x1f, 0x8b, 8, 0]).unwrap();
    refused(&of("arm64"), "it is a compressed kernel: gzip");
    let two = EXPERIMENT.replace("cpus = [1, 2]", "cpus = [2]");
    let machine = "[machine]\narch = \"arm64\"\n[machine.topology]\ncores = 2\ncaches = { l2 = \"socket\" }\n";
    desk.write("topology.toml", &format!("{two}{machine}"));
    refused(&["run", "topology.toml"], "does not tell a kernel who shares a cache");
}
