import type { Effect, Summary } from "./document.ts";
import { number, range, ratio, ratioRange, share } from "./format.ts";

/** A metric's median with what is known of its spread: `26 µs (95 %: 23–27; n=10), ×0.46 …`. */
export function statistics(of: Summary, unit: string, margin: number): string {
  const { median, effect } = of;
  const compared = effect === null || effect.ratio === null ? "" : `; ${ratios(effect)} ${verdict(effect, margin)}`;
  return `${number(median)} ${unit} (${spread(of)})${compared}`;
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

/** `better`, `within 5 %`, `undecided (+5)`. */
export function verdict(effect: Effect, margin: number): string {
  if (effect.verdict === "within_margin") return `within ${share(margin)}`;
  const more = effect.verdict === "undecided" ? effect.more : null;
  return more === null ? effect.verdict : `${effect.verdict} (+${more})`;
}
