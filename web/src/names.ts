// How groups, configurations and metrics are called.

import type { Configuration, Group, MetricInfo } from "./data.ts";
import { unit } from "./format.ts";

export function group({ workload, cpus }: Group): string {
  return `${workload} on ${cpus} CPU${cpus === 1 ? "" : "s"}`;
}

export function kernel({ run, kernel, rt }: Configuration): string {
  const named = rt !== true || kernel.endsWith("-rt");
  return `${run === undefined ? "" : `${run}: `}${kernel}${named ? "" : ", PREEMPT_RT"}`;
}

/** The mode, and what the kernel made of it if that is not the same. */
export function mode({ mode, observed }: Configuration): string {
  return [mode, ...observed.filter((other) => other !== mode).map((other) => `(ran ${other})`)].join(" ");
}

export function configuration(of: Configuration): string {
  return `${kernel(of)} ${mode(of)}`;
}

/** `FIFO wakeup p99`. */
export function metric(name: string): string {
  const [first, second, ...rest] = name.split(".");
  if (first !== "wakeup" || second === undefined) return name.charAt(0).toUpperCase() + name.slice(1);
  const probe = second === "bound" ? "FIFO wakeup bound" : `${second.toUpperCase()} wakeup`;
  return [probe, rest.join(".")].join(" ").trim();
}

export function metricWithUnit(info: MetricInfo): string {
  return `${metric(info.name)} (${unit(info.unit)})`;
}

const PROBES: Record<string, string> = {
  fifo: "how late cyclictest ran after its timer was due, as a real-time task (SCHED_FIFO)",
  other: "how late cyclictest ran after its timer was due, as an ordinary task (SCHED_OTHER)",
};

/** What a metric is, in a sentence. */
export function meaning(name: string): string {
  if (name === "throughput") return "Work that the load (hackbench) did beside the probes, in the same cells.";
  const [first, probe = "", ...rest] = name.split(".");
  if (first !== "wakeup") return "";
  if (probe === "bound") {
    const instants = rest.length > 0 ? `${rest.join(".").slice(1)} % of all instants` : "any instant";
    return `From the trace: the longest that a real-time task due at ${instants} would have waited. An upper bound, not an observation.`;
  }
  const what = PROBES[probe] ?? `what the probe ${probe} saw`;
  const statistic = rest.join(".");
  const percentile = /^p(\d+(\.\d+)?)$/.exec(statistic);
  if (percentile) return `${percentile[1]} % of wakeups were at most this late: ${what}.`;
  if (statistic === "max") return `The latest wakeup that was observed: ${what}. It grows with the number of wakeups.`;
  if (statistic === "omitted") return "Periods in which the probe was still late from an earlier one, and took no sample.";
  return `${statistic}: ${what}.`;
}
