//! Runs of real kernels in real virtual machines.
//!
//! Packages and snapshots are kept in the user's own store, or in `PREEMPTLAB_STORE`, so that only
//! the first run on a machine downloads and boots.

use std::{
    collections::BTreeSet,
    fs,
    path::PathBuf,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use crate::common::{self, Desk, Finished, median, tree};

/// Two kernels, one of which lacks a mode; cells of a tenth of a virtual second.
const SMALL: &str = r#"format = 1
name = "small"

[factors]
kernel = ["debian:6.12", "debian:7.2"]
preempt = ["none", "full"]

[replicates]
count = 2

[machine]
cost = "instructions"

[workload.processes]
kind = "cyclictest-hackbench"
window = "100ms"
"#;

fn run(desk: &Desk, arguments: &[&str]) -> Finished {
    Finished::new(desk.lasting_command(arguments).output().unwrap())
}

/// Returns the processes whose parent is gone or that are this one's, and that run QEMU.
fn qemus_of_session(session: i32) -> Vec<PathBuf> {
    let stat_session = |path: &PathBuf| -> Option<i32> {
        let stat = fs::read_to_string(path.join("stat")).ok()?;
        stat.rsplit_once(')')?.1.split_whitespace().nth(3)?.parse().ok()
    };
    fs::read_dir("/proc")
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| stat_session(path) == Some(session))
        .filter(|path| {
            fs::read(path.join("cmdline"))
                .is_ok_and(|line| String::from_utf8_lossy(&line).contains("qemu-system"))
        })
        .collect()
}

#[test]
fn the_same_inputs_give_the_same_bytes() {
    let desk = Desk::new();
    desk.write("small.toml", &SMALL.replace("count = 2", "count = 1"));
    let a = run(&desk, &["run", "small.toml", "--out", "a", "--no-cache", "--jobs", "2"]);
    a.succeeds();
    assert!(a.stdout.contains("offers full, lazy only"), "{}", a.stdout);
    run(&desk, &["run", "small.toml", "--out", "b", "--no-cache", "--jobs", "1"]).succeeds();
    assert!(tree(&desk.path("a")) == tree(&desk.path("b")), "the recordings differ");
    run(&desk, &["verify", "a", "--against", "b"]).succeeds();
    run(&desk, &["verify", "a", "--cells", "1"]).succeeds();

    // Numbers that cannot be right are not deterministic luck.
    let json = run(&desk, &["compare", "a", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json.succeeds().stdout).unwrap();
    assert_eq!(json["format"], 2);
    // Every cell is measured at every instant without a trace, and the worst has a name.
    let kept: Vec<PathBuf> = tree(&desk.path("a")).into_iter().map(|(path, _)| path).collect();
    let count =
        |end: &str| kept.iter().filter(|path| path.to_string_lossy().ends_with(end)).count();
    let completed = json["groups"][0]["configurations"].as_array().unwrap().iter();
    let completed = completed.filter(|each| !each["metrics"].as_array().unwrap().is_empty());
    let said = a.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut configurations = 0;
    for configuration in completed {
        configurations += 1;
        let median = |metric: &str| median(configuration, metric);
        let (worst, p99_9) = (median("latency.worst"), median("latency.p99.9"));
        assert!(worst >= median("latency.p99.999") && median("latency.p99.999") >= p99_9);
        assert!(worst >= median("wakeup.fifo.max"), "{configuration}");
        let named = configuration["worst"]["of"].as_str().unwrap();
        assert!(named.contains(" in ") && said.contains(named), "{named}: {said}");
    }
    assert_eq!(count(".findings.zst"), configurations);
    assert_eq!((count(".trace.zst"), count(".layout.zst")), (0, 0));
    for format in ["csv", "markdown", "table"] {
        let table = run(&desk, &["compare", "a", "--format", format]);
        assert!(table.succeeds().stdout.contains("6.12"), "{format}");
    }
}

#[test]
fn a_killed_run_goes_on_and_leaves_nothing_behind() {
    let desk = Desk::new();
    desk.write("small.toml", &SMALL.replace(", \"debian:7.2\"", ""));
    run(&desk, &["run", "small.toml", "--out", "whole", "--no-cache"]).succeeds();

    for wait in [900, 1900, 3100] {
        let inner = desk.lasting_command(&[
            "run",
            "small.toml",
            "--out",
            "killed",
            "--no-cache",
            "--jobs",
            "1",
        ]);
        // A session of its own tells its processes from others.
        let mut command = Command::new("setsid");
        command.arg(inner.get_program()).args(inner.get_args()).current_dir(desk.path(""));
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let session = i32::try_from(child.id()).unwrap();
        thread::sleep(Duration::from_millis(wait));
        child.kill().unwrap();
        child.wait().unwrap();
        // The kernel kills QEMU at once, but reaping takes a moment, and on a busy machine a long
        // one. A process that is never reaped keeps this test here.
        while !qemus_of_session(session).is_empty() {
            thread::sleep(Duration::from_millis(100));
        }
    }
    run(&desk, &["run", "small.toml", "--out", "killed", "--no-cache"]).succeeds();
    assert!(tree(&desk.path("whole")) == tree(&desk.path("killed")), "the recordings differ");
}

#[test]
fn an_unknown_kernel_is_named_with_the_nearest_ones() {
    let desk = Desk::new();
    desk.write("bad.toml", &SMALL.replace("debian:7.2", "debian:7.9"));
    run(&desk, &["run", "bad.toml"]).fails(4, &["no kernel `debian:7.9` is on offer", "nearest"]);
}

#[test]
fn another_experiments_folder_is_left_alone() {
    let desk = Desk::new();
    desk.write("small.toml", &SMALL.replace("debian:6.12\", \"", ""));
    run(&desk, &["run", "small.toml", "--out", "a"]).succeeds();
    let before = tree(&desk.path("a"));
    desk.write("other.toml", &SMALL.replace("\"small\"", "\"other\""));
    run(&desk, &["run", "other.toml", "--out", "a"])
        .fails(2, &["another experiment", "choose another folder"]);
    assert!(tree(&desk.path("a")) == before);
}

#[test]
fn a_guest_without_memory_is_a_failed_cell() {
    let desk = Desk::new();
    let text = SMALL
        .replace("debian:6.12\", \"", "")
        .replace("window = \"100ms\"", "window = \"1s\"\ngroups = 60")
        .replace("count = 2", "count = 1")
        .replace("[machine]", "[machine]\nmemory_mib = 160");
    desk.write("tight.toml", &text);
    let finished = run(&desk, &["run", "tight.toml", "--out", "tight"]);
    finished.fails(3, &["failed"]);
    assert!(finished.stdout.contains("memory"), "{}", finished.stdout);
}

#[test]
fn a_full_disk_loses_nothing() {
    let desk = Desk::new();
    desk.write("small.toml", SMALL);
    run(&desk, &["run", "small.toml", "--out", "whole"]).succeeds();
    // A filesystem of 64 KiB of one's own, in namespaces of one's own.
    fs::create_dir(desk.path("disk")).unwrap();
    let script =
        "mount -t tmpfs -o size=64k none disk && \"$@\"; code=$?; cp -r disk/. kept; exit $code";
    let inner = desk.lasting_command(&["run", "small.toml", "--out", "disk/run"]);
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"]);
    command.arg(inner.get_program()).args(inner.get_args()).current_dir(desk.path(""));
    let finished = Finished::new(command.output().unwrap());
    finished.fails(4, &["No space left", "finished cells are kept"]);

    // Finished cells are whole, and on a larger disk the run continues from there.
    run(&desk, &["run", "small.toml", "--out", "kept/run"]).succeeds();
    assert!(tree(&desk.path("whole")) == tree(&desk.path("kept/run")), "the recordings differ");
}

/// Experiment whose configurations are apart after 5 replicates at the latest: PREEMPT_RT's price
/// beside a hackbench.
const PRICE: &str = r#"format = 1
name = "price"

[factors]
kernel = ["debian:6.12", "debian:6.12-rt"]
preempt = ["full"]

[replicates]
count = 4

[machine]
cost = "instructions"

[workload.processes]
kind = "cyclictest-hackbench"
window = "1s"
"#;

#[test]
#[ignore = "takes long: a part of make nightly"]
fn replicates_are_added_until_it_is_decided() {
    let desk = Desk::new();
    desk.write("price.toml", PRICE);
    let until = ["--until", "5%", "--metric", "throughput"];
    let run_until = |out| run(&desk, &[&["run", "price.toml", "--out", out][..], &until].concat());
    let a = run_until("a");
    a.succeeds();
    assert!(a.stderr.contains("look 1: 1 comparison is undecided; 4 more cells"), "{}", a.stderr);
    assert!(a.stderr.contains("every comparison is decided"), "{}", a.stderr);
    assert!(desk.path("a/looks/001.json").exists() && !desk.path("a/looks/002.json").exists());

    // Run to its end first, and only then continued, it ends with the same bytes.
    run(&desk, &["run", "price.toml", "--out", "b"]).succeeds();
    run_until("b").succeeds();
    assert!(tree(&desk.path("a")) == tree(&desk.path("b")), "the recordings differ");
    let compared = run(&desk, &["compare", "a", "--all"]);
    compared.succeeds().says(&["and for 2 looks at the results"]);

    run(&desk, &["run", "price.toml", "--out", "a", "--until", "1%"])
        .fails(2, &["its looks were begun with 5% for throughput"]);
    run(&desk, &["run", "price.toml", "--out", "c", "--until", "troughput=5%"])
        .fails(2, &["no cell has the metric `troughput` of a margin; did you mean `throughput`?"]);
    run(&desk, &["run", "price.toml", "--out", "c", "--until", "5%", "--metric", "troughput"])
        .fails(2, &["no workload has the metric `troughput`; did you mean `throughput`?"]);
    run(&desk, &["run", "price.toml", "--out", "c", "--until", "5%", "--metric", "throughput"])
        .succeeds();

    std::fs::remove_file(desk.path("c/until.json")).unwrap();
    run(&desk, &["compare", "c"]).fails(2, &["a look is missing, or until.json is"]);
}

/// Cells whose CPUs have company, at the lookahead that is the default.
const SEVERAL: &str = r#"format = 1
name = "several"

[factors]
kernel = ["debian:6.12"]
preempt = ["full"]
cpus = [2]

[replicates]
count = 1

[machine]
cost = "instructions"

[workload.processes]
kind = "cyclictest-hackbench"
window = "100ms"
"#;

#[test]
fn an_experiment_is_executed_on_two_machines() {
    let desk = Desk::new();
    let short = SMALL
        .replace(", \"debian:7.2\"", "")
        .replace("count = 2", "count = 1")
        .replace("window = \"100ms\"", "window = \"50ms\"");
    desk.write("small.toml", &short);
    let arguments = ["run", "small.toml", "--out", "a", "--machine", "server-x86", "--machine"];
    let arguments = [&arguments[..], &["desktop-x86"]].concat();
    let both = run(&desk, &arguments);
    both.succeeds();
    both.says(&["what server-x86 and desktop-x86 say", "full"]);
    let said = "factors.machine = [\"server-x86\", \"desktop-x86\"] instead of [\"instructions\"]";
    assert!(both.stderr.contains(said), "{}", both.stderr);

    // It is a recording like any other, whose cells are executed again with the prices of their machine.
    let before = tree(&desk.path("a"));
    run(&desk, &["verify", "a"]).succeeds();
    run(&desk, &["run", "a"]).succeeds();
    run(&desk, &arguments).succeeds();
    assert!(tree(&desk.path("a")) == before, "going on changed the recording");

    // A cell of one of several machines is the cell of an experiment that has only that one.
    run(&desk, &["run", "small.toml", "--out", "one", "--machine", "desktop-x86"]).succeeds();
    let cells = |run: &str| -> BTreeSet<_> {
        fs::read_dir(desk.path(run).join("cells"))
            .unwrap()
            .map(|it| it.unwrap().file_name())
            .collect()
    };
    assert!(cells("one").is_subset(&cells("a")), "{:?} {:?}", cells("one"), cells("a"));
}

#[test]
fn several_cpus_give_the_same_bytes() {
    let desk = Desk::new();
    desk.write("several.toml", SEVERAL);
    run(&desk, &["run", "several.toml", "--out", "a", "--no-cache"]).succeeds();
    for _ in 0..2 {
        run(&desk, &["verify", "a"]).succeeds();
    }
    let compared = run(&desk, &["compare", "a"]);
    compared.succeeds().says(&["each has a clock of its own", "up to 500 ns early"]);
}

/// A kernel of one's own has no configuration beside it, so that only the guest knows its modes.
#[test]
fn a_kernel_of_ones_own_is_traced_in_a_mode_that_it_has_and_may_not_be_replaced() {
    let desk = Desk::new();
    let rt = SMALL.replace("\"debian:6.12\", \"debian:7.2\"", "\"debian:6.12-rt\"");
    desk.write("rt.toml", &rt.replace("\"none\", \"full\"", "\"none\""));
    let finished = run(&desk, &["run", "rt.toml", "--out", "none"]);
    finished.fails(3, &["nothing was measured", "offers full, lazy only"]);
    assert!(!finished.stderr.contains("next:"), "{}", finished.stderr);

    let recording = fs::read_to_string(desk.path("none/recording.json")).unwrap();
    let recording: serde_json::Value = serde_json::from_str(&recording).unwrap();
    let sha256 = recording["kernels"][0]["image_sha256"].as_str().unwrap();
    let image = common::lasting_store().join("kernels").join(sha256).join("vmlinuz");
    fs::copy(&image, desk.path("bzImage")).unwrap();
    desk.write("mine.toml", &rt.replace("debian:6.12-rt", "file:bzImage"));
    run(&desk, &["run", "mine.toml", "--out", "mine", "--trace"]).succeeds();
    run(&desk, &["explain", "mine"]).succeeds().says(&["file:bzImage full", "us late"]);

    // The same command continues only with the same kernel, although there are no cells left to
    // execute.
    run(&desk, &["run", "mine.toml", "--out", "mine"]).succeeds();
    let mut other = fs::read(&image).unwrap();
    other.push(0);
    fs::write(desk.path("bzImage"), other).unwrap();
    run(&desk, &["run", "mine.toml", "--out", "mine"])
        .fails(2, &["file:bzImage is not what the recording was made with", "--out"]);
    run(&desk, &["verify", "mine"]).succeeds();
}

/// The kernel refuses a fair server without runtime on a CPU that the scheduler's domains leave out.
#[test]
fn a_setting_that_the_kernel_refuses_is_unavailable() {
    let desk = Desk::new();
    let text = "format = 1\nname = \"refused\"\n[factors]\nkernel = [\"debian:6.12\"]\n\
        preempt = [\"full\"]\ncpus = [2]\n\
        settings = [\"nosmt\", \"isolcpus=domain,1 sched/fair_server/cpu1/runtime=0\"]\n\
        [replicates]\ncount = 1\n\
        [workload.idle]\nkind = \"cyclictest\"\nload = \"none\"\nwindow = \"50ms\"\n";
    desk.write("refused.toml", text);
    let finished = run(&desk, &["run", "refused.toml", "--out", "a"]);
    finished.fails(
        3,
        &[
            "this kernel refuses the setting",
            "EBUSY",
            "nosmt: this virtual machine cannot be asked",
        ],
    );
    // The one that no virtual machine was started for has no file.
    assert_eq!(tree(&desk.path("a/cells")).len(), 1);
}
