use std::{
    io::{self, BufRead, BufReader, Read, Seek},
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
};

use serde::{Deserialize, Serialize};

use super::{AptError, wanted::Wanted};
use crate::{StoreError, StoreLock, platform::HOST, process::tied};

/// The machine's programs that answer, whose versions matter.
pub(super) const PROGRAMS: [&str; 3] =
    ["/usr/bin/apt-cache", "/usr/bin/apt-config", "/usr/bin/apt-get"];

/// More than apt says in any one run, in bytes.
const OUTPUT_BYTES_MAX: u64 = 64 << 20;

/// The apt that reads a private root.
#[derive(Debug)]
pub(super) enum Programs {
    /// The machine's own.
    Machine,
    /// That of Debian 13, unpacked into this folder. It only answers.
    Unpacked(PathBuf),
    /// None, since there are no lists to read and nothing may be downloaded.
    None,
}

impl Programs {
    /// Returns the command of a program.
    fn command(&self, program: &'static str) -> Result<Command, AptError> {
        match self {
            Self::Machine => Ok(Command::new(program)),
            Self::Unpacked(tree) => {
                // Through the loader and with the libraries of the same tree, as the machine's may be older,
                // or of another C library.
                let libraries = tree.join("usr/lib").join(HOST.triplet);
                let mut command = Command::new(libraries.join(HOST.loader));
                command.args(["--inhibit-cache", "--library-path"]).arg(&libraries);
                command.arg(tree.join("usr/bin").join(program));
                Ok(command)
            }
            Self::None => Err(AptError::Offline("lists of packages".to_owned())),
        }
    }

    /// Returns the files on which its answers depend.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        match self {
            Self::Machine => PROGRAMS.map(PathBuf::from).into(),
            Self::Unpacked(tree) => vec![tree.join("usr/bin/apt-get")],
            Self::None => Vec::new(),
        }
    }
}

/// A private apt root, locked.
#[derive(Clone, Copy)]
pub(super) struct Root<'a> {
    pub(super) path: &'a Path,
    pub(super) lock: &'a StoreLock,
    pub(super) programs: &'a Programs,
}

/// Output of a program of apt.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Output {
    pub(super) success: bool,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Root<'_> {
    /// Runs a program of apt to its end.
    pub(super) fn run<A: AsRef<str>>(
        &self,
        program: &'static str,
        arguments: &[A],
    ) -> Result<Output, AptError> {
        let mut stdout = String::new();
        let (status, stderr) = self.run_in(self.path, program, arguments, |line| {
            stdout.push_str(line);
            stdout.push('\n');
        })?;
        Ok(Output { success: status.success(), stdout, stderr })
    }

    /// Runs a program of apt in a folder, hands over the lines of its standard output as they
    /// come, and returns its standard error.
    pub(super) fn run_in<A: AsRef<str>>(
        &self,
        folder: &Path,
        program: &'static str,
        arguments: &[A],
        mut on_line: impl FnMut(&str),
    ) -> Result<(ExitStatus, String), AptError> {
        let io = |source| StoreError::new(self.path, source);
        let tool = |source| AptError::Tool { program, source };
        // A file, and no second pipe that could fill up while the first is read.
        let mut complaints = tempfile::tempfile_in(self.path).map_err(io)?;
        let mut command = self.programs.command(program)?;
        command
            .args(arguments.iter().map(AsRef::as_ref))
            .current_dir(folder)
            .env("APT_CONFIG", self.path.join("apt.conf"))
            .env("LC_ALL", "C")
            .env_remove("LANGUAGE")
            .env_remove("DPKG_ROOT")
            .env_remove("DPKG_ADMINDIR")
            .stdin(self.lock.share().map_err(io)?)
            .stdout(Stdio::piped())
            .stderr(complaints.try_clone().map_err(io)?);
        let mut child = tied(&mut command).spawn().map_err(tool)?;
        if let Some(stdout) = child.stdout.take() {
            let mut lines = BufReader::new(stdout.take(OUTPUT_BYTES_MAX));
            let mut line = Vec::new();
            while lines.read_until(b'\n', &mut line).map_err(tool)? > 0 {
                on_line(String::from_utf8_lossy(&line).trim_end_matches('\n'));
                line.clear();
            }
        }
        let status = child.wait().map_err(tool)?;
        let mut stderr = Vec::new();
        let read: io::Result<_> = complaints
            .rewind()
            .and_then(|()| (&complaints).take(OUTPUT_BYTES_MAX).read_to_end(&mut stderr));
        read.map_err(io)?;
        Ok((status, String::from_utf8_lossy(&stderr).into_owned()))
    }
}

/// Returns options, the mark that ends them, and the packages.
pub(super) fn arguments<A: AsRef<str>>(options: &[A], wanted: &[Wanted]) -> Vec<String> {
    let options = options.iter().map(|option| option.as_ref().to_owned());
    options.chain(["--".to_owned()]).chain(wanted.iter().map(Wanted::to_string)).collect()
}
