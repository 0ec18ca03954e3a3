//! What procfs says of processes.

use alloc::{format, vec, vec::Vec};
use core::mem::MaybeUninit;

use rustix::{
    fs::{Mode, OFlags, RawDir, open},
    io::Errno,
    process::Pid,
};

use crate::{
    file::read_kernel,
    kernel,
    trouble::{Attempt, Result, Trouble},
};

/// Room for some hundred entries of /proc at a time.
const FOLDER_BYTES: usize = 16 << 10;

/// The bytes that the processes of each group have handed to write(2) and its kin so far, with all
/// their threads. What a child has written stays with its parent when that has waited for it
/// (kernel/exit.c, `wait_task_zombie`), so the sum never shrinks while a group's leader lives.
pub fn written_bytes(groups: &[Pid]) -> Result<Vec<u64>> {
    let mut written = vec![0; groups.len()];
    let mut buffer = [MaybeUninit::uninit(); FOLDER_BYTES];
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = open("/proc", flags, Mode::empty()).attempt(|| "open /proc".into())?;
    let mut entries = RawDir::new(folder, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry.attempt(|| "read /proc".into())?;
        let Some(pid) = entry.file_name().to_str().ok().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let Ok(group) = kernel::process_group(pid) else {
            continue;
        };
        for (_, written) in
            groups.iter().zip(&mut written).filter(|(of, _)| of.as_raw_pid() == group)
        {
            *written += written_by(pid)?;
        }
    }
    Ok(written)
}

/// What a process has written; nothing when it is gone.
fn written_by(pid: i32) -> Result<u64> {
    let path = format!("/proc/{pid}/io");
    match read_kernel(&path) {
        Ok(io) => wchar(&io).ok_or_else(|| Trouble::other(format!("{path} has no wchar"))),
        Err(Errno::NOENT | Errno::SRCH) => Ok(0),
        Err(errno) => Err(errno).attempt(|| format!("read {path}")),
    }
}

/// `wchar` of /proc/PID/io.
fn wchar(io: &str) -> Option<u64> {
    io.lines().find_map(|line| line.strip_prefix("wchar:")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use std::{
        io::Read,
        os::unix::process::CommandExt,
        process::{Command, Stdio},
    };

    use super::*;

    #[test]
    fn reads_the_written_bytes() {
        assert_eq!(wchar("rchar: 5\nwchar: 4200\nsyscr: 3\nwrite_bytes: 9\n"), Some(4200));
        assert_eq!(wchar("rchar: 5\n"), None);
    }

    #[test]
    fn counts_the_processes_of_a_group() {
        let script = "echo 12345; read line";
        let mut shell = Command::new("sh")
            .args(["-c", script])
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = [0; 6];
        shell.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
        let group = [Pid::from_raw(shell.id() as i32).unwrap()];
        let written = written_bytes(&group).unwrap();
        drop(shell.stdin.take());
        shell.wait().unwrap();
        assert_eq!(written, [6]);
        assert_eq!(written_bytes(&group).unwrap(), [0], "a process that is gone");
    }
}
