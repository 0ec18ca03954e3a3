//! The versions that may stand behind a distribution's word, as in `debian:6.12-rt`.

use super::{name::KernelRef, tree::flavoured};
use crate::{Arch, Distro};

/// Reads the name of a packaged kernel behind the word of its distribution.
pub(super) fn read_packaged(distribution: Distro, name: &str) -> Result<KernelRef, &'static str> {
    // The name of a release means the same kernel.
    let arch = |of: fn(Arch) -> &'static str, sign| {
        let of = |arch: &Arch| name.strip_suffix(of(*arch))?.strip_suffix(sign);
        Arch::ALL.iter().find_map(of).unwrap_or(name)
    };
    let name = match distribution {
        Distro::Debian => arch(|arch| arch.platform().debian, '-'),
        Distro::Ubuntu => name.strip_suffix("-generic").unwrap_or(name),
        Distro::Fedora => arch(|arch| arch.platform().rpm, '.'),
    };
    let (version, flavour) = flavoured(name, distribution);
    if !version.starts_with(|c: char| c.is_ascii_digit()) || !version.contains('.') {
        return Err(match distribution {
            Distro::Debian => {
                "a series such as `6.12` or an exact version is expected after `debian:`"
            }
            Distro::Ubuntu => {
                "a series of kernels such as `6.8` or an exact version such as `6.8.0-31` is expected after \
                 `ubuntu:`"
            }
            Distro::Fedora => {
                "a series of kernels such as `6.14` or an exact version such as `6.14.5-300.fc42` is expected \
                 after `fedora:`"
            }
        });
    }
    match distribution {
        Distro::Debian | Distro::Fedora => {
            let plain = |c: char| c.is_ascii_alphanumeric() || ".+~-".contains(c);
            if !version.chars().all(plain) {
                return Err("a version holds letters, digits and `.+~-` only");
            }
        }
        Distro::Ubuntu => {
            if is_release_of_ubuntu(version) {
                return Err(
                    "that is a release of Ubuntu, and a version of its kernel is expected, such as `ubuntu:6.8`",
                );
            }
            if !version.chars().all(|c| c.is_ascii_digit() || ".-".contains(c)) {
                return Err(
                    "a version of Ubuntu's kernels holds digits, `.` and `-` only, and `-lowlatency` \
                            at its end is their one other flavour",
                );
            }
        }
    }
    Ok(KernelRef::Packaged { distribution, version: version.to_owned(), flavour })
}

/// Returns whether a text is the version of a release of Ubuntu, which is a year and a month: `24.04`.
fn is_release_of_ubuntu(text: &str) -> bool {
    let Some((year, month)) = text.split_once('.') else { return false };
    let number = |text: &str| (text.len() == 2).then(|| text.parse::<u8>().ok()).flatten();
    number(year).is_some_and(|year| year >= 16)
        && number(month).is_some_and(|month| matches!(month, 4 | 10))
}
