//! The limits of this process that QEMU needs.

use rustix::process::{Resource, getrlimit};

use crate::args::TRANSLATION_CACHE_MIB;

/// Memory of QEMU besides the guest's memory and the translated code, in MiB: its program and
/// libraries, the memory that its threads reserve, and the tracing plugin. Half of it was measured.
const QEMU_MIB: u64 = 1024;

/// The stacks of QEMU's threads are as large as that of a program may be. It runs with these.
const STACK_KIB: u64 = 256;

/// Reason why QEMU would not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAllowed {
    /// This process is allowed too little address space.
    #[error(
        "a virtual machine of this experiment needs {needed_mib} MiB of address space, and this \
         process is allowed {allowed_mib} MiB: raise the limit (`ulimit -v`)"
    )]
    AddressSpace {
        /// Address space that QEMU needs, in MiB.
        needed_mib: u64,
        /// Address space that this process is allowed, in MiB.
        allowed_mib: u64,
    },
    /// The stacks of QEMU's threads would be too small.
    #[error(
        "a virtual machine needs stacks of {STACK_KIB} KiB, and this process is allowed \
         {allowed_kib} KiB: raise the limit (`ulimit -s`)"
    )]
    Stack {
        /// Size of a stack that this process is allowed, in KiB.
        allowed_kib: u64,
    },
}

/// Checks that a virtual machine with this memory can run here. A QEMU that lacks it would abort in
/// the middle of a cell.
///
/// # Errors
///
/// [`NotAllowed`]
pub fn check_allowed(memory_mib: u32) -> Result<(), NotAllowed> {
    check(memory_mib, getrlimit(Resource::As).current, getrlimit(Resource::Stack).current)
}

fn check(memory_mib: u32, space: Option<u64>, stack: Option<u64>) -> Result<(), NotAllowed> {
    let needed_mib = u64::from(memory_mib) + u64::from(TRANSLATION_CACHE_MIB) + QEMU_MIB;
    match (space.map(|bytes| bytes >> 20), stack.map(|bytes| bytes >> 10)) {
        (Some(allowed_mib), _) if allowed_mib < needed_mib => {
            Err(NotAllowed::AddressSpace { needed_mib, allowed_mib })
        }
        (_, Some(allowed_kib)) if allowed_kib < STACK_KIB => Err(NotAllowed::Stack { allowed_kib }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_little_is_said() {
        assert_eq!(check(u32::MAX, None, None), Ok(()));
        assert_eq!(check(512, Some(8 << 30), Some(8 << 20)), Ok(()));
        let said = check(4096, Some(2 << 30), None).unwrap_err().to_string();
        assert!(said.contains("is allowed 2048 MiB: raise the limit (`ulimit -v`)"), "{said}");
        let said = check(512, None, Some(64 << 10)).unwrap_err().to_string();
        assert!(said.contains("is allowed 64 KiB: raise the limit (`ulimit -s`)"), "{said}");
    }
}
