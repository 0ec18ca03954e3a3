//! Data goes to stdout, everything else to stderr.

use std::{
    io::{self, IsTerminal, Write},
    process::ExitCode,
    sync::atomic::{AtomicBool, Ordering},
};

use preemptlab_report::{Table, Terminal};
use serde::Serialize;

use crate::{
    args::{Color, Format},
    exit::{self, Failure, OrExit},
};

/// Columns where no terminal tells.
const WIDTH: usize = 100;

static CUT_OFF: AtomicBool = AtomicBool::new(false);

/// Where and how to print.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    color_stdout: bool,
    color_stderr: bool,
}

impl Output {
    /// Decides on colour once and for all.
    pub fn new(color: Color) -> Self {
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let on = |terminal: bool| match color {
            Color::Auto => terminal && !plain,
            Color::Always => true,
            Color::Never => false,
        };
        let output = Self {
            color_stdout: on(io::stdout().is_terminal()),
            color_stderr: on(io::stderr().is_terminal()),
        };
        let theme = if output.color_stderr {
            miette::GraphicalTheme::unicode()
        } else {
            miette::GraphicalTheme::unicode_nocolor()
        };
        // The hook can be set once per process, and this is called once.
        let _ = miette::set_hook(Box::new(move |_| {
            Box::new(miette::GraphicalReportHandler::new_themed(theme.clone()).with_width(100))
        }));
        output
    }

    /// The terminal that data is made for: this one's width, or 100 columns where there is none.
    pub fn terminal(&self) -> Terminal {
        let width = rustix::termios::tcgetwinsize(io::stdout())
            .map_or(WIDTH, |size| usize::from(size.ws_col).clamp(60, 160));
        Terminal { width, color: self.color_stdout }
    }

    /// Prints a table, or what it shows as a document.
    pub fn print(
        &self,
        table: &Table,
        format: Format,
        document: &impl Serialize,
    ) -> Result<ExitCode, Failure> {
        self.data(&match format {
            Format::Table => table.terminal(self.terminal()),
            Format::Csv => table.csv(),
            Format::Markdown => table.markdown(),
            Format::Json => serde_json::to_string_pretty(document).or_exit(exit::HOST)?,
        })
    }

    /// Prints data. A reader that has gone, as in `| head`, is no error; see [`Output::was_cut_off`].
    pub fn data(&self, text: &str) -> Result<ExitCode, Failure> {
        if preemptlab_host::stdout_was_closed() {
            let message = "cannot write to standard output: it is closed";
            return Err(exit::failure(exit::HOST, message));
        }
        let mut stdout = io::stdout().lock();
        let written = stdout.write_all(text.as_bytes()).and_then(|()| {
            if text.ends_with('\n') { stdout.flush() } else { stdout.write_all(b"\n") }
        });
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                CUT_OFF.store(true, Ordering::Relaxed);
                Ok(ExitCode::from(exit::OK))
            }
            Err(error) => {
                Err(exit::failure(exit::HOST, format!("cannot write to standard output: {error}")))
            }
            _ => Ok(ExitCode::from(exit::OK)),
        }
    }

    /// Prints what clap says of the command line.
    pub fn help(&self, text: &clap::builder::StyledStr) -> Result<ExitCode, Failure> {
        match self.color_stdout {
            true => self.data(&text.ansi().to_string()),
            false => self.data(&text.to_string()),
        }
    }

    /// Whether a reader has gone before all data was written.
    pub fn was_cut_off() -> bool {
        CUT_OFF.load(Ordering::Relaxed)
    }

    /// Says something that is not data.
    pub fn note(&self, text: impl std::fmt::Display) {
        // Who cannot be told is no reason to stop.
        let _ = writeln!(io::stderr(), "{text}");
    }

    /// Warns.
    pub fn warning(&self, text: impl std::fmt::Display) {
        if self.color_stderr {
            let _ = writeln!(io::stderr(), "\x1b[33mwarning:\x1b[0m {text}");
        } else {
            let _ = writeln!(io::stderr(), "warning: {text}");
        }
    }

    /// Reports the error that ends the command.
    pub fn error(&self, report: &miette::Report) {
        let _ = writeln!(io::stderr(), "{report:?}");
    }
}
