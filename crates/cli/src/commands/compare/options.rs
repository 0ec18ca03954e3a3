//! The command line of `preemptlab compare`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use crate::{
    args::{Format, QuestionArgs, RuleArgs, formats, refuse, written_path},
    exit,
};

/// Compare the configurations of recordings, or kernel with kernel
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  preemptlab compare runs/quick
  preemptlab compare runs/quick --baseline debian:6.18/full
  preemptlab compare runs/quick --metric wakeup.fifo --metric throughput
  preemptlab compare runs/quick --picture --svg pictures
  preemptlab compare runs/quick --format markdown
  preemptlab compare runs/quick -o report.html
  preemptlab compare runs/quick -o letter.md --require 'wakeup.max<=100us'
  preemptlab compare runs/quick --template page.md.j2 -o page.md
  preemptlab compare runs/history --by kernel -o history.md --svg pictures
  preemptlab compare runs/prices docs/fidelity/machines/*.toml

A page works from a disk, without a network. --by kernel orders kernels by version, and compares each with the
one before it as `gate` does; docs/history.md says how to keep such a page for kernels of your own.")]
pub struct Compare {
    /// The recordings, and beside them histograms that cyclictest, rtla or oslat wrote on a machine, or results of
    /// machines (docs/fidelity.md)
    #[arg(required = true, value_name = "RUN")]
    pub recordings: Vec<PathBuf>,
    /// Compare each configuration with the baseline, or each kernel with the one before it: change points
    /// first, then every value, with the margins of `gate`: 3% and 20us
    #[arg(long, value_name = "WHAT", default_value = "configuration")]
    pub by: By,
    #[command(flatten)]
    pub rule: RuleArgs,
    /// Show every metric with its spread, not only the most telling ones
    #[arg(long)]
    pub all: bool,
    /// Show this metric only, or all of a class such as `wakeup`; may be repeated
    #[arg(long = "metric", value_name = "METRIC")]
    pub metrics: Vec<String>,
    /// Draw the latencies at every instant below the tables, those of all modes in one picture
    #[arg(long)]
    pub picture: bool,
    /// Draw a picture of each workload into this folder, as SVG: of the latencies at every instant, or of
    /// kernels, which a page beside it shows
    #[arg(long, value_name = "FOLDER", value_parser = written_path())]
    pub svg: Option<PathBuf>,
    /// How to print it [default: table]
    #[arg(long, value_parser = formats(Format::TABLES))]
    pub format: Option<Format>,
    /// Write it as people look at it; the ending chooses: .html is a page with pictures that needs nothing
    /// else, .md a letter for a pull request, or the page of kernels, .svg a picture, .toml what is compared
    /// with machines
    #[arg(long, short, value_name = "FILE", value_parser = written_path())]
    pub out: Option<PathBuf>,
    /// Fill this template: text with places for numbers; docs/template.md describes them
    #[arg(long, value_name = "FILE")]
    pub template: Option<PathBuf>,
    #[command(flatten, next_help_heading = "In a page or a letter")]
    pub question: QuestionArgs,
}

/// Sides of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// Configurations with a baseline
    Configuration,
    /// Kernels with those before them
    Kernel,
}

/// Form of a file that people look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// A page.
    Html,
    /// A letter, or the page of kernels.
    Markdown,
    /// A picture.
    Svg,
    /// Results, to be compared with those of machines.
    Toml,
}

impl Ending {
    /// Returns the form that a file's name ends with.
    pub fn of(file: &Path) -> exit::Result<Self> {
        match file.extension().and_then(|ending| ending.to_str()) {
            Some("html") => Ok(Self::Html),
            Some("md") => Ok(Self::Markdown),
            Some("svg") => Ok(Self::Svg),
            Some("toml") => Ok(Self::Toml),
            _ => Err(exit::unusable(format!(
                "{} does not say by its ending what to write: .html, .md, .svg or .toml; --template fills a file \
                 with another",
                file.display()
            ))),
        }
    }
}

impl Compare {
    /// Refuses options that only tables have.
    pub fn check_file(&self, what: &str) -> exit::Result<()> {
        let given = [
            (self.all, "--all"),
            (!self.metrics.is_empty(), "--metric"),
            (self.picture, "--picture"),
            (self.format.is_some(), "--format"),
            (self.svg.is_some(), "--svg"),
            (self.template.is_some() && self.question.is_asked(), "--require and the like"),
        ];
        refuse(&given, what)
    }

    /// Returns the format in which it is printed.
    pub fn format(&self) -> Format {
        self.format.unwrap_or(Format::Table)
    }
}

/// Refuses to draw several pictures into one file.
pub fn too_many(pictures: usize) -> exit::Failure {
    exit::unusable(format!(
        "there is a picture of each of {pictures} workloads: --svg FOLDER draws them all"
    ))
}
