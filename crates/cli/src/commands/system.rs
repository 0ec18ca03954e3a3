//! `preemptlab system`: this machine, and the settings of its own kernel.

mod apply;
mod calibrate;
mod change;
mod revert;
mod show;
mod submit;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use preemptlab_lab::Config;

use self::{apply::Apply, calibrate::Calibrate, revert::Revert, show::Show, submit::Submit};
use crate::{exit, output::Output};

/// Show what this machine can do, put settings into force on it, and measure what its instructions cost
#[derive(Debug, Args)]
pub struct System {
    /// Command
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs of this machine.
#[derive(Debug, Subcommand)]
pub enum Verb {
    Show(Show),
    Apply(Box<Apply>),
    Revert(Revert),
    Calibrate(Calibrate),
    Submit(Submit),
}

/// Executes the verb.
pub fn execute(args: &System, config: &Config, output: &Output) -> exit::Result<ExitCode> {
    match &args.verb {
        Verb::Show(args) => show::execute(args, config, output),
        Verb::Apply(args) => apply::execute(args, config, output),
        Verb::Revert(args) => revert::execute(args, output),
        Verb::Calibrate(args) => calibrate::execute(args, config, output),
        Verb::Submit(args) => submit::execute(args, output),
    }
}
