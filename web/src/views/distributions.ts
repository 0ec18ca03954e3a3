// Percentiles or histograms of one probe.

import { h, select, switcher } from "../dom.ts";
import { number, plural, unit } from "../format.ts";
import { histograms } from "../plots/histograms.ts";
import { percentiles, type Probed } from "../plots/percentiles.ts";
import { Plot } from "../plots/plot.ts";
import type { State } from "../state.ts";

export class Distributions {
  readonly element = h("div");
  #state: State;
  #probe = "";
  #plots: Record<string, Plot>;
  #note = h("p", { class: "note" });
  #choice = h("div", { class: "tools" });

  constructor(state: State) {
    this.#state = state;
    const probed = () => this.#probed();
    const unitOf = () => unit(probed()[0]?.histogram.unit ?? "us");
    this.#plots = {
      percentiles: new Plot(percentiles(probed, unitOf)),
      histograms: new Plot(histograms(probed, unitOf)),
    };
    this.#show("percentiles");
    this.#choose();
    const shapes = [{ value: "percentiles", text: "Percentiles" }, { value: "histograms", text: "Histograms" }];
    this.element.append(
      h("div", { class: "tools" }, switcher("Kind of plot", shapes, "percentiles", (shape) => this.#show(shape)), this.#choice),
      ...Object.values(this.#plots).map(({ element }) => element),
      this.#note,
    );
  }

  start(): void {
    for (const plot of Object.values(this.#plots)) plot.start();
  }

  /** The group, the metric or what is shown changed: the probe is the metric's, if it has one. */
  refresh(): void {
    this.#choose();
    for (const plot of Object.values(this.#plots)) plot.refresh();
  }

  #show(shape: string): void {
    for (const [name, { element }] of Object.entries(this.#plots)) element.classList.toggle("off", name !== shape);
  }

  #choose(): void {
    const probes = new Map(
      this.#state.entries.flatMap(({ evidence }) => evidence.histograms).map(({ of, title }) => [of, title]),
    );
    const own = this.#state.latency?.of ?? "";
    if (probes.has(own)) this.#probe = own;
    else if (!probes.has(this.#probe)) this.#probe = [...probes.keys()][0] ?? "";
    const choices = [...probes].map(([value, text]) => ({ value, text }));
    this.#choice.replaceChildren(select("Probe", choices, this.#probe, (probe) => {
      this.#probe = probe;
      for (const plot of Object.values(this.#plots)) plot.refresh();
      this.#say();
    }));
    this.#say();
  }

  #probed(): Probed[] {
    return this.#state.shown.flatMap((entry) => {
      const histogram = entry.evidence.histograms.find(({ of }) => of === this.#probe);
      return histogram ? [{ entry, histogram }] : [];
    });
  }

  #say(): void {
    const probed = this.#probed();
    const overflown = probed.filter(({ histogram }) => histogram.overflow > 0).map(({ entry, histogram }) => {
      const largest = histogram.overflow_max === null ? "" : `, up to ${number(histogram.overflow_max)} ${unit(histogram.unit)}`;
      return `${entry.name}: ${plural(histogram.overflow, "wakeup")} beyond the histogram${largest}.`;
    });
    const counts = this.#state.group?.metrics.find(({ of, statistic }) => of === this.#probe && statistic === "omitted");
    const omitted = probed.some(({ entry }) => (entry.metrics.get(counts?.name ?? "")?.max ?? 0) > 0);
    this.#note.textContent = [
      "All replicates of a configuration together, in whole units of the probe. A curve ends at its largest wakeup; a bar’s height is its share of wakeups, logarithmic from one wakeup on.",
      omitted && "While a probe is late it takes no sample in the periods that it misses; those are not in the plot (the metric “omitted” counts them).",
      ...overflown,
    ].filter(Boolean).join(" ");
  }
}
