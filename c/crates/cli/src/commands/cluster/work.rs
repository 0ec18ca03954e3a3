//! `cluster prepare` and `cluster work`: one machine prepares a recording, others execute its shards.

use std::{path::PathBuf, process::ExitCode, str::FromStr};

use clap::Args;
use preemptlab_cluster::{newest, shard_of_variables};
use preemptlab_files::OutFolder;
use preemptlab_lab::{
    Config, Execution, Lab, ShardDone, ShardWork, Twice, Wanted, prepare_for_workers,
};
use preemptlab_model::{BackendKind, Shard, counted};
use preemptlab_runner::Summary;

use crate::{
    args::{Machines, OverrideArgs, written_path},
    commands::run,
    exit::{self, OrExit},
    lab,
    output::Output,
    progress::Shown,
};

/// Write the plan of a recording, and pack what workers need into FOLDER.shards; execute nothing
#[derive(Args, Debug)]
pub struct PrepareArgs {
    /// The experiment, a TOML file; or a recording
    #[arg(value_name = "FILE|RUN")]
    pub experiment: PathBuf,
    /// The recording's folder [default: runs/NAME, or runs/NAME-DIGEST
    /// where options take the place of what the experiment says]
    #[arg(long, short, value_name = "FOLDER", value_parser = written_path())]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub overrides: OverrideArgs,
    #[command(flatten)]
    pub machines: Machines,
}

impl PrepareArgs {
    /// Reads the experiment, and returns it with the recording's folder.
    pub fn wanted(&self, output: &Output) -> exit::Result<(Wanted, OutFolder)> {
        let overrides = self.overrides.overrides()?;
        let (wanted, out) = run::wanted(&self.experiment, &overrides, self.out.as_deref())?;
        for change in &wanted.overrides {
            output.note(format!("not as the file says: {change}"));
        }
        Ok((wanted, out))
    }

    /// Returns the lab that prepares it.
    pub fn lab<'a>(&self, config: &Config, shown: &'a Shown) -> Lab<'a> {
        lab::here(config, Some(&self.machines), shown)
    }

    /// Returns the execution whose shards others execute.
    pub fn execution<'a>(&self, wanted: Wanted, out: &'a OutFolder, trace: bool) -> Execution<'a> {
        Execution {
            wanted,
            out,
            backend: BackendKind::Vm,
            no_cache: false,
            retry_failed: false,
            trace,
            engine: None,
        }
    }
}

/// Execute a shard of a prepared recording into a part of its own
#[derive(Args, Debug)]
pub struct WorkArgs {
    /// The recording, as `cluster prepare` made it
    #[arg(value_name = "RUN")]
    pub recording: PathBuf,
    /// The shard, such as 3/8; `auto` or `auto/8` takes it from the variables of Slurm, Kubernetes or a CI
    #[arg(value_name = "I/N")]
    pub shard: ShardWanted,
    /// The part's folder [default: in RUN.shards/parts]
    #[arg(long, short, value_name = "FOLDER", value_parser = written_path())]
    pub out: Option<PathBuf>,
    /// Keep all that the kernel does in every cell, for `explain`
    #[arg(long)]
    pub trace: bool,
    /// Execute this share of the cells of other shards, too, as every other worker was told
    #[arg(long, value_name = "PERCENT")]
    pub twice: Option<Twice>,
    /// Virtual machines at a time [default: the number of CPUs]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
}

/// Which shard to execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShardWanted {
    /// This one.
    This(Shard),
    /// The one that an engine's variables name; the number of shards, where they do not tell it.
    Auto(Option<u32>),
}

impl FromStr for ShardWanted {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix("auto") {
            Some("") => Ok(Self::Auto(None)),
            Some(count) => {
                let count = count.strip_prefix('/').and_then(|count| count.parse().ok());
                let count = count.filter(|count| Shard::new(1, *count).is_some());
                count.map(|count| Self::Auto(Some(count))).ok_or_else(|| {
                    format!("`{text}` is no shard: write auto, or auto/COUNT, such as auto/8")
                })
            }
            None => text.parse().map(Self::This).map_err(|error| format!("{error}")),
        }
    }
}

impl ShardWanted {
    /// Returns the shard.
    pub fn shard(self) -> exit::Result<Shard> {
        match self {
            Self::This(shard) => Ok(shard),
            Self::Auto(count) => {
                let variable = |name: &str| std::env::var(name).ok();
                shard_of_variables(count, &variable).or_exit(exit::UNUSABLE)
            }
        }
    }
}

/// Prepares a recording for workers: writes it, and packs its seed.
pub fn prepare(args: &PrepareArgs, config: &Config, output: &Output) -> exit::Result<ExitCode> {
    let (wanted, out) = args.wanted(output)?;
    let shown = Shown::new(output);
    let lab = args.lab(config, &shown);
    let (writer, seed) = prepare_for_workers(&lab, &args.execution(wanted, &out, false))?;
    let recording = writer.recording();
    let (_, boots) = newest(recording);
    let cells: usize = boots.iter().map(|boot| boot.cells.len()).sum();
    let bytes = seed.metadata().map_or(0, |metadata| metadata.len());
    output.note(format!(
        "prepared {} of {}; a worker needs {}, {} ({:.0} MB) and this preemptlab",
        counted(cells, "cell"),
        counted(boots.len(), "boot"),
        recording.path().display(),
        seed.display(),
        bytes as f64 / 1e6
    ));
    output.note(format!(
        "next: preemptlab cluster work {0} 1/2 and 2/2, wherever you like, then preemptlab cluster merge {0}",
        recording.path().display()
    ));
    Ok(ExitCode::from(exit::OK))
}

/// Executes a shard, and prints the outcome.
pub fn work(args: &WorkArgs, config: &Config, output: &Output) -> exit::Result<ExitCode> {
    let shard = args.shard.shard()?;
    let work = ShardWork {
        recording: &args.recording,
        shard,
        twice: args.twice,
        out: args.out.as_deref(),
        temporary: &std::env::temp_dir(),
        trace: args.trace,
    };
    let shown = Shown::new(output);
    let mut lab = lab::here(config, None, &shown);
    lab.jobs = args.jobs.or(lab.jobs);
    let ShardDone { summary, part } = preemptlab_lab::shard(&lab, &work)?;
    output.note(match summary {
        Some(Summary { completed, failed, .. }) => format!(
            "shard {shard}: {} completed, {failed} failed: {}/",
            counted(completed, "cell"),
            part.display()
        ),
        None => format!("shard {shard} has no cell left: {}/", part.display()),
    });
    // A failed cell is a result: an engine that executed the shard again would find the same.
    Ok(ExitCode::from(exit::OK))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_named_or_taken_from_variables() {
        let wanted = |text: &str| text.parse::<ShardWanted>();
        assert_eq!(wanted("3/8"), Ok(ShardWanted::This(Shard::new(3, 8).unwrap())));
        assert_eq!(wanted("auto"), Ok(ShardWanted::Auto(None)));
        assert_eq!(wanted("auto/8"), Ok(ShardWanted::Auto(Some(8))));
        for text in ["", "0/3", "4/3", "x", "auto/0", "auto/x", "auto8", "autox"] {
            assert!(wanted(text).is_err(), "{text}");
        }
    }
}
