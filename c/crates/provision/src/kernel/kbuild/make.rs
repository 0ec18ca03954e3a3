//! The kernel's own Makefile, with a toolchain of packages.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write},
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{Command, Stdio},
    thread,
};

use super::{KbuildError, Tools};
use crate::{Store, StoreError, StoreLock, process::tied};

/// Variables that would otherwise tell the time, the place and the user of the build
/// (Documentation/kbuild/reproducible-builds.rst).
const FIXED: [(&str, &str); 6] = [
    ("KBUILD_BUILD_HOST", "preemptlab"),
    ("KBUILD_BUILD_TIMESTAMP", "1970-01-01 UTC"),
    ("KBUILD_BUILD_USER", "preemptlab"),
    ("KBUILD_BUILD_VERSION", "1"),
    ("LC_ALL", "C"),
    ("TZ", "UTC"),
];

/// Variables of make: programs that the build would use if the machine had them.
const VARIABLES: [&str; 5] =
    ["HOSTPKG_CONFIG=false", "LEX=flex", "YACC=bison", "RUSTC=false", "BINDGEN=false"];

/// Complaints that say why a build failed, rather than that it did.
const COMPLAINTS: [&str; 4] = ["error: ", "undefined reference", "No space left", ": *** "];

/// The end of a log that is told, in lines, and the part that is searched for a complaint, in bytes.
const END_LINES_MAX: usize = 12;
const SAID_BYTES_MAX: u64 = 16 << 20;

/// The longest complaint that is told, in characters.
const COMPLAINT_CHARS_MAX: usize = 300;

/// make in a source tree.
pub(crate) struct Make<'a> {
    /// Programs that make starts.
    pub(crate) tools: &'a Tools,
    /// Source tree.
    pub(crate) tree: &'a Path,
    /// Folder for everything that is made; `None` for the source tree itself.
    pub(crate) output: Option<&'a Path>,
    /// File for all output of make.
    pub(crate) log: &'a Path,
    /// Held until it and its children have ended.
    pub(crate) lock: &'a StoreLock,
}

impl Make<'_> {
    /// Makes a target with further variables of make, and calls `on_step` for every file that is
    /// made. Returns whether all went well.
    pub(crate) fn run(
        &self,
        target: &str,
        variables: &[OsString],
        mut on_step: impl FnMut(),
    ) -> Result<bool, KbuildError> {
        let io = |source| KbuildError::from(StoreError::new(self.log, source));
        let mut log = File::options().create(true).append(true).open(self.log).map_err(io)?;
        let (reader, writer) = io::pipe().map_err(KbuildError::Tool)?;
        // The debug information would hold the tree's path, and the image a hash of it.
        let mut map = format!("-ffile-prefix-map={}=.", self.tree.display());
        if let Some(output) = self.output {
            map.push_str(&format!(" -ffile-prefix-map={}=.", output.display()));
        }
        let tools = self.tools;
        let mut command = Command::new(&tools.make);
        command
            .arg(format!("-j{}", thread::available_parallelism().map_or(1, usize::from)))
            // The architecture, whatever the machine says that it is.
            .arg(format!("ARCH={}", self.tools.guest.kernel_arch))
            .arg(format!("CROSS_COMPILE={}", tools.prefix))
            .args(VARIABLES)
            .arg(format!("CC={}", tools.compiler))
            .arg(format!("HOSTCC={}", tools.host_compiler))
            .arg(format!("KCFLAGS={map}"))
            .arg(format!("KAFLAGS={map}"))
            .args(self.output.map(|output| format!("O={}", output.display())))
            .args(variables)
            .arg(target)
            .current_dir(self.tree)
            .env_clear()
            .envs(FIXED)
            .env("PATH", &tools.path)
            .envs(tools.environment.iter().map(|(name, value)| (name, value)))
            .stdin(self.lock.share().map_err(io)?)
            .stdout(writer.try_clone().map_err(KbuildError::Tool)?)
            .stderr(writer);
        let mut child = tied(&mut command).spawn().map_err(KbuildError::Tool)?;
        // The command holds the pipe's other end, and its lines would never end.
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut lines = BufReader::new(reader);
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line).map_err(KbuildError::Tool)? > 0 {
            log.write_all(&line).map_err(io)?;
            if is_step(&line) {
                on_step();
            }
            line.clear();
        }
        let status = child.wait().map_err(KbuildError::Tool)?;
        if status.signal().is_some() {
            return Err(KbuildError::Interrupted);
        }
        Ok(status.success())
    }

    /// Returns the first complaint in the log, without this machine's paths.
    fn complaint(&self) -> Result<String, StoreError> {
        Ok(complaint(&self.said()?))
    }

    /// Keeps the log of a build that failed at a path, and returns the reason with the log's path below the
    /// store.
    ///
    /// # Errors
    ///
    /// A build that lacked room or memory has no log to read: that reason alone.
    pub(crate) fn failed(
        &self,
        store: &Store,
        kept: &Path,
    ) -> Result<(String, String), KbuildError> {
        let reason = self.complaint()?;
        if reason.contains("No space left") {
            return Err(StoreError::Full(self.tree.to_owned()).into());
        }
        if reason.contains("Killed") {
            return Err(KbuildError::Killed(reason));
        }
        remove_if_there(kept)?;
        fs::rename(self.log, kept).map_err(StoreError::at(kept))?;
        let log = kept.strip_prefix(store.root()).unwrap_or(kept).display().to_string();
        Ok((reason, log))
    }

    /// Returns the last lines of the log, without this machine's paths.
    pub(crate) fn end(&self) -> Result<String, StoreError> {
        let text = self.said()?;
        let lines: Vec<_> = text.trim_end().lines().collect();
        let lines = &lines[lines.len().saturating_sub(END_LINES_MAX)..];
        let line = |line: &&str| line.chars().take(COMPLAINT_CHARS_MAX).collect::<String>();
        Ok(lines.iter().map(line).collect::<Vec<_>>().join("\n"))
    }

    fn said(&self) -> Result<String, StoreError> {
        let io = StoreError::at(self.log);
        let mut log = File::open(self.log).map_err(StoreError::at(self.log))?;
        let length = log.metadata().map_err(StoreError::at(self.log))?.len();
        let mut bytes = Vec::new();
        log.seek(SeekFrom::Start(length.saturating_sub(SAID_BYTES_MAX)))
            .and_then(|_| log.take(SAID_BYTES_MAX).read_to_end(&mut bytes))
            .map_err(io)?;
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        let folders = [self.tools.root.as_deref(), self.output, Some(self.tree)];
        for folder in folders.into_iter().flatten() {
            text = text.replace(&*folder.to_string_lossy(), "");
        }
        Ok(text)
    }
}

/// Returns whether a line of make's output announces a file: `  CC      kernel/fork.o`.
fn is_step(line: &[u8]) -> bool {
    line.strip_prefix(b"  ").is_some_and(|rest| rest.first().is_some_and(u8::is_ascii_uppercase))
}

fn complaint(log: &str) -> String {
    let is_complaint = |line: &&str| COMPLAINTS.iter().any(|complaint| line.contains(complaint));
    let line = log.lines().find(is_complaint).or_else(|| log.lines().last());
    line.unwrap_or("it did not say why").trim().chars().take(COMPLAINT_CHARS_MAX).collect()
}

/// Removes a file, unless it is gone already.
pub(crate) fn remove_if_there(path: &Path) -> Result<(), KbuildError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(StoreError::new(path, error).into())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_what_is_made() {
        for line in
            ["  CC      kernel/fork.o\n", "  LD [M]  a.ko\n", "  BTF     .btf.vmlinux.bin.o"]
        {
            assert!(is_step(line.as_bytes()), "{line}");
        }
        for line in ["#\n", "", "  \n", "kernel/fork.c:1: error: x\n", "    note: y\n"] {
            assert!(!is_step(line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn the_first_complaint_is_told() {
        let log = "  CC a.o\na.c:3:1: warning: odd\na.c:4:2: error: no such type\n  CC b.o\n\
            b.c:1:1: error: later\nmake[2]: *** [scripts/Makefile.build:229: a.o] Error 1\n";
        assert_eq!(complaint(log), "a.c:4:2: error: no such type");
        assert_eq!(complaint("  CC a.o\nmake: *** No rule\n"), "make: *** No rule");
        assert_eq!(complaint("ld: odd\n"), "ld: odd");
        assert_eq!(complaint(""), "it did not say why");
        assert_eq!(complaint(&format!("error: {}", "x".repeat(999))).len(), COMPLAINT_CHARS_MAX);
    }
}
