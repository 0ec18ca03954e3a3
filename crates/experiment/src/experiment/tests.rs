use preemptlab_model::Arch;

use super::*;

const SMALL: &str = r#"
format = 1
name = "small"

[factors]
kernel = ["debian:6.12"]
preempt = ["none", "full"]

[workload.hackbench]
kind = "cyclictest-hackbench"
"#;

fn error(from: &str, to: &str) -> SpecError {
    assert!(SMALL.contains(from));
    Experiment::parse(&SMALL.replace(from, to)).unwrap_err()
}

#[test]
fn a_load_needs_memory_for_each_cpu() {
    let text = |machine: &str, cpus: &str| {
        format!(
            "format = 1\nname = \"x\"\n[factors]\nkernel = [\"debian:6.12\"]\npreempt = [\"none\"]\n\
             cpus = [{cpus}]\n{machine}\n[workload.k]\nkind = \"cyclictest-kernel\"\n"
        )
    };
    Experiment::parse(&text("", "1")).unwrap();
    let error = Experiment::parse(&text("[machine]\nmemory_mib = 256", "1")).unwrap_err();
    assert_eq!(error.line, 8, "{error}");
    assert!(
        error.message.contains("`k` needs 384 MiB of memory on 1 CPU, and the machine has 256")
    );
    assert_eq!(error.help.unwrap(), "say `memory_mib = 384` in [machine]");
    let error = Experiment::parse(&text("", "1, 4")).unwrap_err();
    assert!(error.message.contains("on 4 CPUs"), "{error}");
    assert_eq!(error.help.unwrap(), "say `memory_mib = 960` in [machine], or compare fewer CPUs");
    let two = text("", "1, 4")
        .replace("[workload.k]", "[workload.i]\nkind = \"cyclictest\"\n[workload.k]");
    assert_eq!(Experiment::parse(&two).unwrap_err().line, 10, "the table of the workload is named");
    Experiment::parse(&text("[machine]\nmemory_mib = 960", "4")).unwrap();
    // The machine itself has what it has.
    Experiment::parse(&text("", "4").replace("debian:6.12", "host")).unwrap();
}

#[test]
fn defaults_fill_what_is_not_said() {
    let experiment = Experiment::parse(SMALL).unwrap();
    assert_eq!(experiment.factors.cpus, [1]);
    assert_eq!(experiment.replicates, Replicates { count: 5, seed: 1 });
    let prices = CostSource::of_no_name(MachineSpec::default().arch);
    assert_eq!(experiment.machine, MachineSpec { prices, ..MachineSpec::default() });
}

#[test]
fn an_experiment_that_names_no_machine_has_a_server() {
    let named = |text: &str| {
        let experiment = Experiment::parse(text).unwrap();
        experiment.costs().map(|cost| cost.name().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(named(SMALL), ["server-x86"]);
    let machine = |keys: &str| format!("{SMALL}[machine]\n{keys}\n");
    assert_eq!(named(&machine("memory_mib = 1024")), ["server-x86"]);
    assert_eq!(named(&machine("cost = \"instructions\"")), ["instructions"]);
    assert_eq!(named(&machine("cost = \"instructions\"\nshift = 3")), ["instructions"]);
    assert_eq!(named(&machine("cost = \"mine.toml\"")), ["mine.toml"]);
    let error = Experiment::parse(&machine("shift = 3")).unwrap_err();
    assert_eq!(error.line, 12, "{error}");
    assert!(error.help.unwrap().contains("cost = \"instructions\""));
    // A recording says its values: one of before names none, and was of one price for all.
    let json = serde_json::to_string(&Experiment::parse(SMALL).unwrap()).unwrap();
    assert!(json.contains("\"server-x86\""), "{json}");
}

#[test]
fn a_machine_that_is_named_says_the_architecture() {
    let parse = |keys: &str| Experiment::parse(&format!("{SMALL}{keys}"));
    let arch = |keys: &str| parse(keys).unwrap().machine.arch;
    assert_eq!(arch("[machine]\ncost = \"raspberry-pi-4\"\n"), Arch::Arm64);
    assert_eq!(arch("[machine]\ncost = \"amd-epyc\"\n"), Arch::Amd64);
    assert_eq!(arch("[machine]\ncost = \"instructions\"\n"), Arch::Amd64);
    let said = parse("[machine]\narch = \"amd64\"\ncost = \"raspberry-pi-4\"\n").unwrap_err();
    assert!(said.message.contains("is of arm64, and the guest is of amd64"), "{said}");
    assert!(said.help.unwrap().contains("--arch arm64"));
    let machines =
        SMALL.replace("preempt", "machine = [\"raspberry-pi-4\", \"server-x86\"]\npreempt");
    let said = Experiment::parse(&machines).unwrap_err();
    assert!(said.message.contains("server-x86 is of amd64, and the guest is of arm64"), "{said}");
}

/// A recording without the key was made before there was a choice, and its files are on tmpfs.
#[test]
fn files_of_the_load_are_on_ext4_where_a_file_does_not_say() {
    let load = SMALL.replace("cyclictest-hackbench", "cyclictest-kernel");
    let parsed = |keys: &str| Experiment::parse(&format!("{load}{keys}\n")).unwrap();
    let file_system = |experiment: &Experiment| {
        let workload = experiment.workload.get("hackbench").unwrap();
        workload.modules().last().map(|module| (*module).to_owned())
    };
    assert_eq!(file_system(&parsed("")).as_deref(), Some("ext4"));
    assert_eq!(file_system(&parsed("filesystem = \"btrfs\"")).as_deref(), Some("btrfs"));
    assert_eq!(file_system(&parsed("filesystem = \"tmpfs\"")), None);
    let recorded = serde_json::to_string(&parsed("")).unwrap();
    let again: Experiment = serde_json::from_str(&recorded).unwrap();
    assert_eq!(file_system(&again).as_deref(), Some("ext4"));
    let key = ",\"filesystem\":\"ext4\"";
    assert!(recorded.contains(key), "{recorded}");
    let earlier: Experiment = serde_json::from_str(&recorded.replace(key, "")).unwrap();
    assert_eq!(file_system(&earlier), None);
}

#[test]
fn machines_are_a_factor() {
    let levels =
        |levels: &str| SMALL.replace("preempt =", &format!("machine = [{levels}]\npreempt ="));
    let experiment = Experiment::parse(&levels("\"server-x86\", \"amd-epyc\"")).unwrap();
    assert_eq!(experiment.cells(), Some(2 * 2 * 5));
    let of: Vec<_> = crate::configurations(&experiment)
        .map(|factors| (factors.machine.unwrap().to_string(), factors.preempt.to_string()))
        .collect();
    let of: Vec<(&str, &str)> = of.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    assert_eq!(
        of,
        [
            ("server-x86", "none"),
            ("server-x86", "full"),
            ("amd-epyc", "none"),
            ("amd-epyc", "full")
        ]
    );
    let amd = "amd-epyc".parse().unwrap();
    assert_eq!(experiment.cost_of(Some(&amd)).name(), "amd-epyc");
    let json = serde_json::to_string(&experiment).unwrap();
    assert_eq!(serde_json::from_str::<Experiment>(&json).unwrap(), experiment);
    for (text, said) in [
        (levels("\"amd-epyc\", \"amd-epyc\""), "two machines have the name `amd-epyc`"),
        (format!("{}[machine]\ncost = \"amd-epyc\"\n", levels("\"server-x86\"")), "is a factor"),
        (
            format!("{}[machine]\ncaches = true\n", levels("\"server-x86\", \"desktop-x86\"")),
            "the profile desktop-x86 has no caches",
        ),
        (levels("1"), "the file of a profile, the name of one"),
    ] {
        let error = Experiment::parse(&text).unwrap_err();
        assert!(error.message.contains(said), "{error}");
    }
}

#[test]
fn a_misspelt_key_is_named_with_its_line_and_the_nearest_one() {
    let error = error("[factors]", "[factor]");
    assert_eq!((error.line, error.help.as_deref()), (5, Some("did you mean `factors`?")));
}

#[test]
fn a_misspelt_mode_is_named_with_its_line_and_the_nearest_one() {
    let error = error("\"none\"", "\"nonne\"");
    assert_eq!((error.line, error.help.as_deref()), (7, Some("did you mean `none`?")));
}

#[test]
fn rt_as_a_mode_is_told_to_be_a_flavour_of_the_kernel() {
    for word in ["rt", "RT", "rt-full", "PREEMPT_RT"] {
        let error = error("\"none\"", &format!("\"{word}\""));
        let help = "rt is a kernel flavour: kernel = [\"debian:6.12-rt\"]";
        assert_eq!((error.line, error.help.as_deref()), (7, Some(help)));
    }
    let text = SMALL.replace("debian:6.12", "source:7.2+HZ=9").replace("none", "rt");
    let error = Experiment::parse(&text).unwrap_err();
    assert!(error.help.unwrap().ends_with("kernel = [\"source:7.2-rt+HZ=9\"]"));
}

#[test]
fn a_mode_goes_by_the_name_of_its_key() {
    let error = error("preempt =", "mode =");
    assert_eq!((error.line, error.help.as_deref()), (7, Some("did you mean `preempt`?")));
}

#[test]
fn a_kernel_that_is_nearly_one_is_named() {
    for (name, wanted) in [("6.12-rt", "debian:6.12-rt"), ("debain:7.2", "debian:7.2")] {
        let error = error("debian:6.12", name);
        assert_eq!((error.line, error.help), (6, Some(format!("did you mean `{wanted}`?"))));
    }
}

#[test]
fn a_kernel_has_a_label_and_modes_of_its_own() {
    let both = "\"base=debian:6.12\", { kernel = \"head=debian:7.2\", preempt = [\"lazy\"] }";
    let text = SMALL.replace("\"debian:6.12\"", both);
    let experiment = Experiment::parse(&text).unwrap();
    assert_eq!(experiment.cells(), Some((2 + 1) * 5));
    let of = |factors: preemptlab_model::Factors| (factors.kernel, factors.preempt);
    let pairs: Vec<_> = crate::configurations(&experiment).map(of).collect();
    let kernel = |name: &str| name.parse::<KernelRef>().unwrap();
    assert_eq!(
        pairs,
        [
            (kernel("debian:6.12"), PreemptMode::None),
            (kernel("debian:6.12"), PreemptMode::Full),
            (kernel("debian:7.2"), PreemptMode::Lazy),
        ]
    );
    let factors = &experiment.factors;
    assert_eq!(factors.label(&kernel("debian:7.2")).unwrap(), &"head");
    assert_eq!(factors.labelled("base"), Some(&kernel("debian:6.12")));
    let json = serde_json::to_string(&experiment).unwrap();
    assert_eq!(serde_json::from_str::<Experiment>(&json).unwrap(), experiment);
    // Where every kernel has modes of its own, the factor needs none.
    let own = "{ kernel = \"debian:6.12\", preempt = [\"none\"] }";
    let text = SMALL.replace("\"debian:6.12\"", own).replace("preempt = [\"none\", \"full\"]", "");
    assert_eq!(Experiment::parse(&text).unwrap().cells(), Some(5));
}

#[test]
fn kernels_that_cannot_be_told_apart_are_refused() {
    for (kernels, said) in [
        ("\"a=debian:6.12\", \"a=debian:7.2\"", "two kernels have the label `a`"),
        ("\"a=debian:6.12\", \"b=debian:6.12\"", "the kernel debian:6.12 stands there twice"),
        ("\"a=debian:6.12\", \"debian:6.12\"", "stands there twice"),
        ("\"=debian:6.12\"", "`` is not a label"),
        ("\"\\u001b[2Jx=debian:6.12\"", "is not a label"),
        ("\"aaaaaaaaaaaaaaaaaaaaaaaaa=debian:6.12\"", "24 at most"),
        ("{ kernel = \"debian:6.12\", preempt = [] }", "a factor has no level"),
        ("{ kernel = \"debian:6.12\", mode = [] }", "unknown field `mode`"),
        ("{ kernel = \"debain:6.12\", preempt = [\"none\"] }", "names no kernel"),
    ] {
        let error = error("\"debian:6.12\"", kernels);
        assert!(error.message.contains(said), "{kernels}: {error}");
        assert!(!error.message.contains('\u{1b}'), "{error}");
    }
}

#[test]
fn a_value_that_is_missing_comes_with_an_example() {
    for line in SMALL.lines().filter(|line| line.contains('=')) {
        let key = line.split(' ').next().unwrap();
        for to in [String::new(), format!("{key} ="), format!("{key} = {{}}")] {
            let said = error(line, &to);
            let help = said.help.as_deref().unwrap_or_default();
            let example = help.strip_prefix("for example: ");
            let is_of_key = example.is_some_and(|example| example.starts_with(key));
            assert!(is_of_key, "{to}: {said}: {help}");
        }
    }
    for (table, wanted) in [("[factors]", "[factors]"), ("[workload.hackbench]", "[workload")] {
        let text = &SMALL[..SMALL.find(table).unwrap()];
        let help = Experiment::parse(text).unwrap_err().help.unwrap();
        assert!(help.starts_with(&format!("for example:\n{wanted}")), "{help}");
    }
}

#[test]
fn a_misspelt_workload_key_is_named_with_its_line() {
    let error =
        error("kind = \"cyclictest-hackbench\"", "kind = \"cyclictest-hackbench\"\ngruops = 2");
    assert!(error.line >= 9, "{error}");
    assert_eq!(error.help.as_deref(), Some("did you mean `groups`?"));
}

#[test]
fn a_list_of_stressors_has_a_workload_for_each() {
    let of = |table: &str| Experiment::parse(&SMALL.replace("[workload.hackbench]", table));
    let list = |keys: &str| format!("[workload.os]\nkind = \"stress-ng\"\n{keys}\n[workload.x]");
    let names = |experiment: &Experiment| {
        experiment.workload.keys().map(ToString::to_string).collect::<Vec<_>>()
    };
    let experiment = of(&list("stressors = [\"mmap\", \"fork\"]")).unwrap();
    assert_eq!(names(&experiment), ["os-mmap", "os-fork", "x"]);
    assert_eq!(experiment.cells(), Some(3 * 2 * 5));
    let json = serde_json::to_string(&experiment).unwrap();
    assert_eq!(serde_json::from_str::<Experiment>(&json).unwrap(), experiment);
    let all = of(&list("stressors = \"class:os\"\nwithout = [\"clone\"]")).unwrap();
    assert_eq!(all.workload.len(), 256 + 1);
    for (table, line, said) in [
        (
            list("stressors = [\"mmap\"]").replace(".x]", ".os-mmap]"),
            12,
            "two workloads have the name `os-mmap`",
        ),
        (list("stressors = \"class:io\""), 11, "or a class: \"class:os\""),
        (list("stressors = [\"mmap\"]\nwithout = [\"fork\"]"), 9, "`without` names `fork`"),
        (
            list("stressors = [\"mmap\"]").replace(".os]", &format!(".{}]", "o".repeat(60))),
            9,
            "too long a name",
        ),
    ] {
        let error = of(&table).unwrap_err();
        assert!(error.message.contains(said) && error.line == line, "{table}: {error}");
    }
}

/// A stranger may have written one.
#[test]
fn a_recording_has_no_list_of_stressors() {
    let json = serde_json::to_string(&Experiment::parse(SMALL).unwrap()).unwrap();
    let list = json.replace(
        "{\"kind\":\"cyclictest-hackbench\"",
        "{\"kind\":\"stress-ng\",\"stressors\":[\"mmap\"]},\"x\":{\"kind\":\"cyclictest-hackbench\"",
    );
    let experiment: Experiment = serde_json::from_str(&list).unwrap();
    assert!(experiment.check_again().unwrap_err().contains("a list of stressors"));
}

#[test]
fn a_folder_needs_a_path() {
    let error = error("\"cyclictest-hackbench\"", "\"folder\"");
    assert_eq!((error.line, error.message.as_str()), (10, "the folder has no path"));
    let text = SMALL.replace("\"cyclictest-hackbench\"", "\"folder\"\npth = \"mine\"");
    let error = Experiment::parse(&text).unwrap_err();
    assert_eq!((error.line, error.help.as_deref()), (11, Some("did you mean `path`?")));
}

#[test]
fn the_time_of_several_cpus_is_bounded() {
    let machine = |key: &str| format!("[machine]\n{key}\n[factors]");
    let text = SMALL.replace("[factors]", &machine("lookahead_ns = 20"));
    let clocks = Experiment::parse(&text).unwrap().machine.clocks;
    assert_eq!(clocks, Clocks::Own(20.try_into().unwrap()));
    for value in ["0", "19", "2001", "4294967295"] {
        let error = error("[factors]", &machine(&format!("lookahead_ns = {value}")));
        assert_eq!(error.line, 6, "{error}");
        assert!(error.message.contains("must be 20 to 2000 ns"), "{error}");
    }
    for value in ["-1", "4294967296", "\"500\"", "0.5", "[500]", ""] {
        let error = error("[factors]", &machine(&format!("lookahead_ns = {value}")));
        assert_eq!(error.line, 6, "{error}");
        assert_eq!(error.help.as_deref(), Some("for example: lookahead_ns = 500"), "{error}");
    }
}

#[test]
fn the_skew_of_turns_is_told_to_be_no_more() {
    for value in ["10", "0", "-1", "\"abc\"", "{}"] {
        let error = error("[factors]", &format!("[machine]\nskew_us = {value}\n[factors]"));
        assert_eq!((error.line, &error.message[..21]), (6, "`skew_us` is no more:"));
        assert!(error.help.unwrap().contains("lookahead_ns = 500"));
    }
    for key in ["skew_ns", "skw_us"] {
        let error = error("[factors]", &format!("[machine]\n{key} = 1\n[factors]"));
        assert!(!error.help.unwrap().contains("skew_us"));
    }
}

#[test]
fn a_topology_has_the_cpus_of_the_experiment() {
    let with = |cpus: &str, topology: &str, machine: &str| {
        let text = SMALL.replace(
            "[workload",
            &format!("[machine]\n{machine}\n[machine.topology]\n{topology}\n[workload"),
        );
        Experiment::parse(&text.replace("[factors]", &format!("[factors]\n{cpus}")))
    };
    let all =
        "sockets = 2\nthreads = 2\nnuma_nodes = 2\ncaches = { l2 = \"socket\", l1 = \"core\" }";
    let experiment = with("cpus = [4]", all, "").unwrap();
    assert_eq!(experiment.machine.topology.unwrap().cpus(), 4);
    // Another socket is far, and without caches no line moves.
    with("cpus = [4]", "cores = 2\nsockets = 2", "caches = true").unwrap();
    with("cpus = [2]", "threads = 2", "").unwrap();
    with("cpus = [4]", "sockets = 2\nthreads = 2\nnuma_nodes = 2", "arch = \"arm64\"").unwrap();
    for (cpus, topology, machine, said, help) in [
        ("cpus = [1, 4]", all, "", "has 4 CPUs, and no other number", "cpus = [4]"),
        ("cpus = [8]", all, "", "has 4 CPUs, and no other number", "cpus = [4]"),
        ("", all, "", "has 4 CPUs, and no other number", "cpus = [4]"),
        ("cpus = [4]", all, "memory_mib = 513", "equal parts of 513 MiB", "memory_mib"),
        (
            "cpus = [4]",
            "cores = 2\nsockets = 2",
            "cost = \"amd-epyc\"\ncaches = true",
            "does not say what a line takes between CPUs of this topology (`far`)",
            "add `far` to its [caches.transfers]",
        ),
        ("cpus = [2]", "threads = 2", "caches = true", "of this topology (`core`)", "add `core`"),
        ("cpus = [4]", all, "arch = \"arm64\"", "who shares a cache", "leave its `caches` out"),
        ("cpus = [2]", "threds = 2", "", "unknown field `threds`", "did you mean `threads`?"),
        ("cpus = [9]", "cores = 9", "", "1 to 8", ""),
        ("cpus = [1]", "cores = 0", "", "1 or more", ""),
        ("cpus = [2]", "cores = 2\nnuma_nodes = 3", "", "NUMA nodes cannot", ""),
    ] {
        let error = with(cpus, topology, machine).unwrap_err();
        assert!(error.message.contains(said) && error.line > 1, "{error}");
        assert!(error.help.unwrap_or_default().contains(help), "{cpus} {topology}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (from, to) in [
        ("format = 1", "format = 2"),
        ("[\"debian:6.12\"]", "[]"),
        ("[\"debian:6.12\"]", "[\"ubuntu:24.04\"]"),
        ("\"small\"", "\"../../x\""),
        ("\"small\"", "\"\""),
        ("\"small\"", "\"a\\u001b[2J\""),
        ("[workload.hackbench]", "[workload.\"a b\"]"),
        ("[factors]", "[machine]\nmodules = [\"../x\"]\n[factors]"),
        ("[factors]", "[machine]\nshift = 11\n[factors]"),
        ("[factors]", "[machine]\nmemory_mib = 1\n[factors]"),
        ("[factors]", "[machine]\ncmdline = [\"a b\"]\n[factors]"),
        ("[factors]", "[machine]\ncmdline = [\"preempt=full\"]\n[factors]"),
        ("[factors]", "[factors]\ncpus = [0]"),
        ("[factors]", "[factors]\ncpus = [9]"),
        ("[factors]", "[factors]\ncpus = [-1]"),
        ("[factors]", "[factors]\ncpus = []"),
        ("[factors]", "[replicates]\ncount = 0\n[factors]"),
    ] {
        error(from, to);
    }
}
