use std::fmt;

use serde::Serialize;

use crate::LockClass;

/// The outcome of playing a scenario. Times count from its start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// When the last thread had finished, or the scenario's end.
    pub end_ns: u64,
    /// In the order of the scenario.
    pub threads: Vec<ThreadOutcome>,
    /// Threads that wait for each other at the end.
    pub cycles: Vec<Cycle>,
}

impl Outcome {
    /// Whether every thread did all of its steps.
    pub fn is_finished(&self) -> bool {
        self.threads.iter().all(|thread| thread.finished_ns.is_some())
    }
}

/// The outcome of one thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ThreadOutcome {
    /// Its name.
    pub name: String,
    /// Every wait of its steps, also those that it never came to.
    pub waits: Vec<Wait>,
    /// When its last step ended; `None` when it never did.
    pub finished_ns: Option<u64>,
    /// Where it was at the end, when it had not finished.
    pub stuck: Option<Stuck>,
}

/// A wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Wait {
    /// Its step, counting from 1, with repetitions written out.
    pub step: usize,
    /// The kind of step.
    pub kind: WaitKind,
    /// When the step was begun; `None` when it never was.
    pub begin_ns: Option<u64>,
    /// When the wait was over as far as what it waits for is concerned; `None` when it never was,
    /// or nothing says when.
    pub due_ns: Option<u64>,
    /// When the thread was back in user space.
    pub back_ns: Option<u64>,
    /// From the one to the other.
    pub latency_ns: Option<u64>,
    /// The cause of the wait.
    pub cause: Cause,
}

/// The kind of step that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitKind {
    /// It sleeps until a time.
    SleepUntil,
    /// It sleeps for a time.
    Sleep,
    /// It takes a futex.
    Futex,
    /// A system call that sleeps or waits for an interrupt.
    Call,
}

/// The cause of a wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// A time.
    Time,
    /// A futex.
    Futex {
        /// Its name.
        name: String,
        /// Who gave it back last, if anybody had it in between.
        given_back_by: Option<String>,
    },
    /// An interrupt line.
    Interrupt {
        /// Its name.
        name: String,
        /// Which of its events it was, counting from 1.
        event: Option<usize>,
    },
}

/// Where a thread was at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stuck {
    /// The step that it was in or had before it, counting from 1.
    pub step: usize,
    /// Whether it had begun that step.
    pub begun: bool,
    /// The thing that the thread lacks.
    pub on: StuckOn,
    /// The threads that have what it waits for.
    pub holders: Vec<String>,
}

/// The thing that a stuck thread lacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StuckOn {
    /// A futex or lock.
    Resource(Resource),
    /// The next event of an interrupt line.
    Interrupt {
        /// Its name.
        name: String,
    },
    /// A time that had not come.
    Time,
    /// A CPU, or more of it than it had had.
    Cpu,
}

/// The thing that one thread holds and another waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// A futex.
    Futex {
        /// Its name.
        name: String,
    },
    /// A lock of the kernel's.
    Lock {
        /// Its kind.
        class: LockClass,
        /// Its name.
        name: String,
    },
}

/// Threads each of which waits for what the next one has, and the last for what the first has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cycle {
    /// Each thread once.
    pub links: Vec<Link>,
}

/// One thread that waits for another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Link {
    /// Who waits.
    pub thread: String,
    /// For what.
    pub resource: Resource,
    /// Who has it.
    pub holder: String,
}

impl fmt::Display for Resource {
    /// `the futex m`, `the mutex l`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Futex { name } => write!(f, "the futex {name}"),
            Self::Lock { class, name } => write!(f, "the {} {name}", class.as_str()),
        }
    }
}

impl fmt::Display for Stuck {
    /// `in step 2: waits for the futex m, which b holds`
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
    /// `a waits for the futex m, which b holds; b waits for the mutex l, which a holds`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, Link { thread, resource, holder }) in self.links.iter().enumerate() {
            let separator = if number == 0 { "" } else { "; " };
            write!(f, "{separator}{thread} waits for {resource}, which {holder} holds")?;
        }
        Ok(())
    }
}
