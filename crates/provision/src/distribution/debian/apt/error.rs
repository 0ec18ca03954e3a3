use std::{fmt, io, time::SystemTime};

use preemptlab_model::ParseTextError;
use serde::{Deserialize, Serialize};

use super::config::STABLE;
use crate::{MirrorError, SignatureError, StoreError, distribution::debian::release::date};

/// Cause for which apt could not fetch something, read from its output.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trouble {
    /// The suite's release file is older than it may be.
    Expired {
        /// Time since the expiry, in apt's words (`14d 11h 35min 16s`).
        since: String,
    },
    /// The suite's release file comes from the future.
    NotYetValid,
    /// The signature is missing or bad, or its key is unknown.
    Signature(String),
    /// The mirror does not have it.
    Missing,
    /// The file differs from the one that the signed lists announce.
    Corrupted(String),
    /// The mirror does not answer.
    Unreachable(String),
    /// The disk is full.
    DiskFull,
    /// Something else, in apt's words.
    Other(String),
}

impl Trouble {
    /// Returns the cause that a complaint of apt means.
    pub(crate) fn classify(complaint: &str) -> Self {
        let has = |needles: &[&str]| needles.iter().any(|needle| complaint.contains(needle));
        let text = || first_sentence(complaint);
        if has(&["is expired"]) {
            let since =
                complaint.split_once("(invalid since ").and_then(|(_, s)| s.split_once(')'));
            Self::Expired { since: since.map_or("", |(since, _)| since).to_owned() }
        } else if has(&["is not valid yet"]) {
            Self::NotYetValid
        } else if has(&["No space left", "enough free space", "Disk quota exceeded"]) {
            Self::DiskFull
        } else if has(&["Hash Sum mismatch", "unexpected size", "Hashes of expected"]) {
            Self::Corrupted(text())
        } else if has(&[
            "NO_PUBKEY",
            "signature",
            "is not signed",
            "GPG error",
            "Missing key",
            "sqv",
            "NOSPLIT",
        ]) {
            Self::Signature(text())
        } else if has(&["error while loading shared libraries"]) {
            Self::Other(text())
        } else if has(&[
            "400 ",
            "404 ",
            "410 ",
            "does not have a Release file",
            "File not found",
            "No such file",
        ]) {
            Self::Missing
        } else if has(&[
            "onnect",
            "resolv",
            "timed out",
            "unreachable",
            "Unreachable",
            "Undetermined Error",
            "401 ",
            "403 ",
            "407 ",
            "500 ",
            "502 ",
            "503 ",
            "504 ",
            "certificate",
            "handshake",
        ]) {
            Self::Unreachable(text())
        } else {
            Self::Other(text())
        }
    }
}

impl Trouble {
    /// Returns whether what came is refused: it is not what somebody signed or named, or its time is over.
    pub(crate) fn is_refused(&self) -> bool {
        matches!(self, Self::Expired { .. } | Self::Signature(_) | Self::Corrupted(_))
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expired { since } => write!(
                f,
                "its release file expired {since} ago, so the mirror lags behind, or this machine's clock, \
                 which says {}, is wrong; `--set allow_expired=true` accepts it",
                date(SystemTime::now())
            ),
            Self::NotYetValid => write!(
                f,
                "its release file comes from the future; set this machine's clock, which says {}",
                date(SystemTime::now())
            ),
            Self::Signature(text) => write!(
                f,
                "its signature cannot be verified ({text}); upgrade preemptlab or the package \
                 debian-archive-keyring, or name another mirror with `--set mirror=URL`"
            ),
            Self::Missing => {
                f.write_str("the mirror does not have it; name another with `--set mirror=URL`")
            }
            Self::Corrupted(text) => write!(
                f,
                "it came corrupted ({text}); try again later, or name another mirror with \
                 `--set mirror=URL`"
            ),
            Self::Unreachable(text) => write!(
                f,
                "the mirror cannot be reached ({text}); check the network and its proxy, or name \
                 another mirror with `--set mirror=URL`"
            ),
            Self::DiskFull => f.write_str("the disk is full; free some space"),
            Self::Other(text) => f.write_str(text),
        }
    }
}

/// A suite that takes no part, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeftOut {
    /// Name of the suite.
    pub suite: String,
    /// Cause for which it is left out.
    pub trouble: Trouble,
}

/// Suites that are left out, for the end of an error's sentence: nothing when there are none.
pub(crate) struct LeftOutNote<'a>(pub(crate) &'a [LeftOut]);

impl fmt::Display for LeftOutNote<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // One cause often hits many suites.
        let mut causes: Vec<(&Trouble, Vec<&str>)> = Vec::new();
        for LeftOut { suite, trouble } in self.0 {
            match causes.iter_mut().find(|(cause, _)| *cause == trouble) {
                Some((_, suites)) => suites.push(suite),
                None => causes.push((trouble, vec![suite])),
            }
        }
        for (trouble, suites) in causes {
            write!(f, "; left out: {}: {trouble}", suites.join(", "))?;
        }
        Ok(())
    }
}

/// Reason why packages cannot be provided.
#[derive(Debug, thiserror::Error)]
pub enum AptError {
    /// No mirror is known.
    #[error(transparent)]
    Mirror(#[from] MirrorError),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A program of apt cannot be run.
    #[error("`{program}` cannot be run ({source}); it is part of Debian's package apt")]
    Tool {
        /// Name of the program.
        program: &'static str,
        /// Error of the system.
        source: io::Error,
    },
    /// The keys that this program brings cannot be read.
    #[error(transparent)]
    Keys(#[from] SignatureError),
    /// The environment names a proxy that cannot be used.
    #[error("the proxy of the environment cannot be used: {0}")]
    Proxy(Trouble),
    /// The list of packages of release 13 cannot be read, or lacks apt.
    #[error("the list of packages of Debian 13 has no apt that can be used: {0}")]
    List(String),
    /// The store lacks something that may not be downloaded.
    #[error(
        "the store lacks {0}, and `offline` is set; give the command once without `--set offline=true` and \
         with a network"
    )]
    Offline(String),
    /// The mirror no longer has a version of a package, and no other place is known.
    #[error(
        "the mirror offers no package `{name}`{}; an archive that keeps every version can be named with \
         `--set snapshot=URL`",
        LeftOutNote(left_out)
    )]
    Gone {
        /// Name and version of the package.
        name: String,
        /// The suites that could not be asked.
        left_out: Vec<LeftOut>,
    },
    /// The archive that keeps every version does not have it.
    #[error(
        "the package `{name}` is neither on the mirror nor in the snapshot archive `{archive}`: {}",
        of_snapshot(trouble)
    )]
    Snapshot {
        /// Name and version of the package.
        name: String,
        /// Address of the archive.
        archive: String,
        /// Cause.
        trouble: Trouble,
    },
    /// Release 13 cannot be used.
    #[error("Debian 13 cannot be had from `{mirror}`{}", LeftOutNote(left_out))]
    NoStable {
        /// Address of the main archive.
        mirror: String,
        /// The suites that cannot be used, and why.
        left_out: Vec<LeftOut>,
    },
    /// A text is not a name or version of a package.
    #[error(transparent)]
    Name(#[from] ParseTextError),
    /// No suite has the package.
    #[error("the mirror offers no package `{name}`{}", LeftOutNote(left_out))]
    Unknown {
        /// Name of the package.
        name: String,
        /// The suites that could not be asked.
        left_out: Vec<LeftOut>,
    },
    /// The package's dependencies cannot be installed together.
    #[error(
        "the packages {names} cannot be had with all they depend on: {reason}{}",
        LeftOutNote(left_out)
    )]
    Unsatisfiable {
        /// Names of the packages.
        names: String,
        /// Reason, in apt's words.
        reason: String,
        /// The suites that could not be asked.
        left_out: Vec<LeftOut>,
    },
    /// A package could not be downloaded.
    #[error("the package {name} cannot be downloaded: {trouble}{}", or_snapshot(trouble))]
    Download {
        /// The package and its version.
        name: String,
        /// Cause, as apt reports it.
        trouble: Trouble,
    },
    /// apt failed for another reason.
    #[error("`{program}` failed: {trouble}")]
    Failed {
        /// Name of the program.
        program: &'static str,
        /// Cause, as apt reports it.
        trouble: Trouble,
    },
}

impl AptError {
    /// Returns whether the answers of mirrors and archives are refused, or they answered that they do not have what
    /// a recording names. Else this machine, the network or a mirror failed.
    pub fn is_refused(&self) -> bool {
        match self {
            Self::Gone { .. } => true,
            Self::Snapshot { trouble, .. } => {
                !matches!(trouble, Trouble::Unreachable(_) | Trouble::DiskFull)
            }
            Self::Download { trouble, .. } => trouble.is_refused(),
            Self::NoStable { left_out, .. } => {
                left_out.iter().any(|out| out.suite == STABLE && out.trouble.is_refused())
            }
            _ => false,
        }
    }
}

/// Returns the other remedy for a file that the mirror does not have, to follow a message.
fn or_snapshot(trouble: &Trouble) -> &'static str {
    match trouble {
        Trouble::Missing => ", or an archive that keeps every version with `--set snapshot=URL`",
        _ => "",
    }
}

/// Returns the reason why a snapshot archive is of no use, without the advice that is about mirrors.
fn of_snapshot(trouble: &Trouble) -> String {
    match trouble {
        Trouble::Missing => "it does not have that version".to_owned(),
        Trouble::Corrupted(text) => format!("it gives another file ({text})"),
        Trouble::Unreachable(text) => format!("it cannot be reached ({text})"),
        other => other.to_string(),
    }
}

/// Returns the first line with words, without apt's letter before it.
fn first_sentence(complaint: &str) -> String {
    let line = complaint.lines().map(str::trim).find(|line| !line.is_empty());
    let line = line.unwrap_or("apt did not say why");
    let line = ["E: ", "W: ", "Error: ", "Warning: "]
        .into_iter()
        .find_map(|prefix| line.strip_prefix(prefix))
        .unwrap_or(line);
    line.trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The complaints are those of apt 2.6 and 3.0.
    #[test]
    fn complaints_are_understood() {
        let expired = "E: Release file for http://m.invalid/debian/dists/experimental/InRelease is \
                       expired (invalid since 14d 11h 35min 16s). Updates for this repository will \
                       not be applied.";
        assert_eq!(
            Trouble::classify(expired),
            Trouble::Expired { since: "14d 11h 35min 16s".into() }
        );
        for (complaint, kind) in [
            (
                "Could not connect to m.invalid:80 (192.0.2.1). - connect (111: Connection refused)",
                "U",
            ),
            ("Could not resolve 'm.invalid'", "U"),
            ("Temporary failure resolving 'm.invalid'", "U"),
            ("Connection timed out [IP: 192.0.2.1 80]", "U"),
            (
                "The following signatures couldn't be verified because the public key is not \
              available: NO_PUBKEY 0123",
                "S",
            ),
            ("E: The repository 'file:/srv trixie InRelease' is not signed.", "S"),
            ("Sub-process /usr/bin/sqv returned an error code (1)", "S"),
            ("404  Not Found [IP: 192.0.2.1 80]", "M"),
            ("E: The repository 'http://m.invalid x Release' does not have a Release file.", "M"),
            ("Hash Sum mismatch\n   Hashes of expected file:", "C"),
            ("File has unexpected size (1 != 2). Mirror sync in progress?", "C"),
            ("E: You don't have enough free space in /x/.", "D"),
            ("Error writing to output file - write (28: No space left on device)", "D"),
            ("something new", "O"),
        ] {
            let found = match Trouble::classify(complaint) {
                Trouble::Unreachable(_) => "U",
                Trouble::Signature(_) => "S",
                Trouble::Missing => "M",
                Trouble::Corrupted(_) => "C",
                Trouble::DiskFull => "D",
                Trouble::Other(_) => "O",
                Trouble::Expired { .. } | Trouble::NotYetValid => "E",
            };
            assert_eq!(found, kind, "{complaint}");
        }
    }

    #[test]
    fn what_is_refused_is_told_from_what_failed() {
        let name = || "tool 1.0".to_owned();
        let [other, expired, unsigned, away] = [
            Trouble::Corrupted("its SHA-256 is another".into()),
            Trouble::Expired { since: "2d".into() },
            Trouble::Signature("it is not signed".into()),
            Trouble::Unreachable("refused".into()),
        ];
        let download = |trouble: &Trouble| {
            AptError::Download { name: name(), trouble: trouble.clone() }.is_refused()
        };
        let snapshot = |trouble: &Trouble| {
            let (archive, trouble) = ("https://s.invalid".to_owned(), trouble.clone());
            AptError::Snapshot { name: name(), archive, trouble }.is_refused()
        };
        let suite = |suite: &str, trouble: &Trouble| {
            let left_out = vec![LeftOut { suite: suite.to_owned(), trouble: trouble.clone() }];
            AptError::NoStable { mirror: "https://m.invalid".to_owned(), left_out }.is_refused()
        };
        assert!(download(&other) && !download(&Trouble::Missing) && !download(&away));
        assert!(snapshot(&Trouble::Missing) && snapshot(&other) && !snapshot(&away));
        assert!(suite("trixie", &expired) && suite("trixie", &unsigned));
        assert!(!suite("trixie", &away) && !suite("trixie", &Trouble::NotYetValid));
        assert!(!suite("experimental", &expired));
    }

    #[test]
    fn suites_with_one_trouble_share_its_words() {
        let down = |suite: &str| LeftOut {
            suite: suite.into(),
            trouble: Trouble::Unreachable("no route".into()),
        };
        let expired = LeftOut {
            suite: "experimental".into(),
            trouble: Trouble::Expired { since: "2d".into() },
        };
        let note = LeftOutNote(&[down("a"), expired, down("b")]).to_string();
        assert_eq!((note.lines().count(), note.matches("; left out: ").count()), (1, 2));
        assert!(note.contains("a, b: the mirror cannot be reached"));
        assert!(note.contains("experimental: ") && note.contains("allow_expired=true"));
    }
}
