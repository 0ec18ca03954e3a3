//! What procfs says of processes.

use alloc::{collections::BTreeMap, format, string::String, vec, vec::Vec};
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

/// The procfs in which a process of the cell can be written to.
pub const WRITABLE: &str = "/proc/";

/// Room for some hundred entries of /proc at a time.
const FOLDER_BYTES: usize = 16 << 10;

/// The bytes that the processes of each group have handed to write(2) and its kin so far, with all
/// their threads. What a child has written stays with its parent when that has waited for it
/// (kernel/exit.c, `wait_task_zombie`), so the sum never shrinks while a group's leader lives.
pub fn written_bytes(groups: &[Pid]) -> Result<Vec<u64>> {
    let mut written = vec![0; groups.len()];
    for_each("/proc", |pid| {
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

/// One of the kernel's own threads.
pub struct KernelThread {
    pub name: String,
    /// How long it has run so far; `None` where the kernel does not say (`CONFIG_SCHED_INFO`).
    pub ran_ns: Option<u64>,
}

/// The kernel's own threads, by their process id.
pub fn kernel_threads() -> Result<BTreeMap<i32, KernelThread>> {
    let mut threads = BTreeMap::new();
    for_each("/proc", |pid| {
        // Kernel threads alone are in no process group (kernel/fork.c, `init_struct_pid`), but for
        // init, which began as one.
        if pid != INIT
            && kernel::process_group(pid) == Ok(0)
            && let Some(thread) = kernel_thread(pid)?
        {
            threads.insert(pid, thread);
        }
        Ok(())
    })?;
    Ok(threads)
}

/// How long each kernel thread ran between two looks, in nanoseconds; threads of one name are
/// added up, and those that did not run are left out.
pub fn ran_ns(
    before: &BTreeMap<i32, KernelThread>,
    after: &BTreeMap<i32, KernelThread>,
) -> BTreeMap<String, u64> {
    let mut by_name = BTreeMap::new();
    for (pid, thread) in after {
        let Some(so_far) = thread.ran_ns else { continue };
        let ran = so_far.saturating_sub(before.get(pid).and_then(|past| past.ran_ns).unwrap_or(0));
        if ran > 0 {
            *by_name.entry(thread.name.clone()).or_default() += ran;
        }
    }
    by_name
}

fn kernel_thread(pid: i32) -> Result<Option<KernelThread>> {
    let read = |file: &str| match read_kernel(&format!("/proc/{pid}/{file}")) {
        Ok(text) => Ok(Some(text)),
        Err(Errno::NOENT | Errno::SRCH) => Ok(None),
        Err(errno) => Err(errno).attempt(|| format!("read /proc/{pid}/{file}")),
    };
    let Some(comm) = read("comm")? else { return Ok(None) };
    let ran_ns = read("schedstat")?.and_then(|text| text.split(' ').next()?.parse().ok());
    Ok(Some(KernelThread { name: thread_name(&comm).into(), ran_ns }))
}

/// The name of a kernel thread without what a worker happens to work on, which procfs appends to it
/// after a `-` or a `+` (kernel/workqueue.c, `wq_worker_comm`).
pub fn thread_name(comm: &str) -> &str {
    match comm.strip_prefix("kworker/") {
        Some(_) => comm.split(['-', '+']).next().unwrap_or(comm),
        None => comm,
    }
}

/// The threads of a process; none when it is gone.
pub fn threads(process: Pid) -> Result<Vec<i32>> {
    let mut threads = Vec::new();
    let folder = format!("/proc/{}/task", process.as_raw_pid());
    for_each(&folder, |thread| {
        threads.push(thread);
        Ok(())
    })?;
    Ok(threads)
}

/// Calls a function with every process or thread that is in a folder of /proc.
fn for_each(path: &str, mut visit: impl FnMut(i32) -> Result<()>) -> Result<()> {
    let mut buffer = [MaybeUninit::uninit(); FOLDER_BYTES];
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = match open(path, flags, Mode::empty()) {
        Err(Errno::NOENT | Errno::SRCH) => return Ok(()),
        folder => folder.attempt(|| format!("open {path}"))?,
    };
    let mut entries = RawDir::new(folder, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = match entry {
            // The process has just ended.
            Err(Errno::NOENT | Errno::SRCH) => return Ok(()),
            entry => entry.attempt(|| format!("read {path}"))?,
        };
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
    fn threads_of_one_name_are_added_up_and_may_end() {
        let threads = |threads: &[(i32, &str, Option<u64>)]| -> BTreeMap<i32, KernelThread> {
            let thread = |&(pid, name, ran_ns): &(i32, &str, Option<u64>)| {
                (pid, KernelThread { name: name.into(), ran_ns })
            };
            threads.iter().map(thread).collect()
        };
        let before = threads(&[(2, "kworker/0:1", Some(900)), (3, "kworker/0:1", Some(50))]);
        let after = threads(&[
            (3, "kworker/0:1", Some(70)),
            (4, "kworker/0:1", Some(5)),
            (5, "rcu_preempt", None),
            (6, "ksoftirqd/0", Some(0)),
        ]);
        assert_eq!(ran_ns(&before, &after), [("kworker/0:1".into(), 25)].into());
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
