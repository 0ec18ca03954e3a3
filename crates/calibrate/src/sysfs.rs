//! The kernel's words about CPUs (Documentation/ABI/testing/sysfs-devices-system-cpu).

use std::{
    io::Read,
    path::{Path, PathBuf},
};

use rustix::thread::CpuSet;

/// A list of CPUs, or any other file that is read here, is shorter.
const BYTES_MAX: u64 = 4096;

/// Returns the folder of a CPU of the machine whose files are below `root`.
pub fn cpu(root: &Path, cpu: usize) -> PathBuf {
    root.join(format!("sys/devices/system/cpu/cpu{cpu}"))
}

/// Reads a file, without the blanks around it.
pub fn text(path: &Path) -> Option<String> {
    let text = String::from_utf8(preemptlab_files::read(path, BYTES_MAX).ok()?).ok()?;
    Some(text.trim().to_owned())
}

/// Reads the first lines of a file that has some for each CPU.
pub fn begin(path: &Path) -> Option<String> {
    let mut text = String::new();
    let file = preemptlab_files::open(path).ok()?;
    file.take(BYTES_MAX).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Reads a number.
pub fn number(path: &Path) -> Option<u32> {
    text(path)?.parse().ok()
}

/// Reads a list of CPUs, such as `0-3,8`; `None` if it is none.
pub fn list(path: &Path) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for range in text(path)?.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if last >= CpuSet::MAX_CPU {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}
