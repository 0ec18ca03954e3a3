// What the reader chose, and who wants to know.

import type { Group, MetricInfo, PageData } from "./document.ts";
import { type Entry, entries, latencies, throughput } from "./entries.ts";

export class State {
  readonly data: PageData;
  #group = 0;
  #latency = "";
  #hidden = new Set<string>();
  #entries: Entry[] = [];
  #listeners: (() => void)[] = [];
  #groupListeners: (() => void)[] = [];

  constructor(data: PageData) {
    this.data = data;
    this.#choose(0);
  }

  get groupIndex(): number {
    return this.#group;
  }

  get group(): Group | undefined {
    return this.data.groups[this.#group];
  }

  /** The metric of the horizontal axis. */
  get latency(): MetricInfo | undefined {
    return this.group?.metrics.find((info) => info.name === this.#latency);
  }

  get throughput(): MetricInfo | undefined {
    return this.group && throughput(this.group);
  }

  /** All configurations of the group. */
  get entries(): Entry[] {
    return this.#entries;
  }

  /** Those that are measured and not switched off. */
  get shown(): Entry[] {
    return this.#entries.filter(
      ({ configuration, mark }) =>
        configuration.metrics.length > 0 && !this.isHidden("mode", mark.mode) && !this.isHidden("kernel", mark.kernel),
    );
  }

  isHidden(what: "mode" | "kernel", name: string): boolean {
    return this.#hidden.has(`${what} ${name}`);
  }

  setGroup(index: number): void {
    this.#choose(index);
    for (const listener of this.#groupListeners) listener();
    this.#tell();
  }

  setLatency(name: string): void {
    this.#latency = name;
    this.#tell();
  }

  toggle(what: "mode" | "kernel", name: string): void {
    const key = `${what} ${name}`;
    if (!this.#hidden.delete(key)) this.#hidden.add(key);
    this.#tell();
  }

  /** After any choice. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** After the choice of a group, before what listens to any choice. */
  onGroup(listener: () => void): void {
    this.#groupListeners.push(listener);
  }

  #choose(index: number): void {
    this.#group = index;
    const group = this.group;
    this.#entries = group ? entries(this.data, group) : [];
    const offered = group ? latencies(group) : [];
    // In the order of the workload: the real-time probe comes first.
    const preferred = (is: (info: MetricInfo) => boolean) => group?.metrics.find((info) => is(info) && offered.includes(info));
    const first = preferred((info) => info.name === "latency.p99.9") ?? preferred((info) => info.statistic === "p99");
    if (!offered.some((info) => info.name === this.#latency)) {
      this.#latency = (first ?? offered[0])?.name ?? "";
    }
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}
