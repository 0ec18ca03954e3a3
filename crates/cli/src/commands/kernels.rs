//! `preemptlab kernels`: the available kernels.

use std::process::ExitCode;

use clap::Args;
use preemptlab_analysis::offers::{OfferedKernel, Offers};
use preemptlab_experiment::MachineSpec;
use preemptlab_lab::{Config, PrepareError};
use preemptlab_model::KernelConfig;
use preemptlab_provision::{Build, Offer};
use preemptlab_report::{kernel_configurations_table, kernel_versions_table};

use crate::{
    args::{Format, Guests, formats},
    exit, lab,
    output::Output,
    progress::Shown,
};

/// List the available kernels, and the models that each offers
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  preemptlab kernels
  preemptlab kernels --arch arm64
  preemptlab kernels --all --format json")]
pub struct Kernels {
    #[command(flatten)]
    pub guests: Guests,
    /// Every version, not only the newest of each series
    #[arg(long)]
    pub all: bool,
    /// How to print it
    #[arg(long, default_value = "table", value_parser = formats(Format::TABLES))]
    pub format: Format,
    /// Ask the mirror for new package lists even if those here are younger than a day
    #[arg(long)]
    pub refresh: bool,
}

/// Lists kernels.
pub fn execute(args: &Kernels, config: &Config, output: &Output) -> exit::Result<ExitCode> {
    let shown = Shown::new(output);
    let mut lab = lab::here(config, None, &shown);
    lab.packages.refresh = args.refresh;
    let guest = args.guests.arch.unwrap_or(MachineSpec::default().arch);
    let kernels = lab.provide(lab.open_store()?, guest, |provision| {
        Ok(if args.all {
            let builds = provision.builds().map_err(PrepareError::from)?;
            builds.iter().map(|build| row(build, None)).collect()
        } else {
            let offers = provision.offered().map_err(PrepareError::from)?;
            offers.iter().map(|Offer { build, config }| row(build, Some(config))).collect()
        })
    })?;
    let offers = Offers::new(kernels);
    let table = match args.all {
        true => kernel_versions_table(&offers),
        false => kernel_configurations_table(&offers),
    };
    output.print(&table, args.format, &offers)
}

fn row(build: &Build, config: Option<&Result<KernelConfig, String>>) -> OfferedKernel {
    let (series, exact) = (build.series_name(), build.exact_name());
    OfferedKernel::new(&series, &exact, &build.version, build.release.clone(), config)
}
