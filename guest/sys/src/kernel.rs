//! The system calls that rustix does not offer.

use core::{ffi::CStr, ops::RangeInclusive, ptr};

use linux_raw_sys::general::{
    __NR_clone, __NR_execve, __NR_exit_group, __NR_getpgid, __NR_kill, __NR_rt_sigaction,
    __NR_rt_sigprocmask, __NR_rt_sigtimedwait, __NR_sched_setattr, __NR_sched_setscheduler,
    __NR_setgid, __NR_setgroups, __NR_setuid, __NR_wait4, __kernel_timespec, SCHED_DEADLINE,
    SCHED_FIFO, SCHED_FLAG_RESET_ON_FORK, SCHED_NORMAL, SCHED_RESET_ON_FORK, SIG_SETMASK, SIGCHLD,
    WNOHANG, rusage,
};
use rustix::{
    io::Errno,
    process::{Pid, Signal},
};

use crate::{arch::syscall, clock};

/// Signals as the kernel takes them: bit n stands for signal n + 1.
type SignalSet = u64;
const SIGCHLD_ONLY: SignalSet = 1 << (SIGCHLD - 1);

/// Forks: clone(2) without any sharing. `None` in the child.
///
/// # Safety
///
/// As fork(2) without a C library: the process must have one thread.
pub unsafe fn fork() -> Result<Option<Pid>, Errno> {
    // SAFETY: no flag that needs a pointer is set.
    let pid = unsafe { syscall(__NR_clone, [SIGCHLD as usize, 0, 0, 0]) }?;
    Ok(Pid::from_raw(pid as i32))
}

/// Becomes another program: execve(2). Returns only if that fails.
///
/// # Safety
///
/// Both arrays must end with a null pointer and hold C strings before it.
pub unsafe fn execve(path: &CStr, argv: &[*const u8], environment: &[*const u8]) -> Errno {
    let arguments = [path.as_ptr().addr(), argv.as_ptr().addr(), environment.as_ptr().addr(), 0];
    // SAFETY: the caller answers for the arrays.
    unsafe { syscall(__NR_execve, arguments) }.err().unwrap_or(Errno::INVAL)
}

/// Ends the process: _exit(2).
pub fn exit(status: i32) -> ! {
    loop {
        // SAFETY: no pointers.
        let _ = unsafe { syscall(__NR_exit_group, [status as usize, 0, 0, 0]) };
    }
}

/// The process group of a process, which is 0 for the kernel's own: getpgid(2). `ESRCH` when the
/// process is gone.
pub fn process_group(pid: i32) -> Result<i32, Errno> {
    // SAFETY: no pointers.
    unsafe { syscall(__NR_getpgid, [pid as usize, 0, 0, 0]) }.map(|group| group as i32)
}

/// A process that was waited for.
pub struct Waited {
    /// Its number.
    pub pid: i32,
    /// As wait(2) encodes it.
    pub status: i32,
    /// User time of the process and of the children that it waited for.
    pub user_ns: u64,
    /// System time, likewise.
    pub system_ns: u64,
    /// Voluntary context switches, likewise.
    pub voluntary_switches: u64,
    /// Involuntary context switches, likewise.
    pub involuntary_switches: u64,
}

/// Whether to sleep until a child ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Sleep.
    Yes,
    /// Return at once.
    No,
}

/// Takes a child in a process group that has ended: wait4(2). `ECHILD` when the group has none.
pub fn wait_group(group: Pid, wait: Wait) -> Result<Option<Waited>, Errno> {
    let pid = -group.as_raw_pid();
    let options = if wait == Wait::No { WNOHANG } else { 0 };
    let mut status = 0_i32;
    // SAFETY: the type holds integers only.
    let mut usage: rusage = unsafe { core::mem::zeroed() };
    let arguments =
        [pid as usize, (&raw mut status).addr(), options as usize, (&raw mut usage).addr()];
    // SAFETY: both pointers are to what the kernel writes.
    let pid = unsafe { syscall(__NR_wait4, arguments) }? as i32;
    let ns = |seconds, micros| seconds as u64 * clock::NS_PER_SEC + micros as u64 * 1_000;
    Ok((pid > 0).then(|| Waited {
        pid,
        status,
        user_ns: ns(usage.ru_utime.tv_sec, usage.ru_utime.tv_usec),
        system_ns: ns(usage.ru_stime.tv_sec, usage.ru_stime.tv_usec),
        voluntary_switches: usage.ru_nvcsw as u64,
        involuntary_switches: usage.ru_nivcsw as u64,
    }))
}

/// Sets a process to `SCHED_FIFO`: sched_setscheduler(2).
pub fn set_fifo(process: Pid, priority: u8) -> Result<(), Errno> {
    set_scheduler(process.as_raw_pid(), SCHED_FIFO, priority)
}

/// Sets the calling process to `SCHED_FIFO`, and what it forks to `SCHED_OTHER`.
pub fn set_own_fifo(priority: u8) -> Result<(), Errno> {
    set_scheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, priority)
}

fn set_scheduler(pid: i32, policy: u32, priority: u8) -> Result<(), Errno> {
    // `struct sched_param` is one int.
    let priority = i32::from(priority);
    let arguments = [pid as usize, policy as usize, (&raw const priority).addr(), 0];
    // SAFETY: the pointer is to what the kernel reads.
    unsafe { syscall(__NR_sched_setscheduler, arguments) }.map(drop)
}

/// `struct sched_attr` of the first version (include/uapi/linux/sched/types.h), but for its size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// One of the kernel's numbers.
    pub policy: u32,
    /// Of `SCHED_FLAG_*`.
    pub flags: u64,
    /// Of an ordinary task.
    pub nice: i32,
    /// Of a real-time task.
    pub priority: u32,
    /// Runtime, deadline and period of a deadline task.
    pub times_ns: [u64; 3],
}

/// Sets a process to `SCHED_DEADLINE` with a runtime, a deadline and a period, and what it forks to
/// `SCHED_OTHER`, because it could fork nothing else.
pub fn set_deadline(process: Pid, times_ns: [u64; 3]) -> Result<(), Errno> {
    let flags = SCHED_FLAG_RESET_ON_FORK.into();
    let attributes =
        Attributes { policy: SCHED_DEADLINE, flags, times_ns, ..Attributes::default() };
    set_attributes(Some(process), attributes)
}

/// Sets the calling process to `SCHED_OTHER`, nice 0, and so what it forks.
pub fn set_own_ordinary() -> Result<(), Errno> {
    set_attributes(None, Attributes { policy: SCHED_NORMAL, ..Attributes::default() })
}

/// Sets the policy of a process, or of the calling one: sched_setattr(2).
pub fn set_attributes(process: Option<Pid>, attributes: Attributes) -> Result<(), Errno> {
    /// As the kernel reads it.
    #[repr(C)]
    struct Raw {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        times_ns: [u64; 3],
    }
    let Attributes { policy, flags, nice, priority, times_ns } = attributes;
    let raw = Raw { size: size_of::<Raw>() as u32, policy, flags, nice, priority, times_ns };
    let pid = process.map_or(0, Pid::as_raw_pid);
    // SAFETY: the pointer is to what the kernel reads.
    unsafe { syscall(__NR_sched_setattr, [pid as usize, (&raw const raw).addr(), 0, 0]) }.map(drop)
}

/// The ordinary user of the guest's /etc/passwd.
const USER: usize = 1000;

/// Gives up root for good: setgroups(2), setgid(2), setuid(2).
pub fn become_user() -> Result<(), Errno> {
    // SAFETY: the list of groups is empty, and the others take no pointers.
    unsafe {
        syscall(__NR_setgroups, [0, 0, 0, 0])?;
        syscall(__NR_setgid, [USER, 0, 0, 0])?;
        syscall(__NR_setuid, [USER, 0, 0, 0])?;
    }
    Ok(())
}

/// Keeps the signal that a child ended pending, for [`wait_child_signal`].
pub fn block_child_signal() -> Result<(), Errno> {
    set_signal_mask(SIGCHLD_ONLY)
}

/// Takes back [`block_child_signal`].
pub fn unblock_signals() -> Result<(), Errno> {
    set_signal_mask(0)
}

/// Every signal.
pub const SIGNALS: RangeInclusive<u32> = 1..=64;

/// `struct sigaction` of x86-64 and arm64, as the kernel reads it (include/linux/signal_types.h): the action is the
/// default one where all of it is 0.
type Action = [u64; 4];

/// Gives a signal its default action: rt_sigaction(2).
pub fn set_default_action(signal: u32) -> Result<(), Errno> {
    let action: Action = [0; 4];
    let mask_bytes = size_of::<SignalSet>();
    let arguments = [signal as usize, (&raw const action).addr(), 0, mask_bytes];
    // SAFETY: the pointer is to what the kernel reads.
    unsafe { syscall(__NR_rt_sigaction, arguments) }.map(drop)
}

/// Sends a signal to every process but the first one and the calling one: kill(2).
pub fn signal_all(signal: Signal) {
    // SAFETY: no pointers.
    let _ = unsafe { syscall(__NR_kill, [usize::MAX, signal.as_raw() as usize, 0, 0]) };
}

fn set_signal_mask(set: SignalSet) -> Result<(), Errno> {
    let arguments = [SIG_SETMASK as usize, (&raw const set).addr(), 0, size_of_val(&set)];
    // SAFETY: the pointer is to what the kernel reads.
    unsafe { syscall(__NR_rt_sigprocmask, arguments) }.map(drop)
}

/// Sleeps until a child has ended that was not seen yet, or the time is over: sigtimedwait(2).
/// Which it was, the caller finds out by looking.
pub fn wait_child_signal(timeout_ns: u64) {
    let set = SIGCHLD_ONLY;
    let timeout = __kernel_timespec {
        tv_sec: (timeout_ns / clock::NS_PER_SEC) as i64,
        tv_nsec: (timeout_ns % clock::NS_PER_SEC) as i64,
    };
    let arguments = [
        (&raw const set).addr(),
        ptr::null::<u8>().addr(),
        (&raw const timeout).addr(),
        size_of_val(&set),
    ];
    // SAFETY: the pointers are to what the kernel reads, or null.
    let _ = unsafe { syscall(__NR_rt_sigtimedwait, arguments) };
}
