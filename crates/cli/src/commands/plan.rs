//! `preemptlab plan`: an experiment's cells, and the time that they will take.

use std::{cell::RefCell, path::PathBuf, process::ExitCode};

use clap::Args;
use preemptlab_analysis::{
    plan::{PlanDocument, Sketch},
    timings::Timings,
};
use preemptlab_lab::{Wanted, finished_cells, pressure};
use preemptlab_model::{Kernel, KernelRef};
use preemptlab_report::{plan_table, sketch_table};

use crate::{
    args::{Format, Machines, OverrideArgs, Packages},
    exit, lab,
    output::Output,
    progress::Shown,
};

/// Show an experiment's cells and the time that they will take
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  preemptlab plan studies/quick.toml
  preemptlab plan studies/quick.toml --replicates 2 --kernel debian:7.2

A kernel from source that is not in the store is not built, only named: `run` builds it.")]
pub struct Plan {
    /// The experiment, a TOML file
    pub experiment: PathBuf,
    /// How to print it
    #[arg(long, default_value = "table")]
    pub format: Format,
    #[command(flatten)]
    pub overrides: OverrideArgs,
    #[command(flatten)]
    pub machines: Machines,
    #[command(flatten)]
    pub packages: Packages,
}

/// Shows an experiment's cells.
pub fn execute(args: &Plan, store: Option<PathBuf>, output: &Output) -> exit::Result<ExitCode> {
    let wanted = Wanted::read(&args.experiment, &args.overrides.overrides())?;
    let shown = Shown::new(output);
    let lab = lab::here(store, Some(&args.machines), &args.packages, &shown);
    let store = lab.open_store()?;
    let cache = finished_cells(&store);
    let is_seen = shown.spin();
    let sketch = RefCell::new(Sketch::new(&wanted.experiment));
    let draw = || {
        if args.format == Format::Table && is_seen {
            shown.set_above(&sketch_table(&sketch.borrow()).terminal(output.plain_terminal()));
        }
    };
    draw();
    let on_kernel = |name: &KernelRef, kernel: Result<&Kernel, &str>| {
        sketch.borrow_mut().resolve(name, kernel);
        draw();
    };
    let prepared = lab.provide(store, |provision| {
        let preparation = lab.preparation(provision.without_builds());
        let preparation = preparation.with_folders(&wanted.folders).telling(&on_kernel);
        Ok(preparation.resolve(wanted.experiment.clone())?)
    })?;
    let (jobs, boots) = (lab.jobs(), prepared.boots_missing());
    let machine = (&Timings::read(prepared.store().root()), pressure());
    let plan =
        PlanDocument::new(&prepared.manifest, &prepared.unbuilt, &boots, &cache, jobs, machine);
    output.print(&plan_table(&plan), args.format, &plan)
}
