// The map: a row for each load, a column for each configuration. Cells are elements of a table, so that they are
// read aloud, printed and found as any text.

import { h } from "../dom.ts";
import { band, length, short } from "./lengths.ts";
import type { AtlasModel } from "./model.ts";

export type Order = { by: "longest" | "name" | "plan" } | { by: "difference"; of: number; to: number };

/** How many rows are drawn before the first picture; more are in no view. */
const ROWS_FIRST = 60;

/** What a scroll bar covers of the map at most. */
const SCROLLBAR_PX = 16;

interface RowOf {
  load: number;
  element: HTMLTableRowElement;
  cells: HTMLTableCellElement[];
}

export class CellMap {
  readonly element: HTMLElement;
  #model: AtlasModel;
  #rows: RowOf[] = [];
  /** Loads in the order in which they are shown. */
  #visible: number[] = [];
  #body = h("tbody");
  #headElement: HTMLElement;
  #order: Order = { by: "longest" };
  #words: string[] = [];
  #chosen = -1;
  #marked: ((cell: number) => boolean) | undefined;
  #isWhole = false;
  #chosenListener: (cell: number, isAsked: boolean) => void = () => undefined;
  #countListener: (shown: number) => void = () => undefined;

  constructor(model: AtlasModel) {
    this.#model = model;
    const { columns, loads } = model.data;
    this.#rows = loads.map((name, load) => ({
      load,
      element: h("tr", { "data-load": load }, h("th", { scope: "row", title: name }, name)),
      cells: [],
    }));
    this.#headElement = this.#head();
    const table = h(
      "table",
      { role: "grid", "aria-rowcount": loads.length + 3, "aria-colcount": columns.length + 1 },
      h("caption", {}, "Longest section of each load under each configuration, in microseconds where no unit stands"),
      h("colgroup", {}, h("col", { class: "of-loads" }), ...columns.map(() => h("col"))),
      this.#headElement,
      this.#body,
    );
    table.style.setProperty("--columns", String(columns.length));
    this.element = h("div", { class: "map", role: "region", "aria-label": "Map" }, table);
    this.#body.addEventListener("click", (event) => this.#clicked(event));
    this.#body.addEventListener("mouseover", (event) => this.#pointed(event));
    this.#body.addEventListener("keydown", (event) => this.#key(event));
    model.onShown(() => {
      for (const row of this.#rows) this.#paint(row);
      this.#arrange();
    });
  }

  /** Draws what is in view, and the rest after it. */
  start(): void {
    this.#arrange(ROWS_FIRST);
    requestAnimationFrame(() => setTimeout(() => {
      this.#isWhole = true;
      this.#arrange();
    }));
  }

  sort(order: Order): void {
    this.#order = order;
    this.#arrange();
  }

  /** Shows the loads that have all the words, or whose cells have them in their functions. */
  filter(text: string): void {
    this.#words = text.toLowerCase().split(/\s+/).filter(Boolean);
    this.#arrange();
  }

  /** Marks the cells of which something is true; none without a question. */
  mark(is: ((cell: number) => boolean) | undefined): number {
    this.#marked = is;
    let count = 0;
    for (const { load, cells } of this.#rows) {
      cells.forEach((element, column) => {
        const isMarked = is?.(this.#model.cell(load, column)) ?? false;
        element.classList.toggle("marked", isMarked);
        count += Number(isMarked);
      });
    }
    return count;
  }

  /** Chooses a cell, and scrolls the map to it; the page stays where it is. */
  choose(cell: number): void {
    this.#select(cell, false);
    const element = this.#element(cell);
    if (element?.isConnected) this.#reveal(element);
  }

  focus(): void {
    this.#element(this.#chosen)?.focus();
  }

  onChosen(listener: (cell: number, isAsked: boolean) => void): void {
    this.#chosenListener = listener;
  }

  onCount(listener: (shown: number) => void): void {
    this.#countListener = listener;
  }

  /** Scrolls the map so that no head covers a cell. */
  #reveal(element: HTMLElement): void {
    const [own, map] = [element.getBoundingClientRect(), this.element.getBoundingClientRect()];
    const [top, left] = [this.#headElement.offsetHeight, element.parentElement?.querySelector("th")?.offsetWidth ?? 0];
    const beyond = (low: number, high: number, from: number, to: number) => low < from ? low - from : Math.max(0, high - to);
    this.element.scrollTop += beyond(own.top, own.bottom, map.top + top, map.bottom - SCROLLBAR_PX);
    this.element.scrollLeft += beyond(own.left, own.right, map.left + left, map.right - SCROLLBAR_PX);
  }

  #head(): HTMLElement {
    const { columns } = this.#model.data;
    // Columns that are beside each other and of one kernel, or of one mode of it, have one head.
    const group = (key: (column: number) => string, text: (column: number) => string, from: string) => {
      const heads: HTMLTableCellElement[] = [];
      columns.forEach((_, column) => {
        const last = heads.at(-1);
        if (last && column > 0 && key(column) === key(column - 1)) last.colSpan += 1;
        else heads.push(h("th", { scope: "colgroup", title: this.#model.column(column) }, h("span", {}, ...breakable(text(column)))));
      });
      return h("tr", {}, h("th", { class: "corner" }, from), ...heads);
    };
    const kernel = (column: number) => columns[column]?.kernel ?? "";
    const rest = (column: number) => {
      const own = columns[column];
      const isNamed = own?.model !== "rt" || /(^|[^a-z])rt\b/.test(own.kernel);
      return own ? `${own.rest}${isNamed ? "" : " (rt)"}` : "";
    };
    return h(
      "thead",
      {},
      group(kernel, kernel, "Kernel"),
      group((column) => `${kernel(column)}\n${rest(column)}`, rest, "Mode"),
      h(
        "tr",
        {},
        h("th", { class: "corner" }, "CPUs"),
        ...columns.map((own, column) => h("th", { scope: "col", title: this.#model.column(column) }, h("span", {}, String(own.cpus)))),
      ),
    );
  }

  /** Makes a row's cells, if they are not there yet. */
  #cells(row: RowOf): void {
    if (row.cells.length > 0) return;
    row.cells = this.#model.data.columns.map(() => document.createElement("td"));
    row.element.append(...row.cells);
    this.#paint(row);
  }

  #paint({ load, cells }: RowOf): void {
    cells.forEach((element, column) => {
      const cell = this.#model.cell(load, column);
      const ns = this.#model.ns(cell);
      const [look, text, label] = ns >= 0
        ? [`b${band(ns)}`, short(ns), ""]
        : !this.#model.isPlanned(cell)
        ? ["blank", "", "not in the plan"]
        : this.#model.isMeasured(cell)
        ? ["none", "·", "none of this class"]
        : ["failed", "", "no sections"];
      const isFaded = this.#words.length > 0 && !this.#isLoad(load) && !this.#has(cell);
      element.className = [look, isFaded && "faded", this.#marked?.(cell) && "marked"].filter(Boolean).join(" ");
      element.textContent = text;
      if (label === "") element.removeAttribute("aria-label");
      else element.setAttribute("aria-label", label);
      if (cell === this.#chosen) element.setAttribute("aria-selected", "true");
    });
  }

  /** Whether a load's name has all the words. */
  #isLoad(load: number): boolean {
    const name = this.#model.load(load).toLowerCase();
    return this.#words.every((word) => name.includes(word));
  }

  /** Whether a cell's functions that are shown have all the words. */
  #has(cell: number): boolean {
    return this.#model.longest(cell).some(({ function: name }) => {
      const own = name.toLowerCase();
      return this.#words.every((word) => own.includes(word));
    });
  }

  /** Puts the rows that are shown into their order. */
  #arrange(most = Infinity): void {
    const { columns, loads } = this.#model.data;
    const all = loads.map((_, load) => load);
    const isShown = (load: number) =>
      this.#words.length === 0 || this.#isLoad(load) || columns.some((_, column) => this.#has(this.#model.cell(load, column)));
    this.#visible = this.#sorted(all.filter(isShown));
    const rows = this.#visible.slice(0, this.#isWhole ? Infinity : most).map((load) => this.#rows[load] as RowOf);
    const wasFiltered = this.#body.dataset["filtered"] === "yes";
    const isFiltered = this.#words.length > 0;
    for (const row of rows) {
      this.#cells(row);
      if (isFiltered || wasFiltered) this.#paint(row);
    }
    this.#body.dataset["filtered"] = isFiltered ? "yes" : "no";
    this.#body.replaceChildren(...rows.map(({ element }) => element));
    this.#tabStop();
    this.#countListener(this.#visible.length);
  }

  #sorted(loads: number[]): number[] {
    const { columns } = this.#model.data;
    const order = this.#order;
    const ns = (load: number, column: number) => this.#model.ns(this.#model.cell(load, column));
    switch (order.by) {
      case "plan": return loads;
      case "name": return loads.sort((left, right) => compare(this.#model.load(left), this.#model.load(right)));
      case "longest": return descending(loads, (load) => Math.max(-1, ...columns.map((_, column) => ns(load, column))));
      case "difference": {
        const { of, to } = order;
        const key = (load: number) => ns(load, of) < 0 || ns(load, to) < 0 ? -Infinity : ns(load, of) - ns(load, to);
        return descending(loads, key);
      }
    }
  }

  #clicked(event: Event): void {
    const cell = this.#cellOf(event.target);
    if (cell === undefined) return;
    this.#select(cell, false);
    this.#element(cell)?.focus({ preventScroll: true });
  }

  #cellOf(target: EventTarget | null): number | undefined {
    const element = target instanceof Element ? target.closest("td") : null;
    const load = Number(element?.parentElement?.dataset["load"]);
    return element && Number.isInteger(load) ? this.#model.cell(load, element.cellIndex - 1) : undefined;
  }

  #key(event: KeyboardEvent): void {
    const from = this.#cellOf(event.target);
    if (from === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      return this.#select(from, true);
    }
    const last = this.#model.data.columns.length - 1;
    const row = this.#visible.indexOf(this.#model.loadOf(from));
    const column = this.#model.columnOf(from);
    const places: Record<string, [number, number]> = {
      ArrowLeft: [row, column - 1],
      ArrowRight: [row, column + 1],
      ArrowUp: [row - 1, column],
      ArrowDown: [row + 1, column],
      PageUp: [row - 15, column],
      PageDown: [row + 15, column],
      Home: [row, 0],
      End: [row, last],
    };
    const place = Object.hasOwn(places, event.key) ? places[event.key] : undefined;
    if (!place) return;
    event.preventDefault();
    const load = this.#visible[Math.max(0, Math.min(this.#visible.length - 1, place[0]))] ?? 0;
    const to = this.#element(this.#model.cell(load, Math.max(0, Math.min(last, place[1]))));
    if (!to) return;
    this.#stop(to);
    to.focus({ preventScroll: true });
    this.#reveal(to);
    to.scrollIntoView({ block: "nearest" });
  }

  #select(cell: number, isAsked: boolean): void {
    this.#element(this.#chosen)?.removeAttribute("aria-selected");
    this.#chosen = cell;
    const element = this.#element(cell);
    element?.setAttribute("aria-selected", "true");
    if (element) this.#stop(element);
    this.#chosenListener(cell, isAsked);
  }

  #element(cell: number): HTMLTableCellElement | undefined {
    return cell < 0 ? undefined : this.#rows[this.#model.loadOf(cell)]?.cells[this.#model.columnOf(cell)];
  }

  /** Makes a cell the one that the Tab key reaches. */
  #stop(element: HTMLElement): void {
    for (const other of this.#body.querySelectorAll("td[tabindex]")) other.removeAttribute("tabindex");
    element.tabIndex = 0;
  }

  /** Says what a cell is when the reader points at it. */
  #pointed(event: Event): void {
    const element = event.target instanceof Element ? event.target.closest("td") : null;
    const cell = this.#cellOf(element);
    if (!element || cell === undefined) return;
    const longest = this.#model.longest(cell).map(({ class: of, ns, function: name }) => `${of.toUpperCase()} ${length(ns)} in ${name}`);
    element.title = longest.length > 0 ? longest.join("\n") : this.#model.reason(cell) || (element.ariaLabel ?? "");
  }

  /** The chosen cell, or the first of those that are shown. */
  #tabStop(): void {
    const chosen = this.#element(this.#chosen);
    const stop = chosen?.isConnected ? chosen : this.#body.querySelector("td");
    if (stop) this.#stop(stop);
  }
}

function compare(left: string, right: string): number {
  return left < right ? -1 : Number(left > right);
}

function descending(loads: number[], key: (load: number) => number): number[] {
  const keys = new Map(loads.map((load) => [load, key(load)]));
  return loads.sort((left, right) => {
    const [a, b] = [keys.get(left) ?? 0, keys.get(right) ?? 0];
    return a === b ? left - right : a < b ? 1 : -1;
  });
}

/** Lets a name such as `debian:6.12-rt` break behind its colon. */
function breakable(name: string): (string | HTMLElement)[] {
  const [first = "", ...rest] = name.split(":");
  return rest.length === 0 ? [name] : [`${first}:`, h("wbr"), rest.join(":")];
}
