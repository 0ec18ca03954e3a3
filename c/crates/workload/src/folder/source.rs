use std::{fmt, str::FromStr};

use preemptlab_protocol::{CommandReport, Report};
use serde::{Deserialize, Serialize};

use super::text::is_absolute;

/// Source of a number: `NAME.stdout`, `NAME:/tmp/file` or `NAME.real`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Source {
    /// Name of the command.
    pub name: String,
    /// Part of the command's report.
    pub part: Part,
}

/// Part of a command's report that holds a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A text that the command wrote.
    Text(Text),
    /// A number that the guest's init measured.
    Used(Used),
}

/// Text that a command wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Text {
    Stdout,
    Stderr,
    File(String),
}

/// Number of a command that the guest's init measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Used {
    /// Time from the command's start to its end, in seconds.
    Real,
    /// User time, in seconds.
    User,
    /// System time, in seconds.
    System,
    /// Context switches of either kind.
    Switches,
}

impl Used {
    const ALL: [(&str, Self); 4] = [
        ("real", Self::Real),
        ("user", Self::User),
        ("system", Self::System),
        ("switches", Self::Switches),
    ];

    pub fn unit(self) -> &'static str {
        match self {
            Self::Real | Self::User | Self::System => "s",
            Self::Switches => "switches",
        }
    }

    pub fn of(self, report: &CommandReport) -> f64 {
        let seconds = |ns: u64| ns as f64 / 1e9;
        match self {
            Self::Real => seconds(report.end_ns.saturating_sub(report.start_ns)),
            Self::User => seconds(report.user_ns),
            Self::System => seconds(report.system_ns),
            Self::Switches => {
                report.voluntary_switches.saturating_add(report.involuntary_switches) as f64
            }
        }
    }
}

/// The text names nothing to read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is nothing to read: it is NAME.stdout, NAME.stderr, NAME:/FILE, NAME.real, NAME.user, \
     NAME.system or NAME.switches, with the name of a command"
)]
pub struct ParseSourceError(String);

impl FromStr for Source {
    type Err = ParseSourceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = || {
            let (name, part) = match text.split_once(':') {
                Some((name, file)) if is_absolute(file) => {
                    (name, Part::Text(Text::File(file.to_owned())))
                }
                Some(_) => return None,
                None => {
                    let (name, part) = text.split_once('.')?;
                    let part = match part {
                        "stdout" => Part::Text(Text::Stdout),
                        "stderr" => Part::Text(Text::Stderr),
                        used => Part::Used(Used::ALL.iter().find(|(name, _)| *name == used)?.1),
                    };
                    (name, part)
                }
            };
            Some(Self { name: name.to_owned(), part })
        };
        parse().ok_or_else(|| ParseSourceError(text.to_owned()))
    }
}

impl TryFrom<String> for Source {
    type Error = ParseSourceError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        match &self.part {
            Part::Text(Text::Stdout) => write!(f, "{name}.stdout"),
            Part::Text(Text::Stderr) => write!(f, "{name}.stderr"),
            Part::Text(Text::File(file)) => write!(f, "{name}:{file}"),
            Part::Used(used) => {
                let known = Used::ALL.iter().find(|(_, each)| each == used);
                write!(f, "{name}.{}", known.map_or("", |(word, _)| word))
            }
        }
    }
}

impl From<Source> for String {
    fn from(source: Source) -> Self {
        source.to_string()
    }
}

impl Text {
    /// Returns this text from a command's report.
    ///
    /// # Errors
    ///
    /// The cause, when the command left no such file.
    pub fn of<'report>(&self, report: &'report CommandReport) -> Result<&'report str, String> {
        match self {
            Self::Stdout => Ok(&report.stdout),
            Self::Stderr => Ok(&report.stderr),
            Self::File(file) => {
                let text = report.files.get(file);
                text.map(String::as_str).ok_or_else(|| format!("it left no file {file}"))
            }
        }
    }
}

/// Finds the report of a load or a probe.
///
/// # Errors
///
/// The cause, when there is no such report.
pub fn find<'report>(
    report: &'report Report,
    name: &str,
) -> Result<&'report CommandReport, String> {
    let mut commands = report.load.iter().chain(&report.probes);
    commands
        .find(|command| command.name == name)
        .ok_or_else(|| format!("nothing is said of {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_read_and_written() {
        for text in
            ["a.stdout", "a-b.stderr", "a:/tmp/x.log", "a.real", "a.user", "a.system", "a.switches"]
        {
            assert_eq!(text.parse::<Source>().unwrap().to_string(), text);
        }
        for text in ["", "a", "a.", "a.stdin", "stdout", "a:b", "a:", "a:/", "a.b.stdout", "a:/x\n"]
        {
            assert!(text.parse::<Source>().is_err(), "{text}");
        }
    }
}
