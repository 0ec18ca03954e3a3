//! The machine's influence on a measurement: stolen time, heat, load, frequency.

use std::{collections::BTreeSet, fs, path::Path};

use preemptlab_model::Conditions;

use crate::host::files::{clocksource, line};

const CPUS: &str = "sys/devices/system/cpu";

/// An observation of the machine, from before a measurement to after it.
#[derive(Clone, Debug)]
pub struct Watch {
    begun: Conditions,
    throttled: Option<u64>,
}

impl Watch {
    /// Begins to observe the machine under `root` (`/` for the machine itself).
    pub fn begin(root: &Path) -> Self {
        let (ticks, steal_ticks) = time(root).unwrap_or_default();
        let begun = Conditions {
            order: 0,
            start_unix_s: 0,
            boot_id: boot_id(root),
            clocksource: clocksource(root),
            governors: governors(root),
            turbo: turbo(root),
            smt: line(&root.join(CPUS).join("smt/active")).map(|active| active == "1"),
            hypervisor: is_guest(root),
            ticks,
            steal_ticks,
            temperature_before_mc: temperature_mc(root),
            temperature_after_mc: None,
            throttled: None,
            load_average_centi: load_average_centi(root),
        };
        Self { begun, throttled: throttled(root) }
    }

    /// Ends the observation and returns the conditions, except order and time, which the caller
    /// knows.
    pub fn end(self, root: &Path) -> Conditions {
        let (ticks, steal_ticks) = time(root).unwrap_or_default();
        let Self { begun, throttled: before } = self;
        Conditions {
            ticks: ticks.saturating_sub(begun.ticks),
            steal_ticks: steal_ticks.saturating_sub(begun.steal_ticks),
            temperature_after_mc: temperature_mc(root),
            throttled: throttled(root)
                .zip(before)
                .map(|(after, before)| after.saturating_sub(before)),
            ..begun
        }
    }
}

/// Reads the id of the machine's boot (random(4)).
pub fn boot_id(root: &Path) -> Option<String> {
    line(&root.join("proc/sys/kernel/random/boot_id"))
}

fn number<T: std::str::FromStr>(path: &Path) -> Option<T> {
    line(path)?.parse().ok()
}

/// Reads the time of all CPUs so far and its stolen part, in clock ticks (proc_stat(5)). `user` and
/// `nice` already include the time of guests.
fn time(root: &Path) -> Option<(u64, u64)> {
    let stat = fs::read_to_string(root.join("proc/stat")).ok()?;
    let of_all = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> =
        of_all.split_whitespace().take(8).map_while(|word| word.parse().ok()).collect();
    Some((ticks.iter().sum(), ticks.get(7).copied().unwrap_or(0)))
}

/// Lists the folders `cpuN`, in the order of their names.
fn cpus(root: &Path) -> Vec<std::path::PathBuf> {
    folders(&root.join(CPUS), |name| {
        name.strip_prefix("cpu").is_some_and(|number| number.parse::<u32>().is_ok())
    })
}

fn folders(of: &Path, is_wanted: impl Fn(&str) -> bool) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(of).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries
        .filter(|entry| entry.file_name().to_str().is_some_and(&is_wanted))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}

fn governors(root: &Path) -> Vec<String> {
    let governors: BTreeSet<String> =
        cpus(root).iter().filter_map(|cpu| line(&cpu.join("cpufreq/scaling_governor"))).collect();
    governors.into_iter().collect()
}

/// Reads whether turbo is on: from intel_pstate, which says whether it is off, or from any other
/// driver, which says whether it is on (Documentation/admin-guide/pm/intel_pstate.rst and
/// cpufreq.rst).
fn turbo(root: &Path) -> Option<bool> {
    let off = number::<u8>(&root.join(CPUS).join("intel_pstate/no_turbo")).map(|off| off == 0);
    off.or_else(|| number::<u8>(&root.join(CPUS).join("cpufreq/boost")).map(|on| on == 1))
}

fn is_guest(root: &Path) -> bool {
    let cpuinfo = fs::read_to_string(root.join("proc/cpuinfo")).unwrap_or_default();
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    flags.split_whitespace().any(|flag| flag == "hypervisor")
}

/// Reads the temperature of the hottest zone, in thousandths of a degree
/// (Documentation/driver-api/thermal/sysfs-api.rst).
fn temperature_mc(root: &Path) -> Option<i64> {
    let zones = folders(&root.join("sys/class/thermal"), |name| name.starts_with("thermal_zone"));
    zones.iter().filter_map(|zone| number(&zone.join("temp"))).max()
}

/// Counts how often any core was throttled for heat so far (arch/x86/kernel/cpu/mce/therm_throt.c).
fn throttled(root: &Path) -> Option<u64> {
    let counts = cpus(root)
        .into_iter()
        .filter_map(|cpu| number::<u64>(&cpu.join("thermal_throttle/core_throttle_count")));
    counts.reduce(u64::saturating_add)
}

/// Reads the load average of the last minute, in hundredths (proc_loadavg(5)).
fn load_average_centi(root: &Path) -> Option<u32> {
    let text = line(&root.join("proc/loadavg"))?;
    let (whole, hundredths) = text.split_whitespace().next()?.split_once('.')?;
    let whole: u32 = whole.parse().ok()?;
    whole.checked_mul(100)?.checked_add(hundredths.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::files::write;

    #[test]
    fn what_happened_is_the_difference() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        write(root, "proc/stat", "cpu  100 0 50 800 10 0 5 35 0 0\ncpu0 1 2 3\n");
        write(root, "proc/loadavg", "1.07 0.50 0.10 1/99 1234\n");
        write(root, "proc/cpuinfo", "processor : 0\nflags : fpu hypervisor sse\n");
        for (cpu, governor) in [(0, "powersave"), (1, "performance"), (10, "powersave")] {
            let cpu = format!("{CPUS}/cpu{cpu}");
            write(root, &format!("{cpu}/cpufreq/scaling_governor"), governor);
            write(root, &format!("{cpu}/thermal_throttle/core_throttle_count"), "3\n");
        }
        write(root, "sys/class/thermal/thermal_zone0/temp", "41000\n");
        write(root, "sys/class/thermal/thermal_zone1/temp", "52000\n");
        let watch = Watch::begin(root);
        write(root, "proc/stat", "cpu  150 0 60 820 10 0 5 55 0 0\n");
        write(root, &format!("{CPUS}/cpu1/thermal_throttle/core_throttle_count"), "5\n");
        let conditions = watch.end(root);
        assert_eq!((conditions.ticks, conditions.steal_ticks), (100, 20));
        assert_eq!(conditions.governors, ["performance", "powersave"]);
        assert_eq!((conditions.throttled, conditions.load_average_centi), (Some(2), Some(107)));
        assert_eq!(conditions.temperature_before_mc, Some(52_000));
        assert!(conditions.hypervisor && conditions.turbo.is_none());
    }

    #[test]
    fn nothing_is_guessed() {
        let folder = tempfile::tempdir().unwrap();
        let conditions = Watch::begin(folder.path()).end(folder.path());
        assert_eq!(conditions, Conditions::default());
    }
}
