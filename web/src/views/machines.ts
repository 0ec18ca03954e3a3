// Histograms that tools wrote on machines: beside the cells, and in no ratio to them.

import type { MachineHistogram, MachineLatency, MachineValue } from "../document.ts";
import { h } from "../dom.ts";
import { number, unit } from "../format.ts";

const HEADS = ["file", "latency", "samples", "min", "avg", "p50", "p99", "p99.9", "max", "unit"];

export function machines(histograms: MachineHistogram[]): HTMLElement {
  const rows = histograms.flatMap((file) => file.latencies.map((latency) => row(file, latency)));
  const table = h(
    "table",
    { class: "plain" },
    h("thead", {}, h("tr", {}, ...HEADS.map((head) => h("th", { scope: "col" }, head)))),
    h("tbody", {}, ...rows),
  );
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Measured on machines" }, table);
}

function row(file: MachineHistogram, latency: MachineLatency): HTMLElement {
  const name = latency.only === undefined ? latency.of : `${latency.of}, ${latency.only}`;
  const cells = [
    `${file.file} (${file.tool})`,
    name,
    latency.samples.toLocaleString("en"),
    value(latency.min),
    number(latency.avg),
    ...[latency.p50, latency.p99, latency["p99.9"], latency.max].map(value),
    unit(file.unit),
  ];
  return h("tr", {}, ...cells.map((cell) => h("td", {}, cell)));
}

function value({ value: latency, is_above }: MachineValue): string {
  return `${is_above ? "above " : ""}${latency.toLocaleString("en")}`;
}
