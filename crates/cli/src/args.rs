//! The command line. Completions and the man page are made from these definitions.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use preemptlab_model::{
    BackendKind, CpuList, HOST_UNITS, IsolatedCpus, KernelRef, ParseTimeError, PreemptMode,
    Setting, parse_ns,
};
use preemptlab_scenario::Model;
use preemptlab_stats::{Baseline, Margin, Requirement};

/// Measure Linux preemption models: real kernels, real benchmarks, deterministic virtual time.
///
/// Boots distribution kernels in QEMU without root, runs latency probes beside a load under every
/// preemption model, and compares latency and throughput. The same inputs give the same bytes on
/// any machine.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100, after_long_help = EXIT_CODES)]
pub struct Cli {
    /// Where packages, kernels, snapshots and finished cells are kept
    /// [default: $XDG_CACHE_HOME/preemptlab or ~/.cache/preemptlab]
    #[arg(long, global = true, value_name = "FOLDER", env = "PREEMPTLAB_STORE", hide_env = true)]
    pub store: Option<PathBuf>,
    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "\
Exit codes:
  0    everything was done
  1    the answer is no: digests differ, or something is missing
  2    the command line, an experiment or a recording cannot be used
  3    some cells failed, or none could be executed; the others are there
  4    this machine or a package mirror got in the way
  130  interrupted; the same command goes on from there
  141  the reader of the output has gone before all was written";

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run an experiment and compare its configurations
    #[command(after_help = "\
Examples:
  preemptlab run studies/quick.toml
  preemptlab run studies/quick.toml --until 5% --budget 30m
  preemptlab run studies/quick.toml --out /tmp/a --jobs 1 --no-cache

Run the same command again to go on after an interruption.")]
    Run(Run),
    /// Play textbook situations of preemption on real kernels, draw them, and check them
    #[command(after_help = "\
Examples:
  preemptlab scenario scenarios/driver-demo.toml
  preemptlab scenario scenarios/lazy-tick.toml --kernel debian:7.2 --compare full,lazy,rt
  preemptlab scenario scenarios/*.toml --compare none,voluntary,full,rt --svg pictures

Exit code 1 means that a kernel disagrees with what a scenario expects. docs/scenario-format.md
describes the files.")]
    Scenario(Scenario),
    /// Show an experiment's cells and the time that they will take
    #[command(after_help = "\
Example:
  preemptlab plan studies/quick.toml

A kernel from source that is not in the store is not built, only named: `run` builds it.")]
    Plan(Plan),
    /// List the kernels that can be had, and which models each of them offers
    #[command(after_help = "\
Examples:
  preemptlab kernels
  preemptlab kernels --all --format json")]
    Kernels(Kernels),
    /// Compare the configurations of recordings
    #[command(after_help = "\
Examples:
  preemptlab compare runs/quick
  preemptlab compare runs/quick --baseline debian:6.12/full
  preemptlab compare runs/quick --format markdown")]
    Compare(Compare),
    /// Say which configuration to run, how sure that is, and how to put it into force
    #[command(after_help = "\
Examples:
  preemptlab recommend runs/quick --require 'wakeup.max<=100us' --maximize throughput
  preemptlab recommend runs/quick --require 'throughput>=95%' --minimize wakeup.other.p99

A limit on a maximum, on wakeup.bound or on omitted periods is held against the largest value of
all replicates, every other one against the median. % is of the baseline's median.")]
    Recommend(Recommend),
    /// Put settings into force on this machine, after showing what would change
    #[command(after_help = "\
Examples:
  sudo preemptlab apply --preempt full --threadirqs
  sudo preemptlab apply --nohz-full 2-7 --rcu-nocbs 2-7 --rcu-lazy on
  sudo preemptlab apply --from runs/quick --require 'wakeup.max<=100us'
  preemptlab apply --preempt full --emit grub

An option that this kernel would ignore is refused, and so is a kernel parameter that is not known
here, unless --allow names it. What works at run time is set at once, the rest
at the next boot. `preemptlab revert` takes it back; docs/apply.md says what is written where.")]
    Apply(Apply),
    /// Take back what `apply` put into force: the bytes that were there
    #[command(after_help = "\
Example:
  sudo preemptlab revert")]
    Revert(Revert),
    /// Write a report that people look at: one HTML file, or Markdown
    #[command(after_help = "\
Examples:
  preemptlab report runs/quick -o report.html
  preemptlab report runs/quick --require 'wakeup.max<=100us' --maximize throughput
  preemptlab report runs/quick --format markdown
  preemptlab report runs/quick --template page.md.j2 --out page.md

The page works from a disk, without a network.")]
    Report(Report),
    /// Write every cell into tables for pandas, R, DuckDB or a spreadsheet
    #[command(after_help = "\
Examples:
  preemptlab export runs/quick
  preemptlab export runs/quick --format parquet -o tables

docs/export.md describes every column.")]
    Export(ExportArgs),
    /// Show what made the worst wakeups late, down to the function
    #[command(after_help = "\
Examples:
  preemptlab explain runs/quick
  preemptlab explain runs/quick --cell 'debian:6.12 none' --worst 3 --svg late.svg
  preemptlab explain runs/quick --ranking
  preemptlab explain runs/quick --cell 4f2a --zoom 9118.023ms±20us
  preemptlab explain runs/quick --cell 4f2a --export perfetto --out trace.pftrace

A cell that was not traced is executed again with a trace, which changes nothing about it.")]
    Explain(Explain),
    /// Check that a recording says the same again, here and now or in another recording
    #[command(after_help = "\
Examples:
  preemptlab verify runs/quick --cells 3
  preemptlab verify runs/quick --against /tmp/a")]
    Verify(Verify),
    /// Tell what this machine can run, and what its own kernel really runs with
    Doctor(Doctor),
    /// Print the completions of a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write the man pages
    Man {
        /// The folder to write to
        folder: PathBuf,
    },
}

/// Where packages come from.
#[derive(Args, Debug)]
pub struct Packages {
    /// The Debian mirror [default: that of this machine's apt configuration]
    #[arg(long, value_name = "URL")]
    pub mirror: Option<String>,
    /// Accept a mirror's package lists after their validity date
    #[arg(long)]
    pub allow_expired: bool,
    /// Ask the mirror for new package lists even if those at hand are younger than a day
    #[arg(long)]
    pub refresh: bool,
}

/// How virtual machines run.
#[derive(Args, Debug)]
pub struct Machines {
    /// Another qemu-system-x86_64 than the one of Debian 13 [10.0 or later, with plugins]
    #[arg(long, value_name = "PATH")]
    pub qemu: Option<PathBuf>,
    /// Virtual machines at a time [default: the number of CPUs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
    /// Let the Makefiles of a kernel `file:...,modules=FOLDER` run, where preemptlab's own modules are
    /// built for it: they can run any command
    #[arg(long)]
    pub allow_build_scripts: bool,
}

/// `preemptlab run`
#[derive(Args, Debug)]
pub struct Run {
    /// The experiment, a TOML file
    pub experiment: PathBuf,
    /// The recording's folder [default: runs/NAME]
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
    /// What executes the cells: vm, in deterministic virtual time; kvm, a virtual machine in host
    /// time; host, the kernel that runs here, as root
    #[arg(long, value_name = "BACKEND", default_value = "vm")]
    pub backend: BackendKind,
    /// Execute every cell, whatever was executed before
    #[arg(long)]
    pub no_cache: bool,
    /// Execute the recording's failed cells again
    #[arg(long)]
    pub retry_failed: bool,
    /// Record what the kernel does in every cell, for `explain`; changes no cell's results
    #[arg(long)]
    pub trace: bool,
    /// Add replicates, where they are needed, until every comparison is decided: better, worse, or
    /// the same within this margin
    #[arg(long, value_name = "PERCENT")]
    pub until: Option<Margin>,
    /// Decide this metric, such as wakeup.fifo.p99; may be repeated [default: what `compare` shows
    /// without --all]
    #[arg(long = "metric", value_name = "METRIC", requires = "until")]
    pub metrics: Vec<String>,
    /// Add no replicates that would not be finished within this time, such as 30m or 8h
    #[arg(long, value_name = "TIME", requires = "until", value_parser = budget)]
    pub budget: Option<Duration>,
    /// The configuration that the others are compared with, KERNEL/MODE [default: the first of each
    /// workload]
    #[arg(long, value_name = "CONFIGURATION")]
    pub baseline: Option<Baseline>,
    #[command(flatten)]
    pub machines: Machines,
    #[command(flatten)]
    pub packages: Packages,
}

/// A duration in host time.
fn budget(text: &str) -> Result<Duration, ParseTimeError> {
    parse_ns(text, HOST_UNITS).map(Duration::from_nanos)
}

/// `preemptlab scenario`
#[derive(Args, Debug)]
pub struct Scenario {
    /// The scenarios, TOML files
    #[arg(required = true, value_name = "SCENARIO")]
    pub files: Vec<PathBuf>,
    /// The kernel; `rt` and `rt-lazy` take its -rt flavour
    #[arg(long, value_name = "KERNEL", default_value = "debian:6.12")]
    pub kernel: KernelRef,
    /// The models to put under each other, the first of which the others are compared with
    #[arg(
        long,
        value_name = "MODELS",
        value_delimiter = ',',
        default_value = "none,voluntary,full,rt"
    )]
    pub compare: Vec<Model>,
    /// One model alone
    #[arg(long, value_name = "MODEL", conflicts_with = "compare")]
    pub preempt: Option<Model>,
    /// Write the pictures: one into a file that ends with .svg, several into a folder
    #[arg(long, value_name = "PATH")]
    pub svg: Option<PathBuf>,
    /// Write pictures and tables as one HTML file
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// What to print
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: ScenarioFormat,
    /// The recording's folder [default: runs/NAME-DIGEST]
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub machines: Machines,
    #[command(flatten)]
    pub packages: Packages,
}

impl Scenario {
    /// The models that were asked for.
    pub fn models(&self) -> &[Model] {
        self.preempt.as_ref().map_or(&self.compare, std::slice::from_ref)
    }
}

/// How scenarios are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ScenarioFormat {
    /// For a terminal
    Text,
    /// For a page
    Markdown,
    /// One document
    Json,
}

/// `preemptlab plan`
#[derive(Args, Debug)]
pub struct Plan {
    /// The experiment, a TOML file
    pub experiment: PathBuf,
    /// How to print it
    #[arg(long, default_value = "table")]
    pub format: Format,
    #[command(flatten)]
    pub machines: Machines,
    #[command(flatten)]
    pub packages: Packages,
}

/// `preemptlab kernels`
#[derive(Args, Debug)]
pub struct Kernels {
    /// Every version, not only the newest of each series
    #[arg(long)]
    pub all: bool,
    /// How to print it
    #[arg(long, default_value = "table")]
    pub format: Format,
    #[command(flatten)]
    pub packages: Packages,
}

/// `preemptlab compare`
#[derive(Args, Debug)]
pub struct Compare {
    /// The recordings
    #[arg(required = true, value_name = "RUN")]
    pub recordings: Vec<PathBuf>,
    #[command(flatten)]
    pub rule: RuleArgs,
    /// Show every metric with its spread, not only the most telling ones
    #[arg(long)]
    pub all: bool,
    /// How to print it
    #[arg(long, default_value = "table")]
    pub format: Format,
}

/// `preemptlab report`
#[derive(Args, Debug)]
pub struct Report {
    /// The recordings
    #[arg(required = true, value_name = "RUN")]
    pub recordings: Vec<PathBuf>,
    #[command(flatten)]
    pub question: QuestionArgs,
    #[command(flatten)]
    pub rule: RuleArgs,
    /// How to write it
    #[arg(long, default_value = "html")]
    pub format: ReportFormat,
    /// Fill this template instead: text with places for numbers; docs/template.md describes them
    #[arg(long, value_name = "FILE", conflicts_with_all = ["format", "requirements", "maximize", "minimize"])]
    pub template: Option<PathBuf>,
    /// The file to write to [default: report.html; Markdown goes to standard output]
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Forms of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// One page that needs nothing else, with pictures
    Html,
    /// For a pull request or a mailing list
    Markdown,
}

/// `preemptlab recommend`
#[derive(Args, Debug)]
pub struct Recommend {
    /// The recordings
    #[arg(required = true, value_name = "RUN")]
    pub recordings: Vec<PathBuf>,
    #[command(flatten)]
    pub question: QuestionArgs,
    #[command(flatten)]
    pub rule: RuleArgs,
    /// How to print it
    #[arg(long, default_value = "table")]
    pub format: Format,
}

/// What is wanted of a configuration.
#[derive(Args, Debug)]
pub struct QuestionArgs {
    /// What must be satisfied: METRIC (<=, <, >= or >) NUMBER UNIT, such as 'wakeup.max<=100us';
    /// may be repeated
    #[arg(long = "require", value_name = "REQUIREMENT")]
    pub requirements: Vec<Requirement>,
    /// The metric to make as large as possible [default: throughput]
    #[arg(long, value_name = "METRIC", conflicts_with = "minimize")]
    pub maximize: Option<String>,
    /// The metric to make as small as possible
    #[arg(long, value_name = "METRIC")]
    pub minimize: Option<String>,
}

/// How configurations are compared.
#[derive(Args, Debug)]
pub struct RuleArgs {
    /// The configuration that ratios refer to, KERNEL/MODE [default: the first of each workload]
    #[arg(long, value_name = "CONFIGURATION")]
    pub baseline: Option<String>,
    /// How much may differ and still be called the same [default: 5%, or that of `run --until`]
    #[arg(long, value_name = "PERCENT")]
    pub margin: Option<Margin>,
}

/// `preemptlab apply`
#[derive(Args, Debug)]
pub struct Apply {
    #[command(flatten)]
    pub settings: SettingArgs,
    /// The recommended configuration of a recording
    #[arg(long, value_name = "RUN", conflicts_with = "settings")]
    pub from: Option<PathBuf>,
    /// Let through a kernel parameter, or a scheduler feature as sched/features=NAME, that nobody
    /// knows here; the exact word, may be repeated
    #[arg(long = "allow", value_name = "WORD")]
    pub allowed: Vec<String>,
    #[command(flatten, next_help_heading = "With --from")]
    pub question: QuestionArgs,
    #[command(flatten, next_help_heading = "With --from")]
    pub rule: RuleArgs,
    /// Only print what a boot loader or a service is to be told
    #[arg(long, value_name = "TARGET", conflicts_with = "yes")]
    pub emit: Option<EmitTarget>,
    /// Leave out what this kernel would ignore, and say why, instead of refusing all of it
    #[arg(long)]
    pub skip_ignored: bool,
    #[command(flatten)]
    pub change: ChangeArgs,
}

/// `preemptlab revert`
#[derive(Args, Debug)]
pub struct Revert {
    /// Discard what somebody changed since in files that were written by `apply`
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub change: ChangeArgs,
}

/// How the settings of a machine are changed.
#[derive(Args, Debug)]
pub struct ChangeArgs {
    /// Do not ask
    #[arg(long, short)]
    pub yes: bool,
    /// The root folder of another system, such as an image that is being built
    #[arg(long, value_name = "FOLDER", default_value = "/")]
    pub root: PathBuf,
}

/// Settings of a machine, one by one.
#[derive(Args, Debug)]
#[group(id = "settings", multiple = true)]
pub struct SettingArgs {
    /// The preemption mode: none, voluntary, full or lazy
    #[arg(long, value_name = "MODE")]
    pub preempt: Option<PreemptMode>,
    /// CPUs without a tick while they have one task, such as 2-7
    #[arg(long, value_name = "CPUS")]
    pub nohz_full: Option<CpuList>,
    /// CPUs whose RCU callbacks are invoked elsewhere, such as 2-7 or all
    #[arg(long, value_name = "CPUS")]
    pub rcu_nocbs: Option<CpuList>,
    /// Delay RCU callbacks of those CPUs to save power
    #[arg(long, value_name = "WHETHER")]
    pub rcu_lazy: Option<Whether>,
    /// Interrupt handlers in threads
    #[arg(long)]
    pub threadirqs: bool,
    /// CPUs that the scheduler leaves alone, such as 6,7 or managed_irq,domain,6-7
    #[arg(long, value_name = "CPUS")]
    pub isolcpus: Option<IsolatedCpus>,
    /// Ticks of different CPUs at different times
    #[arg(long)]
    pub skew_tick: bool,
    /// The fair scheduler's base slice, in nanoseconds
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub base_slice_ns: Option<u32>,
    /// A scheduler feature, on or, as NO_NAME, off; may be repeated
    #[arg(long = "sched-feature", value_name = "NAME")]
    pub sched_features: Vec<String>,
    /// A sysctl; may be repeated
    #[arg(long = "sysctl", value_name = "NAME=VALUE")]
    pub sysctls: Vec<String>,
    /// Another kernel parameter; may be repeated
    #[arg(long = "parameter", value_name = "WORD")]
    pub parameters: Vec<Setting>,
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Whether {
    /// On
    On,
    /// Off
    Off,
}

/// What can be told of settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EmitTarget {
    /// A drop-in for GRUB
    Grub,
    /// The words for systemd-boot's entries
    SystemdBoot,
    /// A profile of tuned
    Tuned,
    /// A file of sysctl.d, for those that are sysctls
    Sysctl,
    /// A shell script that does all of it without preemptlab
    Script,
}

/// `preemptlab export`
#[derive(Args, Debug)]
pub struct ExportArgs {
    /// The recordings
    #[arg(required = true, value_name = "RUN")]
    pub recordings: Vec<PathBuf>,
    /// How to write the tables
    #[arg(long, default_value = "csv")]
    pub format: TableFormat,
    /// The folder to write them to, new or empty [default: RUN-export, here]
    #[arg(long, short, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
}

/// Forms of tables for other tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TableFormat {
    /// For a spreadsheet, and everything else
    Csv,
    /// Apache Parquet: smaller, and with types
    Parquet,
}

/// `preemptlab explain`
#[derive(Args, Debug)]
pub struct Explain {
    /// The recording
    #[arg(value_name = "RUN")]
    pub recording: PathBuf,
    /// The cell: the beginning of its ID, or words of its name such as 'debian:6.12 none #1'
    /// [default: the one with the worst wakeup]
    #[arg(long, value_name = "CELL")]
    pub cell: Option<String>,
    /// How many of its worst wakeups
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub worst: u16,
    /// Explain the fair probe instead of the real-time one
    #[arg(long)]
    pub fair: bool,
    /// Rank what keeps preemption and interrupts off, over all traced cells of each configuration
    #[arg(long, conflicts_with_all = ["cell", "zoom", "export", "confirm"])]
    pub ranking: bool,
    /// Every call and return around a moment of virtual time, such as 9118.023ms±20us
    #[arg(long, value_name = "TIME[±WINDOW]", conflicts_with_all = ["export", "confirm", "svg"])]
    pub zoom: Option<crate::moment::Moment>,
    /// Move the probe's timer to the worst instant of the trace, execute, and compare
    #[arg(long, conflicts_with_all = ["export", "svg"])]
    pub confirm: bool,
    /// Write the cell's trace in another tool's form
    #[arg(long, value_name = "FORM", requires = "out")]
    pub export: Option<Export>,
    /// The file to write to
    #[arg(long, value_name = "FILE", requires = "export")]
    pub out: Option<PathBuf>,
    /// Draw the timelines into an SVG file
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// How to print it
    #[arg(long, default_value = "table")]
    pub format: Format,
    #[command(flatten)]
    pub machines: Machines,
    #[command(flatten)]
    pub packages: Packages,
}

/// Forms of other tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Export {
    /// For ui.perfetto.dev
    Perfetto,
    /// The text of /sys/kernel/tracing/trace
    Ftrace,
}

/// `preemptlab verify`
#[derive(Args, Debug)]
pub struct Verify {
    /// The recording
    #[arg(value_name = "RUN")]
    pub recording: PathBuf,
    /// Execute only so many cells, spread evenly
    #[arg(long, value_name = "N", conflicts_with = "against")]
    pub cells: Option<usize>,
    /// Compare with another recording instead of executing anything
    #[arg(long, value_name = "RUN")]
    pub against: Option<PathBuf>,
    /// How to print it
    #[arg(long, default_value = "table")]
    pub format: Format,
    #[command(flatten)]
    pub machines: Machines,
    #[command(flatten)]
    pub packages: Packages,
}

/// `preemptlab doctor`
#[derive(Args, Debug)]
pub struct Doctor {
    /// How to print it
    #[arg(long, default_value = "table")]
    pub format: Format,
    #[command(flatten)]
    pub packages: Packages,
}

/// How to print a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For a terminal
    Table,
    /// One document
    Json,
    /// For a spreadsheet
    Csv,
    /// For a pull request or a mailing list
    Markdown,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}
