use std::{borrow::Cow, cmp::Ordering, fmt, path::PathBuf, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize};

use crate::{
    Arch, ConfigBase, Configured, Digest, Distro, Flavour, KernelConfig, KernelSource, Package,
    PreemptMode, Symbols, kernel_order, kernel_slip, kernel_tree, kernel_tree::flavoured, nearest,
    plain,
};

/// The most packages of one kernel: Fedora's have five.
const PACKAGES_MAX: usize = 16;

/// The longest name of a kernel, in bytes: a path and symbols fit.
const BYTES_MAX: usize = 16 << 10;

/// A kernel as a person names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KernelRef {
    /// `debian:VERSION[-rt|-cloud]`, `ubuntu:VERSION[-lowlatency]`, `fedora:VERSION`: a series (`6.12`) or
    /// an exact version (`6.12.107+deb13`, `6.8.0-31`, `6.14.5-300.fc42`) of a distribution's packages.
    Packaged {
        /// The distribution, whose word the name begins with.
        distribution: Distro,
        /// The series or the exact version.
        version: String,
        /// Flavour of the kernel.
        flavour: Flavour,
    },
    /// `source:VERSION[-rt|-cloud][,config=BASE][+SYMBOL=VALUE...]`: Debian's source, built with
    /// Debian's configuration of the flavour, or with another one, but for these symbols.
    Source {
        /// The series (`6.12`) or the kernel's own version (`6.12.107`).
        version: String,
        /// Configuration of the kernel.
        configured: Box<Configured>,
    },
    /// `file:BZIMAGE[,modules=FOLDER]`.
    File {
        /// Path of the bzImage.
        image: PathBuf,
        /// A folder with the kernel's modules, as in `/lib/modules/RELEASE`.
        modules: Option<PathBuf>,
    },
    /// `package:FILE[,FILE...]`: a kernel in packages that somebody downloaded, `.deb` or `.rpm`.
    Package {
        /// Paths of the packages. One of them holds the kernel's image, the others its modules.
        files: Vec<PathBuf>,
    },
    /// `tree:PATH[,config=BASE][,clean][,nodiff][+SYMBOL=VALUE...]`: a working tree as it is, built
    /// outside of the tree.
    Tree {
        /// Path of the tree.
        path: PathBuf,
        /// Configuration of the kernel.
        configured: Box<Configured>,
        /// Whether a tree with changes that are not committed is refused.
        clean: bool,
        /// Whether the recording is to hold no difference from the commit.
        nodiff: bool,
    },
    /// `git:PATH@REVISION[,config=BASE][+SYMBOL=VALUE...]`: a revision of a repository.
    Git {
        /// Path of the repository or of one of its working trees.
        path: PathBuf,
        /// The revision, as git reads it.
        revision: String,
        /// Configuration of the kernel.
        configured: Box<Configured>,
    },
    /// `host[:RELEASE]`: a kernel that is installed on the machine itself, by its `uname -r`; without
    /// one, that which runs.
    Host {
        /// Release of the installed kernel; `None` for the running one.
        release: Option<String>,
    },
}

impl KernelRef {
    /// Returns the flavour that the name says; `None` where it says none.
    pub const fn flavour(&self) -> Option<Flavour> {
        match self {
            Self::Packaged { flavour, .. } => Some(*flavour),
            Self::Source { configured, .. } => match configured.base {
                ConfigBase::Debian(flavour) => Some(flavour),
                ConfigBase::Lab | ConfigBase::File(_) => None,
            },
            Self::File { .. }
            | Self::Package { .. }
            | Self::Tree { .. }
            | Self::Git { .. }
            | Self::Host { .. } => None,
        }
    }

    /// Returns the distribution whose package installs the kernel; `None` where none does.
    pub const fn packager(&self) -> Option<Distro> {
        match self {
            Self::Packaged { distribution, .. } => Some(*distribution),
            Self::Source { .. }
            | Self::File { .. }
            | Self::Package { .. }
            | Self::Tree { .. }
            | Self::Git { .. }
            | Self::Host { .. } => None,
        }
    }

    /// Returns the distribution whose source the kernel is built from, by the distribution or here;
    /// `None` where the name does not tell.
    pub const fn source_of(&self) -> Option<Distro> {
        match self {
            Self::Packaged { distribution, .. } => Some(*distribution),
            Self::Source { .. } => Some(Distro::Debian),
            Self::File { .. }
            | Self::Package { .. }
            | Self::Tree { .. }
            | Self::Git { .. }
            | Self::Host { .. } => None,
        }
    }

    /// Returns the version or the series in the name; `None` where it has none that is ordered.
    pub fn version(&self) -> Option<&str> {
        match self {
            Self::Packaged { version, .. } | Self::Source { version, .. } => Some(version),
            Self::File { .. }
            | Self::Package { .. }
            | Self::Tree { .. }
            | Self::Git { .. }
            | Self::Host { .. } => None,
        }
    }

    /// Compares the versions in two names, the older one first. Names without a version are equal,
    /// and after those with one.
    pub fn version_order(&self, other: &Self) -> Ordering {
        match (self.version(), other.version()) {
            (Some(one), Some(other)) => kernel_order(one, other),
            (one, other) => one.is_none().cmp(&other.is_none()),
        }
    }

    /// Returns the line of the kernel, along which versions are neighbours: its flavour, behind the word of
    /// another distribution than Debian, or the name of the built kernel without its version. Kernels without
    /// a version are one line.
    pub fn line(&self) -> String {
        match self {
            Self::Packaged { distribution, flavour, .. } if !distribution.is_debian() => {
                format!("{}{}", distribution.word(), flavour.suffix())
            }
            Self::Packaged { flavour: Flavour::Generic, .. } => "generic".to_owned(),
            Self::Packaged { flavour, .. } => flavour.suffix().to_owned(),
            Self::Source { version, .. } => {
                let name = self.to_string().replacen(version, "", 1).replacen("source:", "", 1);
                format!("source {name}").trim_end().to_owned()
            }
            Self::File { .. }
            | Self::Package { .. }
            | Self::Tree { .. }
            | Self::Git { .. }
            | Self::Host { .. } => "others".to_owned(),
        }
    }

    /// Returns the part of the name that [`KernelRef::line`] does not tell: the version, or the end of
    /// a path, a revision or a release.
    pub fn place_in_line(&self) -> String {
        match self.version() {
            Some(version) => version.to_owned(),
            None => {
                // The end of a path or of a revision tells more than its beginning.
                let name = match self {
                    Self::Package { files } => {
                        files.first().map_or_else(String::new, |file| file.display().to_string())
                    }
                    _ => self.to_string(),
                };
                let end = name.rsplit(['/', '@', ':']).next().unwrap_or(&name);
                plain::line(end).into_owned()
            }
        }
    }

    /// Returns whether it is a kernel of the machine itself.
    pub const fn is_host(&self) -> bool {
        matches!(self, Self::Host { .. })
    }

    /// Returns whether it is the kernel that runs on the machine, whichever that is.
    pub const fn is_running(&self) -> bool {
        matches!(self, Self::Host { release: None })
    }

    /// Returns the release of a kernel of the machine itself; `None` for the running one and for
    /// every other kernel.
    pub fn host_release(&self) -> Option<&str> {
        match self {
            Self::Host { release } => release.as_deref(),
            Self::Packaged { .. }
            | Self::Source { .. }
            | Self::File { .. }
            | Self::Package { .. }
            | Self::Tree { .. }
            | Self::Git { .. } => None,
        }
    }

    /// Returns the symbols that the name sets, where its kernel is built.
    pub fn symbols(&self) -> Option<&Symbols> {
        match self {
            Self::Source { configured, .. }
            | Self::Tree { configured, .. }
            | Self::Git { configured, .. } => Some(&configured.symbols),
            Self::Packaged { .. }
            | Self::File { .. }
            | Self::Package { .. }
            | Self::Host { .. } => None,
        }
    }

    /// Returns the same version and symbols in another flavour. A kernel in a file or in
    /// packages of the user's own, one from a tree, an installed kernel, one whose configuration is not
    /// Debian's and one of a distribution without that flavour stay the same.
    #[must_use]
    pub fn in_flavour(&self, flavour: Flavour) -> Self {
        match self.clone() {
            Self::Packaged { distribution, version, .. }
                if distribution.flavours().contains(&flavour) =>
            {
                Self::Packaged { distribution, version, flavour }
            }
            Self::Source { version, mut configured } => {
                if matches!(configured.base, ConfigBase::Debian(_)) {
                    configured.base = ConfigBase::Debian(flavour);
                }
                Self::Source { version, configured }
            }
            other @ (Self::Packaged { .. }
            | Self::File { .. }
            | Self::Package { .. }
            | Self::Tree { .. }
            | Self::Git { .. }
            | Self::Host { .. }) => other,
        }
    }
}

/// The text names no kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` names no kernel: {reason}{}", match nearest {
    Some(nearest) => format!("; did you mean `{nearest}`?"),
    None => String::new(),
})]
pub struct ParseKernelRefError {
    /// Text that is not a list.
    pub text: String,
    /// Error in the text.
    pub reason: Cow<'static, str>,
    /// Name that was probably meant.
    pub nearest: Option<String>,
}

impl FromStr for KernelRef {
    type Err = ParseKernelRefError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        read(text).map_err(|error| explained(text, error))
    }
}

/// Returns the error of a text with the part of it that is wrong, where that is known.
fn explained(text: &str, error: ParseKernelRefError) -> ParseKernelRefError {
    if text.len() > BYTES_MAX || text.contains(plain::is_steering) {
        return error;
    }
    let Some(slip) = kernel_slip::find(text) else { return error };
    let nearest = read(&slip.meant).is_ok().then_some(slip.meant);
    ParseKernelRefError { reason: slip.reason.into(), nearest: nearest.or(error.nearest), ..error }
}

fn read(text: &str) -> Result<KernelRef, ParseKernelRefError> {
    let error = |reason: &'static str| ParseKernelRefError {
        text: plain::line(text).into_owned(),
        reason: reason.into(),
        nearest: match text.starts_with(['.', '/']) {
            true => meant_built(text),
            false => meant(text).or_else(|| meant_built(text)),
        },
    };
    if text.len() > BYTES_MAX {
        let text = text.chars().take(80).collect();
        return Err(ParseKernelRefError { text, reason: "it is too long".into(), nearest: None });
    }
    let parts = text.split_once(':');
    let packaged = parts.and_then(|(word, name)| Some((Distro::of_word(word)?, name)));
    if let Some((distribution, name)) = packaged {
        return read_packaged(distribution, name).map_err(error);
    }
    match parts {
        Some(("source", name)) => {
            let (version, configured) = kernel_tree::split_source(name)
                .map_err(|(reason, meant)| suggested(text, "source:", reason, meant))?;
            let mut numbers = version.split('.');
            let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
            if !numbers.all(|part| !part.is_empty() && is_number(part)) || !version.contains('.') {
                return Err(error(
                    "a version of digits and dots, such as `6.12`, is expected after \
                         `source:`, and symbols after it, as in `source:6.12-rt+HZ_1000=y`",
                ));
            }
            Ok(KernelRef::Source { version: version.to_owned(), configured: Box::new(configured) })
        }
        Some(("file", path)) => {
            let (image, modules) = match path.split_once(",modules=") {
                Some((image, modules)) => (image, Some(PathBuf::from(modules))),
                None => (path, None),
            };
            if image.is_empty() {
                return Err(error("a path to a bzImage is expected after `file:`"));
            }
            if path.contains(plain::is_steering) {
                return Err(error("the path holds a character that cannot be shown"));
            }
            Ok(KernelRef::File { image: image.into(), modules })
        }
        Some(("package", list)) => {
            let files = split_packages(list).ok_or_else(|| {
                error(
                    "paths that end with `.deb` or `.rpm`, with commas between them, are expected \
                     after `package:`, as in `package:linux-image.deb,linux-modules.deb`",
                )
            })?;
            if list.contains(plain::is_steering) {
                return Err(error("a path holds a character that cannot be shown"));
            }
            if files.len() > PACKAGES_MAX {
                return Err(error("it names more than 16 packages"));
            }
            if files.iter().enumerate().any(|(place, file)| files[..place].contains(file)) {
                return Err(error("it names a package twice"));
            }
            Ok(KernelRef::Package { files })
        }
        Some(("tree", name)) => {
            let name = split_tree(text, "tree:", name)?;
            if name.path.is_empty() {
                return Err(error("a path to a kernel's source is expected after `tree:`"));
            }
            let kernel_tree::TreeName { path, clean, nodiff, configured } = name;
            Ok(KernelRef::Tree {
                path: path.into(),
                configured: Box::new(configured),
                clean,
                nodiff,
            })
        }
        Some(("git", name)) => {
            let name = split_tree(text, "git:", name)?;
            if name.clean {
                return Err(error("a revision is always clean: leave `,clean` out"));
            }
            if name.nodiff {
                return Err(error("a revision has no difference: leave `,nodiff` out"));
            }
            let (path, revision) = kernel_tree::split_revision(name.path).map_err(error)?;
            let (path, revision) = (path.into(), revision.to_owned());
            Ok(KernelRef::Git { path, revision, configured: Box::new(name.configured) })
        }
        Some(("host", release)) => {
            if !is_release(release) {
                return Err(error("a release as `uname -r` has it is expected after `host:`"));
            }
            Ok(KernelRef::Host { release: Some(release.to_owned()) })
        }
        None if text == "host" => Ok(KernelRef::Host { release: None }),
        _ => Err(error(
            "it must start with `debian:`, `ubuntu:`, `fedora:`, `source:`, `tree:`, `git:`, `file:` or \
                 `package:`, as in `debian:6.12-rt`, or be `host`",
        )),
    }
}

/// Splits a list of packages at the commas behind their endings: a path may hold others. Returns `None`
/// where a path is not that of a package.
fn split_packages(list: &str) -> Option<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut start = 0;
    let ends = list.match_indices(',').map(|(comma, _)| comma).chain([list.len()]);
    for end in ends {
        if is_package_file(&list[start..end]) {
            files.push(list[start..end].into());
            start = end + 1;
        }
    }
    (start == list.len() + 1).then_some(files)
}

/// Returns whether a path ends as that of a package does.
fn is_package_file(path: &str) -> bool {
    let name = path.strip_suffix(".deb").or_else(|| path.strip_suffix(".rpm"));
    name.is_some_and(|name| !name.is_empty() && !name.starts_with(',') && !name.ends_with('/'))
}

/// Reads the name of a packaged kernel behind the word of its distribution.
fn read_packaged(distribution: Distro, name: &str) -> Result<KernelRef, &'static str> {
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

/// Splits the name of a tree or of a revision.
fn split_tree<'a>(
    text: &str,
    prefix: &str,
    name: &'a str,
) -> Result<kernel_tree::TreeName<'a>, ParseKernelRefError> {
    kernel_tree::split(name).map_err(|(reason, meant)| suggested(text, prefix, reason, meant))
}

/// Creates the error of a text, with the name that was probably meant where it is one.
fn suggested(
    text: &str,
    prefix: &str,
    reason: &'static str,
    meant: Option<String>,
) -> ParseKernelRefError {
    ParseKernelRefError {
        text: plain::line(text).into_owned(),
        reason: reason.into(),
        nearest: meant
            .map(|meant| format!("{prefix}{meant}"))
            .filter(|meant| meant.parse::<KernelRef>().is_ok()),
    }
}

/// Returns the kernel from source that a text without a valid name probably means.
fn meant_built(text: &str) -> Option<String> {
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
fn meant(text: &str) -> Option<String> {
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

/// Returns whether a text can be a kernel's release, which becomes a part of paths and of package
/// names.
pub fn is_release(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".+~_-".contains(c);
    text.starts_with(|c: char| c.is_ascii_digit()) && text.chars().all(is_plain)
}

/// Reads a release, which is empty where nothing told it.
fn release<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if !text.is_empty() && !is_release(&text) {
        let message = format!("`{}` is not the release of a kernel", text.escape_debug());
        return Err(serde::de::Error::custom(message));
    }
    Ok(text)
}

impl fmt::Display for KernelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packaged { distribution, version, flavour } => {
                write!(f, "{}:{version}{}", distribution.word(), flavour.suffix())
            }
            Self::Source { version, configured } => {
                write!(f, "source:{version}")?;
                kernel_tree::write_source(f, configured)
            }
            Self::Tree { path, configured, clean, nodiff } => {
                write!(f, "tree:{}", path.display())?;
                let options = [(*clean, "clean"), (*nodiff, "nodiff")];
                kernel_tree::write_options(f, configured, &options)
            }
            Self::Git { path, revision, configured } => {
                write!(f, "git:{}@{revision}", path.display())?;
                kernel_tree::write_options(f, configured, &[])
            }
            Self::Host { release: None } => f.write_str("host"),
            Self::Host { release: Some(release) } => write!(f, "host:{release}"),
            Self::File { image, modules: None } => write!(f, "file:{}", image.display()),
            Self::File { image, modules: Some(modules) } => {
                write!(f, "file:{},modules={}", image.display(), modules.display())
            }
            Self::Package { files } => {
                let files: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
                write!(f, "package:{}", files.join(","))
            }
        }
    }
}

impl Serialize for KernelRef {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for KernelRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Resolved kernel: exactly the one that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// Name of the kernel in the experiment.
    pub name: KernelRef,
    /// `uname -r`, as the package or file name has it; empty where nothing tells.
    #[serde(deserialize_with = "release")]
    pub release: String,
    /// SHA-256 of the bzImage.
    pub image_sha256: Digest,
    /// The packages it came from, with the compiler where it was built; none for a file.
    pub packages: Vec<Package>,
    /// Whether the kernel is built with `PREEMPT_RT`; `None` without a config.
    pub rt: Option<bool>,
    /// The modes that it offers; `None` without a config, and then the guest finds out.
    pub modes: Option<Vec<PreemptMode>>,
    /// `CONFIG_HZ`; `None` without a config.
    pub hz: Option<u32>,
    /// Source of a kernel that was built from a tree of the user's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Box<KernelSource>>,
}

impl Kernel {
    /// Describes the kernel in an image by its config, where there is one.
    pub fn new(
        name: KernelRef,
        release: String,
        image_sha256: Digest,
        packages: Vec<Package>,
        config: Option<&KernelConfig>,
    ) -> Self {
        Self {
            name,
            release,
            image_sha256,
            packages,
            rt: config.map(KernelConfig::is_rt),
            modes: config.map(KernelConfig::offered_modes),
            hz: config.and_then(KernelConfig::hz),
            source: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(distribution: Distro, version: &str, flavour: Flavour) -> KernelRef {
        KernelRef::Packaged { distribution, version: version.into(), flavour }
    }

    fn debian(version: &str, flavour: Flavour) -> KernelRef {
        of(Distro::Debian, version, flavour)
    }

    #[test]
    fn names_are_read_and_printed() {
        for (text, kernel) in [
            ("debian:6.12", debian("6.12", Flavour::Generic)),
            ("debian:6.12-rt", debian("6.12", Flavour::Rt)),
            ("debian:7.2-cloud", debian("7.2", Flavour::Cloud)),
            ("debian:6.12.107+deb13-rt", debian("6.12.107+deb13", Flavour::Rt)),
            ("debian:6.1.0-56", debian("6.1.0-56", Flavour::Generic)),
            ("ubuntu:6.8", of(Distro::Ubuntu, "6.8", Flavour::Generic)),
            ("ubuntu:6.8.0-31", of(Distro::Ubuntu, "6.8.0-31", Flavour::Generic)),
            ("ubuntu:6.8-lowlatency", of(Distro::Ubuntu, "6.8", Flavour::Lowlatency)),
            ("fedora:6.14", of(Distro::Fedora, "6.14", Flavour::Generic)),
            ("fedora:6.14.5-300.fc42", of(Distro::Fedora, "6.14.5-300.fc42", Flavour::Generic)),
            ("file:/tmp/bzImage", KernelRef::File { image: "/tmp/bzImage".into(), modules: None }),
            ("host", KernelRef::Host { release: None }),
            ("host:6.1.0-37-amd64", KernelRef::Host { release: Some("6.1.0-37-amd64".into()) }),
            ("file:b,modules=m", KernelRef::File { image: "b".into(), modules: Some("m".into()) }),
            ("package:a.deb", KernelRef::Package { files: vec!["a.deb".into()] }),
            (
                "package:/k/a,b_1.deb,./c.rpm,d.deb.deb",
                KernelRef::Package {
                    files: ["/k/a,b_1.deb", "./c.rpm", "d.deb.deb"].map(Into::into).to_vec(),
                },
            ),
        ] {
            assert_eq!(text.parse::<KernelRef>().unwrap(), kernel);
            assert_eq!(kernel.to_string(), text);
        }
        for (release, kernel) in [
            ("debian:6.12.107+deb13-rt-amd64", debian("6.12.107+deb13", Flavour::Rt)),
            ("ubuntu:6.8.0-31-generic", of(Distro::Ubuntu, "6.8.0-31", Flavour::Generic)),
            (
                "fedora:6.14.5-300.fc42.x86_64",
                of(Distro::Fedora, "6.14.5-300.fc42", Flavour::Generic),
            ),
        ] {
            assert_eq!(release.parse(), Ok(kernel));
        }
        // A flavour that a distribution lacks is none of its kernels'.
        let ubuntu: KernelRef = "ubuntu:6.8".parse().unwrap();
        assert_eq!(ubuntu.in_flavour(Flavour::Rt), ubuntu);
        assert_eq!(ubuntu.in_flavour(Flavour::Lowlatency).to_string(), "ubuntu:6.8-lowlatency");
    }

    #[test]
    fn every_kernel_has_a_place_in_a_line() {
        for (text, line, place) in [
            ("debian:6.12", "generic", "6.12"),
            ("debian:6.12.107+deb13-rt", "-rt", "6.12.107+deb13"),
            ("ubuntu:6.8", "ubuntu", "6.8"),
            ("ubuntu:6.8-lowlatency", "ubuntu-lowlatency", "6.8"),
            ("fedora:6.14", "fedora", "6.14"),
            ("source:6.12", "source", "6.12"),
            ("source:6.12-rt+HZ_1000=y", "source -rt+HZ_1000=y", "6.12"),
            ("git:/src/linux@v7", "others", "v7"),
            ("tree:../linux", "others", "linux"),
            ("file:/b/bzImage", "others", "bzImage"),
            ("package:/k/linux-image.deb,/k/linux-modules.deb", "others", "linux-image.deb"),
            ("host", "others", "host"),
            ("host:6.1.0-37-amd64", "others", "6.1.0-37-amd64"),
        ] {
            let kernel: KernelRef = text.parse().unwrap();
            assert_eq!((kernel.line().as_str(), kernel.place_in_line().as_str()), (line, place));
        }
    }

    #[test]
    fn versions_are_ordered_and_names_without_one_are_last() {
        let kernel = |text: &str| text.parse::<KernelRef>().unwrap();
        let ascending = ["debian:6.9", "debian:6.12-rc6", "source:6.12", "debian:7.2", "host"];
        for pair in ascending.windows(2) {
            assert_eq!(kernel(pair[0]).version_order(&kernel(pair[1])), Ordering::Less, "{pair:?}");
        }
        assert_eq!(kernel("host").version_order(&kernel("tree:.")), Ordering::Equal);
    }

    #[test]
    fn sources_are_read_and_printed() {
        let debian = ConfigBase::Debian;
        for (text, version, base, symbols) in [
            ("source:6.12", "6.12", debian(Flavour::Generic), ""),
            ("source:6.12.107-rt", "6.12.107", debian(Flavour::Rt), ""),
            ("source:6.12+HZ_1000=y", "6.12", debian(Flavour::Generic), "+HZ_1000=y"),
            (
                "source:7.2-cloud+HZ=9+NO_HZ_FULL=n",
                "7.2",
                debian(Flavour::Cloud),
                "+HZ=9+NO_HZ_FULL=n",
            ),
            ("source:6.12,config=lab", "6.12", ConfigBase::Lab, ""),
            ("source:6.12.107,config=lab+A=y+B=n", "6.12.107", ConfigBase::Lab, "+A=y+B=n"),
            (
                "source:6.12,config=../a,b+c+A=y",
                "6.12",
                ConfigBase::File("../a,b+c".into()),
                "+A=y",
            ),
        ] {
            let configured = Box::new(Configured { base, symbols: symbols.parse().unwrap() });
            let kernel = KernelRef::Source { version: version.into(), configured };
            assert_eq!(text.parse::<KernelRef>().as_ref(), Ok(&kernel), "{text}");
            assert_eq!(kernel.to_string(), text);
        }
        for (text, plain) in [
            ("source:6.12,config=debian", "source:6.12"),
            ("source:6.12,config=debian-rt+A=y", "source:6.12-rt+A=y"),
            ("source:6.12-rt,config=debian", "source:6.12-rt"),
            ("source:6.12-rt,config=debian-rt", "source:6.12-rt"),
        ] {
            assert_eq!(text.parse::<KernelRef>().unwrap().to_string(), plain);
        }
        // The order of the symbols makes no other kernel.
        let kernel = |text: &str| text.parse::<KernelRef>().unwrap();
        assert_eq!(kernel("source:6.12+B=y+A=n"), kernel("source:6.12+A=n+B=y"));
        // Only Debian's configuration has flavours.
        assert_eq!(kernel("source:6.12+A=n").in_flavour(Flavour::Rt), kernel("source:6.12-rt+A=n"));
        let lab = kernel("source:6.12,config=lab");
        assert_eq!((lab.in_flavour(Flavour::Rt), lab.flavour()), (lab.clone(), None));
    }

    #[test]
    fn trees_and_revisions_are_read_and_printed() {
        let configured =
            |base, symbols: &str| Configured { base, symbols: symbols.parse().unwrap() };
        let tree = |path: &str, configured, clean| KernelRef::Tree {
            path: path.into(),
            configured: Box::new(configured),
            clean,
            nodiff: false,
        };
        let git = |path: &str, revision: &str, configured| KernelRef::Git {
            path: path.into(),
            revision: revision.into(),
            configured: Box::new(configured),
        };
        let lab = || configured(ConfigBase::Lab, "");
        for (text, kernel) in [
            ("tree:.", tree(".", lab(), false)),
            ("tree:/src/linux-6.12+deb13,x", tree("/src/linux-6.12+deb13,x", lab(), false)),
            ("tree:.,clean", tree(".", lab(), true)),
            ("tree:a b+HZ_1000=y", tree("a b", configured(ConfigBase::Lab, "+HZ_1000=y"), false)),
            (
                "tree:l,config=debian-rt,clean+HZ=9",
                tree("l", configured(ConfigBase::Debian(Flavour::Rt), "+HZ=9"), true),
            ),
            (
                "tree:l,config=../a,b.config+A=y",
                tree("l", configured(ConfigBase::File("../a,b.config".into()), "+A=y"), false),
            ),
            ("git:.@v6.12", git(".", "v6.12", lab())),
            ("git:/a@b/linux@HEAD~3^2", git("/a@b/linux", "HEAD~3^2", lab())),
            ("git:l@main@{1}", git("l", "main@{1}", lab())),
            (
                "git:l@v7.0,config=debian+A=y+B=n",
                git("l", "v7.0", configured(ConfigBase::Debian(Flavour::Generic), "+A=y+B=n")),
            ),
        ] {
            assert_eq!(text.parse::<KernelRef>().as_ref(), Ok(&kernel), "{text}");
            assert_eq!(kernel.to_string(), text);
        }
        let read = |text: &str| text.parse::<KernelRef>().unwrap();
        assert_eq!(read("tree:.,clean,config=debian"), read("tree:.,config=debian,clean"));
        assert_eq!(read("tree:.,config=lab"), read("tree:."));
        let without = read("tree:.,nodiff,config=debian,clean+A=y");
        assert!(matches!(without, KernelRef::Tree { nodiff: true, clean: true, .. }));
        assert_eq!(without.to_string(), "tree:.,config=debian,clean,nodiff+A=y");
    }

    #[test]
    fn a_name_that_is_nearly_one_gets_it_suggested() {
        for (text, wanted) in [
            ("6.12", "debian:6.12"),
            ("6.12-rt", "debian:6.12-rt"),
            ("6.12rt", "debian:6.12-rt"),
            ("v7.2", "debian:7.2"),
            ("rt:6.12", "debian:6.12-rt"),
            ("linux-6.12", "debian:6.12"),
            ("debain:6.12-rt", "debian:6.12-rt"),
            ("Debian:6.12", "debian:6.12"),
            ("debian-6.12", "debian:6.12"),
            ("debian 6.12 rt", "debian:6.12-rt"),
            ("debian:v6.12", "debian:6.12"),
            ("ubunut:6.8", "ubuntu:6.8"),
            ("ubuntu:v6.8-lowlatency", "ubuntu:6.8-lowlatency"),
            ("fedroa:6.14", "fedora:6.14"),
            ("sorce:6.12", "source:6.12"),
            ("source/6.12-cloud", "source:6.12-cloud"),
            ("tre:../linux", "tree:../linux"),
            (".", "tree:."),
            ("./linux-image-6.12_amd64.deb", "package:./linux-image-6.12_amd64.deb"),
            ("kernel-core.rpm", "package:kernel-core.rpm"),
            ("packge:a.deb,b.deb", "package:a.deb,b.deb"),
            ("/src/linux-6.12", "tree:/src/linux-6.12"),
            ("gti:.@HEAD", "git:.@HEAD"),
            ("tree:.,confg=debian+A=y", "tree:.,config=debian+A=y"),
            ("tree:.,clena", "tree:.,clean"),
            ("tree:.,nodif", "tree:.,nodiff"),
            ("sorce:6.12,config=lab+A=y", "source:6.12,config=lab+A=y"),
            ("source:6.12,confg=lab+A=y", "source:6.12,config=lab+A=y"),
            ("source:6.12-rt,confg=debian", "source:6.12-rt,config=debian"),
            ("source:6.12-rt,config=lab", "source:6.12,config=lab+EXPERT=y+PREEMPT_RT=y"),
            ("debian:6.12,config=lab", "source:6.12,config=lab"),
            ("debian:6.12+HZ_1000=y", "source:6.12+HZ_1000=y"),
            ("6.12,config=lab", "source:6.12,config=lab"),
        ] {
            let error = text.parse::<KernelRef>().unwrap_err();
            assert_eq!(error.nearest.as_deref(), Some(wanted), "{text}");
            wanted.parse::<KernelRef>().unwrap();
            assert!(error.to_string().ends_with(&format!("; did you mean `{wanted}`?")));
        }
        for text in ["ubuntu:24.04", "debian:", "debian:6", "rt", "source:6.12+HZ", "6.12; rm", ""]
        {
            let error = text.parse::<KernelRef>().unwrap_err();
            let wanted = error.nearest.as_deref();
            assert!(wanted.is_none_or(|name| name.parse::<KernelRef>().is_ok()), "{text}");
            assert!(text != "ubuntu:24.04" || wanted.is_none(), "{wanted:?}");
        }
    }

    #[test]
    fn what_names_no_kernel_is_refused() {
        for text in [
            "",
            "6.12",
            "debian:",
            "debian:rt",
            "debian:6.12;rm",
            "debian:6.12;-lowlatency",
            "ubuntu:6.8-rt",
            "ubuntu:6.8-cloud",
            "ubuntu:6.8.0-31-aws",
            "ubuntu:",
            "fedora:",
            "fedora:42",
            "fedora:6.14/..",
            "file:",
            "ubuntu:24.04",
            "source:",
            "source:6",
            "source:6.",
            "source:6.12/..",
            "source:6.12-hardened",
            "source:6.12+",
            "source:6.12+HZ_1000",
            "source:6.12+HZ-1000=y",
            "source:6.12-1+HZ_1000=y",
            "source:6.12,",
            "source:6.12,lab",
            "source:6.12,config=",
            "source:6.12,config=lab,",
            "source:6.12,config=laboratory",
            "source:6.12,config=lab,config=lab",
            "source:6.12,config=lab,clean",
            "source:6.12,config=lab+HZ_1000=m",
            "source:6.12-cloud,config=lab",
            "source:6.12-rt,config=debian-cloud",
            "source:6.12-rt,config=./x",
            "source:6.12/..,config=lab",
            "source:,config=lab",
            "source:6.12,config=./a\u{202e}b",
            "source:6.12+HZ_1000=y,config=lab",
            "tree:",
            "tree:,clean",
            "tree:.+HZ=x",
            "tree:.,config=lab,config=debian",
            "tree:.,config=",
            "tree:.,config=laboratory",
            "tree:a\u{202e}b",
            "git:",
            "git:.",
            "git:@HEAD",
            "git:.@",
            "git:.@-x",
            "git:.@a b",
            "git:.@a:b",
            "git:.@HEAD,clean",
            "git:.@HEAD,nodiff",
            "git:.@$(x)",
            "package:",
            "package:.deb",
            "package:/k/.deb",
            "package:bzImage",
            "package:a.deb,",
            "package:,a.deb",
            "package:a.deb,,b.deb",
            "package:a.deb,b.tar",
            "package:a.deb,b.deb,a.deb",
            "package:a\u{202e}b.deb",
            "host:",
            "host:../x",
            "host:6.1 quiet",
        ] {
            assert!(text.parse::<KernelRef>().is_err(), "{text}");
        }
    }
}
