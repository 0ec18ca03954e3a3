use crate::{
    BackendKind, CellCost, CellId, Clocks, Conditions, Digest, Distribution, Factors, Metric,
    MetricName, NoResult, PreemptMode,
};

/// Planned cell with everything that comparisons, gates, histories, pages and tables know of it.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredCell {
    /// The recording it is from, when there are several.
    pub run: Option<String>,
    /// Backend of the cell, which decides the meaning of its nanoseconds.
    pub backend: BackendKind,
    /// Cost that the cell's time counts; `None` where its time is not virtual, or it cannot exist.
    pub cost: Option<CellCost>,
    /// Time of several CPUs; `None` where there is one, or the time is not virtual.
    pub clocks: Option<Clocks>,
    /// Factors of the cell.
    pub factors: Factors,
    /// `uname -r` of the cell's kernel; `None` where nothing tells.
    pub release: Option<String>,
    /// Whether the cell's kernel is built with `PREEMPT_RT`; `None` where nothing tells.
    pub rt: Option<bool>,
    /// The mode that the guest observed; `None` where the kernel does not tell.
    pub observed: Option<PreemptMode>,
    /// Seed, by which cells of two kernels are paired; that which a cell that cannot exist would have.
    pub seed: u64,
    /// Number of looks at the results before the cell was planned: 0 for a cell that was planned
    /// from the beginning, and in every recording whose number of replicates was fixed in advance.
    pub look: u32,
    /// Identity of the cell; `None` for a cell that cannot be executed.
    pub id: Option<CellId>,
    /// Digest of all messages of the guest; `None` for a cell that did not run to its end.
    pub digest: Option<Digest>,
    /// Conditions of the machine meanwhile; `None` in virtual time.
    pub conditions: Option<Box<Conditions>>,
    /// Number of samples of each distribution of the cell. One without a sample has no metrics.
    pub samples: Vec<(Distribution, u64)>,
    /// Latencies at its instants, where every instant was measured.
    pub instants: Option<Instants>,
    /// The longest sections of each function; `None` for a cell without a trace, and unless the
    /// caller asks for them.
    pub sections: Option<Vec<Section>>,
    /// Metrics of the cell, or the reason why there are none.
    pub result: Result<Vec<Metric>, NoResult>,
}

/// Latencies that the most urgent task would have had at every instant of a cell, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instants {
    /// The largest latency by the trace's stretches alone.
    pub computed_ns: u64,
    /// The largest latency of a wakeup in the trace.
    pub traced_ns: u64,
    /// The largest latency of all, with that which the probe itself reports.
    pub worst_ns: u64,
    /// Work of the CPU at the worst instant, and the function: `preemption off in free_unref_folios`.
    /// Older traces do not tell.
    pub of: Option<String>,
}

/// The sections of one kind that a function is to blame for, in one cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Kind of work that it keeps off: `preemption`, `interrupts` or `softirq`; `call` where the kernel works for
    /// a call that none and voluntary do not preempt.
    pub kind: &'static str,
    /// The function.
    pub function: String,
    /// Callers at the longest section, the nearest first.
    pub callers: Vec<String>,
    /// Number of sections.
    pub count: u64,
    /// Length of the longest, in nanoseconds.
    pub max_ns: u64,
    /// All of them together, in nanoseconds.
    pub total_ns: u64,
}

impl MeasuredCell {
    /// Creates a cell of which nothing else is known. Its seed is the number of its replicate.
    pub fn new(
        backend: BackendKind,
        factors: Factors,
        result: Result<Vec<Metric>, NoResult>,
    ) -> Self {
        Self {
            run: None,
            backend,
            cost: None,
            clocks: None,
            seed: factors.replicate.into(),
            factors,
            release: None,
            rt: None,
            observed: None,
            look: 0,
            id: None,
            digest: None,
            conditions: None,
            samples: Vec::new(),
            instants: None,
            sections: None,
            result,
        }
    }

    /// Returns whether the cell ran to its end; its workload may have found no measurements even so.
    pub fn is_completed(&self) -> bool {
        self.digest.is_some()
    }

    /// Returns the value of a metric; `None` where the cell has none.
    pub fn value(&self, name: &MetricName) -> Option<f64> {
        let metrics = self.result.as_ref().ok()?;
        metrics.iter().find(|metric| metric.name == *name).map(|metric| metric.value)
    }

    /// Returns the largest latency of the real-time probe, in microseconds. A probe of a user's own
    /// reports none, and its trace tells it.
    pub fn latest_us(&self) -> Option<f64> {
        let traced = || self.instants.as_ref().map(|instants| instants.traced_ns as f64 / 1e3);
        self.reported_us().or_else(traced)
    }

    /// Returns the largest wakeup latency that a real-time probe reports, in microseconds.
    pub fn reported_us(&self) -> Option<f64> {
        let metrics = self.result.iter().flatten();
        let reported = metrics.filter(|metric| metric.name.bound().is_some());
        reported.map(|metric| metric.value).reduce(f64::max)
    }

    /// Returns whether both cells are at one place: they differ in kernel, seed and replicate alone.
    pub fn is_at_place_of(&self, other: &Self) -> bool {
        let (one, other) = (&self.factors, &other.factors);
        (&one.workload, &one.machine, one.cpus, one.preempt, &one.settings)
            == (&other.workload, &other.machine, other.cpus, other.preempt, &other.settings)
    }

    /// Returns whether both cells are at one place and have one seed: they differ in kernel alone.
    pub fn is_counterpart_of(&self, other: &Self) -> bool {
        self.seed == other.seed && self.is_at_place_of(other)
    }
}

impl Instants {
    /// Returns whether no wakeup was later than the trace's stretches allow. Where one was, the largest
    /// latency is an observation and no bound.
    pub fn is_sound(&self) -> bool {
        self.worst_ns <= self.computed_ns
    }

    /// Returns the largest latency that the trace alone tells.
    pub fn bound_ns(&self) -> u64 {
        self.computed_ns.max(self.traced_ns)
    }
}
