use std::{
    ffi::{OsStr, OsString},
    io::{self, Read, Write},
    os::unix::process::CommandExt,
    process::{Command, Stdio},
    thread,
};

use super::answer::{Answer, Known, refused};
use crate::engine::EngineError;

/// Most bytes that a command may print: a line for each of 100,000 tasks.
const STDOUT_BYTES_MAX: u64 = 16 << 20;

/// Most bytes of its errors that are read.
const STDERR_BYTES_MAX: u64 = 64 << 10;

/// Commands of an engine, and their known errors.
#[derive(Clone, Debug)]
pub struct Commands {
    /// Folders to look in instead of those of the environment.
    pub path: Option<OsString>,
    /// Variables that would change a command's output, or whether it waits.
    pub without: &'static [&'static str],
    /// The next step where a command is not on this machine.
    pub absent: &'static str,
    /// Known errors of the commands.
    pub known: &'static [Known],
}

impl Commands {
    /// Executes a command, gives it a text, and returns its output.
    ///
    /// # Errors
    ///
    /// The command's own error.
    pub fn output<A: AsRef<OsStr>>(
        &self,
        program: &'static str,
        arguments: impl IntoIterator<Item = A>,
        input: &[u8],
    ) -> Result<String, EngineError> {
        let mut command = Command::new(program);
        command.args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // An interrupt is for this process, which then cancels the command's submission.
        command.process_group(0);
        for name in self.without {
            command.env_remove(name);
        }
        if let Some(path) = &self.path {
            command.env("PATH", path);
        }
        let failed = |error: io::Error| self.not_started(program, &error);
        let mut child = command.spawn().map_err(failed)?;
        let stderr = child.stderr.take();
        let (said, printed) = thread::scope(|scope| {
            let said = scope.spawn(move || bounded(stderr, STDERR_BYTES_MAX));
            if let Some(mut stdin) = child.stdin.take() {
                // A command that ends early says why.
                let _ = stdin.write_all(input);
            }
            let printed = bounded(child.stdout.take(), STDOUT_BYTES_MAX);
            (said.join().unwrap_or_default(), printed)
        });
        if printed.len() as u64 >= STDOUT_BYTES_MAX {
            let _ = child.kill();
        }
        let status = child.wait().map_err(failed)?;
        if printed.len() as u64 >= STDOUT_BYTES_MAX {
            let mib = STDOUT_BYTES_MAX >> 20;
            return Err(EngineError::Refused(format!("{program} prints more than {mib} MiB")));
        }
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        match status.success() {
            true => Ok(text(printed)),
            false => Err(refused(self.known, &Answer { program, status, said: &text(said) })),
        }
    }

    /// Returns the error of a command that cannot be started.
    fn not_started(&self, program: &'static str, error: &io::Error) -> EngineError {
        EngineError::Refused(match error.kind() {
            io::ErrorKind::NotFound => {
                format!("there is no {program} on this machine: {}", self.absent)
            }
            _ => format!("cannot execute {program}: {error}"),
        })
    }
}

/// Reads up to a bound.
fn bounded(stream: Option<impl Read>, bytes_max: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        // The bytes read until then count.
        let _ = stream.take(bytes_max).read_to_end(&mut bytes);
    }
    bytes
}
