use preemptlab_model::{Cpus, KernelConfig};

/// What is known of the kernel that the settings are for. `None` stands for what is not known: what
/// cannot be checked is said, and not refused.
#[derive(Clone, Debug, Default)]
pub struct KernelFacts {
    /// Its release, as `uname -r` prints it.
    pub release: String,
    /// Its config.
    pub config: Option<KernelConfig>,
    /// The CPUs that the machine can have (`/sys/devices/system/cpu/possible`).
    pub possible: Option<Cpus>,
    /// The scheduler's features, as debugfs `sched/features` lists them, without `NO_`.
    pub features: Option<Vec<String>>,
    /// Whether `rcutree.enable_rcu_lazy` is there, as `/sys/module/rcutree/parameters` shows it.
    pub lazy_parameter: Option<bool>,
    /// What files of others put on the kernel's command line already.
    pub elsewhere: Vec<Elsewhere>,
}

/// A word of the command line that is not ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// The word.
    pub word: String,
    /// The file that it comes from.
    pub place: String,
}

impl KernelFacts {
    /// The first two numbers of the release, such as 6.12.
    pub fn version(&self) -> Option<(u32, u32)> {
        let mut numbers = self.release.split(['.', '-', '+']).map(|text| text.parse().ok());
        Some((numbers.next()??, numbers.next()??))
    }
}
