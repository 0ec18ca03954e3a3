//! The values of a gate: its input and its output.

use std::fmt;

use preemptlab_model::{
    Digest, Direction, Factors, MeasuredCell, MetricName, Name, PreemptMode, Settings, counted,
    of_machine,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Interval, Margin, Verdict};

/// The version of [`Gate`] as others read it. Fields may be added within a version.
pub const GATE_FORMAT: u32 = 1;

/// The place at which two kernels are compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct GatePlace {
    /// The workload's name in the experiment.
    pub workload: String,
    /// The machine whose time it has; absent where the experiment has only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<Name>,
    /// Number of CPUs.
    pub cpus: u32,
    /// Requested mode.
    pub preempt: PreemptMode,
    /// Settings besides the mode.
    pub settings: Settings,
}

impl GatePlace {
    /// Returns the place of a cell.
    pub fn of(cell: &MeasuredCell) -> Self {
        let Factors { workload, machine, cpus, preempt, settings, .. } = cell.factors.clone();
        Self { workload, machine, cpus, preempt, settings }
    }
}

impl fmt::Display for GatePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { workload, machine, cpus, preempt, settings } = self;
        let (cpus, machine) = (counted(*cpus as usize, "CPU"), of_machine(machine.as_ref()));
        write!(f, "{workload} {preempt} on {cpus}{machine}")?;
        if settings.is_empty() { Ok(()) } else { write!(f, " {settings}") }
    }
}

/// The decision, and what it is made of.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Gate {
    /// See [`GATE_FORMAT`].
    pub format: u32,
    /// Whether the new kernel is worse.
    pub verdict: GateVerdict,
    /// Name of the kernel that the other is compared with.
    pub base: String,
    /// Name of the kernel that may be worse.
    pub new: String,
    /// SHA-256 of the base's image.
    pub base_image: Option<Digest>,
    /// SHA-256 of the new kernel's image; absent where it could not be had.
    pub new_image: Option<Digest>,
    /// Number of looks at the results.
    pub looks: u32,
    /// Number of cells of both kernels that were measured.
    pub cells: usize,
    /// The new kernel's cells that failed where the base's did not.
    pub failures: Vec<GateFailure>,
    /// Each metric at each place.
    pub rows: Vec<GateRow>,
    /// The functions whose sections became longer, are new or are gone, the largest change first.
    pub sections: Vec<SectionRow>,
    /// Number of further such functions that are not listed.
    pub further_sections: usize,
    /// Whether the cells were traced, so that `sections` says something.
    pub is_traced: bool,
    /// Facts that a reader needs to judge the decision.
    pub notes: Vec<String>,
}

/// The decision of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateVerdict {
    /// Every metric is within its margin.
    NoWorse,
    /// Something is worse.
    Worse,
    /// More cells would be needed.
    Undecided,
}

impl GateVerdict {
    /// Returns the words for people.
    pub const fn words(self) -> &'static str {
        match self {
            Self::NoWorse => "no worse",
            Self::Worse => "worse",
            Self::Undecided => "not decided",
        }
    }
}

/// A cell of the new kernel that failed.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GateFailure {
    /// Place of the cell; absent for a kernel that has no cells at all.
    pub place: Option<GatePlace>,
    /// Seed of the cell.
    pub seed: Option<u64>,
    /// Reason, in words.
    pub reason: String,
}

/// Metric of a place.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GateRow {
    /// Place.
    pub place: GatePlace,
    /// Name of the metric.
    pub metric: MetricName,
    /// Name of the metric for people.
    pub title: String,
    /// Unit of the metric.
    pub unit: String,
    /// Direction in which it is better.
    pub better: Direction,
    /// Mean of the base's values.
    pub base: f64,
    /// Standard deviation of the base's values.
    pub base_deviation: f64,
    /// Mean of the new kernel's values.
    pub new: f64,
    /// Standard deviation of the new kernel's values.
    pub new_deviation: f64,
    /// Mean change from seed to seed: a share of the base's value, or a difference in the unit, as the
    /// margin is one.
    pub change: f64,
    /// The 95 % interval of the change, the lower end first.
    pub interval: Option<Interval>,
    /// Margin.
    #[schemars(with = "String")]
    pub margin: Margin,
    /// Number of seeds that both have measured.
    pub pairs: usize,
    /// Probability that equal kernels differ so much in the worse direction.
    pub p: f64,
    /// Verdict.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// A function whose longest sections changed.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SectionRow {
    /// Place.
    pub place: GatePlace,
    /// Mechanism that the sections keep off: `preemption`, `interrupts` or `softirq`.
    pub kind: String,
    /// The function.
    pub function: String,
    /// Callers at the longest section of the kernel that has the longer one.
    pub callers: Vec<String>,
    /// Median over the seeds of the base's longest section, in microseconds.
    pub base_us: f64,
    /// Median of the new kernel's longest.
    pub new_us: f64,
    /// Time of all such sections of a cell with the base, in microseconds; a mean.
    pub base_total_us: f64,
    /// Time of all such sections of a cell with the new kernel.
    pub new_total_us: f64,
    /// Its change.
    pub change: SectionChange,
    /// Probability that equal kernels differ so much.
    pub p: f64,
    /// Whether it makes the new kernel worse.
    pub is_worse: bool,
    /// Whether further seeds would tell whether it does.
    pub is_suspect: bool,
}

/// Change of a function's sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SectionChange {
    /// The base has none.
    New,
    /// They are longer.
    Longer,
    /// They are shorter.
    Shorter,
    /// The new kernel has none.
    Gone,
}

impl SectionChange {
    /// Returns the word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Longer => "longer",
            Self::Shorter => "shorter",
            Self::Gone => "gone",
        }
    }
}

impl Gate {
    /// Largest probability of calling a kernel worse that is not: 1 %. Half of it is for the metrics,
    /// half for the sections.
    pub const ALPHA: f64 = 0.01;

    /// Returns the rows and sections that make the new kernel worse, in words.
    pub fn reasons(&self) -> Vec<String> {
        let failures = self.failures.iter().map(|failure| match &failure.place {
            Some(place) => format!("{place}: a cell failed: {}", failure.reason),
            None => failure.reason.clone(),
        });
        let rows = self.rows.iter().filter(|row| row.verdict == Verdict::Worse);
        let rows = rows.map(|row| {
            format!("{}: {} {} (p {})", row.place, row.title, row.changed(), p_words(row.p))
        });
        let sections = self.sections.iter().filter(|section| section.is_worse);
        let sections = sections.map(|row| {
            format!(
                "{}: {} keeps {} {} for {:.1} us, {} ({:.1} us before; p {})",
                row.place,
                row.function,
                row.kind,
                if row.kind == "softirq" { "running" } else { "off" },
                row.new_us,
                row.change.as_str(),
                row.base_us,
                p_words(row.p)
            )
        });
        failures.chain(rows).chain(sections).collect()
    }

    /// Lists the places that further seeds may decide.
    pub fn open_places(&self) -> Vec<&GatePlace> {
        let rows = self.rows.iter().filter(|row| !row.verdict.is_decided()).map(|row| &row.place);
        let suspects = self.sections.iter().filter(|row| row.is_suspect).map(|row| &row.place);
        let mut places: Vec<&GatePlace> = rows.chain(suspects).collect();
        places.sort_unstable();
        places.dedup();
        places
    }

    /// Returns whether the new kernel could not be measured at all: it was not built, or no cell of it
    /// ended.
    pub fn is_untestable(&self) -> bool {
        self.rows.is_empty() && !self.failures.is_empty()
    }
}

impl GateRow {
    /// Returns the change in words: `-3.1%` or `+20.4 us`.
    pub fn changed(&self) -> String {
        self.change_words(self.change)
    }

    /// Returns the verdict in words, with the seeds that would decide it: `undecided +4`.
    pub fn verdict_words(&self) -> String {
        match self.verdict {
            Verdict::Undecided { more: Some(more) } => format!("undecided +{more}"),
            verdict => verdict.word(self.margin),
        }
    }

    /// Returns the probability in words: `0.02`, `<0.0001`.
    pub fn p_words(&self) -> String {
        p_words(self.p)
    }

    /// Returns the interval of the change in words.
    pub fn interval_words(&self) -> String {
        let words = |of: f64| self.change_words(of);
        self.interval
            .map(|Interval { low, high }| format!("{} to {}", words(low), words(high)))
            .unwrap_or_default()
    }

    fn change_words(&self, change: f64) -> String {
        match self.margin {
            Margin::Share(_) => format!("{:+.1}%", change * 100.0),
            Margin::Time(_) => format!("{change:+.1} {}", self.unit),
        }
    }
}

/// Writes a probability with one digit of meaning: `0.02`, `<0.0001`.
fn p_words(p: f64) -> String {
    match p {
        p if p < 0.0001 => "<0.0001".to_owned(),
        p if p < 0.01 => format!("{p:.4}"),
        p => format!("{p:.2}"),
    }
}
