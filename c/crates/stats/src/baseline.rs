use std::{fmt, str::FromStr};

use preemptlab_model::{KernelRef, PreemptMode, Settings};
use serde::{Serialize, Serializer};

/// The configuration that the others are compared with, in every group that has it; as text
/// `KERNEL/MODE`, with its settings after a space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Baseline {
    /// Kernel of the baseline, as the experiment names it.
    pub kernel: KernelRef,
    /// Requested mode.
    pub preempt: PreemptMode,
    /// Settings besides the mode.
    pub settings: Settings,
}

impl fmt::Display for Baseline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, preempt, settings } = self;
        write!(f, "{kernel}/{preempt}")?;
        if settings.is_empty() { Ok(()) } else { write!(f, " {settings}") }
    }
}

impl Serialize for Baseline {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// The text names no baseline.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` names no baseline: {reason}")]
pub struct ParseBaselineError {
    /// Text that is not a baseline.
    pub text: String,
    /// Error in the text.
    pub reason: String,
}

impl FromStr for Baseline {
    type Err = ParseBaselineError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = |reason| ParseBaselineError { text: text.to_owned(), reason };
        let text = text.trim();
        // A kernel's name may hold blanks and slashes: a file's path, or a text among its symbols.
        let split = |slash: usize| {
            let (kernel, rest) = (&text[..slash], &text[slash + 1..]);
            let (preempt, settings) = rest.split_once(' ').unwrap_or((rest, ""));
            (kernel, preempt, settings)
        };
        let is_mode = |preempt: &str| preempt.parse::<PreemptMode>().is_ok();
        let (kernel, preempt, settings) = text
            .match_indices('/')
            .map(|(slash, _)| split(slash))
            .find(|(_, preempt, _)| is_mode(preempt))
            .or_else(|| text.split(' ').next()?.rfind('/').map(split))
            .ok_or_else(|| error("expected KERNEL/MODE, as in `debian:6.12/full`".to_owned()))?;
        Ok(Self {
            kernel: kernel.trim().parse().map_err(|cause| error(format!("{cause}")))?,
            preempt: preempt.trim().parse().map_err(|cause| error(format!("{cause}")))?,
            settings: settings.parse().map_err(|cause| error(format!("{cause}")))?,
        })
    }
}

/// Error of a baseline that no configuration with measurements is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there are no measurements of the baseline `{baseline}`; choose one of {}", offered.join("; "))]
pub struct UnknownBaseline {
    /// Wanted baseline.
    pub baseline: Box<Baseline>,
    /// Configurations with measurements, in the same notation.
    pub offered: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_printed() {
        for text in [
            "debian:6.12-rt/lazy",
            "file:/b,modules=/m/full",
            "file:/my kernels/full/bzImage/none",
            "debian:6.12/none threadirqs a/b=1",
            "source:6.12+LOCALVERSION=\"a b/c\"/voluntary nohz_full=1",
        ] {
            assert_eq!(text.parse::<Baseline>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_names_no_baseline_is_refused_with_its_reason() {
        for (text, reason) in [
            ("debian:6.12", "KERNEL/MODE"),
            ("debian:6.12/ful", "did you mean `full`?"),
            ("debian:6.12/full a=\"b\"", "is no setting"),
            ("6.12/full", "must start with `debian:`"),
        ] {
            let error = text.parse::<Baseline>().unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
