// The types of the page's data. Written by crates/report-html/tests/types.rs, never by hand:
//     WRITE_TYPES=1 cargo test -p preemptlab-report-html --test types

/**
 * Whether two kinds of time say the same of a configuration.
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
 * CPUs.
 */
cpus: number,
/**
 * The kinds of time.
 */
backends: [BackendKind, BackendKind],
/**
 * What the ratios are to, by the name that the first has for it.
 */
baseline: string,
/**
 * What both have a ratio of, in the order of the first.
 */
shared: Array<Shared>, };

/**
 * What executes cells, and so what their nanoseconds are.
 */
export type BackendKind = "vm" | "kvm" | "host";

/**
 * One cell of the plan.
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
 * Counts from 1.
 */
replicate: number,
/**
 * Why it has no measurements; absent for a completed cell.
 */
no_result: NoResult | null,
/**
 * The SHA-256 of its inputs, in hexadecimal.
 */
id: string | null,
/**
 * The SHA-256 of what the guest said, in hexadecimal.
 */
digest: string | null,
/**
 * As text: a script's numbers are exact to 53 bits only.
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
 * Whether its kernel is built with `PREEMPT_RT`; absent where nothing tells.
 */
rt: boolean | null,
/**
 * The requested mode.
 */
preempt: PreemptMode,
/**
 * What else is switched, separated by blanks.
 */
settings: string,
/**
 * The modes that its cells observed; one, unless something is wrong.
 */
observed: Array<PreemptMode>,
/**
 * Its cells.
 */
replicates: number,
/**
 * Why it cannot exist.
 */
unavailable: string | null,
/**
 * The replicates that failed.
 */
failures: Array<Failure>,
/**
 * How many of its cells were not executed yet.
 */
missing: number,
/**
 * Its metrics over the replicates, in the order in which the workload gives them; empty when
 * no replicate has any.
 */
metrics: Array<Summary>, };

/**
 * Which way a metric is better.
 */
export type Direction = "lower" | "higher";

/**
 * How a metric of a configuration relates to the baseline's.
 */
export type Effect = {
/**
 * The median divided by the baseline's; absent where the baseline's is zero.
 */
ratio: number | null,
/**
 * The 95 % interval of the ratio; absent for single replicates, and where some value is not
 * positive.
 */
interval: [number, number] | null,
/**
 * How probable it is that the bootstrap finds such a difference where there is none, adjusted
 * for the number of comparisons.
 */
p_adjusted: number, } & ({ "verdict": "better" } | { "verdict": "worse" } | { "verdict": "within_margin" } | { "verdict": "undecided",
/**
 * About how many more would; absent where that cannot be estimated.
 */
more: number | null, });

/**
 * An estimate and its 95 % interval.
 */
export type Estimate = {
/**
 * The likeliest value.
 */
value: number,
/**
 * Its 95 % interval, by the profile likelihood: not symmetric about the value.
 */
interval: [number, number], };

/**
 * What the numbers of a configuration rest on.
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
 * One per probe, merged over the replicates.
 */
histograms: Array<Histogram>,
/**
 * The worst wakeups, where they were explained.
 */
timelines: Array<Timeline>,
/**
 * What else is to be known of a metric, by its name: the fit of its maxima, or why there is none.
 */
notes: { [key in string]: string }, };

/**
 * What the distribution of a configuration's maxima says, or why it says nothing.
 */
export type Extreme = { "fit": {
/**
 * What one cell in [`LEVEL_CELLS`] exceeds, where that is within reach.
 */
level_100: Estimate | null,
/**
 * How many maxima were fitted.
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
 * The shape.
 */
shape: Estimate,
/**
 * What the shape says of an upper bound.
 */
tail: Tail,
/**
 * The Anderson-Darling statistic: how far the maxima are from the fit.
 */
anderson_darling: number,
/**
 * What the statistic exceeds by chance once in twenty fits; from there on a fit is refused.
 */
anderson_darling_critical: number, } } | { "refused": string };

/**
 * A replicate that has no metrics although it ran or tried to.
 */
export type Failure = {
/**
 * Counts from 1.
 */
replicate: number,
/**
 * Why.
 */
reason: string, };

/**
 * The configurations of one workload on one number of CPUs, all in the same kind of time: a
 * nanosecond that counts instructions and one of a clock have no ratio.
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
 * What executed the cells.
 */
backend: BackendKind,
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
 * What one probe of one configuration saw, in all replicates together.
 */
export type Histogram = {
/**
 * What it is of, such as `wakeup.fifo`.
 */
of: string,
/**
 * The same for people: `FIFO wakeup`.
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
 * How many were above the largest value that the probe counts.
 */
overflow: number,
/**
 * The largest of those, where it is known.
 */
overflow_max: number | null, };

/**
 * A guest image: what the cells of one workload ran on one kernel.
 */
export type ImageUsed = {
/**
 * The recording, when several are compared.
 */
run: string | null,
/**
 * The kernels' names.
 */
kernels: Array<string>,
/**
 * The workloads' names.
 */
workloads: Array<string>,
/**
 * The SHA-256 of the image, in hexadecimal.
 */
sha256: string,
/**
 * Where its programs and libraries come from.
 */
packages: Array<Package>, };

/**
 * A kernel that cells ran on.
 */
export type KernelUsed = {
/**
 * The recording, when several are compared.
 */
run: string | null,
/**
 * Its name in the experiment, such as `debian:6.12-rt`.
 */
name: string,
/**
 * What `uname -r` says.
 */
release: string,
/**
 * The SHA-256 of the image, in hexadecimal.
 */
image_sha256: string,
/**
 * Where it comes from.
 */
packages: Array<Package>, };

/**
 * What kind of number a metric is.
 */
export type MetricClass = "statistic" | "throughput" | "number" | "part";

/**
 * What a metric is.
 */
export type MetricInfo = {
/**
 * Such as `wakeup.fifo.p99`.
 */
name: string,
/**
 * What kind of number it is.
 */
kind: MetricClass,
/**
 * What it is a statistic of, such as `wakeup.fifo`; absent for what is none.
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
 * Which way is better.
 */
better: Direction,
/**
 * Whether it is one of those that tell configurations apart, and is shown before all others.
 */
headline: boolean,
/**
 * Its name for people: `FIFO wakeup p99`.
 */
title: string,
/**
 * What it is, in a sentence; empty for a number of a workload's own.
 */
meaning: string, };

/**
 * Why a planned cell has no metrics. A cell that has some is completed.
 */
export type NoResult = { "status": "failed", "reason": string } | { "status": "unavailable", "reason": string } | { "status": "missing" };

/**
 * A Debian package that was used.
 */
export type Package = {
/**
 * Its name.
 */
name: string,
/**
 * Its version.
 */
version: string,
/**
 * Of the `.deb`.
 */
sha256: string, };

/**
 * Everything that the page shows: a comparison as `compare --format json` prints it, and evidence.
 * Every text in it may be hostile, except [`Timeline::svg`].
 */
export type PageData = {
/**
 * What was compared, for the heading and the window.
 */
title: string,
/**
 * What made the page, such as `preemptlab 0.1.0`.
 */
generator: string,
/**
 * What virtual time means; the page says it once.
 */
caption: string,
/**
 * What the comparison says, in one sentence.
 */
headline: string,
/**
 * What that rests on, and what else is to be known; a sentence each.
 */
points: Array<string>,
/**
 * One per configuration of each group, in their order.
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
 * How much may differ and still be called the same: 0.05 is 5 % of the baseline.
 */
margin: number,
/**
 * How many comparisons there are, of every metric of every configuration with its baseline's;
 * p-values are adjusted for their number.
 */
comparisons: number,
/**
 * How often the results were looked at before it was decided whether to go on; 1 when their
 * number was fixed in advance.
 */
looks: number,
/**
 * What can be compared with each other, in the order of the first cell of each.
 */
groups: Array<Group>,
/**
 * What was measured in two kinds of time, and whether both say the same.
 */
agreements: Array<Agreement>, };

/**
 * How the kernel may be preempted; `rt` is a second axis and not a mode.
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
 * What `--version` says.
 */
version: string,
/**
 * The SHA-256 of the build, in hexadecimal.
 */
digest: string,
/**
 * Where it and its libraries come from.
 */
packages: Array<Package>, };

/**
 * A metric of a configuration that two kinds of time have.
 */
export type Shared = {
/**
 * The kernel in each.
 */
kernels: [string, string],
/**
 * The mode.
 */
preempt: PreemptMode,
/**
 * What else is switched.
 */
settings: string,
/**
 * The metric.
 */
metric: string,
/**
 * How it relates to the baseline in each.
 */
effects: [Effect, Effect],
/**
 * Whether both say the same.
 */
accord: Accord, };

/**
 * One metric of one configuration, over its replicates.
 *
 * Samples within a replicate are not independent of each other, replicates are: so there is one
 * value per replicate, and everything is said of these values. The location is their median.
 */
export type Summary = {
/**
 * The metric's name.
 */
name: string,
/**
 * Its unit.
 */
unit: string,
/**
 * Which way is better.
 */
better: Direction,
/**
 * How many replicates have a value.
 */
n: number,
/**
 * The median of `values`; the mean of the middle two when their number is even.
 */
median: number,
/**
 * The least.
 */
min: number,
/**
 * The largest.
 */
max: number,
/**
 * The 95 % interval of the median; absent for a single replicate, which has no spread.
 */
interval: [number, number] | null,
/**
 * How it relates to the baseline's; absent without a baseline, and for the baseline itself.
 */
effect: Effect | null,
/**
 * The distribution of the cells' maxima; absent for what is no maximum.
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
 * What happened around one late wakeup.
 */
export type Timeline = {
/**
 * Which wakeup of which cell.
 */
caption: string,
/**
 * Why it was late.
 */
sentence: string,
/**
 * A complete SVG with a `viewBox`. It becomes a part of the page, so it has to be one that
 * preemptlab drew, with what the guest said escaped.
 */
svg: string, };
