// The chosen cell: its longest sections in time, their stack, the commands that repeat them, and the same load
// under the other configurations.

import { h } from "../dom.ts";
import { plural, share } from "../format.ts";
import { band, length } from "./lengths.ts";
import type { AtlasModel, ClassName, Details, Longest, Part } from "./model.ts";

/** A part gets a label if it is so large a part of the section. */
const LABELLED_SHARE = 0.04;

export class Detail {
  readonly element = h("div", { class: "detail" });
  #model: AtlasModel;
  #go: (cell: number) => void;
  #cell = -1;
  #left: () => void = () => undefined;

  constructor(model: AtlasModel, go: (cell: number) => void) {
    this.#model = model;
    this.#go = go;
    model.onShown(() => this.show(this.#cell, false));
    this.element.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.#left();
    });
  }

  /** When the reader wants to be back where the cell was chosen. */
  onLeft(listener: () => void): void {
    this.#left = listener;
  }

  show(cell: number, isAsked: boolean): void {
    this.#cell = cell;
    if (cell < 0 || cell >= this.#model.data.measured.length) return;
    const model = this.#model;
    const [load, column] = [model.loadOf(cell), model.columnOf(cell)];
    const title = h("h3", { tabindex: -1 }, `${model.load(load)} under ${model.column(column)}`);
    const longest = model.longest(cell);
    this.element.replaceChildren(
      title,
      this.#became(cell, longest),
      ...longest.map((section) => this.#section(cell, section)),
      ...this.#commands(cell, longest),
      this.#elsewhere(cell),
    );
    if (isAsked) {
      title.focus({ preventScroll: true });
      this.element.scrollIntoView({ block: "nearest" });
    }
  }

  #goTo(cell: number): void {
    this.#go(cell);
    this.element.querySelector<HTMLElement>(".elsewhere [aria-current=true]")?.focus({ preventScroll: true });
  }

  /** What there is to say of the cell's replicates. */
  #became(cell: number, longest: Longest[]): HTMLElement {
    const model = this.#model;
    if (!model.isPlanned(cell)) return h("p", { class: "note" }, "The plan has no such cell.");
    const reason = model.reason(cell);
    const measured = model.data.measured[cell] ?? 0;
    if (measured === 0) {
      return h("p", { class: "became" }, h("span", { class: "word failed" }, "no sections"), " ", h("span", { class: "reason" }, reason || "the recording gives no reason"));
    }
    const none = longest.length === 0 ? "None of its sections is of this class. " : "";
    const also = reason === "" ? "" : ` Another has none: ${reason}`;
    return h("p", { class: "note became" }, `${none}${plural(measured, "replicate")} with sections.${also}`);
  }

  #section(cell: number, longest: Longest): HTMLElement {
    const model = this.#model;
    const details = model.details(cell, longest.class);
    return h(
      "article",
      { class: "section", "aria-label": `Class ${longest.class.toUpperCase()}` },
      h(
        "h4",
        {},
        h("span", { class: `word b${band(longest.ns)}` }, length(longest.ns)),
        ` Class ${longest.class.toUpperCase()} (${longest.kind}) in `,
        h("code", {}, longest.function),
        details.inside !== "" && h("span", {}, ", for longest inside ", h("code", {}, details.inside)),
      ),
      timeline(longest, details.parts),
      h(
        "dl",
        {},
        ...row("Stack", h("code", {}, [longest.function, ...details.callers].join(" < "))),
        ...(details.comm === "" ? [] : row("Holder", holder(details))),
        ...(details.waitedNs > 0 ? row("Waited for other CPUs", waited(details, longest)) : []),
      ),
      parts(longest, details.parts),
    );
  }

  /** What repeats the replicates that the sections are of. */
  #commands(cell: number, longest: Longest[]): HTMLElement[] {
    const model = this.#model;
    const run = word(model.data.recording);
    const command = (text: string) => h("code", { class: "command" }, text);
    const commands = [...new Set(longest.map((section) => model.details(cell, section.class).replicate))].flatMap((replicate) => {
      const own = quoted(model.words(cell, replicate));
      return [
        ...row("All of its sections", command(`preemptlab explain ${run} atlas --cell ${own}`)),
        ...row("Execute it again, with a trace", command(`preemptlab explain ${run} trace --out trace.pftrace --cell ${own}`)),
      ];
    });
    return commands.length === 0 ? [] : [h("article", { "aria-label": "Commands" }, h("dl", {}, ...commands))];
  }

  /** The lengths of the load under every configuration. */
  #elsewhere(cell: number): HTMLElement {
    const model = this.#model;
    const load = model.loadOf(cell);
    const columns = model.data.columns.map((_, column) => column);
    const classes: ClassName[] = model.shown === "both" ? ["p", "n"] : [model.shown];
    const cells = columns.map((column) => model.cell(load, column));
    const largest = Math.max(1, ...cells.flatMap((other) => model.longest(other).map(({ ns }) => ns)));
    const bar = (other: number, of: ClassName) => {
      const section = model.longest(other).find((each) => each.class === of);
      if (!section) return h("td", { class: "note" }, model.isMeasured(other) ? "none" : model.isPlanned(other) ? "no sections" : "not in the plan");
      const fill = h("span", { class: `fill b${band(section.ns)}` });
      fill.style.width = `${100 * Math.min(1, section.ns / largest)}%`;
      return h("td", {}, h("span", { class: "bar" }, fill), h("span", { class: "of-bar" }, h("strong", {}, length(section.ns)), " ", h("code", {}, section.function)));
    };
    const rows = cells.map((other, column) => {
      const button = h("button", { type: "button", class: "link", "aria-current": other === cell ? "true" : undefined, click: () => this.#goTo(other) }, model.column(column));
      return h("tr", { class: other === cell ? "own" : undefined }, h("th", { scope: "row" }, button), ...classes.map((of) => bar(other, of)));
    });
    const heads = ["Configuration", ...classes.map((of) => `Class ${of.toUpperCase()}`)];
    return h(
      "article",
      { class: "elsewhere" },
      h("h4", {}, h("span", {}, model.load(load)), " under every configuration"),
      h(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": "The load under every configuration" },
        h(
          "table",
          { class: "plain" },
          h("thead", {}, h("tr", {}, ...heads.map((head) => h("th", { scope: "col" }, head)))),
          h("tbody", {}, ...rows),
        ),
      ),
    );
  }
}

function row(term: string, content: Node | string): Node[] {
  return [h("dt", {}, term), h("dd", {}, content)];
}

function holder({ comm, context }: Details): Node {
  return h("span", {}, h("code", {}, comm), context !== "" && h("span", {}, " in ", h("code", {}, context)));
}

function waited({ waitedNs }: Details, { ns }: Longest): string {
  return ns > 0 ? `${length(waitedNs)}, ${share(waitedNs / ns)}` : length(waitedNs);
}

/** The parts of a section beside each other, as long as they took. */
function timeline({ ns }: Longest, all: Part[]): HTMLElement {
  if (all.length === 0) return h("p", { class: "note" }, "The recording has no details of this section.");
  const whole = all.reduce((sum, part) => sum + part.ns, 0) || 1;
  const bars = all.map((part) => {
    const own = part.ns / whole;
    const name = part.function || part.words;
    const element = h(
      "span",
      { class: `part c-${part.look}`, title: `${length(part.ns)} ${part.words}${part.function ? `: ${part.function}` : ""}` },
      own >= LABELLED_SHARE && h("span", { class: "label" }, name),
      own >= LABELLED_SHARE && h("small", {}, length(part.ns)),
    );
    element.style.flexGrow = String(Math.max(own * 1000, 0.5));
    return element;
  });
  return h(
    "div",
    { class: "parts" },
    h("div", { class: "bars", role: "img", "aria-label": `Timeline of ${plural(all.length, "part")}` }, ...bars),
    h("div", { class: "ends", "aria-hidden": "true" }, h("small", {}, "0"), h("small", {}, length(ns))),
  );
}

function parts({ ns }: Longest, all: Part[]): HTMLElement | undefined {
  if (all.length === 0) return undefined;
  const items = all.map((part) =>
    h(
      "tr",
      {},
      h("td", { class: "numeric" }, length(part.ns)),
      h("td", { class: "numeric" }, ns > 0 ? share(part.ns / ns) : "–"),
      h("td", {}, h("span", { class: `swatch c-${part.look}` }), ` ${part.words}`),
      h("td", {}, part.function === "" ? "not known" : h("code", {}, part.function)),
    )
  );
  const heads = ["Length", "Share", "Cause", "Function"];
  const table = h(
    "table",
    {},
    h("thead", {}, h("tr", {}, ...heads.map((head, at) => h("th", { scope: "col", class: at < 2 ? "numeric" : undefined }, head)))),
    h("tbody", {}, ...items),
  );
  return h("details", { open: all.length <= 6 }, h("summary", {}, `${plural(all.length, "part")} in order`), h("div", { class: "scroll" }, table));
}

/** A text as one word of a shell; one that needs no quotes has none. */
function word(text: string): string {
  return /^[\w./:@%+,=-]+$/.test(text) && !text.startsWith("-") ? text : quoted(text);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
