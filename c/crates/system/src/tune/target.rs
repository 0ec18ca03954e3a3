use std::fmt;

use preemptlab_model::Setting;
use schemars::JsonSchema;
use serde::Serialize;

use crate::tune::{Measures, Settings, grub, mode_note, script, sysctl, systemd_boot, tuned};

/// Program or file format that the settings are written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// GRUB, configured by grub-mkconfig.
    Grub,
    /// systemd-boot, with entries by kernel-install.
    SystemdBoot,
    /// tuned, which writes kernel parameters for GRUB.
    Tuned,
    /// sysctl.d(5), for the settings that are sysctls.
    Sysctl,
    /// A shell script that does all of it by itself.
    Script,
}

impl Target {
    /// Targets that choose the kernel to boot.
    pub const BOOT: [Self; 3] = [Self::Grub, Self::SystemdBoot, Self::Tuned];

    const ALL: [Self; 5] = [Self::Grub, Self::SystemdBoot, Self::Tuned, Self::Sysctl, Self::Script];

    /// Returns whether the target has a place for a part of the settings.
    const fn holds(self, part: Part) -> bool {
        match self {
            Self::Grub | Self::SystemdBoot => matches!(part, Part::Kernel | Part::Parameters),
            Self::Tuned => matches!(part, Part::Parameters | Part::Sysctls),
            Self::Sysctl => matches!(part, Part::Sysctls),
            Self::Script => true,
        }
    }

    /// Returns the target's name in `--emit`.
    const fn option(self) -> &'static str {
        match self {
            Self::Grub => "grub",
            Self::SystemdBoot => "systemd-boot",
            Self::Tuned => "tuned",
            Self::Sysctl => "sysctl",
            Self::Script => "script",
        }
    }

    /// Returns the target's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Grub => "GRUB",
            Self::SystemdBoot => "systemd-boot",
            Self::Tuned => "tuned",
            Self::Sysctl => "sysctl",
            Self::Script => "script",
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Part of the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Kernel,
    Parameters,
    Sysctls,
    Debugfs,
}

/// Returns the measures that put settings into force, once the kernel is installed: see
/// [`Settings::install`]. All of them need root, and the settings hold from the next boot on.
pub fn emit(settings: &Settings, target: Target) -> Measures {
    let measures = match target {
        Target::Grub => grub::emit(settings),
        Target::SystemdBoot => systemd_boot::emit(settings),
        Target::Tuned => tuned::emit(settings),
        Target::Sysctl => sysctl::emit(settings),
        Target::Script => script::emit(settings),
    };
    let mut notes = measures.notes;
    if target.holds(Part::Parameters) {
        notes.extend(mode_note::note(settings));
    }
    Measures { elsewhere: elsewhere(settings, target), notes, ..measures }
}

/// Returns a sentence for each kind of setting that a target has no place for.
fn elsewhere(settings: &Settings, target: Target) -> Vec<String> {
    let run_time = |debugfs: bool| {
        let settings = settings.run_time.iter();
        settings.filter(move |it| matches!(it, Setting::Debugfs { .. }) == debugfs)
    };
    let joined = |words: Vec<String>| words.join(" ");
    let texts = [
        (Part::Kernel, settings.release.clone().unwrap_or_default(), "the kernel to boot"),
        (Part::Parameters, settings.parameters.join(" "), "for the kernel's command line"),
        (Part::Sysctls, joined(run_time(false).map(ToString::to_string).collect()), "a sysctl"),
        (Part::Debugfs, joined(run_time(true).map(ToString::to_string).collect()), "for debugfs"),
    ];
    let left = texts.into_iter().filter(|(part, text, _)| !text.is_empty() && !target.holds(*part));
    left.map(|(part, text, what)| match (part, target) {
        (Part::Kernel, Target::Tuned) => format!(
            "tuned does not choose the kernel: make /boot/vmlinuz-{text} the one that GRUB boots."
        ),
        _ => {
            let places = Target::ALL.into_iter().filter(|other| other.holds(part));
            let places: Vec<_> = places.map(Target::option).collect();
            format!("Not for {target}: {text} ({what}); `--emit {}` has it.", places.join("|"))
        }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tune::Step;

    #[test]
    fn a_mode_that_some_kernel_ignores_is_noted() {
        let notes = |mode: &str, release: Option<&str>| {
            let settings = Settings {
                release: release.map(str::to_owned),
                package: None,
                parameters: vec![format!("preempt={mode}")],
                run_time: vec![],
            };
            emit(&settings, Target::Tuned).notes.join("\n")
        };
        assert!(notes("none", None).contains("preempt=none: kernels of x86 from 7.0 on"));
        assert!(notes("lazy", None).contains("kernels before 6.13"));
        assert!(notes("full", None).contains("without PREEMPT_DYNAMIC ignore it"));
        assert!(!notes("none", Some("6.12.1")).contains("preempt=none"));
    }

    /// Checks every pair of a setting and a target: the setting is in a file or a command, or a
    /// sentence says where it goes.
    #[test]
    fn nothing_is_dropped_without_a_word() {
        let none = Settings { release: None, package: None, parameters: vec![], run_time: vec![] };
        let run_time = |text: &str| vec![text.parse().unwrap()];
        let parts = [
            (
                Part::Kernel,
                "6.12.9-test",
                Settings { release: Some("6.12.9-test".into()), ..none.clone() },
            ),
            (
                Part::Parameters,
                "skew_tick=1",
                Settings { parameters: vec!["skew_tick=1".into()], ..none.clone() },
            ),
            (
                Part::Sysctls,
                "kernel.watchdog",
                Settings { run_time: run_time("sysctl.kernel.watchdog=0"), ..none.clone() },
            ),
            (
                Part::Debugfs,
                "sched/base_slice_ns",
                Settings { run_time: run_time("sched/base_slice_ns=3000000"), ..none.clone() },
            ),
        ];
        for target in Target::ALL {
            for (part, text, settings) in &parts {
                let Measures { steps, elsewhere, .. } = emit(settings, target);
                let does = steps.iter().any(|step| match step {
                    Step::Run(command) => command.to_string().contains(text),
                    Step::Write { content, .. } => content.contains(text),
                    Step::Add { words, .. } => words.iter().any(|word| word.contains(text)),
                });
                let says = elsewhere.iter().any(|it| it.contains(text));
                assert_eq!(
                    (does, says),
                    (target.holds(*part), !target.holds(*part)),
                    "{target} {text}"
                );
                assert_eq!(steps.is_empty(), !does, "{target} {text}");
            }
        }
    }
}
