//! The two CPUs between which is measured.

use std::{fmt, path::Path};

use rustix::thread::{CpuSet, sched_getaffinity};

use crate::CalibrateError;

/// A list of siblings is shorter.
const LIST_BYTES_MAX: u64 = 4096;

/// The CPUs for what takes two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cpus {
    /// Two of them.
    Two(Pair),
    /// There is but one.
    One(OneCpu),
}

/// The only CPU that this process may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneCpu {
    /// Its number.
    pub cpu: usize,
    /// Number of CPUs that are online.
    pub online: usize,
}

/// Two CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// One.
    pub cpu: usize,
    /// The other.
    pub other: usize,
    /// Whether they are threads of one core.
    pub one_core: bool,
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cpu, other, one_core } = self;
        let core = if *one_core { ", which share a core" } else { "" };
        write!(f, "CPUs {cpu} and {other}{core}")
    }
}

impl Cpus {
    /// Chooses among the CPUs that this process may use: the first one, and the first one of another core.
    ///
    /// # Errors
    ///
    /// [`CalibrateError::Program`] when the kernel does not tell which ones it may use.
    pub fn of_this_process() -> Result<Self, CalibrateError> {
        let set = sched_getaffinity(None).map_err(|errno| CalibrateError::Program(errno.into()))?;
        let allowed: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect();
        Ok(Self::choose(Path::new("/"), &allowed))
    }

    /// Chooses among CPUs of a machine whose files are below `root`.
    fn choose(root: &Path, allowed: &[usize]) -> Self {
        let [cpu, others @ ..] = allowed else { return Self::One(OneCpu { cpu: 0, online: 1 }) };
        let folder = root.join("sys/devices/system/cpu");
        let list = |path: String| listed(&folder.join(path)).unwrap_or_default();
        let siblings = list(format!("cpu{cpu}/topology/thread_siblings_list"));
        let of_another_core = others.iter().find(|other| !siblings.contains(other));
        match (of_another_core, others.first()) {
            (Some(other), _) => Self::Two(Pair { cpu: *cpu, other: *other, one_core: false }),
            (None, Some(other)) => Self::Two(Pair { cpu: *cpu, other: *other, one_core: true }),
            (None, None) => {
                let online = list("online".to_owned()).len().max(1);
                Self::One(OneCpu { cpu: *cpu, online })
            }
        }
    }
}

/// Reads a list of CPUs of sysfs, such as `0-3,8`; `None` if it is none.
fn listed(path: &Path) -> Option<Vec<usize>> {
    let text = String::from_utf8(preemptlab_files::read(path, LIST_BYTES_MAX).ok()?).ok()?;
    let mut cpus = Vec::new();
    for range in text.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if last >= CpuSet::MAX_CPU {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn machine(siblings_of_first: &str, online: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let cpus = root.path().join("sys/devices/system/cpu");
        fs::create_dir_all(cpus.join("cpu0/topology")).unwrap();
        fs::write(cpus.join("cpu0/topology/thread_siblings_list"), siblings_of_first).unwrap();
        fs::write(cpus.join("online"), online).unwrap();
        root
    }

    #[test]
    fn the_other_cpu_is_one_of_another_core() {
        let two = |cpu, other, one_core| Cpus::Two(Pair { cpu, other, one_core });
        let threads = machine("0-1\n", "0-3\n");
        assert_eq!(Cpus::choose(threads.path(), &[0, 1, 2, 3]), two(0, 2, false));
        assert_eq!(Cpus::choose(threads.path(), &[0, 1]), two(0, 1, true));
        assert_eq!(Cpus::choose(machine("0\n", "0-1\n").path(), &[0, 1]), two(0, 1, false));
        // A machine that does not tell, or tells nonsense.
        for nonsense in ["", "x", "0-", "1-99999999999", "0-4000000000"] {
            let root = machine(nonsense, "0-1\n");
            assert_eq!(Cpus::choose(root.path(), &[0, 1]), two(0, 1, false), "{nonsense}");
        }
        assert_eq!(Cpus::choose(Path::new("/absent"), &[3, 5]), two(3, 5, false));
    }

    #[test]
    fn one_cpu_is_named_with_the_number_of_those_online() {
        let root = machine("0-1\n", "0-2,5\n");
        assert_eq!(Cpus::choose(root.path(), &[2]), Cpus::One(OneCpu { cpu: 2, online: 4 }));
        assert_eq!(
            Cpus::choose(Path::new("/absent"), &[0]),
            Cpus::One(OneCpu { cpu: 0, online: 1 })
        );
    }
}
