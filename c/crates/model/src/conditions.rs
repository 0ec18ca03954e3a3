use serde::{Deserialize, Serialize};

/// Conditions of the machine during a cell that ran in the machine's own time. A condition that
/// cannot be read is `None` or empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conditions {
    /// Number of cells that this run had executed before; cells are executed one at a time.
    pub order: u32,
    /// Start of the cell, in seconds since 1970 in UTC.
    pub start_unix_s: u64,
    /// The boot that it ran in (`/proc/sys/kernel/random/boot_id`).
    pub boot_id: Option<String>,
    /// The clock source in use.
    pub clocksource: Option<String>,
    /// The frequency governors of the CPUs, each once; empty where none is in charge.
    pub governors: Vec<String>,
    /// Whether CPUs may run above their nominal frequency.
    pub turbo: Option<bool>,
    /// Whether two hardware threads of one core are online.
    pub smt: Option<bool>,
    /// Whether the machine is itself a guest: the flag `hypervisor` of its CPUs.
    pub hypervisor: bool,
    /// CPU time that passed meanwhile on all CPUs, in clock ticks (`USER_HZ`).
    pub ticks: u64,
    /// Time that a hypervisor kept to itself, in ticks (`steal` of /proc/stat).
    pub steal_ticks: u64,
    /// The hottest thermal zone before the cell, in thousandths of a degree Celsius.
    pub temperature_before_mc: Option<i64>,
    /// Temperature of the hottest zone after the cell, in thousandths of a degree Celsius.
    pub temperature_after_mc: Option<i64>,
    /// Number of times that CPUs were throttled for heat meanwhile, where they count it.
    pub throttled: Option<u64>,
    /// Load average over the last minute before the cell, in hundredths of a task, which shows the
    /// other work of the machine.
    pub load_average_centi: Option<u32>,
}

/// A share of stolen time from which on a cell's latencies are not its kernel's alone.
const STEAL_PERCENT_MAX: u64 = 1;

impl Conditions {
    /// Returns the conditions that may have changed the results, in words; none on a quiet machine
    /// at a fixed frequency.
    pub fn disturbances(&self) -> Vec<String> {
        let mut found = Vec::new();
        if self.steal_ticks * 100 > self.ticks * STEAL_PERCENT_MAX {
            found.push(format!("a hypervisor took more than {STEAL_PERCENT_MAX} % of the time"));
        }
        if self.throttled.is_some_and(|count| count > 0) {
            found.push("CPUs were throttled for heat".to_owned());
        }
        if let Some(governor) = self.governors.iter().find(|governor| *governor != "performance") {
            found.push(format!("the frequency governor was {governor}, not performance"));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_moves_numbers_is_a_disturbance() {
        let quiet = Conditions {
            governors: vec!["performance".into()],
            ticks: 1000,
            steal_ticks: 10,
            throttled: Some(0),
            ..Conditions::default()
        };
        assert_eq!(quiet.disturbances(), Vec::<String>::new());
        let loud = Conditions {
            governors: vec!["performance".into(), "powersave".into()],
            steal_ticks: 11,
            throttled: Some(1),
            ..quiet
        };
        let said = loud.disturbances().join("; ");
        for word in ["hypervisor", "throttled", "powersave"] {
            assert!(said.contains(word), "{said}");
        }
    }
}
