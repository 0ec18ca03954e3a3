//! The program `git`, which executes nothing of a repository and fetches nothing.
//!
//! git reads configuration, attributes, hooks and the names of programs from the repository that it
//! works in. So it never works in a user's: its repository is a folder of preemptlab's own, which
//! borrows the user's objects (`gitrepository-layout(5)`) and holds copies of the references.

use std::{
    ffi::{OsStr, OsString},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
    thread,
};

use super::{
    TreeError,
    object_id::Format,
    watched::{Bounds, StopReason, Watched},
};
use crate::kernel::toolchain::MACHINE_PATH;

/// The most that one command of git may say, in MiB.
const OUTPUT_MIB_MAX: u64 = 256;

/// The most of a complaint that is told, in bytes.
const COMPLAINT_BYTES_MAX: u64 = 1 << 10;

/// Settings against programs and files that git would start, write or read by itself.
const SETTINGS: [&str; 8] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.untrackedCache=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.pager=cat",
    "protocol.allow=never",
    "gc.auto=0",
];

/// The environment of git: no configuration of the machine or the user, no object in the place of
/// another one, nothing fetched, and no password asked for.
const ENVIRONMENT: [(&str, &str); 10] = [
    ("PATH", MACHINE_PATH),
    ("LC_ALL", "C"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// A search through a history of millions of commits.
const OF_HISTORY: Bounds = Bounds { cpu_s: 600, memory_mib: 3 << 10 };

/// git in a repository of preemptlab's own.
#[derive(Clone, Debug)]
pub struct Git {
    gitdir: PathBuf,
    /// The place of its commands: a working tree, or the repository.
    folder: PathBuf,
    work_tree: bool,
    bounds: Bounds,
    pub(super) format: Format,
    /// Whether the user's repository lacks objects on purpose.
    is_partial: bool,
    /// The folder that is told in complaints.
    named: PathBuf,
    /// Removes the repository with the last of its users.
    _own: Option<Arc<tempfile::TempDir>>,
}

impl Git {
    /// Returns the git of a bare repository that preemptlab itself made, or makes with `init`.
    pub fn at(gitdir: &Path) -> Self {
        Self {
            gitdir: gitdir.to_owned(),
            folder: gitdir.to_owned(),
            work_tree: false,
            bounds: OF_HISTORY,
            format: Format::default(),
            is_partial: false,
            named: gitdir.to_owned(),
            _own: None,
        }
    }

    /// Returns the git of a folder of preemptlab's own that stands for a user's repository.
    pub(super) fn for_users(own: tempfile::TempDir, named: &Path, bounds: Bounds) -> Self {
        let gitdir = own.path().to_owned();
        Self { bounds, named: named.to_owned(), _own: Some(Arc::new(own)), ..Self::at(&gitdir) }
    }

    /// Returns the git whose working tree is a folder.
    pub(super) fn with_work_tree(self, folder: &Path) -> Self {
        Self { folder: folder.to_owned(), work_tree: true, ..self }
    }

    /// Returns the git of a repository that names objects so, and lacks some or none on purpose.
    pub(super) fn of(self, format: Format, is_partial: bool) -> Self {
        Self { format, is_partial, ..self }
    }

    /// Returns the git with other bounds.
    pub(super) fn within(&self, bounds: Bounds) -> Self {
        Self { bounds, ..self.clone() }
    }

    pub(super) fn gitdir(&self) -> &Path {
        &self.gitdir
    }

    pub(super) fn bounds(&self) -> Bounds {
        self.bounds
    }

    pub(super) fn is_partial(&self) -> bool {
        self.is_partial
    }

    pub(super) fn command<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> Command {
        let assigned = |name: &str, path: &Path| {
            let mut argument = OsString::from(name);
            argument.push(path);
            argument
        };
        let mut command = Command::new("git");
        command.arg("-C").arg(&self.folder).args(["--no-optional-locks", "--literal-pathspecs"]);
        // git looks for it from the folder that it works in, which may have a relative path.
        let gitdir = if self.work_tree { &*self.gitdir } else { Path::new(".") };
        command.arg(assigned("--git-dir=", gitdir));
        if self.work_tree {
            command.arg(assigned("--work-tree=", &self.folder)).args(["-c", "core.bare=false"]);
        }
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command.args(arguments).env_clear().envs(ENVIRONMENT).stdin(Stdio::null());
        command
    }

    /// Returns the output of a command of git, or its complaint.
    ///
    /// # Errors
    ///
    /// When git cannot be run, is interrupted, or has to be stopped.
    pub fn ask(&self, arguments: &[&str]) -> Result<Result<Vec<u8>, String>, TreeError> {
        self.said(self.command(arguments), None)
    }

    /// Returns the output of a command of git for an input, or its complaint.
    pub(super) fn told(
        &self,
        arguments: &[&str],
        input: &[u8],
    ) -> Result<Result<Vec<u8>, String>, TreeError> {
        self.said(self.command(arguments), Some(input))
    }

    /// Returns the output of a command of git as text without blanks around it, or its complaint.
    ///
    /// # Errors
    ///
    /// When git cannot be run, is interrupted, or has to be stopped.
    pub fn line(&self, arguments: &[&str]) -> Result<Result<String, String>, TreeError> {
        let line = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim().to_owned();
        Ok(self.ask(arguments)?.map(line))
    }

    /// Returns the full name of the commit that a revision of the repository means.
    ///
    /// # Errors
    ///
    /// [`TreeError::NoRevision`], and when git cannot be run or has to be stopped.
    pub fn commit(&self, revision: &str) -> Result<String, TreeError> {
        let asked = format!("{revision}^{{commit}}");
        let asked = ["rev-parse", "--verify", "--quiet", "--end-of-options", &asked];
        if let Ok(commit) = self.line(&asked)? {
            return Ok(commit);
        }
        let shallow = self.line(&["rev-parse", "--is-shallow-repository"])?;
        Err(TreeError::NoRevision {
            path: self.named.clone(),
            revision: revision.to_owned(),
            shallow: shallow.is_ok_and(|said| said == "true"),
        })
    }

    /// Returns the error of a command that was stopped.
    pub(super) fn stopped(&self, reason: StopReason) -> TreeError {
        TreeError::Stopped { path: self.named.clone(), reason }
    }

    /// Runs git to its end, and returns its output, or its complaint.
    fn said(
        &self,
        mut command: Command,
        input: Option<&[u8]>,
    ) -> Result<Result<Vec<u8>, String>, TreeError> {
        let mut complaints = tempfile::tempfile().map_err(TreeError::NoGit)?;
        command.stderr(complaints.try_clone().map_err(TreeError::NoGit)?);
        if input.is_some() {
            command.stdin(Stdio::piped());
        }
        let mut watched = Watched::start(command, self.bounds).map_err(TreeError::NoGit)?;
        let stdin = watched.input();
        let mut bytes = Vec::new();
        let read = thread::scope(|scope| {
            if let (Some(mut stdin), Some(input)) = (stdin, input) {
                // git may end before it has read everything.
                scope.spawn(move || drop(stdin.write_all(input)));
            }
            let read = watched.by_ref().take((OUTPUT_MIB_MAX << 20) + 1).read_to_end(&mut bytes);
            if bytes.len() as u64 > OUTPUT_MIB_MAX << 20 {
                watched.stop(StopReason::Output(OUTPUT_MIB_MAX));
            }
            read
        });
        let (status, reason) = watched.wait().map_err(TreeError::NoGit)?;
        match (read, reason) {
            (_, Some(reason)) => return Err(self.stopped(reason)),
            (Err(error), None) => return Err(TreeError::NoGit(error)),
            (Ok(_), None) => {}
        }
        if status.success() {
            return Ok(Ok(bytes));
        }
        if status.signal().is_some() {
            return Err(TreeError::Interrupted);
        }
        let text = complaint(&mut complaints).map_err(TreeError::NoGit)?;
        match text.contains("Out of memory") || text.contains("mmap failed") {
            true => Err(self.stopped(StopReason::Memory(self.bounds.memory_mib))),
            false => Ok(Err(text)),
        }
    }
}

/// Returns the first line of git's complaint.
fn complaint(complaints: &mut std::fs::File) -> io::Result<String> {
    let mut text = Vec::new();
    complaints.seek(SeekFrom::Start(0))?;
    complaints.take(COMPLAINT_BYTES_MAX).read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    Ok(text.lines().next().unwrap_or("it did not say why").trim().to_owned())
}
