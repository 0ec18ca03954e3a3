// The atlas with what every view asks of it: which class is shown, and what a cell has of it.

import type { AtlasData, AtlasDetails } from "./document.ts";
import { parsed } from "../data.ts";

export type ClassName = "p" | "n";
export type Shown = ClassName | "both";

/** The longest section of a cell. */
export interface Longest {
  class: ClassName;
  ns: number;
  kind: string;
  function: string;
}

export interface Part {
  ns: number;
  words: string;
  look: string;
  function: string;
}

export interface Details {
  replicate: number;
  inside: string;
  comm: string;
  context: string;
  waitedNs: number;
  callers: string[];
  parts: Part[];
}

export class AtlasModel {
  readonly data: AtlasData;
  #shown: Shown = "both";
  #details: AtlasDetails | undefined;
  #listeners: (() => void)[] = [];

  constructor(data: AtlasData) {
    this.data = data;
    // What a map of one class alone would leave empty.
    if (!data.p.ns.some((ns) => ns !== null)) this.#shown = "n";
    else if (!data.n.ns.some((ns) => ns !== null)) this.#shown = "p";
  }

  get shown(): Shown {
    return this.#shown;
  }

  setShown(shown: Shown): void {
    this.#shown = shown;
    for (const listener of this.#listeners) listener();
  }

  /** After the choice of a class. */
  onShown(listener: () => void): void {
    this.#listeners.push(listener);
  }

  cell(load: number, column: number): number {
    return load * this.data.columns.length + column;
  }

  loadOf(cell: number): number {
    return Math.floor(cell / this.data.columns.length);
  }

  columnOf(cell: number): number {
    return cell % this.data.columns.length;
  }

  /** Length of the longest section that is shown; -1 where there is none. */
  ns(cell: number): number {
    const { p, n } = this.data;
    switch (this.#shown) {
      case "p": return p.ns[cell] ?? -1;
      case "n": return n.ns[cell] ?? -1;
      case "both": return Math.max(p.ns[cell] ?? -1, n.ns[cell] ?? -1);
    }
  }

  /** The longest sections that are shown of a cell, the longest first. */
  longest(cell: number): Longest[] {
    const names: ClassName[] = this.#shown === "both" ? ["p", "n"] : [this.#shown];
    const found = names.flatMap((name) => {
      const { ns, kind, function: functions } = this.data[name];
      const length = ns[cell] ?? null;
      if (length === null) return [];
      return [{
        class: name,
        ns: length,
        kind: this.data.kinds[kind[cell] ?? 0] ?? "",
        function: this.text(functions[cell]),
      }];
    });
    return found.sort((left, right) => right.ns - left.ns);
  }

  /** Whether the plan has the cell. */
  isPlanned(cell: number): boolean {
    return (this.data.measured[cell] ?? null) !== null;
  }

  isMeasured(cell: number): boolean {
    return (this.data.measured[cell] ?? 0) > 0;
  }

  /** Why a replicate of the cell has no sections; empty where all have. */
  reason(cell: number): string {
    return this.text(this.data.reasons[cell]);
  }

  text(place: number | undefined): string {
    return this.data.texts[place ?? 0] ?? "";
  }

  load(load: number): string {
    return this.data.loads[load] ?? "?";
  }

  /** `debian:6.12 none, 4 CPUs`. */
  column(column: number): string {
    const own = this.data.columns[column];
    return own ? `${own.kernel} ${own.rest}, ${cpus(own.cpus)}` : "?";
  }

  /** The words of `--cell` that name a cell of the recording. */
  words(cell: number, replicate: number): string {
    const own = this.data.columns[this.columnOf(cell)];
    if (!own) return "";
    return `${own.kernel} ${own.rest} ${this.load(this.loadOf(cell))} ${cpus(own.cpus)} #${replicate}`;
  }

  /** The cell with the longest section that is shown. */
  longestCell(): number {
    let longest = 0;
    for (let cell = 1; cell < this.data.measured.length; cell++) {
      if (this.ns(cell) > this.ns(longest)) longest = cell;
    }
    return longest;
  }

  details(cell: number, of: ClassName): Details {
    this.#details ??= parsed("details") as AtlasDetails;
    const numbers = this.#details[of][cell] ?? [];
    const [replicate = 1, inside, comm, context, waitedNs = 0, count = 0] = numbers;
    const parts: Part[] = [];
    for (let at = 6 + count; at + 2 < numbers.length; at += 3) {
      const cause = this.data.causes[numbers[at + 1] ?? -1];
      parts.push({
        ns: numbers[at] ?? 0,
        words: cause?.words ?? "not known",
        look: cause?.look ?? "unknown",
        function: this.text(numbers[at + 2]),
      });
    }
    return {
      replicate,
      inside: this.text(inside),
      comm: this.text(comm),
      context: this.text(context),
      waitedNs,
      callers: numbers.slice(6, 6 + count).map((caller) => this.text(caller)),
      parts,
    };
  }
}

export function cpus(count: number): string {
  return `${count} CPU${count === 1 ? "" : "s"}`;
}
