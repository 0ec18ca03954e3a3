use preemptlab_model::{self as model, Flavour, Kernel, KernelRef, PreemptMode, Setting};
use serde::{Deserialize, Serialize};

use crate::{Command, unit};

/// What a machine must run with to be configured like a cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The kernel to boot, as `uname -r` prints it; `None` where the recording does not tell.
    pub release: Option<String>,
    /// The package that it is in; `None` for a kernel from a file, from source or of a machine:
    /// where it is not installed, that is done by hand.
    pub package: Option<KernelPackage>,
    /// Kernel parameters, each of them one word.
    pub parameters: Vec<String>,
    /// What is set at run time, after every boot.
    pub run_time: Vec<Setting>,
}

/// The package of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelPackage {
    /// The package of exactly this kernel.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The metapackage of its flavour, which follows newer kernels; those were not measured.
    pub meta: String,
}

/// Something that would need quoting, in files that each quote in another way and are read by
/// more than one program: GRUB's by a shell, and then by GRUB. It is refused rather than guessed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{what} `{}` holds characters that boot loaders read in ways of their own; set it by hand",
    text.escape_debug()
)]
pub struct UnsafeText {
    /// What it is.
    pub what: &'static str,
    /// The text.
    pub text: String,
}

impl Settings {
    /// What a kernel in a mode needs, with further kernel parameters and other settings.
    ///
    /// `preempt=` is given where the kernel has a choice, or where nothing tells whether it has: a
    /// kernel without `CONFIG_PREEMPT_DYNAMIC` does not know the parameter
    /// (Documentation/admin-guide/kernel-parameters.txt).
    ///
    /// # Errors
    ///
    /// [`UnsafeText`] when some text must not be written into files as it is.
    pub fn new(
        kernel: &Kernel,
        mode: PreemptMode,
        cmdline: &[String],
        settings: &model::Settings,
    ) -> Result<Self, UnsafeText> {
        let has_choice = kernel.modes.as_ref().is_none_or(|modes| modes.len() > 1);
        let preempt = has_choice.then(|| format!("preempt={mode}"));
        let words = cmdline.iter().flat_map(|each| each.split_ascii_whitespace());
        let parameters = words
            .map(str::to_owned)
            .chain(settings.parameters().map(ToString::to_string))
            .chain(preempt)
            .map(|parameter| plain("the kernel parameter", parameter))
            .collect::<Result<_, _>>()?;
        let release = Some(kernel.release.clone()).filter(|release| !release.is_empty());
        let release = release.map(|release| plain("the release", release)).transpose()?;
        let package = match &release {
            Some(release) => package(kernel, release)?,
            None => None,
        };
        let is_parameter = |setting: &&Setting| matches!(setting, Setting::Parameter { .. });
        let run_time = settings.iter().filter(|setting| !is_parameter(setting)).cloned().collect();
        Ok(Self { release, package, parameters, run_time })
    }

    /// What is asked for on the kernel that is there, whichever it is.
    ///
    /// # Errors
    ///
    /// [`UnsafeText`] when some text must not be written into files as it is.
    pub fn asked(
        preempt: Option<PreemptMode>,
        settings: &model::Settings,
    ) -> Result<Self, UnsafeText> {
        let parameters = settings.parameters().map(ToString::to_string);
        let parameters = parameters.chain(preempt.map(|mode| format!("preempt={mode}")));
        let parameters = parameters
            .map(|parameter| plain("the kernel parameter", parameter))
            .collect::<Result<_, _>>()?;
        let is_parameter = |setting: &&Setting| matches!(setting, Setting::Parameter { .. });
        let run_time: Vec<_> = settings.iter().filter(|it| !is_parameter(it)).cloned().collect();
        for setting in &run_time {
            plain("the setting", setting.to_string())?;
        }
        Ok(Self { release: None, package: None, parameters, run_time })
    }

    /// Whether there is nothing to set.
    pub fn is_empty(&self) -> bool {
        self.release.is_none() && self.parameters.is_empty() && self.run_time.is_empty()
    }

    /// Takes out a setting, which is written as [`Refusal::setting`](crate::Refusal::setting) has it.
    pub fn leave_out(&mut self, setting: &str) {
        self.parameters.retain(|word| word != setting);
        self.run_time.retain(|one| one.to_string() != setting);
    }

    /// The words that the kernel's command line gets: the parameters and, where something is set at
    /// run time, the mark by which the boot is known that it belongs to.
    pub fn words(&self) -> Vec<String> {
        let mark = (!self.run_time.is_empty()).then(|| unit::mark(self));
        self.parameters.iter().cloned().chain(mark).collect()
    }

    /// The command that installs the kernel, in exactly the version that was measured; `None` for a
    /// kernel of which no package is known.
    pub fn install(&self) -> Option<Command> {
        let KernelPackage { name, version, .. } = self.package.as_ref()?;
        Some(Command::new(["apt-get", "install", &format!("{name}={version}")]))
    }

    /// What is to be known about the kernel.
    pub fn notes(&self) -> Vec<String> {
        let run_time = self.run_time.iter().map(|setting| match setting {
            Setting::Debugfs { path, value } => {
                format!("After each boot write `{value}` to /sys/kernel/debug/{path}.")
            }
            Setting::Sysctl { name, value } => format!("After each boot: sysctl -w {name}={value}"),
            Setting::Parameter { .. } => format!("Boot with {setting}."),
        });
        self.package_notes().into_iter().chain(run_time).collect()
    }

    fn package_notes(&self) -> Vec<String> {
        let Some(KernelPackage { version, meta, .. }) = &self.package else {
            let note = "No package of this kernel is known: where it is not installed, install it \
                        by hand.";
            return vec![note.to_owned()];
        };
        let backports = version.split_once("~bpo").map(|(_, rest)| {
            let debian: String = rest.chars().take_while(char::is_ascii_digit).collect();
            format!("The package is in the backports of Debian {debian}.")
        });
        let meta =
            format!("The metapackage {meta} follows newer kernels, which were not measured.");
        backports.into_iter().chain([meta]).collect()
    }
}

/// `linux-image-RELEASE` is installed, whatever packages the image itself came from: from 6.19 on
/// it depends on `linux-binary-`, `linux-base-` and `linux-modules-RELEASE`, all of its version.
fn package(kernel: &Kernel, release: &str) -> Result<Option<KernelPackage>, UnsafeText> {
    let KernelRef::Debian { flavour, .. } = &kernel.name else { return Ok(None) };
    let is_image =
        |name: &str| name.starts_with("linux-image-") || name.starts_with("linux-binary-");
    let Some(image) = kernel.packages.iter().find(|package| is_image(&package.name)) else {
        return Ok(None);
    };
    Ok(Some(KernelPackage {
        name: format!("linux-image-{release}"),
        version: plain("the version", image.version.to_string())?,
        meta: format!("linux-image{}-amd64", Flavour::suffix(*flavour)),
    }))
}

/// The text, if it means the same to a shell, GRUB, systemd-boot and tuned without any quoting.
fn plain(what: &'static str, text: String) -> Result<String, UnsafeText> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.,:=/+@~".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        Ok(text)
    } else {
        Err(UnsafeText { what, text })
    }
}

#[cfg(test)]
mod tests {
    use preemptlab_model::{Digest, Package};
    use proptest::prelude::*;

    use super::*;

    fn no_settings() -> model::Settings {
        model::Settings::default()
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
        }
    }

    use PreemptMode::{Full, Lazy};

    #[test]
    fn the_exact_package_is_preferred_to_the_metapackage() {
        let rt = kernel("debian:7.2-rt", "7.2.12+deb13-rt-amd64", &[Full, Lazy]);
        let settings = Settings::new(&rt, Lazy, &["threadirqs".into()], &no_settings()).unwrap();
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
        let settings = Settings::new(&rt, Lazy, &[], &no_settings()).unwrap();
        let command = "apt-get install 'linux-image-7.2.12+deb13-rt-amd64=7.2.12-1~bpo13+1'";
        assert_eq!(settings.install().unwrap().to_string(), command);
        assert_eq!(settings.notes()[0], "The package is in the backports of Debian 13.");
        assert!(settings.notes()[1].contains("linux-image-rt-amd64"));
    }

    #[test]
    fn a_kernel_without_a_choice_gets_no_mode() {
        let parameters = |modes: Option<Vec<PreemptMode>>| {
            let kernel = Kernel { modes, ..kernel("file:b", "", &[]) };
            Settings::new(&kernel, Full, &[], &no_settings()).unwrap().parameters
        };
        assert_eq!(parameters(Some(vec![Full])), [] as [&str; 0]);
        assert_eq!(parameters(Some(vec![Full, Lazy])), ["preempt=full"]);
        assert_eq!(parameters(None), ["preempt=full"]);
    }

    #[test]
    fn a_kernel_from_a_file_has_no_package() {
        let settings =
            Settings::new(&kernel("file:b", "6.12.1", &[]), Full, &[], &no_settings()).unwrap();
        assert_eq!((settings.release.as_deref(), settings.install()), (Some("6.12.1"), None));
    }

    #[test]
    fn what_needs_quoting_is_refused() {
        let kernel = kernel("file:b", "6.12.1", &[]);
        for bad in ["a=\"b\"", "a;b", "$(reboot)", "a%s", "a#b", "a\u{a0}b", "\u{1b}[2J"] {
            let error = Settings::new(&kernel, Full, &[bad.into()], &no_settings()).unwrap_err();
            assert!(error.to_string().contains("by hand"), "{error}");
            assert!(!error.to_string().contains('\u{1b}'));
        }
        let hostile = Kernel { release: "6.12\nrm".into(), ..kernel };
        assert!(Settings::new(&hostile, Full, &[], &no_settings()).is_err());
    }

    proptest! {
        #[test]
        fn parameters_are_words_without_blanks(text in "\\PC{0,30}") {
            let kernel = kernel("file:b", "6.12.1", &[Full, Lazy]);
            if let Ok(settings) = Settings::new(&kernel, Lazy, &[text], &no_settings()) {
                for word in settings.parameters {
                    prop_assert!(!word.is_empty() && word.is_ascii());
                    prop_assert!(!word.contains(['"', '\'', '$', '`', '\\', '#', ';', ' ', '\n']));
                }
            }
        }
    }
}
