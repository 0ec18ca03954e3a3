use preemptlab_model::{Cpus, KernelConfig};

/// Facts about the kernel that the settings are for. `None` stands for an unknown fact: a setting
/// that depends on it gets a note, and is not refused.
#[derive(Clone, Debug, Default)]
pub struct KernelFacts {
    /// Release of the kernel, as `uname -r` prints it.
    pub release: String,
    /// Configuration of the kernel.
    pub config: Option<KernelConfig>,
    /// The CPUs that the machine can have (`/sys/devices/system/cpu/possible`).
    pub possible: Option<Cpus>,
    /// The scheduler's features, as debugfs `sched/features` lists them, without `NO_`.
    pub features: Option<Vec<String>>,
    /// Whether the kernel has `rcutree.enable_rcu_lazy`, as `/sys/module/rcutree/parameters` shows
    /// it.
    pub lazy_parameter: Option<bool>,
    /// Words that files of others put on the kernel's command line already.
    pub elsewhere: Vec<Elsewhere>,
    /// Length of the longest command line that boots the machine, without words of ours, in bytes; 0
    /// where it is not known.
    pub cmdline_bytes: usize,
}

/// A word of the command line that is not ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// Word of the command line.
    pub word: String,
    /// The file that it comes from.
    pub place: String,
}

impl KernelFacts {
    /// Returns the first two numbers of the release, such as 6.12.
    pub fn version(&self) -> Option<(u32, u32)> {
        let mut numbers = self.release.split(['.', '-', '+']).map(|text| text.parse().ok());
        Some((numbers.next()??, numbers.next()??))
    }
}
