// A plot with its heading, its zoom (buttons, wheel, keys, dragging) and its redrawing.

import { CustomChart, LineChart, ScatterChart } from "echarts/charts";
import { GridComponent, TooltipComponent } from "echarts/components";
import { type ECharts, type EChartsCoreOption, init, use } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";

import { h } from "../dom.ts";
import { type Look, look } from "../look.ts";
import { type Frame, View } from "./view.ts";

use([CustomChart, GridComponent, LineChart, ScatterChart, SVGRenderer, TooltipComponent]);

export interface Margin {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

export interface Size {
  width: number;
  height: number;
  margin: Margin;
}

/** What a plot shows. All are asked anew at each drawing. */
export interface Source {
  title: string;
  /** Where zooming applies. */
  zoom: "x" | "xy";
  /** The whole range, or why there is nothing to draw. */
  full(): Frame | string;
  size(width: number): Size;
  option(frame: Frame, size: Size, look: Look): EChartsCoreOption;
  /** What the plot shows, in words. */
  summary(): string;
}

const all = new Set<Plot>();

/** The width of the paper while the page is printed; then every plot is drawn, seen or not. */
let paper: number | undefined;

/** Draws every plot again: the colours changed, or the paper did. */
export function redrawAll(paperWidth: number | undefined): void {
  const printed = paper !== undefined || paperWidth !== undefined;
  paper = paperWidth;
  for (const plot of all) plot.recolor(printed);
}

const seen = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (isIntersecting) [...all].find((plot) => plot.area === target)?.appear();
    }
  },
  { rootMargin: "600px" },
);

export class Plot {
  readonly element: HTMLElement;
  readonly area: HTMLElement;
  #source: Source;
  #chart: ECharts | undefined;
  #view: View | undefined;
  #empty = h("p", { class: "empty", hidden: true });
  #drawn = { width: 0, pending: false };
  #buttons: HTMLButtonElement[];

  constructor(source: Source, ...controls: HTMLElement[]) {
    this.#source = source;
    const button = (text: string, name: string, act: () => void) =>
      h("button", { type: "button", "aria-label": `${name}: ${source.title}`, title: name, click: act }, text);
    this.#buttons = [
      button("+", "Zoom in", () => this.#change((view) => view.zoom(0.5))),
      button("−", "Zoom out", () => this.#change((view) => view.zoom(2))),
      button("Reset", "Reset the zoom", () => this.#change((view) => view.reset())),
    ];
    this.area = h("div", {
      class: "plot",
      tabindex: 0,
      role: "group",
      "aria-roledescription": "plot",
      keydown: (event: KeyboardEvent) => this.#key(event),
      pointerdown: (event: PointerEvent) => this.#drag(event),
    });
    this.area.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    const tools = h("div", { class: "tools" }, ...controls, h("div", { class: "zoom" }, ...this.#buttons));
    this.element = h("figure", {}, h("figcaption", {}, h("h3", {}, source.title), tools), this.area, this.#empty);
    all.add(this);
    new ResizeObserver(() => {
      if (this.#chart && paper === undefined && this.area.clientWidth !== this.#drawn.width) this.redraw();
    }).observe(this.area);
  }

  /** Draws now, or when the reader comes near. */
  start(now = false): void {
    if (now) this.appear();
    else seen.observe(this.area);
  }

  appear(): void {
    seen.unobserve(this.area);
    if (!this.#chart) this.redraw();
  }

  /** The data changed: shows all of it. */
  refresh(): void {
    this.#view = undefined;
    if (this.#chart) this.redraw();
  }

  recolor(printed: boolean): void {
    if (this.#chart || printed) this.redraw();
  }

  redraw(): void {
    const full = this.#source.full();
    const nothing = typeof full === "string";
    this.area.hidden = nothing;
    this.#empty.hidden = !nothing;
    for (const button of this.#buttons) button.disabled = nothing;
    if (nothing) {
      this.#empty.textContent = full;
      return;
    }
    this.#view ??= new View(full, this.#source.zoom);
    const width = paper ?? this.area.clientWidth;
    if (width === 0) {
      // It is switched off: it is drawn when it has a width again.
      this.#drawn.width = 0;
      return;
    }
    const size = this.#source.size(width);
    this.area.style.height = `${size.height}px`;
    this.#chart ??= init(this.area, null, { renderer: "svg", width, height: size.height });
    this.#chart.resize({ width, height: size.height });
    const colors = look();
    this.#chart.setOption({ animation: false, ...this.#source.option(this.#view.frame, size, colors) }, true);
    // Printing does not wait for the next frame, and paper may be wider or narrower than thought.
    this.#chart.getZr().flush();
    this.area.querySelector("svg")?.setAttribute("viewBox", `0 0 ${size.width} ${size.height}`);
    this.area.setAttribute("aria-label", `${this.#source.title}. ${this.#source.summary()}`);
    this.area.classList.toggle("zoomed", this.#view.zoomed);
    this.#drawn.width = width;
  }

  #change(act: (view: View) => void): void {
    if (!this.#view) return;
    act(this.#view);
    if (this.#drawn.pending) return;
    this.#drawn.pending = true;
    requestAnimationFrame(() => {
      this.#drawn.pending = false;
      this.redraw();
    });
  }

  #key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== this.area) return;
    const step = 0.15;
    const acts: Record<string, (view: View) => void> = {
      "+": (view) => view.zoom(0.5),
      "=": (view) => view.zoom(0.5),
      "-": (view) => view.zoom(2),
      "0": (view) => view.reset(),
    };
    // Unless there is something to pan, the arrows scroll the page.
    if (this.#view?.zoomed) {
      acts.ArrowLeft = (view) => view.pan(-step, 0);
      acts.ArrowRight = (view) => view.pan(step, 0);
      acts.ArrowUp = (view) => view.pan(0, step);
      acts.ArrowDown = (view) => view.pan(0, -step);
    }
    const act = acts[event.key];
    if (!act) return;
    event.preventDefault();
    this.#change(act);
  }

  /** With Ctrl or ⌘ only: the bare wheel scrolls the page. */
  #wheel(event: WheelEvent): void {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const { x, y } = this.#place(event);
    this.#change((view) => view.zoom(1.0015 ** event.deltaY, x, y));
  }

  /** A finger scrolls the page, so dragging is the mouse's. */
  #drag(start: PointerEvent): void {
    if (start.pointerType !== "mouse" || start.button !== 0) return;
    let last = this.#place(start);
    const move = (event: PointerEvent) => {
      const { x, y } = this.#place(event);
      const [right, up] = [last.x - x, last.y - y];
      last = { x, y };
      this.#change((view) => view.pan(right, up));
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", () => removeEventListener("pointermove", move), { once: true });
  }

  /** Where in the grid the pointer is, as a share from the left and from the bottom. */
  #place(event: MouseEvent): { x: number; y: number } {
    const box = this.area.getBoundingClientRect();
    const { width, height, margin } = this.#source.size(box.width);
    return {
      x: (event.clientX - box.left - margin.left) / (width - margin.left - margin.right),
      y: 1 - (event.clientY - box.top - margin.top) / (height - margin.top - margin.bottom),
    };
  }
}
