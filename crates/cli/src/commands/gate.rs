//! `preemptlab gate`: is a kernel worse than another?

pub mod budget;
mod cells;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, ValueEnum};
use preemptlab_analysis::{
    Compared, Notice,
    gate::{Side, judged},
};
use preemptlab_model::{MetricName, PreemptMode};
use preemptlab_report::{
    gate_github, gate_junit, gate_kcidb, gate_letter, gate_markdown, gate_terminal,
};
use preemptlab_stats::{Gate, GateRule, GateVerdict, GivenMargin, Margins};

use self::budget::Budget;
use crate::{
    args::{Machines, Packages},
    exit::{self, Failure},
    output::Output,
};

/// What `git bisect run` takes for "this commit cannot be tested".
const SKIP: u8 = 125;

/// Added to the code of an error with `--bisect`: `git bisect run` stops there, and does not take an
/// error for a bad commit.
const STOP: u8 = 128;

/// Decide whether a kernel is worse than another
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  preemptlab gate debian:6.12 debian:7.2
  preemptlab gate git:../linux@HEAD~1 ../linux --format markdown
  preemptlab gate runs/base runs/new
  preemptlab gate debian:6.12 debian:7.2 studies/postgres.toml --margin 5% --budget 200
  git bisect run preemptlab gate --bisect git:.@v6.12 .

Exit codes: 0 it is no worse, 1 it is worse, 3 the budget was too small to decide.
With --bisect: 0, 1, and 125 where it cannot be told; errors are above 128.")]
pub struct GateArgs {
    /// The kernel that the other is compared with; or a recording of one kernel
    #[arg(value_name = "BASE")]
    pub base: String,
    /// The kernel that may be worse; or a recording of one kernel
    #[arg(value_name = "NEW")]
    pub new: String,
    /// What both are measured with, a TOML file [default: a small one with hackbench,
    /// studies/gate.toml]
    #[arg(value_name = "EXPERIMENT")]
    pub experiment: Option<PathBuf>,
    /// How much worse is no worse: 3% of a metric that is no latency, 20us of a latency and of a
    /// section; METRIC=MARGIN for one metric; may be repeated [default: 3% and 20us]
    #[arg(long = "margin", value_name = "[METRIC=]MARGIN")]
    pub margins: Vec<GivenMargin>,
    /// Decide on this metric; may be repeated [default: throughput and wakeup.fifo.p99, or the
    /// workload's own numbers]
    #[arg(long = "metric", value_name = "METRIC")]
    pub metrics: Vec<String>,
    /// Stop after so many cells of both kernels, or after a time such as 10m
    #[arg(long, value_name = "CELLS|TIME", default_value = "60")]
    pub budget: Budget,
    /// Compare in this mode; may be repeated [default: the first of full, lazy, voluntary and none
    /// that both offer, or those of EXPERIMENT]
    #[arg(long = "preempt", value_name = "MODE")]
    pub preempt: Vec<PreemptMode>,
    /// The seed of the first pair of cells
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Record no traces: sections are not compared, and cells take less time
    #[arg(long)]
    pub no_trace: bool,
    /// Exit as `git bisect run` wants it
    #[arg(long)]
    pub bisect: bool,
    /// The recording's folder [default: runs/gate-DIGEST]
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
    /// How to print it
    #[arg(long, default_value = "table")]
    pub format: GateFormat,
    #[command(flatten)]
    pub machines: Machines,
    #[command(flatten)]
    pub packages: Packages,
}

/// Format of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GateFormat {
    /// For a terminal
    Table,
    /// One document
    Json,
    /// For a pull request
    Markdown,
    /// JUnit's XML, which most CI systems show
    Junit,
    /// Annotations of a GitHub workflow
    Github,
    /// KernelCI's reports (KCIDB)
    Kcidb,
    /// A block for a mail, as the kernel's performance bots send
    Lkp,
}

/// Decides whether a kernel is worse.
pub fn execute(args: &GateArgs, store: Option<PathBuf>, output: &Output) -> exit::Result<ExitCode> {
    let result = decide(args, store, output).and_then(|gate| {
        output.data(&rendered(&gate, args.format, output)?)?;
        Ok(ExitCode::from(code(&gate, args.bisect)))
    });
    result.map_err(|failure| match args.bisect {
        true => Failure { code: failure.code | STOP, ..failure },
        false => failure,
    })
}

/// Returns the decision on two kernels, or on two recordings of one each.
pub fn decide(args: &GateArgs, store: Option<PathBuf>, output: &Output) -> exit::Result<Gate> {
    let rule = GateRule {
        metrics: args.metrics.iter().map(|name| MetricName::from(name.as_str())).collect(),
        margins: Margins::given(&args.margins),
        ..GateRule::default()
    };
    let is_recording = |text: &str| preemptlab_recording::exists(Path::new(text));
    match (is_recording(&args.base), is_recording(&args.new)) {
        (true, true) => of_recordings(args, rule, output),
        (false, false) => cells::decide(args, &rule, store, output),
        (is_base, _) => {
            let recording = if is_base { &args.base } else { &args.new };
            Err(exit::unusable(format!(
                "{recording} is a recording and the other is none: name two kernels, or two recordings"
            )))
        }
    }
}

fn of_recordings(args: &GateArgs, rule: GateRule, output: &Output) -> exit::Result<Gate> {
    if args.experiment.is_some() || args.seed.is_some() || !args.preempt.is_empty() {
        let message = "two recordings are compared as they are: leave EXPERIMENT, --seed and --preempt \
                       out";
        return Err(exit::unusable(message));
    }
    let paths = [PathBuf::from(&args.base), PathBuf::from(&args.new)];
    let (compared, notices) = Compared::open(&paths, None, None)?;
    for notice in notices {
        match notice {
            Notice::Warning(text) => output.warning(text),
            Notice::Note(text) => output.note(text),
        }
    }
    let recordings = compared.recordings();
    let [base, new] = [recordings[0], recordings[1]];
    Ok(judged(Side::only(base)?, Side::only(new)?, rule)?)
}

fn rendered(gate: &Gate, format: GateFormat, output: &Output) -> exit::Result<String> {
    Ok(match format {
        GateFormat::Table => gate_terminal(gate, output.terminal()),
        GateFormat::Json => {
            let json = serde_json::to_string_pretty(gate);
            let json = json.map_err(exit::host)?;
            preemptlab_model::plain::json(&json).into_owned()
        }
        GateFormat::Markdown => gate_markdown(gate),
        GateFormat::Junit => gate_junit(gate),
        GateFormat::Github => gate_github(gate),
        GateFormat::Kcidb => gate_kcidb(gate),
        GateFormat::Lkp => gate_letter(gate),
    })
}

fn code(gate: &Gate, is_bisect: bool) -> u8 {
    match gate.verdict {
        GateVerdict::NoWorse => exit::OK,
        GateVerdict::Worse if is_bisect && gate.is_untestable() => SKIP,
        GateVerdict::Worse => exit::NO,
        GateVerdict::Undecided if is_bisect => SKIP,
        GateVerdict::Undecided => exit::CELLS_FAILED,
    }
}
