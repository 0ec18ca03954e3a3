use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use crate::LockClass;

/// The outcome of playing a scenario. Times count from its start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Outcome {
    /// End of the last thread, or of the scenario.
    pub end_ns: u64,
    /// Outcomes of the threads, in the order of the scenario.
    pub threads: Vec<ThreadOutcome>,
    /// Threads that wait for each other at the end.
    pub cycles: Vec<Cycle>,
}

impl Outcome {
    /// Returns whether every thread did all of its steps.
    pub fn is_finished(&self) -> bool {
        self.threads.iter().all(|thread| thread.finished_ns.is_some())
    }
}

/// The outcome of one thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ThreadOutcome {
    /// Name of the thread.
    pub name: String,
    /// Every wait of its steps, also those that it never came to.
    pub waits: Vec<Wait>,
    /// Futexes and locks that it waited for while other threads held them, in the order in which it
    /// first did.
    pub blocked: Vec<BlockedOn>,
    /// End of its last step; `None` when it never ended.
    pub finished_ns: Option<u64>,
    /// Place of a thread that had not finished.
    pub stuck: Option<Stuck>,
}

impl ThreadOutcome {
    /// Returns the time for which others held the locks and futexes that it waited for, in
    /// nanoseconds.
    pub fn blocked_ns(&self) -> u64 {
        self.blocked.iter().fold(0, |sum_ns, on| sum_ns.saturating_add(on.blocked_ns))
    }
}

/// Futex or lock that a thread waited for while other threads held it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BlockedOn {
    /// The futex or lock.
    pub resource: Resource,
    /// Number of times that the thread had to wait for the resource.
    pub count: usize,
    /// Time from the attempts to take it until the last holder before the thread released it, or to
    /// the end of the scenario where none did, in nanoseconds.
    pub blocked_ns: u64,
}

/// Wait of a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Wait {
    /// Index of the step, counting from 1, with repetitions written out.
    pub step: usize,
    /// The kind of step.
    pub kind: WaitKind,
    /// Start of the step; `None` when it never began.
    pub begin_ns: Option<u64>,
    /// Time at which the thread was to go on, even if it had not begun to wait by then; `None` when
    /// it never could, or when nothing tells the time.
    pub due_ns: Option<u64>,
    /// Time at which the thread was back in user space.
    pub back_ns: Option<u64>,
    /// Time from `due_ns` to `back_ns`.
    pub latency_ns: Option<u64>,
    /// The cause of the wait.
    pub cause: Cause,
}

/// The kind of step that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitKind {
    /// The thread sleeps until a time.
    SleepUntil,
    /// The thread sleeps for a time.
    Sleep,
    /// The thread takes a futex.
    Futex,
    /// A system call that sleeps or waits for an interrupt.
    Call,
}

/// The cause of a wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// A time.
    Time,
    /// A futex.
    Futex {
        /// Name of the futex.
        name: String,
        /// Thread that released it last, if another one had it in between.
        given_back_by: Option<String>,
    },
    /// An interrupt line.
    Interrupt {
        /// Name of the interrupt line.
        name: String,
        /// Index of its event, counting from 1.
        event: Option<usize>,
    },
}

/// Place of a thread at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Stuck {
    /// The step that it was in or had before it, counting from 1.
    pub step: usize,
    /// Whether the thread had begun that step.
    pub begun: bool,
    /// The thing that the thread lacks.
    pub on: StuckOn,
    /// Threads that hold the awaited resource.
    pub holders: Vec<String>,
}

/// The thing that a stuck thread lacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StuckOn {
    /// A futex or lock.
    Resource(Resource),
    /// The next event of an interrupt line.
    Interrupt {
        /// Name of the interrupt line.
        name: String,
    },
    /// A time that had not come.
    Time,
    /// A CPU, or more of it than it had had.
    Cpu,
}

/// The thing that one thread holds and another waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// A futex.
    Futex {
        /// Name of the futex.
        name: String,
    },
    /// A lock of the kernel's.
    Lock {
        /// Kind of the lock.
        class: LockClass,
        /// Name of the lock.
        name: String,
    },
}

/// Cycle of threads, each of which waits for a resource of the next, and the last for one of the
/// first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Cycle {
    /// Links of the cycle; each thread waits in one of them.
    pub links: Vec<Link>,
}

/// Thread that waits for another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Link {
    /// Name of the thread that waits.
    pub thread: String,
    /// Resource that it waits for.
    pub resource: Resource,
    /// Name of the thread that holds the resource.
    pub holder: String,
}

impl fmt::Display for Resource {
    /// Writes words such as `the futex m` or `the mutex l`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Futex { name } => write!(f, "the futex {name}"),
            Self::Lock { class, name } => write!(f, "the {} {name}", class.as_str()),
        }
    }
}

impl fmt::Display for Stuck {
    /// Writes words such as `in step 2: waits for the futex m, which b holds`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.begun { "in" } else { "before" };
        write!(f, "{place} step {}: ", self.step)?;
        match &self.on {
            StuckOn::Resource(resource) => write!(f, "waits for {resource}")?,
            StuckOn::Interrupt { name } => write!(f, "waits for the interrupt {name}")?,
            StuckOn::Time => write!(f, "sleeps")?,
            StuckOn::Cpu => write!(f, "waits for a CPU or is not done with it")?,
        }
        match &self.holders[..] {
            [] => Ok(()),
            [one] => write!(f, ", which {one} holds"),
            several => write!(f, ", which {} hold", several.join(" and ")),
        }
    }
}

impl fmt::Display for Cycle {
    /// Writes words such as `a waits for the futex m, which b holds; b waits for the mutex l, which
    /// a holds`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, Link { thread, resource, holder }) in self.links.iter().enumerate() {
            let separator = if number == 0 { "" } else { "; " };
            write!(f, "{separator}{thread} waits for {resource}, which {holder} holds")?;
        }
        Ok(())
    }
}
