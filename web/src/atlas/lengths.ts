// Lengths of sections: in words, and the bands of the map's colours.

import { number } from "../format.ts";

/** Where bands of colour begin, in nanoseconds: 1 µs to 10 ms. What is shorter is in the band 0. */
export const BOUNDS_NS = [1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7];

export function band(ns: number): number {
  let band = 0;
  while (band < BOUNDS_NS.length && ns >= (BOUNDS_NS[band] as number)) band++;
  return band;
}

/** `12.3 µs`, `1.2 ms`. */
export function length(ns: number): string {
  if (ns < 1e3) return `${number(ns)} ns`;
  if (ns < 1e6) return `${number(ns / 1e3)} µs`;
  return ns < 1e9 ? `${number(ns / 1e6)} ms` : `${number(ns / 1e9)} s`;
}

/** The same in a cell of the map, in microseconds where no unit stands: `0.4`, `105`, `1.2ms`. */
export function short(ns: number): string {
  if (ns < 1e4) return (ns / 1e3).toFixed(1);
  if (ns < 999_500) return String(Math.round(ns / 1e3));
  const [value, unit] = ns < 999_500_000 ? [ns / 1e6, "ms"] : [ns / 1e9, "s"];
  return value < 9.95 ? `${value.toFixed(1)}${unit}` : value < 1e4 ? `${Math.round(value)}${unit}` : `${value.toExponential(0)}${unit}`;
}
