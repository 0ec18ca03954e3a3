import type { Span } from "../scale.ts";

/** The ranges of both axes, in their units. */
export interface Frame {
  x: Span;
  y: Span;
}

/** The part of a plot that is in view. It never leaves the whole. */
export class View {
  frame: Frame;
  readonly #full: Frame;
  readonly #axes: ("x" | "y")[];

  constructor(full: Frame, zoom: "x" | "xy") {
    this.#full = full;
    this.frame = full;
    this.#axes = zoom === "x" ? ["x"] : ["x", "y"];
  }

  get zoomed(): boolean {
    return this.#axes.some((axis) => width(this.frame[axis]) < width(this.#full[axis]) * 0.999);
  }

  reset(): void {
    this.frame = this.#full;
  }

  /** Around a place given as shares of the view. */
  zoom(factor: number, x = 0.5, y = 0.5): void {
    this.#each((axis, [low, high]) => {
      const full = width(this.#full[axis]);
      const next = Math.min(full, Math.max(full / 500, (high - low) * factor));
      const start = low + (axis === "x" ? x : y) * (high - low - next);
      return [start, start + next];
    });
  }

  /** By shares of the view. */
  pan(x: number, y: number): void {
    this.#each((axis, [low, high]) => {
      const by = (axis === "x" ? x : y) * (high - low);
      return [low + by, high + by];
    });
  }

  #each(act: (axis: "x" | "y", span: Span) => Span): void {
    const frame = { ...this.frame };
    for (const axis of this.#axes) {
      const [from, to] = this.#full[axis];
      const [low, high] = act(axis, frame[axis]);
      const start = Math.max(from, Math.min(low, to - (high - low)));
      frame[axis] = [start, Math.min(to, start + (high - low))];
    }
    this.frame = frame;
  }
}

function width([low, high]: Span): number {
  return high - low;
}
