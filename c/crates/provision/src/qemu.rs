//! QEMU: release 13's, the same for every user, or the user's own.

use std::{
    ffi::{OsStr, OsString},
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use preemptlab_model::{Digest, Package, Platform, QemuBuild};

use crate::{
    Event, PackageError, Store, StoreLock,
    distribution::{Candidate, Distribution, deb},
    error::from_package_errors,
    platform::HOST,
    process::tied,
    store::{hash::sha256, whole::is_whole},
};

/// Oldest QEMU whose plugins have all functions that the tracer uses, major and minor.
const VERSION_MIN: (u32, u32) = (10, 0);

/// A QEMU that can be run.
#[derive(Clone, Debug)]
pub struct Qemu {
    /// Build of this QEMU.
    pub build: QemuBuild,
    /// The program to run and its first arguments; a caller's own arguments follow.
    pub command: Vec<OsString>,
    /// The packages it consists of; none for one's own.
    pub packages: Vec<Package>,
}

/// Reason why QEMU cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum QemuError {
    /// The file cannot be read.
    #[error("`{}` cannot be used as QEMU: {source}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The file is not a program.
    #[error("`{}` cannot be used as QEMU: it is not executable", .0.display())]
    NotExecutable(PathBuf),
    /// The program does not run.
    #[error("`{} {argument}` fails: {reason}", path.display())]
    Run {
        /// Path of the program.
        path: PathBuf,
        /// Argument of the failed call.
        argument: &'static str,
        /// Error, in words.
        reason: String,
    },
    /// The program does not identify itself as QEMU.
    #[error("`{}` is no QEMU: it says `{said}`", path.display())]
    NotQemu {
        /// Path of the program.
        path: PathBuf,
        /// First line of its output.
        said: String,
    },
    /// The program is too old.
    #[error(
        "`{}` is too old: {version}; 10.0 or newer is needed; without `qemu` in the configuration, Debian 13's is used",
        path.display()
    )]
    TooOld {
        /// Path of the program.
        path: PathBuf,
        /// Version that it prints.
        version: String,
    },
    /// The program was built without TCG plugins.
    #[error(
        "`{}` was built without TCG plugins (configure it with `--enable-plugins`); without \
         `qemu` in the configuration, Debian 13's is used", path.display()
    )]
    NoPlugins {
        /// Path of the program.
        path: PathBuf,
    },
    /// QEMU's packages cannot be used.
    #[error(transparent)]
    Packages(PackageError),
}

from_package_errors!(QemuError);

/// Provides release 13's QEMU, unpacked into the store.
pub(crate) fn debian(
    distribution: &dyn Distribution,
    store: &Store,
    lock: &StoreLock,
    on_event: &dyn Fn(Event),
) -> Result<Qemu, QemuError> {
    unpacked(
        distribution,
        store,
        lock,
        &distribution.closure(&[distribution.guest().qemu_package], &[])?,
        on_event,
    )
}

/// Provides the QEMU that consists of these packages, unpacked into the store.
pub(crate) fn unpacked(
    distribution: &dyn Distribution,
    store: &Store,
    lock: &StoreLock,
    candidates: &[Candidate],
    on_event: &dyn Fn(Event),
) -> Result<Qemu, QemuError> {
    let packages: Vec<_> = candidates.iter().map(|candidate| candidate.package.clone()).collect();
    let folder = store.qemu(digest_of(&packages));
    if !is_whole(&folder) {
        let debs = distribution.fetch(candidates)?;
        lock.fill(&folder, |draft| {
            on_event(Event::Unpacking { what: distribution.guest().qemu_package.to_owned() });
            debs.iter().try_for_each(|deb| deb::unpack(deb, draft)).map_err(QemuError::from)
        })?;
    }
    in_folder(&folder, packages, distribution.guest())
}

/// Unpacks the QEMU that consists of these packages, whose files the store has.
pub(crate) fn fill(
    store: &Store,
    lock: &StoreLock,
    packages: &[Package],
    on_event: &dyn Fn(Event),
) -> Result<(), QemuError> {
    lock.fill(&store.qemu(digest_of(packages)), |draft| {
        on_event(Event::Unpacking { what: "QEMU".to_owned() });
        let mut debs = packages.iter().map(|package| store.package(package.sha256));
        debs.try_for_each(|deb| deb::unpack(&deb, draft)).map_err(QemuError::from)
    })
}

/// Returns the QEMU that consists of these packages, if the store has it.
pub(crate) fn in_store(
    store: &Store,
    packages: &[Package],
    guest: &Platform,
) -> Result<Option<Qemu>, QemuError> {
    let folder = store.qemu(digest_of(packages));
    if is_whole(&folder) {
        in_folder(&folder, packages.to_vec(), guest).map(Some)
    } else {
        Ok(None)
    }
}

fn in_folder(folder: &Path, packages: Vec<Package>, guest: &Platform) -> Result<Qemu, QemuError> {
    let command = command_in(folder, guest);
    let version = check(&command)?;
    let digest = digest_of(&packages);
    Ok(Qemu { build: QemuBuild { version, digest }, command, packages })
}

fn digest_of(packages: &[Package]) -> Digest {
    let mut digests: Vec<_> = packages.iter().map(|package| package.sha256).collect();
    digests.sort();
    Digest::of_json(&digests)
}

/// Returns the QEMU in a file of the user.
pub(crate) fn file(path: &Path) -> Result<Qemu, QemuError> {
    let error = |source| QemuError::File { path: path.to_owned(), source };
    let path = fs::canonicalize(path).map_err(error)?;
    let metadata = fs::metadata(&path).map_err(error)?;
    if !metadata.is_file() || metadata.permissions().mode() & 0o111 == 0 {
        return Err(QemuError::NotExecutable(path));
    }
    let digest = sha256(&path).map_err(error)?;
    let command = vec![path.into_os_string()];
    let version = check(&command)?;
    Ok(Qemu { build: QemuBuild { version, digest }, command, packages: Vec::new() })
}

/// Returns the command of the QEMU in a tree of unpacked packages: through the loader and with the
/// libraries of the same tree, because those of the machine may be older.
fn command_in(tree: &Path, guest: &Platform) -> Vec<OsString> {
    let libraries = tree.join("usr/lib").join(HOST.triplet);
    // libpulse finds a private library there by a path that holds for an installed package only.
    let mut library_path = libraries.clone().into_os_string();
    library_path.push(":");
    library_path.push(libraries.join("pulseaudio"));
    let path = |path: &str| tree.join(path).into_os_string();
    vec![
        libraries.join(HOST.loader).into_os_string(),
        "--inhibit-cache".into(),
        "--library-path".into(),
        library_path,
        tree.join("usr/bin").join(guest.qemu_program).into_os_string(),
        "-L".into(),
        path("usr/share/qemu"),
        "-L".into(),
        path("usr/share/seabios"),
    ]
}

/// Checks that the program is a QEMU that can execute cells, and returns its version line.
fn check(command: &[OsString]) -> Result<String, QemuError> {
    let said = ask(command, "--version")?;
    let version = said.lines().next().unwrap_or_default().trim().to_owned();
    let path = || {
        let is_qemu = |word: &&OsString| Path::new(word).starts_with("/") && word_is_qemu(word);
        PathBuf::from(command.iter().find(is_qemu).unwrap_or(&command[0]))
    };
    match version_of(&version) {
        None => return Err(QemuError::NotQemu { path: path(), said: version }),
        Some(number) if number < VERSION_MIN => {
            return Err(QemuError::TooOld { path: path(), version });
        }
        Some(_) => {}
    }
    let help = ask(command, "--help")?;
    if !help.lines().any(|line| line.starts_with("-plugin")) {
        return Err(QemuError::NoPlugins { path: path() });
    }
    Ok(version)
}

fn word_is_qemu(word: &OsStr) -> bool {
    let name = Path::new(word).file_name().unwrap_or_default();
    name.to_string_lossy().starts_with("qemu-system")
}

fn ask(command: &[OsString], argument: &'static str) -> Result<String, QemuError> {
    let (program, arguments) = command.split_first().expect("a command has a program");
    let error = |reason: String| QemuError::Run { path: program.into(), argument, reason };
    let mut question = Command::new(program);
    question.args(arguments).arg(argument).env("LC_ALL", "C").stdin(Stdio::null());
    let output = tied(&mut question).output().map_err(|source| error(source.to_string()))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        return Err(error(format!("{}, {}", output.status, complaint.trim())));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns the version's first two numbers, from a line `QEMU emulator version 10.0.13 (Debian
/// ...)`.
fn version_of(line: &str) -> Option<(u32, u32)> {
    let number = line.strip_prefix("QEMU emulator version ")?.split_whitespace().next()?;
    let mut parts = number.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn qemu(script: &str, mode: u32) -> Result<Qemu, QemuError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("qemu-system-x86_64");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        file(&path)
    }

    const GOOD: &str = "case $1 in --version) echo QEMU emulator version 10.0.13;; \
                        --help) echo '-plugin [file=]<file>';; esac";

    #[test]
    fn a_qemu_of_ones_own_is_known_by_its_hash() {
        let known = qemu(GOOD, 0o755).unwrap();
        assert_eq!(known.build.version, "QEMU emulator version 10.0.13");
        assert_eq!(known.build.digest, Digest::of(format!("#!/bin/sh\n{GOOD}\n").as_bytes()));
        assert_eq!(known.command.len(), 1);
    }

    #[test]
    fn a_qemu_that_cannot_do_the_work_is_refused() {
        assert!(matches!(qemu(GOOD, 0o644), Err(QemuError::NotExecutable(_))));
        let old = GOOD.replace("10.0.13", "7.2.22");
        assert!(matches!(qemu(&old, 0o755), Err(QemuError::TooOld { .. })));
        let bare = GOOD.replace("-plugin", "-nothing");
        assert!(matches!(qemu(&bare, 0o755), Err(QemuError::NoPlugins { .. })));
        assert!(matches!(qemu("echo hello", 0o755), Err(QemuError::NotQemu { .. })));
        let fails = qemu("echo no library >&2; exit 127", 0o755).unwrap_err().to_string();
        assert!(fails.contains("no library"), "{fails}");
        assert!(matches!(file(Path::new("/nonexistent/qemu")), Err(QemuError::File { .. })));
    }
}
