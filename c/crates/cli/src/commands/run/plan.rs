//! `preemptlab run --dry-run`: an experiment's cells, and the time that they will take.

use std::{cell::RefCell, process::ExitCode};

use preemptlab_analysis::{
    plan::{PlanDocument, Sketch},
    timings::Timings,
};
use preemptlab_lab::{Lab, Wanted, finished_cells, pressure};
use preemptlab_model::{Kernel, KernelRef};
use preemptlab_report::{plan_table, sketch_table};

use crate::{args::Format, exit, output::Output, progress::Shown};

/// Shows an experiment's cells.
pub fn show(
    wanted: &Wanted,
    format: Format,
    lab: &Lab<'_>,
    shown: &Shown,
    output: &Output,
) -> exit::Result<ExitCode> {
    let store = lab.open_store()?;
    let cache = finished_cells(&store);
    let is_seen = shown.spin();
    let sketch = RefCell::new(Sketch::new(&wanted.experiment));
    let draw = || {
        if format == Format::Table && is_seen {
            shown.set_above(&sketch_table(&sketch.borrow()).terminal(output.plain_terminal()));
        }
    };
    draw();
    let on_kernel = |name: &KernelRef, kernel: Result<&Kernel, &str>| {
        sketch.borrow_mut().resolve(name, kernel);
        draw();
    };
    let prepared = lab.provide(store, wanted.experiment.machine.arch, |provision| {
        let preparation = lab.preparation(provision.without_builds());
        let preparation = preparation.with_folders(&wanted.folders).telling(&on_kernel);
        Ok(preparation.resolve(wanted.experiment.clone())?)
    })?;
    let (jobs, boots) = (lab.jobs(), prepared.boots_missing());
    let machine = (&Timings::read(prepared.store().root()), pressure());
    let plan =
        PlanDocument::new(&prepared.manifest, &prepared.unbuilt, &boots, &cache, jobs, machine);
    output.print(&plan_table(&plan), format, &plan)
}
