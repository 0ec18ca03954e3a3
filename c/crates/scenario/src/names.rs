use std::collections::BTreeMap;

use preemptlab_protocol::script::{LOCKS_MAX, LockKind};
use schemars::JsonSchema;
use serde::Serialize;

/// The kind of lock that a name belongs to: readers and writers share a `rwlock_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LockClass {
    /// `spinlock_t`
    Spinlock,
    /// `raw_spinlock_t`
    RawSpinlock,
    /// `struct mutex`
    Mutex,
    /// `struct rt_mutex`
    RtMutex,
    /// `rwlock_t`
    Rwlock,
}

impl LockClass {
    /// Returns the name of the class.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Spinlock => "spinlock",
            Self::RawSpinlock => "raw spinlock",
            Self::Mutex => "mutex",
            Self::RtMutex => "rt_mutex",
            Self::Rwlock => "rwlock",
        }
    }
}

impl From<LockKind> for LockClass {
    fn from(kind: LockKind) -> Self {
        match kind {
            LockKind::Spin => Self::Spinlock,
            LockKind::RawSpin => Self::RawSpinlock,
            LockKind::Mutex => Self::Mutex,
            LockKind::RtMutex => Self::RtMutex,
            LockKind::Read | LockKind::Write => Self::Rwlock,
        }
    }
}

/// The names of futexes and locks by their numbers, in the order in which the file names them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Names {
    pub futexes: Vec<String>,
    pub locks: BTreeMap<LockClass, Vec<String>>,
}

impl Names {
    /// Returns the number of a futex; `None` when there are too many.
    pub fn futex_number(&mut self, name: &str) -> Option<u8> {
        number(&mut self.futexes, name)
    }

    /// Returns the number of a lock within its class; `None` when there are too many.
    pub fn lock_number(&mut self, class: LockClass, name: &str) -> Option<u8> {
        number(self.locks.entry(class).or_default(), name)
    }

    pub fn futex(&self, number: u8) -> &str {
        self.futexes.get(usize::from(number)).map_or("?", String::as_str)
    }

    pub fn lock(&self, class: LockClass, number: u8) -> &str {
        let names = self.locks.get(&class).map_or(&[][..], Vec::as_slice);
        names.get(usize::from(number)).map_or("?", String::as_str)
    }
}

fn number(names: &mut Vec<String>, name: &str) -> Option<u8> {
    let found = names.iter().position(|known| known == name);
    let number = u8::try_from(found.unwrap_or(names.len())).ok()?;
    if number >= LOCKS_MAX {
        return None;
    }
    if found.is_none() {
        names.push(name.to_owned());
    }
    Some(number)
}
