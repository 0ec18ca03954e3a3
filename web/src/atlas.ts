// Puts the page of an atlas together: reads the data, draws the map first, and then what belongs to it.

import "./style.css";
import "./table.css";
import "./print.css";
import "./atlas/atlas.css";

import { AtlasModel } from "./atlas/model.ts";
import { choices } from "./atlas/choices.ts";
import { Detail } from "./atlas/detail.ts";
import type { AtlasData } from "./atlas/document.ts";
import { functions } from "./atlas/functions.ts";
import { legend } from "./atlas/legend.ts";
import { CellMap } from "./atlas/map.ts";
import { parsed } from "./data.ts";
import { h } from "./dom.ts";

const data = parsed("data") as AtlasData;
const model = new AtlasModel(data);
const at = (id: string) => document.getElementById(id) as HTMLElement;

const map = new CellMap(model);
choices(model, map, at("controls"));
at("map").append(legend(), map.element);
map.start();

/** After the map is on the screen, and the details of its cells are read. */
function rest(): void {
  const detail = new Detail(model, (cell) => map.choose(cell));
  map.onChosen((cell, isAsked) => detail.show(cell, isAsked));
  detail.onLeft(() => map.focus());
  at("rest").append(
    section("detail", "The chosen cell", detail.element),
    section("functions", "Sections by function", functions(model, map)),
    h(
      "footer",
      {},
      h("p", {}, `Made by ${data.generator}. This file needs no network; it asks nobody for anything.`),
    ),
  );
  map.choose(model.longestCell());
}

function section(id: string, title: string, ...content: Node[]): HTMLElement {
  return h("section", { id, "aria-labelledby": `${id}-title` }, h("h2", { id: `${id}-title` }, title), ...content);
}

addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
});

// The details of the cells stand behind this script.
const later = () => requestAnimationFrame(() => setTimeout(rest));
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", later);
else later();
