use preemptlab_model::{
    BackendKind, CellId, Digest, Distribution, Factors, Histogram, NoResult, PreemptMode, PricesOf,
};

/// A cell of a plan, whatever became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Name of the recording.
    pub run: String,
    /// Backend that executed the cell.
    pub backend: BackendKind,
    /// Factors of the cell.
    pub factors: Factors,
    /// `uname -r` of its kernel; `None` where nothing tells.
    pub release: Option<String>,
    /// Whether the cell's kernel is built with `PREEMPT_RT`; `None` where nothing tells.
    pub rt: Option<bool>,
    /// The mode that the guest observed; `None` where the kernel does not tell.
    pub observed: Option<PreemptMode>,
    /// Seed of the cell; `None` for a cell that cannot be executed.
    pub seed: Option<u64>,
    /// Where its virtual time has the prices of instructions from; `None` where each takes the same time,
    /// and in host time.
    pub prices: Option<PricesOf>,
    /// Number of looks at the results before the cell was planned; 0 for the cells of the manifest.
    pub look: u32,
    /// Reason why the cell has no metrics; `None` for a completed cell.
    pub no_result: Option<NoResult>,
    /// Identity of the cell; `None` for a cell that cannot be executed.
    pub id: Option<CellId>,
    /// Digest of all messages of the guest; `None` for a cell that did not run to its end.
    pub digest: Option<Digest>,
}

/// Distribution that a probe of a cell measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// Name of the distribution.
    pub of: Distribution,
    /// Samples of the probe.
    pub histogram: Histogram,
    /// The unit of the histogram's values.
    pub unit: &'static str,
}

impl Probe {
    /// Returns the histogram's rows, ascending; the overflow, if there is any, is the last.
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

/// Kind of a histogram's row.
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
