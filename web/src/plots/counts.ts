// What histograms say: quantiles, steps and bins.

import type { Histogram } from "../document.ts";

/** A histogram as cumulative counts. */
export interface Distribution {
  /** Ascending, with what overflowed at the end where its size is known. */
  values: number[];
  /** How many were at most as large. */
  below: number[];
  total: number;
  /** How many are larger than any of `values`, by an unknown length. */
  beyond: number;
}

export function distribution({ counts, overflow, overflow_max }: Histogram): Distribution {
  const values: number[] = [];
  const below: number[] = [];
  let total = 0;
  const known = overflow > 0 && overflow_max !== null;
  for (const [value, count] of known ? [...counts, [overflow_max, overflow] as const] : counts) {
    if (count <= 0) continue;
    total += count;
    values.push(value);
    below.push(total);
  }
  const beyond = known ? 0 : overflow;
  return { values, below, total: total + beyond, beyond };
}

/** The least value that at least a share of all is at most as large as. */
export function quantile({ values, below, total }: Distribution, share: number): number | undefined {
  const rank = Math.max(1, Math.ceil(share * total - 1e-9));
  let [low, high] = [0, below.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((below[middle] as number) >= rank) high = middle;
    else low = middle + 1;
  }
  return values[low];
}

/** The place of a share on an axis on which 90 %, 99 % and 99.9 % are at 1, 2 and 3. */
export function nines(tail: number): number {
  return -Math.log10(tail);
}

/** The steps of the percentile curve, as (nines, value). The last stands for half a sample. */
export function steps({ values, below, total, beyond }: Distribution): [number, number][] {
  const points: [number, number][] = [];
  let before = 0;
  for (let at = 0; at < values.length; at++) {
    const value = values[at] as number;
    const count = below[at] as number;
    points.push([nines(1 - before / total), value]);
    points.push([nines(Math.max(1 - count / total, beyond > 0 ? beyond / total : 0.5 / total)), value]);
    before = count;
  }
  return points;
}

export interface Bin {
  /** From this value on. */
  from: number;
  /** Up to and without this one. */
  to: number;
  count: number;
}

const PER_DECADE = 24;

/** Bins whose width grows with the value; whole numbers, as the values are, so that none is empty
 * for lack of values that could fall into it. */
export function bins({ counts }: Histogram): Bin[] {
  const found: Bin[] = [];
  for (const [value, count] of counts) {
    const last = found.at(-1);
    if (last && value < last.to) {
      last.count += count;
      continue;
    }
    const [from, to] = edges(value);
    found.push({ from, to, count });
  }
  return found;
}

function edges(value: number): [number, number] {
  if (value < 1) return [0, 1];
  const edge = (index: number) => Math.round(10 ** (index / PER_DECADE));
  let index = Math.floor(Math.log10(value) * PER_DECADE + 1e-9);
  while (edge(index + 1) <= value) index++;
  while (edge(index) > value) index--;
  return [edge(index), edge(index + 1)];
}
