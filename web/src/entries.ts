// A group's configurations with what every view needs of them.

import type { Configuration, Evidence, Group, MetricInfo, PageData, Summary } from "./document.ts";
import { shortened } from "./format.ts";
import { type Mark, marks } from "./marks.ts";
import * as names from "./names.ts";

export interface Entry {
  index: number;
  configuration: Configuration;
  evidence: Evidence;
  /** The whole name. */
  name: string;
  /** A name for plots. */
  short: string;
  /** The kernel in it. */
  kernel: string;
  mark: Mark;
  metrics: Map<string, Summary>;
}

export function entries(data: PageData, group: Group): Entry[] {
  const markOf = marks(group);
  const prefix = commonPrefix(group.configurations.map((each) => each.kernel));
  const at = data.groups.indexOf(group);
  const own = new Map(data.evidence.filter((each) => each.group === at).map((each) => [each.configuration, each]));
  return group.configurations.map((configuration, index) => {
    const { run, kernel, label, metrics, settings } = configuration;
    const shortKernel = [run === null ? "" : `${run}: `, label ?? kernel.slice(prefix.length), settings && ` ${settings}`].join("");
    return {
      index,
      configuration,
      evidence: own.get(index) ?? { group: at, configuration: index, histograms: [], timelines: [], notes: {} },
      name: names.configuration(configuration),
      short: shortened(`${shortKernel} ${names.mode(configuration)}`, 28),
      kernel: shortened(shortKernel, 40),
      mark: markOf(configuration),
      metrics: new Map(metrics.map((values) => [values.name, values])),
    };
  });
}

/** `debian:` if all kernels are Debian's. */
function commonPrefix(kernels: string[]): string {
  const prefix = /^[a-z]+:/.exec(kernels[0] ?? "")?.[0] ?? "";
  return kernels.every((kernel) => kernel.startsWith(prefix)) ? prefix : "";
}

/** The metrics that the horizontal axis offers: what is better when lower, and is a time. */
export function latencies(group: Group): MetricInfo[] {
  const times = new Set(["ns", "us", "ms", "s"]);
  const found = group.metrics.filter((info) => info.better === "lower" && times.has(info.unit));
  // Those that tell configurations apart best come first.
  return [...found.filter((info) => info.headline), ...found.filter((info) => !info.headline)];
}

export function throughput(group: Group): MetricInfo | undefined {
  const higher = group.metrics.filter((info) => info.better === "higher");
  return higher.find((info) => info.kind === "throughput") ?? higher[0];
}
