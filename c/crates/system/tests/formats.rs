//! Tests that programs read the files as they are meant.

use std::{fs, process::Command};

use preemptlab_model::{Digest, Kernel, Package, PreemptMode};
use preemptlab_system::tune::{Settings, Step, Target, Wanted, emit};

const RELEASE: &str = "7.2.12+deb13-rt-amd64";

/// Returns the settings of a cell of Debian's kernel, or of any kernel.
fn of(kernel: bool, preempt: Option<PreemptMode>, cmdline: &str, run_time: &str) -> Settings {
    let sha256 = Digest::of(b"");
    let debian = Kernel {
        name: "debian:7.2-rt".parse().unwrap(),
        release: RELEASE.into(),
        image_sha256: sha256,
        packages: vec![Package {
            name: format!("linux-image-{RELEASE}").parse().unwrap(),
            version: "7.2.12-1~bpo13+1".parse().unwrap(),
            sha256,
        }],
        rt: None,
        modes: None,
        hz: None,
        source: None,
    };
    let proposal = Settings::new(&Wanted {
        kernel: kernel.then_some(&debian),
        preempt,
        cmdline: &[cmdline.to_owned()],
        settings: &run_time.parse().unwrap(),
        allowed: &[],
    });
    assert_eq!(proposal.refused, []);
    proposal.settings
}

fn settings() -> Settings {
    of(true, Some(PreemptMode::Lazy), "nohz_full=1-3", "")
}

fn commands(settings: &Settings, target: Target) -> Vec<String> {
    let steps = emit(settings, target).steps.into_iter();
    let commands = steps.filter_map(|step| match step {
        Step::Run(command) => Some(command.to_string()),
        _ => None,
    });
    commands.collect()
}

/// Returns the path, the permissions and the content of the only file.
fn file(settings: &Settings, target: Target) -> (String, u32, String) {
    let steps = emit(settings, target).steps.into_iter();
    let mut files = steps.filter_map(|step| match step {
        Step::Write { path, mode, content } => Some((path, mode, content)),
        _ => None,
    });
    let file = files.next().unwrap();
    assert_eq!(files.next(), None);
    file
}

#[test]
fn a_shell_that_sources_the_drop_in_has_the_parameters_after_its_own() {
    let (path, mode, content) = file(&settings(), Target::Grub);
    assert_eq!((path.as_str(), mode), ("/etc/default/grub.d/zz-preemptlab.cfg", 0o644));
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("drop-in.cfg"), content).unwrap();
    // As grub-mkconfig does.
    let script = "set -e; GRUB_CMDLINE_LINUX_DEFAULT=quiet; . ./drop-in.cfg; \
                  printf '%s|%s' \"$GRUB_CMDLINE_LINUX_DEFAULT\" \"$GRUB_TOP_LEVEL\"";
    let output = Command::new("sh").args(["-c", script]).current_dir(folder.path()).output();
    let output = String::from_utf8(output.unwrap().stdout).unwrap();
    let expected = "quiet nohz_full=1-3 preempt=lazy|/boot/vmlinuz-7.2.12+deb13-rt-amd64";
    assert_eq!(output, expected);
    assert_eq!(commands(&settings(), Target::Grub), ["update-grub"]);
}

#[test]
fn systemd_boot_gets_words_for_the_line_and_a_new_entry() {
    let measures = emit(&settings(), Target::SystemdBoot);
    let words = settings().parameters().to_vec();
    assert_eq!(measures.steps[0], Step::Add { path: "/etc/kernel/cmdline".into(), words });
    assert_eq!(
        commands(&settings(), Target::SystemdBoot),
        [
            "kernel-install add 7.2.12+deb13-rt-amd64 /boot/vmlinuz-7.2.12+deb13-rt-amd64",
            "bootctl set-default '*-7.2.12+deb13-rt-amd64.conf'",
        ]
    );
}

#[test]
fn tuned_gets_a_profile() {
    let (path, _, content) = file(&settings(), Target::Tuned);
    assert_eq!(path, "/etc/tuned/profiles/preemptlab/tuned.conf");
    let bootloader = content.split_once("[bootloader]\n").unwrap().1;
    assert_eq!(bootloader, "cmdline_preemptlab=+nohz_full=1-3 preempt=lazy\n");
    assert_eq!(commands(&settings(), Target::Tuned), ["tuned-adm profile preemptlab"]);
    let with_sysctl = of(false, None, "skew_tick=1", "sysctl.kernel.sched_rt_runtime_us=-1");
    let content = file(&with_sysctl, Target::Tuned).2;
    assert!(content.ends_with("\n[sysctl]\nkernel.sched_rt_runtime_us=-1\n"), "{content}");
}

#[test]
fn without_parameters_only_the_kernel_is_chosen() {
    let settings = of(true, None, "", "");
    assert!(!file(&settings, Target::Grub).2.contains("GRUB_CMDLINE"));
    assert_eq!(commands(&settings, Target::SystemdBoot).len(), 2);
    let tuned = emit(&settings, Target::Tuned);
    assert_eq!(tuned.steps, []);
    assert!(tuned.elsewhere.iter().any(|it| it.contains("the one that GRUB boots")));
}

#[test]
fn a_kernel_that_is_not_known_is_installed_by_hand() {
    let settings = of(false, None, "nohz_full=1-3", "");
    assert!(settings.notes().iter().any(|note| note.contains("by hand")));
    // The words are in no entry before the entries are written anew.
    assert_eq!(commands(&settings, Target::SystemdBoot), ["kernel-install add-all"]);
    assert!(!file(&settings, Target::Grub).2.contains("GRUB_TOP_LEVEL"));
}

#[test]
fn a_file_of_sysctls_has_those_alone() {
    let run_time = "sysctl.kernel.sched_rt_runtime_us=-1 sched/base_slice_ns=3000000";
    let settings = of(true, None, "nohz_full=1-3", run_time);
    let (path, _, content) = file(&settings, Target::Sysctl);
    assert_eq!(path, "/etc/sysctl.d/zz-preemptlab.conf");
    assert!(content.ends_with("\nkernel.sched_rt_runtime_us = -1\n"), "{content}");
    assert_eq!(content.lines().count(), 2);
}

/// Executes the script with a root folder in the place of `/`: its paths are changed, and the
/// commands that only root may call are replaced.
#[test]
fn the_script_does_it_without_preemptlab() {
    let preempt = Some(PreemptMode::Lazy);
    let settings = of(false, preempt, "nohz_full=1-3", "sched/base_slice_ns=3000000");
    let (_, mode, script) = file(&settings, Target::Script);
    assert_eq!(mode, 0o755);
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let entry = "title Debian\noptions root=/dev/vda1 ro\nlinux /vmlinuz\n";
    for (path, text) in [
        ("boot/loader/entries/a.conf", entry),
        ("etc/kernel/cmdline", "root=/dev/vda1 ro\n"),
        ("sys/kernel/debug/sched/base_slice_ns", "700000\n"),
        ("bin/id", "#!/bin/sh\necho 0\n"),
    ] {
        fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        fs::write(root.join(path), text).unwrap();
    }
    Command::new("chmod").arg("+x").arg(root.join("bin/id")).status().unwrap();
    let here = root.display().to_string();
    let script = ["/etc", "/boot", "/efi", "/sys"].iter().fold(script, |script, folder| {
        let script = script.replace(&format!(" {folder}/"), &format!(" {here}{folder}/"));
        script.replace(&format!(">{folder}/"), &format!(">{here}{folder}/"))
    });
    // Neither grubby nor update-grub is on this path.
    for tool in ["cat", "chmod", "dirname", "grep", "mkdir", "mv", "sed", "sync"] {
        let path = format!("/usr/bin/{tool}");
        std::os::unix::fs::symlink(path, root.join("bin").join(tool)).unwrap();
    }
    for _ in 0..2 {
        let mut shell = Command::new("/bin/sh");
        let output = shell.args(["-c", &script]).env("PATH", root.join("bin")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let read = |path: &str| fs::read_to_string(root.join(path)).unwrap();
        let words = settings.words().join(" ");
        assert_eq!(read("etc/kernel/cmdline"), format!("root=/dev/vda1 ro {words}\n"));
        let expected = entry.replace(" ro\n", &format!(" ro {words}\n"));
        assert_eq!(read("boot/loader/entries/a.conf"), expected);
        assert_eq!(read("sys/kernel/debug/sched/base_slice_ns"), "3000000");
        assert_eq!(fs::read_dir(root.join("etc/systemd/system")).unwrap().count(), 2);
    }
}
