use preemptlab_model::{
    self as model, Distro, Kernel, Package, PackageVersion, PreemptMode, Setting, settable,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tune::{
    Command, Refusal,
    parameter::{self, is_plain},
};

/// Settings that configure a machine like a cell. They come from [`Settings::new`] only, so none of
/// their words needs quoting in any file of a boot loader or of systemd. (The journal, which is
/// root's own, holds settings as well: `revert` must be able to take back whatever was applied.)
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    /// The kernel to boot, as `uname -r` prints it; `None` where the recording does not tell.
    pub(crate) release: Option<String>,
    /// The package that it is in; `None` for a kernel from a file, from source or of a machine:
    /// where it is not installed, that is done by hand.
    pub(crate) package: Option<KernelPackage>,
    /// Kernel parameters, each of them one word.
    pub(crate) parameters: Vec<String>,
    /// Settings at run time, which are set after every boot.
    pub(crate) run_time: Vec<Setting>,
}

/// The package of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KernelPackage {
    /// The distribution that has it.
    #[serde(default, skip_serializing_if = "Distro::is_debian")]
    pub distribution: Distro,
    /// The package of exactly this kernel.
    pub name: String,
    /// Version of the package.
    pub version: PackageVersion,
    /// The metapackage of its flavour, which follows newer kernels; those were not measured.
    pub meta: String,
}

/// Configuration that a machine is asked to run with; its words may be a stranger's.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The kernel; `None` for the one that is there, whichever it is.
    pub kernel: Option<&'a Kernel>,
    /// Preemption mode.
    pub preempt: Option<PreemptMode>,
    /// Further kernel parameters; of several in one text blanks are between them.
    pub cmdline: &'a [String],
    /// Settings besides the mode and the command line.
    pub settings: &'a model::Settings,
    /// Kernel parameters that the user let through by name, though preemptlab does not know them.
    pub allowed: &'a [String],
}

/// Settings for a machine, and the wanted settings that were refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// Settings that the machine is given.
    pub settings: Settings,
    /// Wanted settings that the machine is not given, with the reasons.
    pub refused: Vec<Refusal>,
}

/// Largest part of a refused text that is shown, in characters.
const SHOWN_MAX: usize = 120;

/// Returns a refused text in a form that does nothing to a terminal.
fn shown(text: &str) -> String {
    let escaped: String = text.escape_debug().take(SHOWN_MAX).collect();
    match text.escape_debug().nth(SHOWN_MAX) {
        Some(_) => format!("{escaped}..."),
        None => escaped,
    }
}

impl Settings {
    /// Judges the wanted settings. A kernel parameter must be one that a machine is given unasked,
    /// or be let through by name. A setting at run time must be on the list of those that may be
    /// set ([`settable`]). A release must be a valid one.
    ///
    /// `preempt=` is given where the kernel has a choice, or where nothing tells whether it has: a
    /// kernel without `CONFIG_PREEMPT_DYNAMIC` does not know the parameter
    /// (Documentation/admin-guide/kernel-parameters.txt).
    #[expect(clippy::new_ret_no_self, reason = "what is refused comes with it")]
    pub fn new(wanted: &Wanted<'_>) -> Proposal {
        let mut refused = Vec::new();
        let mut judge = |setting: String, reason: Option<String>| match reason {
            Some(reason) => {
                refused.push(Refusal { setting: shown(&setting), reason });
                None
            }
            None => Some(setting),
        };
        let modes = wanted.kernel.and_then(|kernel| kernel.modes.as_ref());
        let has_choice = modes.is_none_or(|modes| modes.len() > 1);
        let preempt = wanted.preempt.filter(|_| has_choice).map(|mode| format!("preempt={mode}"));
        let words = wanted.cmdline.iter().flat_map(|each| each.split_ascii_whitespace());
        let parameters = words
            .map(str::to_owned)
            .chain(wanted.settings.parameters().map(ToString::to_string))
            .chain(preempt)
            .map(|word| parameter::folded(&word))
            .filter_map(|word| {
                let reason = parameter::refusal(&word, wanted.allowed);
                judge(word, reason)
            })
            .collect();
        let run_time = wanted.settings.iter();
        let run_time = run_time.filter(|setting| !matches!(setting, Setting::Parameter { .. }));
        let run_time = run_time.filter(|setting| {
            let text = setting.to_string();
            let reason = match settable(setting) {
                Err(error) => Some(error.reason),
                Ok(()) if !is_plain(&text) => Some("it would need quoting".to_owned()),
                Ok(()) => None,
            };
            judge(text, reason).is_some()
        });
        let run_time = run_time.cloned().collect();
        let release = wanted.kernel.map(|kernel| kernel.release.clone());
        let release = release.filter(|release| !release.is_empty()).and_then(|release| {
            let reason = (!is_release(&release)).then(|| "it is no kernel's release".to_owned());
            judge(release, reason)
        });
        let package = wanted.kernel.zip(release.as_deref());
        let package = package.and_then(|(kernel, release)| package_of(kernel, release));
        Proposal { settings: Self { release, package, parameters, run_time }, refused }
    }

    /// Returns the kernel to boot, as `uname -r` prints it; `None` for the one that is there.
    pub fn release(&self) -> Option<&str> {
        self.release.as_deref()
    }

    /// Returns the kernel parameters, each of them one word.
    pub fn parameters(&self) -> &[String] {
        &self.parameters
    }

    /// Returns the settings at run time, which are set after every boot.
    pub fn run_time(&self) -> &[Setting] {
        &self.run_time
    }

    /// Returns whether there is nothing to set.
    pub fn is_empty(&self) -> bool {
        self.release.is_none() && self.parameters.is_empty() && self.run_time.is_empty()
    }

    /// Takes out a setting, which is written as [`Refusal::setting`](crate::tune::Refusal::setting) has it.
    pub fn leave_out(&mut self, setting: &str) {
        self.parameters.retain(|word| word != setting);
        self.run_time.retain(|one| one.to_string() != setting);
    }

    /// Returns the command that installs the kernel in exactly the version that was measured;
    /// `None` for a kernel of which no package is known.
    pub fn install(&self) -> Option<Command> {
        let KernelPackage { distribution, name, version, .. } = self.package.as_ref()?;
        Some(Command(distribution.install(&[&distribution.exactly(name, version)])))
    }

    /// Returns the notes on the kernel.
    pub fn notes(&self) -> Vec<String> {
        let Some(KernelPackage { distribution, version, meta, .. }) = &self.package else {
            let note = "No package of this kernel is known: where it is not installed, install it \
                        by hand.";
            return vec![note.to_owned()];
        };
        let meta =
            format!("The metapackage {meta} follows newer kernels, which were not measured.");
        distribution.suite(version).into_iter().chain([meta]).collect()
    }
}

/// Returns the package that installs exactly a kernel, whose version is that of its image's package.
fn package_of(kernel: &Kernel, release: &str) -> Option<KernelPackage> {
    let (distribution, flavour) = (kernel.name.packager()?, kernel.name.flavour()?);
    let is_image = |package: &&Package| distribution.holds_image(&package.name);
    let image = kernel.packages.iter().find(is_image)?;
    Some(KernelPackage {
        distribution,
        name: distribution.kernel_package(release),
        version: image.version.clone(),
        meta: distribution.metapackage(flavour),
    })
}

/// Returns whether a text can be a kernel's release. A release is a part of file names, so it has
/// no `/`, and it is no longer than `uname -r` can tell (`__NEW_UTS_LEN`,
/// include/uapi/linux/utsname.h).
fn is_release(text: &str) -> bool {
    text.len() <= 64
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || ".+~-_".contains(c))
}

#[cfg(test)]
mod tests {
    use preemptlab_model::Digest;
    use proptest::prelude::*;

    use super::*;

    /// Returns the proposal for a kernel's cell with these parameters and settings.
    fn proposal(kernel: &Kernel, mode: PreemptMode, cmdline: &[&str], settings: &str) -> Proposal {
        Settings::new(&Wanted {
            kernel: Some(kernel),
            preempt: Some(mode),
            cmdline: &cmdline.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>(),
            settings: &settings.parse().unwrap(),
            allowed: &[],
        })
    }

    fn settings(kernel: &Kernel, mode: PreemptMode, cmdline: &[&str]) -> Settings {
        let Proposal { settings, refused } = proposal(kernel, mode, cmdline, "");
        assert_eq!(refused, []);
        settings
    }

    fn kernel(name: &str, release: &str, modes: &[PreemptMode]) -> Kernel {
        let sha256 = Digest::of(name.as_bytes());
        let package = |kind: &str| Package {
            name: format!("linux-{kind}-{release}").parse().unwrap(),
            version: "7.2.12-1~bpo13+1".parse().unwrap(),
            sha256,
        };
        Kernel {
            name: name.parse().unwrap(),
            release: release.into(),
            image_sha256: sha256,
            packages: ["base", "binary"].map(package).to_vec(),
            rt: None,
            modes: Some(modes.to_vec()),
            hz: None,
            source: None,
        }
    }

    use PreemptMode::{Full, Lazy};

    #[test]
    fn the_exact_package_is_preferred_to_the_metapackage() {
        let rt = kernel("debian:7.2-rt", "7.2.12+deb13-rt-amd64", &[Full, Lazy]);
        let settings = settings(&rt, Lazy, &["threadirqs"]);
        assert_eq!(settings.parameters, ["threadirqs", "preempt=lazy"]);
        assert_eq!(settings.release.as_deref(), Some("7.2.12+deb13-rt-amd64"));
        let package = settings.package.unwrap();
        assert_eq!(package.name, "linux-image-7.2.12+deb13-rt-amd64");
        assert_eq!(package.version, "7.2.12-1~bpo13+1");
        assert_eq!(package.meta, "linux-image-rt-amd64");
    }

    #[test]
    fn the_measured_version_is_installed() {
        let rt = kernel("debian:7.2-rt", "7.2.12+deb13-rt-amd64", &[Full, Lazy]);
        let settings = settings(&rt, Lazy, &[]);
        let command = "apt-get install 'linux-image-7.2.12+deb13-rt-amd64=7.2.12-1~bpo13+1'";
        assert_eq!(settings.install().unwrap().to_string(), command);
        assert_eq!(settings.notes()[0], "The package is in the backports of Debian 13.");
        assert!(settings.notes()[1].contains("linux-image-rt-amd64"));
    }

    #[test]
    fn a_kernel_without_a_choice_gets_no_mode() {
        let parameters = |modes: Option<Vec<PreemptMode>>| {
            let kernel = Kernel { modes, ..kernel("file:b", "6.12.1", &[]) };
            settings(&kernel, Full, &[]).parameters
        };
        assert_eq!(parameters(Some(vec![Full])), [] as [&str; 0]);
        assert_eq!(parameters(Some(vec![Full, Lazy])), ["preempt=full"]);
        assert_eq!(parameters(None), ["preempt=full"]);
    }

    #[test]
    fn a_kernel_from_a_file_has_no_package() {
        let settings = settings(&kernel("file:b", "6.12.1", &[]), Full, &[]);
        assert_eq!((settings.release(), settings.install()), (Some("6.12.1"), None));
    }

    #[test]
    fn what_needs_quoting_is_refused_and_left_out() {
        let kernel = kernel("file:b", "6.12.1", &[]);
        for bad in ["a=\"b\"", "a;b", "$(reboot)", "a%s", "a#b", "a\u{a0}b", "\u{1b}[2J"] {
            let Proposal { settings, refused } = proposal(&kernel, Full, &["quiet", bad], "");
            assert_eq!(settings.parameters, ["quiet"]);
            let [refusal] = &refused[..] else { panic!("{refused:?}") };
            assert!(refusal.to_string().contains("by hand"), "{refusal}");
            assert!(!refusal.to_string().contains('\u{1b}'));
        }
        let long = proposal(&kernel, Full, &["\u{1b}".repeat(100_000).as_str()], "");
        assert!(long.refused[0].to_string().len() < 500);
    }

    #[test]
    fn a_recordings_words_are_held_to_the_lists() {
        let kernel = kernel("file:b", "6.12.1", &[]);
        let words = ["init=/bin/sh mitigations=off", "threadirqs"];
        let run_time = "sysctl.kernel.core_pattern=/tmp/x sched/base_slice_ns=1 tracing/x=1 \
                        sysctl.kernel.watchdog=0 nohz_full=2..7 lockdown=none";
        let Proposal { settings, refused } = proposal(&kernel, Full, &words, run_time);
        assert_eq!(settings.parameters, ["threadirqs"]);
        let run_time: Vec<_> = settings.run_time.iter().map(ToString::to_string).collect();
        assert_eq!(run_time, ["sched/base_slice_ns=1", "sysctl.kernel.watchdog=0"]);
        let refused: Vec<_> = refused.iter().map(|refusal| refusal.setting.as_str()).collect();
        assert_eq!(
            refused,
            [
                "init=/bin/sh",
                "mitigations=off",
                "nohz_full=2..7",
                "lockdown=none",
                "sysctl.kernel.core_pattern=/tmp/x",
                "tracing/x=1",
            ]
        );
    }

    #[test]
    fn a_word_is_let_through_by_its_exact_name() {
        let wanted = Wanted {
            kernel: None,
            preempt: None,
            cmdline: &["quirk=1".to_owned(), "quirk=2".to_owned()],
            settings: &model::Settings::default(),
            allowed: &["quirk=1".to_owned()],
        };
        let Proposal { settings, refused } = Settings::new(&wanted);
        assert_eq!(settings.parameters, ["quirk=1"]);
        assert!(refused[0].reason.contains("--allow quirk=2"), "{refused:?}");
    }

    #[test]
    fn what_is_part_of_a_path_or_of_a_command_is_held_to_its_grammar() {
        for release in ["6.12\nrm", "../../tmp/x", "6.12/x", "-6.12", ".6", "6.12 x", "6.12*"] {
            let hostile = Kernel { release: release.into(), ..kernel("file:b", "6.12.1", &[]) };
            let Proposal { settings, refused } = proposal(&hostile, Full, &[], "");
            assert_eq!((settings.release, refused.len()), (None, 1), "{release}");
        }
    }

    proptest! {
        #[test]
        fn parameters_are_words_without_blanks(text in "\\PC{0,30}") {
            let kernel = kernel("file:b", "6.12.1", &[Full, Lazy]);
            let words = [text.clone()];
            let allowed: Vec<String> = text.split_ascii_whitespace().map(str::to_owned).collect();
            let wanted = Wanted {
                kernel: Some(&kernel),
                preempt: Some(Lazy),
                cmdline: &words,
                settings: &model::Settings::default(),
                allowed: &allowed,
            };
            for word in Settings::new(&wanted).settings.parameters {
                prop_assert!(!word.is_empty() && word.is_ascii());
                prop_assert!(!word.contains(['"', '\'', '$', '`', '\\', '#', ';', ' ', '\n', '%']));
            }
        }

        #[test]
        fn what_is_set_at_run_time_is_two_plain_words(text in "(sysctl\\.)?[a-z_./]{1,20}=[ -~]{1,20}|sched/[a-z_]{1,9}=[!-~]{1,9}") {
            if let Ok(wanted) = text.parse::<model::Settings>() {
                let kernel = kernel("file:b", "6.12.1", &[]);
                let settings = proposal(&kernel, Full, &[], &wanted.to_string()).settings;
                for (file, value) in settings.run_time.iter().filter_map(Setting::write) {
                    prop_assert!(is_plain(&file) && is_plain(value) && !file.contains(".."));
                }
            }
        }
    }
}
