//! The kernels that can be had, and which models each of them offers.

use preemptlab_model::{KernelConfig, KernelRef, counted};
use preemptlab_report::{Cell, Column, Table, Tone, yes_or_no};
use serde::Serialize;

/// Options of kernels: symbol, name, letter in the table.
const OPTIONS: [(&str, &str, &str); 5] = [
    ("NO_HZ_FULL", "nohz_full", "F"),
    ("RCU_NOCB_CPU", "rcu_nocbs", "N"),
    ("RCU_LAZY", "rcu_lazy", "L"),
    ("RCU_BOOST", "rcu_boost", "B"),
    ("SCHED_AUTOGROUP", "autogroup", "A"),
];

/// Tracers of latency: symbol, name.
const TRACERS: [(&str, &str); 4] = [
    ("OSNOISE_TRACER", "osnoise"),
    ("TIMERLAT_TRACER", "timerlat"),
    ("IRQSOFF_TRACER", "irqsoff"),
    ("PREEMPT_TRACER", "preemptoff"),
];

/// A kernel that can be had.
#[derive(Debug, Serialize)]
pub struct OfferedKernel {
    name: String,
    exact_name: String,
    version: String,
    release: String,
    config: Option<Config>,
    reason: Option<String>,
}

#[derive(Debug, Serialize)]
struct Config {
    modes: Vec<&'static str>,
    default_mode: Option<&'static str>,
    dynamic: bool,
    rt: bool,
    hz: Option<u32>,
    options: Vec<&'static str>,
    tracers: Vec<&'static str>,
}

/// The kernels that can be had, as a document.
#[derive(Debug, Serialize)]
pub struct Offers {
    format: u32,
    kernels: Vec<OfferedKernel>,
}

impl OfferedKernel {
    /// Describes a kernel by the name of its series, its exact name, its version and its release, and,
    /// where that is looked at, by its configuration or why there is none.
    pub fn new(
        series: &KernelRef,
        exact: &KernelRef,
        version: &str,
        release: String,
        config: Option<&Result<KernelConfig, String>>,
    ) -> Self {
        Self {
            name: series.to_string(),
            exact_name: exact.to_string(),
            version: version.to_owned(),
            release,
            config: config.and_then(|config| config.as_ref().ok()).map(describe),
            reason: config.and_then(|config| config.as_ref().err()).cloned(),
        }
    }
}

impl Offers {
    /// Lists kernels.
    pub fn new(kernels: Vec<OfferedKernel>) -> Self {
        Self { format: 1, kernels }
    }

    /// Shows the newest kernel of each series with its configuration.
    pub fn configurations(&self) -> Table {
        let columns = [
            Column::left("kernel"),
            Column::left("version"),
            Column::left("rt"),
            Column::left("modes, default first"),
            Column::right("HZ"),
            Column::left("options"),
            Column::left("latency tracers"),
        ];
        let mut table = Table::new("Kernels on offer, the newest of each series", columns);
        for row in &self.kernels {
            let Some(config) = &row.config else {
                let cells = [&row.name, &row.version].map(|cell| Cell::from(cell.as_str()));
                let unknown = ["?"; 5].map(|cell| Cell::new(cell, Tone::Faint));
                table.row(cells.into_iter().chain(unknown));
                continue;
            };
            let mut modes = config.modes.clone();
            modes.sort_by_key(|mode| Some(*mode) != config.default_mode);
            let letters = OPTIONS.map(
                |(_, option, letter)| {
                    if config.options.contains(&option) { letter } else { "-" }
                },
            );
            table.row([
                row.name.clone(),
                row.version.clone(),
                yes_or_no(Some(config.rt)).to_owned(),
                modes.join(" "),
                config.hz.map_or_else(|| "?".to_owned(), |hz| hz.to_string()),
                letters.join(" "),
                config.tracers.join(" "),
            ]);
        }
        let legend = OPTIONS.map(|(_, option, letter)| format!("{letter} {option}")).join(", ");
        table.notes.push(format!("Options: {legend}."));
        let mut unread = self.kernels.iter().filter(|row| row.config.is_none());
        if let Some(first) = unread.next() {
            let kernels = counted(unread.count() + 1, "kernel");
            let reason = first.reason.as_deref().unwrap_or("its configuration was not read");
            table.notes.push(format!(
                "?: the configuration of {kernels} is not at hand, as {reason}. They run all the same: \
                 the image holds it, and the first `preemptlab plan` or `run` brings that here."
            ));
        }
        table
            .notes
            .push("Use a name as it stands in `kernel = [...]` of an experiment.".to_owned());
        table
    }

    /// Shows every kernel.
    pub fn versions(&self) -> Table {
        let columns = [Column::left("kernel"), Column::left("release"), Column::left("series")];
        let mut table = Table::new("Every kernel on offer", columns);
        for row in &self.kernels {
            table.row([&row.exact_name, &row.release, &row.name].map(String::as_str));
        }
        table
    }
}

fn describe(config: &KernelConfig) -> Config {
    let options = OPTIONS.iter().filter(|(symbol, ..)| config.is_builtin(symbol));
    let tracers = TRACERS.iter().filter(|(symbol, _)| config.is_builtin(symbol));
    Config {
        modes: config.offered_modes().into_iter().map(|mode| mode.as_str()).collect(),
        default_mode: config.default_mode().map(|mode| mode.as_str()),
        dynamic: config.is_dynamic(),
        rt: config.is_rt(),
        hz: config.hz(),
        options: options.map(|(_, name, _)| *name).collect(),
        tracers: tracers.map(|(_, name)| *name).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mirror that has lost a package beside the kernel has the kernel all the same.
    #[test]
    fn a_kernel_whose_configuration_is_not_at_hand_has_its_row() {
        let kernel = |series: &str, config: &Result<KernelConfig, String>| {
            let (series, exact) = (series.parse().unwrap(), "debian:6.18.15".parse().unwrap());
            OfferedKernel::new(&series, &exact, "6.18.15", "6.18.15-amd64".to_owned(), Some(config))
        };
        let lost = Err("the mirror has no `linux-headers-6.18.15-amd64`".to_owned());
        let known = Ok(KernelConfig::parse("CONFIG_HZ=250\nCONFIG_PREEMPT_NONE=y\n"));
        let offers = Offers::new(vec![kernel("debian:6.12", &known), kernel("debian:6.18", &lost)]);
        let table = offers.configurations();
        assert!(table.csv().contains(r#""debian:6.18","6.18.15","?","?","?""#), "{}", table.csv());
        let notes = table.notes.join("\n");
        assert!(notes.contains("configuration of 1 kernel is not at hand"), "{notes}");
        assert!(notes.contains("linux-headers-6.18.15") && notes.contains("run all the same"));
    }
}
