use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::nearest;

/// Preemption mode of a kernel; `rt` is a second axis and not a mode.
///
/// The names are those of `preempt=` and of debugfs `sched/preempt` (kernel/sched/core.c,
/// `sched_dynamic_mode`).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, TS, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum PreemptMode {
    /// Preemption only on return to user space, and where kernel code blocks or calls
    /// `cond_resched()`.
    None,
    /// Preemption also at `might_sleep()`.
    Voluntary,
    /// Everywhere outside sections that hold preemption off.
    Full,
    /// Real-time tasks as under full; fair tasks wait for the tick (from 6.13 on).
    Lazy,
}

impl PreemptMode {
    /// Every mode, in the order in which tables show them.
    pub const ALL: [Self; 4] = [Self::None, Self::Voluntary, Self::Full, Self::Lazy];

    /// Returns the kernel's name for the mode.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Voluntary => "voluntary",
            Self::Full => "full",
            Self::Lazy => "lazy",
        }
    }
}

impl fmt::Display for PreemptMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The text names no preemption mode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown preemption mode `{name}`{}", match nearest {
    _ if is_rt(name) => "; rt is a kernel flavour: kernel = [\"debian:6.12-rt\"]".to_owned(),
    Some(nearest) => format!("; did you mean `{nearest}`?"),
    None => "; the modes are none, voluntary, full and lazy".to_owned(),
})]
pub struct ParseModeError {
    /// Name that is not a mode.
    pub name: String,
    /// Mode that was probably meant.
    pub nearest: Option<&'static str>,
}

impl FromStr for PreemptMode {
    type Err = ParseModeError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == name).ok_or_else(|| ParseModeError {
            name: name.to_owned(),
            nearest: nearest(name, Self::ALL.map(Self::as_str)),
        })
    }
}

/// Tells whether a word that stands for a mode means PREEMPT_RT, such as `rt`, `rt-lazy` or
/// `PREEMPT_RT`: that is a flavour of a kernel.
pub fn is_rt(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    word.split(|char: char| !char.is_alphanumeric()).any(|part| ["rt", "realtime"].contains(&part))
}

/// The content of debugfs `sched/preempt`: the modes on offer, the active one in parentheses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModeFile {
    /// The modes that can be written to the file.
    pub offered: Vec<PreemptMode>,
    /// The one in parentheses; `None` where a kernel printed none (an interim 6.13 did).
    pub active: Option<PreemptMode>,
}

impl ModeFile {
    /// Reads the file's text; words that are not modes are skipped.
    pub fn parse(text: &str) -> Self {
        let mut file = Self { offered: Vec::new(), active: None };
        for word in text.split_whitespace() {
            let active = word.strip_prefix('(').and_then(|word| word.strip_suffix(')'));
            if let Ok(mode) = active.unwrap_or(word).parse() {
                file.offered.push(mode);
                if active.is_some() {
                    file.active = Some(mode);
                }
            }
        }
        file
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_mode_file() {
        let file = ModeFile::parse("none (voluntary) full \n");
        assert_eq!(file.offered, [PreemptMode::None, PreemptMode::Voluntary, PreemptMode::Full]);
        assert_eq!(file.active, Some(PreemptMode::Voluntary));
    }

    #[test]
    fn an_empty_mode_file_has_no_active_mode() {
        assert_eq!(ModeFile::parse("\n"), ModeFile { offered: vec![], active: None });
    }

    #[test]
    fn a_misspelt_mode_gets_a_suggestion() {
        let error = "voluntery".parse::<PreemptMode>().unwrap_err();
        assert_eq!(error.nearest, Some("voluntary"));
        for word in ["rt", "RT", "rt-lazy", "full-rt", "PREEMPT_RT", "realtime"] {
            let said = word.parse::<PreemptMode>().unwrap_err().to_string();
            assert!(
                said.contains("rt is a kernel flavour: kernel = [\"debian:6.12-rt\"]"),
                "{said}"
            );
        }
        assert!(!is_rt("part") && !is_rt("lazy"));
    }
}
