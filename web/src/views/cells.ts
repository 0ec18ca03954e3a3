// Every cell of every group, with what identifies it and what it said.

import type { CellStatus } from "../data.ts";
import type { CellRow, PageData } from "../document.ts";
import { h, select } from "../dom.ts";
import { plural } from "../format.ts";
import * as names from "../names.ts";
import { SortedTable } from "./sorted_table.ts";

const STATUSES: CellStatus[] = ["completed", "failed", "unavailable", "missing"];

export function cells(data: PageData): HTMLElement {
  const place = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Cells" });
  const count = h("output", { "aria-live": "polite" });
  const full = h("input", { type: "checkbox", change: () => place.classList.toggle("full", full.checked) });
  const filter = h("input", { type: "search", placeholder: "name, reason or digest", input: () => table.filter(filter.value) });
  const order = new Map(data.cells.map((cell, index) => [cell, index]));
  let table: SortedTable<CellRow>;
  const show = (status: string) => {
    const rows = data.cells.filter((cell) => status === "" || statusOf(cell) === status);
    table = new SortedTable<CellRow>({
      caption: "Every cell of the plan",
      columns: [
        { title: "Cell", sort: (cell) => order.get(cell), render: (cell) => cellName(data, cell) },
        { title: "Status", sort: statusOf, render: became },
        { title: "Seed", numeric: true, sort: ({ seed }) => seed?.padStart(20, "0"), render: ({ seed }) => seed ?? "–" },
        { title: "Cell’s ID", hint: "SHA-256 of its inputs", sort: ({ id }) => id ?? undefined, render: ({ id }) => hash(id) },
        { title: "Digest", hint: "SHA-256 of every byte that the guest said", sort: ({ digest }) => digest ?? undefined, render: ({ digest }) => hash(digest) },
        { title: "Command line", sort: ({ command_line }) => command_line ?? undefined, render: ({ command_line }) => command_line === null ? "–" : `#${command_line + 1}` },
      ],
      rows,
      text: (cell) => [cellName(data, cell), statusOf(cell), reasonOf(cell), cell.id, cell.digest].join(" "),
      page: 50,
      counted: (shown) => {
        count.textContent = `${shown.toLocaleString("en")} of ${plural(data.cells.length, "cell")}`;
      },
    });
    table.filter(filter.value);
    place.replaceChildren(table.element);
  };
  show("");
  const counts = STATUSES.map((status) => [status, data.cells.filter((cell) => statusOf(cell) === status).length] as const);
  const choices = counts.filter(([, count]) => count > 0).map(([status, count]) => ({ value: status, text: `${status} (${count.toLocaleString("en")})` }));
  return h(
    "div",
    {},
    h(
      "div",
      { class: "tools" },
      h("label", { class: "choice" }, h("span", {}, "Filter"), filter),
      select("Status", [{ value: "", text: "all" }, ...choices], "", show),
      h("label", { class: "check" }, full, " whole hashes"),
      count,
    ),
    place,
  );
}

/** `debian:6.12 none processes on 1 CPU #1`, as the command line names cells. */
function cellName({ groups }: PageData, { group, configuration, replicate }: CellRow): string {
  const of = groups[group];
  const own = of?.configurations[configuration];
  return `${own ? names.configuration(own) : "?"} ${of ? names.group(of) : "?"} #${replicate}`;
}

function statusOf({ no_result }: CellRow): CellStatus {
  return no_result?.status ?? "completed";
}

function reasonOf({ no_result }: CellRow): string | undefined {
  return no_result !== null && "reason" in no_result ? no_result.reason : undefined;
}

function became(cell: CellRow): HTMLElement {
  const [status, reason] = [statusOf(cell), reasonOf(cell)];
  return h("div", {}, h("span", { class: `word ${status}` }, status), reason !== undefined && h("div", { class: "reason" }, reason));
}

/** Its first 12 digits, or all of them when asked for. */
function hash(text: string | null): Node | string {
  if (text === null) return "–";
  return h("code", { class: "hash", title: text }, text.slice(0, 12), h("span", { class: "rest" }, text.slice(12)));
}
