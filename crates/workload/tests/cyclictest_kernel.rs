//! Real results of stress-ng and cyclictest, read as those of the workload `cyclictest-kernel`.

use std::collections::BTreeMap;

use crate::common::{cell, command, inputs, named, read, report};
use preemptlab_model::{Arch, PreemptMode};
use preemptlab_protocol::{CommandReport, CommandSignal, Exit, Report};
use preemptlab_workload::{Measurements, Workload};

const FIFO: &str = include_str!("data/rt-tests-2.6-fifo.json");
const OTHER: &str = include_str!("data/rt-tests-2.6-other.json");
const MIXED: &str = include_str!("data/stress-ng-0.19.02-mixed.yaml");

/// The stressors of that file; its probes measured for two seconds.
const OF_FILE: &str = "window = \"2s\"\nstressors = [\"cpu\", \"fork\", \"switch\", \"fault\"]";

fn workload(parameters: &str) -> Workload {
    read(&format!("kind = \"cyclictest-kernel\"\n{parameters}")).unwrap()
}

fn ran(name: &str, file: &str, text: &str) -> CommandReport {
    let files = [(file.to_owned(), text.to_owned())].into();
    CommandReport { files, ..command(name, Exit::Code(0)) }
}

fn all() -> Report {
    let probes = vec![
        ran("fifo", "/tmp/fifo.json", FIFO),
        ran("other", "/tmp/other.json", OTHER),
        ran("stress-ng", "/tmp/stress-ng.yaml", MIXED),
    ];
    report(vec![], probes)
}

fn measure(parameters: &str, report: &Report) -> Result<Measurements, String> {
    let workload = workload(parameters);
    let measured = workload.measure(&cell(&workload, 1), report);
    named(&workload, measured).map_err(|error| error.to_string())
}

fn numbers(measurements: &Measurements) -> BTreeMap<String, f64> {
    measurements.numbers.iter().map(|metric| (metric.name.to_string(), metric.value)).collect()
}

#[test]
fn throughput_is_the_geometric_mean_of_all_rates() {
    let measured = measure(OF_FILE, &all()).unwrap();
    let found = numbers(&measured);
    // The fourth root of 522.820436 * 967.083406 * 113585.529136 * 203.712440.
    assert!((found["throughput"] - 1_849.436).abs() < 0.001, "{}", found["throughput"]);
    assert_eq!(found["stressor.fork"], 967.083_406);
    assert_eq!(found["stressor.fault"], 203.712_440);
    let throughput = measured.numbers.iter().find(|metric| metric.name == "throughput").unwrap();
    // One operation of `fault`, of which the fewest were done, is 0.5 % of them.
    assert!(
        throughput.resolution > 1.0 && throughput.resolution < 4.0,
        "{}",
        throughput.resolution
    );
    assert_eq!(measured.latencies.len(), 2);
}

#[test]
fn a_load_that_did_not_do_all_of_its_work_is_refused() {
    let said = measure("window = \"2s\"", &all()).unwrap_err();
    assert!(said.contains("it has metrics of `cpu`"), "{said}");
    let said = measure(&OF_FILE.replace("\"fault\"", "\"fault\", \"mmap\""), &all()).unwrap_err();
    assert!(said.contains("it has no metrics of mmap"), "{said}");
    let mut idle = all();
    let none = MIXED.replacen("bogo-ops: 963", "bogo-ops: 0", 1).replacen(
        "real-time: 967.083406",
        "real-time: 0.000000",
        1,
    );
    assert!(none.contains("real-time: 0.000000"));
    idle.probes[2] = ran("stress-ng", "/tmp/stress-ng.yaml", &none);
    let said = measure(OF_FILE, &idle).unwrap_err();
    assert!(said.contains("fork has done nothing"), "{said}");
    let mut failed = all();
    failed.probes[2].exit = Exit::Code(2);
    let said = measure(OF_FILE, &failed).unwrap_err();
    assert!(said.contains("stress-ng failed, it ended with status 2"), "{said}");
}

/// The load ends by a signal, and not seconds later where stress-ng's own time would be over.
#[test]
fn the_load_begins_before_the_probes_and_is_ended_after_them() {
    let job = workload("").job(inputs(1, PreemptMode::None, 2));
    let [fifo, other, load] = &job.probes[..] else { panic!("{:?}", job.probes) };
    assert_eq!(
        load.argv.join(" "),
        "/usr/bin/stress-ng --mmap=2 --vm=2 --fork=2 --dentry=2 --sock=2 --hdd=2 \
         --mmap-bytes=32M --vm-bytes=32M --hdd-bytes=16M --timeout=0 --seed=1 \
         --temp-path=/tmp --metrics --yaml=/tmp/stress-ng.yaml"
    );
    let end = load.end.unwrap();
    assert_eq!(end.signal, CommandSignal::Alarm);
    // The window of 250 ms, 100 ms in which the load starts, and 150 ms for each CPU.
    assert_eq!(end.after_ns, 650_000_000);
    for probe in [fifo, other] {
        assert!(probe.delay_ns >= 100_000_000);
        let ended = probe.end.map_or(350_000_000, |end| end.after_ns);
        assert!(probe.delay_ns + ended <= end.after_ns, "{probe:?}");
    }
}

#[test]
fn files_are_on_a_disk_that_a_kernel_need_not_have() {
    let mut ext4 = workload("filesystem = \"ext4\"");
    assert_eq!(
        ext4.packages(Arch::Amd64),
        ["rt-tests", "stress-ng", "e2fsprogs", "busybox-static"]
    );
    assert_eq!(ext4.modules(), ["brd", "ext4"]);
    // The processor's own instruction comes first: a file system takes the best that is there.
    assert_eq!(ext4.wanted_modules(), ["crc32c_intel", "crc32c_generic"]);
    assert_eq!(ext4.parameters(), ["brd.rd_size=393216"]);
    let names: Vec<_> = ext4.prepare(Arch::Amd64).into_iter().map(|it| it.name).collect();
    assert_eq!(names, ["mkfs", "mkdir", "mount", "chmod"]);

    let tmpfs = workload("filesystem = \"tmpfs\"");
    assert_eq!(tmpfs.packages(Arch::Amd64), ["rt-tests", "stress-ng"]);
    assert!(tmpfs.modules().is_empty() && tmpfs.prepare(Arch::Amd64).is_empty());
    let needed = |system: &str| workload(&format!("filesystem = \"{system}\"")).memory_mib_min(1);
    assert_eq!((needed("ext4"), needed("xfs"), needed("tmpfs")), (384, 512, 384));
    // A recording without the key was made before there was a choice.
    assert!(workload("").modules().is_empty());
    assert!(ext4.put_files_on_tmpfs() && ext4 == tmpfs && !ext4.put_files_on_tmpfs());
    // The disk is what a load alone is there for.
    let mut alone = read("kind = \"stress-ng\"\nwindow = \"250ms\"\nfilesystem = \"xfs\"").unwrap();
    assert!(!alone.put_files_on_tmpfs());
}

#[test]
fn keys_are_checked() {
    for (parameters, said) in [
        ("stressors = []", "`stressors` are 1 to 16 of stress-ng's"),
        ("stressors = [\"mmap\", \"vm\", \"mmap\"]", "the stressor `mmap` stands there twice"),
        ("stressors = [\"mmap=1 --cpu\"]", "`mmap=1 --cpu` is not a stressor's name, such as mmap"),
        ("stressors = [\"-x\"]", "`-x` is not a stressor's name"),
        ("window = \"10ms\"", "a time from 50ms to 3600s in whole milliseconds"),
        (
            "filesystem = \"ntfs\"",
            "unknown variant `ntfs`, expected one of `ext4`, `xfs`, `btrfs`, `tmpfs`",
        ),
        ("groups = 2", "unknown field `groups`"),
    ] {
        let error = read(&format!("kind = \"cyclictest-kernel\"\n{parameters}")).unwrap_err();
        assert!(error.contains(said), "{parameters}: {error}");
    }
}
