//! The sizes of a CPU's caches, as its kernel tells them.

use std::path::{Path, PathBuf};

use preemptlab_protocol::caches::LINE_BYTES;

use super::reason::NoCaches;
use crate::sysfs;

/// No CPU has more caches.
const INDEXES_MAX: u32 = 16;

/// A cache as the kernel tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// Its size in bytes.
    pub bytes: u64,
    /// Lines of a set.
    pub ways: u32,
}

/// The caches of a CPU, as the kernel tells them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToldCaches {
    /// The CPU.
    pub cpu: usize,
    /// The first one, of data.
    pub l1d: Told,
    /// The first one, of instructions.
    pub l1i: Told,
    /// The second one.
    pub l2: Told,
    /// The third one, where there is one.
    pub l3: Option<Told>,
}

impl ToldCaches {
    /// Reads the caches of a CPU of the machine whose files are below `root`.
    ///
    /// # Errors
    ///
    /// [`NoCaches`] where the sizes of a cache are not told, or its lines are others than those of a profile.
    pub fn read(root: &Path, cpu: usize) -> Result<Self, NoCaches> {
        let of = |what, level, kind| {
            find(root, cpu, level, kind)?.ok_or(NoCaches::NotTold { cpu, cache: what })
        };
        Ok(Self {
            cpu,
            l1d: of("first cache of data", 1, "Data")?,
            l1i: of("first cache of instructions", 1, "Instruction")?,
            l2: of("second cache", 2, "Unified")?,
            l3: is_told(root, cpu, 3).then(|| of("third cache", 3, "Unified")).transpose()?,
        })
    }

    /// Returns the cache that is the nearest to memory.
    pub fn last(&self) -> Told {
        self.l3.unwrap_or(self.l2)
    }

    /// Returns whether another CPU has caches of the same sizes.
    pub fn are_those_of(&self, root: &Path, other: usize) -> bool {
        Self::read(root, other).is_ok_and(|told| Self { cpu: self.cpu, ..told } == *self)
    }
}

/// Returns whether two CPUs share the last cache; `None` where the kernel does not tell.
pub fn shares_last(root: &Path, cpu: usize, other: usize) -> Option<bool> {
    let last = if is_told(root, cpu, 3) { 3 } else { 2 };
    let shared = folder(root, cpu, last, "Unified")?.join("shared_cpu_list");
    sysfs::list(&shared).map(|sharing| sharing.contains(&other))
}

/// Returns the folders of a CPU's caches.
fn folders(root: &Path, cpu: usize) -> impl Iterator<Item = PathBuf> + use<> {
    let caches = sysfs::cpu(root, cpu).join("cache");
    (0..INDEXES_MAX).map(move |index| caches.join(format!("index{index}")))
}

/// Returns whether the kernel tells anything of a cache of a level.
fn is_told(root: &Path, cpu: usize, level: u32) -> bool {
    folders(root, cpu).any(|folder| sysfs::number(&folder.join("level")) == Some(level))
}

/// Returns the folder of the cache of a level and a kind.
fn folder(root: &Path, cpu: usize, level: u32, kind: &str) -> Option<PathBuf> {
    folders(root, cpu).find(|folder| {
        sysfs::number(&folder.join("level")) == Some(level)
            && sysfs::text(&folder.join("type")).as_deref() == Some(kind)
    })
}

/// Finds the cache of a level and a kind; `None` where the kernel does not tell its size.
fn find(root: &Path, cpu: usize, level: u32, kind: &str) -> Result<Option<Told>, NoCaches> {
    let Some(folder) = folder(root, cpu, level, kind) else { return Ok(None) };
    let kib = sysfs::text(&folder.join("size"));
    let kib = kib.and_then(|text| text.strip_suffix('K')?.parse::<u32>().ok());
    let [ways, line_bytes] = ["ways_of_associativity", "coherency_line_size"]
        .map(|name| sysfs::number(&folder.join(name)));
    let (Some(kib @ 1..), Some(ways @ 1..), Some(line_bytes)) = (kib, ways, line_bytes) else {
        return Ok(None);
    };
    if line_bytes != LINE_BYTES {
        return Err(NoCaches::Lines { cpu, line_bytes });
    }
    Ok(Some(Told { bytes: u64::from(kib) << 10, ways }))
}

/// Makes up the files of caches of a CPU: of each `(level, type, size, ways)`.
#[cfg(test)]
pub fn write(root: &Path, cpu: usize, caches: &[(&str, &str, &str, &str)]) {
    for (index, (level, kind, size, ways)) in caches.iter().enumerate() {
        let folder = sysfs::cpu(root, cpu).join(format!("cache/index{index}"));
        std::fs::create_dir_all(&folder).unwrap();
        for (name, text) in [
            ("level", level),
            ("type", kind),
            ("size", size),
            ("ways_of_associativity", ways),
            ("coherency_line_size", &"64"),
        ] {
            std::fs::write(folder.join(name), format!("{text}\n")).unwrap();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// An Intel Xeon of a virtual machine.
    const XEON: [(&str, &str, &str, &str); 4] = [
        ("1", "Data", "48K", "12"),
        ("1", "Instruction", "32K", "8"),
        ("2", "Unified", "2048K", "16"),
        ("3", "Unified", "307200K", "20"),
    ];

    fn said(root: &Path) -> String {
        ToldCaches::read(root, 0).unwrap_err().to_string()
    }

    #[test]
    fn sizes_and_ways_are_those_of_the_cpu() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), 0, &XEON);
        let told = ToldCaches::read(root.path(), 0).unwrap();
        assert_eq!(told.l1d, Told { bytes: 48 << 10, ways: 12 });
        assert_eq!(told.l3, Some(Told { bytes: 300 << 20, ways: 20 }));
        assert_eq!(told.last(), Told { bytes: 300 << 20, ways: 20 });
        // Another CPU of the machine, as of a hybrid one.
        write(root.path(), 1, &XEON);
        assert!(told.are_those_of(root.path(), 1));
        write(root.path(), 1, &[("1", "Data", "32K", "8")]);
        assert!(!told.are_those_of(root.path(), 1));
        assert!(!told.are_those_of(root.path(), 2));
    }

    #[test]
    fn a_machine_may_have_two_levels() {
        let root = tempfile::tempdir().unwrap();
        // A Raspberry Pi 4.
        let pi = [
            ("1", "Data", "32K", "2"),
            ("1", "Instruction", "48K", "3"),
            ("2", "Unified", "1024K", "16"),
        ];
        write(root.path(), 0, &pi);
        let told = ToldCaches::read(root.path(), 0).unwrap();
        assert_eq!((told.l3, told.last()), (None, Told { bytes: 1 << 20, ways: 16 }));
        assert_eq!(shares_last(root.path(), 0, 3), None);
        let shared = sysfs::cpu(root.path(), 0).join("cache/index2/shared_cpu_list");
        fs::write(shared, "0-3\n").unwrap();
        let shares = |other| shares_last(root.path(), 0, other);
        assert_eq!((shares(3), shares(4)), (Some(true), Some(false)));
        // A level that is told in part is not one that is missing.
        for third in [("3", "Data", "4096K", "16"), ("3", "Unified", "", "16")] {
            write(root.path(), 0, &[&pi[..], &[third]].concat());
            assert!(said(root.path()).contains("does not tell the third cache of CPU 0"));
        }
    }

    #[test]
    fn a_cache_that_is_not_told_is_named() {
        let root = tempfile::tempdir().unwrap();
        assert!(said(root.path()).contains("does not tell the first cache of data of CPU 0"));
        write(root.path(), 0, &XEON[..2]);
        assert!(said(root.path()).contains("does not tell the second cache of CPU 0"));
        let sizes = root.path().join("sys/devices/system/cpu/cpu0/cache/index2");
        for (file, nonsense) in [
            ("size", ""),
            ("size", "0K"),
            ("size", "2M"),
            ("size", "-1K"),
            ("size", "99999999999K"),
            ("ways_of_associativity", "0"),
            ("ways_of_associativity", "many"),
            ("coherency_line_size", ""),
            ("type", "Data"),
            ("level", "9"),
        ] {
            write(root.path(), 0, &XEON);
            fs::write(sizes.join(file), nonsense).unwrap();
            assert!(said(root.path()).contains("the second cache of CPU 0"), "{file} {nonsense}");
        }
        write(root.path(), 0, &XEON);
        fs::write(sizes.join("coherency_line_size"), "128\n").unwrap();
        assert!(said(root.path()).contains("lines of 128 bytes"), "{}", said(root.path()));
    }
}
