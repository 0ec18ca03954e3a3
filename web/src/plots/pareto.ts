import type { Summary } from "../document.ts";

interface Point {
  x: Summary;
  y: Summary;
}

/** The points of which no other is better in both medians, by latency; equal points are all in. */
export function pareto<P extends Point>(points: P[], better: "lower" | "higher" = "higher"): P[] {
  const gain = ({ y }: Point) => (better === "higher" ? y.median : -y.median);
  const front = points.filter((point) =>
    !points.some((other) =>
      other.x.median <= point.x.median && gain(other) >= gain(point)
      && (other.x.median < point.x.median || gain(other) > gain(point))
    )
  );
  return front.sort((left, right) => left.x.median - right.x.median);
}
