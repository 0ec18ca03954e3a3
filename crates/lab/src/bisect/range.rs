//! The ends of a search as a person writes them: `GOOD..BAD`.

use std::{cmp::Ordering, fmt, str::FromStr};

use preemptlab_model::{Distro, KernelRef, ParseKernelRefError, plain, series};

/// The expected form of a range.
const EXPECTED: &str = "expected GOOD..BAD, such as v6.12..v6.13 or debian:6.12..7.2";

/// Two ends of a search: the first is as it should be, the second is later and worse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BisectRange {
    /// Revisions of a repository, as git reads them.
    Commits {
        /// The one that is as it should be.
        good: String,
        /// A later one that is worse.
        bad: String,
    },
    /// Packaged kernels.
    Kernels(KernelRange),
}

/// Packaged kernels of a distribution and a flavour from one version or series to another, both
/// included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelRange {
    pub(super) ends: [KernelRef; 2],
}

impl FromStr for BisectRange {
    type Err = String;

    /// Reads a range. An end with a colon is a kernel. The second kernel may leave the distribution out.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.ends_with(".toml") {
            return Err(format!("an experiment stands behind the range; {EXPECTED}"));
        }
        if ["git:", "tree:"].iter().any(|word| text.starts_with(word)) {
            return Err(format!("the option --repo names the repository of revisions; {EXPECTED}"));
        }
        let (good, bad) =
            text.split_once("..").ok_or_else(|| format!("it has no `..`; {EXPECTED}"))?;
        if bad.starts_with('.') {
            return Err(format!("a range has two dots and not three; {EXPECTED}"));
        }
        if bad.contains("..") {
            return Err(format!("it has `..` twice; {EXPECTED}"));
        }
        for (end, place, meaning) in
            [(good, "before", "is as it should be"), (bad, "behind", "is worse")]
        {
            if end.is_empty() {
                return Err(format!(
                    "nothing stands {place} the `..`: name the end that {meaning}, such as HEAD; {EXPECTED}"
                ));
            }
        }
        match (good.contains(':'), bad.contains(':')) {
            (true, _) => kernels(good, bad).map(Self::Kernels),
            (false, true) => {
                Err(format!("both ends must be revisions, or both kernels; {EXPECTED}"))
            }
            (false, false) => commits(good, bad),
        }
    }
}

impl fmt::Display for KernelRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, last] = self.ends.each_ref().map(ToString::to_string);
        let last = last.split_once(':').map_or(&*last, |(_, version)| version);
        write!(f, "{first}..{last}")
    }
}

fn commits(good: &str, bad: &str) -> Result<BisectRange, String> {
    let is_version = |end: &str| {
        end.contains('.') && end.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    if is_version(good) && is_version(bad) {
        return Err(format!(
            "it names neither kernels nor tags of Linux; did you mean `debian:{good}..{bad}` or \
             `v{good}..v{bad}`?"
        ));
    }
    match good == bad {
        true => Err(same(good)),
        false => Ok(BisectRange::Commits { good: good.to_owned(), bad: bad.to_owned() }),
    }
}

fn kernels(good: &str, bad: &str) -> Result<KernelRange, String> {
    let read = |name: &str| -> Result<(KernelRef, Distro), String> {
        let kernel: KernelRef =
            name.parse().map_err(|error: ParseKernelRefError| error.to_string())?;
        match kernel.packager() {
            Some(distribution) => Ok((kernel, distribution)),
            None => Err(format!(
                "only packaged kernels and revisions have an order, and {kernel} is neither; {EXPECTED}"
            )),
        }
    };
    let (first, distribution) = read(good)?;
    let (last, other) = match bad.contains(':') {
        true => read(bad)?,
        false => read(&format!("{}:{bad}", distribution.word()))?,
    };
    if distribution != other {
        return Err(format!("both ends must be of one distribution; {EXPECTED}"));
    }
    if first.flavour() != last.flavour() {
        return Err("both ends must be of one flavour, such as debian:6.12-rt..7.2-rt".to_owned());
    }
    if first == last {
        return Err(same(&first.to_string()));
    }
    let range = KernelRange { ends: [first, last] };
    match range.is_reversed() {
        true => Err(reversed(&range)),
        false => Ok(range),
    }
}

impl KernelRange {
    /// Returns whether the names tell that the second kernel is older. A series stands for its newest version,
    /// so one of its versions may be older or the same.
    fn is_reversed(&self) -> bool {
        let [first, last] = &self.ends;
        let [of_first, of_last] = [first, last].map(|end| end.version().unwrap_or_default());
        let is_within = series(of_first) == series(of_last)
            && [of_first, of_last].iter().any(|version| *version == series(version));
        !is_within && last.version_order(first) == Ordering::Less
    }
}

/// Says that a range begins with its newer end.
pub(super) fn reversed(range: &KernelRange) -> String {
    let [first, last] = &range.ends;
    format!("{first} is newer than {last}; the older one stands first")
}

fn same(end: &str) -> String {
    let end = plain::line(end);
    format!("both ends are {end}: nothing lies between them")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_and_printed() {
        for (text, printed) in [
            ("debian:6.12..7.2", "debian:6.12..7.2"),
            ("debian:6.12..debian:7.2", "debian:6.12..7.2"),
            ("debian:6.12-rt..7.2-rt", "debian:6.12-rt..7.2-rt"),
            ("debian:6.1.0-56..6.12.107+deb13", "debian:6.1.0-56..6.12.107+deb13"),
            ("debian:6.12.107+deb13..6.12", "debian:6.12.107+deb13..6.12"),
            ("debian:6.9..6.12", "debian:6.9..6.12"),
            ("ubuntu:6.8.0-31..6.8.0-45", "ubuntu:6.8.0-31..6.8.0-45"),
            ("fedora:6.14.0-63.fc42..6.14", "fedora:6.14.0-63.fc42..6.14"),
        ] {
            let Ok(BisectRange::Kernels(range)) = text.parse() else { panic!("{text}") };
            assert_eq!(range.to_string(), printed);
        }
        for (text, ends) in [
            ("v6.12..v7.0", ["v6.12", "v7.0"]),
            ("HEAD~40..HEAD", ["HEAD~40", "HEAD"]),
            ("heads/6.12..main@{1}", ["heads/6.12", "main@{1}"]),
            ("6.12..HEAD", ["6.12", "HEAD"]),
        ] {
            let [good, bad] = ends.map(str::to_owned);
            assert_eq!(text.parse(), Ok(BisectRange::Commits { good, bad }));
        }
    }

    #[test]
    fn what_is_no_range_is_refused_with_the_reason() {
        for (text, said) in [
            ("", "it has no `..`"),
            ("debian:6.12", "it has no `..`"),
            ("v6.12", "it has no `..`"),
            ("..", "nothing stands before the `..`"),
            ("..HEAD", "nothing stands before the `..`"),
            ("v6.12..", "nothing stands behind the `..`"),
            ("debian:6.12..", "nothing stands behind the `..`"),
            ("v6.12...v6.13", "two dots and not three"),
            ("...", "two dots and not three"),
            ("debian:6.12...7.2", "two dots and not three"),
            ("debian:6.12..7.2..7.3", "`..` twice"),
            ("6.12..7.2", "did you mean `debian:6.12..7.2` or `v6.12..v7.2`?"),
            ("HEAD..HEAD", "both ends are HEAD"),
            ("debian:7.2..debian:7.2", "both ends are debian:7.2"),
            ("debian:6.12-rt..7.2", "must be of one flavour"),
            ("debian:6.12..fedora:6.14", "must be of one distribution"),
            ("ubuntu:6.8..6.11-lowlatency", "must be of one flavour"),
            ("ubuntu:6.8..6.11-rt", "holds digits, `.` and `-` only"),
            ("v6.12..debian:7.2", "both ends must be revisions, or both kernels"),
            ("debian:6.12..v7.0", "did you mean `debian:7.0`?"),
            ("debian:6.12..HEAD", "`debian:HEAD` names no kernel"),
            ("debian:6.12..7.2;x", "a version holds letters"),
            ("debian:6.12..tree:.", "only packaged kernels and revisions have an order"),
            ("source:6.12..7.2", "only packaged kernels and revisions have an order"),
            ("git:../linux@v6.12..v6.13", "--repo names the repository"),
            ("tree:../linux..HEAD", "--repo names the repository"),
            ("x:a..b", "`x:a` names no kernel"),
            ("debian:7.2..6.12", "debian:7.2 is newer than debian:6.12"),
            ("debian:6.12.107+deb13..6.12.90+deb13", "the older one stands first"),
            ("mine.toml", "an experiment stands behind the range"),
            ("../studies/gate.toml", "an experiment stands behind the range"),
        ] {
            let error = text.parse::<BisectRange>().unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
