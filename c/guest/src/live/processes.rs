//! What procfs says of processes, where the kernel's own threads are in another's procfs.

#[path = "../processes.rs"]
#[expect(dead_code, reason = "a process namespace has no kernel threads to look for")]
mod guest;

use alloc::{collections::BTreeMap, format};
use core::mem::MaybeUninit;

pub use guest::{KernelThread, ran_ns, threads, written_bytes};
use rustix::{
    fs::{OFlags, RawDir},
    io::Errno,
};

use crate::{
    file::read_kernel,
    live::machine::{self, MACHINE_PROC},
    trouble::{Attempt, Result},
};

pub use crate::live::machine::CELL_PROC as WRITABLE;

/// Room for some hundred entries of /proc at a time.
const FOLDER_BYTES: usize = 16 << 10;

/// The process that begets every other kernel thread (kernel/kthread.c, `kthreadd`).
const KTHREADD: i32 = 2;

/// The kernel's own threads, by their process id on the machine.
pub fn kernel_threads() -> Result<BTreeMap<i32, KernelThread>> {
    let mut threads = BTreeMap::new();
    let mut buffer = [MaybeUninit::uninit(); FOLDER_BYTES];
    let folder = machine::open(MACHINE_PROC, OFlags::RDONLY | OFlags::DIRECTORY)
        .attempt(|| format!("open {MACHINE_PROC}"))?;
    let mut entries = RawDir::new(folder, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry.attempt(|| format!("read {MACHINE_PROC}"))?;
        if let Some(pid) = entry.file_name().to_str().ok().and_then(|name| name.parse().ok())
            && let Some(thread) = kernel_thread(pid)?
        {
            threads.insert(pid, thread);
        }
    }
    Ok(threads)
}

/// The kernel thread of that number; `None` for another process and for one that is gone.
fn kernel_thread(pid: i32) -> Result<Option<KernelThread>> {
    let read = |file: &str| {
        let path = format!("{MACHINE_PROC}{pid}/{file}");
        match read_kernel(&path) {
            Ok(text) => Ok(Some(text)),
            Err(Errno::NOENT | Errno::SRCH) => Ok(None),
            Err(errno) => Err(errno).attempt(|| format!("read {path}")),
        }
    };
    let Some(stat) = read("stat")? else { return Ok(None) };
    if pid != KTHREADD && parent(&stat) != Some(KTHREADD) {
        return Ok(None);
    }
    let Some(comm) = read("comm")? else { return Ok(None) };
    let ran_ns = read("schedstat")?.and_then(|text| text.split(' ').next()?.parse().ok());
    Ok(Some(KernelThread { name: guest::thread_name(&comm).into(), ran_ns }))
}

/// The parent's number: the second word after the name, which is in parentheses and may hold any
/// (proc_pid_stat(5)).
fn parent(stat: &str) -> Option<i32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}
