//! Summaries over replicates, comparisons of configurations, gates and histories of kernels, with their
//! verdicts. docs/statistics.md describes the methods and their limits.
//!
//! Nothing here does I/O. Every result is finite: a result that cannot be computed is absent, never
//! NaN.

mod agree;
mod agreement;
mod baseline;
mod bootstrap;
mod compare;
mod comparison;
mod contrast;
mod effect;
mod extreme;
mod fidelity;
mod gate;
mod history;
mod interval;
mod looks;
mod machine_histogram;
mod margin;
mod multiplicity;
mod only;
mod rank;
mod recommend;
mod resolution;
mod samples;
mod share;
mod student;
mod summary;

pub use agreement::{Accord, Agreement, Shared};
pub use baseline::{Baseline, ParseBaselineError, UnknownBaseline};
pub use bootstrap::MedianBootstrap;
pub use compare::{Rule, compare};
pub use comparison::{Comparison, Configuration, FORMAT, Failure, Group, MetricInfo, Worst};
pub use contrast::REPLICATES_MIN;
pub use effect::{Effect, Verdict};
pub use extreme::{Estimate, Extreme, ExtremeFit, LEVEL_CELLS, NoFit, NoLevel, Tail, fit};
pub use fidelity::{
    FIDELITY_FORMAT, Fidelity, FidelityError, FidelityMachine, FidelityRatio, FidelityRelation,
    FidelitySource, FidelityWakeups, FidelityWorkload, Unrelated, fidelity,
};
pub use gate::{
    Followed, GATE_FORMAT, Gate, GateFailure, GatePlace, GateRow, GateRule, GateVerdict, Mechanism,
    ParseMechanismError, SectionChange, SectionRow, gate,
};
pub use history::{
    HISTORY_FORMAT, History, HistoryCause, HistoryChange, HistoryGroup, HistoryKernel,
    HistoryPanel, HistoryPoint, HistoryStep, HistoryTrouble, history,
};
pub use interval::Interval;
pub use looks::{Looks, Needed, needed};
pub use machine_histogram::{MachineHistogram, MachineLatency, MachineValue};
pub use margin::{GivenMargin, Margin, MarginError, Margins, ParseMarginError};
pub use multiplicity::adjust;
pub use recommend::{
    Among, Answer, Candidate, Certainty, Choice, Combined, Comparator, Constraint, Judgement,
    Limit, MetricKind, Missing, NoMatch, Objective, Obstacle, ParseRequirementError, Pattern,
    Preference, Question, RecommendError, Recommendation, Requirement, RunnerUp, Standing,
    Statistic, UnitError, UnknownMetric, recommend,
};
pub use resolution::Resolution;
pub use samples::Samples;
pub use share::{ParseShareError, Share};
pub use summary::Summary;
