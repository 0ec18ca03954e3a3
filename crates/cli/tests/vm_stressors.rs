//! Stressors of stress-ng in a virtual machine: the list of a class, and cells without a probe.

use crate::common::{Desk, Finished};
use serde_json::Value;

const NAMES: &str = include_str!("../../workload/src/stressors_os.txt");

const FACTORS: &str = r#"format = 1
name = "stressors"

[factors]
kernel = ["debian:6.12"]
preempt = ["full"]

[replicates]
count = 1
"#;

/// Lists the records of a recording's cells.
fn records(desk: &Desk, out: &str) -> Vec<Value> {
    let cells = std::fs::read_dir(desk.path(out).join("cells")).unwrap();
    let read = |path| std::fs::read_to_string(path).unwrap();
    cells.map(|entry| serde_json::from_str(&read(entry.unwrap().path())).unwrap()).collect()
}

fn run(desk: &Desk, arguments: &[&str]) -> Finished {
    Finished::new(desk.lasting_command(arguments).output().unwrap())
}

/// A newer package may know other stressors.
#[test]
fn vm_the_class_has_the_stressors_of_the_package() {
    let desk = Desk::new();
    std::fs::create_dir(desk.path("names")).unwrap();
    let definition = r#"format = 1
packages = ["stress-ng"]
without = ["libegl-mesa0", "mesa-libgallium"]

[[probe]]
name = "class"
argv = ["/usr/bin/stress-ng", "--class", "os?"]

# The first digit of a name: a folder has a metric.
[[metric]]
name = "digit"
unit = "1"
better = "higher"
from = "class.stdout"
pattern = '^\D*(\d)'
"#;
    desk.write("names/workload.toml", definition);
    desk.write(
        "x.toml",
        &format!("{FACTORS}[workload.names]\nkind = \"folder\"\npath = \"names\"\n"),
    );
    run(&desk, &["run", "x.toml", "--out", "x"]).succeeds();
    let records = records(&desk, "x");
    let stdout = records[0].pointer("/outcome/completed/report/probes/0/stdout");
    let (_, names) = stdout.and_then(Value::as_str).and_then(|it| it.split_once(':')).unwrap();
    let listed: Vec<&str> = NAMES.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(names.split_whitespace().collect::<Vec<_>>(), listed);
}

/// The same file system is made again, from the same bytes.
#[test]
fn vm_a_file_system_in_memory_comes_again() {
    comes_again(&["ext4"]);
}

#[test]
#[ignore = "takes long: a part of make nightly"]
fn vm_other_file_systems_in_memory_come_again() {
    comes_again(&["xfs", "btrfs"]);
}

fn comes_again(file_systems: &[&str]) {
    let desk = Desk::new();
    let mut text = FACTORS.to_owned();
    for of in file_systems {
        text += &format!(
            "[workload.{of}]\nkind = \"stress-ng\"\nstressor = \"dentry\"\nwindow = \"50ms\"\n"
        );
        text += &format!("filesystem = \"{of}\"\n");
    }
    desk.write("x.toml", &text);
    run(&desk, &["run", "x.toml", "--out", "x", "--no-cache"]).succeeds();
    run(&desk, &["verify", "x"]).succeeds();
}

/// A stressor that works has its rate, one that cannot its reason, one that is left out is not executed; and the same
/// cells come again.
#[test]
fn vm_a_stressor_works_alone_until_its_window_ends() {
    let desk = Desk::new();
    let list = "stressors = [\"fork\", \"mmap\", \"kvm\", \"cpu-online\"]";
    desk.write("x.toml", &format!("{FACTORS}[workload.os]\nkind = \"stress-ng\"\n{list}\n"));
    let ran = run(&desk, &["run", "x.toml", "--out", "x", "--no-cache"]);
    let counted = "2 cells completed, 1 failed, 1 unavailable";
    assert!(ran.stderr.contains(counted), "{}{}", ran.stdout, ran.stderr);
    let records = records(&desk, "x");
    assert_eq!(records.len(), 3);
    let (completed, failed): (Vec<_>, Vec<_>) =
        records.iter().partition(|record| record.pointer("/outcome/completed").is_some());
    for record in completed {
        let probe = record.pointer("/outcome/completed/report/probes/0").unwrap();
        let [start_ns, end_ns] = ["start_ns", "end_ns"].map(|key| probe[key].as_u64().unwrap());
        // It is asked to end after 350 ms, and ends the operation that it is at.
        assert!(
            (350_000_000..1_000_000_000).contains(&(end_ns - start_ns)),
            "{}",
            end_ns - start_ns
        );
    }
    let [failed] = &failed[..] else { panic!("{failed:?}") };
    let reason = failed.pointer("/outcome/failed/reason").and_then(Value::as_str).unwrap();
    assert!(reason.starts_with("the stressor kvm did not work: "), "{reason}");
    run(&desk, &["verify", "x"]);
}
