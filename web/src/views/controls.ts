// What is compared: the group, the latency metric, and which modes and kernels are on.

import { h, select } from "../dom.ts";
import { latencies } from "../entries.ts";
import { shortened } from "../format.ts";
import { modeVariable } from "../look.ts";
import * as names from "../names.ts";
import type { State } from "../state.ts";
import { symbol } from "../symbol.ts";

/** Fills an element with the controls; call it again when the group changes. */
export function controls(state: State, into: HTMLElement): void {
  const { data, group } = state;
  if (!group) return into.replaceChildren();
  const groups = data.groups.map((each, index) => ({ value: String(index), text: names.group(each) }));
  const metrics = latencies(group).map((info) => ({ value: info.name, text: names.metricWithUnit(info) }));
  into.replaceChildren(
    select("Workload", groups, String(state.groupIndex), (value) => state.setGroup(Number(value))),
    select("Latency", metrics, state.latency?.name ?? "", (value) => state.setLatency(value)),
    legend(state),
  );
}

function legend(state: State): HTMLElement {
  const modes = new Map(state.entries.map(({ mark }) => [mark.mode, mark]));
  const kernels = new Map(state.entries.map((entry) => [entry.mark.kernel, entry]));
  const toggle = (what: "mode" | "kernel", key: string, mark: SVGElement, text: string, name = text) => {
    const button = h("button", {
      type: "button",
      class: "toggle",
      title: `Show or hide ${name}`,
      "aria-pressed": String(!state.isHidden(what, key)),
      click: () => {
        state.toggle(what, key);
        button.setAttribute("aria-pressed", String(!state.isHidden(what, key)));
      },
    }, mark, ` ${shortened(text, 40)}`);
    return button;
  };
  const filled = { shape: "M1 1H19V19H1Z", hollow: false };
  return h(
    "div",
    { class: "legend", role: "group", "aria-label": "Shown modes and kernels" },
    ...[...modes.keys()].map((mode) => toggle("mode", mode, symbol(filled, modeVariable(mode)), mode)),
    h("span", { class: "divider", "aria-hidden": "true" }),
    ...[...kernels].map(([key, { mark, kernel, configuration }]) =>
      toggle("kernel", key, symbol(mark), kernel, names.kernel(configuration))
    ),
  );
}

/** How the first plot is read. */
export function reading({ group, shown, latency, throughput }: State): string {
  if (!group) return "";
  // Of other metrics there may be fewer, such as those of a kernel thread that ran in some cells only.
  const drawn = [latency, throughput].flatMap((info) => (info ? [info.name] : []));
  const counts = new Set(shown.flatMap(({ metrics }) => drawn.flatMap((name) => metrics.get(name)?.n ?? [])));
  const n = [...counts].sort((left, right) => left - right).join(", ");
  const medians = n === "" ? "" : n === "1" ? "One replicate each (n=1): no intervals. " : `Medians of n=${n} replicates. `;
  return `${medians}Bars with caps: 95 % intervals; dotted: range, where there is no interval. Dashed: Pareto front of the medians. Hollow: PREEMPT_RT. Zoom: buttons, Ctrl + wheel, keys + − 0 and arrows; drag to move.`;
}
