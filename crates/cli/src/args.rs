//! Arguments that several verbs share.

use std::{
    ffi::OsStr,
    fmt,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use clap::{
    Args, ValueEnum,
    builder::{
        OsStringValueParser, PathBufValueParser, PossibleValue, PossibleValuesParser,
        TypedValueParser,
    },
};
use preemptlab_experiment::{CostSource, KernelLevel, Overrides};
use preemptlab_files::OutFolder;
use preemptlab_lab::{Config, EmbedError, kernel_level};
use preemptlab_model::{Arch, Direction, PreemptMode};
use preemptlab_scenario::Model;
use preemptlab_stats::{GivenMargin, Margins, Pattern, Question, Requirement};

use crate::exit::{self, Failure, OrExit};

/// The kernel where nobody names one: that of Debian's stable release.
pub const DEFAULT_KERNEL: &str = "debian:6.12";

/// Settings of virtual machines.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Virtual machines")]
pub struct Machines {
    /// Virtual machines at a time [default: the number of CPUs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
    /// Let build scripts run that others may have written: those of a kernel `file:...,modules=FOLDER`,
    /// where preemptlab's own modules are built for it, and those of a tree or a repository that other
    /// users can write to. They can run any command
    #[arg(long)]
    pub allow_build_scripts: bool,
}

/// Architecture of guests.
#[derive(Args, Clone, Copy, Debug)]
pub struct Guests {
    /// Guests of this architecture: amd64 or arm64
    #[arg(long, value_name = "ARCH")]
    pub arch: Option<Arch>,
}

/// Reads the path of something that is written. `-` would become a file or a folder of that name, where
/// most programs write to standard output.
pub fn written_path() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| match path.as_os_str() == "-" {
        false => Ok(path),
        true => Err("`-` is not taken for standard output: give a path, or ./- for that name"),
    })
}

/// Reads the path of a folder that is written to.
pub fn written_folder() -> impl TypedValueParser<Value = OutFolder> {
    written_path().map(OutFolder::named)
}

/// Reads the name of a profile, or its file.
pub fn machine(named: &str) -> Result<CostSource, EmbedError> {
    preemptlab_lab::cost(CostSource::named(named), Path::new(""))
}

/// Values that replace those of an experiment's file.
#[derive(Args, Debug)]
#[command(next_help_heading = "Instead of what the file says, for a first look")]
pub struct OverrideArgs {
    /// This kernel, with a label for tables where one is wanted, as in base=debian:6.12; a path is
    /// that of a source tree, or of a package that it ends as (.deb, .rpm); may be repeated
    #[arg(long = "kernel", value_name = "[LABEL=]KERNEL", value_parser = kernel_level)]
    pub kernels: Vec<KernelLevel>,
    /// These preemption modes, such as none,full,lazy; a scenario also has rt and rt-lazy, of the kernel's -rt
    /// flavour, and compares the others with the first [default of a scenario: none,voluntary,full,rt]
    #[arg(long = "preempt", value_name = "MODES", value_delimiter = ',')]
    pub preempt: Vec<Model>,
    #[command(flatten)]
    pub guests: Guests,
    /// The time of this machine: the name of a profile, its file, or `instructions`; may be repeated, and
    /// the output then shows which verdicts depend on it
    #[arg(long = "machine", value_name = "PROFILE", value_parser = machine)]
    pub machine: Vec<CostSource>,
    /// Only this workload, by its name in the experiment; may be repeated
    #[arg(long = "workload", value_name = "WORKLOAD")]
    pub workloads: Vec<String>,
    /// Number of replicates
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub replicates: Option<u32>,
    /// The seed of the first replicate
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

impl OverrideArgs {
    /// Returns the values that replace those of the file.
    pub fn overrides(&self) -> exit::Result<Overrides> {
        Ok(Overrides {
            arch: self.guests.arch,
            machines: self.machine.clone(),
            kernels: self.kernels.clone(),
            preempt: self.modes()?,
            workloads: self.workloads.clone(),
            replicates: self.replicates,
            seed: self.seed,
        })
    }

    /// Returns the modes of an experiment; `rt` is not a mode.
    pub fn modes(&self) -> exit::Result<Vec<PreemptMode>> {
        let modes = self.preempt.iter().map(|model| model.as_str().parse());
        modes.collect::<Result<_, _>>().or_exit(exit::UNUSABLE)
    }
}

/// Requirements on a configuration.
#[derive(Args, Debug)]
pub struct QuestionArgs {
    /// A requirement: METRIC (<=, <, >= or >) NUMBER UNIT, such as 'wakeup.max<=100us';
    /// may be repeated
    #[arg(long = "require", value_name = "REQUIREMENT")]
    pub requirements: Vec<Requirement>,
    /// The metric to make as large as possible [default: throughput]
    #[arg(long, value_name = "METRIC", conflicts_with = "minimize")]
    pub maximize: Option<String>,
    /// The metric to make as small as possible
    #[arg(long, value_name = "METRIC")]
    pub minimize: Option<String>,
    /// Choose among configurations that match, such as 'debian:7.2*' or '*/full'; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub among: Vec<Pattern>,
}

impl QuestionArgs {
    /// Returns the question that the options ask.
    pub fn question(&self) -> Question {
        let maximize = self.maximize.clone().map(|metric| (metric, Direction::Higher));
        let minimize = self.minimize.clone().map(|metric| (metric, Direction::Lower));
        Question {
            requirements: self.requirements.clone(),
            objective: minimize.or(maximize),
            among: self.among.clone(),
        }
    }

    /// Returns whether the options ask anything.
    pub fn is_asked(&self) -> bool {
        let Self { requirements, maximize, minimize, among } = self;
        !requirements.is_empty() || maximize.is_some() || minimize.is_some() || !among.is_empty()
    }
}

/// Rule by which configurations are compared.
#[derive(Args, Debug)]
pub struct RuleArgs {
    /// The configuration that ratios refer to, KERNEL/MODE [default: the first of each workload]
    #[arg(long, value_name = "CONFIGURATION")]
    pub baseline: Option<String>,
    /// Largest difference that counts as the same: a share such as 3%, or a time such as 20us for
    /// latencies; METRIC= before it for one metric; may be repeated [default: 5%, or that of `run --until`]
    #[arg(long = "margin", value_name = "[METRIC=]SHARE|TIME")]
    pub margins: Vec<GivenMargin>,
}

impl RuleArgs {
    /// Returns whether one of the options is given.
    pub fn is_given(&self) -> bool {
        self.baseline.is_some() || !self.margins.is_empty()
    }
}

/// Returns the margins of a gate: its own, with the configured ones and then the given ones in their place.
pub fn gate_margins(given: &[GivenMargin], config: &Config) -> exit::Result<Margins> {
    let margins = Margins::gate().with(config.margins()).and_then(|margins| margins.with(given));
    margins.or_exit(exit::UNUSABLE)
}

/// Options for changing the settings of a machine.
#[derive(Args, Debug)]
pub struct ChangeArgs {
    /// Do not ask
    #[arg(long, short)]
    pub yes: bool,
    /// The root folder of another system, such as an image that is being built
    #[arg(long, value_name = "FOLDER", default_value = "/")]
    pub root: PathBuf,
}

/// Form in which something is printed or written. Each command has some of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For a terminal
    Table,
    /// Five lines at most, for a chat
    Brief,
    /// One document
    Json,
    /// For a spreadsheet
    Csv,
    /// For a pull request, a mailing list or a page
    Markdown,
    /// One page that needs nothing else, with pictures
    Html,
    /// Pictures
    Svg,
    /// JUnit's XML, which most CI systems show
    Junit,
    /// Annotations of a GitHub workflow
    Github,
    /// KernelCI's reports (KCIDB)
    Kcidb,
    /// A block for a mail, as the kernel's performance bots send
    Lkp,
    /// Apache Parquet: smaller, and with types
    Parquet,
    /// For ui.perfetto.dev
    Perfetto,
    /// The text of /sys/kernel/tracing/trace
    Ftrace,
}

impl Format {
    /// The formats of a table.
    pub const TABLES: [Self; 4] = [Self::Table, Self::Json, Self::Csv, Self::Markdown];

    /// Refuses a format that the command line should not have let through.
    pub fn is_not_written(self) -> Failure {
        exit::unusable(format!("this command cannot write {self}"))
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            self.to_possible_value().iter().map(PossibleValue::get_name).next().unwrap_or_default(),
        )
    }
}

/// Reads one of the formats that a command can write.
pub fn formats<const N: usize>(written: [Format; N]) -> impl TypedValueParser<Value = Format> {
    let values = written.into_iter().filter_map(|format| format.to_possible_value());
    PossibleValuesParser::new(values).try_map(|name| Format::from_str(&name, false))
}

/// A form of a result, and where it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// The format.
    pub format: Format,
    /// The file, or the folder of pictures; `None` for standard output.
    pub file: Option<PathBuf>,
}

/// Reads one of the formats that a command can write, with its file. The path is everything behind the first
/// `=`.
pub fn forms<const N: usize>(written: [Format; N]) -> impl TypedValueParser<Value = Form> {
    OsStringValueParser::new().try_map(move |text| {
        let bytes = text.as_bytes();
        let (name, file) = match bytes.iter().position(|byte| *byte == b'=') {
            Some(at) => (&bytes[..at], Some(PathBuf::from(OsStr::from_bytes(&bytes[at + 1..])))),
            None => (bytes, None),
        };
        let name = String::from_utf8_lossy(name);
        let format = written.into_iter().find(|format| format.to_string() == name);
        let format = format.ok_or_else(|| {
            let known = written.map(|format| format.to_string()).join(", ");
            match Format::from_str(&name, false) {
                Ok(other) => format!("this command cannot write {other}; there are {known}"),
                Err(_) => {
                    format!("`{}` is not a format; the formats are {known}", name.escape_debug())
                }
            }
        })?;
        match file {
            Some(file) if file.as_os_str().is_empty() || file.as_os_str() == "-" => {
                Err(format!("a file follows `{name}=`; without one it goes to standard output"))
            }
            file => Ok(Form { format, file }),
        }
    })
}

/// Refuses forms that cannot all be written, before anything is executed.
pub fn check_forms(forms: &[Form]) -> exit::Result<()> {
    if forms.iter().filter(|form| form.file.is_none()).count() > 1 {
        return Err(exit::unusable(
            "two formats go to standard output: give one of them a file, as in --format json=result.json",
        ));
    }
    for (at, file) in
        forms.iter().enumerate().filter_map(|(at, form)| Some((at, form.file.as_ref()?)))
    {
        if forms[..at].iter().any(|other| other.file.as_ref() == Some(file)) {
            let message = format!("two formats go to {}: give each a file", file.display());
            return Err(exit::unusable(message));
        }
    }
    Ok(())
}

/// Refuses the first option that is given and has no meaning beside the others, and says why.
pub fn refuse(given: &[(bool, &str)], why: &str) -> exit::Result<()> {
    match given.iter().find(|(is_given, _)| *is_given) {
        None => Ok(()),
        Some((_, option)) => Err(exit::unusable(format!("{why}: leave {option} out"))),
    }
}

/// Rule for colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}
