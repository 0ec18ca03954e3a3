// What the reader chooses of the map: the class, the order of the loads, and a filter.

import { h, select, switcher } from "../dom.ts";
import { plural } from "../format.ts";
import type { CellMap, Order } from "./map.ts";
import type { AtlasModel, Shown } from "./model.ts";

export function choices(model: AtlasModel, map: CellMap, into: HTMLElement): void {
  const columns = model.data.columns.map((_, column) => ({ value: String(column), text: model.column(column) }));
  const between = h("span", { class: "between" });
  let order: Order = { by: "longest" };
  const sort = (changed: Order) => {
    order = changed;
    map.sort(order);
  };
  const difference = (part: { of?: number; to?: number }) => {
    const last = Math.max(0, columns.length - 1);
    const [of, to] = order.by === "difference" ? [order.of, order.to] : [0, last];
    sort({ by: "difference", of: part.of ?? of, to: part.to ?? to });
  };
  const by = select(
    "Loads by",
    [
      { value: "longest", text: "longest section" },
      { value: "name", text: "name" },
      { value: "plan", text: "order of the plan" },
      ...(columns.length > 1 ? [{ value: "difference", text: "difference of two columns" }] : []),
    ],
    order.by,
    (value) => {
      between.replaceChildren();
      if (value !== "difference") return sort({ by: value as "longest" | "name" | "plan" });
      between.append(
        select("of", columns, "0", (of) => difference({ of: Number(of) })),
        select("to", columns, String(columns.length - 1), (to) => difference({ to: Number(to) })),
      );
      difference({});
    },
  );
  const filter = h("input", {
    type: "search",
    placeholder: "load or function",
    input: () => map.filter(filter.value),
  });
  const count = h("output", { "aria-live": "polite" });
  map.onCount((shown) => {
    count.textContent = `${shown.toLocaleString("en")} of ${plural(model.data.loads.length, "load")}`;
  });
  const classes = [
    { value: "p", text: "P" },
    { value: "n", text: "N" },
    { value: "both", text: "both" },
  ];
  into.replaceChildren(
    h("div", { class: "choice" }, h("span", {}, "Class"), switcher("Class of sections", classes, model.shown, (value) => model.setShown(value as Shown))),
    by,
    between,
    h("label", { class: "choice" }, h("span", {}, "Filter"), filter),
    count,
  );
}
