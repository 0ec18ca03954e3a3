//! The files say to their readers what they are meant to say.

use std::{fs, process::Command};

use preemptlab_tune::{KernelPackage, Settings, Step, Target, emit};

fn settings() -> Settings {
    let release = "7.2.12+deb13-rt-amd64".to_owned();
    Settings {
        package: Some(KernelPackage {
            name: format!("linux-image-{release}"),
            version: "7.2.12-1~bpo13+1".into(),
            meta: "linux-image-rt-amd64".into(),
        }),
        release: Some(release),
        parameters: vec!["nohz_full=1-3".into(), "preempt=lazy".into()],
        run_time: vec![],
    }
}

fn commands(settings: &Settings, target: Target) -> Vec<String> {
    let steps = emit(settings, target).steps.into_iter();
    let commands = steps.filter_map(|step| match step {
        Step::Run(command) => Some(command.to_string()),
        _ => None,
    });
    commands.collect()
}

/// The path, the permissions and the content of the only file.
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
    let words = settings().parameters;
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
}

#[test]
fn without_parameters_only_the_kernel_is_chosen() {
    let settings = Settings { parameters: Vec::new(), ..settings() };
    assert!(!file(&settings, Target::Grub).2.contains("GRUB_CMDLINE"));
    assert_eq!(commands(&settings, Target::SystemdBoot).len(), 2);
    let tuned = emit(&settings, Target::Tuned);
    assert_eq!(tuned.steps, []);
    assert!(tuned.notes.iter().any(|note| note.contains("no parameter")));
}

#[test]
fn a_kernel_that_is_not_known_is_installed_by_hand() {
    let settings = Settings { release: None, package: None, ..settings() };
    for target in [Target::Grub, Target::SystemdBoot] {
        let measures = emit(&settings, target);
        assert!(measures.notes.iter().any(|note| note.contains("by hand")), "{measures:?}");
    }
    assert!(!file(&settings, Target::Grub).2.contains("GRUB_TOP_LEVEL"));
}
