//! A change of a kernel's function on the command line, such as `cut=exit_mmap:10us`.

use std::{fmt, str::FromStr};

use preemptlab_model::{ParseTimeError, VirtualDuration};
use preemptlab_trace::Changes;

/// The longest name of a function (include/linux/kallsyms.h, `KSYM_NAME_LEN`).
const FUNCTION_BYTES_MAX: usize = 512;

/// An assumed change of a kernel's function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhatIf {
    function: String,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The scheduler may switch in it.
    Preemptible,
    /// Its sections last at most this time, which is above zero.
    Cut(VirtualDuration),
}

impl WhatIf {
    /// Returns the name of the function.
    pub fn function(&self) -> &str {
        &self.function
    }

    /// Returns the longest time that the function's sections would last, in nanoseconds; `None` where they
    /// would be preemptible.
    pub fn cut_ns(&self) -> Option<u64> {
        match self.kind {
            Kind::Preemptible => None,
            Kind::Cut(longest) => Some(longest.as_ns()),
        }
    }

    /// Returns the change in words.
    pub(crate) fn words(&self) -> String {
        let function = &self.function;
        match self.kind {
            Kind::Preemptible => format!("`{function}` preemptible"),
            Kind::Cut(longest) => {
                format!("sections of `{function}` cut to {}", exactly(longest))
            }
        }
    }

    pub(crate) fn add_to(&self, changes: &mut Changes) {
        match self.cut_ns() {
            None => changes.make_preemptible(&self.function),
            Some(longest_ns) => changes.cut(&self.function, longest_ns),
        }
    }
}

impl FromStr for WhatIf {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, of) = text.split_once('=').unwrap_or((text, ""));
        let (function, kind) = match kind {
            "preemptible" => (of, Kind::Preemptible),
            "cut" => {
                let (function, longest) = of.split_once(':').ok_or_else(|| {
                    "a cut needs the longest time: cut=FUNCTION:TIME, such as cut=exit_mmap:10us"
                        .to_owned()
                })?;
                let longest: VirtualDuration =
                    longest.parse().map_err(|error: ParseTimeError| error.to_string())?;
                if longest.as_ns() == 0 {
                    return Err("a cut leaves more than 0 ns".to_owned());
                }
                (function, Kind::Cut(longest))
            }
            _ => return Err("expected preemptible=FUNCTION or cut=FUNCTION:TIME".to_owned()),
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        if function.is_empty()
            || function.len() > FUNCTION_BYTES_MAX
            || !function.chars().all(is_name)
        {
            return Err(format!("`{}` is no name of a function", function.escape_debug()));
        }
        Ok(Self { function: function.to_owned(), kind })
    }
}

impl fmt::Display for WhatIf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let function = &self.function;
        match self.kind {
            Kind::Preemptible => write!(f, "preemptible={function}"),
            Kind::Cut(longest) => {
                write!(f, "cut={function}:{}", exactly(longest).replace(' ', ""))
            }
        }
    }
}

/// Writes a time with a fitting unit where that is exact, else in nanoseconds.
fn exactly(duration: VirtualDuration) -> String {
    let text = duration.to_string();
    if text.parse() == Ok(duration) { text } else { format!("{} ns", duration.as_ns()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_read_and_written() {
        for (text, function, cut_ns, written) in [
            ("preemptible=exit_mmap", "exit_mmap", None, "preemptible=exit_mmap"),
            ("cut=rcu_core_si:10us", "rcu_core_si", Some(10_000), "cut=rcu_core_si:10us"),
            ("cut=a.isra.0:0.5 us", "a.isra.0", Some(500), "cut=a.isra.0:500ns"),
            ("cut=a:1000000001ns", "a", Some(1_000_000_001), "cut=a:1000000001ns"),
        ] {
            let change: WhatIf = text.parse().unwrap();
            assert_eq!((change.function(), change.cut_ns()), (function, cut_ns));
            assert_eq!(change.to_string(), written);
            assert_eq!(written.parse(), Ok(change));
        }
    }

    #[test]
    fn what_is_no_change_is_refused() {
        for (text, said) in [
            ("", "expected preemptible=FUNCTION or cut=FUNCTION:TIME"),
            ("exit_mmap", "expected preemptible=FUNCTION"),
            ("faster=exit_mmap", "expected preemptible=FUNCTION"),
            ("preemptible=", "`` is no name of a function"),
            ("preemptible", "`` is no name of a function"),
            ("preemptible=exit()", "`exit()` is no name of a function"),
            ("preemptible=a b", "`a b` is no name"),
            ("preemptible=\u{1b}[2J", "is no name of a function"),
            ("cut=exit_mmap", "cut=FUNCTION:TIME"),
            ("cut=exit_mmap:", "is no time"),
            ("cut=exit_mmap:10", "is no time"),
            ("cut=exit_mmap:5 weeks", "`weeks` is no unit of time"),
            ("cut=exit_mmap:-1us", "is no time"),
            ("cut=exit_mmap:99999999999999999999s", "is no time"),
            ("cut=exit_mmap:0us", "more than 0 ns"),
            ("cut=:1us", "`` is no name"),
        ] {
            let error = text.parse::<WhatIf>().unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
        assert!(format!("preemptible={}", "x".repeat(513)).parse::<WhatIf>().is_err());
    }
}
