//! The load of `cyclictest-kernel` in a virtual machine.

use crate::common::{Desk, Finished, kernel_of_the_store};

const EXPERIMENT: &str = r#"format = 1
name = "load"

[factors]
kernel = ["debian:6.12"]
preempt = ["none"]

# With one price for all instructions `mmap` ends no operation in the window.
[machine]
cost = "desktop-x86"

[replicates]
count = 1

[workload.kernel]
kind = "cyclictest-kernel"
"#;

/// Every stressor works, the load ends with its window, and the same cell comes again.
#[test]
#[ignore = "takes long: a part of make nightly"]
fn vm_every_part_of_the_load_works_until_its_window_ends() {
    let desk = Desk::new();
    desk.write("load.toml", EXPERIMENT);
    let run = |arguments: &[&str]| Finished::new(desk.lasting_command(arguments).output().unwrap());
    run(&["run", "load.toml", "--out", "load"]).succeeds().says(&["throughput", "FIFO wakeup"]);

    let compared = run(&["compare", "load", "--format", "json"]);
    let text = compared.succeeds().stdout.clone();
    for stressor in ["mmap", "vm", "fork", "dentry", "sock", "hdd"] {
        assert!(text.contains(&format!("stressor.{stressor}")), "no {stressor} in {text}");
    }
    let cells = std::fs::read_dir(desk.path("load/cells")).unwrap();
    let records: Vec<String> =
        cells.map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap()).collect();
    let [record] = &records[..] else { panic!("{records:?}") };
    let record: serde_json::Value = serde_json::from_str(record).unwrap();
    let probes = record.pointer("/outcome/completed/report/probes").unwrap_or_else(|| {
        panic!("a record has another form: {record}");
    });
    let took_ns = |name: &str| {
        let probe = probes.as_array().unwrap().iter().find(|probe| probe["name"] == name).unwrap();
        (probe["start_ns"].as_u64().unwrap(), probe["end_ns"].as_u64().unwrap())
    };
    let (start_ns, end_ns) = took_ns("stress-ng");
    // It is asked to end after 500 ms; each stressor first ends the operation that it is at, and stress-ng waits.
    assert!((500_000_000..1_700_000_000).contains(&(end_ns - start_ns)), "{}", end_ns - start_ns);
    assert!(took_ns("other").1 <= end_ns, "the load ended before the probe");

    run(&["verify", "load"]).succeeds();

    // A kernel that came without modules has no disk for the files.
    let kernel = format!("file:{}", kernel_of_the_store().display());
    let of_file = ["run", "load.toml", "--kernel", &kernel, "--preempt", "full"];
    let said = run(&[&of_file[..], &["--out", "refused"]].concat());
    said.fails(
        4,
        &["the module `brd` is needed", "with `filesystem = \"tmpfs\"` the files need no module"],
    );
    let on_tmpfs = EXPERIMENT.to_owned() + "filesystem = \"tmpfs\"\n";
    desk.write("load.toml", &on_tmpfs);
    run(&[&of_file[..], &["--out", "tmpfs"]].concat()).succeeds();
}
