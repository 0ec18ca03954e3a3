//! Children that have ended.

use preemptlab_protocol::Exit;
use rustix::{io::Errno, process::Pid};

use crate::kernel::{self, Wait, Waited};

/// A process that ended and is gone now.
#[derive(Debug, PartialEq, Eq)]
pub struct Ended {
    pub pid: i32,
    pub exit: Exit,
    /// User time of the process and of the children that it waited for.
    pub user_ns: u64,
    /// System time, likewise.
    pub system_ns: u64,
    /// Context switches because it waited, likewise.
    pub voluntary_switches: u64,
    /// Context switches because another was to run, likewise.
    pub involuntary_switches: u64,
}

impl From<Waited> for Ended {
    fn from(waited: Waited) -> Self {
        let Waited { pid, status, user_ns, system_ns, voluntary_switches, involuntary_switches } =
            waited;
        let exit = decode(status);
        Self { pid, exit, user_ns, system_ns, voluntary_switches, involuntary_switches }
    }
}

/// Takes a child in this process group that has ended, if there is one. Orphans are children, too:
/// they are init's then.
pub fn take_ended(group: Pid) -> Option<Ended> {
    kernel::wait_group(group, Wait::No).ok().flatten().map(Ended::from)
}

/// Waits until a child in this process group has ended; `None` when there is none.
pub fn wait_for_group(group: Pid) -> Option<Ended> {
    loop {
        match kernel::wait_group(group, Wait::Yes) {
            Err(Errno::INTR) => {}
            result => return result.ok().flatten().map(Ended::from),
        }
    }
}

/// The status of a process that was waited for: wait(2).
fn decode(status: i32) -> Exit {
    match status & 0x7f {
        0 => Exit::Code(status >> 8 & 0xff),
        signal => Exit::Signal(signal),
    }
}

#[cfg(test)]
mod tests {
    use std::{os::unix::process::CommandExt, process::Command};

    use super::*;

    #[test]
    fn decodes_statuses() {
        assert_eq!(decode(0x0100), Exit::Code(1));
        assert_eq!(decode(9), Exit::Signal(9));
        assert_eq!(decode(0x8b), Exit::Signal(11), "with a core dump");
    }

    #[test]
    #[expect(clippy::zombie_processes, reason = "the function under test waits for the child")]
    fn waits_for_a_group() {
        let child = Command::new("false").process_group(0).spawn().unwrap();
        let group = Pid::from_raw(child.id() as i32).unwrap();
        let ended = wait_for_group(group).unwrap();
        assert_eq!((ended.pid, ended.exit), (child.id() as i32, Exit::Code(1)));
        assert_eq!(wait_for_group(group), None);
    }
}
