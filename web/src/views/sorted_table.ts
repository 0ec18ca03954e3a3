// A table whose columns are sorted by buttons in their heads, and whose rows are filtered by words.

import { h } from "../dom.ts";

export interface Column<Row> {
  title: string;
  subtitle?: string;
  hint?: string;
  numeric?: boolean;
  /** What rows are sorted by; rows without come last in either direction. */
  sort(row: Row): string | number | undefined;
  render(row: Row): Node | string;
}

interface Options<Row> {
  caption: string;
  columns: Column<Row>[];
  rows: Row[];
  /** What stands in the place of all columns but the first, if they are empty. */
  instead?(row: Row): Node | undefined;
  /** What the filter looks at. */
  text(row: Row): string;
  /** Is told how many rows the filter leaves. */
  counted(shown: number): void;
  /** How many rows are shown before anybody asks for more. */
  page?: number;
  /** The column that rows are sorted by at first. */
  sorted?: number;
}

export class SortedTable<Row> {
  readonly element: HTMLElement;
  #options: Options<Row>;
  #heads: HTMLTableCellElement[];
  #body = h("tbody");
  #more: HTMLButtonElement;
  #sorted: { column: number; descending: boolean };
  #words: string[] = [];
  #limit: number;

  constructor(options: Options<Row>) {
    this.#options = options;
    this.#limit = options.page ?? Infinity;
    this.#sorted = { column: options.sorted ?? 0, descending: false };
    this.#heads = options.columns.map((column, index) =>
      h(
        "th",
        { scope: "col", class: column.numeric ? "numeric" : undefined },
        h(
          "button",
          { type: "button", title: column.hint, click: () => this.#sort(index) },
          h("span", { class: "title" }, column.title),
          column.subtitle !== undefined && h("small", {}, column.subtitle),
        ),
      )
    );
    this.#more = h("button", { type: "button", class: "more", click: () => this.#showMore() }, "Show more");
    const table = h(
      "table",
      {},
      h("caption", {}, options.caption),
      h("thead", {}, h("tr", {}, ...this.#heads)),
      this.#body,
    );
    this.element = h("div", {}, table, this.#more);
  }

  /** Shows the rows that have all the words, or parts of words, whatever their case. */
  filter(text: string): void {
    this.#words = text.toLowerCase().split(/\s+/).filter(Boolean);
    this.#render();
  }

  #sort(column: number): void {
    const descending = this.#sorted.column === column && !this.#sorted.descending;
    this.#sorted = { column, descending };
    this.#render();
  }

  #showMore(): void {
    this.#limit += this.#options.page ?? 0;
    this.#render();
  }

  #render(): void {
    const { columns, rows, text, counted } = this.#options;
    const { column, descending } = this.#sorted;
    const matching = rows.filter((row) => {
      const own = text(row).toLowerCase();
      return this.#words.every((word) => own.includes(word));
    });
    const keyed = matching.map((row) => ({ row, key: columns[column]?.sort(row) }));
    keyed.sort((left, right) => compare(left.key, right.key, descending));
    this.#heads.forEach((head, index) => {
      if (index === column) head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    this.#body.replaceChildren(
      ...keyed.slice(0, this.#limit).map(({ row }) =>
        h("tr", {}, ...this.#cells(row))
      ),
    );
    this.#more.hidden = keyed.length <= this.#limit;
    this.#more.textContent = `Show more: ${(keyed.length - this.#limit).toLocaleString("en")} are not shown`;
    counted(keyed.length);
  }

  #cells(row: Row): HTMLElement[] {
    const { columns, instead } = this.#options;
    const [head, ...others] = columns;
    const first = h("th", { scope: "row" }, head?.render(row));
    const only = instead?.(row);
    if (only) return [first, h("td", { colspan: others.length }, only)];
    const cells = others.map((column) => h("td", { class: column.numeric ? "numeric" : undefined }, column.render(row)));
    return [first, ...cells];
  }
}

function compare(left: string | number | undefined, right: string | number | undefined, descending: boolean): number {
  if (left === undefined || right === undefined) return Number(left === undefined) - Number(right === undefined);
  const order = left < right ? -1 : Number(left > right);
  return descending ? -order : order;
}
