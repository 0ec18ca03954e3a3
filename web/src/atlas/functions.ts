// The table of the sections by function; a row of it marks the cells whose longest section it is.

import type { AtlasFunction } from "./document.ts";
import { h, select } from "../dom.ts";
import { plural } from "../format.ts";
import { type Column, SortedTable } from "../views/sorted_table.ts";
import { length } from "./lengths.ts";
import type { CellMap } from "./map.ts";
import { type AtlasModel, cpus } from "./model.ts";

export function functions(model: AtlasModel, map: CellMap): HTMLElement {
  const { data } = model;
  const place = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Sections by function" });
  const count = h("output", { "aria-live": "polite" });
  const marked = h("output", { class: "note", "aria-live": "polite" });
  const all = h("input", { type: "checkbox", change: () => show() });
  const filter = h("input", { type: "search", placeholder: "function, kind or load", input: () => table.filter(filter.value) });
  const order = new Map(data.sections.map((section, index) => [section, index]));
  let of = "";
  let chosen: AtlasFunction | undefined;
  let table: SortedTable<AtlasFunction>;

  const mark = (section: AtlasFunction | undefined) => {
    chosen = section;
    const cells = map.mark(section && ((cell) => isOf(model, section, cell)));
    marked.replaceChildren(...(section
      ? [`The longest section of ${plural(cells, "cell")} is of this function: `, h("a", { href: "#map" }, "marked in the map"), "."]
      : []));
  };
  const name = (section: AtlasFunction) => {
    const button = h(
      "button",
      {
        type: "button",
        class: "link",
        "aria-pressed": String(section === chosen),
        click: () => {
          const isOn = section !== chosen;
          for (const other of place.querySelectorAll("[aria-pressed=true]")) other.setAttribute("aria-pressed", "false");
          button.setAttribute("aria-pressed", String(isOn));
          mark(isOn ? section : undefined);
        },
      },
      h("code", {}, model.text(section.function)),
    );
    const inside = model.text(section.inside);
    return h("div", {}, button, inside !== "" && h("small", {}, "inside ", h("code", {}, inside)));
  };
  const show = () => {
    const columns: Column<AtlasFunction>[] = [
      { title: "Function", sort: (section) => model.text(section.function), render: name },
      { title: "Class", sort: ({ is_p }) => (is_p ? "P" : "N"), render: ({ is_p }) => (is_p ? "P" : "N") },
      { title: "Kind", sort: ({ kind }) => data.kinds[kind], render: ({ kind }) => data.kinds[kind] ?? "" },
      { title: "Longest", numeric: true, sort: (section) => order.get(section), render: ({ longest_ns }) => length(longest_ns) },
      { title: "Load", sort: ({ load }) => model.load(load), render: ({ load }) => model.load(load) },
      { title: "Configuration", sort: ({ column }) => column, render: ({ column }) => model.column(column) },
      { title: "Loads", hint: "Loads that have one", numeric: true, sort: ({ loads }) => -loads, render: ({ loads }) => loads.toLocaleString("en") },
      { title: "Count", numeric: true, sort: ({ count }) => -count, render: ({ count }) => count.toLocaleString("en") },
      { title: "Total", numeric: true, sort: ({ total_ns }) => -total_ns, render: ({ total_ns }) => length(total_ns) },
      { title: "Ended by", sort: ({ ended_by }) => ended_by.join(", ") || undefined, render: ({ ended_by }) => ended_by.join(", ") || "–" },
      ...(all.checked ? data.columns : []).map((own, column): Column<AtlasFunction> => ({
        title: `${own.kernel} ${own.rest}`,
        subtitle: cpus(own.cpus),
        numeric: true,
        sort: ({ by_column }) => (by_column[column] ?? null) === null ? undefined : -(by_column[column] as number),
        render: ({ by_column }) => (by_column[column] ?? null) === null ? "–" : length(by_column[column] as number),
      })),
    ];
    const rows = data.sections.filter(({ is_p }) => of === "" || (of === "p") === is_p);
    table = new SortedTable<AtlasFunction>({
      caption: "Sections by kind and function",
      columns,
      rows,
      text: (section) => [model.text(section.function), model.text(section.inside), data.kinds[section.kind], model.load(section.load), model.column(section.column)].join(" "),
      page: 50,
      sorted: 3,
      counted: (shown) => {
        count.textContent = `${shown.toLocaleString("en")} of ${plural(data.sections.length, "function")}`;
      },
    });
    table.filter(filter.value);
    place.replaceChildren(table.element);
  };
  show();
  model.onShown(() => mark(chosen));
  const classes = [{ value: "", text: "both" }, { value: "p", text: "P" }, { value: "n", text: "N" }];
  return h(
    "div",
    {},
    h(
      "div",
      { class: "tools" },
      h("label", { class: "choice" }, h("span", {}, "Filter"), filter),
      select("Class", classes, of, (value) => {
        of = value;
        show();
      }),
      h("label", { class: "check" }, all, " a column for each configuration"),
      count,
    ),
    marked,
    place,
  );
}

/** Whether one of the longest sections that are shown of a cell is of a row. */
function isOf(model: AtlasModel, section: AtlasFunction, cell: number): boolean {
  const [name, kind] = [model.text(section.function), model.data.kinds[section.kind]];
  return model.longest(cell).some((longest) => longest.function === name && longest.kind === kind);
}
