//! `apply` and `revert` on the root folder of a Debian system, with Debian's real grub-mkconfig.

use std::fs;

use crate::common;
use crate::root::{self, Root, contents};

const SETTINGS: [&str; 3] = ["--preempt", "full", "--threadirqs"];

fn apply(root: &Root, settings: &[&str]) -> common::Finished {
    root.preemptlab(&[&["system", "apply", "--yes"], settings].concat())
}

/// Returns the command lines of a `grub.cfg`.
fn lines(root: &Root) -> Vec<String> {
    let text = root.read("boot/grub/grub.cfg");
    let lines = text.lines().filter(|line| line.trim_start().starts_with("linux\t"));
    lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn what_is_applied_is_shown_first_and_taken_back_to_the_byte() {
    let root = Root::grub();
    let before = root.snapshot();
    let shown = root.preemptlab(&[&["system", "apply"], &SETTINGS[..]].concat());
    shown.fails(2, &["Nothing was changed", "--yes"]);
    shown.says(&[
        "--- /dev/null +++ /etc/default/grub.d/zz-preemptlab.cfg",
        "+GRUB_CMDLINE_LINUX_DEFAULT=\"${GRUB_CMDLINE_LINUX_DEFAULT} threadirqs preempt=full\"",
        "--- /boot/grub/grub.cfg",
        "ro quiet threadirqs preempt=full",
    ]);
    assert_eq!(before, root.snapshot());
    let applied = apply(&root, &SETTINGS);
    assert_eq!(applied.succeeds().stdout, shown.stdout);
    let lines = lines(&root);
    let with = lines.iter().filter(|line| line.ends_with("ro quiet threadirqs preempt=full"));
    assert_eq!((lines.len(), with.count()), (3, 2), "{lines:?}");
    assert!(lines.iter().any(|line| line.contains(" single")));
    // A later update-grub generates the same.
    let after = root.read("boot/grub/grub.cfg");
    root.regenerate();
    assert_eq!(root.read("boot/grub/grub.cfg"), after);
    root.preemptlab(&["system", "revert", "--yes"]).succeeds();
    assert_eq!(contents(&before), contents(&root.snapshot()));
    root.preemptlab(&["system", "revert", "--yes"]).fails(0, &["Nothing is applied."]);
}

#[test]
fn a_dry_run_only_shows() {
    let root = Root::quick_grub();
    let before = root.snapshot();
    let shown = root.preemptlab(&[&["system", "apply", "--dry-run"], &SETTINGS[..]].concat());
    shown.succeeds().says(&["+++ /etc/default/grub.d/zz-preemptlab.cfg"]);
    shown.fails(0, &["Nothing was changed: --dry-run"]);
    assert_eq!(before, root.snapshot());
    let both =
        root.preemptlab(&[&["system", "apply", "--dry-run", "--yes"], &SETTINGS[..]].concat());
    both.fails(2, &["--dry-run"]);
}

/// x86 keeps 2047 characters of the machine's own words and the added ones.
#[test]
fn the_whole_command_line_counts() {
    let root = Root::quick_grub();
    let long = format!("console={}", "1".repeat(1900));
    let default = format!("GRUB_CMDLINE_LINUX_DEFAULT=\"quiet {long}\"\n");
    root.write("etc/default/grub", &default);
    root.regenerate();
    let before = root.snapshot();
    let quirk = |length: usize| format!("quirk={}", "1".repeat(length));
    for further in [&[][..], &["--skip-ignored"]] {
        let word = quirk(100);
        let settings = ["--parameter", &word, "--allow", &word];
        let refused = apply(&root, &[&settings, further].concat());
        refused.fails(2, &["the command line: with the 106 characters", "keeps 2047"]);
        assert_eq!(before, root.snapshot());
    }
    apply(&root, &["--skew-tick"]).succeeds();
}

#[test]
fn a_list_is_written_in_ranges() {
    let root = Root::quick_grub();
    apply(&root, &["--isolcpus", "managed_irq,domain,1,2,3"]).succeeds();
    let config = root.read("boot/grub/grub.cfg");
    assert!(config.contains("isolcpus=managed_irq,domain,1-3"), "{config}");
}

#[test]
fn the_second_time_nothing_is_done() {
    let root = Root::grub();
    apply(&root, &SETTINGS).succeeds();
    let before = root.snapshot();
    apply(&root, &SETTINGS).fails(0, &["There is nothing to do"]);
    assert_eq!(before, root.snapshot());
}

#[test]
fn other_settings_take_the_place_and_the_first_state_comes_back() {
    let root = Root::grub();
    let before = root.snapshot();
    apply(&root, &SETTINGS).succeeds();
    apply(&root, &["--nohz-full", "1-3", "--base-slice-ns", "3000000"]).succeeds();
    let text = lines(&root).join("\n");
    assert!(text.contains("nohz_full=1-3 preemptlab.settings=") && !text.contains("threadirqs"));
    let units = || fs::read_dir(root.path("etc/systemd/system")).unwrap().count();
    assert_eq!(units(), 2);
    apply(&root, &["--nohz-full", "1-3", "--base-slice-ns", "4000000"]).succeeds();
    assert_eq!(units(), 2);
    apply(&root, &SETTINGS).succeeds();
    root.preemptlab(&["system", "revert", "--yes"]).succeeds();
    assert_eq!(contents(&before), contents(&root.snapshot()));
}

#[test]
fn a_kernel_that_came_since_stays_bootable() {
    let root = Root::grub();
    apply(&root, &SETTINGS).succeeds();
    root.write("boot/vmlinuz-6.12.118+deb13-amd64", "");
    root.regenerate();
    let reverted = root.preemptlab(&["system", "revert", "--yes"]);
    reverted.fails(0, &["/boot/grub/grub.cfg was changed since"]);
    let lines = lines(&root);
    assert_eq!(lines.len(), 5, "{lines:?}");
    assert!(lines.iter().all(|line| !line.contains("preempt")));
    assert!(lines[0].contains("vmlinuz-6.12.118+deb13-amd64"));
}

#[test]
fn what_somebody_changed_is_not_overwritten_unasked() {
    let root = Root::grub();
    let before = root.snapshot();
    apply(&root, &SETTINGS).succeeds();
    let drop_in = "etc/default/grub.d/zz-preemptlab.cfg";
    root.write(drop_in, &format!("{}# mine\n", root.read(drop_in)));
    root.preemptlab(&["system", "revert", "--yes"])
        .fails(1, &["was changed since", "# mine", "--force"]);
    assert!(root.read(drop_in).contains("# mine"));
    root.preemptlab(&["system", "revert", "--yes", "--force"]).succeeds();
    assert_eq!(contents(&before), contents(&root.snapshot()));
}

#[test]
fn a_broken_drop_in_of_somebody_else_changes_nothing() {
    let root = Root::grub();
    root.write("etc/default/grub.d/10-broken.cfg", "if [ ; then\n");
    let before = root.snapshot();
    apply(&root, &SETTINGS).fails(4, &["grub-mkconfig failed, and nothing was changed"]);
    assert_eq!(before, root.snapshot());
}

#[test]
fn a_drop_in_that_overrides_ours_is_found_out() {
    let root = Root::grub();
    let drop_in = "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n";
    root.write("etc/default/grub.d/zzz-cloud.cfg", drop_in);
    let before = root.snapshot();
    apply(&root, &SETTINGS).fails(2, &["nothing was changed: no entry"]);
    assert_eq!(before, root.snapshot());
}

#[test]
fn entries_of_systemd_boot_get_the_words_and_lose_them() {
    let root = Root::systemd_boot();
    let before = root.snapshot();
    apply(&root, &SETTINGS).succeeds();
    let entry = "boot/loader/entries/debian-6.12.117+deb13-amd64.conf";
    assert!(root.read(entry).contains("ro quiet threadirqs preempt=full\n"));
    assert!(!root.read("boot/loader/entries/memtest.conf").contains("preempt"));
    assert_eq!(
        root.read("etc/kernel/cmdline"),
        "root=UUID=0c7a6b6c ro quiet threadirqs preempt=full\n"
    );
    let applied = root.snapshot();
    apply(&root, &SETTINGS).fails(0, &["There is nothing to do"]);
    assert_eq!(applied, root.snapshot());
    apply(&root, &["--skew-tick"]).succeeds();
    assert!(root.read(entry).contains("ro quiet skew_tick=1\n"));
    // kernel-install makes an entry for a new kernel from /etc/kernel/cmdline.
    let new = "boot/loader/entries/debian-6.12.118+deb13-amd64.conf";
    root.write(new, &root.read(entry).replace("117", "118"));
    root.preemptlab(&["system", "revert", "--yes"]).succeeds();
    assert!(root.read(new).contains("ro quiet\n"));
    fs::remove_file(root.path(new)).unwrap();
    assert_eq!(contents(&before), contents(&root.snapshot()));
}

#[test]
fn what_would_be_ignored_is_refused_before_anything_is_touched() {
    let root = Root::grub();
    root.write("etc/default/grub", "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet preempt=none\"\n");
    root.regenerate();
    let before = root.snapshot();
    let refused = |settings: &[&str], said: &[&str]| apply(&root, settings).fails(2, said);
    refused(&["--preempt", "lazy"], &["offers none and voluntary and full"]);
    refused(&["--preempt", "full"], &["/etc/default/grub already gives `preempt=none`"]);
    refused(
        &["--rcu-lazy", "on"],
        &["rcutree.enable_rcu_lazy=1: callbacks are delayed", "--rcu-nocbs"],
    );
    refused(&["--nohz-full", "5-2"], &["no list of CPUs"]);
    refused(&["--parameter", "a\"b"], &["no setting"]);
    refused(&["--isolcpus", "1", "--parameter", "isolcpus=2"], &["twice"]);
    assert_eq!(before, root.snapshot());
}

#[test]
fn what_would_be_ignored_can_be_left_out() {
    let root = Root::grub();
    let apply = |settings: &[&str]| {
        root.preemptlab(&[&["system", "apply", "--yes", "--skip-ignored"], settings].concat())
    };
    let before = root.snapshot();
    apply(&["--preempt", "lazy"]).fails(2, &["Left out: preempt=lazy", "all of it"]);
    assert_eq!(before, root.snapshot());
    apply(&["--preempt", "lazy", "--rcu-lazy", "on", "--threadirqs"]).succeeds();
    let first = lines(&root).remove(0);
    assert!(first.contains("threadirqs"), "{first}");
    assert!(!first.contains("preempt=") && !first.contains("rcu"), "{first}");
}

#[test]
fn a_system_that_is_not_ours_to_change_is_told_so() {
    let refused = |path: &str, text: &str, said: &str| {
        let root = Root::quick_grub();
        root.write(path, text);
        let before = root.snapshot();
        apply(&root, &SETTINGS).fails(4, &[said]);
        assert_eq!(before, root.snapshot());
    };
    refused("run/ostree-booted", "", "rpm-ostree kargs");
    refused("etc/os-release", "ID=nixos\n", "boot.kernelParams");
    refused("etc/os-release", "ID=\"opensuse-microos\"\n", "transactional-update");
}

#[test]
fn a_loader_that_is_not_known_is_told_so() {
    let mut root = Root::quick_grub();
    root.more += "\nmount --bind /dev/null \"$root/boot/grub/grub.cfg\"";
    let before = root.snapshot();
    apply(&root, &SETTINGS).fails(4, &["it is no regular file"]);
    root.more.clear();
    fs::remove_file(root.path("boot/grub/grub.cfg")).unwrap();
    apply(&root, &SETTINGS).fails(4, &["neither GRUB with grub-mkconfig nor", "--emit script"]);
    root.write("boot/config.txt", "");
    root.write("boot/cmdline.txt", "");
    apply(&root, &SETTINGS).fails(4, &["Raspberry Pi", "/boot/cmdline.txt"]);
    for name in ["boot/config.txt", "boot/cmdline.txt"] {
        fs::remove_file(root.path(name)).unwrap();
    }
    root.write("boot/grub/grub.cfg", &root::text(&before, "boot/grub/grub.cfg"));
    assert_eq!(contents(&before), contents(&root.snapshot()));
}

#[test]
fn a_read_only_boot_changes_nothing() {
    for folder in ["boot", "etc"] {
        let mut root = Root::quick_grub();
        let before = root.snapshot();
        root.more += &format!(
            "\nmount --bind \"$root/{folder}\" \"$root/{folder}\"\n\
             mount -o remount,bind,ro \"$root/{folder}\""
        );
        apply(&root, &SETTINGS).fails(4, &[&format!("/{folder} is read-only")]);
        assert_eq!(before, root.snapshot());
    }
}

#[test]
fn the_second_of_two_at_once_is_told_who_is_first() {
    let root = Root::quick_grub();
    root.write("run/preemptlab.lock", "");
    let before = root.snapshot();
    let lock = root.path("run/preemptlab.lock");
    let under = ["flock", "--no-fork", lock.to_str().unwrap()];
    // The program that starts preemptlab holds the lock, which preemptlab inherits.
    let finished = root.under(&under, &["system", "apply", "--yes", "--skew-tick"]);
    finished.fails(4, &["preemptlab with process number", "is changing the settings"]);
    assert_eq!(before, root.snapshot());
}

/// Returns a machine whose kernel has two switches of its own.
fn live() -> Root {
    let root = Root::quick_grub();
    root.write("sys/kernel/debug/sched/base_slice_ns", "700000\n");
    root.write("sys/kernel/debug/sched/features", "PLACE_LAG HRTICK\n");
    root.write("sys/devices/system/cpu/possible", "0-3\n");
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    root.write(&format!("boot/config-{release}"), root::CONFIG);
    root
}

const AT_ONCE: [&str; 9] = [
    "system",
    "apply",
    "--yes",
    "--parameter=quirk=1",
    "--allow=quirk=1",
    "--base-slice-ns",
    "3000000",
    "--sched-feature",
    "NO_HRTICK",
];

#[test]
fn what_works_at_run_time_is_set_at_once_and_taken_back() {
    let root = live();
    let before = root.snapshot();
    let slice = || root.read("sys/kernel/debug/sched/base_slice_ns");
    let applied = root.live(&AT_ONCE);
    applied.succeeds().says(&[
        "At once:",
        "/sys/kernel/debug/sched/base_slice_ns: 700000 -> 3000000",
        "/sys/kernel/debug/sched/features: HRTICK -> NO_HRTICK",
    ]);
    assert_eq!(slice(), "3000000");
    root.live(&AT_ONCE).fails(0, &["There is nothing to do"]);
    let doctor = root.live(&["system", "show", "--format", "json", "--store", "/tmp/nothing"]);
    let document: serde_json::Value = serde_json::from_str(&doctor.stdout).unwrap();
    let state = |index: usize| document["settings"]["applied"][index]["state"].clone();
    assert_eq!([state(0), state(1), state(2)], ["after_next_boot", "in_force", "in_force"]);
    // Another value takes the place, and `revert` restores the first one.
    root.live(&["system", "apply", "--yes", "--base-slice-ns", "4000000"]).succeeds();
    assert_eq!(slice(), "4000000");
    assert_eq!(root.read("sys/kernel/debug/sched/features"), "HRTICK");
    root.live(&["system", "revert", "--yes"]).succeeds();
    assert_eq!(slice(), "700000");
    assert_eq!(contents(&before), contents(&root.snapshot()));
}

#[test]
fn what_the_kernel_does_not_take_is_not_applied() {
    let mut root = live();
    let before = root.snapshot();
    root.more += "\nmount --bind \"$root/sys/kernel/debug/sched/features\" \"$root/sys/kernel/debug/sched/features\"\n\
                  mount -o remount,bind,ro \"$root/sys/kernel/debug/sched/features\"";
    root.live(&AT_ONCE).fails(2, &["sched/features=NO_HRTICK cannot be set"]);
    assert_eq!(root.read("sys/kernel/debug/sched/base_slice_ns"), "700000");
    assert_eq!(contents(&before), contents(&root.snapshot()));
    root.live(&["system", "apply", "--yes", "--sched-feature", "NO_SUCH"])
        .fails(2, &["no such feature"]);
    root.live(&["system", "apply", "--yes", "--nohz-full", "0-3"]).fails(2, &["every CPU"]);
    root.live(&["system", "apply", "--yes", "--nohz-full", "9"]).fails(2, &["which has 0-3"]);
    root.write("run/.containerenv", "");
    root.live(&AT_ONCE).fails(4, &["this is a container"]);
    assert_eq!(contents(&before), contents(&root.snapshot()));
}

#[test]
fn doctor_tells_of_an_interrupted_change() {
    let root = live();
    let before = root.snapshot();
    root.live(&AT_ONCE).succeeds();
    let journal = "var/lib/preemptlab/journal.json";
    let mut document: serde_json::Value = serde_json::from_str(&root.read(journal)).unwrap();
    document["pending"] = serde_json::json!({
        "verb": "revert", "changes": [], "make": [], "remove": [], "run_time": [], "outcome": null,
    });
    root.write(journal, &document.to_string());
    let doctor = root.live(&["system", "show", "--store", "/tmp/nothing"]);
    doctor.says(&["`preemptlab system revert` was interrupted", "sudo preemptlab system revert"]);
    root.live(&["system", "revert", "--yes"])
        .fails(0, &["An interrupted `preemptlab system revert`"]);
    assert_eq!(contents(&before), contents(&root.snapshot()));
    root.write(journal, "{\"format\": 2}");
    root.live(&["system", "revert", "--yes"]).fails(4, &["format 2 is of a newer preemptlab"]);
}

#[test]
fn a_recording_is_applied_where_its_kernel_is_installed() {
    let root = Root::quick_grub();
    let run = concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies/check");
    let from = |more: &[&str]| {
        root.preemptlab(&[&["system", "apply", "--yes", "--from", run], more].concat())
    };
    let missing = ["6.12.107+deb13-amd64 is not installed here", "apt-get install", "=6.12.107-1"];
    from(&[]).fails(4, &missing);
    from(&["--require", "wakeup.max<1us"]).fails(1, &["no configuration of"]);
    from(&["--preempt", "full"]).fails(2, &["cannot be used with"]);
    let alone =
        root.preemptlab(&["system", "apply", "--preempt", "full", "--maximize", "throughput"]);
    alone.fails(2, &["add --from RUN"]);
    root.write("boot/vmlinuz-6.12.107+deb13-amd64", "");
    // The generator of these tests knows one kernel, as a GRUB before 2.12 boots the newest.
    from(&[]).fails(2, &["GRUB is older than 2.12", "GRUB_DEFAULT"]);
    let systemd = Root::systemd_boot();
    let before = systemd.snapshot();
    systemd.preemptlab(&["system", "apply", "--yes", "--from", run]).succeeds();
    let entry = "debian-6.12.107+deb13-amd64.conf";
    assert_eq!(systemd.read("boot/loader/loader.conf"), format!("timeout 3\ndefault {entry}\n"));
    assert!(systemd.read(&format!("boot/loader/entries/{entry}")).contains("preempt=full"));
    let other = systemd.read("boot/loader/entries/debian-6.12.117+deb13-amd64.conf");
    assert!(!other.contains("preempt=full"));
    systemd.preemptlab(&["system", "revert", "--yes"]).succeeds();
    assert_eq!(contents(&before), contents(&systemd.snapshot()));
}
