//! Kbuild for a module outside of the kernel's sources: Documentation/kbuild/modules.rst.

use std::{
    ffi::OsString,
    io::{Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    process::Command,
};

use super::{KmodError, Source};
use crate::{
    StoreError, StoreLock,
    kernel::toolchain::{self, MACHINE_PATH, Programs},
    process::tied,
};

/// Largest part of a failed build's output that is shown, in bytes and in lines.
const OUTPUT_BYTES_MAX: u64 = 64 << 10;
const OUTPUT_LINES_MAX: usize = 15;

/// make, the build tree it works in, and the programs it finds.
pub(super) struct Make {
    program: OsString,
    tree: PathBuf,
    path: OsString,
    environment: Vec<(&'static str, OsString)>,
    /// Folders whose names are kept out of the module.
    folders: Vec<PathBuf>,
}

impl Make {
    /// Returns the machine's own make, with the compiler that the tree itself names.
    pub(super) fn of_machine(tree: &Path) -> Self {
        Self {
            program: "make".into(),
            tree: tree.to_owned(),
            path: MACHINE_PATH.into(),
            environment: Vec::new(),
            folders: vec![tree.to_owned()],
        }
    }

    /// Returns the make of a toolchain.
    pub(super) fn of_packages(programs: &Programs, headers: &Path, tree: &Path) -> Self {
        let mut environment = programs.environment();
        // Debian's Makefile asks dpkg otherwise, and until 6.1 it takes the compiler with the
        // architecture in its name only for another architecture than that of the build.
        let guest = programs.guest();
        environment.push(("DEB_BUILD_ARCH", guest.debian.into()));
        environment.push(("DEB_HOST_GNU_TYPE", guest.triplet.into()));
        Self {
            program: programs.program("make").into_os_string(),
            tree: tree.to_owned(),
            path: programs.path(),
            environment,
            folders: vec![headers.to_owned()],
        }
    }

    /// Builds the module whose files are in a folder.
    pub(super) fn run(
        &self,
        source: &Source,
        release: &str,
        root: &Path,
        lock: &StoreLock,
    ) -> Result<(), KmodError> {
        let io = |source| StoreError::new(root, source);
        let mut said = tempfile::tempfile_in(root).map_err(io)?;
        let mut command = Command::new(&self.program);
        command
            .arg("-C")
            .arg(&self.tree)
            .args(variables(source, root, &self.folders))
            .arg("modules")
            .env_clear()
            .env("PATH", &self.path)
            .env("LC_ALL", "C")
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(lock.share().map_err(io)?)
            .stdout(said.try_clone().map_err(io)?)
            .stderr(said.try_clone().map_err(io)?);
        if tied(&mut command).status().map_err(KmodError::Tool)?.success() {
            return Ok(());
        }
        let length = said.seek(SeekFrom::End(0)).map_err(io)?;
        said.seek(SeekFrom::Start(length.saturating_sub(OUTPUT_BYTES_MAX))).map_err(io)?;
        let mut bytes = Vec::new();
        said.take(OUTPUT_BYTES_MAX).read_to_end(&mut bytes).map_err(io)?;
        let output = last_lines(&String::from_utf8_lossy(&bytes));
        Err(KmodError::Failed { name: source.name, release: release.to_owned(), output })
    }
}

/// Returns the variables of make for a module in a folder, which is built from the files of other
/// folders.
pub(super) fn variables(
    source: &Source,
    root: &Path,
    folders: &[impl AsRef<Path>],
) -> [OsString; 3] {
    // Keep this machine's paths out of the module: those in debug information, which is not used,
    // and those in warnings.
    let mut flags = OsString::from("-g0");
    let headers = folders.iter().map(|folder| (folder.as_ref(), "/headers"));
    for (from, to) in headers.chain([(root, "/preemptlab")]) {
        flags.push(" -ffile-prefix-map=");
        flags.push(from);
        flags.push("=");
        flags.push(to);
    }
    [
        assigned("M", root.join(source.folder).as_os_str()),
        assigned("KCFLAGS", &flags),
        // The module's types, which only tracers read, would need pahole and the kernel's.
        "CONFIG_DEBUG_INFO_BTF_MODULES=".into(),
    ]
}

/// Refuses a path that make would not take as one.
pub(super) fn check_path(path: &Path) -> Result<(), KmodError> {
    match toolchain::is_plain(path) {
        true => Ok(()),
        false => Err(KmodError::Path(path.to_owned())),
    }
}

/// Returns a variable on make's command line.
fn assigned(name: &str, value: &std::ffi::OsStr) -> OsString {
    let mut argument = OsString::from(name);
    argument.push("=");
    argument.push(value);
    argument
}

fn last_lines(output: &str) -> String {
    let lines: Vec<_> = output.trim_end().lines().collect();
    lines[lines.len().saturating_sub(OUTPUT_LINES_MAX)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_what_was_said_is_shown() {
        let said: String = (0..40).map(|number| format!("line {number}\n")).collect();
        let shown = last_lines(&said);
        assert!(shown.starts_with("line 25\n") && shown.ends_with("\nline 39"), "{shown}");
        assert_eq!(last_lines(""), "");
    }
}
