use preemptlab_model::{Distribution, Histogram};

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
