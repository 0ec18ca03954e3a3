//! What a command gives up before it is executed: everything that reaches beyond its cell.
//!
//! Where the host found that it can be so, commands are in a user namespace of their own, in which
//! ids begin at the owner of the cell's root: root there is nobody on the machine. Real-time
//! priorities and locked memory then come from resource limits, which the host has set. Otherwise
//! root is the machine's, and keeps the two capabilities that those need.

use alloc::{boxed::Box, format, vec::Vec};
use core::{
    ptr,
    sync::atomic::{AtomicPtr, Ordering},
};

use linux_raw_sys::{
    general::{__NR_clone, __NR_prctl, __NR_seccomp, CLONE_NEWUSER, SIGCHLD},
    prctl::PR_CAPBSET_DROP,
};
use preemptlab_protocol::live::{FILTER_FILE, IDS};
use rustix::{
    fd::{AsFd, OwnedFd},
    fs::stat,
    io::Errno,
    process::{DumpableBehavior, Pid, Signal, kill_process, set_dumpable_behavior, setpgid},
    thread::{
        CapabilitiesSecureBits, CapabilitySet, CapabilitySets, Gid, LinkNameSpaceType, Uid,
        move_into_link_name_space, set_capabilities, set_capabilities_secure_bits,
        set_no_new_privs, set_thread_groups, set_thread_res_gid, set_thread_res_uid,
    },
};

use preemptlab_sys::arch::syscall;

use super::file;
use crate::{
    clock,
    kernel::{self, Wait},
    trouble::{Attempt, Result, Trouble, name},
};

/// What root needs to use its own files and to become another user, and nothing else.
const ROOT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID);

/// What benchmarks need of the machine's root: real-time priorities and locked memory.
const REAL_TIME: CapabilitySet = CapabilitySet::SYS_NICE.union(CapabilitySet::IPC_LOCK);

/// The number of bits in a set of capabilities.
const CAPABILITIES: usize = 64;

/// The first to be killed when memory runs out (proc_pid_oom_score_adj(5)).
const OOM_SCORE_ADJ: (&str, &str) = ("/run/machine/proc/self/oom_score_adj", "1000");

/// An instruction of a filter, as the kernel takes it (`struct sock_filter`).
type Instruction = u64;

/// The longest filter that the kernel takes (`BPF_MAXINSNS`), in bytes.
const FILTER_BYTES_MAX: usize = 4096 * size_of::<Instruction>();

/// `struct sock_fprog`.
#[repr(C)]
struct Program {
    length: u16,
    instructions: *const Instruction,
}

const SECCOMP_SET_MODE_FILTER: usize = 1;

/// Leaves speculation as it is: with a filter of its own a command would be slower by what some
/// kernels do against it.
const SECCOMP_FILTER_FLAG_SPEC_ALLOW: usize = 1 << 2;

struct Confinement {
    /// Root's rights there.
    kept: CapabilitySet,
    users: Option<OwnedFd>,
    filter: Vec<Instruction>,
}

/// Made once, and never freed.
static CONFINEMENT: AtomicPtr<Confinement> = AtomicPtr::new(ptr::null_mut());

/// Makes what commands are confined to.
pub fn prepare() -> Result<()> {
    let bytes =
        file::read(FILTER_FILE, FILTER_BYTES_MAX).attempt(|| format!("read {FILTER_FILE}"))?;
    let (instructions, rest) = bytes.as_chunks::<{ size_of::<Instruction>() }>();
    if instructions.is_empty() || !rest.is_empty() {
        return Err(Trouble::other(format!("{FILTER_FILE} is no filter")));
    }
    let filter = instructions.iter().map(|bytes| Instruction::from_ne_bytes(*bytes)).collect();
    let owner = stat("/").attempt(|| "look at /".into())?.st_uid;
    let (kept, users) = match owner {
        0 => (ROOT | REAL_TIME, None),
        first => (ROOT, Some(users(first)?)),
    };
    let confinement = Box::leak(Box::new(Confinement { kept, users, filter }));
    CONFINEMENT.store(confinement, Ordering::Relaxed);
    Ok(())
}

/// Makes sure that a command can be confined, before there is one.
pub fn rehearse() -> Result<()> {
    // SAFETY: this process has one thread, and the child calls nothing but the kernel.
    let child = unsafe { kernel::fork() }.attempt(|| "fork".into())?;
    let Some(child) = child else {
        let _ = setpgid(None, None);
        kernel::exit(enter().err().map_or(0, Errno::raw_os_error));
    };
    match status(child).attempt(|| "wait for a child".into())? {
        0 => Ok(()),
        status => {
            // An exit status is in the second byte (wait(2)).
            let error = name(Errno::from_raw_os_error(status >> 8 & 0xff));
            Err(Trouble::other(format!("commands cannot be confined: {error}")))
        }
    }
}

/// Confines the calling process for good.
pub fn enter() -> core::result::Result<(), Errno> {
    // SAFETY: what is stored was leaked, and is not written to again.
    let confinement = unsafe { CONFINEMENT.load(Ordering::Relaxed).as_ref() };
    let confinement = confinement.ok_or(Errno::INVAL)?;
    // Until it is another program nothing else in the cell may look into this one, which has the
    // machine's files open.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    file::write_kernel(OOM_SCORE_ADJ.0, OOM_SCORE_ADJ.1)?;
    if let Some(users) = &confinement.users {
        move_into_link_name_space(users.as_fd(), Some(LinkNameSpaceType::User))?;
        set_thread_groups(&[])?;
        set_thread_res_gid(Gid::ROOT, Gid::ROOT, Gid::ROOT)?;
        set_thread_res_uid(Uid::ROOT, Uid::ROOT, Uid::ROOT)?;
    }
    for number in 0..CAPABILITIES {
        if confinement.kept.bits() & 1 << number != 0 {
            continue;
        }
        // SAFETY: no pointers.
        match unsafe { syscall(__NR_prctl, [PR_CAPBSET_DROP as usize, number, 0, 0]) } {
            // The kernel knows no more of them.
            Err(Errno::INVAL) if number > 0 => break,
            result => result?,
        };
    }
    let kept = confinement.kept;
    let inheritable = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable })?;
    set_no_new_privs(true)?;
    let program = Program {
        length: confinement.filter.len() as u16,
        instructions: confinement.filter.as_ptr(),
    };
    let filter = ptr::from_ref(&program).addr();
    let arguments = [SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, filter, 0];
    // SAFETY: the program is as long as it says, and the kernel only reads it.
    unsafe { syscall(__NR_seccomp, arguments) }.map(drop)
}

/// Makes a user namespace, whose ids begin at `first` on the machine.
fn users(first: u32) -> Result<OwnedFd> {
    let what = || "make a user namespace for commands (user_namespaces(7))".into();
    let child = first_inside(first).attempt(what)?;
    let map = format!("0 {first} {IDS}");
    let namespace = preemptlab_sys::file::write_kernel(&format!("/proc/{child}/uid_map"), &map)
        .and_then(|()| preemptlab_sys::file::write_kernel(&format!("/proc/{child}/gid_map"), &map))
        .and_then(|()| preemptlab_sys::file::open(&format!("/proc/{child}/ns/user")));
    let _ = kill_process(child, Signal::KILL);
    let _ = status(child);
    namespace.attempt(what)
}

/// The first process of a user namespace, which does nothing.
///
/// The namespace belongs to the user that root in it is. So its processes are counted apart from
/// those of the machine's root, and all of them together have the resource limit that this process
/// has now (`create_user_ns` in kernel/user_namespace.c).
fn first_inside(owner: u32) -> core::result::Result<Pid, Errno> {
    let user = |id| set_thread_res_uid(None, Uid::from_raw(id), None);
    set_capabilities_secure_bits(CapabilitiesSecureBits::NO_SETUID_FIXUP)?;
    user(owner)?;
    let flags = CLONE_NEWUSER | SIGCHLD;
    // SAFETY: as fork(2); this process has one thread.
    let forked = unsafe { syscall(__NR_clone, [flags as usize, 0, 0, 0]) };
    if forked == Ok(0) {
        let _ = setpgid(None, None);
        loop {
            clock::sleep_ns(clock::NS_PER_SEC);
        }
    }
    user(0)?;
    set_capabilities_secure_bits(CapabilitiesSecureBits::empty())?;
    Pid::from_raw(forked? as i32).ok_or(Errno::CHILD)
}

/// Waits for a child to end; its status as wait(2) encodes it.
fn status(child: Pid) -> core::result::Result<i32, Errno> {
    let _ = setpgid(Some(child), Some(child));
    loop {
        match kernel::wait_group(child, Wait::Yes) {
            Err(Errno::INTR) => {}
            Ok(Some(waited)) => return Ok(waited.status),
            Ok(None) => return Err(Errno::CHILD),
            Err(errno) => return Err(errno),
        }
    }
}
