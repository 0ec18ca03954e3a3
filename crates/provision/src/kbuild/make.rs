//! The kernel's own Makefile, with a toolchain of packages.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Write},
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{Command, Stdio},
    thread,
};

use super::KbuildError;
use crate::{
    StoreError, StoreLock,
    platform::GUEST,
    process::tied,
    toolchain::{HOST_COMPILER, Programs},
};

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

/// The longest complaint that is told, in characters.
const COMPLAINT_CHARS_MAX: usize = 300;

/// make in a source tree.
pub(super) struct Make<'a> {
    /// Programs that make finds.
    pub(super) programs: &'a Programs,
    /// The compiler, as `gcc-14`.
    pub(super) compiler: &'a str,
    /// Source tree.
    pub(super) tree: &'a Path,
    /// File for all output of make.
    pub(super) log: &'a Path,
    /// Held until it and its children have ended.
    pub(super) lock: &'a StoreLock,
}

impl Make<'_> {
    /// Makes a target, and calls `on_step` for every file that is made. Returns whether all went
    /// well.
    pub(super) fn run(&self, target: &str, mut on_step: impl FnMut()) -> Result<bool, KbuildError> {
        let io = |source| KbuildError::from(StoreError::new(self.log, source));
        let mut log = File::options().create(true).append(true).open(self.log).map_err(io)?;
        let (reader, writer) = io::pipe().map_err(KbuildError::Tool)?;
        // The debug information would hold the tree's path, and the image a hash of it.
        let map = format!("-ffile-prefix-map={}=.", self.tree.display());
        let mut command = Command::new(self.programs.program("make"));
        command
            .arg(format!("-j{}", thread::available_parallelism().map_or(1, usize::from)))
            // The architecture, whatever the machine says that it is.
            .arg(format!("ARCH={}", GUEST.kernel_arch))
            .arg(format!("CROSS_COMPILE={}-", GUEST.triplet))
            .args(VARIABLES)
            .arg(format!("CC={}-{}", GUEST.triplet, self.compiler))
            .arg(format!("HOSTCC={HOST_COMPILER}"))
            .arg(format!("KCFLAGS={map}"))
            .arg(format!("KAFLAGS={map}"))
            .arg(target)
            .current_dir(self.tree)
            .env_clear()
            .envs(FIXED)
            .env("PATH", self.programs.path())
            .envs(self.programs.environment())
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
    pub(super) fn complaint(&self) -> Result<String, StoreError> {
        let text = fs::read(self.log).map_err(StoreError::at(self.log))?;
        let mut text = String::from_utf8_lossy(&text).into_owned();
        for folder in [self.programs.root(), self.tree] {
            text = text.replace(&*folder.to_string_lossy(), "");
        }
        Ok(complaint(&text))
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
