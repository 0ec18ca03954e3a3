//! The part of the test that runs in the machine: runs that are killed, ended and left alone, and a
//! look at the kernel after each.

use std::{
    collections::BTreeMap,
    fs,
    io::Read,
    os::unix::fs::chroot,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::inherited;
use preemptlab_experiment::Recording;
use preemptlab_model::{ModeFile, Outcome};
use rustix::{
    mount::{MountFlags, mount, mount_bind_recursive, mount_move},
    process::{Pid, Signal, chdir, kill_process},
    system::{RebootCommand, reboot},
    thread::{CapabilitySet, remove_capability_from_bounding_set},
};

/// The last line of a machine in which everything was as it should be.
pub const GOOD: &str = "inside: everything is as it was";

/// Path at which this program sees debugfs; that of preemptlab is not mounted.
const SCHED: &str = "/debug/sched";

const JOURNAL: &str = "/run/preemptlab/host.json";

/// Longest time of the whole test, in the machine's time.
const PATIENCE: Duration = Duration::from_secs(1800);

/// Attempts to get out of a cell; the program makes some more.
const ATTEMPTS_MIN: usize = 100;

/// Files that no cell may have written to.
const KEPT: [&str; 4] = [
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/modprobe",
    "/proc/sys/vm/overcommit_memory",
    "/proc/sys/kernel/hostname",
];

/// Runs that are killed at some moment.
const KILLS: u64 = 4;

/// The cells of the experiment.
const CELLS: usize = 12;

/// Runs as the first process of the machine.
pub fn run() {
    settle();
    thread::spawn(|| {
        thread::sleep(PATIENCE);
        println!("inside: not done after {PATIENCE:?}");
        end();
    });
    let before = held();
    println!("inside: begins with {before:?}");
    nothing_gets_out(&before);
    commands_start_as_after_a_login();
    ends_when_asked(&before);
    survives_being_killed(&before);
    finishes(&before);
    println!("{GOOD}");
    end();
}

fn end() {
    // The console has a buffer.
    thread::sleep(Duration::from_millis(300));
    reboot(RebootCommand::PowerOff).unwrap();
}

/// Mounts the file systems, and leaves the initramfs, whose root pivot_root(2) cannot leave behind.
fn settle() {
    mount_bind_recursive("/", "/newroot").unwrap();
    chdir("/newroot").unwrap();
    mount_move("/newroot", "/").unwrap();
    chroot(".").unwrap();
    chdir("/").unwrap();
    fs::create_dir("/debug").unwrap();
    for (kind, place) in [
        ("proc", "/proc"),
        ("sysfs", "/sys"),
        ("devtmpfs", "/dev"),
        ("tmpfs", "/run"),
        ("tmpfs", "/tmp"),
        ("debugfs", "/debug"),
    ] {
        mount(kind, place, kind, MountFlags::empty(), None).unwrap();
    }
    // Neither the mode nor the slice that the kernel came with.
    fs::write(format!("{SCHED}/preempt"), "full").unwrap();
    fs::write(format!("{SCHED}/base_slice_ns"), "2500000").unwrap();
}

/// Reads the mode and the slice.
fn held() -> (String, String) {
    let read = |name: &str| fs::read_to_string(format!("{SCHED}/{name}")).unwrap();
    let mode = ModeFile::parse(&read("preempt")).active.unwrap();
    (mode.to_string(), read("base_slice_ns").trim().to_owned())
}

fn command() -> Command {
    command_into("/inside.toml", "/recording-inside")
}

fn command_into(experiment: &str, recording: &str) -> Command {
    let mut command = Command::new("/preemptlab");
    command
        .args(["run", experiment, "--backend", "host", "--out", recording])
        .args(["--store", "/store"])
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

/// Returns the output of a run, which must have ended with this status.
fn ended(mut run: Child, code: i32) -> String {
    let mut said = String::new();
    run.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    let status = run.wait().unwrap();
    assert_eq!(status.code(), Some(code), "{said}");
    said
}

/// Waits until a run has switched the kernel.
fn wait_until_switched(before: &(String, String)) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while held() == *before {
        assert!(Instant::now() < deadline, "the run switches nothing");
        thread::sleep(Duration::from_millis(20));
    }
}

fn signal(run: &Child, signal: Signal) {
    kill_process(Pid::from_child(run), signal).unwrap();
}

fn copy_recording(from: &str, to: &str) {
    fs::create_dir(to).unwrap();
    fs::copy(format!("{from}/recording.json"), format!("{to}/recording.json")).unwrap();
}

/// Returns the output of the only probe of an experiment's only cell, and whether the machine's root
/// may raise limits, so that the cell has users of its own: once with that, once without.
fn printed(experiment: &'static str) -> [(String, bool); 2] {
    [true, false].map(|has_users| {
        let recording = format!("/{experiment}-{has_users}");
        copy_recording(&format!("/recording-{experiment}"), &recording);
        let into = recording.clone();
        // On a thread of its own, since the set is the thread's, and for good.
        let run = thread::spawn(move || {
            if !has_users {
                remove_capability_from_bounding_set(CapabilitySet::SYS_RESOURCE).unwrap();
            }
            ended(command_into(&format!("/{experiment}.toml"), &into).spawn().unwrap(), 0)
        });
        let said = run.join().unwrap();
        let recording = Recording::open(Path::new(&recording)).unwrap();
        let (_, record) = recording.cells().next().unwrap().unwrap();
        let outcome = record.expect("the cell was executed").outcome;
        let Outcome::Completed { report, .. } = outcome else { panic!("{outcome:?}\n{said}") };
        (report.probes[0].stdout.clone(), has_users)
    })
}

/// Checks that a command differs from a process of a login in what docs/workload.md names, although
/// preemptlab was started by something else.
fn commands_start_as_after_a_login() {
    let always = [("limit_core", "1 1"), ("no_new_privs", "1"), ("oom_score_adj", "1000")];
    let raised: &[(&str, &str)] =
        &[("limit_memlock", "-1 -1"), ("limit_nice", "40 40"), ("limit_rtprio", "99 99")];
    // The first process has the kernel's own limit of files (`INR_OPEN_MAX`).
    let kept: &[(&str, &str)] = &[("limit_nofile", "1024 4096")];
    for (stdout, has_users) in printed("inherited") {
        let also = if has_users { raised } else { kept };
        let expected = always
            .iter()
            .chain(also)
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        assert_eq!(inherited::differences(&stdout), expected.collect::<BTreeMap<_, _>>());
    }
}

/// Checks that the attempts of a stranger's command are refused, whether the machine's root may
/// raise limits or not.
fn nothing_gets_out(before: &(String, String)) {
    let kept = || KEPT.map(|file| fs::read_to_string(file).unwrap());
    let before_cells = kept();
    for (stdout, has_users) in printed("hostile") {
        let count = |word: &str| stdout.lines().filter(|line| line.starts_with(word)).count();
        assert!(count("refused ") > ATTEMPTS_MIN, "{stdout}");
        assert_eq!((count("DONE"), count("LACKING")), (0, 0), "{stdout}");
        assert_eq!(stdout.contains("users of its own"), has_users, "{stdout}");
        println!("inside: {} attempts to get out were refused", count("refused "));
        assert_eq!(kept(), before_cells);
        assert_eq!(held(), *before);
        nothing_runs();
    }
}

fn ends_when_asked(before: &(String, String)) {
    copy_recording("/recording-inside", "/second");
    let run = command().spawn().unwrap();
    wait_until_switched(before);
    let second = ended(command_into("/inside.toml", "/second").spawn().unwrap(), 4);
    let said = second.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("another run is using this machine's kernel"), "{said}");
    let asked = Instant::now();
    signal(&run, Signal::TERM);
    ended(run, 130);
    println!("inside: SIGTERM: gave back {:?} after {:?}", held(), asked.elapsed());
    assert_eq!(held(), *before);
    assert!(!Path::new(JOURNAL).exists());
    nothing_runs();
}

fn survives_being_killed(before: &(String, String)) {
    let mut switched = 0;
    for number in 0..KILLS {
        let run = command().spawn().unwrap();
        // Every second one surely in a cell; the others at any moment, the first ones included.
        if number % 2 == 0 {
            wait_until_switched(before);
        }
        let wait_ms = if number % 2 == 0 { number * 7919 % 2600 } else { number * 2791 % 7000 };
        thread::sleep(Duration::from_millis(wait_ms));
        signal(&run, Signal::KILL);
        let mut run = run;
        run.wait().unwrap();
        nothing_runs();
        let left = held();
        switched += usize::from(left != *before);
        println!("inside: SIGKILL {number}: left {left:?}");
        assert!(left == *before || Path::new(JOURNAL).exists(), "nothing says what it was");

        // The next run takes the values that it finds for the original, and has to restore them.
        let next = command().spawn().unwrap();
        thread::sleep(Duration::from_millis(1500));
        signal(&next, Signal::TERM);
        let mut next = next;
        next.wait().unwrap();
        if !Path::new(JOURNAL).exists() {
            assert_eq!(held(), *before, "the next run");
        }
    }
    assert!(switched > 0, "no kill met a switched kernel");
    println!("inside: {switched} of {KILLS} kills met a switched kernel");
}

fn finishes(before: &(String, String)) {
    let said = ended(command().spawn().unwrap(), 0);
    assert_eq!(held(), *before);
    assert!(!Path::new(JOURNAL).exists());
    nothing_runs();
    let recording = Recording::open(Path::new("/recording-inside")).unwrap();
    let mut orders = Vec::new();
    for cell in recording.cells() {
        let (_, record) = cell.unwrap();
        let record = record.expect("every cell was executed");
        let Outcome::Completed { report, .. } = &record.outcome else {
            panic!("{:?}\n{said}", record.outcome)
        };
        let active = ModeFile::parse(report.system.preempt.as_deref().unwrap()).active.unwrap();
        assert_eq!(active.as_str(), record.inputs.job.preempt);
        let has_slice = !record.inputs.job.settings.is_empty();
        let slice_ns = report.system.base_slice_ns.unwrap();
        assert_eq!(slice_ns, if has_slice { 1_500_000 } else { 2_500_000 });
        assert!(!report.kernel_threads_ns.is_empty(), "kernel threads are counted");
        orders.push(record.conditions.unwrap().order);
    }
    assert_eq!(orders.len(), CELLS);
    println!("inside: {CELLS} cells, each in the mode and with the slice that it asks for");
}

/// Checks that every process of a run dies with it, within a moment.
fn nothing_runs() {
    let runs = || {
        fs::read_dir("/proc").unwrap().flatten().find_map(|entry| {
            let comm = fs::read_to_string(entry.path().join("comm")).ok()?;
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            let is_zombie = stat.rsplit_once(')')?.1.trim_start().starts_with('Z');
            let names = ["cell", "hackbench", "cyclictest", "preemptlab"];
            (!is_zombie && names.contains(&comm.trim())).then(|| comm.trim().to_owned())
        })
    };
    let deadline = Instant::now() + Duration::from_secs(10);
    while let Some(process) = runs() {
        assert!(Instant::now() < deadline, "{process} still runs");
        thread::sleep(Duration::from_millis(50));
    }
}
