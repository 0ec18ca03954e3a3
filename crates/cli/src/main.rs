//! The command line: the only crate that prints, reads the environment or exits.

mod args;
mod boot_kernels;
mod commands;
mod disturbed;
mod exit;
mod lab;
mod measured;
mod mixed;
mod moment;
mod output;
mod page;
mod progress;
mod session;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};
use output::Output;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let output = Output::new(cli.color);
    let store = cli.store;
    let result = match cli.command {
        Command::Run(args) => commands::run::execute(&args, store, &output),
        Command::Scenario(args) => commands::scenario::execute(&args, store, &output),
        Command::Plan(args) => commands::plan::execute(&args, store, &output),
        Command::Kernels(args) => commands::kernels::execute(&args, store, &output),
        Command::Compare(args) => commands::compare::execute(&args, &output),
        Command::Recommend(args) => commands::recommend::execute(&args, &output),
        Command::Apply(args) => commands::apply::execute(&args, &output),
        Command::Revert(args) => commands::revert::execute(&args, &output),
        Command::Report(args) => commands::report::execute(&args, &output),
        Command::Export(args) => commands::export::execute(&args, &output),
        Command::Explain(args) => commands::explain::execute(&args, store, &output),
        Command::Verify(args) => commands::verify::execute(&args, store, &output),
        Command::Doctor(args) => commands::doctor::execute(&args, store, &output),
        Command::Completions { shell } => commands::completions::execute(shell, &output),
        Command::Man { folder } => commands::man::execute(&folder, &output),
    };
    result.unwrap_or_else(|failure| {
        output.error(&failure.report);
        ExitCode::from(failure.code)
    })
}
