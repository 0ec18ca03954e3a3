//! Names and versions of packages for apt, in Debian's own grammar, in which no text is an option,
//! a pattern or a path.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{Digest, text::checked_text};

/// The longest name and the longest version, in bytes. A file that is called by both, with a
/// suffix, still has a name that file systems take.
const NAME_BYTES_MAX: usize = 128;
const VERSION_BYTES_MAX: usize = 80;

checked_text! {
    /// A name of a Debian package (Debian Policy Manual, 5.6.7).
    ///
    /// A `-` at its end, which the grammar allows and no package has, would tell apt-get to remove it.
    PackageName, is_name,
    "the name of a Debian package: small letters, digits, `+`, `-` and `.`, 2 to 128 in all"
}

checked_text! {
    /// A version of a Debian package (Debian Policy Manual, 5.6.12).
    PackageVersion, is_version,
    "the version of a Debian package, such as `1:2.3-4+deb13u1`"
}

/// A Debian package that was used.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct Package {
    /// Name of the package.
    #[ts(as = "String")]
    pub name: PackageName,
    /// Version of the package.
    #[ts(as = "String")]
    pub version: PackageVersion,
    /// SHA-256 of the `.deb`.
    #[ts(as = "String")]
    pub sha256: Digest,
}

fn is_name(text: &str) -> bool {
    let is_alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    (2..=NAME_BYTES_MAX).contains(&text.len())
        && text.bytes().next().is_some_and(is_alphanumeric)
        && text.bytes().all(|byte| is_alphanumeric(byte) || b"+-.".contains(&byte))
        && !text.ends_with('-')
}

/// Returns whether a text is `[EPOCH:]UPSTREAM[-REVISION]`, where only an epoch allows a further
/// colon.
fn is_version(text: &str) -> bool {
    let (epoch, rest) = match text.split_once(':') {
        Some((epoch, rest)) => (Some(epoch), rest),
        None => (None, text),
    };
    let is_epoch =
        |epoch: &str| !epoch.is_empty() && epoch.bytes().all(|byte| byte.is_ascii_digit());
    let (upstream, revision) = match rest.rsplit_once('-') {
        Some((upstream, revision)) => (upstream, Some(revision)),
        None => (rest, None),
    };
    let is_made_of = |text: &str, signs: &[u8]| {
        text.bytes().all(|byte| byte.is_ascii_alphanumeric() || signs.contains(&byte))
    };
    text.len() <= VERSION_BYTES_MAX
        && epoch.is_none_or(is_epoch)
        && upstream.starts_with(|first: char| first.is_ascii_digit())
        && is_made_of(upstream, if epoch.is_some() { b".+-~:" } else { b".+-~" })
        && revision.is_none_or(|text| !text.is_empty() && is_made_of(text, b".+~"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_and_versions_of_debian_are_read() {
        for name in ["qemu-system-x86", "g++", "libstdc++6", "zlib1g", "0ad", "python3.11", "libc6"]
        {
            assert_eq!(name.parse::<PackageName>().unwrap(), name);
        }
        for version in [
            "1:10.0.13+ds-0+deb13u1",
            "2.6-1.1",
            "2.41-12+deb13u4",
            "7.2.12-1~bpo13+1",
            "1.0",
            "20230311+deb12u1",
            "1:1.2.13.dfsg-1",
            "2.1~really1.9-1",
            "1:2:3-4",
        ] {
            assert_eq!(version.parse::<PackageVersion>().unwrap(), version);
        }
    }

    #[test]
    fn nothing_that_apt_reads_as_more_than_a_name_is_one() {
        for text in [
            "",
            "a",
            "-oDir::State::status=/x",
            "--help",
            "foo-",
            "foo*",
            "foo^",
            "foo|bar",
            "foo/trixie",
            "foo=1",
            "foo:amd64",
            "./foo.deb",
            "../foo",
            "+foo",
            ".foo",
            "Foo",
            "fo o",
            "foo\n",
            "foo\0",
            "fö",
            "?name(x)",
            "~nfoo",
            "$(id)",
        ] {
            assert!(text.parse::<PackageName>().is_err(), "{text:?}");
        }
        assert!("a".repeat(NAME_BYTES_MAX).parse::<PackageName>().is_ok());
        assert!("a".repeat(NAME_BYTES_MAX + 1).parse::<PackageName>().is_err());
    }

    #[test]
    fn nothing_but_a_version_is_one() {
        for text in [
            "", "-1", "a1", ":1", "x:1", "1:", "1:a", "1-", "1:2-", "1/2", "1 2", "1=2", "1*",
            "../1", "1_2", "1;2", "1\n", "1:2-3:4", "1²", "~1",
        ] {
            assert!(text.parse::<PackageVersion>().is_err(), "{text:?}");
        }
        assert!("1".repeat(VERSION_BYTES_MAX + 1).parse::<PackageVersion>().is_err());
    }

    #[test]
    fn a_recording_goes_through_the_check() {
        let package = |name: &str, version: &str| {
            let sha256 = Digest::of(b"");
            let json = serde_json::json!({ "name": name, "version": version, "sha256": sha256 });
            serde_json::from_value::<Package>(json)
        };
        let sound = package("zlib1g", "1:1.3").unwrap();
        assert!(serde_json::to_string(&sound).unwrap().starts_with(r#"{"name":"zlib1g""#));
        let error = package("-oAPT::Compressor::x::Binary=/bin/sh", "1").unwrap_err().to_string();
        assert!(error.contains("is not the name of a Debian package"), "{error}");
        let error = package("zlib1g", "1\u{1b}[2J").unwrap_err().to_string();
        assert!(!error.contains('\u{1b}') && error.contains("is not the version"), "{error}");
    }

    proptest! {
        #[test]
        fn what_is_read_is_harmless(text in "\\PC{0,40}|[a-z0-9+.:~*=/-]{0,40}") {
            if let Ok(name) = text.parse::<PackageName>() {
                prop_assert!(!name.starts_with(['-', '+', '.']) && !name.ends_with('-'));
                prop_assert!(!name.contains(['/', '=', ':', '*', '?', '^', '|', '~', ' ', '$', '`']));
            }
            if let Ok(version) = text.parse::<PackageVersion>() {
                prop_assert!(version.starts_with(|first: char| first.is_ascii_digit()));
                prop_assert!(!version.contains(['/', '=', '*', '?', '^', '|', ' ', '$', '`']));
            }
        }
    }
}
