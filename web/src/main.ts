// Puts the report together: reads the data, shows the choices, draws what is in view first.

import "./style.css";
import "./table.css";
import "./print.css";

import { read } from "./data.ts";
import { h } from "./dom.ts";
import { onLook } from "./look.ts";
import * as names from "./names.ts";
import { Plot, redrawAll } from "./plots/plot.ts";
import { replicates } from "./plots/replicates.ts";
import { scatter } from "./plots/scatter.ts";
import { State } from "./state.ts";
import { cells } from "./views/cells.ts";
import { controls, reading } from "./views/controls.ts";
import { Distributions } from "./views/distributions.ts";
import { Figures } from "./views/figures.ts";
import { machines } from "./views/machines.ts";
import { missing } from "./views/missing.ts";
import { provenance } from "./views/provenance.ts";
import { drawAllTimelines, timelines } from "./views/timelines.ts";

const state = new State(read());
const at = (id: string) => document.getElementById(id) as HTMLElement;

// The first plot, with its choices.
const overview = new Plot(scatter(state));
const legend = h("p", { class: "note" });
at("overview").append(overview.element, legend);
controls(state, at("controls"));
legend.textContent = reading(state);
overview.start(true);

/** What is to be done when the reader chooses something else. */
const refreshes = [
  () => overview.refresh(),
  () => {
    legend.textContent = reading(state);
  },
];

/** After the first plot is on the screen: the rest of the page can take its time. */
function rest(): void {
  const distributions = new Distributions(state);
  const figures = new Figures(state);
  const [lacking, worst] = [h("div", { class: "missing" }), h("div")];
  const meaning = h("p", { class: "note" });
  const entries = () => state.shown;
  const strips = new Plot(
    replicates({ title: "Latency of every replicate", bars: false, info: () => state.latency, entries }),
  );
  const bars = new Plot(replicates({ title: "Throughput", bars: true, info: () => state.throughput, entries }));
  at("rest").append(
    lacking,
    section("distributions", "Distributions", distributions.element),
    section("replicates", "Replicates and throughput", meaning, strips.element, bars.element),
    section("figures", "All figures", figures.element),
    section("worst", "Worst wakeups", worst),
    ...ofMachines(),
    section("provenance", "Provenance", provenance(state.data)),
    section("cells", "Cells", cells(state.data)),
    footer(),
  );
  const describe = () => {
    const { latency } = state;
    meaning.textContent = latency ? `${names.metric(latency)}. ${latency.meaning}` : "";
    missing(state, lacking);
    timelines(state, worst);
  };
  describe();
  for (const plot of [distributions, strips, bars]) {
    plot.start();
    refreshes.push(() => plot.refresh());
  }
  refreshes.push(describe);
  state.onGroup(() => figures.refresh());
}

/** Where histograms of machines were named. */
function ofMachines(): HTMLElement[] {
  const { histograms } = state.data;
  return histograms === undefined ? [] : [section("machines", "Measured on machines", machines(histograms))];
}

function section(id: string, title: string, ...content: Node[]): HTMLElement {
  return h("section", { id, "aria-labelledby": `${id}-title` }, h("h2", { id: `${id}-title` }, title), ...content);
}

function footer(): HTMLElement {
  return h(
    "footer",
    {},
    h("p", {}, `Made by ${state.data.generator}. This file needs no network; it asks nobody for anything.`),
    h("p", {}, "Plots: Apache ECharts 6, Apache License 2.0; its notices are in this file’s script."),
  );
}

state.onGroup(() => {
  const focused = at("controls").contains(document.activeElement);
  controls(state, at("controls"));
  if (focused) at("controls").querySelector("select")?.focus();
});
state.onChange(() => {
  for (const refresh of refreshes) refresh();
});
onLook((paperWidth) => {
  if (paperWidth !== undefined) {
    drawAllTimelines();
    for (const details of document.querySelectorAll("details")) details.open = true;
  }
  redrawAll(paperWidth);
});

requestAnimationFrame(() => setTimeout(rest));
