//! `preemptlab system calibrate`: the costs of each class of instructions on this machine.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use preemptlab_calibrate::{COLD, Calibration, Errors, PricedClass};
use preemptlab_lab::{Calibrated, Config, Lab, calibrate};
use preemptlab_model::Name;
use preemptlab_report::{Cell, Column, Table, Tone};

use crate::{args::written_path, exit, lab, output::Output, progress::Shown, writable};

/// Measure what instructions cost on this machine, for virtual time that is like its own
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  preemptlab system calibrate
  preemptlab system calibrate --out workstation.toml
  sudo preemptlab system calibrate --root --out workstation.toml

The profile is for experiments with `[machine] cost = \"workstation.toml\"`. docs/calibrate.md says how
prices are fitted. A machine that is busy with something else gives times that do not come again, and
is refused.")]
pub struct Calibrate {
    /// The profile to write
    #[arg(long, value_name = "FILE", default_value = "calibration.toml", value_parser = written_path())]
    pub out: PathBuf,
    /// Also measure what only a kernel may execute, with a module that is built for the running kernel,
    /// loaded and unloaded again
    #[arg(long)]
    pub root: bool,
    /// With --root: let the Makefile in the running kernel's build tree run, which can run any command,
    /// even if the tree is another user's
    #[arg(long, requires = "root")]
    pub allow_build_scripts: bool,
    /// Another qemu-system-x86_64 than the one of Debian 13 [10.0 or later, with plugins]
    #[arg(long, value_name = "PATH", help_heading = "Virtual machines")]
    pub qemu: Option<PathBuf>,
}

/// Measures micro-benchmarks on this machine, counts their instructions in a guest, fits prices and writes
/// them as a profile.
pub fn execute(args: &Calibrate, config: &Config, output: &Output) -> exit::Result<ExitCode> {
    let name = name(&args.out)?;
    writable::check(&args.out)?;
    let shown = Shown::new(output);
    let lab = Lab {
        qemu: args.qemu.clone(),
        allow_build_scripts: args.allow_build_scripts,
        ..lab::here(config, None, &shown)
    };
    let Calibrated { calibration, machine } = calibrate(&lab, args.root)?;
    let profile = toml::to_string(&calibration.profile(name, machine.description()))
        .map_err(|error| exit::host(format!("the profile has no TOML form: {error}")))?;
    output.data(&residuals(&calibration).terminal(output.terminal()))?;
    output.data(&prices(&calibration).terminal(output.terminal()))?;
    writable::write(&args.out, profile.as_bytes(), output)?;
    output.note(format!("next: an experiment with `[machine] cost = \"{}\"`", args.out.display()));
    Ok(ExitCode::from(exit::OK))
}

/// Returns the name of the profile: that of its file.
fn name(out: &Path) -> exit::Result<Name> {
    let stem = out.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    stem.parse().map_err(|error| {
        let file = out.display();
        exit::unusable(format!("{file} cannot be a profile, which is named like its file: {error}"))
    })
}

/// Shows the times of each benchmark by the prices.
fn residuals(calibration: &Calibration) -> Table {
    let columns = [
        Column::left("benchmark"),
        Column::right("machine").with_unit("ns"),
        Column::right("model").with_unit("ns"),
        Column::right("ratio"),
        Column::left(""),
    ];
    let mut table =
        Table::new("micro-benchmarks: an operation on this machine, and by its prices", columns);
    for residual in &calibration.residuals {
        let ratio = format!("×{:.2}", residual.ratio());
        let word = if residual.held_out { Cell::from("held out") } else { Cell::default() };
        table.row([
            Cell::from(residual.name.clone()),
            Cell::from(format!("{:.1}", residual.machine_ns)),
            Cell::from(format!("{:.1}", residual.model_ns)),
            Cell::from(ratio),
            word,
        ]);
    }
    for (held_out, what) in [(false, "fitted"), (true, "held out of the fit")] {
        let Errors { benchmarks, mean_percent, max_percent } = calibration.errors(held_out);
        table.notes.push(format!(
            "{benchmarks} {what}: the mean error is {mean_percent}%, the largest {max_percent}%"
        ));
    }
    if calibration.residuals.iter().any(|residual| COLD.contains(&residual.name.as_str())) {
        table
            .notes
            .push(format!("{}: with cold caches, which prices do not know", COLD.join(", ")));
    }
    for (name, machine_ns) in &calibration.timed_alone {
        table.notes.push(format!("{name}: {machine_ns:.1} ns, which take part in no fit"));
    }
    table
}

/// Shows the cost of each class.
fn prices(calibration: &Calibration) -> Table {
    let columns = [
        Column::left("class"),
        Column::right("cost").with_unit("ns"),
        Column::right("price").with_unit("1/256 ns"),
        Column::right("share at most").with_unit("%"),
        Column::left(""),
    ];
    let mut table = Table::new("prices", columns);
    for PricedClass { class, cost_ns, price, share, determined } in &calibration.classes {
        let word = match determined {
            true => Cell::default(),
            false => Cell::new("assumed: no benchmark determines it", Tone::Faint),
        };
        table.row([
            Cell::from(class.name()),
            Cell::from(format!("{cost_ns:.3}")),
            Cell::from(price.get().to_string()),
            Cell::from(format!("{:.0}", share * 100.0)),
            word,
        ]);
    }
    table
}
