use std::fmt;

use serde::Serialize;

use crate::{Command, Settings, grub, script, sysctl, systemd_boot, tuned};

/// What is told of the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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
    /// Those that choose what is booted.
    pub const BOOT: [Self; 3] = [Self::Grub, Self::SystemdBoot, Self::Tuned];

    /// Its name.
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

/// What puts settings into force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Measures {
    /// What is to be done, in this order.
    pub steps: Vec<Step>,
    /// What is to be known about it.
    pub notes: Vec<String>,
}

/// One of them. Paths are absolute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Execute a command.
    Run(Command),
    /// Write a file; nothing else is in it.
    Write {
        /// Where.
        path: String,
        /// Its permissions.
        mode: u32,
        /// Its content.
        content: String,
    },
    /// Add words to the one line of a file that holds a kernel's whole command line.
    Add {
        /// Where.
        path: String,
        /// The words.
        words: Vec<String>,
    },
}

/// The measures that put settings into force, once the kernel is installed: see
/// [`Settings::install`]. All of them need root, and the settings hold from the next boot on.
pub fn emit(settings: &Settings, target: Target) -> Measures {
    match target {
        Target::Grub => grub::emit(settings),
        Target::SystemdBoot => systemd_boot::emit(settings),
        Target::Tuned => tuned::emit(settings),
        Target::Sysctl => sysctl::emit(settings),
        Target::Script => script::emit(settings),
    }
}
