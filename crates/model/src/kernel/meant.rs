//! Names that a text which names no kernel is near to.

use super::{name::KernelRef, package_files::is_package_file, packaged::read_packaged};
use crate::{Distro, Flavour, nearest, plain};

/// Returns the kernel from source that a text without a valid name probably means.
pub(super) fn meant_built(text: &str) -> Option<String> {
    let name = match text.split_once(':') {
        Some(("tree" | "git" | "source" | "package", _)) => return None,
        // Only kernels that are built are configured.
        Some(("debian", rest)) => format!("source:{rest}"),
        Some((word, rest)) => {
            format!("{}:{rest}", nearest(word, ["tree", "git", "source", "package"])?)
        }
        None if is_package_file(text) => format!("package:{text}"),
        None if text.starts_with(['.', '/']) => format!("tree:{text}"),
        None => format!("source:{text}"),
    };
    let is_shown = !name.contains(plain::is_steering);
    (is_shown && name.parse::<KernelRef>().is_ok()).then_some(name)
}

/// Returns the kernel that a text without a valid name probably means: its version, from the source
/// that its first word is near to, in the flavour that it has a word of.
pub(super) fn meant(text: &str) -> Option<String> {
    let given = text;
    let text = given.trim().to_ascii_lowercase();
    let is_version = |char: char| char.is_ascii_digit() || char == '.';
    let start = text.find(|char: char| char.is_ascii_digit())?;
    let (before, rest) = text.split_at(start);
    let (version, after) = rest.split_at(rest.find(|c| !is_version(c)).unwrap_or(rest.len()));
    let words = |text| str::split(text, |char: char| !char.is_alphanumeric());
    let has = |names: &[&str]| words(before).chain(words(after)).any(|word| names.contains(&word));
    let flavour = match () {
        () if has(&["rt", "realtime"]) => Flavour::Rt,
        () if has(&["cloud"]) => Flavour::Cloud,
        () if has(&["lowlatency"]) => Flavour::Lowlatency,
        () => Flavour::Generic,
    };
    let source = match words(before).find(|word| !word.is_empty()) {
        None | Some("rt" | "cloud" | "deb" | "kernel" | "linux" | "v") => "debian",
        Some("src") => "source",
        Some(word) => nearest(word, ["debian", "ubuntu", "fedora", "source"])?,
    };
    let version = version.trim_end_matches('.');
    let known = words(after)
        .all(|word| ["", "rt", "realtime", "cloud", "lowlatency", "amd64"].contains(&word));
    let named = format!("{version}{}", flavour.suffix());
    let is_one = Distro::of_word(source).is_none_or(|of| read_packaged(of, &named).is_ok());
    let name = format!("{source}:{named}");
    (known && version.contains('.') && is_one && name != given).then_some(name)
}
