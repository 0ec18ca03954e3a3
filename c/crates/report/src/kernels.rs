//! The kernels on offer as tables.

use preemptlab_analysis::offers::{OPTIONS, Offers};
use preemptlab_model::counted;

use crate::{Cell, Column, Table, Tone, yes_or_no};

/// Returns a table of the newest kernel of each series with its configuration.
pub fn kernel_configurations_table(offers: &Offers) -> Table {
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
    for row in &offers.kernels {
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
    let mut unread = offers.kernels.iter().filter(|row| row.config.is_none());
    if let Some(first) = unread.next() {
        let kernels = counted(unread.count() + 1, "kernel");
        let reason = first.reason.as_deref().unwrap_or("its configuration was not read");
        table.notes.push(format!(
            "?: the configuration of {kernels} is not at hand, as {reason}. They run all the same: \
             the image holds it, and the first `preemptlab run`, with or without -n, brings that here."
        ));
    }
    table.notes.push("Use a name as it stands in `kernel = [...]` of an experiment.".to_owned());
    table
}

/// Returns a table of every kernel.
pub fn kernel_versions_table(offers: &Offers) -> Table {
    let columns = [Column::left("kernel"), Column::left("release"), Column::left("series")];
    let mut table = Table::new("Every kernel on offer", columns);
    for row in &offers.kernels {
        table.row([&row.exact_name, &row.release, &row.name].map(String::as_str));
    }
    table
}

#[cfg(test)]
mod tests {
    use preemptlab_analysis::offers::OfferedKernel;
    use preemptlab_model::KernelConfig;

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
        let table = kernel_configurations_table(&offers);
        assert!(table.csv().contains(r#""debian:6.18","6.18.15","?","?","?""#), "{}", table.csv());
        let notes = table.notes.join("\n");
        assert!(notes.contains("configuration of 1 kernel is not at hand"), "{notes}");
        assert!(notes.contains("linux-headers-6.18.15") && notes.contains("run all the same"));
    }
}
