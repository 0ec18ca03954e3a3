// The table of all configurations and metrics: sorted by any column, filtered by words.

import type { Verdict } from "../data.ts";
import type { MetricInfo } from "../document.ts";
import { h } from "../dom.ts";
import type { Entry } from "../entries.ts";
import { number, plural, share, unit } from "../format.ts";
import { modeVariable } from "../look.ts";
import * as names from "../names.ts";
import type { State } from "../state.ts";
import { known, marginOf, ratios, verdict } from "../statistics.ts";
import { symbol } from "../symbol.ts";
import { type Column, SortedTable } from "./sorted_table.ts";
import { trouble } from "./missing.ts";

export class Figures {
  readonly element: HTMLElement;
  #state: State;
  #all = h("input", { type: "checkbox", change: () => this.refresh() });
  #filter = h("input", {
    type: "search",
    placeholder: "such as: rt full",
    input: () => this.#table?.filter(this.#filter.value),
  });
  #count = h("output", { "aria-live": "polite" });
  #caption = h("p", { class: "note" });
  #notes = h("ol", { class: "note", "aria-label": "Notes" });
  #place = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "All figures" });
  #table: SortedTable<Entry> | undefined;

  constructor(state: State) {
    this.#state = state;
    const tools = h(
      "div",
      { class: "tools" },
      h("label", { class: "choice" }, h("span", {}, "Filter"), this.#filter),
      h("label", { class: "check" }, this.#all, " all metrics"),
      this.#count,
    );
    this.element = h("div", {}, tools, this.#caption, this.#place, this.#notes);
    this.refresh();
  }

  refresh(): void {
    const { group, entries, data } = this.#state;
    if (!group) return;
    const infos = group.metrics.filter((info) => info.headline || this.#all.checked);
    const baseline = entries[group.baseline ?? -1];
    this.#caption.textContent = [
      "Medians over the replicates, with 95 % intervals where there are enough replicates.",
      baseline && `× is the ratio to ${baseline.name}; the whole interval of one that is “within ${share(data.margin)}” lies as near to 1.`,
      infos.some(({ margin }) => margin !== undefined) && "Metrics with a margin of their own are “within” that.",
      "“within 1 µs” is the resolution of an instrument, which cannot tell such a difference from none.",
      "“undecided: 5 more replicates”: those that there are do not tell; about 5 more of each configuration would.",
    ].filter(Boolean).join(" ");
    const notes = new Notes(entries, infos);
    const columns: Column<Entry>[] = [
      { title: "Configuration", sort: ({ index }) => index, render: (entry) => this.#name(entry, entry === baseline) },
      { title: "n", hint: "Measured replicates", numeric: true, sort: measured, render: (entry) => String(measured(entry)) },
      ...infos.map((info): Column<Entry> => ({
        title: names.metric(info),
        subtitle: unit(info.unit),
        hint: info.meaning,
        numeric: true,
        sort: (entry) => entry.metrics.get(info.name)?.median,
        render: (entry) => figure(entry, info, notes, data.margin),
      })),
    ];
    this.#table = new SortedTable({
      caption: `All figures of ${names.group(group)}`,
      columns,
      rows: entries,
      text: (entry) => this.#text(entry, infos),
      instead: ({ configuration, metrics }) =>
        metrics.size === 0 && configuration.samples.length === 0
          ? h("span", { class: "reason" }, trouble(configuration))
          : undefined,
      counted: (shown) => {
        this.#count.textContent = `${shown} of ${plural(entries.length, "configuration")}`;
      },
    });
    this.#place.replaceChildren(this.#table.element);
    this.#notes.replaceChildren(...notes.items());
    this.#table.filter(this.#filter.value);
  }

  #name({ name, mark, configuration }: Entry, isBaseline: boolean): HTMLElement {
    const why = trouble(configuration);
    const { worst } = configuration;
    return h(
      "div",
      { class: "name" },
      symbol(mark, modeVariable(mark.mode)),
      h("span", {}, ` ${name}`),
      isBaseline && h("span", { class: "word" }, "baseline"),
      worst && h("small", {}, `worst ${number(worst.us)} ${unit("us")}: ${worst.of}`),
      why !== undefined && configuration.metrics.length > 0 && h("div", { class: "reason" }, why),
    );
  }

  /** What the filter looks at: only what is in view. */
  #text({ name, metrics, configuration }: Entry, infos: MetricInfo[]): string {
    const words = infos.map((info) => {
      const of = metrics.get(info.name);
      return of ? verdict(of, marginOf(info, this.#state.data.margin)) : "";
    });
    return [name, trouble(configuration) ?? "", ...words].join(" ");
  }
}

/** The notes of what is in the table, each once. */
class Notes {
  #texts: string[];

  constructor(entries: Entry[], infos: MetricInfo[]) {
    const all = entries.flatMap((entry) => infos.map((info) => note(entry, info)));
    this.#texts = [...new Set(all.filter((text) => text !== undefined))];
  }

  number(text: string): number {
    return this.#texts.indexOf(text) + 1;
  }

  items(): HTMLElement[] {
    return this.#texts.map((text) => h("li", {}, text));
  }
}

/** Whether nothing happened in any cell that would have a value. */
function hasNone({ configuration }: Entry, { of }: MetricInfo): boolean {
  return configuration.samples.some((samples) => samples.of === of && samples.empty === samples.cells);
}

function measured({ metrics }: Entry): number {
  return Math.max(0, ...[...metrics.values()].map(({ n }) => n));
}

function note({ evidence, metrics }: Entry, { name }: MetricInfo): string | undefined {
  return metrics.has(name) && Object.hasOwn(evidence.notes, name) ? evidence.notes[name] : undefined;
}

const SIGNS: Record<Verdict, string> = { better: "▲", worse: "▼", within_margin: "=", within_resolution: "=", undecided: "?" };

function figure(entry: Entry, info: MetricInfo, notes: Notes, margin: number): HTMLElement {
  const of = entry.metrics.get(info.name);
  if (!of) return h("span", { class: "none" }, hasNone(entry, info) ? "no events" : "–");
  const { effect } = of;
  const text = note(entry, info);
  const noted = text !== undefined && `note ${notes.number(text)}`;
  const compared = effect !== null && ratios(effect);
  return h(
    "div",
    { class: "figure" },
    h("strong", {}, number(of.median)),
    h("small", {}, known(of)),
    compared && h("small", {}, compared),
    effect !== null && h("span", { class: `word ${effect.verdict}` }, `${SIGNS[effect.verdict]} ${verdict(of, marginOf(info, margin))}`),
    noted && h("small", {}, noted),
  );
}
