//! The process of a command, from its fork to its program.

use alloc::{ffi::CString, format, string::String, vec::Vec};
use core::ptr;

use preemptlab_protocol::Command;
use rustix::{
    fd::{AsFd, OwnedFd},
    io::{Errno, pwrite, read, write},
    pipe::{PipeFlags, pipe_with},
    process::{Pid, setpgid},
    stdio::{dup2_stderr, dup2_stdout},
};

use crate::{
    arch::forbid_ports,
    file, kernel, login,
    trouble::{Attempt, Result, Trouble, name},
};

/// What every command finds in its environment.
const ENVIRONMENT: [&core::ffi::CStr; 2] = [c"PATH=/usr/sbin:/usr/bin:/sbin:/bin", c"HOME=/"];

/// What a shell would say of a program that cannot be executed.
const NOT_EXECUTED: i32 = 127;

/// A process that has what a login gives to its shell, and waits to become a command's program.
pub struct Process {
    /// The process group that it leads.
    pub group: Pid,
    go: OwnedFd,
}

/// Where a program writes to.
pub struct Outputs {
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
    /// Empty, or the error number with which the program could not be executed.
    pub exec_error: OwnedFd,
}

impl Process {
    /// Forks the process of a command, and waits until it is ready.
    pub fn new(command: &Command, outputs: &Outputs) -> Result<Self> {
        let cannot = || format!("start {}", describe(command));
        let program = Program::new(command)?;
        let (ready, is_ready) = pipe_with(PipeFlags::CLOEXEC).attempt(cannot)?;
        let (told, go) = pipe_with(PipeFlags::CLOEXEC).attempt(cannot)?;
        // SAFETY: init has one thread, and the child calls nothing but the kernel.
        let Some(group) = unsafe { kernel::fork() }.attempt(cannot)? else {
            drop((ready, go));
            program.execute(outputs, is_ready, &told)
        };
        drop((is_ready, told));
        // The child does this, too: whoever comes first, neither may work with the old group.
        let _ = setpgid(Some(group), Some(group));
        if read_byte(&ready) {
            return Ok(Self { group, go });
        }
        let what = outputs.error().map_or_else(|| "it ended".into(), name);
        Err(Trouble::other(format!("cannot {}: {what}", cannot())))
    }

    /// Has the process become the program.
    pub fn go(self) {
        // Whether it was killed in the meantime, the next look at it tells.
        let _ = write(&self.go, &[0]);
    }
}

impl Outputs {
    /// The error number with which the program could not be executed.
    pub fn error(&self) -> Option<Errno> {
        let bytes = file::read_from_start(&self.exec_error, size_of::<i32>()).ok()?;
        Some(Errno::from_raw_os_error(i32::from_le_bytes(bytes.try_into().ok()?)))
    }
}

/// A command's name and its program, for people.
pub fn describe(command: &Command) -> String {
    let program = command.argv.first().map_or("", String::as_str);
    format!("`{}` ({program})", command.name)
}

/// Waits for a byte. Returns whether one came before everybody who could write it was gone.
fn read_byte(from: &OwnedFd) -> bool {
    loop {
        match read(from, &mut [0]) {
            Err(Errno::INTR) => {}
            result => return result == Ok(1),
        }
    }
}

/// A program and its arguments in the kernel's form, made before the fork.
struct Program {
    argv: Vec<CString>,
    unprivileged: bool,
}

impl Program {
    fn new(command: &Command) -> Result<Self> {
        let argv = command.argv.iter().map(|argument| CString::new(argument.as_str()));
        match argv.collect::<core::result::Result<Vec<_>, _>>() {
            Ok(argv) if !argv.is_empty() => Ok(Self { argv, unprivileged: command.unprivileged }),
            _ => Err(Trouble::other(format!("{} has no usable argv", describe(command)))),
        }
    }

    /// Becomes the program, in the child, when it is told to.
    fn execute(&self, outputs: &Outputs, is_ready: OwnedFd, told: &OwnedFd) -> ! {
        let _ = setpgid(None, None);
        let error = match login::take() {
            Err(errno) => errno,
            Ok(()) => {
                let _ = write(&is_ready, &[0]);
                drop(is_ready);
                if !read_byte(told) {
                    kernel::exit(NOT_EXECUTED);
                }
                self.become_it(outputs)
            }
        };
        let _ = pwrite(&outputs.exec_error, &error.raw_os_error().to_le_bytes(), 0);
        kernel::exit(NOT_EXECUTED)
    }

    fn become_it(&self, outputs: &Outputs) -> Errno {
        forbid_ports();
        let pointers = |strings: &mut dyn Iterator<Item = *const u8>| -> Vec<*const u8> {
            strings.chain([ptr::null()]).collect()
        };
        let argv = pointers(&mut self.argv.iter().map(|text| text.as_ptr().cast()));
        let environment = pointers(&mut ENVIRONMENT.iter().map(|text| text.as_ptr().cast()));
        dup2_stdout(outputs.stdout.as_fd())
            .and_then(|()| dup2_stderr(outputs.stderr.as_fd()))
            .and_then(|()| if self.unprivileged { kernel::become_user() } else { Ok(()) })
            .err()
            // SAFETY: both arrays end with a null pointer, and their strings live on.
            .unwrap_or_else(|| unsafe { kernel::execve(&self.argv[0], &argv, &environment) })
    }
}
