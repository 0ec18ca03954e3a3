//! What procfs says of processes.

use alloc::{format, string::String, vec, vec::Vec};
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

/// The process that this is.
const INIT: i32 = 1;

/// Room for some hundred entries of /proc at a time.
const FOLDER_BYTES: usize = 16 << 10;

/// The bytes that the processes of each group have handed to write(2) and its kin so far, with all
/// their threads. What a child has written stays with its parent when that has waited for it
/// (kernel/exit.c, `wait_task_zombie`), so the sum never shrinks while a group's leader lives.
pub fn written_bytes(groups: &[Pid]) -> Result<Vec<u64>> {
    let mut written = vec![0; groups.len()];
    for_each(|pid| {
        let Ok(group) = kernel::process_group(pid) else { return Ok(()) };
        for (_, written) in
            groups.iter().zip(&mut written).filter(|(of, _)| of.as_raw_pid() == group)
        {
            *written += written_by(pid)?;
        }
        Ok(())
    })?;
    Ok(written)
}

/// The kernel's own threads: names, and how long each has run so far, in nanoseconds.
pub fn kernel_threads() -> Result<Vec<(String, u64)>> {
    let mut threads = Vec::new();
    for_each(|pid| {
        // Kernel threads alone are in no process group (kernel/fork.c, `init_struct_pid`), but for
        // init, which began as one.
        if pid != INIT
            && kernel::process_group(pid) == Ok(0)
            && let Some(thread) = kernel_thread(pid)?
        {
            threads.push(thread);
        }
        Ok(())
    })?;
    Ok(threads)
}

fn kernel_thread(pid: i32) -> Result<Option<(String, u64)>> {
    let read = |file: &str| match read_kernel(&format!("/proc/{pid}/{file}")) {
        Ok(text) => Ok(Some(text)),
        Err(Errno::NOENT | Errno::SRCH) => Ok(None),
        Err(errno) => Err(errno).attempt(|| format!("read /proc/{pid}/{file}")),
    };
    let (Some(name), Some(statistics)) = (read("comm")?, read("schedstat")?) else {
        return Ok(None);
    };
    let ns = statistics.split(' ').next().and_then(|ns| ns.parse().ok());
    Ok(ns.map(|ns| (thread_name(&name).into(), ns)))
}

/// The name of a kernel thread without what a worker happens to work on, which procfs appends to it
/// after a `-` or a `+` (kernel/workqueue.c, `wq_worker_comm`).
fn thread_name(comm: &str) -> &str {
    match comm.strip_prefix("kworker/") {
        Some(_) => comm.split(['-', '+']).next().unwrap_or(comm),
        None => comm,
    }
}

/// Calls a function with every process of /proc.
fn for_each(mut visit: impl FnMut(i32) -> Result<()>) -> Result<()> {
    let mut buffer = [MaybeUninit::uninit(); FOLDER_BYTES];
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = open("/proc", flags, Mode::empty()).attempt(|| "open /proc".into())?;
    let mut entries = RawDir::new(folder, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry.attempt(|| "read /proc".into())?;
        if let Some(pid) = entry.file_name().to_str().ok().and_then(|name| name.parse().ok()) {
            visit(pid)?;
        }
    }
    Ok(())
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
    fn the_work_of_a_worker_is_no_part_of_its_name() {
        for comm in ["kworker/u4:1-kvfree_rcu_reclaim", "kworker/u4:1+events", "kworker/u4:1"] {
            assert_eq!(thread_name(comm), "kworker/u4:1");
        }
        assert_eq!(thread_name("irq/9-acpi"), "irq/9-acpi");
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
