//! The grammar of kernels' names: each is read from a text and written as one.

use std::{borrow::Cow, fmt, path::PathBuf, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize};

use super::{
    meant::{meant, meant_built},
    name::KernelRef,
    package_files::split_packages,
    packaged::read_packaged,
    recorded::is_release,
    slip, tree,
};
use crate::{Distro, plain};

/// The most packages of one kernel: Fedora's have five.
const PACKAGES_MAX: usize = 16;

/// The longest name of a kernel, in bytes: a path and symbols fit.
const BYTES_MAX: usize = 16 << 10;

/// The text names no kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` names no kernel: {reason}{}", match nearest {
    Some(nearest) => format!("; did you mean `{nearest}`?"),
    None => String::new(),
})]
pub struct ParseKernelRefError {
    /// The text.
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
    let Some(slip) = slip::find(text) else { return error };
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
            let (version, configured) = tree::split_source(name)
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
            let tree::TreeName { path, clean, nodiff, configured } = name;
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
            let (path, revision) = tree::split_revision(name.path).map_err(error)?;
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

/// Splits the name of a tree or of a revision.
fn split_tree<'a>(
    text: &str,
    prefix: &str,
    name: &'a str,
) -> Result<tree::TreeName<'a>, ParseKernelRefError> {
    tree::split(name).map_err(|(reason, meant)| suggested(text, prefix, reason, meant))
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

impl fmt::Display for KernelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packaged { distribution, version, flavour } => {
                write!(f, "{}:{version}{}", distribution.word(), flavour.suffix())
            }
            Self::Source { version, configured } => {
                write!(f, "source:{version}")?;
                tree::write_source(f, configured)
            }
            Self::Tree { path, configured, clean, nodiff } => {
                write!(f, "tree:{}", path.display())?;
                let options = [(*clean, "clean"), (*nodiff, "nodiff")];
                tree::write_options(f, configured, &options)
            }
            Self::Git { path, revision, configured } => {
                write!(f, "git:{}@{revision}", path.display())?;
                tree::write_options(f, configured, &[])
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
