use std::{collections::BTreeSet, fmt, str::FromStr};

/// The largest number of CPUs that Linux can be built for on x86-64 (`MAXSMP`, arch/x86/Kconfig).
const CPUS_MAX: u32 = 8192;

/// A set of CPUs, read and written as the kernel does (`bitmap_parselist`, lib/bitmap-str.c).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cpus(BTreeSet<u32>);

/// The text is not a list of CPUs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is no list of CPUs: {reason}; write it as in 2-7 or 1,3,5", text.escape_debug())]
pub struct CpuListError {
    /// Text that is not a list.
    pub text: String,
    /// Error in the text.
    pub reason: &'static str,
}

/// A list of CPUs for whichever machine, such as `2-7`, `0-15:2/4`, `1-N` or `all`: as it was written,
/// and so that some kernel reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuList(String);

impl FromStr for CpuList {
    type Err = CpuListError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Cpus::parse(text, Cpus::LAST).map(|_| Self(text.to_owned()))
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Value of `isolcpus=`: a list of CPUs, which flags may precede, such as `managed_irq,domain,6-7`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IsolatedCpus(String);

impl FromStr for IsolatedCpus {
    type Err = CpuListError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        without_flags(text).parse::<CpuList>().map(|_| Self(text.to_owned()))
    }
}

impl fmt::Display for IsolatedCpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns the list after its flags (kernel/sched/isolation.c, `housekeeping_isolcpus_setup`).
pub fn without_flags(list: &str) -> &str {
    let is_flag = |word: &str| matches!(word, "nohz" | "domain" | "managed_irq");
    let mut rest = list;
    while let Some((flag, after)) = rest.split_once(',')
        && is_flag(flag)
    {
        rest = after;
    }
    rest
}

impl Cpus {
    /// The last CPU that a machine can have.
    pub const LAST: u32 = CPUS_MAX - 1;

    /// Reads a list such as `0,2-7`, `4-15:1/2`, `1-N` or `all`; `last` is the machine's last CPU,
    /// which `N` and `all` mean.
    ///
    /// # Errors
    ///
    /// When the kernel would not read it either.
    pub fn parse(text: &str, last: u32) -> Result<Self, CpuListError> {
        let error = |reason| CpuListError { text: text.to_owned(), reason };
        let number = |text: &str| match text {
            "N" => Ok(last),
            _ if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) => {
                Err(error("it holds something that is no number"))
            }
            _ => text
                .parse()
                .ok()
                .filter(|cpu| *cpu < CPUS_MAX)
                .ok_or(error("no kernel has so many CPUs")),
        };
        let mut cpus = BTreeSet::new();
        for part in text.split(',') {
            let (range, pattern) = match part.split_once(':') {
                Some((range, pattern)) => (range, Some(pattern)),
                None => (part, None),
            };
            let (from, to) = match range.split_once('-') {
                Some((from, to)) => (number(from)?, number(to)?),
                None if range.eq_ignore_ascii_case("all") => (0, last),
                None => (number(range)?, number(range)?),
            };
            if from > to {
                return Err(error("a range ends before it begins"));
            }
            let (used, group) = match pattern.map(|pattern| pattern.split_once('/')) {
                None => (1, 1),
                Some(Some((used, group))) => (number(used)?, number(group)?),
                Some(None) => return Err(error("a pattern is written USED/GROUP")),
            };
            if group == 0 || used > group {
                return Err(error("a pattern uses no more than its group"));
            }
            cpus.extend((from..=to).filter(|cpu| (cpu - from) % group < used));
        }
        Ok(Self(cpus))
    }

    /// Reads a list of numbers and ranges alone, which means the same on every machine. The kernel
    /// prints such lists, and takes them at run time.
    ///
    /// # Errors
    ///
    /// When it holds anything else.
    pub fn plain(text: &str) -> Result<Self, CpuListError> {
        match text.bytes().find(|byte| !matches!(byte, b'0'..=b'9' | b'-' | b',')) {
            None => Self::parse(text, Self::LAST),
            Some(_) => {
                let reason = "it holds something that is no number";
                Err(CpuListError { text: text.to_owned(), reason })
            }
        }
    }

    /// Returns the CPUs from 0 to `last`.
    pub fn up_to(last: u32) -> Self {
        Self((0..=last).collect())
    }

    /// Returns the CPUs in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    /// Returns the last CPU.
    pub fn last(&self) -> Option<u32> {
        self.0.last().copied()
    }

    /// Returns whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether a CPU is in the list.
    pub fn contains(&self, cpu: u32) -> bool {
        self.0.contains(&cpu)
    }

    /// Returns the CPUs that are not in the other list.
    pub fn without(&self, others: &Self) -> Self {
        Self(self.0.difference(&others.0).copied().collect())
    }

    /// Returns the CPUs of both lists.
    pub fn and(&self, others: &Self) -> Self {
        Self(self.0.union(&others.0).copied().collect())
    }
}

impl fmt::Display for Cpus {
    /// Writes the list as the kernel prints it: `0,2-7`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for cpu in self.iter() {
            match ranges.last_mut() {
                Some((_, to)) if *to + 1 == cpu => *to = cpu,
                _ => ranges.push((cpu, cpu)),
            }
        }
        for (index, (from, to)) in ranges.into_iter().enumerate() {
            let gap = if index == 0 { "" } else { "," };
            match from == to {
                true => write!(f, "{gap}{from}")?,
                false => write!(f, "{gap}{from}-{to}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lists_are_read_as_the_kernel_reads_them() {
        for (text, cpus) in [
            ("0", "0"),
            ("2-7", "2-7"),
            ("3,1,2", "1-3"),
            ("0-7:1/2", "0,2,4,6"),
            ("all", "0-7"),
            ("ALL", "0-7"),
            ("all:1/4", "0,4"),
            ("6-N", "6-7"),
            ("0,2-3,7", "0,2-3,7"),
        ] {
            assert_eq!(Cpus::parse(text, 7).unwrap().to_string(), cpus);
        }
        for text in ["", "a", "1-", "-1", "3-1", "1,,2", "0-7:3/2", "0-7:1", "99999", "+1", "1 2"] {
            assert!(Cpus::parse(text, 7).is_err(), "{text}");
        }
    }

    #[test]
    fn a_list_for_whichever_machine_is_kept_as_it_was_written() {
        for text in ["1-3,5", "0-7:2/4", "all", "1-N", "N", "8191"] {
            assert_eq!(text.parse::<CpuList>().unwrap().to_string(), text);
        }
        for text in ["2..7", "8192", "domain,1", "", "N-1"] {
            assert!(text.parse::<CpuList>().is_err(), "{text}");
        }
        assert!("managed_irq,nohz,1-3".parse::<IsolatedCpus>().is_ok());
        assert!("managed,1-3".parse::<IsolatedCpus>().is_err());
    }

    #[test]
    fn a_plain_list_is_numbers_and_ranges() {
        assert_eq!(Cpus::plain("1,2,3,5").unwrap().to_string(), "1-3,5");
        for text in ["all", "N", "0-7:1/2", "domain,1", "", "1-", "3-1", "8192", "a1", "+1"] {
            assert!(Cpus::plain(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(cpus in proptest::collection::btree_set(0u32..300, 1..40)) {
            let cpus = Cpus(cpus);
            prop_assert_eq!(Cpus::parse(&cpus.to_string(), 300).unwrap(), cpus);
        }

        #[test]
        fn no_text_is_too_much(text in "\\PC{0,30}") {
            let _ = Cpus::parse(&text, 7);
        }
    }
}
