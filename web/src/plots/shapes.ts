// What custom series draw: the pieces of ECharts' interface for them that are used here.

import type { Mark } from "../marks.ts";
import { type Look, modeColor } from "../look.ts";
import type { Size } from "./plot.ts";

export interface Api {
  coord(place: [number, number]): [number, number];
}

export interface Shape {
  type: "group" | "line" | "rect";
  children?: Shape[];
  shape?: object;
  style?: object;
  silent?: boolean;
}

export function line([x1, y1]: number[], [x2, y2]: number[], style: object): Shape {
  return { type: "line", shape: { x1, y1, x2, y2 }, style: { fill: "none", ...style } };
}

/** A line between two places with a cap across each end. */
export function whisker(from: number[], to: number[], style: object, cap = 4): Shape[] {
  const flat = from[1] === to[1];
  const across = ([x = 0, y = 0]: number[]) =>
    flat ? line([x, y - cap], [x, y + cap], style) : line([x - cap, y], [x + cap, y], style);
  return [line(from, to, style), across(from), across(to)];
}

/** A series whose one item draws everything. */
export function drawing(render: (api: Api) => Shape[], z: number): object {
  return {
    type: "custom",
    coordinateSystem: "cartesian2d",
    silent: true,
    clip: true,
    z,
    data: [[0, 0]],
    encode: { x: -1, y: -1 },
    tooltip: { show: false },
    renderItem: (_: unknown, api: Api) => ({ type: "group", children: render(api) }),
  };
}

/** How ECharts is told of a configuration's symbol. */
export function pointStyle(look: Look, { shape, hollow, mode }: Mark, size: number): object {
  const color = modeColor(look, mode);
  return {
    symbol: `path://${shape}`,
    symbolSize: size,
    symbolKeepAspect: true,
    itemStyle: hollow
      ? { color: look.page, borderColor: color, borderWidth: 2, opacity: 1 }
      : { color, borderColor: look.page, borderWidth: 1, opacity: 1 },
  };
}

/** From places in axis units to pixels, before the chart knows them. */
export function pixels(frame: { x: number[]; y: number[] }, { width, height, margin }: Size, inverse = false) {
  const [x0 = 0, x1 = 1] = frame.x;
  const [y0 = 0, y1 = 1] = frame.y;
  const across = width - margin.left - margin.right;
  const down = height - margin.top - margin.bottom;
  return (x: number, y: number): [number, number] => {
    const share = (y - y0) / (y1 - y0);
    return [margin.left + ((x - x0) / (x1 - x0)) * across, margin.top + (inverse ? share : 1 - share) * down];
  };
}
