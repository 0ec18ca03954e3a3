//! The program `git`. Nothing of a user's configuration or hooks is executed, and nothing is fetched;
//! commands that only read write neither an index nor a reference.

use std::{
    ffi::{OsStr, OsString},
    fs,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write},
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use super::TreeError;
use crate::{process::tied, toolchain::MACHINE_PATH};

/// The most that one command of git may say, in bytes.
const OUTPUT_BYTES_MAX: u64 = 256 << 20;

/// The most of a complaint that is told, in bytes.
const COMPLAINT_BYTES_MAX: u64 = 1 << 10;

/// The largest file of a revision, in bytes.
const BLOB_BYTES_MAX: u64 = 256 << 20;

/// What a repository's configuration could otherwise make git start or write.
const SETTINGS: [&str; 4] =
    ["core.fsmonitor=false", "core.hooksPath=/dev/null", "core.untrackedCache=keep", "gc.auto=0"];

/// git in one working tree or repository.
pub struct Git {
    folder: PathBuf,
    /// The place of an empty repository, for a tree that is in none.
    empty: Option<PathBuf>,
}

impl Git {
    /// Returns the git of the repository that a folder is in.
    pub fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), empty: None }
    }

    /// Returns a git for a folder that is in no repository: `empty` becomes a repository without
    /// anything, whose working tree is the folder.
    pub(crate) fn without_repository(folder: &Path, empty: PathBuf) -> Result<Self, TreeError> {
        if !empty.join("HEAD").is_file() {
            let made = Self::at(folder);
            let mut command = made.command(["init", "--quiet", "--bare", "--template="]);
            command.arg(&empty);
            said(command)?.map_err(TreeError::Git)?;
        }
        Ok(Self { folder: folder.to_owned(), empty: Some(empty) })
    }

    fn command<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Command {
        let mut command = Command::new("git");
        command.arg("-C").arg(&self.folder).args(["--no-optional-locks", "--literal-pathspecs"]);
        // Whose tree may be read was decided before (`Checkout::open`).
        let mut safe = OsString::from("safe.directory=");
        safe.push(&self.folder);
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command.arg("-c").arg(safe);
        if let Some(empty) = &self.empty {
            let assigned = |name: &str, path: &Path| {
                let mut argument = OsString::from(name);
                argument.push(path);
                argument
            };
            command.args(["-c", "core.bare=false"]);
            command.arg(assigned("--git-dir=", empty)).arg(assigned("--work-tree=", &self.folder));
        }
        command
            .args(arguments)
            .env_clear()
            .env("PATH", MACHINE_PATH)
            .env("LC_ALL", "C")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            // Nothing is fetched, and nobody is asked for a password.
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_ALLOW_PROTOCOL", "none")
            .env("GIT_TERMINAL_PROMPT", "0")
            .stdin(Stdio::null());
        tied(&mut command);
        command
    }

    /// Returns what a command of git says, or its complaint.
    ///
    /// # Errors
    ///
    /// When git cannot be run, or is interrupted.
    pub fn ask(&self, arguments: &[&str]) -> Result<Result<Vec<u8>, String>, TreeError> {
        said(self.command(arguments))
    }

    /// Returns what a command of git says as text without blanks around it, or its complaint.
    ///
    /// # Errors
    ///
    /// When git cannot be run, or is interrupted.
    pub fn line(&self, arguments: &[&str]) -> Result<Result<String, String>, TreeError> {
        let line = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim().to_owned();
        Ok(self.ask(arguments)?.map(line))
    }

    /// Starts a process that hands out the contents of a repository's files.
    pub(crate) fn blobs(&self) -> Result<Blobs, TreeError> {
        let mut command = self.command(["cat-file", "--batch"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(TreeError::NoGit)?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        match (input, output) {
            (Some(input), Some(output)) => {
                Ok(Blobs { child, input, output: BufReader::new(output) })
            }
            _ => Err(TreeError::NoGit(io::ErrorKind::BrokenPipe.into())),
        }
    }
}

/// A process of git that hands out contents.
pub(crate) struct Blobs {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Blobs {
    /// Reads a file by its name in the repository.
    pub(crate) fn read(&mut self, id: &str) -> io::Result<Vec<u8>> {
        writeln!(self.input, "{id}")?;
        let mut header = String::new();
        self.output.by_ref().take(1 << 10).read_line(&mut header)?;
        // `<id> blob <size>`, or `<id> missing`.
        let size = header.trim().rsplit_once(" blob ").and_then(|(_, size)| size.parse().ok());
        let size: u64 = size.ok_or_else(|| io::Error::other(format!("git has no {id}")))?;
        if size > BLOB_BYTES_MAX {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let mut bytes = Vec::new();
        self.output.by_ref().take(size + 1).read_to_end(&mut bytes)?;
        match bytes.pop() {
            Some(b'\n') if bytes.len() as u64 == size => Ok(bytes),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

impl Drop for Blobs {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs git to its end, and returns what it said, or its complaint.
fn said(mut command: Command) -> Result<Result<Vec<u8>, String>, TreeError> {
    let mut complaints = tempfile::tempfile().map_err(TreeError::NoGit)?;
    let errors = complaints.try_clone().map_err(TreeError::NoGit)?;
    let mut child =
        command.stdout(Stdio::piped()).stderr(errors).spawn().map_err(TreeError::NoGit)?;
    let mut bytes = Vec::new();
    if let Some(output) = child.stdout.take() {
        output.take(OUTPUT_BYTES_MAX).read_to_end(&mut bytes).map_err(TreeError::NoGit)?;
    }
    let status = child.wait().map_err(TreeError::NoGit)?;
    if status.success() {
        return Ok(Ok(bytes));
    }
    if status.signal().is_some() && (bytes.len() as u64) < OUTPUT_BYTES_MAX {
        return Err(TreeError::Interrupted);
    }
    let mut text = Vec::new();
    complaints
        .seek(SeekFrom::Start(0))
        .and_then(|_| complaints.take(COMPLAINT_BYTES_MAX).read_to_end(&mut text))
        .map_err(TreeError::NoGit)?;
    let text = String::from_utf8_lossy(&text);
    Ok(Err(text.lines().next().unwrap_or("it did not say why").trim().to_owned()))
}

/// Returns the path of a repository's common folder, which its working trees share.
pub(crate) fn common_folder(git: &Git, folder: &Path) -> Result<Option<PathBuf>, TreeError> {
    let found = git.line(&["rev-parse", "--git-common-dir"])?.ok();
    Ok(found.and_then(|found| fs::canonicalize(folder.join(found)).ok()))
}
