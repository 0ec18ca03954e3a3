// The colours of the map with their numbers.

import { h } from "../dom.ts";
import { BOUNDS_NS, length } from "./lengths.ts";

export function legend(): HTMLElement {
  const bands = [0, ...BOUNDS_NS].map((_, band) => {
    const from = BOUNDS_NS[band - 1];
    return h("li", {}, h("span", { class: `swatch b${band}` }), h("small", {}, from === undefined ? "less" : length(from)));
  });
  const others = h(
    "p",
    { class: "note" },
    h("span", { class: "swatch failed" }),
    " no sections: choose the cell for the reason · ",
    h("span", { class: "swatch none" }, "·"),
    " none of this class · blank: not in the plan. Numbers are µs where no unit stands. Arrows, Home and End move in the map, Enter opens a cell, Esc comes back.",
  );
  return h("div", { class: "bands" }, h("ol", { "aria-label": "Lengths from" }, ...bands), others);
}
