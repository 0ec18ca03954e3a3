import type { MetricValues } from "./data.ts";
import { number, range, ratio, ratioRange } from "./format.ts";

/** A metric's median with what is known of its spread: `26 µs (95 %: 23–27; n=10), ×0.46 …`. */
export function statistics(values: MetricValues, unit: string): string {
  const { median, word } = values;
  const compared = values.ratio === undefined || word === undefined
    ? ""
    : `; ${ratio(values.ratio)}${values.ratio_interval ? ` (${ratioRange(values.ratio_interval)})` : ""} ${verdict(values)}`;
  return `${number(median)} ${unit} (${spread(values)})${compared}`;
}

/** The same as `known`, with the number of replicates. */
export function spread(values: MetricValues): string {
  const n = values.values.length;
  return n > 1 ? `${known(values)}; n=${n}` : known(values);
}

/** The interval, or the range of the replicates, or that there is only one. */
export function known({ interval, min, max, values }: MetricValues): string {
  if (interval) return `95 %: ${range(interval)}`;
  return values.length > 1 ? `range ${range([min, max])}` : `n=${values.length}, no interval`;
}

/** `better`, `undecided (+5)`. */
export function verdict({ word, more }: MetricValues): string {
  if (word === undefined) return "";
  return more === undefined ? word : `${word} (+${more})`;
}
