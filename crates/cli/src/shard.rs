//! `run --prepare` and `run --shard`: one machine prepares a recording, others execute its shards.

use std::{process::ExitCode, str::FromStr};

use clap::Args;
use preemptlab_cluster::{newest, shard_of_variables};
use preemptlab_lab::{Execution, Lab, ShardDone, ShardWork, Twice, prepare_for_workers};
use preemptlab_model::{Shard, counted};
use preemptlab_runner::Summary;

use crate::{
    exit::{self, OrExit},
    output::Output,
};

/// Several machines.
#[derive(Args, Debug)]
#[command(next_help_heading = "On several machines")]
pub struct ShardArgs {
    /// Write the plan and pack what workers need into FOLDER.shards; execute nothing
    #[arg(long, conflicts_with_all = ["shard", "until", "retry_failed", "no_cache"])]
    pub prepare: bool,
    /// Execute this shard of a prepared recording into a part of its own, such as 3/8; `auto` or
    /// `auto/8` takes it from the variables of Slurm, Kubernetes or a CI
    #[arg(long, value_name = "I/N", conflicts_with_all = ["until", "retry_failed", "no_cache"])]
    pub shard: Option<ShardWanted>,
    /// Let two shards execute this share of the cells, at least one, so that `merge` compares them
    #[arg(long, value_name = "PERCENT", requires = "several")]
    pub twice: Option<Twice>,
}

/// Which shard to execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShardWanted {
    /// This one.
    This(Shard),
    /// The one that an engine's variables name, of so many if they do not tell.
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
pub fn prepare(
    lab: &Lab<'_>,
    execution: &Execution<'_>,
    output: &Output,
) -> exit::Result<ExitCode> {
    let (writer, seed) = prepare_for_workers(lab, execution)?;
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
        "next: preemptlab run {0} --shard 1/2 and --shard 2/2, wherever you like, then preemptlab \
         merge {0}",
        recording.path().display()
    ));
    Ok(ExitCode::from(exit::OK))
}

/// Executes a shard, and says what came of it.
pub fn work(lab: &Lab<'_>, work: &ShardWork<'_>, output: &Output) -> exit::Result<ExitCode> {
    let shard = work.shard;
    let ShardDone { summary, part } = preemptlab_lab::shard(lab, work)?;
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
