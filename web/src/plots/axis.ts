// Axes as all plots have them.

import { number, shortened } from "../format.ts";
import type { Look } from "../look.ts";
import { type Scale, type Span, ticks } from "../scale.ts";
import type { Margin, Size } from "./plot.ts";

const FONT = 'system-ui, "DejaVu Sans", sans-serif';

interface ValueAxis {
  scale: Scale;
  span: Span;
  name: string;
  /** How many ticks there is room for. */
  room: number;
  vertical?: boolean;
  /** Where ticks are, and how they are written, if not as numbers. */
  places?: number[];
  write?: (place: number) => string;
}

export function valueAxis(look: Look, { scale, span, name, room, vertical, places, write }: ValueAxis): object {
  const at = places ?? ticks(scale, span, room);
  return {
    type: "value",
    min: span[0],
    max: span[1],
    name: scale.log ? `${name}, logarithmic` : name,
    nameLocation: "middle",
    nameGap: vertical ? 52 : 28,
    nameTextStyle: { color: look.faint, fontFamily: FONT, fontSize: 12 },
    axisLine: { show: true, onZero: false, lineStyle: { color: look.faint } },
    axisTick: { show: true, customValues: at, lineStyle: { color: look.faint } },
    axisLabel: {
      customValues: at,
      hideOverlap: true,
      color: look.ink,
      fontFamily: FONT,
      fontSize: 11,
      formatter: write ?? ((place: number) => number(scale.from(place))),
    },
    splitLine: { show: true, lineStyle: { color: look.grid } },
  };
}

/** One row per name, from the top, with lines through the rows unless what they show stands on them. */
export function rowAxis(look: Look, names: string[], margin: Margin, lines = true): object {
  const room = Math.floor((margin.left - 14) / 6.4);
  return {
    type: "value",
    min: -0.5,
    max: Math.max(0, names.length - 1) + 0.5,
    inverse: true,
    axisLine: { show: false },
    axisTick: { show: false, customValues: names.map((_, row) => row) },
    axisLabel: {
      customValues: names.map((_, row) => row),
      color: look.ink,
      fontFamily: FONT,
      fontSize: 12,
      formatter: (row: number) => shortened(names[row] ?? "", room),
    },
    splitLine: { show: lines, lineStyle: { color: look.grid } },
  };
}

/** The size of a plot with rows: names take what they need and no more than two fifths. */
export function rowSize(width: number, names: string[], rowHeight: number): Size {
  const longest = Math.max(4, ...names.map((name) => name.length));
  const left = Math.round(Math.min(longest * 6.6 + 16, width * 0.4));
  const margin = { left, right: 18, top: 8, bottom: 48 };
  return { width, height: margin.top + margin.bottom + Math.max(1, names.length) * rowHeight, margin };
}

export function grid({ margin }: Size): object {
  return { ...margin, containLabel: false, outerBoundsMode: "none" };
}

/** How many labels of some pixels fit. */
export function room(size: Size, axis: "x" | "y"): number {
  const { width, height, margin } = size;
  return axis === "x"
    ? Math.max(2, Math.floor((width - margin.left - margin.right) / 48))
    : Math.max(2, Math.floor((height - margin.top - margin.bottom) / 36));
}
