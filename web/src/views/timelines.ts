// What happened around the worst wakeups: drawings that came with the data, to look at closely.

import type { Timeline } from "../document.ts";
import { h } from "../dom.ts";
import type { State } from "../state.ts";
import { parsed } from "../svg.ts";

type Box = { x: number; y: number; width: number; height: number };

const drawn = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (isIntersecting) pending.get(target)?.();
    }
  },
  { rootMargin: "600px" },
);
const pending = new Map<Element, () => void>();

/** Draws those that the reader has not come to yet, for paper. */
export function drawAllTimelines(): void {
  for (const draw of [...pending.values()]) draw();
}

export function timelines(state: State, into: HTMLElement): void {
  for (const element of pending.keys()) drawn.unobserve(element);
  pending.clear();
  const found = state.shown.flatMap(({ evidence }) => evidence.timelines);
  const none = h("p", { class: "empty" }, "No timelines: they need a recording with traces (run --trace).");
  into.replaceChildren(...(found.length > 0 ? found.map(figure) : [none]));
}

function figure({ caption, sentence, svg }: Timeline): HTMLElement {
  const area = h("div", { class: "timeline", tabindex: 0, role: "group", "aria-roledescription": "timeline", "aria-label": `${caption}: ${sentence}` });
  let view: Zoomable | undefined;
  const button = (text: string, name: string, act: (view: Zoomable) => void) =>
    h("button", { type: "button", title: name, "aria-label": `${name}: ${caption}`, click: () => view && act(view) }, text);
  pending.set(area, () => {
    pending.delete(area);
    drawn.unobserve(area);
    view = Zoomable.of(svg, area);
    if (!view) area.replaceWith(h("p", { class: "empty" }, "This timeline cannot be drawn."));
  });
  drawn.observe(area);
  const zoom = h(
    "div",
    { class: "zoom" },
    button("+", "Zoom in", (view) => view.zoom(0.6)),
    button("−", "Zoom out", (view) => view.zoom(1 / 0.6)),
    button("Reset", "Reset the zoom", (view) => view.reset()),
  );
  return h(
    "figure",
    {},
    h("figcaption", {}, h("h3", {}, caption), h("div", { class: "tools" }, zoom)),
    h("p", {}, sentence),
    area,
  );
}

/** A drawing of which a part is in view. */
class Zoomable {
  #svg: SVGSVGElement;
  #area: HTMLElement;
  #full: Box;
  #box: Box;

  /** The drawing stands in a shadow tree, so that its style and its names are its own. */
  static of(text: string, area: HTMLElement): Zoomable | undefined {
    const svg = parsed(text);
    if (!svg) return undefined;
    const { x, y, width, height } = svg.viewBox.baseVal;
    return new Zoomable(svg, area, { x, y, width, height });
  }

  constructor(svg: SVGSVGElement, area: HTMLElement, full: Box) {
    this.#svg = svg;
    this.#area = area;
    this.#full = full;
    this.#box = full;
    svg.style.cssText = "display:block;width:100%;min-width:var(--timeline-min,44rem);height:auto";
    area.attachShadow({ mode: "open" }).append(svg);
    area.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const frame = svg.getBoundingClientRect();
      this.zoom(1.0015 ** event.deltaY, (event.clientX - frame.left) / frame.width, (event.clientY - frame.top) / frame.height);
    }, { passive: false });
    area.addEventListener("keydown", (event) => this.#key(event));
    area.addEventListener("pointerdown", (event) => this.#drag(event));
  }

  reset(): void {
    this.#show(this.#full);
  }

  zoom(factor: number, atX = 0.5, atY = 0.5): void {
    const width = Math.min(this.#full.width, Math.max(this.#full.width / 40, this.#box.width * factor));
    const height = (width / this.#full.width) * this.#full.height;
    const { x, y } = this.#box;
    this.#show({ x: x + atX * (this.#box.width - width), y: y + atY * (this.#box.height - height), width, height });
  }

  pan(right: number, down: number): void {
    const { x, y, width, height } = this.#box;
    this.#show({ x: x + right * width, y: y + down * height, width, height });
  }

  #show({ x, y, width, height }: Box): void {
    const full = this.#full;
    const within = (value: number, from: number, room: number) => Math.min(from + room, Math.max(from, value));
    this.#box = { x: within(x, full.x, full.width - width), y: within(y, full.y, full.height - height), width, height };
    const box = this.#box;
    this.#svg.setAttribute("viewBox", `${box.x} ${box.y} ${box.width} ${box.height}`);
    this.#area.classList.toggle("zoomed", width < full.width);
  }

  #key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const acts: Record<string, () => void> = {
      "+": () => this.zoom(0.6),
      "=": () => this.zoom(0.6),
      "-": () => this.zoom(1 / 0.6),
      "0": () => this.reset(),
    };
    if (this.#box.width < this.#full.width) {
      acts.ArrowLeft = () => this.pan(-0.15, 0);
      acts.ArrowRight = () => this.pan(0.15, 0);
      acts.ArrowUp = () => this.pan(0, -0.15);
      acts.ArrowDown = () => this.pan(0, 0.15);
    }
    const act = acts[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  #drag(start: PointerEvent): void {
    if (start.pointerType !== "mouse" || start.button !== 0 || this.#box.width === this.#full.width) return;
    const frame = this.#svg.getBoundingClientRect();
    let last = start;
    const move = (event: PointerEvent) => {
      this.pan((last.clientX - event.clientX) / frame.width, (last.clientY - event.clientY) / frame.height);
      last = event;
    };
    start.preventDefault();
    this.#area.focus();
    addEventListener("pointermove", move);
    addEventListener("pointerup", () => removeEventListener("pointermove", move), { once: true });
  }
}
