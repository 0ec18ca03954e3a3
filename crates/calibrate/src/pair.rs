//! The two CPUs between which is measured.

use std::{fmt, path::Path};

use crate::{caches::shares_last, sysfs};
use preemptlab_protocol::caches::Distance;

/// The CPUs for what takes two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cpus {
    /// Two of them.
    Two(Pair),
    /// There is but one.
    One(OneCpu),
}

/// The only CPU that the program may use.
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
    /// How far they are from each other; `None` where the kernel does not tell.
    pub distance: Option<Distance>,
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cpu, other, distance } = self;
        let core = if *distance == Some(Distance::Core) { ", which share a core" } else { "" };
        write!(f, "CPUs {cpu} and {other}{core}")
    }
}

impl Cpus {
    /// Chooses among the CPUs that the program may use on a machine whose files are below `root`: the first one, and the
    /// first one of another core.
    pub fn choose(root: &Path, allowed: &[usize]) -> Self {
        let [cpu, others @ ..] = allowed else { return Self::One(OneCpu { cpu: 0, online: 1 }) };
        let siblings = siblings(root, *cpu);
        let of_another_core = others.iter().find(|other| !siblings.contains(other));
        let Some(other) = of_another_core.or(others.first()).copied() else {
            let online = sysfs::list(&root.join("sys/devices/system/cpu/online"));
            return Self::One(OneCpu { cpu: *cpu, online: online.map_or(1, |it| it.len().max(1)) });
        };
        Self::Two(Pair { cpu: *cpu, other, distance: distance(root, *cpu, other) })
    }
}

/// Reads the threads of a CPU's core.
fn siblings(root: &Path, cpu: usize) -> Vec<usize> {
    sysfs::list(&sysfs::cpu(root, cpu).join("topology/thread_siblings_list")).unwrap_or_default()
}

/// Returns how far two CPUs are from each other; `None` where the kernel does not tell.
fn distance(root: &Path, cpu: usize, other: usize) -> Option<Distance> {
    if siblings(root, cpu).contains(&other) {
        return Some(Distance::Core);
    }
    if shares_last(root, cpu, other)? {
        return Some(Distance::Complex);
    }
    let socket = |cpu| sysfs::number(&sysfs::cpu(root, cpu).join("topology/physical_package_id"));
    Some(if socket(cpu)? == socket(other)? { Distance::Socket } else { Distance::Far })
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
        let two = |cpu, other, distance| Cpus::Two(Pair { cpu, other, distance });
        let threads = machine("0-1\n", "0-3\n");
        assert_eq!(Cpus::choose(threads.path(), &[0, 1, 2, 3]), two(0, 2, None));
        assert_eq!(Cpus::choose(threads.path(), &[0, 1]), two(0, 1, Some(Distance::Core)));
        assert_eq!(Cpus::choose(machine("0\n", "0-1\n").path(), &[0, 1]), two(0, 1, None));
        // A machine that does not tell, or tells nonsense.
        for nonsense in ["", "x", "0-", "1-99999999999", "0-4000000000"] {
            let root = machine(nonsense, "0-1\n");
            assert_eq!(Cpus::choose(root.path(), &[0, 1]), two(0, 1, None), "{nonsense}");
        }
        assert_eq!(Cpus::choose(Path::new("/absent"), &[3, 5]), two(3, 5, None));
    }

    #[test]
    fn how_far_cpus_are_follows_from_what_they_share() {
        let root = machine("0\n", "0-7\n");
        let write = |path: &str, text: &str| {
            let path = root.path().join("sys/devices/system/cpu").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let distance = |other| distance(root.path(), 0, other);
        write("cpu0/cache/index3/level", "3\n");
        write("cpu0/cache/index3/type", "Unified\n");
        assert_eq!(distance(1), None);
        write("cpu0/cache/index3/shared_cpu_list", "0-3\n");
        assert_eq!((distance(0), distance(3)), (Some(Distance::Core), Some(Distance::Complex)));
        assert_eq!(distance(4), None);
        for (cpu, socket) in [(0, "0\n"), (4, "0\n"), (6, "1\n"), (7, "-1\n")] {
            write(&format!("cpu{cpu}/topology/physical_package_id"), socket);
        }
        assert_eq!((distance(4), distance(6)), (Some(Distance::Socket), Some(Distance::Far)));
        assert_eq!(distance(7), None);
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
