//! `preemptlab system calibrate`: the costs of each class of instructions on this machine.

mod caches;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, builder::ArgPredicate};
use preemptlab_calibrate::{
    COLD, Calibration, Compared, Errors, Exchange, Found, OneCpu, Pair, PairTimes, PricedClass,
    Reach, Solution, Stolen, Unsolved,
};
use preemptlab_lab::{Between, Calibrated, Config, Lab, calibrate};
use preemptlab_model::{Arch, Name};
use preemptlab_provision::micro;
use preemptlab_report::{Cell, Column, Table, Tone};

use crate::{
    args::written_path,
    exit::{self, OrExit},
    lab,
    output::Output,
    progress::Shown,
    writable,
};

/// Measure what instructions cost on this machine, for virtual time that is like its own
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  preemptlab system calibrate
  preemptlab system calibrate --out workstation.toml
  sudo preemptlab system calibrate --root --out workstation.toml
  preemptlab system calibrate --program arm64
  scp micro pi:
  preemptlab system calibrate --by 'ssh pi ./micro' --out pi.toml

The profile is for experiments with `[machine] cost = \"workstation.toml\"`. docs/calibrate.md says how
prices are fitted. A machine that is busy with something else gives times that do not come again, and
is refused.")]
pub struct Calibrate {
    /// The profile to write, or the program
    #[arg(long, value_name = "FILE", default_value = "calibration.toml",
        default_value_if("program", ArgPredicate::IsPresent, "micro"), value_parser = written_path())]
    pub out: PathBuf,
    /// Measure another machine: the command that executes the micro-benchmarks there, with the words that follow
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["root", "program"])]
    pub by: Option<Reach>,
    /// Write the program of micro-benchmarks for machines of this architecture, and measure nothing
    #[arg(long, value_name = "ARCH", conflicts_with = "root")]
    pub program: Option<Arch>,
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
    writable::check(&args.out)?;
    if let Some(arch) = args.program {
        return write_program(arch, &args.out, output);
    }
    let name = name(&args.out)?;
    let shown = Shown::new(output);
    let lab = Lab {
        qemu: args.qemu.clone(),
        allow_build_scripts: args.allow_build_scripts,
        ..lab::here(config, None, &shown)
    };
    let Calibrated { calibration, machine, cpu, stolen, between, caches, moved } =
        calibrate(&lab, args.root, args.by.clone())?;
    let of_profile = caches.as_ref().ok().map(|found| found.of_profile(moved.ok()));
    let profile = calibration.profile(name, machine.description(), cpu, of_profile, &stolen);
    let profile = toml::to_string(&profile)
        .map_err(|error| exit::host(format!("the profile has no TOML form: {error}")))?;
    output.data(&residuals(&calibration).terminal(output.terminal()))?;
    output.data(&prices(&calibration).terminal(output.terminal()))?;
    match &between {
        Between::Measured { pair, times, solution } => {
            output.data(&exchanges(*pair, times, &stolen).terminal(output.terminal()))?;
            output.data(&compared(solution, &stolen).terminal(output.terminal()))?;
        }
        Between::OneCpu(only) => output.warning(skipped(*only)),
    }
    output.data(&gaps(&stolen).terminal(output.terminal()))?;
    output.data(&caches::table(&caches, &moved, &stolen).terminal(output.terminal()))?;
    writable::write(&args.out, profile.as_bytes(), output)?;
    output.note(format!("next: an experiment with `[machine] cost = \"{}\"`", args.out.display()));
    Ok(ExitCode::from(exit::OK))
}

/// Writes the program of micro-benchmarks of an architecture, and says what to do with it.
fn write_program(arch: Arch, out: &Path, output: &Output) -> exit::Result<ExitCode> {
    writable::write(out, micro(arch), output)?;
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(out, mode).or_exit(exit::HOST)?;
    let file = out.display();
    output.note(format!(
        "next: copy it to a machine of {}, and: preemptlab system calibrate --by 'ssh MACHINE ./{file}' --out \
         MACHINE.toml",
        arch.platform().debian
    ));
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
        Table::new("micro-benchmarks: an operation on the machine, and by its prices", columns);
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
    for PricedClass { class, cost_ns, price, share, found } in &calibration.classes {
        let word = match found {
            Found::Fitted => Cell::default(),
            Found::Solved => Cell::from("from what two CPUs do for each other"),
            Found::Assumed => Cell::new("assumed: no benchmark determines it", Tone::Faint),
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

/// Names an exchange in words.
fn words(exchange: Exchange) -> &'static str {
    match exchange {
        Exchange::Line => "a cache line from one CPU to the other",
        Exchange::CallAlone => "membarrier, with no other CPU to call",
        Exchange::CallOther => "membarrier, with a call of the other CPU and its answer",
        Exchange::Futex => "a wakeup by futex there and one back",
        Exchange::Pipe => "a wakeup by pipe there and one back",
    }
}

/// Shows the times of what two CPUs do for each other.
fn exchanges(pair: Pair, times: &PairTimes, stolen: &Stolen) -> Table {
    let columns = [
        Column::left("between two CPUs"),
        Column::right("least").with_unit("ns"),
        Column::right("quartile").with_unit("ns"),
        Column::right("median").with_unit("ns"),
        Column::left(""),
    ];
    let passes = times.passes();
    let mut table = Table::new(format!("{pair} of the machine, {passes} passes"), columns);
    for exchange in Exchange::ALL {
        match times.of(exchange) {
            Ok(exchanged) => {
                let spread = exchanged.spread;
                let word = match exchanged.is_steady() {
                    true => Cell::default(),
                    false => {
                        let percent = exchanged.differ_percent;
                        let words =
                            format!("does not come again: two halves differ by {percent:.0}%");
                        Cell::new(words, Tone::Faint)
                    }
                };
                let ns = [spread.least_ns, spread.quartile_ns, spread.median_ns];
                let [least, quartile, median] = ns.map(|ns| Cell::from(format!("{ns:.0}")));
                table.row([Cell::from(words(exchange)), least, quartile, median, word]);
            }
            Err(errno) => {
                let refused = Cell::new(format!("the kernel refuses: error {errno}"), Tone::Faint);
                let none = || Cell::from("-");
                table.row([Cell::from(words(exchange)), none(), none(), none(), refused]);
            }
        }
    }
    if stolen.is_shared() {
        table.notes.push(format!(
            "other programs had the CPUs for {:.0}% of the time, so these slept less than idle ones; end other \
             programs and calibrate again",
            stolen.preempted_share * 100.0
        ));
    }
    table
}

/// Shows how near virtual time comes to what two CPUs do for each other, or why no price follows from it.
fn compared(solution: &Result<Solution, Unsolved>, stolen: &Stolen) -> Table {
    let columns = [
        Column::left("between two CPUs"),
        Column::right("machine").with_unit("ns"),
        Column::right("assumed").with_unit("ns"),
        Column::right("model").with_unit("ns"),
        Column::right("ratio"),
        Column::left(""),
    ];
    let mut table = Table::new("between two CPUs of the machine, and of a guest", columns);
    let solution = match solution {
        Ok(solution) => solution,
        Err(unsolved) => {
            let next = if stolen.is_too_much() {
                "; end other programs, or calibrate when the host is idle"
            } else {
                ""
            };
            table.span(format!("no price follows from two CPUs: {unsolved}{next}"));
            return table;
        }
    };
    for Compared { exchange, machine_ns, assumed_ns, model_ns, fitted } in &solution.compared {
        let ns = |ns: &Option<f64>| ns.map_or_else(|| "-".to_owned(), |ns| format!("{ns:.0}"));
        let ratio = machine_ns.zip(*model_ns).map(|(machine_ns, model_ns)| model_ns / machine_ns);
        let word = match fitted {
            Some(class) => format!("fitted: gives {class}"),
            None if *exchange == Exchange::Pipe => "held out".to_owned(),
            None => "gives no price".to_owned(),
        };
        table.row([
            Cell::from(words(*exchange)),
            Cell::from(ns(machine_ns)),
            Cell::from(ns(assumed_ns)),
            Cell::from(ns(model_ns)),
            Cell::from(ratio.map_or_else(|| "-".to_owned(), |ratio| format!("×{ratio:.2}"))),
            Cell::from(word),
        ]);
    }
    table.notes.push(
        "machine: quartiles; assumed, model: virtual time before and after prices were found; the call counts \
         beyond that of no other CPU"
            .to_owned(),
    );
    table
}

/// Shows the gaps in the time of a thread that spins.
fn gaps(stolen: &Stolen) -> Table {
    let columns = [
        Column::left("time that a spinning thread loses"),
        Column::right("in a second"),
        Column::right("mean").with_unit("us"),
        Column::right("p10").with_unit("us"),
        Column::right("p50").with_unit("us"),
        Column::right("p90").with_unit("us"),
        Column::right("p99").with_unit("us"),
        Column::right("longest").with_unit("us"),
    ];
    let seconds = stolen.spun_ns as f64 / 1e9;
    let mut table =
        Table::new(format!("gaps beyond 1.5 us in {seconds:.1} s of spinning"), columns);
    let us = |ns: Option<f64>| ns.map_or_else(|| "-".to_owned(), |ns| format!("{:.1}", ns / 1e3));
    let quantiles = [1_000, 5_000, 9_000, 9_900, 10_000].map(|share| stolen.quantile_ns(share));
    let row = [
        "stolen: by a hypervisor, the firmware or an interrupt of a device".to_owned(),
        format!("{:.0}", stolen.per_s),
        us(stolen.mean_ns()),
    ];
    let quantiles = quantiles.map(|ns| us(ns.map(|ns| ns as f64)));
    table.row(row.into_iter().chain(quantiles).map(Cell::from));
    table.notes.push(format!(
        "stolen time is {:.1}% of all; beside it the kernel's own ticks took {:.0} gaps in a second, and other \
         threads had the CPU {}",
        stolen.share * 100.0,
        stolen.own_per_s,
        match stolen.preempted {
            0 => "never".to_owned(),
            1 => "once".to_owned(),
            times => format!("{times} times"),
        }
    ));
    if let Some(lengths_ns) = stolen.lengths_ns() {
        let lengths: Vec<String> = lengths_ns.iter().map(|ns| us(Some(*ns as f64))).collect();
        table.notes.push(format!("sixteenths of them, by their means: {} us", lengths.join(", ")));
    }
    if let Some(timers) = stolen.timers() {
        let pairs = timers.pairs().iter();
        let pairs = pairs.map(|(share, ns)| {
            format!("{}% {}", f64::from(*share) / 100.0, us(Some(f64::from(*ns))))
        });
        let pairs: Vec<String> = pairs.collect();
        table.notes.push(format!(
            "beyond the shortest, of the kernel's ticks take at most: {} us",
            pairs.join(", ")
        ));
    }
    table
}

/// Says why nothing was measured between two CPUs, and what to do.
fn skipped(OneCpu { cpu, online }: OneCpu) -> String {
    let what =
        "nothing is measured between two CPUs, and the prices of their interrupts stay assumed";
    match online {
        0 | 1 => format!(
            "{what}: this machine has one CPU online; calibrate a machine with two, such as the one whose time you \
             want"
        ),
        _ => format!(
            "{what}: this process may use CPU {cpu} alone, of {online} that are online; next: \
             taskset -c 0-{} preemptlab system calibrate",
            online - 1
        ),
    }
}

#[cfg(test)]
mod tests {
    use preemptlab_calibrate::PairPass;

    use super::*;

    #[test]
    fn one_cpu_has_its_reason_and_the_next_command() {
        let pinned = skipped(OneCpu { cpu: 3, online: 8 });
        assert!(pinned.contains("may use CPU 3 alone, of 8 that are online"), "{pinned}");
        assert!(pinned.ends_with("next: taskset -c 0-7 preemptlab system calibrate"), "{pinned}");
        let small = skipped(OneCpu { cpu: 0, online: 1 });
        assert!(small.contains("has one CPU online; calibrate a machine with two"), "{small}");
    }

    #[test]
    fn what_was_not_measured_says_why() {
        let mut times = PairTimes::default();
        for futex_ns in [20_000, 30_000] {
            let text = format!(
                "line-transfer 100 4000 4000 4000\ncall-alone 1 300 300 300\ncall-other error 38\n\
                 futex-between 1 {futex_ns} {futex_ns} {futex_ns}\npipe-between 1 9000 9000 9000\n"
            );
            times.add(PairPass::parse(&text).unwrap());
        }
        let stolen = Stolen::of(&[]);
        let pair = Pair { cpu: 0, other: 2, distance: None };
        let table = exchanges(pair, &times, &stolen);
        let printed = format!("{table:?}");
        for said in [
            "CPUs 0 and 2 of the machine, 2 passes",
            "the kernel refuses: error 38",
            "does not come again: two halves differ by 50%",
        ] {
            assert!(printed.contains(said), "{said}: {printed}");
        }
        let table = format!("{:?}", compared(&Err(Unsolved::Stolen(12)), &stolen));
        let said = "no price follows from two CPUs: something takes 12% of the time of a CPU";
        assert!(table.contains(said), "{table}");
    }
}
