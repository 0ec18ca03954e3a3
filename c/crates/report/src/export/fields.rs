//! The content of the tables: each column with its description and the source of its values.

use preemptlab_model::{CellCost, MeasuredCell, Metric, NoResult, PreemptMode, Section};

use super::{Column, Kind, column::Value, exported_cell::LaterInstants, probe::Bucket};

/// A column, and its value in a row.
pub struct Field<R> {
    pub column: Column,
    pub value: fn(&R) -> Value<'_>,
}

type OfCell = Field<MeasuredCell>;
type OfMetric = Field<Metric>;
type OfBucket = Field<Bucket>;
type OfInstants = Field<LaterInstants>;
type OfSection = Field<Section>;

impl<R> Field<R> {
    const fn new(
        name: &'static str,
        kind: Kind,
        about: &'static str,
        value: fn(&R) -> Value<'_>,
    ) -> Self {
        Self { column: Column { name, kind, optional: false, unit: None, about }, value }
    }

    const fn optional(mut self) -> Self {
        self.column.optional = true;
        self
    }

    const fn unit(mut self, unit: &'static str) -> Self {
        self.column.unit = Some(unit);
        self
    }
}

/// The factors: every table begins with them.
pub static FACTORS: [OfCell; 14] = [
    OfCell::new("run", Kind::Utf8, "The name of the recording's folder.", |cell| {
        Value::text(cell.run.as_deref().unwrap_or_default())
    }),
    OfCell::new(
        "backend",
        Kind::Utf8,
        "What executed the cell: `vm` in virtual time, `kvm` or `host` in host time.",
        |cell| Value::text(cell.backend.as_str()),
    ),
    OfCell::new("workload", Kind::Utf8, "The workload's name in the experiment.", |cell| {
        Value::text(&cell.factors.workload)
    }),
    OfCell::new("cpus", Kind::U32, "Virtual CPUs.", |cell| Value::U32(cell.factors.cpus))
        .unit("CPUs"),
    OfCell::new("kernel", Kind::Utf8, "The kernel's name in the experiment.", |cell| {
        Value::display(&cell.factors.kernel)
    }),
    OfCell::new(
        "release",
        Kind::Utf8,
        "`uname -r` of the kernel; absent where nothing tells.",
        |cell| Value::optional(cell.release.as_deref(), Value::text),
    )
    .optional(),
    OfCell::new(
        "rt",
        Kind::Bool,
        "Whether the kernel is built with `PREEMPT_RT`; absent where nothing tells.",
        |cell| Value::optional(cell.rt, Value::Bool),
    )
    .optional(),
    OfCell::new(
        "preempt",
        Kind::Utf8,
        "The mode that was asked for: `none`, `voluntary`, `full` or `lazy`.",
        |cell| Value::text(cell.factors.preempt.as_str()),
    ),
    OfCell::new(
        "settings",
        Kind::Utf8,
        "What else was switched, separated by blanks; empty where nothing was.",
        |cell| Value::display(&cell.factors.settings),
    ),
    OfCell::new(
        "observed",
        Kind::Utf8,
        "The mode that the guest observed; absent where its kernel does not tell, and in cells \
         that did not run to their end.",
        |cell| Value::optional(cell.observed.map(PreemptMode::as_str), Value::text),
    )
    .optional(),
    OfCell::new("replicate", Kind::U32, "Counts from 1; replicates differ by seed.", |cell| {
        Value::U32(cell.factors.replicate)
    }),
    OfCell::new(
        "seed",
        Kind::I64,
        "The seed; absent in cells that the kernel's config rules out.",
        |cell| Value::optional(cell.id.map(|_| cell.seed), Value::I64),
    )
    .optional(),
    OfCell::new(
        "prices",
        Kind::Utf8,
        "The profile that virtual time has the prices of instructions from, followed by `with caches` \
         where these are modelled; absent where each instruction takes the same time, and in host time.",
        |cell| Value::optional(cell.cost.as_ref().and_then(CellCost::prices_of), Value::display),
    )
    .optional(),
    OfCell::new(
        "id",
        Kind::Utf8,
        "The SHA-256 of the cell's inputs, which names its file in the recording; absent in cells \
         that the kernel's config rules out.",
        |cell| Value::optional(cell.id, Value::display),
    )
    .optional(),
];

/// Further columns of the table of cells.
pub static CELL: [OfCell; 4] = [
    OfCell::new(
        "look",
        Kind::U32,
        "How often the results had been looked at before the cell was planned: 0, or more with \
         `run --until`.",
        |cell| Value::U32(cell.look),
    )
    .unit("looks"),
    OfCell::new(
        "status",
        Kind::Utf8,
        "`completed`: it was measured. `failed`: it ran, or tried to, and has no results. \
         `unavailable`: it cannot exist. `missing`: it was not executed yet.",
        |cell| Value::text(NoResult::status(cell.result.as_ref().err())),
    ),
    OfCell::new(
        "reason",
        Kind::Utf8,
        "Why the cell failed or is unavailable; absent in the others.",
        |cell| Value::optional(cell.result.as_ref().err().and_then(NoResult::reason), Value::text),
    )
    .optional(),
    OfCell::new(
        "digest",
        Kind::Utf8,
        "The SHA-256 of everything that the guest said; absent in cells that did not run to their \
         end.",
        |cell| Value::optional(cell.digest, Value::display),
    )
    .optional(),
];

/// Further columns of the table of metrics.
pub static METRIC: [OfMetric; 4] = [
    OfMetric::new("metric", Kind::Utf8, "Its name, as `compare --all` shows it.", |metric| {
        Value::display(&metric.name)
    }),
    OfMetric::new("value", Kind::F64, "Its value in this cell.", |metric| Value::F64(metric.value))
        .unit("that in `unit`"),
    OfMetric::new(
        "unit",
        Kind::Utf8,
        "The unit of `value`, such as `us`, `periods` or `messages/s`.",
        |metric| Value::text(&metric.unit),
    ),
    OfMetric::new("better", Kind::Utf8, "Which way is better: `lower` or `higher`.", |metric| {
        Value::text(metric.direction.as_str())
    }),
];

/// Further columns of the table of histograms.
pub static BUCKET: [OfBucket; 5] = [
    OfBucket::new(
        "probe",
        Kind::Utf8,
        "What was measured: `wakeup.fifo`, `wakeup.other` or `response`.",
        |bucket| Value::text(&bucket.probe),
    ),
    OfBucket::new(
        "kind",
        Kind::Utf8,
        "`bucket`: samples of one value. `overflow`: samples beyond the probe's last bucket, all \
         in one row.",
        |bucket| Value::text(bucket.kind.as_str()),
    ),
    OfBucket::new(
        "latency",
        Kind::I64,
        "The value, rounded down as the probe does. Of an `overflow` it is the largest; the others \
         are not known.",
        |bucket| Value::I64(bucket.latency),
    )
    .unit("that in `unit`"),
    OfBucket::new("unit", Kind::Utf8, "The unit of `latency`: `us`.", |bucket| {
        Value::text(bucket.unit)
    }),
    OfBucket::new("count", Kind::I64, "How many samples; never 0.", |bucket| {
        Value::I64(bucket.count)
    })
    .unit("samples"),
];

/// Further columns of the table of instants.
pub static INSTANTS: [OfInstants; 3] = [
    OfInstants::new(
        "latency_ns",
        Kind::I64,
        "A latency. All cells have the same ones, some 12 % apart; below the first one of a cell \
         every instant is later, above the last one none.",
        |row| Value::I64(row.latency_ns),
    )
    .unit("ns"),
    OfInstants::new(
        "later_ns",
        Kind::I64,
        "The time of the window in which a real-time task that becomes due would be later than \
         `latency_ns`; divided by `window_ns` it is the share of such instants.",
        |row| Value::I64(row.later_ns),
    )
    .unit("ns"),
    OfInstants::new(
        "window_ns",
        Kind::I64,
        "The length of the window in which every instant was computed.",
        |row| Value::I64(row.window_ns),
    )
    .unit("ns"),
];

/// Further columns of the table of sections.
pub static SECTION: [OfSection; 6] = [
    OfSection::new(
        "kind",
        Kind::Utf8,
        "`preemption` or `interrupts`: they are off. `softirq`: softirqs are served.",
        |section| Value::text(section.kind),
    ),
    OfSection::new(
        "function",
        Kind::Utf8,
        "The function to blame, or the softirq that took most of the time.",
        |section| Value::text(&section.function),
    ),
    OfSection::new(
        "callers",
        Kind::Utf8,
        "The callers of the function at its longest section, the nearest first, separated by \
         blanks; empty where they are not known.",
        |section| Value::display(section.callers.join(" ")),
    ),
    OfSection::new("count", Kind::I64, "How many sections.", |section| Value::I64(section.count))
        .unit("sections"),
    OfSection::new("length_ns_max", Kind::I64, "The length of the longest one.", |section| {
        Value::I64(section.max_ns)
    })
    .unit("ns"),
    OfSection::new("length_ns_total", Kind::I64, "All of them together.", |section| {
        Value::I64(section.total_ns)
    })
    .unit("ns"),
];
