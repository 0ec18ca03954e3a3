use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::Precaution;

use crate::text::checked_text;

/// A switch of the system besides kernel, mode and CPUs, written as the kernel itself names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Setting {
    /// A parameter of the kernel's command line, such as `threadirqs` or `nohz_full=1`
    /// (Documentation/admin-guide/kernel-parameters.txt).
    Parameter {
        /// Name of the parameter.
        name: ParameterName,
        /// Text after the `=`.
        value: Option<Value>,
    },
    /// `sysctl.NAME=VALUE`, the form that the command line has for a sysctl; it is set at run time.
    Sysctl {
        /// Name of the sysctl.
        name: SysctlName,
        /// Value of the sysctl.
        value: Value,
    },
    /// `PATH=VALUE`, a file of debugfs, such as `sched/base_slice_ns=1000000`; set at run time.
    Debugfs {
        /// Path of the file.
        path: DebugfsPath,
        /// Text that is written to the file.
        value: Value,
    },
    /// `lab.NAME`: a precaution that the virtual machine goes without.
    Lab(Precaution),
}

/// Prefix of the laboratory's settings; no module of a kernel has this name.
const LAB: &str = "lab.";

checked_text! {
    /// The name of a kernel parameter, such as `rcutree.enable_rcu_lazy`.
    ParameterName, is_name,
    "the name of a kernel parameter: ASCII letters, digits, `_` and `-`, with dots between parts"
}

checked_text! {
    /// The name of a sysctl with dots, such as `kernel.sched_rt_runtime_us`. No part of it is empty,
    /// and so its file is always below `/proc/sys`.
    SysctlName, is_name,
    "the name of a sysctl: ASCII letters, digits, `_` and `-`, with dots between parts"
}

checked_text! {
    /// The path of a file below debugfs, such as `sched/base_slice_ns`. It holds a `/`, and no part of
    /// it is empty, `.` or `..`.
    DebugfsPath, is_debugfs_path,
    "the path of a file below debugfs, such as `sched/base_slice_ns`"
}

checked_text! {
    /// Value of a setting: visible ASCII characters without quotes, backquotes, `\` and `$`.
    Value, is_value,
    "what a kernel's command line keeps as it is"
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
        && text.split('.').all(|part| !part.is_empty())
}

fn is_debugfs_path(text: &str) -> bool {
    text.contains('/') && text.split('/').all(is_name)
}

fn is_value(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_graphic() && !"\"'\\`$".contains(c))
}

impl SysctlName {
    /// Returns the absolute path of its file.
    pub fn file(&self) -> String {
        format!("/proc/sys/{}", self.0.replace('.', "/"))
    }
}

impl DebugfsPath {
    /// Returns the absolute path of its file, where debugfs is mounted as usual.
    pub fn file(&self) -> String {
        format!("/sys/kernel/debug/{}", self.0)
    }
}

/// The text is not a setting.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is no setting: {reason}", text.escape_debug())]
pub struct ParseSettingError {
    /// Text that is not a setting.
    pub text: String,
    /// Error in the text.
    pub reason: &'static str,
}

impl FromStr for Setting {
    type Err = ParseSettingError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = |reason| Err(ParseSettingError { text: text.to_owned(), reason });
        if !is_value(text) {
            return error("it holds a character that a kernel's command line would not keep");
        }
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let owned = |value: &str| Value(value.to_owned());
        if name == "preempt" {
            return error("the mode is a factor of its own: `preempt = [...]` under [factors]");
        }
        if let Some(name) = name.strip_prefix("sysctl.") {
            return match value {
                Some(value) if is_name(name) && !value.is_empty() => {
                    Ok(Self::Sysctl { name: SysctlName(name.to_owned()), value: owned(value) })
                }
                _ => error("a sysctl is written sysctl.NAME=VALUE"),
            };
        }
        if name.starts_with(LAB) {
            let named = |it: &Precaution| it.setting() == text;
            return match Precaution::ALL.into_iter().find(named) {
                Some(precaution) => Ok(Self::Lab(precaution)),
                None => error("the laboratory's are lab.kaslr, lab.hpet and lab.rep_strings"),
            };
        }
        if name.contains('/') {
            return match value {
                Some(value) if is_debugfs_path(name) && !value.is_empty() => {
                    Ok(Self::Debugfs { path: DebugfsPath(name.to_owned()), value: owned(value) })
                }
                _ => {
                    error("a file of debugfs is written PATH=VALUE, as in `sched/base_slice_ns=1`")
                }
            };
        }
        if !is_name(name) {
            return error("a kernel parameter is written NAME or NAME=VALUE");
        }
        let name = ParameterName(name.to_owned());
        Ok(Self::Parameter { name, value: value.map(owned) })
    }
}

impl Setting {
    /// Returns the switch that the setting changes: two settings of one switch cannot both be in
    /// force.
    fn switch(&self) -> (u8, String) {
        match self {
            // To the kernel both are the same (kernel/params.c, `parameq`).
            Self::Parameter { name, .. } => (0, name.as_str().replace('-', "_")),
            Self::Sysctl { name, .. } => (1, name.to_string()),
            // Every feature of the scheduler is a switch of its own, which `NO_` turns off.
            Self::Debugfs { path, value } if path.as_str() == "sched/features" => {
                let value = value.as_str();
                (2, value.strip_prefix("NO_").unwrap_or(value).to_owned())
            }
            Self::Debugfs { path, .. } => (3, path.to_string()),
            Self::Lab(precaution) => (4, precaution.setting().to_owned()),
        }
    }

    /// Returns the kernel's file and the text that is written to it at run time; `None` for a
    /// kernel parameter and for the laboratory's.
    pub fn write(&self) -> Option<(String, &str)> {
        match self {
            Self::Sysctl { name, value } => Some((name.file(), value.as_str())),
            Self::Debugfs { path, value } => Some((path.file(), value.as_str())),
            Self::Parameter { .. } | Self::Lab(_) => None,
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parameter { name, value: None } => name.fmt(f),
            Self::Parameter { name, value: Some(value) } => write!(f, "{name}={value}"),
            Self::Sysctl { name, value } => write!(f, "sysctl.{name}={value}"),
            Self::Debugfs { path, value } => write!(f, "{path}={value}"),
            Self::Lab(precaution) => f.write_str(precaution.setting()),
        }
    }
}

impl Serialize for Setting {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Setting {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Settings that are in force together, written side by side: a level of the factor `settings`.
/// None at all is a level, too.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Settings(Vec<Setting>);

impl Settings {
    /// Returns the settings, in the order given.
    pub fn iter(&self) -> impl Iterator<Item = &Setting> {
        self.0.iter()
    }

    /// Returns whether there are no settings.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the settings that are parameters of the kernel's command line.
    pub fn parameters(&self) -> impl Iterator<Item = &Setting> {
        self.iter().filter(|setting| matches!(setting, Setting::Parameter { .. }))
    }

    /// Returns the precautions that the virtual machine goes without.
    pub fn without(&self) -> impl Iterator<Item = Precaution> {
        self.iter().filter_map(|setting| match setting {
            Setting::Lab(precaution) => Some(*precaution),
            _ => None,
        })
    }
}

impl FromStr for Settings {
    type Err = ParseSettingError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut settings: Vec<Setting> = Vec::new();
        for word in text.split_ascii_whitespace() {
            let setting: Setting = word.parse()?;
            if settings.iter().any(|earlier| earlier.switch() == setting.switch()) {
                let reason = "it is there twice, and only one can be in force";
                return Err(ParseSettingError { text: word.to_owned(), reason });
            }
            settings.push(setting);
        }
        Ok(Self(settings))
    }
}

impl TryFrom<String> for Settings {
    type Error = ParseSettingError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, setting) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(" ")?;
            }
            setting.fmt(f)?;
        }
        Ok(())
    }
}

impl From<Settings> for String {
    fn from(settings: Settings) -> Self {
        settings.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_and_written() {
        let text = "nohz_full=1 threadirqs sysctl.kernel.sched_rt_runtime_us=-1 \
                    sched/features=NO_HRTICK rcutree.enable_rcu_lazy=1 lab.hpet";
        let settings: Settings = text.parse().unwrap();
        assert_eq!(settings.to_string(), text);
        assert_eq!(settings.iter().count(), 6);
        assert_eq!(settings.without().collect::<Vec<_>>(), [Precaution::Hpet]);
        assert_eq!(settings.parameters().count(), 3);
        assert!("sched/features=A sched/features=NO_B".parse::<Settings>().is_ok());
        assert!(" ".parse::<Settings>().unwrap().is_empty());
    }

    #[test]
    fn what_is_no_setting_is_refused() {
        for text in [
            "preempt=full",
            "a=\"b\"",
            "=1",
            "sysctl.kernel.x",
            "sysctl.=1",
            "sched/features",
            "sched/features=",
            "../x=1",
            "/sched/x=1",
            "a$b=1",
            "ä=1",
            "sysctl.a..b=1",
            "nohz_full=1 nohz_full=2",
            "nohz_full=1 nohz-full=2",
            "sched/../x=1",
            "sched/./x=1",
            "sched//x=1",
            "sysctl.kernel.../x=1",
            "sysctl.kernel/x=1",
            "sched/features=HRTICK sched/features=NO_HRTICK",
            "lab.x",
            "lab.hpet=1",
            "lab.hpet lab.hpet",
        ] {
            assert!(text.parse::<Settings>().is_err(), "{text}");
        }
    }
}
