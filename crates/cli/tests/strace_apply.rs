//! Tests of `apply` and `revert` that are killed before every system call that writes, and with
//! every one of them failing: the machine boots the old or the new configuration, and the next
//! command completes the change.

use std::{collections::BTreeMap, path::Path};

use crate::common::Finished;
use crate::root::{Root, Snapshot, contents};

/// The system calls that change files, as strace names them.
const WRITING: &str = "write,writev,pwrite64,openat,creat,rename,renameat,renameat2,unlink,unlinkat,\
    fsync,fdatasync,ftruncate,link,linkat,symlink,symlinkat,chmod,fchmod,fchmodat,chown,fchown,\
    fchownat,mkdir,mkdirat,rmdir";

/// Settings with files of every kind: the boot loader's, and a service for the settings at run
/// time.
const FIRST: [&str; 6] = ["system", "apply", "--yes", "--threadirqs", "--base-slice-ns", "3000000"];
const SECOND: [&str; 6] =
    ["system", "apply", "--yes", "--preempt=full", "--base-slice-ns", "4000000"];
const REVERT: [&str; 3] = ["system", "revert", "--yes"];

/// A system call by its name and its number among those of that name, as strace counts them.
struct Call {
    name: String,
    number: u32,
}

/// Runs the command with a fault at one call.
fn inject(root: &Root, fault: &str, call: &Call, arguments: &[&str]) -> Finished {
    let Call { name, number } = call;
    let trace = format!("trace={name}");
    let inject = format!("inject={name}:{fault}:when={number}");
    let strace = ["strace", "-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject];
    root.under(&strace, arguments)
}

/// Returns the files that a boot reads, and those that it reads only if its command line asks for
/// them.
fn boots(snapshot: &Snapshot) -> Vec<(&Path, &[u8])> {
    let is_entry = |path: &Path| path.ends_with("grub.cfg") || path.starts_with("boot/loader");
    let draft = |path: &Path| path.to_string_lossy().contains(".preemptlab-draft-");
    let all = snapshot.iter().filter(|(path, _)| is_entry(path) && !draft(path));
    all.map(|(path, (_, bytes, _))| (path.as_path(), bytes.as_slice())).collect()
}

/// Checks that every file is the old one or the new one, and that so is each boot, down to the
/// service that its command line asks for.
fn is_old_or_new(now: &Snapshot, old: &Snapshot, new: &Snapshot, context: &str) {
    let (now_all, old_all, new_all) = (contents(now), contents(old), contents(new));
    for (path, content) in &now_all {
        let name = path.to_string_lossy();
        if name.contains(".preemptlab-draft-") || name.starts_with("var/lib/preemptlab") {
            continue;
        }
        let known = [&old_all, &new_all].iter().any(|all| all.get(path) == Some(content));
        assert!(known || is_folder(content), "{context}: {name} is neither old nor new");
    }
    for path in old_all.keys().filter(|path| new_all.contains_key(*path)) {
        assert!(now_all.contains_key(path), "{context}: {} is gone", path.display());
    }
    for (path, bytes) in boots(now) {
        let text = String::from_utf8_lossy(bytes);
        let asked =
            text.split_whitespace().filter_map(|it| it.strip_prefix("preemptlab.settings="));
        for digest in asked {
            for unit in [
                format!("etc/systemd/system/preemptlab-{digest}.service"),
                format!("etc/systemd/system/multi-user.target.d/preemptlab-{digest}.conf"),
            ] {
                let there = now_all.contains_key(Path::new(&unit));
                assert!(there, "{context}: {} asks for {unit}", path.display());
            }
        }
    }
}

/// Returns whether an entry is a folder, which has no bytes, and permissions that tell so.
fn is_folder((mode, _): &(u32, &[u8])) -> bool {
    mode & 0o170_000 == 0o040_000
}

/// Runs a command with the fault at each of its writing calls in turn. Returns how many there are.
fn sweep(
    make: fn() -> Root,
    before: &[&[&str]],
    command: &[&str],
    fault: &str,
    check: impl Fn(&Root, &Finished, &Snapshot, &Snapshot, &str),
) -> usize {
    let prepared = || {
        let root = make();
        for command in before {
            root.preemptlab(command).succeeds();
        }
        root
    };
    let undisturbed = prepared();
    let old = undisturbed.snapshot();
    undisturbed.preemptlab(command).succeeds();
    let new = undisturbed.snapshot();
    assert_ne!(contents(&old), contents(&new));
    let calls = writing_calls(&prepared(), command);
    // Removing an empty folder takes no space, and one that stays does nothing.
    let calls: Vec<Call> =
        calls.into_iter().filter(|it| it.name != "rmdir" || fault.starts_with("signal")).collect();
    for call in &calls {
        let root = prepared();
        let finished = inject(&root, fault, call, command);
        let context = format!("{} with {fault} at {} {}", command[0], call.name, call.number);
        is_old_or_new(&root.snapshot(), &old, &new, &context);
        check(&root, &finished, &old, &new, &context);
    }
    calls.len()
}

/// Returns the calls that change files, without those that open a file to read it and those that
/// print.
fn writing_calls(root: &Root, command: &[&str]) -> Vec<Call> {
    let log = root.path("strace.log");
    let trace = format!("trace={WRITING}");
    let strace = ["strace", "-qq", "-o", log.to_str().unwrap(), "-e", &trace];
    root.under(&strace, command).succeeds();
    let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
    let mut calls = Vec::new();
    for line in root.read("strace.log").lines() {
        let Some((name, rest)) = line.split_once('(') else { continue };
        let number = numbers.entry(name.to_owned()).or_default();
        *number += 1;
        let changes = match name {
            "openat" => rest.contains("O_CREAT"),
            "write" => !rest.starts_with("1,") && !rest.starts_with("2,"),
            _ => true,
        };
        if changes {
            calls.push(Call { name: name.to_owned(), number: *number });
        }
    }
    calls
}

/// Checks that only the journal's content differs.
fn same_settings(now: &Snapshot, expected: &Snapshot, context: &str) {
    let without_journal = |of: &Snapshot| -> Snapshot {
        let kept = of.iter().filter(|(path, _)| !path.starts_with("var"));
        kept.map(|(path, content)| (path.clone(), content.clone())).collect()
    };
    same(&without_journal(now), &without_journal(expected), context);
}

fn same(now: &Snapshot, expected: &Snapshot, context: &str) {
    let (now, expected) = (contents(now), contents(expected));
    let paths = now.keys().chain(expected.keys());
    let differing: Vec<_> = paths.filter(|path| now.get(*path) != expected.get(*path)).collect();
    assert!(differing.is_empty(), "{context}: {differing:?} differ");
}

/// Checks that the same command completes, and that `revert` restores the very bytes.
fn completes(root: &Root, command: &[&str], original: &Snapshot, new: &Snapshot, context: &str) {
    let finished = root.preemptlab(command);
    assert_eq!(finished.code, 0, "{context}: {}{}", finished.stdout, finished.stderr);
    same_settings(&root.snapshot(), new, context);
    root.preemptlab(&REVERT).succeeds();
    same(&root.snapshot(), original, context);
}

fn killed(make: fn() -> Root, before: &[&[&str]], command: &[&str]) {
    let original = make().snapshot();
    let calls = sweep(make, before, command, "signal=KILL", |root, finished, _, new, context| {
        assert_ne!(finished.code, 0, "{context}: it was not killed");
        // Every other time `revert` finds the unfinished change, and not the same command.
        let number: u32 = context.rsplit(' ').next().unwrap().parse().unwrap();
        if number.is_multiple_of(2) {
            let finished = root.preemptlab(&REVERT);
            assert_eq!(finished.code, 0, "{context}: {}", finished.stderr);
            same(&root.snapshot(), &original, context);
        } else {
            completes(root, command, &original, new, context);
        }
    });
    println!("killed at each of {calls} calls");
    assert!(calls > 20, "only {calls} calls were disturbed");
}

/// Checks that whatever failed, all files are old or all are new, and no other file is left.
fn failing(make: fn() -> Root, before: &[&[&str]], command: &[&str]) {
    let calls =
        sweep(make, before, command, "error=ENOSPC", |root, finished, old, new, context| {
            let now = root.snapshot();
            let is = |all: &Snapshot| contents(&now) == contents(all);
            let said = format!("{context}: {} {}", finished.code, finished.stderr);
            // Undoing needs space, too, where there was a journal before; then it is completed later.
            if !(is(old) || is(new)) {
                assert_ne!(finished.code, 0, "{said}");
                completes(root, command, &make().snapshot(), new, context);
            }
        });
    println!("the disk was full at each of {calls} calls");
    assert!(calls > 20, "only {calls} calls were disturbed");
}

#[test]
fn apply_is_killed_with_grub() {
    killed(Root::quick_grub, &[], &FIRST);
}

#[test]
fn apply_over_an_earlier_one_is_killed_with_grub() {
    killed(Root::quick_grub, &[&FIRST], &SECOND);
}

#[test]
fn revert_is_killed_with_grub() {
    killed(Root::quick_grub, &[&FIRST], &REVERT);
}

#[test]
fn apply_is_killed_with_systemd_boot() {
    killed(Root::systemd_boot, &[], &FIRST);
}

#[test]
fn revert_is_killed_with_systemd_boot() {
    killed(Root::systemd_boot, &[&FIRST], &REVERT);
}

#[test]
fn every_call_of_apply_finds_the_disk_full() {
    failing(Root::quick_grub, &[], &FIRST);
}

#[test]
fn every_call_of_revert_finds_the_disk_full() {
    failing(Root::quick_grub, &[&FIRST], &REVERT);
}

/// From one call on every write fails: nothing was changed, or the next command completes the
/// change.
#[test]
fn the_disk_is_full_and_stays_so() {
    let mut root = Root::quick_grub();
    let before = root.snapshot();
    let quick = root.more.clone();
    root.more += "\nmount -t tmpfs -o size=16k full \"$root/boot/grub\"\n\
                  cp \"$root/grub.cfg\" \"$root/boot/grub/\"\n\
                  head -c 1M /dev/zero >\"$root/boot/grub/filler\" 2>/dev/null || :";
    root.write("grub.cfg", &root.read("boot/grub/grub.cfg"));
    root.preemptlab(&FIRST).fails(4, &["No space left on device"]);
    root.more = quick;
    assert_eq!(contents(&before), contents(&root.snapshot()));
}
