// Latencies at every instant: a picture for each group.

import { h } from "../dom.ts";
import type { State } from "../state.ts";
import { parsed } from "../svg.ts";

export function instants(state: State, into: HTMLElement): void {
  const found = state.data.instants.find(({ group }) => group === state.groupIndex);
  const none = h("p", { class: "empty" }, "Not measured: the cells are not in virtual time, or their kernels have no type information (BTF).");
  if (!found) {
    into.replaceChildren(none);
    return;
  }
  const area = h("div", { class: "instants" });
  const svg = parsed(found.svg);
  if (!svg) {
    into.replaceChildren(h("p", { class: "empty" }, "This picture cannot be drawn."));
    return;
  }
  svg.style.cssText = "display:block;width:100%;max-width:60rem;height:auto";
  // In a shadow tree its style and its names are its own.
  area.attachShadow({ mode: "open" }).append(svg);
  const meaning = "The share of all instants of the windows at which a real-time task that became due would have been later than this.";
  into.replaceChildren(h("p", { class: "note" }, meaning), area);
}
