// Axes as all plots have them.

import { number, shortened } from "../format.ts";
import type { Look } from "../look.ts";
import { extent, type Scale, type Span, ticks } from "../scale.ts";
import type { Margin, Size } from "./plot.ts";

const FONT = 'system-ui, "DejaVu Sans", sans-serif';

interface ValueAxis {
  scale: Scale;
  span: Span;
  name: string;
  /** How many ticks there is room for. */
  room: number;
  /** The margin left of an upright axis. */
  left?: number;
  /** Where ticks are, and how they are written, if not as numbers. */
  places?: number[];
  write?: (place: number) => string;
}

/** The height of an axis's name. */
const NAME = 16;

/** The margin that the labels and the name of an upright axis of these values need. */
export function leftMargin(values: number[]): number {
  const longest = Math.max(0, ...extent(values).map((value) => number(value).length));
  return Math.max(52, Math.round(longest * 6.6) + 2 * NAME);
}

/** Writes the places of ticks with as many digits as tell each from the next. */
function distinct(values: number[], scale: Scale): (place: number) => string {
  const digits = [4, 5, 6, 7, 8].find((some) => new Set(values.map((value) => number(value, some))).size === values.length);
  return (place) => number(scale.from(place), digits);
}

export function valueAxis(look: Look, { scale, span, name, room, left, places, write }: ValueAxis): object {
  const at = places ?? ticks(scale, span, room);
  return {
    type: "value",
    min: span[0],
    max: span[1],
    name: scale.log ? `${name}, logarithmic` : name,
    nameLocation: "middle",
    // The name of an upright axis stands at the left edge.
    nameGap: left === undefined ? 28 : left - NAME,
    nameTextStyle: { color: look.faint, fontFamily: FONT, fontSize: 12 },
    axisLine: { show: true, onZero: false, lineStyle: { color: look.faint } },
    axisTick: { show: true, customValues: at, lineStyle: { color: look.faint } },
    axisLabel: {
      customValues: at,
      hideOverlap: true,
      color: look.ink,
      fontFamily: FONT,
      fontSize: 11,
      formatter: write ?? distinct(at.map((place) => scale.from(place)), scale),
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
