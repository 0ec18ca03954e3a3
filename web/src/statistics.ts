import type { Effect, MetricInfo, Summary } from "./document.ts";
import { number, range, ratio, ratioRange, share, unit } from "./format.ts";

/** A metric's median with what is known of its spread: `26 µs (95 %: 23–27; n=10), ×0.46 …`. */
export function statistics(of: Summary, unitName: string, margin: string): string {
  const { median, effect } = of;
  const compared = effect === null || effect.ratio === null ? "" : `; ${ratios(effect)} ${verdict(of, margin)}`;
  return `${number(median)} ${unitName} (${spread(of)})${compared}`;
}

/** `×0.46 (0.41–0.52)`; empty without a ratio. */
export function ratios({ ratio: median, interval }: Effect): string {
  if (median === null) return "";
  return `${ratio(median)}${interval ? ` (${ratioRange(interval)})` : ""}`;
}

/** The same as `known`, with the number of replicates. */
export function spread(of: Summary): string {
  return of.n > 1 ? `${known(of)}; n=${of.n}` : known(of);
}

/** The interval, or the range of the replicates, or that there is only one. */
export function known({ interval, min, max, n }: Summary): string {
  if (interval) return `95 %: ${range(interval)}`;
  return n > 1 ? `range ${range([min, max])}` : `n=${n}, no interval`;
}

/** So many further replicates are an estimate of nothing that anybody would do. */
const MORE_MAX = 999;

/** The margin of a metric in words, where this is that of all: `5 %`, `20 us`. */
export function marginOf({ margin }: MetricInfo, all: number): string {
  return margin ?? share(all);
}

/** `better`, `within 5 %`, `within 1 µs`, `undecided: 5 more replicates`; empty for what is not compared. */
export function verdict({ effect, resolution, unit: of }: Summary, margin: string): string {
  if (effect === null) return "";
  switch (effect.verdict) {
    case "within_margin":
      return `within ${margin}`;
    case "within_resolution":
      return `within ${number(resolution)} ${unit(of)}`;
    case "undecided":
      if (effect.more === null) return "undecided";
      return `undecided: ${effect.more > MORE_MAX ? `over ${MORE_MAX}` : effect.more} more replicate${effect.more === 1 ? "" : "s"}`;
    default:
      return effect.verdict;
  }
}
