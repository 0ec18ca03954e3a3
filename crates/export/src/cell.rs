use preemptlab_model::{
    BackendKind, CellId, Digest, Distribution, Factors, Histogram, PreemptMode,
};

/// A cell of a plan, whatever became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The recording's name.
    pub run: String,
    /// What executed it.
    pub backend: BackendKind,
    /// Its place in its experiment.
    pub factors: Factors,
    /// `uname -r` of its kernel; `None` where nothing tells.
    pub release: Option<String>,
    /// Whether its kernel is built with `PREEMPT_RT`; `None` where nothing tells.
    pub rt: Option<bool>,
    /// The mode that the guest observed; `None` where the kernel does not tell.
    pub observed: Option<PreemptMode>,
    /// Its seed; `None` for a cell that cannot be executed.
    pub seed: Option<u64>,
    /// The look at the results before which it was planned; 0 for what was from the beginning.
    pub look: u32,
    /// What became of it.
    pub status: Status,
    /// Its identity; `None` for a cell that cannot be executed.
    pub id: Option<CellId>,
    /// Of everything that the guest said; `None` for a cell that did not run to its end.
    pub digest: Option<Digest>,
}

/// What became of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// It was measured.
    Completed,
    /// It ran, or tried to, and has no results; why.
    Failed(String),
    /// It cannot exist; why.
    Unavailable(String),
    /// It was not executed yet.
    Missing,
}

impl Status {
    /// `completed`, `failed`, `unavailable` or `missing`.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed(_) => "failed",
            Self::Unavailable(_) => "unavailable",
            Self::Missing => "missing",
        }
    }

    /// Why the cell has no results; `None` where it has, and where it was not executed.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Failed(reason) | Self::Unavailable(reason) => Some(reason),
            Self::Completed | Self::Missing => None,
        }
    }
}

/// What a probe of a cell saw.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// What it saw.
    pub of: Distribution,
    /// The samples.
    pub histogram: Histogram,
    /// The unit of the histogram's values.
    pub unit: &'static str,
}

impl Probe {
    /// The histogram's rows, ascending; the overflow, if there is any, is the last.
    pub(crate) fn buckets(&self) -> impl Iterator<Item = Bucket> {
        let row = |kind, latency, count| Bucket {
            probe: self.of.to_string(),
            kind,
            latency,
            count,
            unit: self.unit,
        };
        let histogram = &self.histogram;
        let overflow = (histogram.overflow() > 0).then(|| {
            row(BucketKind::Overflow, histogram.max().unwrap_or_default(), histogram.overflow())
        });
        let counts = histogram.counts();
        counts.map(move |(value, count)| row(BucketKind::Bucket, value, count)).chain(overflow)
    }
}

/// A row of a histogram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    pub probe: String,
    pub kind: BucketKind,
    pub latency: u64,
    pub count: u64,
    pub unit: &'static str,
}

/// What a row of a histogram stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BucketKind {
    /// Samples of one value.
    Bucket,
    /// Samples beyond the last bucket.
    Overflow,
}

impl BucketKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bucket => "bucket",
            Self::Overflow => "overflow",
        }
    }
}
