use std::{path::Path, thread};

use crate::host::files::line;

/// Load of this machine, and the CPUs and memory that it has left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// The CPUs that this process may use.
    pub cpus: usize,
    /// The mean number of tasks that ran or waited for a CPU in the last minute (proc(5),
    /// `/proc/loadavg`).
    pub average: Option<f64>,
    /// The memory that is available without swapping, in MiB (proc(5), `MemAvailable`).
    pub available_mib: Option<u64>,
}

/// Observes the load of the machine with this root folder.
pub fn load(root: &Path) -> Load {
    let average = line(&root.join("proc/loadavg"));
    let memory = line(&root.join("proc/meminfo"));
    Load {
        cpus: thread::available_parallelism().map_or(1, std::num::NonZero::get),
        average: average.and_then(|text| text.split(' ').next()?.parse().ok()),
        available_mib: memory.and_then(|text| {
            let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
            Some(line.split_whitespace().next()?.parse::<u64>().ok()? / 1024)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::files::write;

    #[test]
    fn what_the_kernel_tells_is_read_and_nothing_is_guessed() {
        let root = tempfile::tempdir().unwrap();
        let observed = load(root.path());
        assert_eq!((observed.average, observed.available_mib), (None, None));
        write(root.path(), "proc/loadavg", "5.83 6.01 4.99 9/812 12345\n");
        let memory = "MemTotal:       16384000 kB\nMemAvailable:    8192000 kB\n";
        write(root.path(), "proc/meminfo", memory);
        let observed = load(root.path());
        assert_eq!((observed.average, observed.available_mib), (Some(5.83), Some(8000)));
    }
}
