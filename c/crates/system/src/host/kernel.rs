use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use flate2::read::GzDecoder;
use preemptlab_model::KernelConfig;
use rustix::time::{ClockId, clock_getres};
use schemars::JsonSchema;
use serde::Serialize;

use crate::host::{
    files::{clocksource, line, mode_file},
    mode::{self, HostMode},
};

/// The most bytes of a config.
const CONFIG_BYTES_MAX: u64 = 4 << 20;

/// The running kernel, as its own files describe it. `None` stands for a file that cannot be read
/// here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HostKernel {
    /// `uname -r`.
    pub release: String,
    /// `uname -v`.
    pub version: String,
    /// Preemption mode.
    pub mode: HostMode,
    /// Whether the kernel is built with `PREEMPT_RT`.
    pub rt: bool,
    /// The tick's frequency: the inverse of the resolution of `CLOCK_MONOTONIC_COARSE`, which is
    /// one tick (clock_getres(2)).
    pub hz: Option<u32>,
    /// The clock source in use.
    pub clocksource: Option<String>,
    /// CPUs that run without a tick while they have one task (`nohz_full=`), as the kernel took it.
    pub nohz_full: Option<String>,
    /// Isolated CPUs (`isolcpus=`), as the kernel took it.
    pub isolated: Option<String>,
    /// `rcu_nocbs=` of the command line.
    pub rcu_nocbs: Option<String>,
    /// Whether interrupt handlers run in threads, because of `threadirqs` or rt.
    pub threaded_interrupts: bool,
    /// `kernel.sched_rt_runtime_us`; -1 means no throttling.
    pub sched_rt_runtime_us: Option<i64>,
    /// Kernel command line.
    pub cmdline: String,
    /// The path of the config.
    pub config_path: Option<PathBuf>,
}

impl HostKernel {
    /// Observes the kernel under `root` (`/` for the machine itself).
    pub fn observe(root: &Path) -> Self {
        let uname = rustix::system::uname();
        let release = uname.release().to_string_lossy().into_owned();
        let version = uname.version().to_string_lossy().into_owned();
        let cmdline = line(&root.join("proc/cmdline")).unwrap_or_default();
        let config = kernel_config(root, &release);
        let mode_file = mode_file(root);
        let rt = line(&root.join("sys/kernel/realtime")).as_deref() == Some("1")
            || config.as_ref().is_some_and(|(_, config)| config.is_rt());
        let parameter = |name: &str| {
            cmdline
                .split_whitespace()
                .filter_map(|parameter| parameter.strip_prefix(name)?.strip_prefix('='))
                .next_back()
                .map(str::to_owned)
        };
        Self {
            mode: mode::work_out(
                mode_file.as_deref(),
                config.as_ref().map(|(_, config)| config),
                &cmdline,
            ),
            rt,
            hz: hz(),
            clocksource: clocksource(root),
            nohz_full: cpu_list(root, "sys/devices/system/cpu/nohz_full"),
            isolated: cpu_list(root, "sys/devices/system/cpu/isolated"),
            rcu_nocbs: parameter("rcu_nocbs"),
            threaded_interrupts: rt || cmdline.split_whitespace().any(|word| word == "threadirqs"),
            sched_rt_runtime_us: line(&root.join("proc/sys/kernel/sched_rt_runtime_us"))
                .and_then(|text| text.parse().ok()),
            config_path: config.map(|(path, _)| path),
            release,
            version,
            cmdline,
        }
    }
}

/// Reads a list of CPUs, for which the kernel prints `(null)` or nothing when it is empty.
fn cpu_list(root: &Path, path: &str) -> Option<String> {
    line(&root.join(path)).filter(|list| !list.is_empty() && list.trim() != "(null)")
}

fn hz() -> Option<u32> {
    let resolution = clock_getres(ClockId::MonotonicCoarse);
    let tick_ns = u64::try_from(resolution.tv_sec).ok()? * 1_000_000_000
        + u64::try_from(resolution.tv_nsec).ok()?;
    // The kernel rounds the tick to nanoseconds, so that HZ=300 is 3333333 ns.
    u32::try_from((1_000_000_000 + tick_ns / 2).checked_div(tick_ns)?).ok()
}

/// Finds the config of a kernel that is installed under `root`, or of the running one, with its
/// path; `None` if there is no config.
pub fn kernel_config(root: &Path, release: &str) -> Option<(PathBuf, KernelConfig)> {
    let plain = [
        format!("boot/config-{release}"),
        format!("usr/lib/modules/{release}/config"),
        format!("lib/modules/{release}/config"),
    ];
    for path in plain.map(|path| root.join(path)) {
        if let Ok(text) = fs::read_to_string(&path) {
            return Some((path, KernelConfig::parse(&text)));
        }
    }
    // The running kernel's own, whichever was asked for.
    if rustix::system::uname().release().to_string_lossy() != release {
        return None;
    }
    let path = root.join("proc/config.gz");
    let mut text = String::new();
    GzDecoder::new(fs::File::open(&path).ok()?)
        .take(CONFIG_BYTES_MAX + 1)
        .read_to_string(&mut text)
        .ok()?;
    // A part of a config would say of the rest that it is off.
    if text.len() as u64 > CONFIG_BYTES_MAX {
        return None;
    }
    Some((path, KernelConfig::parse(&text)))
}

#[cfg(test)]
mod tests {
    use preemptlab_model::PreemptMode;

    use super::*;
    use crate::host::files::write;

    #[test]
    fn the_kernels_own_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        write(root, "sys/kernel/debug/sched/preempt", "none (voluntary) full\n");
        write(root, "proc/cmdline", "quiet rcu_nocbs=1-3 threadirqs rcu_nocbs=2\n");
        write(root, "sys/devices/system/cpu/nohz_full", "  (null)\n");
        write(root, "sys/devices/system/cpu/isolated", "2-3\n");
        let kernel = HostKernel::observe(root);
        assert_eq!(kernel.mode.active, Some(PreemptMode::Voluntary));
        assert_eq!(kernel.rcu_nocbs.as_deref(), Some("2"));
        assert_eq!(kernel.nohz_full, None);
        assert_eq!(kernel.isolated.as_deref(), Some("2-3"));
        assert!(kernel.threaded_interrupts && !kernel.rt);
    }

    #[test]
    fn an_unreadable_machine_is_described_without_guesses() {
        let folder = tempfile::tempdir().unwrap();
        let kernel = HostKernel::observe(folder.path());
        assert_eq!(kernel.mode.active, None);
        assert!(!kernel.release.is_empty());
    }
}
