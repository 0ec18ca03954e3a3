//! The command line: the only crate that prints, reads the environment or exits.

// All that is printed goes through `output`, which lets nothing through that steers a terminal.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod apart;
mod args;
mod command_line;
mod commands;
mod compared;
mod engine;
mod exit;
mod lab;
mod output;
mod progress;
mod usage;
mod writable;

use std::{ffi::OsString, process::ExitCode, thread};

use clap::CommandFactory;
use preemptlab_model::plain;
use rustix::{
    fs::Mode,
    process::{Resource, getrlimit, umask},
};

use args::Color;
use command_line::Cli;
use output::Output;

/// Stack of the thread that does the work, in bytes; that of the program's first thread may be
/// smaller (`ulimit -s`). It is the size that Linux gives a process by default.
const STACK_BYTES: usize = 8 << 20;

fn main() -> ExitCode {
    if apart::is_apart(std::env::args_os()) {
        return apart::execute();
    }
    // Other users must not write to the files of this program and of the programs that it starts:
    // programs in the store are run.
    let mask = umask(Mode::WGRP | Mode::WOTH);
    umask(mask | Mode::WGRP | Mode::WOTH);
    let stack = getrlimit(Resource::Stack).current;
    if stack.is_none_or(|bytes| bytes >= STACK_BYTES as u64) {
        return execute();
    }
    let worker = thread::Builder::new().name("preemptlab".to_owned()).stack_size(STACK_BYTES);
    match worker.spawn(execute) {
        // A panic has printed its message already.
        Ok(worker) => worker.join().unwrap_or(ExitCode::from(exit::PANICKED)),
        Err(error) => {
            let message = format!(
                "this process is not allowed what it needs ({error}): raise its limits on address \
                 space (`ulimit -v`) and processes (`ulimit -u`)"
            );
            Output::new(Color::Auto).error(&exit::host(message).report);
            ExitCode::from(exit::HOST)
        }
    }
}

/// Executes the command line.
fn execute() -> ExitCode {
    let result = match Cli::read(std::env::args_os()) {
        Ok(cli) => {
            let output = Output::new(cli.color);
            let config = || lab::config(cli.store, cli.set);
            cli.command.execute(config, &output, Cli::command).map_err(|failure| {
                output.error(&failure.report);
                failure.code
            })
        }
        Err(error) if error.use_stderr() => {
            // It repeats arguments, among which a shell's pattern may have put names of files.
            let arguments: Vec<String> =
                std::env::args_os().skip(1).filter_map(|it| it.into_string().ok()).collect();
            let error = usage::with_help(error, &arguments);
            let said = error.render().to_string();
            let said = said.trim_end();
            let is_steering =
                |argument: OsString| argument.to_string_lossy().contains(plain::is_steering);
            // Where no argument has a line break, the message's are clap's.
            match std::env::args_os().any(is_steering) {
                true => output::say(said),
                false => said.lines().for_each(output::say),
            }
            Err(exit::UNUSABLE)
        }
        // The help and the version are data.
        Err(error) => {
            let output = Output::new(Color::Auto);
            output.help(&error.render()).map_err(|failure| {
                output.error(&failure.report);
                failure.code
            })
        }
    };
    match result {
        Ok(code) if code == ExitCode::SUCCESS && Output::was_cut_off() => {
            ExitCode::from(exit::CUT_OFF)
        }
        Ok(code) => code,
        Err(code) => ExitCode::from(code),
    }
}
