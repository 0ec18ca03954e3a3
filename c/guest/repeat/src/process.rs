use alloc::{ffi::CString, format, string::String, vec::Vec};
use core::ptr;

use preemptlab_sys::{file, kernel};
use rustix::{
    fd::OwnedFd,
    fs::{MemfdFlags, Mode, OFlags, SeekFrom, ftruncate, memfd_create, open, seek},
    io::Errno,
    process::{WaitOptions, WaitStatus, waitpid},
    stdio::{dup2_stderr, dup2_stdout},
};

/// Status of a child that could not become the program, as a shell has it.
const NOT_EXECUTED: i32 = 127;

/// The most that is repeated of a run's standard error.
const SAID_BYTES_MAX: usize = 4096;

/// A program with its arguments and its environment.
pub struct Program {
    argv: Vec<CString>,
    environment: Vec<CString>,
}

impl Program {
    /// Creates a program; `None` where it has no name.
    pub fn new(argv: Vec<Vec<u8>>, environment: Vec<Vec<u8>>) -> Option<Self> {
        let c_strings = |strings: Vec<Vec<u8>>| {
            strings.into_iter().map(|string| CString::new(string).ok()).collect::<Option<Vec<_>>>()
        };
        let argv = c_strings(argv)?;
        (!argv.is_empty()).then_some(Self { argv, environment: c_strings(environment)? })
    }

    /// Executes the program to its end. Returns how it ended, where that was not well.
    pub fn execute(&self, sinks: &Sinks) -> Result<Result<(), String>, String> {
        sinks.empty()?;
        // Made before the fork.
        let (argv, environment) = (pointers(&self.argv), pointers(&self.environment));
        // SAFETY: the program has one thread, and the child calls nothing but the kernel.
        let Some(child) = unsafe { kernel::fork() }.map_err(|errno| cannot("fork", errno))? else {
            let _ = dup2_stdout(&sinks.stdout).and_then(|()| dup2_stderr(&sinks.stderr));
            // SAFETY: both arrays hold C strings and end with a null pointer.
            let errno = unsafe { kernel::execve(&self.argv[0], &argv, &environment) };
            let name = self.argv[0].to_string_lossy();
            file::say(2, &format!("{}\n", cannot(&format!("execute {name}"), errno)));
            kernel::exit(NOT_EXECUTED)
        };
        loop {
            match waitpid(Some(child), WaitOptions::empty()) {
                Ok(Some((_, status))) => return Ok(judge(status)),
                Ok(None) | Err(Errno::INTR) => {}
                Err(errno) => return Err(cannot("wait for the command", errno)),
            }
        }
    }
}

/// Returns how a run ended, where that was not well.
fn judge(status: WaitStatus) -> Result<(), String> {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(0), _) => Ok(()),
        (Some(code), _) => Err(format!("a run of the command ended with status {code}")),
        (None, signal) => {
            Err(format!("a run of the command was killed by signal {}", signal.unwrap_or(0)))
        }
    }
}

/// The array that `execve(2)` wants.
fn pointers(strings: &[CString]) -> Vec<*const u8> {
    strings.iter().map(|string| string.as_ptr().cast()).chain([ptr::null()]).collect()
}

/// Where the outputs of a run go.
pub struct Sinks {
    stdout: OwnedFd,
    stderr: OwnedFd,
}

impl Sinks {
    /// Opens the sinks.
    pub fn new() -> Result<Self, String> {
        let stdout = open("/dev/null", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())
            .map_err(|errno| cannot("open /dev/null", errno))?;
        let stderr = memfd_create("stderr", MemfdFlags::CLOEXEC)
            .map_err(|errno| cannot("make a file in memory", errno))?;
        Ok(Self { stdout, stderr })
    }

    /// Forgets what the last run said.
    fn empty(&self) -> Result<(), String> {
        ftruncate(&self.stderr, 0)
            .and_then(|()| seek(&self.stderr, SeekFrom::Start(0)))
            .map(drop)
            .map_err(|errno| cannot("empty a file in memory", errno))
    }

    /// Returns how a run ended, with the end of what it wrote to its standard error.
    pub fn failure(&self, end: &str) -> String {
        let length = seek(&self.stderr, SeekFrom::End(0)).unwrap_or(0);
        let from = length.saturating_sub(SAID_BYTES_MAX as u64);
        let mut said = alloc::vec![0; (length - from) as usize];
        let read = rustix::io::pread(&self.stderr, &mut said[..], from).unwrap_or(0);
        match String::from_utf8_lossy(&said[..read]).trim() {
            "" => format!("{end} and wrote nothing to its standard error"),
            said => format!("{end}: {said}"),
        }
    }
}

fn cannot(what: &str, errno: Errno) -> String {
    format!("cannot {what}: error {}", errno.raw_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(argv: &[&str]) -> Program {
        let argv = argv.iter().map(|argument| argument.as_bytes().to_vec()).collect();
        Program::new(argv, Vec::from([b"WORD=said".to_vec()])).unwrap()
    }

    #[test]
    fn a_command_has_a_program() {
        assert!(Program::new(Vec::new(), Vec::new()).is_none());
    }

    #[test]
    fn a_failure_says_what_the_last_run_wrote() {
        let sinks = Sinks::new().unwrap();
        let fails = |argv: &[&str]| {
            let end = program(argv).execute(&sinks).unwrap().unwrap_err();
            sinks.failure(&end)
        };
        assert_eq!(
            fails(&["/bin/sh", "-c", "echo $WORD >&2; exit 3"]),
            "a run of the command ended with status 3: said"
        );
        assert_eq!(
            fails(&["/bin/false"]),
            "a run of the command ended with status 1 and wrote nothing to its standard error"
        );
        assert_eq!(
            fails(&["/bin/sh", "-c", "kill -9 $$"]),
            "a run of the command was killed by signal 9 and wrote nothing to its standard error"
        );
        assert_eq!(
            fails(&["/no/such/program"]),
            "a run of the command ended with status 127: cannot execute /no/such/program: error 2"
        );
        let long = fails(&["/bin/sh", "-c", "printf %100000s x >&2; echo last >&2; exit 1"]);
        assert!(long.ends_with("last") && long.len() < 5000, "{long}");
        assert_eq!(program(&["/bin/true"]).execute(&sinks), Ok(Ok(())));
    }
}
