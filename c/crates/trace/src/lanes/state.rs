//! States of threads and CPUs while a trace is followed.

use super::{
    bounded::{Instants, Piece, Pieces, Sections},
    lane::LaneState,
};

/// A thread, by its number and the address of its `task_struct`: every CPU's idle task is number 0.
pub type Key = (u32, u64);

/// Reason or context of a state; a name is given by its place among those of the follower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Nothing,
    Syscall(u32),
    Name(usize),
    Woken,
    Preempted,
    Yielded,
}

/// Stretch of a lane while the trace is followed.
pub type Work = Piece<What>;

/// Since when a thread or CPU does something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doing {
    pub since_ns: u64,
    pub state: LaneState,
    pub cpu: Option<u32>,
    pub what: What,
}

impl Doing {
    /// Returns the state as a stretch that ends at some instant and begins in the window.
    pub fn until(self, start_ns: u64, end_ns: u64) -> Work {
        let Self { since_ns, state, cpu, what } = self;
        Piece { start_ns: since_ns.max(start_ns), end_ns, state, cpu, what }
    }
}

/// A thread that has been met.
pub struct Thread {
    pub comm: String,
    pub prio: i32,
    pub doing: Option<Doing>,
    /// Whether the thread has a lane, which the other fields are for.
    pub is_shown: bool,
    /// Whether the thread should have had a lane.
    pub is_left_out: bool,
    pub pieces: Pieces<What>,
    pub sections: Sections,
    pub instants: Instants,
    pub voluntary: u64,
    pub involuntary: u64,
}

/// A CPU, and the context of its current thread.
#[derive(Default)]
pub struct Processor {
    pub current: Option<Key>,
    pub is_softirq_thread: bool,
    /// Contexts in which the kernel works for the current thread, from the outermost to the
    /// innermost.
    pub context: Vec<What>,
    pub hardirq: Option<What>,
    pub softirq: Option<What>,
    /// The function of the lock that the thread has begun to wait for.
    pub lock: Option<What>,
    /// Whether preemption and interrupts are off, and since when that is the thread's.
    pub off: [bool; 2],
    pub off_since: [Option<u64>; 2],
    /// Time of the last request to give way, if it was a lazy one.
    pub lazily_asked_ns: Option<u64>,
    pub doing: Option<Doing>,
    pub is_shown: bool,
    pub pieces: Pieces<What>,
    pub between_threads: u64,
    pub with_idle: u64,
    pub schedules: u64,
}
