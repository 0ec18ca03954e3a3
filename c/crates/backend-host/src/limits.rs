//! The resources of the machine that a cell may use, and the owner of its files.

use std::{fs, io, path::Path};

use rustix::{
    process::{Resource, Rlimit, setrlimit},
    thread::{CapabilitySet, capabilities},
};

/// The first id of a cell's user namespace on the machine: beyond those that systemd and containers
/// give away (systemd's "Users, Groups, UIDs and GIDs"), and of no user.
const FIRST_ID: u32 = 1_900_000_000;

/// User id of the machine's root, whose cells have no user namespace.
const MACHINE_ROOT: u32 = 0;

/// Processes and threads of a cell, all together; a machine has 32768 or more.
const PROCESSES_MAX: u64 = 30_000;

/// 1 instead of 0: then not even a program that the machine has for them sees a core (core(5)).
const CORE_BYTES: u64 = 1;

const PRIORITY_MAX: u64 = 99;

/// Limit that allows nice -20 (getrlimit(2)).
const NICE_MAX: u64 = 40;

/// Returns the owner of a cell's root: the first id of a user namespace of the cell's own, or the
/// machine's root where there cannot be one.
///
/// Root of such a namespace has no capability of the machine's, and so gets real-time priorities from
/// resource limits. Raising these takes CAP_SYS_RESOURCE, which some virtual machines and containers
/// keep from their root.
pub fn owner() -> u32 {
    let may_raise =
        capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_RESOURCE));
    let namespaces = fs::read_to_string("/proc/sys/user/max_user_namespaces");
    let there_are = namespaces.is_ok_and(|count| count.trim() != "0")
        && Path::new("/proc/self/ns/user").exists();
    if may_raise && there_are { FIRST_ID } else { MACHINE_ROOT }
}

/// Sets the limits of the calling process and of its children.
///
/// # Errors
///
/// The error of setrlimit(2).
pub fn set(owner: u32) -> io::Result<()> {
    let set = |resource, current, maximum| {
        setrlimit(resource, Rlimit { current, maximum }).map_err(io::Error::from)
    };
    let both = |resource, limit| set(resource, limit, limit);
    both(Resource::Core, Some(CORE_BYTES))?;
    if owner == MACHINE_ROOT {
        return Ok(());
    }
    both(Resource::Nproc, Some(PROCESSES_MAX))?;
    both(Resource::Memlock, None)?;
    both(Resource::Rtprio, Some(PRIORITY_MAX))?;
    both(Resource::Nice, Some(NICE_MAX))
}
