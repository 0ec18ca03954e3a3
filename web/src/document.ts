// The types of the page's data. Written by crates/report/tests/types.rs, never by hand:
//     WRITE_TYPES=1 cargo test -p preemptlab-report --test types

/**
 * Whether two kinds of time agree on a configuration.
 */
export type Accord = "agree" | "disagree" | "open";

/**
 * Two kinds of time, in which the same configurations were measured.
 */
export type Agreement = {
/**
 * The workload's name in the experiment.
 */
workload: string,
/**
 * Number of CPUs.
 */
cpus: number,
/**
 * The kinds of time.
 */
backends: [BackendKind, BackendKind],
/**
 * Profiles that instructions have their prices from; two of one backend differ in them.
 */
profiles?: [string | null, string | null],
/**
 * Baseline of the ratios, under the name that the first group has for it.
 */
baseline: string,
/**
 * Ratios that both have, in the order of the first.
 */
shared: Array<Shared>, };

/**
 * Executor of cells, which decides the meaning of their nanoseconds.
 */
export type BackendKind = "vm" | "kvm" | "host";

/**
 * Cell of the plan.
 */
export type CellRow = {
/**
 * The index of its workload and number of CPUs in the groups.
 */
group: number,
/**
 * The index of its recording, kernel and mode in the group's configurations.
 */
configuration: number,
/**
 * Index of the replicate, from 1.
 */
replicate: number,
/**
 * Reason why the cell has no measurements; absent for a completed cell.
 */
no_result: NoResult | null,
/**
 * The SHA-256 of its inputs, in hexadecimal.
 */
id: string | null,
/**
 * SHA-256 of the guest's output, in hexadecimal.
 */
digest: string | null,
/**
 * Seed as text: a script's numbers are exact to 53 bits only.
 */
seed: string | null,
/**
 * The index of the kernel's in [`crate::PageData::command_lines`].
 */
command_line: number | null, };

/**
 * Cells that differ in nothing but the replicate.
 */
export type Configuration = {
/**
 * The recording it is from, when several are compared.
 */
run: string | null,
/**
 * The kernel's name in the experiment.
 */
kernel: string,
/**
 * Name that the experiment gives to the kernel; absent where it gives none.
 */
label?: string,
/**
 * Whether its kernel is built with `PREEMPT_RT`; absent where nothing tells.
 */
rt: boolean | null,
/**
 * Requested mode.
 */
preempt: PreemptMode,
/**
 * Settings besides the mode, separated by blanks.
 */
settings: string,
/**
 * The modes that its cells observed; one, unless something is wrong.
 */
observed: Array<PreemptMode>,
/**
 * Number of its cells.
 */
replicates: number,
/**
 * Reason why it cannot exist.
 */
unavailable: string | null,
/**
 * The replicates that failed.
 */
failures: Array<Failure>,
/**
 * Number of its cells that were not executed yet.
 */
missing: number,
/**
 * Samples of its distributions, in the order in which the workload gives them.
 */
samples: Array<Samples>,
/**
 * The worst instant of all its cells; absent where none was measured at every instant.
 */
worst?: Worst,
/**
 * Summaries of its metrics over the replicates, in the order in which the workload gives them;
 * empty when no replicate has any.
 */
metrics: Array<Summary>, };

/**
 * Direction in which a metric is better.
 */
export type Direction = "lower" | "higher";

/**
 * Relation of a configuration's metric to the baseline's.
 */
export type Effect = {
/**
 * The median divided by the baseline's; absent where the baseline's is zero.
 */
ratio: number | null,
/**
 * The 95 % interval of the ratio, with all that the resolution may hide; absent for single
 * replicates, and where some value is not positive.
 */
interval: [number, number] | null,
/**
 * Probability that the bootstrap finds such a difference where there is none, adjusted for the
 * number of comparisons.
 */
p_adjusted: number, } & ({ "verdict": "better" } | { "verdict": "worse" } | { "verdict": "within_margin" } | { "verdict": "within_resolution" } | { "verdict": "undecided",
/**
 * About how many more would; absent where that cannot be estimated.
 */
more: number | null, });

/**
 * An estimate and its 95 % interval.
 */
export type Estimate = {
/**
 * Likeliest value.
 */
value: number,
/**
 * 95 % interval, by the profile likelihood: not symmetric about the value.
 */
interval: [number, number], };

/**
 * Evidence of a configuration's numbers.
 */
export type Evidence = {
/**
 * The index of its group.
 */
group: number,
/**
 * The index of the configuration in the group.
 */
configuration: number,
/**
 * Histograms, one per probe, merged over the replicates.
 */
histograms: Array<Histogram>,
/**
 * The worst wakeups, where they were explained.
 */
timelines: Array<Timeline>,
/**
 * Further notes by the name of their metric: the fit of its maxima, or the reason why there is
 * none.
 */
notes: { [key in string]: string }, };

/**
 * Distribution of a configuration's maxima, or the reason why it has no fit.
 */
export type Extreme = { "fit": {
/**
 * Value that one cell in [`LEVEL_CELLS`] exceeds, where it is within reach.
 */
level_100: Estimate | null,
/**
 * Number of fitted maxima.
 */
n: number,
/**
 * The location, in the unit of the maxima: a cell's maximum exceeds it with 63 %.
 */
location: Estimate,
/**
 * The scale, in the unit of the maxima.
 */
scale: Estimate,
/**
 * Shape of the distribution.
 */
shape: Estimate,
/**
 * Answer of the shape whether there is an upper bound.
 */
tail: Tail,
/**
 * The Anderson-Darling statistic: how far the maxima are from the fit.
 */
anderson_darling: number,
/**
 * Value that the statistic exceeds by chance once in twenty fits; from there on a fit is
 * refused.
 */
anderson_darling_critical: number, } } | { "refused": string };

/**
 * A replicate that has no metrics although it ran or tried to.
 */
export type Failure = {
/**
 * Index of the replicate, from 1.
 */
replicate: number,
/**
 * Reason, in words.
 */
reason: string, };

/**
 * The configurations of one workload on one number of CPUs, all in the same kind of time: a
 * nanosecond that counts instructions, one that adds prices up and one of a clock have no ratio.
 */
export type Group = {
/**
 * The workload's name in the experiment.
 */
workload: string,
/**
 * Virtual CPUs, or those of the machine itself.
 */
cpus: number,
/**
 * Backend that executed the cells.
 */
backend: BackendKind,
/**
 * The profile that instructions have their prices from, with caches or without; absent where each
 * takes the same time, or time is the machine's own.
 */
profile?: string,
/**
 * The index of the configuration that ratios refer to; absent when there is none here.
 */
baseline: number | null,
/**
 * The metrics that any configuration has, in the order in which the workload gives them.
 */
metrics: Array<MetricInfo>,
/**
 * The configurations, in the order of the first cell of each.
 */
configurations: Array<Configuration>, };

/**
 * Samples of one probe of one configuration, in all replicates together.
 */
export type Histogram = {
/**
 * Distribution of the samples, such as `wakeup.fifo`.
 */
of: string,
/**
 * Name of the distribution for people: `FIFO wakeup`.
 */
title: string,
/**
 * The unit of the values, such as `us`.
 */
unit: string,
/**
 * Values and how often each was seen, by ascending value.
 */
counts: [number, number][],
/**
 * Number of samples above the largest value that the probe counts.
 */
overflow: number,
/**
 * The largest of those, where it is known.
 */
overflow_max: number | null, };

/**
 * Guest image, in which the cells of one workload ran on one kernel.
 */
export type ImageUsed = {
/**
 * The recording, when several are compared.
 */
run: string | null,
/**
 * Names of the kernels.
 */
kernels: Array<string>,
/**
 * Names of the workloads.
 */
workloads: Array<string>,
/**
 * The SHA-256 of the image, in hexadecimal.
 */
sha256: string,
/**
 * Packages that its programs and libraries come from.
 */
packages: Array<Package>, };

/**
 * Latencies of a group's configurations at every instant, as a picture.
 */
export type Instants = {
/**
 * The index of the group.
 */
group: number,
/**
 * Complete SVG with a `viewBox`, that preemptlab drew, with all texts escaped.
 */
svg: string, };

/**
 * A kernel that cells ran on.
 */
export type KernelUsed = {
/**
 * The recording, when several are compared.
 */
run: string | null,
/**
 * Name of the kernel in the experiment, such as `debian:6.12-rt`.
 */
name: string,
/**
 * Release that `uname -r` prints.
 */
release: string,
/**
 * The SHA-256 of the image, in hexadecimal.
 */
image_sha256: string,
/**
 * Packages that the kernel comes from.
 */
packages: Array<Package>, };

/**
 * Histogram that a tool wrote on a machine, which has a kind of time of its own: a clock, a processor and
 * a load that no recording has. It is one run, so it has no spread, and nothing is decided from it.
 */
export type MachineHistogram = {
/**
 * Path of its file, as it was named.
 */
file: string,
/**
 * Tool that wrote it: `cyclictest`, `rtla timerlat`, `rtla osnoise`, `oslat`.
 */
tool: string,
/**
 * Unit of the latencies.
 */
unit: string,
/**
 * Latencies of all threads or CPUs together, by context, and then of each.
 */
latencies: Array<MachineLatency>, };

/**
 * Latencies of a machine in one context.
 */
export type MachineLatency = {
/**
 * Latency that was measured, such as `wakeup` or `timer interrupt`.
 */
of: string,
/**
 * The thread or CPU, such as `CPU 3`; absent where it is all of them together.
 */
only?: string,
/**
 * Whether it is the latency of a wakeup from a timer, as `wakeup.fifo` and `wakeup.other` are.
 */
is_wakeup: boolean,
/**
 * Number of samples.
 */
samples: number,
/**
 * Least sample.
 */
min: MachineValue,
/**
 * Mean of the samples.
 */
avg: number,
/**
 * The median.
 */
p50: MachineValue,
/**
 * The value that one sample in a hundred exceeds.
 */
p99: MachineValue,
/**
 * The value that one sample in a thousand exceeds.
 */
"p99.9": MachineValue,
/**
 * Largest sample.
 */
max: MachineValue, };

/**
 * Latency, as far as a file tells it.
 */
export type MachineValue = {
/**
 * The latency, or a bound from below.
 */
value: number,
/**
 * Whether the latency is above `value`, since its sample is in no bucket.
 */
is_above: boolean, };

/**
 * Kind of a metric.
 */
export type MetricClass = "statistic" | "throughput" | "number" | "part";

/**
 * Description of a metric.
 */
export type MetricInfo = {
/**
 * Such as `wakeup.fifo.p99`.
 */
name: string,
/**
 * Kind of the metric.
 */
kind: MetricClass,
/**
 * Distribution of the statistic, such as `wakeup.fifo`; absent for a metric that is none.
 */
of: string | null,
/**
 * The statistic, such as `p99`, `max` or `omitted`.
 */
statistic: string | null,
/**
 * Such as `us`.
 */
unit: string,
/**
 * Direction in which the metric is better.
 */
better: Direction,
/**
 * Smallest difference that its instrument tells, in the unit; 0 for a metric that is exact.
 */
resolution: number,
/**
 * Difference up to which two configurations are called the same; absent where it is the comparison's.
 */
margin?: string,
/**
 * Whether it is one of those that tell configurations apart, and is shown before all others.
 */
headline: boolean,
/**
 * Name of the metric for people: `FIFO wakeup p99`.
 */
title: string,
/**
 * Meaning of the metric, in a sentence; empty for a number of a workload's own.
 */
meaning: string, };

/**
 * Reason why a planned cell has no metrics. A cell that has some is completed.
 */
export type NoResult = { "status": "failed", "reason": string } | { "status": "unavailable", "reason": string } | { "status": "missing" };

/**
 * A Debian package that was used.
 */
export type Package = {
/**
 * Name of the package.
 */
name: string,
/**
 * Version of the package.
 */
version: string,
/**
 * SHA-256 of the `.deb`.
 */
sha256: string, };

/**
 * Everything that the page shows: a comparison as `compare --format json` prints it, and evidence.
 * Every text in it may be hostile, except [`Timeline::svg`] and [`Instants::svg`].
 */
export type PageData = {
/**
 * Title of the comparison, for the heading and the window.
 */
title: string,
/**
 * Program that made the page, such as `preemptlab 0.1.0`.
 */
generator: string,
/**
 * Meaning of virtual time, which the page states once.
 */
caption: string,
/**
 * Result of the comparison, in one sentence.
 */
headline: string,
/**
 * Grounds of the result and further notes; a sentence each.
 */
points: Array<string>,
/**
 * Latencies at every instant, of each group in which they are known.
 */
instants: Array<Instants>,
/**
 * Evidence, one per configuration of each group, in their order.
 */
evidence: Array<Evidence>,
/**
 * The kernels, of each recording.
 */
kernels: Array<KernelUsed>,
/**
 * The builds of QEMU, of each recording.
 */
qemu: Array<QemuUsed>,
/**
 * The guest images, of each recording.
 */
images: Array<ImageUsed>,
/**
 * The kernels' distinct command lines; [`CellRow::command_line`] is an index into them.
 */
command_lines: Array<string>,
/**
 * Every cell of the plan, in its order.
 */
cells: Array<CellRow>,
/**
 * See [`FORMAT`].
 */
format: number,
/**
 * Difference up to which two configurations are called the same: 0.05 is 5 % of the baseline. Metrics
 * with another margin have theirs in `groups[].metrics[].margin`.
 */
margin: number,
/**
 * Number of comparisons, of every metric of every configuration with its baseline's; p-values
 * are adjusted for it.
 */
comparisons: number,
/**
 * Number of looks at the results before each decision whether to go on; 1 when the number of
 * replicates was fixed in advance.
 */
looks: number,
/**
 * Groups of configurations that can be compared with each other, in the order of the first
 * cell of each.
 */
groups: Array<Group>,
/**
 * Configurations that were measured in two kinds of time, and whether these agree.
 */
agreements: Array<Agreement>,
/**
 * Disturbances of the cells in a machine's own time, a sentence each; none in virtual time.
 */
disturbances?: Array<string>,
/**
 * Histograms from machines, which stand beside the groups: they have no ratio to any of them.
 */
histograms?: Array<MachineHistogram>, };

/**
 * Preemption mode of a kernel; `rt` is a second axis and not a mode.
 *
 * The names are those of `preempt=` and of debugfs `sched/preempt` (kernel/sched/core.c,
 * `sched_dynamic_mode`).
 */
export type PreemptMode = "none" | "voluntary" | "full" | "lazy";

/**
 * The QEMU that ran the cells.
 */
export type QemuUsed = {
/**
 * The recording, when several are compared.
 */
run: string | null,
/**
 * Version that `--version` prints.
 */
version: string,
/**
 * The SHA-256 of the build, in hexadecimal.
 */
digest: string,
/**
 * Packages that QEMU and its libraries come from.
 */
packages: Array<Package>, };

/**
 * Number of samples of a distribution in the cells of a configuration.
 */
export type Samples = {
/**
 * The distribution, such as `wakeup.fifo`.
 */
of: string,
/**
 * All samples.
 */
count: number,
/**
 * Number of cells that measured the distribution.
 */
cells: number,
/**
 * Number of them without a sample: nothing happened that it could have been taken of.
 */
empty: number, };

/**
 * A metric of a configuration that two kinds of time have.
 */
export type Shared = {
/**
 * The kernel in each.
 */
kernels: [string, string],
/**
 * Preemption mode.
 */
preempt: PreemptMode,
/**
 * Settings besides the mode.
 */
settings: string,
/**
 * Name of the metric.
 */
metric: string,
/**
 * Relation to the baseline in each kind of time.
 */
effects: [Effect, Effect],
/**
 * Agreement of the two kinds of time.
 */
accord: Accord, };

/**
 * Summary of one metric of one configuration over its replicates.
 *
 * Samples within a replicate are not independent of each other, replicates are. So there is one
 * value per replicate, and every statement is about these values. The location is their median.
 */
export type Summary = {
/**
 * Name of the metric.
 */
name: string,
/**
 * Unit of the metric.
 */
unit: string,
/**
 * Direction in which the metric is better.
 */
better: Direction,
/**
 * Smallest difference that its instrument tells, in the unit; 0 for a metric that is exact.
 */
resolution: number,
/**
 * Number of replicates with a value.
 */
n: number,
/**
 * The median of `values`; the mean of the middle two when their number is even.
 */
median: number,
/**
 * Least value.
 */
min: number,
/**
 * Largest value.
 */
max: number,
/**
 * The 95 % interval of the median, which is never narrower than the resolution; absent for a single
 * replicate, which has no spread.
 */
interval: [number, number] | null,
/**
 * Relation to the baseline's; absent without a baseline, and for the baseline itself.
 */
effect: Effect | null,
/**
 * Distribution of the cells' maxima; absent for a metric that is no maximum.
 */
extreme: Extreme | null,
/**
 * The value of each replicate that has one, in the order of the replicates; never empty.
 */
values: Array<number>,
/**
 * The replicates that `values` are of.
 */
replicates: Array<number>, };

/**
 * Whether maxima have an upper bound.
 */
export type Tail = { "bounded": {
/**
 * The likeliest bound, in the unit of the maxima.
 */
end: number, } } | "unbounded" | "undecided";

/**
 * Timeline of one late wakeup.
 */
export type Timeline = {
/**
 * Name of the cell and of its wakeup.
 */
caption: string,
/**
 * Cause of the latency, in a sentence.
 */
sentence: string,
/**
 * Complete SVG with a `viewBox`. It becomes a part of the page, so it must be one that
 * preemptlab drew, with the guest's texts escaped.
 */
svg: string, };

/**
 * The instant at which a real-time task would have been latest, and what makes it so.
 */
export type Worst = {
/**
 * Latency at that instant, in microseconds.
 */
us: number,
/**
 * The state of the CPU, and the function: `preemption off in free_unref_folios`.
 */
of: string, };
