// How groups, configurations and metrics are called.

import type { Configuration, Group, MetricInfo } from "./document.ts";
import { unit } from "./format.ts";

export function group({ workload, cpus, backend, profile }: Group): string {
  const time = backend === "vm" ? (profile === undefined ? "" : ` (prices of ${profile})`) : ` (${backend})`;
  return `${workload}${time} on ${cpus} CPU${cpus === 1 ? "" : "s"}`;
}

export function kernel({ run, kernel, label, rt, settings }: Configuration): string {
  const named = rt !== true || kernel.endsWith("-rt");
  const called = label === undefined ? kernel : `${label} (${kernel})`;
  return [run === null ? "" : `${run}: `, called, settings && ` ${settings}`, named ? "" : ", PREEMPT_RT"].join("");
}

/** The mode, and what the kernel made of it if that is not the same. */
export function mode({ preempt, observed }: Configuration): string {
  return [preempt, ...observed.filter((other) => other !== preempt).map((other) => `(ran ${other})`)].join(" ");
}

export function configuration(of: Configuration): string {
  return `${kernel(of)} ${mode(of)}`;
}

/** `FIFO wakeup p99`. */
export function metric({ title }: MetricInfo): string {
  return title.charAt(0).toUpperCase() + title.slice(1);
}

export function metricWithUnit(info: MetricInfo): string {
  return `${metric(info)} (${unit(info.unit)})`;
}
